"""Run a program on NumPy and on lazynp, say where they differ, and make the program that shows it small."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy
from programs import NAMES, Generator, Loop, Program, code, lines, namespace, statements

from lazynp.config import config

Entry = tuple[str, Any]  # where it was seen; the value, or an exception's type


def snapshot(x: Any) -> Any:
    """The value of an array as it is now. It must not make lazynp share its memory with NumPy."""
    if hasattr(x, "_host_"):
        x = x._host_()
    return x.copy() if isinstance(x, numpy.ndarray) else x


def run(program: Program, module: Any, probe: bool = True) -> list[Entry]:
    """All that a program shows: what it logs, what it raises, its names at the end, and who shares memory with whom."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shown(program, module, probe)


def shown(program: Program, module: Any, probe: bool = True) -> list[Entry]:
    """`run` for one of several threads, which share the filters of warnings: whoever starts them ignores these."""
    entries: list[Entry] = []
    space = namespace(module, lambda x: entries.append(("log", snapshot(x))))
    with numpy.errstate(all="ignore"):
        for number, (text, variables) in enumerate(statements(program)):
            space.update(variables)
            try:
                exec(code(text), space)
            except Exception as error:
                entries.append((f"{number}: {text}", type(error)))
        show(space, entries, "end")
        for name in NAMES if probe else "":
            x = space.get(name)
            if x is not None and getattr(x, "ndim", 0):
                try:
                    x[...] = ord(name) - 90
                except Exception as error:
                    entries.append((f"{name}[...] =", type(error)))
                del x
                show(space, entries, f"after {name}[...] =")
    return entries


def show(space: dict[str, Any], entries: list[Entry], when: str) -> None:
    for name in NAMES:
        if name in space:
            try:
                entries.append((f"{when}: layout of {name}", layout(space[name])))
                entries.append((f"{when}: {name}", snapshot(space[name])))
            except Exception as error:
                entries.append((f"{when}: {name}", type(error)))


def layout(x: Any) -> Any:
    """Which of several equal dtypes it is, strides, flags, whether there is a base: later results depend on these."""
    if not hasattr(x, "flags") or isinstance(x, numpy.generic):
        return None
    strides = tuple([s for s, n in zip(x.strides, x.shape) if n > 1]) if x.size > 1 else ()
    flags = x.flags
    return x.dtype.char, strides, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.owndata, x.base is None


class Freedom(NamedTuple):
    """In what NumPy itself is not always the same: results depend on how operands lie in memory, and on the processor.

    Attributes:
        zeros: which of 0 and -0 is the greater. last_bits: of a complex product, and of what is made of its parts.
    """

    zeros: bool = False
    last_bits: bool = False


NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)")
EXTREMA = re.compile(r"max|min|clip|sort|partition")


def freedom_of(program: Program) -> Freedom:
    text = str(program)
    return Freedom(EXTREMA.search(text) is not None, "complex" in text)


def same(x: Any, y: Any, free: Freedom = Freedom()) -> bool:  # noqa: B008
    """Whether two values are of one type, shape and dtype, and equal in every bit but for what a NaN carries, and for
    what is free.

    Complex numbers may always differ in their last bits: NumPy's complex product is another on overlapping operands.
    So where one overflows, what is not finite may be another, infinity or NaN.
    """
    if isinstance(x, type) and isinstance(y, type):  # np.ma's errors are classes of each
        return x.__name__ == y.__name__ and len({z.__module__.replace("lazynp", "numpy") for z in (x, y)}) == 1
    if type(x) is not type(y):
        return False
    if isinstance(x, str) and free.last_bits:
        a, b = [numpy.array(NUMBER.findall(text), float) for text in (x, y)]
        finite = numpy.isfinite(a)
        alike = NUMBER.sub("", x) == NUMBER.sub("", y) and numpy.array_equal(finite, numpy.isfinite(b))
        return alike and numpy.allclose(a[finite], b[finite], rtol=1e-3)
    if not isinstance(x, (numpy.ndarray, numpy.generic)):
        return x == y or x != x and y != y
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if x.tobytes() == y.tobytes():
        return True
    if x.dtype.kind == "c" or x.dtype.kind == "f" and free.last_bits:
        a, b = numpy.atleast_1d(x), numpy.atleast_1d(y)
        finite = numpy.isfinite(a)
        near = numpy.allclose(a[finite], b[finite], rtol=1e-7 if a.real.dtype.itemsize >= 8 else 1e-3)
        return near and bool((finite == numpy.isfinite(b)).all())
    if x.dtype.kind != "f":
        return False
    a, b = numpy.asarray(x), numpy.asarray(y)
    nan = numpy.isnan(a)
    if not (nan == numpy.isnan(b)).all():
        return False
    a, b = a[~nan], b[~nan]
    return bool((a == b).all()) if free.zeros else a.tobytes() == b.tobytes()


