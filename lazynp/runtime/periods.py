"""Programs for loops that `_replay.h` has found: their C++, compiled in the background.

Without the C module nothing is replayed, nor without a compiler.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Sequence
from typing import Any

from ..backends import artifacts
from ..backends.gcc import BuildError
from ..backends.loops import build
from ..backends.loops.build import Kind
from ..backends.loops.period import Layout, Param, Period, Slot, generate
from ..backends.loops.program import Unsupported
from ..backends.loops.regions import Length
from ..config import config
from ..speed import native

# As loops' programs, but floating-point errors are told: nothing is computed that the program does not.
FLAGS = tuple([flag for flag in build.FLAGS if flag != "-fno-trapping-math"])


def functions(path: str) -> list[int]:
    """The addresses of the functions of a shared object, which stays loaded."""
    if path not in loaded:
        library = ctypes.CDLL(path)
        found: list[int] = []
        with contextlib.suppress(AttributeError):
            while True:
                found.append(ctypes.cast(getattr(library, f"part{len(found)}"), ctypes.c_void_p).value or 0)
        loaded[path] = library, found
    return loaded[path][1]


loaded: dict[str, tuple[ctypes.CDLL, list[int]]] = {}
MOST = 2000  # libraries that are loaded, in a program that makes ever new loops
PERIOD = Kind(FLAGS, functions)
Question = tuple[int, list[Any], list[Any], Sequence[int]]
"""A program's number, its slots, its parameters, and how long each length may be that moves."""


class Planner:
    """What makes programs."""

    def plan(self, question: Question) -> None:
        """Make the program that `question` describes; `native.replay_ready` is told of it."""
        build.builder.submit(functools.partial(self.make, question), lambda made, failure: self.tell(question[0], made))

    def make(self, question: Question) -> tuple[list[int], Period] | None:
        """The functions of the program's parts; None where there are none."""
        _, slots, params, most = question
        if len(loaded) >= MOST:
            return None
        try:
            period = generate(*described(slots, params, most))
            run = build.found(period.text, PERIOD)
            if run is None and config.compile and artifacts.compiler_path_cached() is not None:
                run = build.built(period.text, PERIOD)
        except (Unsupported, BuildError, OSError):
            return None
        return (run, period) if run and len(run) == period.parts else None

    def tell(self, number: int, made: tuple[list[int], Period] | None) -> None:
        if made is None:
            native.replay_ready(number, None, 0, ())
        else:
            run, period = made
            native.replay_ready(number, run, period.workspace, period.errors)


def described(slots: Sequence[Any], params: Sequence[Any], most: Sequence[int]) -> tuple[list[Slot], list[Param]]:
    """What C says of a program. A negative length is -1 - the number of one that moves; `most`: the longest of each."""

    def layout(given: Any) -> Layout:
        shape, strides, dtype = given
        first = len(slots) + len(params)
        return Layout(
            tuple([n if n >= 0 else Length(f"o[{first - 1 - n}]", most[-1 - n]) for n in shape]), strides, dtype
        )

    def slot(given: Any) -> Slot:
        kind, ufunc, ins, out, loop, offset, fixed, stored, part, fused, how = given
        made = None if out is None else layout(out)
        return Slot(kind, ufunc, tuple(ins), made, loop, offset, bool(fixed), bool(stored), part, bool(fused), how)

    def param(given: Any) -> Param:
        of, root, apart, fixed = given
        return Param(layout(of), root, apart, bool(fixed))

    return [slot(s) for s in slots], [param(p) for p in params]


planner = Planner()
