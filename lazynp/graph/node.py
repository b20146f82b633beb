"""One application of an op. Nodes are immutable, but for the buffer that is attached once the value is known."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bounded import Bounded
from .aval import Aval

if TYPE_CHECKING:
    from .op import Op

CONCRETE, KEPT, ABSTRACT = 0, 1, 2
BORROWED = -2  # the index of a leaf whose buffer is not the segment's to overwrite
SCALAR_DTYPES = {
    bool: np.dtype(bool),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


NUMBERS_KEPT = 1 << 14
_numbers: Bounded[Any, int] = Bounded(NUMBERS_KEPT)
_fresh = itertools.count(1)


def numbers(*what: Any) -> tuple[int, int]:
    """Numbers for an abstract value, and for its rank and dtype."""
    shape, dtype, _ = what if len(what) == 3 else (what, None, False)
    char = getattr(dtype, "char", None)  # C's long and long long are equal dtypes, of other scalars
    return number_of((what, char)), number_of((len(shape), dtype, char))


def number_of(what: Any) -> int:
    """Its number. What is new, or was forgotten, gets a number that nothing else has had."""
    number = _numbers.get(what) or _numbers.recall(what)
    return _numbers.keep(what, next(_fresh)) if number is None else number


SCALAR_NUMBERS = {kind: numbers((), kind, True) for kind in SCALAR_DTYPES}


class Node:
    """An operation that was recorded, or a constant.

    Attributes:
        op: None for a constant or a leaf.
        inputs: nodes; emptied when the value has been computed and nobody differentiates through it.
        static, moving: the op's parameters, in the order in which it names them.
        shape, dtype, weak: the abstract value. dtype is None for an op of several results (see `outs`).
        number: the same number for what an abstract rule cannot tell apart; sort: the same for equal rank and dtype.
        buffer: the value, opaque to all but backends (`on_host` gives NumPy's); None while it is pending.
        value: for a scalar constant, the Python or NumPy scalar.
        trace: CONCRETE; KEPT (depends on a leaf under differentiation: the inputs stay); ABSTRACT (no value can
            be had).
        index: place in the recorder's stream, without a value a trace's number (see `op.Current`); -1 for others.
        signature: hash of what the node is and how far back its inputs are, by the recorder.
        holder: weak reference to the storage that the value was made for, by the runtime.
        error: the exception that computing it raised.
        site: (file, line) that recorded it, for ops whose values can make them fail.
    """

    __slots__ = (
        "op",
        "inputs",
        "static",
        "moving",
        "shape",
        "dtype",
        "weak",
        "number",
        "sort",
        "outs",
        "buffer",
        "value",
        "trace",
        "index",
        "signature",
        "holder",
        "error",
        "site",
        "__weakref__",
    )

    def __init__(
        self,
        op: Op | None,
        inputs: tuple[Node, ...],
        static: tuple[Any, ...],
        moving: tuple[Any, ...],
        shape: tuple[int, ...],
        dtype: Any,
        weak: bool,
        number: int = -1,
        sort: int = -1,
    ) -> None:
        self.op, self.inputs, self.static, self.moving = op, inputs, static, moving
        self.shape, self.dtype, self.weak = shape, dtype, weak
        self.number, self.sort = (number, sort) if number >= 0 else numbers(shape, dtype, weak)
        self.outs: tuple[Aval, ...] = ()
        self.buffer: Any = None
        self.value: Any = None
        self.trace = 0
        self.index = -1
        self.signature = 0
        self.holder: Any = None
        self.error: BaseException | None = None
        self.site: tuple[str, int] | None = None

    @classmethod
    def of_scalar(cls, value: Any) -> Node:
        """A scalar constant. Python's bool, int, float and complex are weak; NumPy's scalars have their dtype."""
        kind = type(value)
        if (dtype := SCALAR_DTYPES.get(kind)) is not None:
            node = cls(None, (), (), (), (), dtype, kind is not bool, *SCALAR_NUMBERS[kind])
        elif isinstance(value, np.generic):
            node = cls(None, (), (), (), (), value.dtype, False)
        elif hasattr(value, "symbolic"):
            return value.node
        else:
            raise TypeError(f"not a scalar: {kind.__name__}")
        node.value = value
        return node

    @property
    def aval(self) -> Any:
        return self.outs if self.dtype is None else Aval(self.shape, self.dtype, self.weak)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def known(self) -> bool:
        """Whether the value is there."""
        return self.buffer is not None or self.value is not None

    def __repr__(self) -> str:
        name = self.op.name if self.op is not None else "scalar" if self.value is not None else "leaf"
        return f"<{name} {self.aval}>"


def leaf(shape: tuple[int, ...], dtype: Any, buffer: Any = None, *, weak: bool = False, trace: int = CONCRETE) -> Node:
    """An input of a graph: a constant when a buffer is given, else a placeholder."""
    node = Node(None, (), (), (), shape, dtype, weak)
    node.buffer, node.trace = buffer, trace
    return node
