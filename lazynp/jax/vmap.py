"""`jax.vmap`: that of the engine, and on several devices what one example's type says of how it lies."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..api.vmap import vmap as make_vmap
from ..doors import through
from ..signatures import argument_axes, spread_axes
from ..tracebacks import leave
from ..tree import flatten, unflatten
from .array import Array, as_node, door
from .given_back import of_unmapped
from .references import vmapped
from .sharding import NamedSharding
from .splits import entry
from .spreading import constrain, known, named_sharding, note, sharding_at, shown, split_of, state, tidy

plain = vmapped(of_unmapped(through(make_vmap, door)))


@functools.wraps(plain)
def vmap(fun: Any, in_axes: Any = 0, out_axes: Any = 0, *rest: Any, **options: Any) -> Any:
    spmd = options.get("spmd_axis_name")
    mapped = plain(fun, in_axes, out_axes, *rest, **options)

    @functools.wraps(mapped)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if not state.on and spmd is None:
                return mapped(*args, **kwargs)
            lies, over = examples(args, kwargs, in_axes)
            typed = plain(lying_as(fun, lies), in_axes, out_axes, *rest, **options)
            names = () if spmd is None else spmd if isinstance(spmd, tuple) else (spmd,)
            explicit = names if over is None else split_of(over, 1)[0]
            if names and names != explicit:
                raise ValueError(
                    "Only one of spmd_axis_name or arrays sharded on `Explicit` mesh axis type is allowed. Got "
                    f"spmd_axis_name={names} and arrays sharded on explicit_mesh_axis={explicit}"
                )
            state.spmd.append(names)
            state.examples.append(() if over is None else explicit)
            before = state.rewriting
            try:
                out = typed(*args, **kwargs)
            finally:
                state.rewriting = before
                state.examples.pop()
                state.spmd.pop()
            return out if over is None else along(over, out, out_axes)
        except BaseException as error:
            leave(error)
            raise

    return call


def examples(args: Any, kwargs: Any, in_axes: Any) -> tuple[list[Any], Any]:
    """For each array among the arguments how one example of it lies; None where nothing is known. And a sharding of
    one axis, along which examples lie on explicit axes of a mesh; None where they do not.

    Raises: ValueError where examples lie along explicit axes of a mesh in different ways, or an argument that is not
        mapped lies along one of these.
    """
    leaves = flatten((args, kwargs))[0]
    try:
        axes = [*argument_axes(in_axes, args), *[0] * len(flatten(kwargs)[0])]
    except (TypeError, ValueError):
        return [], None  # `vmap` says what is wrong
    found: list[Any] = []
    apart: list[Any] = []  # the axes that split the mapped axis of each argument
    fixed: list[Any] = []  # what is not mapped
    mesh, lengths = None, set[int]()
    for x, a in zip(leaves, axes):
        node = as_node(x) if isinstance(x, Array) else None
        lies = None if node is None else sharding_at(node)
        if a is not None and not -np.ndim(x) <= a < np.ndim(x):
            return [], None
        lengths |= {np.shape(x)[a]} if a is not None else set()
        if a is None or node is None or not isinstance(lies, NamedSharding) or not -node.ndim <= a < node.ndim:
            found.append(None)
            apart += [()] * (a is not None)
            fixed += [node] * (a is None and isinstance(lies, NamedSharding))
            continue
        at = a % node.ndim
        split = split_of(lies, node.ndim)
        mesh = lies.mesh if lies.mesh.explicit_axes else mesh
        apart.append(tuple([n for n in split[at] if n in lies.mesh.explicit_axes]))
        found.append(named_sharding(lies.mesh, (*split[:at], *split[at + 1 :]), node.ndim - 1))
    if mesh is None or len(lengths) > 1:
        return found, None
    if len(set(apart)) > 1:
        other = next(s for s in apart if s != apart[0])
        raise ValueError(
            "Mapped away dimension of inputs passed to vmap should be sharded the same. Got inconsistent axis specs: "
            f"{entry(apart[0])} vs {entry(other)}"
        )
    for node in fixed:
        split = split_of(sharding_at(node), node.ndim)
        if {n for s in split for n in s} & set(apart[0]):
            raise ValueError(
                "Unmapped values passed to vmap cannot be sharded along the mesh axis you are vmapping over. Got type: "
                f"{shown(node, split, short=True)}, in_axes: None and vmapped mesh axis: {apart[0]}"
            )
    return found, named_sharding(mesh, (apart[0],), 1) if apart[0] else None


def lying_as(fun: Callable[..., Any], lies: list[Any]) -> Callable[..., Any]:
    """The function of one example, whose arguments are said to lie so; when it has returned, it is rewritten."""

    @functools.wraps(fun)
    def typed(*args: Any, **kwargs: Any) -> Any:
        for x, where in zip(flatten((args, kwargs))[0], lies):
            if where is not None and isinstance(x, Array) and x.node.trace:
                known[x.node] = where
        out = fun(*args, **kwargs)
        state.rewriting += 1
        return out

    return typed


def along(lies: NamedSharding, tree: Any, out_axes: Any) -> Any:
    """Results of a `vmap` of examples that lie along explicit axes: those that depend on no example do so, too."""
    leaves, structure = flatten(tree)
    names = split_of(lies, 1)
    out = []
    for x, axis in zip(leaves, spread_axes(out_axes, tree, "vmap out_axes")):
        note(x.node)
        found = split_of(sharding_at(x.node), x.ndim)
        if axis is not None and not found[axis] and x.node.op is not constrain:
            at = axis % x.ndim
            split = tidy((*found[:at], *names, *found[at + 1 :]), x.shape, lies.mesh)
            x = x._of(constrain(x.node, sharding=named_sharding(lies.mesh, split, x.ndim)))
        out.append(x)
    return unflatten(structure, out)