def difference(program: Program, module: Any, settings: dict[str, Any], wanted: list[Entry] | None = None) -> str:
    """Where lazynp under these settings differs from NumPy, which shows `wanted`; empty if nowhere."""
    wanted = run(program, numpy) if wanted is None else wanted
    with config(**settings):
        try:
            got = run(program, module)
        except Exception as error:
            return f"run: {type(error).__name__}: {error}"
    free = freedom_of(program)
    for (where, x), (there, y) in zip(wanted, got):
        if where != there:
            return f"  NumPy: {where} -> {describe(x)}\n  lazynp: {there} -> {describe(y)}"
        if not same(x, y, free):
            return f"{where}\n  NumPy: {describe(x)}\n  lazynp: {describe(y)}"
    return "" if len(wanted) == len(got) else f"one ends early: {(wanted + got)[min(len(wanted), len(got))]}"


def describe(x: Any) -> str:
    if isinstance(x, numpy.ndarray):
        with numpy.printoptions(threshold=24, edgeitems=2, precision=17):
            return f"{x.dtype} {x.shape} {x!r}"[:600]
    return repr(x)


def smaller(program: Program) -> Iterator[Program]:
    """Programs with something left out: halves and quarters first, then single parts, then within loops."""
    n = len(program)
    for width in (n // 2, n // 4, 1):
        if width:
            for i in range(0, n, width):
                yield program[:i] + program[i + width :]
    for i, part in enumerate(program):
        if isinstance(part, Loop):
            yield program[:i] + part.body + program[i + 1 :]
            if part.count > 2:
                yield (*program[:i], part._replace(count=part.count - 1), *program[i + 1 :])
            for body in smaller(part.body):
                if body:
                    yield (*program[:i], part._replace(body=body), *program[i + 1 :])


def shrink(program: Program, differs: Callable[[Program], bool], tries: int = 1500) -> Program:
    """The smallest program found that still differs."""
    again = True
    while again and tries > 0:
        again = False
        for candidate in smaller(program):
            tries -= 1
            if tries < 0:
                break
            if differs(candidate):
                program, again = candidate, True
                break
    return program


def kind_of(text: str) -> tuple[bool, ...]:
    """Values that differ, or errors that do: a program is not to be shrunk from one to the other."""
    return (bool(text), *["<class" in line for line in text.split("\n") if "NumPy:" in line or "lazynp:" in line])


def report(seed: int, program: Program, module: Any, settings: dict[str, Any], tries: int = 1500) -> str:
    """What to read when a program differs: the seed, a small program (of so many that are tried), the difference."""
    kind = kind_of(difference(program, module, settings))

    def differs(p: Program) -> bool:
        return kind_of(difference(p, module, settings)) == kind

    small = shrink(program, differs, tries)
    text = "\n".join("    " + line for line in lines(small))
    return f"seed {seed}, {settings}\n{text}\n  {difference(small, module, settings)}"


def settings_of(seed: int) -> tuple[dict[str, Any], ...]:
    """The settings that a program runs under: one of mode auto, one of mode graph."""
    pick = seed * 2654435761 % (1 << 32) >> 8
    auto = {
        "mode": "auto",
        "small": (0, 1, 2, 4, 8, 16, 0, 8192)[pick % 8],
        "pending_nodes": (512, 512, 8, 3)[pick // 8 % 4],
    }
    graph = {"mode": "graph", "pending_nodes": (512, 512, 64, 2, 3, 5, 8, 16)[pick // 32 % 8]}
    return auto | {"deterministic": True}, graph | {"deterministic": True}


def check(seed: int, module: Any, outsiders: bool = True) -> str:
    """Make the program of a seed and run it in both modes; a report, empty if all agrees."""
    program = Generator(seed, outsiders=outsiders)()
    wanted = run(program, numpy)
    for settings in settings_of(seed):
        if difference(program, module, settings, wanted):
            return report(seed, program, module, settings)
    return ""
