"""Axes of a mesh that are part of types, and their switching on and off: `reshard`, `auto_axes`, `explicit_axes`."""

from __future__ import annotations

import functools
from typing import Any

from ..api.trace import stack
from ..tree import flatten, map, unflatten
from .array import Array, wrap
from .jaxpr_places import shown_as
from .mesh import Setting
from .placement import check_divides, check_fits, each_placed, in_full, is_where, of_places, placed, with_kept
from .sharding import AxisType, Mesh, NamedSharding, PartitionSpec, Sharding, axes_of, default_mesh
from .spreading import constrain, named_sharding, sharding_at, split_of, state


def check_explicit(to: Sharding, what: str) -> None:
    """Raise ValueError for a sharding along an axis that is not explicit."""
    if not isinstance(to, NamedSharding):
        return
    for name in [a for part in to.spec.partitions for a in axes_of(part)]:
        if name not in to.mesh.explicit_axes:
            kind = to.mesh.axis_types[to.mesh.axis_names.index(name)]
            raise ValueError(
                f"PartitionSpec passed to {what} cannot contain axis names that are of type Auto or Manual. Got "
                f"PartitionSpec: {PartitionSpec(*[p for p in to.spec.partitions])} with axis name: {name} of type: "
                f"AxisType.{kind!r}"
            )


def reshard(xs: Any, out_shardings: Any) -> Any:
    """The arrays of a tree, as a sharding or a spec over the default mesh says, whose axes are explicit ones.

    Raises: ValueError for another axis, and where an array cannot lie so.
    """
    leaves, structure = each_placed(xs, out_shardings, "reshard out_shardings")
    out = []
    for _, node, where in leaves:
        if where is None:
            raise ValueError(
                "Reshard should only be used with out_shardings which are non-None and have a non-empty mesh. Got "
                "sharding None."
            )
        if not isinstance(where, (NamedSharding, PartitionSpec)):
            raise TypeError(
                "`out_sharding` argument of reshard only supports instances of `NamedSharding` or `PartitionSpec`. "
                f"Got {where} of type: {type(where)}"
            )
        to = in_full(where, node.ndim, "reshard")
        check_explicit(to, "reshard")
        check_divides(to, node.shape)
        check_fits(to, node.shape, "reshard args")
        if isinstance(to, NamedSharding) and to.mesh.auto_axes and sharding_at(node) is not None:
            to = with_kept(to, node, to.mesh.auto_axes, beside=False)
        said: dict[str, Any] = {}
        if isinstance(to, NamedSharding):
            said["dst_sharding"] = to.update(mesh=to.mesh.abstract_mesh)
            said["concrete_mesh"] = to.mesh if isinstance(where, NamedSharding) and isinstance(to.mesh, Mesh) else None
        out.append(shown_as(placed(node, to), "reshard", **said))
    return unflatten(structure, out)


def mesh_of(where: Any) -> Any:
    """The mesh of the first sharding of a tree that has one, else the default one."""
    named = [s for s in flatten(where, is_leaf=is_where)[0] if isinstance(s, NamedSharding)]
    return named[0].mesh if named else default_mesh()


def relabelled(tree: Any, mesh: Any) -> Any:
    """The arrays of a tree that lie on a mesh, said to lie on the same one with axes of other types."""
    if not state.on:
        return tree

    def one(x: Any) -> Any:
        lies = sharding_at(x.node) if isinstance(x, Array) else None
        if not isinstance(lies, NamedSharding) or lies.mesh == mesh or not of_places(lies.mesh, mesh):
            return x
        return wrap(constrain(x.node, sharding=named_sharding(mesh, split_of(lies, x.ndim), x.ndim)))

    return map(one, tree)


