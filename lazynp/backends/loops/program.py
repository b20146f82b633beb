"""The body of a loop as plain data: what `source` makes C++ of.

Values are numbered: inputs, then constants, then the results of the steps in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Value(NamedTuple):
    """Shape and dtype (its NumPy name)."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def size(self) -> int:
        n = 1
        for s in self.shape:
            n *= s
        return n


class Step(NamedTuple):
    """One operation.

    Attributes:
        kind: "map", "reduce", "view", "set", or "other".
        op: the op's name. loop: of a map the dtypes in which it reads its operands.
        params: the op's parameters; bodies of inner loops are `Body`.
        args, outs: numbers of values.
        call: makes the operation as a function of NumPy arrays, for what has no C++.
    """

    kind: str
    op: str
    args: tuple[int, ...]
    outs: tuple[int, ...]
    loop: tuple[str, ...]
    params: dict[str, Any]
    call: Callable[[], Callable[..., Any]] | None = None


class Body(NamedTuple):
    """Straight-line code with inner loops.

    Attributes:
        n_inputs: how many values are given.
        scalars: constants by number, Python or NumPy scalars. arrays: those that are arrays.
        outputs: numbers of values.
    """

    values: tuple[Value, ...]
    n_inputs: int
    scalars: dict[int, Any]
    arrays: dict[int, Any]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]


class Loop(NamedTuple):
    """What is compiled: "scan" (body; n_consts, n_carry, reverse) or "while" (cond, body; n_cond, n_body)."""

    kind: str
    bodies: tuple[Body, ...]
    counts: tuple[int, int]
    reverse: bool = False


class Site(NamedTuple):
    """A step that Python computes, in the middle of machine code.

    Attributes:
        call: see `Step`.
        args, outs: where the arrays lie in the workspace: (offset in bytes, shape, dtype).
    """

    call: Callable[[], Callable[..., Any]]
    args: list[tuple[int, tuple[int, ...], str]]
    outs: list[tuple[int, tuple[int, ...], str]]


class Unsupported(Exception):
    """There is no C++ for this; the text says why."""
