"""`jax.custom_batching`: functions with a rule of their own for what `vmap` makes of them.

A call is a primitive, whose graph has as first inputs what it captures. Its rules for batches are flat: from the size
of the axis, whether each argument is batched, and the arguments, with the axis in front, to the same of the results.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..doors import FLOAT0
from ..graph.function import Function
from ..graph.node import ABSTRACT, leaf
from ..ops.promotion import is_inexact
from ..ops.rewrites import rewrites
from ..ops.shape import zeros_of
from ..signatures import name_of
from ..transforms.jvp import jvp as jvp_graph
from ..tree import flatten, unflatten
from . import numpy as jnp
from .array import as_node, wrap
from .bind import AxisData, OwnPrimitive, batchers, instantiate_zeros, jvps, transposes
from .closing import close, run
from .derivatives import jvp
from .lax.control import map as map_one_by_one
from .tree_util import PyTreeDef, tree_map

__all__ = ["custom_vmap", "sequential_vmap"]
Fun = Callable[..., Any]
custom_vmap_p = OwnPrimitive("custom_vmap_call")
custom_vmap_p.multiple_results = True


class custom_vmap:
    """A function that `vmap` batches by a rule of its own, set with `def_vmap`. Forward derivatives of it are batched
    by the derivative of the rule; for derivatives in reverse, wrap it into a `custom_vjp`.

    Raises: AttributeError when it is called without a rule, TypeError for arguments that do not fit its signature.
    """

    def __init__(self, fun: Fun) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Fun | None = None

    def def_vmap(self, vmap_rule: Fun) -> Fun:
        """Set the rule: `(axis_size, in_batched, *args) -> (out, out_batched)`. `in_batched` is a list of what the
        arguments are, with True for each array that has the mapped axis (as its first one); `out_batched` says the same
        of the results."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = name_of(self.fun)
        try:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"The input arguments to the custom_vmap-decorated function {name} could not be resolved to "
                f"positional-only arguments. Binding failed with the error:\n{error}"
            ) from error
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"The input arguments to the custom_vmap-decorated function {name} could not be resolved to "
                f"positional-only arguments: {', '.join(bound.kwargs)} can be given by name only."
            )
        if self.vmap_rule is None:
            raise AttributeError(f"No batching rule defined for custom_vmap function {name} using def_vmap.")
        leaves, in_tree = flatten(bound.args)
        closed = close(self.fun, bound.args, "custom_vmap")
        rule = UserRule(self.vmap_rule, in_tree, closed.out_tree, len(closed.captured))
        out = custom_vmap_p.bind(*[wrap(n) for n in closed.captured], *leaves, call=closed.function, rule=rule)
        return unflatten(closed.out_tree, out)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


