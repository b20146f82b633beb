"""Functions that are one operation in JAX and several here: graphs that are shown have one equation for each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..api.trace import stack
from ..graph.function import Function
from ..graph.node import Node
from ..ops.tags import as_call
from .jaxpr_calls import ALONE

Params = Callable[[Node], dict[str, Any]]


def no_params(out: Node) -> dict[str, Any]:
    return {}


def one_equation(name: str, params: Params = no_params) -> Callable[[Callable[..., Node]], Callable[..., Node]]:
    """For an elementwise function from nodes to a node: where a graph is traced to be shown, its operations stand
    behind an equation of that name. `params`: from the result to what that says."""
    ALONE.add(name)

    def decorate(f: Callable[..., Node]) -> Callable[..., Node]:
        @functools.wraps(f)
        def call(*args: Any) -> Node:
            out = f(*args)
            if not stack.shown or not out.trace or out.op is None:
                return out
            given = [x for x in args if isinstance(x, Node)]
            if out in given:
                return out
            if not out.op.tag and all([n in given or n.value is not None for n in out.inputs]):
                return out  # one operation of ours
            traced = [n for n in given if n.trace]
            return as_call(Function(traced, [out]), traced, [out], name, params(out))[0]

        return call

    return decorate
