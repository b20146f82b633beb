"""`with_sharding_constraint` and `with_layout_constraint`."""

from __future__ import annotations

from typing import Any

from ..errors import origins
from ..graph.node import Node
from ..signatures import spread_axes
from ..tree import flatten, unflatten
from .array import Array, wrap
from .devices import Device
from .jaxpr_places import shown_as
from .layouts import Layout, order_of
from .placement import check_fits, each_placed, in_order, is_where, no_mesh, of_places, placed, resolved, with_kept
from .sharding import (
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    axes_of,
    current,
    default_mesh,
    get_abstract_mesh,
)
from .spreading import assignment, named_sharding, refuse_devices, sharding_at, split_of


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a tree, to lie as the shardings say on the axes of a mesh that are Auto; where all axes are
    Explicit, an assertion that they lie so.

    Raises: RuntimeError for a spec where there is no default mesh, ValueError for explicit or manual axes of a mixed
    mesh and for arrays that cannot lie so, AssertionError, TypeError for what is no sharding.
    """
    for where in flatten(shardings, is_leaf=is_where)[0]:
        if not (is_where(where) or hasattr(where, "layout")) or isinstance(where, Device):
            raise TypeError(
                f"shardings leaf specifications are expected to be PartitionSpec instances or None, but got {where}"
            )
    leaves, structure = each_placed(x, shardings, "with_sharding_constraint shardings")
    out = []
    for v, node, where in leaves:
        if where is None:
            raise ValueError(
                "One of with_sharding_constraint arguments got sharding None which is not allowed. Please only pass "
                "`jax.sharding.Sharding` instances."
            )
        if where is PartitionSpec.UNCONSTRAINED:
            out.append(v if isinstance(v, Array) else wrap(node))
        else:
            order = order_of(where, node.shape, "with_sharding_constraint arguments")
            out.append(in_order(constrained(node, where), order))
    return unflatten(structure, out)


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """The arrays of a tree, to lie in memory in that order (a tree of layouts may be a prefix of x).

    Raises: ValueError for what is no `Layout`, for another number of axes, and outside of traced functions for what is
    no array.
    """
    leaves, structure = flatten(x)
    wanted = spread_axes(layouts, x, "with_layout_constraint")
    wrong = [type(w) for w in wanted if not isinstance(w, Layout)]
    if wrong:
        raise ValueError(f"layouts passed to `with_layout_constraint` must be of type `Layout`. Got {wrong}")
    out = []
    for v, w in zip(leaves, wanted):
        if not isinstance(v, Array):
            raise ValueError(f"with_layout_constraint in eager mode can only be applied to jax.Arrays. Got {type(v)}")
        order = order_of(w, v.shape, "with_layout_constraint arguments")
        out.append(v if v.node.trace else in_order(placed(v.node, v.sharding), order))
    return unflatten(structure, out)


def check_same_devices(node: Node, to: Sharding) -> None:
    """Raise ValueError for a constraint over other devices than those on which an array lies."""
    lies = sharding_at(node)
    if lies is not None and {*assignment(lies)} ^ {*assignment(to)} and assignment(lies) and assignment(to):
        what = "sharding_constraint inside jit" if node.trace else "explicit output sharding"
        refuse_devices([(f"argument {argument_of(node)} with shape {node.aval} and", lies), (what, to)])


def argument_of(node: Node) -> str:
    """What errors call an array that is constrained: an argument of the function that is traced."""
    trace, i = origins.get(node, (None, 0))
    if trace is None:
        return "x" if node.trace else "x of _identity_fn"
    return f"{trace.argument(i).removeprefix('the argument ')} of {str(trace).partition(' at ')[0]}"


def constrained(node: Node, where: Any) -> Array:
    """`with_sharding_constraint` of one array."""
    mesh = current.entered[-1] if current.entered and not current.meshes else default_mesh()
    if isinstance(where, PartitionSpec) and mesh.empty:
        raise RuntimeError(no_mesh("with_sharding_constraint", "shardings"))
    to = resolved(where, "with_sharding_constraint", mesh)
    if isinstance(to, NamedSharding) and current.manual and of_places(to.mesh, current.manual[-1]):
        to = to.update(mesh=current.manual[-1])
    if not isinstance(to, NamedSharding):
        check_same_devices(node, to)
        return placed(node, to)
    if not node.trace and not isinstance(to.mesh, Mesh):
        placed_so = sharding_at(node)
        if not isinstance(placed_so, NamedSharding) or not of_places(placed_so.mesh, to.mesh):
            raise ValueError(
                "Target sharding contains a `jax.sharding.AbstractMesh` which requires the input passed should be a "
                f"`jax.Array` with a `NamedSharding` over such a mesh. Got an input with shape {node.aval}"
            )
        to = to.update(mesh=placed_so.mesh)
    check_same_devices(node, to)
    around = get_abstract_mesh()
    if not around.empty and around.are_all_axes_explicit and to.mesh.are_all_axes_explicit:
        split, lies = [split_of(s, node.ndim) for s in (to, sharding_at(node))]
        if split != lies:
            has, wanted = [named_sharding(to.mesh, s, node.ndim).spec for s in (lies, split)]
            raise AssertionError(
                "`with_sharding_constraint` acts as an assert when all axes of mesh are of type `Explicit`. The array "
                f"sharding: {has} did not match the sharding provided: {wanted}. Please use `jax.sharding.reshard` to "
                "shard your input to the sharding you want."
            )
        return wrap(node)
    named = {a for part in to.spec.partitions for a in axes_of(part)}
    manual = set(current.manual[-1].manual_axes) if current.manual else set()
    if named & (set(to.mesh.explicit_axes) | manual):
        raise ValueError(
            f"The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto axes of the mesh. "
            f"Got spec={to.spec} and mesh={to.mesh.abstract_mesh}. You probably meant to use `reshard` API?"
        )
    if to.mesh.explicit_axes and node.trace:  # what lies along those stays
        to = with_kept(to, node, to.mesh.explicit_axes)
    check_fits(to, node.shape, "with_sharding_constraint arguments", divides=not node.trace)
    if not node.trace and PartitionSpec.UNCONSTRAINED in to.spec.partitions:
        lies, says = split_of(sharding_at(node), node.ndim), split_of(to, node.ndim)
        free = [p is PartitionSpec.UNCONSTRAINED for p in (*to.spec.partitions, *[None] * (node.ndim - len(to.spec)))]
        to = named_sharding(to.mesh, tuple([a if f else b for a, b, f in zip(lies, says, free)]), node.ndim)
    unconstrained = frozenset([d for d, p in enumerate(to.spec.partitions) if p is PartitionSpec.UNCONSTRAINED])
    said = {"sharding": to, "layout": None, "context_mesh": default_mesh(), "unconstrained_dims": unconstrained}
    out: Array = shown_as(placed(node, to), "sharding_constraint", **said)
    return out
