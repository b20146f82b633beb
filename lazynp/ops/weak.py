"""Which derivatives are weak: as in JAX, where a rule that uses numbers of a definite dtype gives a definite one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..graph.node import Node
from ..graph.op import VIEW
from .elementwise import cast, weak_cast
from .promotion import is_inexact
from .rewrites import rewrites
from .shape import zeros_of

DEFINITE = {
    *("maximum.reduce", "minimum.reduce", "multiply.reduce"),
    *("maximum.accumulate", "minimum.accumulate", "logaddexp.accumulate"),
}
"""Of these the derivative is of a definite dtype, forwards and backwards."""
OF_ARRAYS = {
    *("square", "reciprocal", "sqrt", "cbrt", "exp2", "tan", "arcsin", "arccos", "arctan"),
    *("power", "erf", "erfc", "erf_inv", "digamma"),
}
"""Of these too, where the operand has axes: a number beside an array is made an array by their rules."""
FORWARD = {"cholesky_or_nan", "cholesky", "qr"}
"""Of these the tangent is; cotangents are converted to the operand's type."""
BACKWARD = {
    *("gather", "dynamic_slice", "dynamic_update_slice", "sort", "roll", "complex", "real", "imag"),
    *("eigh_or_nan", "eigh_of_triangle", "svd_or_nan", "svdvals_or_nan", "svd", "svdvals"),
}
"""Of these the cotangent is."""
MIXED = {"matmul", "vecdot", "matvec", "vecmat", "conv"}
"""These take a weak operand beside another as it is; all other operations convert it first, and its cotangent back."""
LOOPS = {"scan", "while"}


def instantiated(found: Any, like: Node, weak: bool | None = None, whole: bool = False) -> Any:
    """A derivative of this node's type: zeros where there is none; None (float0) for whole numbers, unless `whole`.
    `weak`: whether its dtype yields; None: as it comes, and that of zeros as the node's."""
    if not whole and not is_inexact(like.dtype):
        return None
    if found is None:
        found, weak = zeros_of(like), like.weak
    if weak is None or found.weak == weak:
        return found
    return (weak_cast if weak else cast)(found, dtype=found.dtype)


def all_instantiated(found: Sequence[Any], outs: Sequence[Node], weak: Sequence[bool | None]) -> list[Any]:
    """`instantiated`, of each."""
    return [instantiated(t, n, w) for t, n, w in zip(found, outs, weak)]


def weak_tangents(outs: Sequence[Node], leaves: Sequence[Node], given: bool) -> list[bool | None]:
    """For each result whether its tangent is weak, where those of the leaves are `given` so. None: as it comes, where
    the result is not weak."""
    if not any([n.weak for n in outs]):
        return [None] * len(outs)
    order = rewrites.differentiable(outs, [n for n in leaves if is_inexact(n.dtype)])
    yielding = yields(order, leaves)
    found = {n: given for n in leaves}
    for n in order:
        assert n.op is not None
        definite, looped = is_definite(n) or n.op.name in FORWARD, n.op.name in LOOPS
        found[n] = n in yielding and not definite and (looped or all([found[i] for i in n.inputs if i in found]))
    return [found.get(n, True) if n.weak else None for n in outs]


def weak_cotangents(outs: Sequence[Node], leaves: Sequence[Node], given: bool) -> list[bool | None]:
    """For each leaf whether its cotangent is weak, where those of the results are `given` so. None: as it comes, where
    the leaf is not weak."""
    if not any([n.weak for n in leaves]):
        return [None] * len(leaves)
    order = rewrites.differentiable(outs, [n for n in leaves if is_inexact(n.dtype)])
    yielding, active = yields(order, leaves), {*order, *leaves}
    written = {n.inputs[0] for n in order if n.op is not None and n.op.name == "set"}
    found = {n: given for n in outs}
    for n in reversed(order):
        if n in found:
            for i in [i for i in n.inputs if i in active]:
                found[i] = passes(n, i, found[n], yielding, active, written) and found.get(i, True)
    return [found.get(n, True) if n.weak else None for n in leaves]


def yields(order: Sequence[Node], leaves: Sequence[Node]) -> set[Node]:
    """The nodes that are weak, and those that are made weak by all who use them, or are on the way to a product that
    takes weak operands."""
    used: dict[Node, list[Node]] = {}
    for n in order:
        for i in n.inputs:
            used.setdefault(i, []).append(n)
    found = {n for n in (*order, *leaves) if n.weak}
    mixed = {n for n in order if n.op is not None and n.op.name in MIXED}
    for n in reversed(order):
        users = used.get(n, ())
        if users and found.issuperset(users):
            found.add(n)
        elif users and (n.op is cast or n.op is not None and n.op.kind == VIEW) and mixed.issuperset(users):
            mixed.add(n)
    return found | mixed.difference([n for n in mixed if n.op is not None and n.op.name in MIXED])


def is_definite(n: Node) -> bool:
    """Whether the derivative has a definite dtype in both directions."""
    assert n.op is not None
    name = n.op.name
    if name == "c_power" or name == "power" and is_inexact(n.inputs[1].dtype):
        return True
    of_array = name in OF_ARRAYS and bool(n.shape)
    return of_array or name in DEFINITE or name == "absolute" and n.inputs[0].dtype.kind == "c"


def passes(n: Node, i: Node, weak: bool, yielding: set[Node], active: set[Node], written: set[Node]) -> bool:
    """Whether the cotangent of an input is weak, where that of the node is or not. A part of what is `written` into is
    read for that, and no operation of JAX's."""
    assert n.op is not None
    name = n.op.name
    if name == "set" and n.inputs[0] not in active:
        return False
    if name == "slice" and i not in written and prod(n.shape) < prod(i.shape):
        return False
    if name in MIXED:
        return weak and n in yielding
    converted = n.op in (cast, weak_cast) and i.dtype != n.dtype or n not in yielding
    if converted or name in LOOPS or name in FORWARD or name == "c_power" and n.inputs[1] in active:
        return i in yielding
    return weak and name not in BACKWARD and not is_definite(n)
