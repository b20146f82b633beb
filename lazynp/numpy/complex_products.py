"""Products of complex numbers that have NumPy's last place.

NumPy has two loops for them. The one for rows computes the real part of `(a + bi)(c + di)` as `fma(a, c, -(b d))`,
where the machine can; the one that takes numbers one by one rounds each product. The engine's kernels call NumPy's
loop on rows of their own, so a call for which NumPy takes one by one is recorded with each product rounded.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from ..graph.node import Node
from ..ops.elementwise import multiply_rounded
from .array import Handle
from .masked import selection_of
from .record import cast_node, common_dtype, errors_kept, spreads

NAMES = frozenset({"multiply", "square"})
IN_PLACE = NAMES | {"power"}  # of which some are squares
CHARS = "FD"


def is_product(name: str, nodes: list[Node]) -> bool:
    """Whether it is a product of complex numbers, and one that is NumPy's: not traced, nor computed at once to tell of
    its errors."""
    if name not in NAMES or not any([n.dtype.char in CHARS for n in nodes]):
        return False
    return not any([n.trace for n in nodes]) and not errors_kept()


def rounded(nodes: list[Node]) -> Node:
    """The product of two, or the square of one, as the loop has it that takes numbers one by one."""
    dtype = common_dtype(nodes)
    return multiply_rounded(*[cast_node(n, dtype) for n in (nodes[0], nodes[-1])])


def is_one_by_one(name: str, nodes: list[Node], operands: Any, out: Any = None, masked: bool = False) -> bool:
    """Whether NumPy takes the numbers of a product one by one, `masked`: under `where=`. `operands`: those of the
    nodes, and perhaps an exponent, of which a square makes no use."""
    if not is_product(name, nodes):
        return False
    operands = operands[: len(nodes)]
    arrays = [x for x in operands if isinstance(x, (Handle, numpy.ndarray))]
    if any([selection_of(x) is not None for x in arrays]):
        return False
    dtype = common_dtype(nodes)
    if any([n.shape and set(n.shape) != {1} for n in nodes]):
        if (
            out is None
            or out.ndim != 1
            or out.dtype != dtype
            or not all([x.dtype == dtype and spreads(x.shape, out.shape) for x in arrays])
        ):
            return False  # kernels give NumPy's loop such rows as NumPy does
        steps = [min(max(strides_in(x, out.shape)[0] // dtype.itemsize, -2), 2) for x in (*operands, out)]
        return steps[-1] != 0 and rounds_with(name, dtype.char, tuple(steps))  # 0: there are no elements
    axes = {x.ndim for x in arrays if x.ndim}  # of a single number, which the iterator gives to the loop without a step
    if out is None:
        return len(axes) > 1
    return masked or any([is_same(x, out) for x in arrays]) or len(axes | {out.ndim}) > 1 or dtype != out.dtype


def is_same(x: Any, out: Any) -> bool:
    return x is out or isinstance(x, Handle) and x._s_ is out._s_ and x._view_() is out._view_()


def strides_in(x: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """An operand's strides in the axes of the result."""
    if not isinstance(x, (Handle, numpy.ndarray)):
        return (0,) * len(shape)
    meta = x._meta_() if isinstance(x, Handle) else x
    own = [0 if n == 1 else s for n, s in zip(meta.shape, meta.strides)]
    return (*(0,) * (len(shape) - len(own)), *own)


@functools.cache
def rounds_with(name: str, char: str, steps: tuple[int, ...]) -> bool:
    """Whether NumPy, on this machine, takes numbers of rows one by one where these are the steps between them: it has
    no other loop for some."""
    n, rows = 9, []
    for place, step in enumerate(steps):
        row = numpy.zeros(2 * n, char)
        row[:] = (1 + 1j) * (1 + (2**-13 if char == "F" else 2**-30))  # parts whose square is no number of theirs
        rows.append(row[:: abs(step)][:n][:: 1 if step > 0 else -1] if step else row[place])
    getattr(numpy, name)(*rows[:-1], out=rows[-1])
    return bool(rows[-1][0].real == 0)  # the same twice, once rounded and once not, differs


def forwards(name: str, operands: Any) -> Any:
    """Operands, the last of which is written, with those axes turned along which all go backwards: NumPy goes through
    them so, and no loop for rows goes backwards."""
    out = operands[-1]
    if (
        name not in IN_PLACE
        or out.dtype.char not in CHARS
        or not all([spreads(getattr(x, "shape", ()), out.shape) for x in operands])
    ):
        return operands
    strides = [strides_in(x, out.shape) for x in operands]
    back = [min(s) < 0 and max(s) <= 0 for s in zip(*strides)]
    if not any(back):
        return operands

    def turned(x: Any, own: tuple[int, ...]) -> Any:
        ndim = getattr(x, "ndim", 0)
        key = [slice(None, None, -1 if b and s else 1) for b, s in zip(back, own)][out.ndim - ndim :]
        return x[tuple(key)] if ndim else x

    return tuple([turned(x, own) for x, own in zip(operands, strides)])
