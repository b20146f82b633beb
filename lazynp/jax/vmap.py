"""`jax.vmap`: that of the engine, and on several devices what one example's type says of how it lies."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..api.vmap import vmap as make_vmap
from ..doors import through
from ..signatures import argument_axes
from ..tracebacks import leave
from ..tree import flatten, map
from .array import Array, as_node, door
from .references import vmapped
from .sharding import NamedSharding
from .spreading import constrain, known, named_sharding, note, sharding_at, split_of, state, tidy

plain = vmapped(through(make_vmap, door))


@functools.wraps(plain)
def vmap(fun: Any, in_axes: Any = 0, out_axes: Any = 0, *rest: Any, **options: Any) -> Any:
    spmd = options.get("spmd_axis_name")
    mapped = plain(fun, in_axes, out_axes, *rest, **options)

    @functools.wraps(mapped)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if not state.on:
                return mapped(*args, **kwargs)
            lies = examples(args, kwargs, in_axes)
            typed = plain(lying_as(fun, lies), in_axes, out_axes, *rest, **options) if any(lies) else mapped
            out = typed(*args, **kwargs)
            return out if spmd is None else along(spmd, out)
        except BaseException as error:
            leave(error)
            raise

    return call


def examples(args: Any, kwargs: Any, in_axes: Any) -> list[Any]:
    """For each array among the arguments how one example of it lies; None where nothing is known.

    Raises: ValueError where examples lie along explicit axes of a mesh in different ways.
    """
    leaves = flatten((args, kwargs))[0]
    try:
        axes = [*argument_axes(in_axes, args), *[0] * len(flatten(kwargs)[0])]
    except (TypeError, ValueError):
        return []  # `vmap` says what is wrong
    found: list[Any] = []
    apart: list[Any] = []  # the axes that split the mapped axis of each argument
    explicit = False
    for x, a in zip(leaves, axes):
        node = as_node(x) if isinstance(x, Array) else None
        lies = None if node is None else sharding_at(node)
        if a is None or node is None or not isinstance(lies, NamedSharding) or not -node.ndim <= a < node.ndim:
            found.append(None)
            apart += [()] * (a is not None)
            continue
        at = a % node.ndim
        split = split_of(lies, node.ndim)
        explicit |= bool(lies.mesh.explicit_axes)
        apart.append(tuple([n for n in split[at] if n in lies.mesh.explicit_axes]))
        found.append(named_sharding(lies.mesh, (*split[:at], *split[at + 1 :]), node.ndim - 1))
    if explicit and len(set(apart)) > 1:
        other = next(s for s in apart if s != apart[0])
        raise ValueError(
            "Mapped away dimension of inputs passed to vmap should be sharded the same. Got inconsistent axis specs: "
            f"{entry(apart[0])} vs {entry(other)}"
        )
    return found


def entry(axes: tuple[Any, ...]) -> Any:
    """As it stands in a spec."""
    return None if not axes else axes[0] if len(axes) == 1 else axes


def lying_as(fun: Callable[..., Any], lies: list[Any]) -> Callable[..., Any]:
    """The function of one example, whose arguments are said to lie so."""

    @functools.wraps(fun)
    def typed(*args: Any, **kwargs: Any) -> Any:
        for x, where in zip(flatten((args, kwargs))[0], lies):
            if where is not None and isinstance(x, Array) and x.node.trace:
                known[x.node] = where
        return fun(*args, **kwargs)

    return typed


def along(name: Any, tree: Any) -> Any:
    """Results of a `vmap` whose mapped axis, the first, lies along an axis of the mesh (`spmd_axis_name`)."""
    names = name if isinstance(name, tuple) else (name,)

    def one(x: Any) -> Any:
        note(x.node)
        lies = sharding_at(x.node)
        if not isinstance(lies, NamedSharding) or not x.ndim or not set(names) <= set(lies.mesh.axis_names):
            return x
        split = ((*names,), *split_of(lies, x.ndim)[1:])
        to = named_sharding(lies.mesh, tidy(split, x.shape, lies.mesh), x.ndim)
        return x._of(constrain(x.node, sharding=to))

    return map(one, tree)
