"""Functions that make arrays do as their parameters `device` and `out_sharding` say."""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

from ..api.trace import stack
from ..tracebacks import leave
from .array import Array, wrap
from .explicit_axes import check_explicit, spread_over
from .placement import check_divides, check_fits, device_put, in_full, placed
from .sharding import NamedSharding, PartitionSpec, Sharding
from .splits import settled
from .spreading import known, sharding_at, state
from .varying import axes_of_value, contexts, pvary


def varying_as(x: Array, out: Array) -> Array:
    """An array inside of `shard_map`, said to vary as another one does."""
    node = out.node
    for axis in sorted(axes_of_value(x.node) - axes_of_value(node), key=str):
        node = pvary(node, contexts.active[-1].index[axis])
    return wrap(node)


SAID = {
    **{name: f"jnp.{name}" for name in ("arange", "array", "broadcast_to", "ones", "zeros")},
    **{"asarray": "jnp.array", "empty": "jnp.zeros"},
    **dict.fromkeys(("dot", "matmul", "tensordot", "inner", "vdot"), "dot_general"),
}
"""What errors of `out_sharding` call a function that JAX has by another name, or made of another one."""


def placing(f: Any) -> Any:
    """A function of arrays whose parameter `device` or `out_sharding` says how the result lies. Where it is not given,
    what is made `like` an array lies as that."""
    has = {"device", "out_sharding", "sharding"} & set(inspect.signature(f).parameters)
    if not has:
        return f
    like, what = f.__name__.endswith("_like"), SAID.get(f.__name__, f.__name__)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs.get("device") is not None and kwargs.get("out_sharding") is not None:
                raise ValueError(
                    f"Only one of `device` or `out_sharding` can be set. Got device={kwargs['device']!r} and "
                    f"out_sharding={kwargs['out_sharding']}"
                )
            for name in has:
                where = kwargs.get(name)
                if where is not None:
                    rest = {k: v for k, v in kwargs.items() if k not in has}
                    if name == "out_sharding" and not isinstance(where, (NamedSharding, PartitionSpec)):
                        raise TypeError(
                            f"`out_sharding` argument of {what} only supports instances of `NamedSharding` or "
                            f"`PartitionSpec`. Got {where} of type: {type(where)}"
                        )
                    spec = getattr(where, "spec", where)
                    with settled(spec.unreduced if isinstance(spec, PartitionSpec) else frozenset()):
                        out = f(*args, **rest)
                    if name != "out_sharding":
                        out = placed(out.node, where) if only_longer(where, out.ndim) else device_put(out, where)
                        keeps = f.__name__ in ("array", "asarray") or not out.weak_type or out.node.trace
                        return out if keeps else out.astype(out.dtype)
                    check_explicit(in_full(where, 0, what), what)
                    if is_equation(out, args):
                        return said_of_equation(out, where, what)
                    return spread_over(out, where, what)
            out = f(*args, **kwargs)
            if like and contexts.active and isinstance(args[0], Array):
                return varying_as(args[0], out)
            if like and state.on and isinstance(args[0], Array):
                sharding = sharding_at(args[0].node)
                if args[0].shape != out.shape:
                    return out if args[0].node.trace else on_all_of(sharding, out)
                if sharding is not None and args[0].node.trace:
                    sharding = typed(sharding, out.ndim, f.__name__)
                elif out.weak_type:  # as JAX has it
                    sharding = None
                if sharding is not None and is_equation(out, args):
                    known[out.node] = sharding
                    return out
                return out if sharding is None else placed(out.node, sharding)
            return out
        except BaseException as error:
            leave(error)
            raise

    return call


def is_equation(out: Any, args: Any) -> bool:
    """Whether a result, in a graph that is shown, is that of the last equation of a call with these arguments."""
    node = out.node
    return stack.shown and state.on and not node.known and node.op is not None and all([x is not out for x in args])


def said_of_equation(out: Any, where: Any, what: str) -> Any:
    """A result that lies as was said by itself, as its equation says. What is traced is constrained too: a constraint
    stays where the graph is recorded anew."""
    to = in_full(where, out.ndim, what)
    check_fits(to, out.shape, f"{what} results")
    check_divides(to, out.shape)
    known[out.node] = to
    return spread_over(out, where, what) if out.node.trace else out


def only_longer(where: Any, ndim: int) -> bool:
    """Whether a sharding's spec has more entries than an array of so many axes, all of which say nothing."""
    parts = where.spec.partitions if isinstance(where, NamedSharding) else ()
    return len(parts) > ndim and not any(parts[ndim:])


def on_all_of(lies: Sharding | None, out: Array) -> Array:
    """An array on the devices on each of which another one lies whole; where parts of that lie on them, as it was."""
    if lies is None or not lies.is_fully_replicated:
        return out
    return placed(out.node, lies.update(spec=PartitionSpec()) if isinstance(lies, NamedSharding) else lies)


def typed(sharding: Sharding, ndim: int, what: str) -> Sharding | None:
    """What the type of an array of so many axes says of how it lies: nothing, but on explicit axes."""
    explicit = isinstance(sharding, NamedSharding) and sharding.mesh.explicit_axes
    return in_full(sharding, ndim, what) if explicit else None


def place_results(names: dict[str, Any]) -> None:
    """Have the functions of a module do as their parameters `device` and `out_sharding` say."""
    for name, f in list(names.items()):
        if isinstance(f, types.FunctionType) and not name.startswith("_"):
            names[name] = placing(f)
