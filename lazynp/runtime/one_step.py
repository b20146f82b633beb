"""Small jitted programs as one C function: the body of a loop of one step.

Kernel by kernel, a program of small arrays costs what calling its kernels costs. So what has cost enough is compiled as
the bodies of loops are (`runtime/loops.py`), in the background, and calls go to that function as soon as it is there.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..config import config
from ..graph.function import Function
from ..graph.node import Node
from ..ops.closure import unrecorded
from ..speed import OneStepBase, calls
from .loop_program import scan_program
from .loops import Machine

LARGEST = 1 << 16  # bytes of one value from which kernels are worth their overhead: they run on all cores
MOST_NODES = 1500
LEAST_NODES = 2


def is_one(nodes: Sequence[Node]) -> bool:
    """Whether a graph is small enough, and large enough, to be one function."""
    if not LEAST_NODES <= len(nodes) <= MOST_NODES:
        return False
    return all(
        [a.size * a.dtype.itemsize <= LARGEST for n in nodes for a in (n.outs if n.dtype is None else (n.aval,))]
    )


class OneStep(OneStepBase):
    """A small program. Called with the inputs' values, it gives a list in which the results stand at the places `out`.

    Attributes:
        first: runs it until there is machine code, and where none may be run: `Direct` or `Planned`.
        inputs, results: the nodes. captured: the arrays that it reads besides, as nodes, and as `constants`.
        machine: what the first way has cost, and the machine code.
        native: whether the C module calls that.
        begun: whether it has run before: the first run costs what no later one does.
    """

    def __init__(
        self,
        first: Any,
        inputs: Sequence[Node],
        captured: Sequence[Node],
        constants: list[Any],
        results: Sequence[Node],
    ) -> None:
        self.first, self.inputs, self.results = first, tuple(inputs), tuple(results)
        self.captured, self.constants = captured, [np.asarray(x, order="C") for x in constants]
        self.out = tuple(range(len(results)))
        self.machine = Machine(self.loop, self.entered)
        self.native = self.begun = False

    def node_at(self, place: int) -> Node:
        """The node of the result at a place."""
        return self.results[place]

    def loop(self) -> Any:
        """The program as a loop: its one step reads all inputs, and its results are the rows of stacks of one."""
        with unrecorded():
            inputs = [*self.inputs, *self.captured]
            return scan_program(Function(inputs, self.results), len(inputs), 0, False)

    def entered(self, run: Any) -> None:
        """There is machine code; without it kernels are to be compiled."""
        if run is None:
            self.first.hasten()
            return
        assert self.machine.source is not None
        dtypes = tuple([n.dtype for n in self.inputs])
        results = tuple([(n.shape, n.dtype) for n in self.results])
        address = ctypes.cast(run, ctypes.c_void_p).value or 0
        self.native = self.enter(address, dtypes, (*self.constants, *self.machine.source.arrays), results)

    def room(self) -> Any:
        """A workspace, for the C module."""
        return self.machine.room()

    def __call__(self, values: list[Any]) -> list[Any]:
        if self.machine.run is not None and config.compile and not config.deterministic:
            return self.compiled(values)
        began = time.perf_counter()
        there = self.first(values)
        if self.begun:
            self.machine.charge(time.perf_counter() - began)
        self.begun = True
        return [there[k] for k in self.first.out]

    def compiled(self, values: list[Any]) -> list[Any]:
        """The results, by machine code."""
        if self.native:
            return self.step(values)
        made = [np.empty((1, *n.shape), n.dtype) for n in self.results]
        given = [np.asarray(x).astype(n.dtype, copy=False) for x, n in zip(values, self.inputs)]
        self.machine([*given, *self.constants], [], made, 0, 1, 1)
        return [x[0, ...] for x in made]


def allow(yes: bool) -> None:
    """Whether the C module may call machine code without a call of Python."""
    if calls is not None:
        calls.allow_steps(yes and config.compile and not config.deterministic)


def settings_changed(name: str, value: Any) -> None:
    if name in ("compile", "deterministic"):
        allow(True)


allow(True)
config.watch(settings_changed)
