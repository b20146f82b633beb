"""`linear_call`: a linear function whose transpose a user wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import optree

from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import Node
from ..tree import NAMESPACE, flatten, unflatten
from . import numpy as jnp
from .array import as_node, wrap
from .bind import OwnPrimitive, UndefinedPrimal, Zero, instantiate_zeros, jvps, transposes
from .closing import Closed, close, close_on, run
from .tree_util import PyTreeDef

Fun = Callable[..., Any]
linear_call_p = OwnPrimitive("linear_call")
linear_call_p.multiple_results = True


class Transposed(NamedTuple):
    """The transpose of a call, traced when it is asked for: its graph, and the values that it captures."""

    make: Callable[[], tuple[Function, list[Node]]]


def linear_call(fun: Fun, fun_transpose: Fun, residual_args: Any, linear_args: Any) -> Any:
    """`fun(residual_args, linear_args)`, linear in the second, with `fun_transpose(residual_args, ct)` as its
    transpose: from cotangents of the result to those of `linear_args`. The transpose of that is `fun` again.

    Raises: TypeError, when it is transposed, where fun_transpose gives another structure than that of linear_args.
    """
    residuals, res_tree = flatten(residual_args)
    linear, lin_tree = flatten(linear_args)
    closed = close(fun, (residual_args, linear_args), "linear_call")
    types = [as_node(x).aval for x in residuals]

    def transpose() -> tuple[Function, list[Node]]:
        found = transposed_graph(fun_transpose, types, res_tree, closed)
        if found.out_tree != lin_tree:
            raise TypeError(
                "transpose output pytree structure must match that of linear inputs, got output structure "
                f"{PyTreeDef(found.out_tree)} and input structure {PyTreeDef(lin_tree)}."
            )
        return found.function, found.captured

    out = linear_call_p.bind(
        *[wrap(n) for n in closed.captured],
        *residuals,
        *linear,
        callee=closed.function,
        transposed=Transposed(transpose),
        n_captured=len(closed.captured),
        n_residuals=len(residuals),
    )
    return unflatten(closed.out_tree, out)


def transposed_graph(fun: Fun, types: Sequence[Aval], res_tree: Any, closed: Closed) -> Closed:
    """The graph of the function that a user wrote as the transpose."""
    pair = optree.treespec_tuple([res_tree, closed.out_tree], namespace=NAMESPACE)
    structure = optree.treespec_tuple([pair, optree.treespec_dict({}, namespace=NAMESPACE)], namespace=NAMESPACE)
    return close_on(fun, [*types, *closed.function.out_avals], structure, "linear_call")


def compute(*args: Any, callee: Function, **_: Any) -> list[Any]:
    return run(callee, args)


def along(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    """The derivative: the same call on the tangents."""
    fixed = params["n_captured"] + params["n_residuals"]
    if not all([isinstance(t, Zero) for t in tangents[:fixed]]):
        raise NotImplementedError("linear_call has no derivative along residual_args, nor along what fun captures")
    given = [instantiate_zeros(t) for t in tangents[fixed:]]
    return linear_call_p.bind(*primals, **params), linear_call_p.bind(*primals[:fixed], *given, **params)


def transpose(cts: Sequence[Any], *args: Any, callee: Function, transposed: Transposed, **places: int) -> list[Any]:
    """The user's function, on the cotangents."""
    n, fixed = places["n_captured"], places["n_captured"] + places["n_residuals"]
    if any([isinstance(x, UndefinedPrimal) for x in args[:fixed]]):
        raise NotImplementedError("linear_call is not linear in residual_args")
    function, captured = transposed.make()
    back = Transposed(lambda: (callee, [as_node(x) for x in args[:n]]))
    given = [jnp.zeros(ct.aval.shape, ct.aval.dtype) if isinstance(ct, Zero) else ct for ct in cts]
    out = linear_call_p.bind(
        *[wrap(x) for x in captured],
        *args[n:fixed],
        *given,
        callee=function,
        transposed=back,
        n_captured=len(captured),
        n_residuals=places["n_residuals"],
    )
    return [*[None] * fixed, *out]


linear_call_p.def_impl(compute)
jvps[linear_call_p] = along
transposes[linear_call_p] = transpose
