"""`composite`: a function under the name of an operation, which jaxprs have in its place."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api.trace import stack
from ...errors import UnexpectedTracerError
from ...graph.node import Node
from ...tree import flatten, unflatten
from ..array import Array, as_node, wrap
from ..bind import OwnPrimitive, bind_traced, jvps
from ..jaxpr import jaxpr_as_fun, make_jaxpr
from ..tree_util import tree_flatten
from .call import public

Fun = Callable[..., Any]
PLAIN = (str, bool, int, float, np.ndarray, np.generic, np.dtype)
composite_p = OwnPrimitive("composite")
composite_p.multiple_results = True


class HashableArray:
    """An array among an operation's attributes: equal to one of the same type and values."""

    def __init__(self, val: Any) -> None:
        self.val = np.array(val)
        self.val.setflags(write=False)

    def __repr__(self) -> str:
        return f"HashableArray({self.val!r})"

    def _key(self) -> tuple[Any, ...]:
        return self.val.dtype, self.val.shape, self.val.tobytes()

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashableArray) and self._key() == other._key()


def attribute(x: Any, name: str) -> Any:
    """A leaf of what the operation is told by keyword. Raises TypeError for what no text has a form for."""
    if isinstance(x, Array):
        check_known(x._graph, f"an attribute in the decomposition for the composite op '{name}'")
        x = np.asarray(x)
    if not isinstance(x, PLAIN):
        raise TypeError(f"No attribute handler defined for type: {type(x)}")
    return HashableArray(x) if isinstance(x, np.ndarray) else x


def check_known(node: Node | None, what: str) -> None:
    if node is not None and node.trace:
        raise UnexpectedTracerError(
            f"Found a JAX Tracer as {what}. This means that the decomposition function closes over a value that is "
            "involved in a JAX transformation. Any values that aren't explicitly known at compile time must be "
            "explicitly passed as arguments to the composite."
        )


@public
def composite(decomposition: Fun, name: str, version: int = 0) -> Fun:
    """The decomposition as one operation of that name, which has no derivative and no batches of its own. Keyword
    arguments are known values, and become the operation's attributes.

    Raises: UnexpectedTracerError, when it is called, where the decomposition captures a traced value; TypeError for
        attributes that the lowered text has no form for.
    """

    @functools.wraps(decomposition)
    def call(*args: Any, **kwargs: Any) -> Any:
        told = [(key, *tree_flatten(x)) for key, x in kwargs.items()]
        attributes = tuple([(key, tuple([attribute(x, name) for x in xs]), tree) for key, xs, tree in told])
        jaxpr, shape = make_jaxpr(functools.partial(decomposition, **kwargs), return_shape=True)(*args)
        for c in jaxpr.consts:
            check_known(
                c._graph if isinstance(c, Array) else None,
                f"a constant in the decomposition for the composite op '{name}'",
            )
        leaves = [wrap(as_node(x)) for x in flatten(args)[0]]
        params = {"name": name, "version": version, "attributes": attributes, "jaxpr": jaxpr}
        alone = not leaves and stack.shown  # nothing traced says that it is part of a graph that is to be read
        out = bind_traced(composite_p, [], params) if alone else composite_p.bind(*leaves, **params)
        return unflatten(flatten(shape)[1], out)

    return call


def compute(*args: Any, jaxpr: Any, **_: Any) -> Any:
    return jaxpr_as_fun(jaxpr)(*args)


def along(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    raise ValueError(
        "JVP rule for composite not implemented. You can use `jax.custom_jvp` to add support. See "
        "https://docs.jax.dev/en/latest/_autosummary/jax.custom_jvp.html"
    )


composite_p.def_impl(compute)
jvps[composite_p] = along
__all__ = ["composite"]
