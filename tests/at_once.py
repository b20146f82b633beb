"""Machine code for all kernels of random programs, made before they are run: dozens of kernels in one call of g++.

The compiler process builds one kernel after the other, each for a second and more, most of which is spent on headers.
Here the kernels are translated as it translates them, with the same flags and headers, and built together, so that one
takes about a tenth of a second. What runs them is lazynp's own.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator
from typing import Any, NamedTuple

from lazynp.backends.artifacts import shared
from lazynp.backends.compiled import Compiled, packer
from lazynp.backends.kernel import KernelSpec
from lazynp.backends.torch import build
from lazynp.backends.torch.translate import translate
from lazynp.runtime.kernels import Form, kernels

TOGETHER = 48  # kernels in one call of g++
# Seconds of CPU time for one kernel, which takes 0.03 to 0.3; a hundred divisions of integers take ten.
LOWERING = 3.0
EXPORTS = ("lazynp_run", "lazynp_arrays")


class OfLibrary(Compiled):
    """A kernel of a library that holds many."""

    __slots__ = ()

    def __init__(self, spec: KernelSpec, library: ctypes.CDLL, number: int, meta: dict[str, Any]) -> None:
        self.key, self.meta, self.library = f"number {number}", meta, library
        count = len(spec.inputs) + len(spec.outputs)
        self.call = library[f"lazynp_run_{number}"]
        self.call.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)
        self._arrays = library[f"lazynp_arrays_{number}"]
        self._arrays.argtypes = (*[ctypes.py_object] * count, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p)
        self.pack = packer(spec.scalars)


class Lowered(NamedTuple):
    form: Form
    text: str
    meta: dict[str, Any]


class Builder:
    """Gives forms of kernels their machine code.

    Attributes:
        built: how many have theirs.
        refused: reasons for which Inductor has none -> kernels.
    """

    def __init__(self, folder: str) -> None:
        tools = build.toolchain()
        assert tools is not None, "no C++ compiler"
        self.tools, self.folder = tools, folder
        self.header = build.Header(tools, shared())
        if self.header.thread is not None:
            self.header.thread.join()
        self.libraries = self.built = 0
        self.refused: dict[str, int] = {}

    def build(self) -> None:
        """Machine code for what the interpreter has run so far."""
        lowered = [x for form in list(missing()) if (x := self.lower(form)) is not None]
        for i in range(0, len(lowered), TOGETHER):
            self.link(lowered[i : i + TOGETHER])

    def lower(self, form: Form) -> Lowered | None:
        try:
            with at_most(LOWERING):
                return Lowered(form, *translate(form.spec, form.geometry, self.tools.capability))
        except Exception as error:  # of any kind, as in the compiler process: the kernel stays interpreted
            reason = f"{type(error).__name__}: {str(error)[:100]}"
            self.refused[reason] = self.refused.get(reason, 0) + 1
            form.asked = True
            return None

    def link(self, kernels: list[Lowered]) -> None:
        self.libraries += 1
        target = os.path.join(self.folder, f"{self.libraries}.so")
        text = "\n".join([apart(k.text, number) for number, k in enumerate(kernels)])
        build.build(self.tools, self.header, text, target)
        library = ctypes.CDLL(target)
        os.unlink(target)
        for number, k in enumerate(kernels):
            k.form.compiled, k.form.asked = OfLibrary(k.form.spec, library, number, k.meta), True
            self.built += 1


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in the main thread when they have passed."""

    def late(number: int, frame: Any) -> None:
        raise TimeoutError(f"more than {seconds:.0f} seconds of CPU time")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def apart(text: str, number: int) -> str:
    """A kernel's source with names of its own."""
    names = "".join([f"#define {name} {name}_{number}\n" for name in EXPORTS])
    return f"{names}namespace of_{number} {{\n{text}\n}}\n" + "".join([f"#undef {name}\n" for name in EXPORTS])


def missing() -> Iterator[Form]:
    """What the interpreter has run for want of machine code that could be there, what ran first first."""
    seen: set[int] = set()
    for kernel in kernels.everything():
        for form in kernel.forms.values():
            if form.compiled is None and not form.asked and id(form) not in seen:
                seen.add(id(form))
                yield form