def auto_axes(f: Any = None, /, *, axes: Any = None, out_sharding: Any = None) -> Any:
    """A function in which explicit axes of the mesh (all, or those in `axes`) are Auto ones; its results lie as
    `out_sharding` says.

    Raises: TypeError where that is missing.
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        where = said(out_sharding, kwargs, "out_sharding")
        mesh = mesh_of(where)
        if mesh.empty:
            return f(*args, **kwargs)
        check_names(axes, mesh)
        around = default_mesh().abstract_mesh
        if not around.empty and around != mesh.abstract_mesh:
            raise ValueError(
                f"Context mesh {around} must match the mesh passed to shardings {mesh.abstract_mesh}. Recommended "
                "approach is to use `jax.set_mesh` context manager."
            )
        inside = mesh.with_types(names_of(axes, mesh), AxisType.Auto)
        with Setting(inside):
            out = f(*relabelled(args, inside), **relabelled(kwargs, inside))
        return map(as_reshard, spread_over(relabelled(out, mesh), where, "auto_axes", mesh))

    return call


def as_reshard(x: Any) -> Any:
    """An array that was just placed, in a function that is shown with an equation for that."""
    lies = sharding_at(x.node) if stack.shown else None
    if not isinstance(lies, NamedSharding):
        return x
    return shown_as(x, "reshard", dst_sharding=lies.update(mesh=lies.mesh.abstract_mesh), concrete_mesh=None)


def said(where: Any, kwargs: dict[str, Any], name: str) -> Any:
    """A parameter of a decorator, else that of the call, which is taken out of it. Raises TypeError without both."""
    found = kwargs.pop(name, None) if where is None else where
    if found is None:
        raise TypeError(f"Missing required keyword argument: {name!r}")
    return found


def check_names(axes: Any, mesh: Any) -> None:
    """Raise KeyError for an axis that the mesh has not."""
    for a in names_of(axes, mesh):
        if a not in mesh.axis_names:
            raise KeyError(a)


def names_of(axes: Any, mesh: Any) -> tuple[Any, ...]:
    """Names of axes, one or several; None: all that are not manual."""
    if axes is None:
        return tuple([a for a in mesh.axis_names if a not in mesh.manual_axes])
    return tuple(axes) if isinstance(axes, (tuple, list, set, frozenset)) else (axes,)


def explicit_axes(f: Any = None, /, *, axes: Any = None, in_sharding: Any = None) -> Any:
    """A function in which axes of the mesh (all, or those in `axes`) are explicit ones, and whose arguments lie as
    `in_sharding` says.

    Raises: TypeError where that is missing.
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = said(in_sharding, kwargs, "in_sharding")
        if default_mesh().empty:
            raise ValueError(
                "Context mesh cannot be empty. Please use `jax.set_mesh` API to enter into a mesh context when using "
                "`explicit_axes` API."
            )
        mesh = mesh_of(given)
        check_names(axes, mesh)
        inside = mesh.with_types(names_of(axes, mesh), AxisType.Explicit)
        with Setting(inside):
            where = map(on_mesh_of(inside), given, is_leaf=is_where)
            for s in flatten(where, is_leaf=is_where)[0]:
                check_explicit(in_full(s, 0, "reshard", inside), "reshard")
            out = f(*spread_over(args, where, "explicit_axes", inside), **kwargs)
        return relabelled(out, mesh)

    return call


def on_mesh_of(mesh: Any) -> Any:
    """From a sharding to the same over a mesh whose axes have other types; specs stay."""
    return lambda s: s.update(mesh=mesh) if isinstance(s, NamedSharding) else s


def spread_over(tree: Any, where: Any, what: str, mesh: Any = None) -> Any:
    """The arrays of a tree, placed; `where` is a sharding, a spec (over the mesh) or a prefix of the tree."""
    leaves, structure = each_placed(tree, where, what)
    out = []
    for _, node, to in leaves:
        sharding = in_full(to, node.ndim, what, mesh)
        check_divides(sharding, node.shape)
        check_fits(sharding, node.shape, f"{what} results")
        out.append(placed(node, sharding))
    return unflatten(structure, out)
