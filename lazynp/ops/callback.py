"""Python functions of the user as operations: printing, callbacks. They run when the graph does, on its arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import LIBRARY
from .failing import Failing
from .shape import Axes, batch_size, broadcast_to, expand_dims, to_front

TOKEN = Aval((), np.dtype(bool))


class Call(NamedTuple):
    """What is called, and how.

    Attributes:
        function: from arrays to a sequence of arrays.
        outs: abstract values of the results.
        ordered: whether it has effects: it takes the token of the one before first, and gives one last.
        differentiable: whether a derivative passes it by (printing) instead of being an error.
        method: what a batch does: "sequential" (call it for each example), "expand_dims" (once, where what is not
            mapped gets an axis of length 1), "broadcast_all" (once, with everything mapped), "legacy_vectorized" (once,
            with what is not mapped as it is); None: an error.
    """

    function: Callable[..., Sequence[Any]]
    outs: tuple[Aval, ...]
    ordered: bool
    differentiable: bool
    method: str | None
    name: str


def callback_abstract(*avals: Aval, call: Call) -> tuple[Aval, ...]:
    return (*call.outs, TOKEN) if call.ordered else call.outs


def callback_lower(xp: Any, *args: Any, call: Call) -> tuple[Any, ...]:
    outs = call.function(*args[call.ordered :])
    return (*outs, np.zeros((), bool)) if call.ordered else tuple(outs)


def callback_jvp(tangents: Sequence[Node | None], out: Node, *inputs: Node, call: Call) -> None:
    if not call.differentiable:
        refuse_derivative(call.name)


def refuse_derivative(name: str) -> NoReturn:
    """Raise for a callback that is differentiated."""
    kind = "IO" if name == "io_callback" else "Pure"
    raise ValueError(
        f"{kind} callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while taking gradients."
    )


def example(x: Any, i: int, mapped: bool) -> Any:
    return np.ascontiguousarray(x[i]).reshape(x.shape[1:]) if mapped else x


def sequential(call: Call, mapped: tuple[bool, ...], n: int) -> Callable[..., Sequence[Any]]:
    def each(*args: Any) -> Sequence[Any]:
        rows = [call.function(*[example(x, i, m) for x, m in zip(args, mapped)]) for i in range(n)]
        if not rows:
            return [np.empty((0, *a.shape), a.dtype) for a in call.outs]
        return [np.stack(column) for column in zip(*rows)]

    return each


def callback_batch(inputs: Sequence[Node], axes: Axes, *, call: Call) -> tuple[Node, Any]:
    n, first = batch_size(inputs, axes), int(call.ordered)
    if call.method is None and not call.differentiable and call.ordered:
        raise ValueError("Cannot `vmap` ordered IO callbacks: their order would be another.")
    if call.method is None:
        raise NotImplementedError(
            f"vmap is only supported for the {call.name} primitive when vmap_method is one of 'sequential', "
            "'sequential_unrolled', 'expand_dims', 'broadcast_all', or 'legacy_vectorized'. Got vmap_method=None."
        )
    mapped = tuple([a is not None for a in axes[first:]])
    args = [to_front(x, a) if a is not None else x for x, a in zip(inputs[first:], axes[first:])]
    function = call.function
    if call.method in ("sequential", "sequential_unrolled"):
        function = sequential(call, mapped, n)
    elif call.method == "expand_dims":
        args = [x if m else expand_dims(x, 0) for x, m in zip(args, mapped)]
    elif call.method == "broadcast_all":
        args = [x if m else broadcast_to(x, shape=(n, *x.shape)) for x, m in zip(args, mapped)]
    outs = tuple([Aval((n, *a.shape), a.dtype) for a in call.outs])
    node = callback(*inputs[:first], *args, call=call._replace(function=function, outs=outs))
    return node, (0,) * len(outs) + (None,) * first


callback = Failing(
    "callback",
    LIBRARY,
    callback_abstract,
    callback_lower,
    static=("call",),
    jvp=callback_jvp,
    batch=callback_batch,
    n_out=0,
    doc="A Python function on the arrays' values.",
)
