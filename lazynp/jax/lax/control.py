"""Control flow behind the JAX door: `api.control` with this door's arrays, and what is made of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...api import control
from ...api.vmap import vmap
from ...doors import through
from ...errors import concretization_error
from ...graph.node import ABSTRACT, Node
from ...ops.flow import scan_length
from ...ops.joining import concatenate, span
from ...ops.shape import reshape
from ...tree import flatten, unflatten
from ...tree import map as tree_map
from ..array import Array, door
from ..reference_loops import run_cond, run_fori, run_scan, run_switch, run_while, with_references
from ..varying import one_type
from .call import public
from .typed_bodies import cond_over, fori_over, scan_over, switch_over, while_over


def of_known_length(scan: Callable[..., Any]) -> Callable[..., Any]:
    """`scan`, which refuses a length that is traced."""

    @functools.wraps(scan)
    def call(f: Any, init: Any, xs: Any = None, length: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(length, Array) and length.node.trace == ABSTRACT:
            text = "The `length` argument to `scan` expects a concrete `int` value: `fori_loop` takes a traced one."
            raise concretization_error(length.node, text)
        return scan(f, init, xs, length, *args, **kwargs)

    return call


associative_scan = public(through(control.associative_scan, door))
cond = public(one_type(cond_over(with_references(through(control.cond, door), run_cond))))
fori_loop = public(one_type(fori_over(with_references(through(control.fori_loop, door), run_fori))))
scan = public(of_known_length(one_type(scan_over(with_references(through(control.scan, door), run_scan)))))
switch = public(one_type(switch_over(with_references(through(control.switch, door), run_switch))))
while_loop = public(one_type(while_over(with_references(through(control.while_loop, door), run_while))))


@public
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """f of each element along the leading axes of xs, one at a time or `batch_size` at a time."""
    if batch_size is None:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    leaves, tree = flatten(xs)
    nodes = [door.as_node(x) for x in leaves]
    length = scan_length(leaves, nodes, None)
    count, size = (length // batch_size, batch_size) if batch_size else (0, 0)
    batched = vmap(f, door=door)
    ys = None
    if count:
        whole_ = [reshape(span(n, 0, 0, count * size), shape=(count, size, *n.shape[1:])) for n in nodes]
        ys = scan(lambda _, x: ((), batched(x)), (), unflatten(tree, [door.wrap(n) for n in whole_]))[1]
        ys = tree_map(lambda y: joined_rows(door.as_node(y)), ys)
    if length > count * size or not count:
        rest = [door.wrap(span(n, 0, count * size, length - count * size)) for n in nodes]
        tail = tree_map(door.as_node, batched(unflatten(tree, rest)))
        ys = tail if ys is None else tree_map(lambda a, b: concatenate(a, b, axis=0), ys, tail)
    return tree_map(door.wrap, ys)


def joined_rows(y: Node) -> Node:
    return reshape(y, shape=(y.shape[0] * y.shape[1], *y.shape[2:]))


__all__ = ["associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"]
