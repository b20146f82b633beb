"""NumPy's generalized ufuncs, those of `numpy.linalg` among them, as operations of the engine.

`numpy.linalg` is NumPy's Python code, which checks its arguments and calls these with a signature: so dtypes, shapes
and errors are NumPy's. A call is recorded where an array is pending, large or traced. One that may find that a value is
wrong (`LinAlgError`) is computed at once, with all that it needs: code that catches the error expects it at the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from ..graph.node import Node
from ..graph.op import results
from ..ops import contraction, factorizations, linalg
from ..ops.creation import eye
from ..ops.shape import reshape
from ..runtime.recorder import recorder
from ..runtime.views import TRANSPOSE
from .arithmetic import in_memory_order
from .array import ndarray, of_node, of_scalar
from .host import PLAIN, at_hand
from .layout import array_of
from .record import cast_node, nodes_of, told
from .recorded_ufuncs import stack_order


class Call(NamedTuple):
    """How a generalized ufunc is done.

    Attributes:
        rule: makes the node of nodes; one that has several results where the ufunc has.
        checks: whether the values may be such that NumPy raises.
        core: how many axes of an operand are its own, behind those of the stack.
        lenient: the rule where the caller has NumPy leave NaN instead (`cond` of a singular matrix).
    """

    rule: Callable[..., Node]
    checks: bool = False
    lenient: Callable[..., Node] | None = None
    core: int = 2


def solve_vector(a: Node, b: Node) -> Node:
    """Each vector of the stack b is a right-hand side."""
    out = linalg.solve_op(a, reshape(b, shape=(*b.shape, 1)))
    return reshape(out, shape=out.shape[:-1])


CALLS: dict[str, Call] = {
    "vecdot": Call(contraction.vecdot, core=1),
    "matvec": Call(contraction.matvec),
    "vecmat": Call(contraction.vecmat),
    "solve": Call(linalg.solve_op, True),
    "solve1": Call(solve_vector, True),
    "inv": Call(linalg.inv, True, lambda a: factorizations.solve_or_nan(a, eye(a.shape[-1], dtype=a.dtype))),
    "det": Call(linalg.det),
    "slogdet": Call(linalg.slogdet),
    "cholesky_lo": Call(lambda a: linalg.cholesky(a, upper=False), True),
    "cholesky_up": Call(lambda a: linalg.cholesky(a, upper=True), True),
    "eigh_lo": Call(lambda a: linalg.eigh(a, UPLO="L"), True),
    "eigh_up": Call(lambda a: linalg.eigh(a, UPLO="U"), True),
    "eigvalsh_lo": Call(lambda a: linalg.eigvalsh(a, UPLO="L"), True),
    "eigvalsh_up": Call(lambda a: linalg.eigvalsh(a, UPLO="U"), True),
    "eig": Call(linalg.eig, True),
    "eigvals": Call(linalg.eigvals, True),
    "svd": Call(linalg.svdvals, True),
    "svd_s": Call(lambda a: linalg.svd(a, full_matrices=False), True),
    "svd_f": Call(lambda a: linalg.svd(a, full_matrices=True), True),
}
LINALG: Any = vars(numpy.linalg)["_umath_linalg"]


def call_of(host: numpy.ufunc) -> Call | None:
    """How one of NumPy's own generalized ufuncs is done; None where it is left to NumPy."""
    name = host.__name__
    own = host.signature is not None and any(getattr(m, name, None) is host for m in (numpy, LINALG))
    return CALLS.get(name) if own else None


def wanted(arrays: Sequence[Any]) -> bool:
    """Whether some array is pending, large or traced, and none is of a subclass, or anything that is no array."""
    found = False
    for x in arrays:
        kind = type(x)
        if kind is ndarray:
            found = found or not at_hand(x)
        elif kind is not numpy.ndarray and kind not in PLAIN:
            return False
    return found


def recorded(call: Call, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The arrays that a call gives; NotImplemented where it is left to NumPy. Raises LinAlgError."""
    signature = kwargs.get("signature", "")
    if kwargs.keys() - {"signature"} or not isinstance(signature, str) or not wanted(args):
        return NotImplemented
    order = stack_order(list(args), call.core)
    nodes = nodes_of(args if order is None else in_memory_order(args, order))
    if nodes is None or any(not n.ndim for n in nodes):
        return NotImplemented
    if signature:
        nodes = [cast_node(n, numpy.dtype(c)) for n, c in zip(nodes, signature.partition("->")[0])]
    else:
        dtype = numpy.result_type(*[n.dtype for n in nodes])
        nodes = [cast_node(n, dtype) for n in nodes]
    lenient = call.lenient is not None and numpy.geterr()["invalid"] != "call"
    try:
        node = call.lenient(*nodes) if call.lenient is not None and lenient else call.rule(*nodes)
    except (TypeError, ValueError):
        return NotImplemented  # NumPy says what is wrong
    if call.checks and not lenient and not node.trace:
        recorder.demand(node)
    if node.dtype is not None:
        return shown(told(node), order, call.core)
    return tuple([shown(n, order, call.core) for n in results(node)])


def shown(node: Node, order: tuple[int, ...] | None = None, core: int = 2) -> Any:
    """The handle of a result; its stack's axes back in their order."""
    if not node.shape:
        return of_scalar(node) if node.trace else of_node(node)
    if order is None:
        return array_of(node)
    outer = order[:-core]
    return array_of(node)._derived_(TRANSPOSE, (*outer, *range(len(outer), node.ndim)))
