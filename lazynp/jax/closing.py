"""A function of the user's, traced for some arguments, with the traced values that it captures as arguments of its own.

For calls that leave one node with rules: what the node captures has to be among its inputs, where transformations see
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..api.ahead import inline
from ..api.trace import trace_function
from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import Node
from ..tree import flatten
from .array import as_node, door, wrap


class Closed(NamedTuple):
    """A graph from (captured values, leaves of the arguments) to leaves of the result.

    Attributes:
        function: the graph. captured: the values that it has captured, the first inputs.
        out_tree: structure of the result.
    """

    function: Function
    captured: list[Node]
    out_tree: Any


def close(fun: Callable[..., Any], args: tuple[Any, ...], kind: str) -> Closed:
    """The graph of `fun(*args)`; arrays among the arguments say their types only."""
    leaves, structure = flatten((args, {}))
    return close_on(fun, [as_node(x).aval for x in leaves], structure, kind)


def close_on(fun: Callable[..., Any], avals: Sequence[Aval], structure: Any, kind: str) -> Closed:
    """The same for arguments of these types; `structure` is that of `(args, kwargs)`."""
    function, out_tree = trace_function(fun, avals, structure, door, kind)
    captured = [n for n in function.captured() if n.trace]
    whole = Function((*captured, *function.inputs), function.outputs, function.effects, function.token)
    return Closed(whole, captured, out_tree)


def run(function: Function, args: Sequence[Any]) -> list[Any]:
    """The results of a graph for these arrays, with its effects as the current trace's."""
    return [wrap(n) for n in inline(function, [as_node(x) for x in args])]