class UserRule:
    """A user's rule, on leaves. `n_captured`: how many of the first arguments are values that the function captured."""

    def __init__(self, rule: Fun, in_tree: Any, out_tree: Any, n_captured: int) -> None:
        self.rule, self.in_tree, self.out_tree, self.n_captured = rule, in_tree, out_tree, n_captured

    def __call__(self, size: int, batched: Sequence[bool], args: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        n = self.n_captured
        if any(batched[:n]):
            raise NotImplementedError(
                f"the custom_vmap function with the rule {name_of(self.rule)} captures a value that is batched: its "
                "rule knows of its arguments only. Pass the value as an argument."
            )
        given = unflatten(self.in_tree, list(args[n:]))
        pair = self.rule(size, list(unflatten(self.in_tree, list(batched[n:]))), *given)
        (out, tree), (out_batched, batched_tree) = (flatten(x) for x in pair)
        if tree != batched_tree:
            raise ValueError(
                "structure of output value and output batching specification returned by custom vmap rule "
                f"({name_of(self.rule)}) do not match.\nOutput values: {PyTreeDef(tree)}\n"
                f"Batching spec: {PyTreeDef(batched_tree)}"
            )
        if tree != self.out_tree:
            raise ValueError(
                f"structure of output returned by custom vmap rule ({name_of(self.rule)}) does not match that of "
                f"original custom-vmapped function.\nOriginal output: {PyTreeDef(self.out_tree)}\n"
                f"Rule output: {PyTreeDef(tree)}"
            )
        return out, out_batched


class AlongRule:
    """The rule for the derivative of a call: the derivative of the rule. Arguments are those of the call, and the
    tangents of the inexact ones among them."""

    def __init__(self, rule: Fun, inexact: Sequence[bool]) -> None:
        self.rule, self.inexact = rule, list(inexact)

    def __call__(self, size: int, batched: Sequence[bool], args: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        count = len(self.inexact)
        primals, given = list(args[:count]), iter(args[count:])
        both, flags = list(batched[:count]), iter(batched[count:])
        tangents: list[Any] = []
        for i, inexact in enumerate(self.inexact):
            if not inexact:
                tangents.append(np.zeros(jnp.shape(primals[i]), FLOAT0))
                continue
            t, along = next(given), next(flags)
            if along and not both[i]:
                primals[i] = jnp.broadcast_to(primals[i], (size, *jnp.shape(primals[i])))
            if both[i] and not along:
                t = jnp.broadcast_to(t, (size, *jnp.shape(t)))
            both[i] = both[i] or along
            tangents.append(t)
        said: list[bool] = []

        def batch(*values: Any) -> list[Any]:
            out, out_batched = self.rule(size, both, values)
            said[:] = out_batched
            return out

        with rewrites.collecting():  # what the rule does besides, it does for the call
            out, along_out = jvp(batch, tuple(primals), tuple(tangents))
        live = [i for i, x in enumerate(out) if is_inexact(as_node(x).dtype)]
        return [*out, *[along_out[i] for i in live]], [*said, *[said[i] for i in live]]


def compute(*args: Any, call: Function, rule: Fun) -> list[Any]:
    return run(call, args)


def batch(axis: AxisData, args: Sequence[Any], axes: Sequence[int | None], *, call: Function, rule: Fun) -> Any:
    """`vmap` of a call: what the rule makes of it."""
    front = [x if a is None else jnp.moveaxis(x, a, 0) for x, a in zip(args, axes)]
    out, batched = rule(axis.size, [a is not None for a in axes], front)
    return out, [0 if b else None for b in batched]


def along(primals: Sequence[Any], tangents: Sequence[Any], *, call: Function, rule: Fun) -> Any:
    """The derivative of a call: a call of the derivative, with a rule for its batches."""
    inexact = [is_inexact(n.dtype) for n in call.inputs]
    given = [instantiate_zeros(t) for t, live in zip(tangents, inexact) if live]
    leaves: list[Any] = [leaf(n.shape, n.dtype, trace=ABSTRACT) if x else None for n, x in zip(call.inputs, inexact)]
    found = jvp_graph(call.outputs, call.inputs, leaves)
    live = [i for i, n in enumerate(call.outputs) if is_inexact(n.dtype)]
    slopes = [zeros_of(call.outputs[i]) if (t := found[i]) is None else t for i in live]
    inputs = [*call.inputs, *[n for n in leaves if n is not None]]
    both = Function(inputs, [*call.outputs, *slopes])  # the call itself has the effects
    out = custom_vmap_p.bind(*primals, *given, call=both, rule=AlongRule(rule, inexact))
    count = len(call.outputs)
    rest = iter(out[count:])
    return out[:count], [next(rest) if i in live else None for i in range(count)]


def refuse_reverse(*_: Any, **__: Any) -> Any:
    raise ValueError(
        "Linearization failed to produce known values for all output primals. This is typically caused by attempting "
        "to differentiate a function uses an operation that does not support reverse-mode autodiff. Functions of "
        "custom_vmap have no derivative in reverse mode: wrap the function into a custom_vjp, outside of custom_vmap."
    )


custom_vmap_p.def_impl(compute)
batchers[custom_vmap_p] = batch
jvps[custom_vmap_p] = along
transposes[custom_vmap_p] = refuse_reverse


def sequential_vmap(f: Fun) -> custom_vmap:
    """A function that `vmap` calls for one example after the other, in a loop."""
    call = custom_vmap(f)

    def rule(size: int, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        leaves, structure = flatten(args)
        batched = flatten(tuple(in_batched))[0]

        def one(rows: list[Any]) -> Any:
            given = iter(rows)
            return call(*unflatten(structure, [next(given) if b else x for x, b in zip(leaves, batched)]))

        out = map_one_by_one(one, [x for x, b in zip(leaves, batched) if b])
        return out, tree_map(lambda _: True, out)

    call.def_vmap(rule)
    return call
