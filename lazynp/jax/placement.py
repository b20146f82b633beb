"""Putting arrays on devices: `device_put`, `reshard`, constraints in jitted functions, arrays made of parts."""

from __future__ import annotations

import functools
import gc
import inspect
import math
import types
from typing import Any

import numpy as np

from ..graph.node import ABSTRACT, CONCRETE, Node, leaf
from ..runtime.execute import value_of
from ..signatures import spread_axes
from ..tracebacks import leave
from ..tree import flatten, map, unflatten
from .array import Array, as_node, wrap
from .devices import Device, default_device, several
from .dtypes import is_extended
from .jaxpr_places import shown_as
from .layouts import Auto, Format, Layout
from .memory import KINDS, MemorySpace
from .mesh import Setting
from .processes import agreed, laid, spanning, spread_of
from .sharding import (
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    axes_of,
    current,
    default_mesh,
    default_sharding,
    get_abstract_mesh,
)
from .splits import settled
from .spreading import (
    Split,
    assignment,
    constrain,
    known,
    named_sharding,
    refuse_devices,
    sharding_at,
    split_of,
    state,
    unplaced,
)
from .transfers import explicitly
from .varying import axes_of_value, contexts, pvary


def placed(x: Node, sharding: Sharding, owned: bool = False) -> Array:
    """An array of that value which lies so. `owned`: no other array has the node."""
    if several():
        state.on = True
    if x.trace or state.jitted:
        return wrap(constrain(x, sharding=sharding) if state.on else x)
    spread = spread_of(x)
    if (sharding_at(x) if spread is None else spread.sharding) == sharding:
        return wrap(x)
    if spread is not None or spanning(sharding):
        return wrap(laid(x, sharding))
    if not owned or x in known or x.holder is not None or x.buffer is None or x.index != -1:
        x = leaf(x.shape, x.dtype, np.array(wrap(x)._value(), order="C"), weak=x.weak)
    known[x] = sharding
    return wrap(x)


def labelled(x: Node, sharding: Sharding) -> Array:
    """An array for a node that was just made, which lies so."""
    if not several():
        return placed(x, sharding) if not x.trace else wrap(x)
    state.on = True
    if x.trace:
        return wrap(constrain(x, sharding=sharding))
    if spread_of(x) is not None or spanning(sharding):
        return placed(x, sharding)
    known[x] = sharding
    return wrap(x)


def resolved(where: Any, what: str, mesh: Any = None) -> Sharding:
    """What stands for a sharding: a device, a spec with a mesh, else the default one. Raises ValueError for anything
    else."""
    if isinstance(where, Device):
        return SingleDeviceSharding(where)
    if isinstance(where, PartitionSpec):
        mesh = default_mesh() if mesh is None else mesh
        if mesh.empty:
            raise ValueError(f"Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to {what}")
        return NamedSharding(mesh, where)
    where = getattr(where, "sharding", where)
    if not isinstance(where, Sharding):
        raise ValueError(
            f"`jax.{what}` only accepts `None`, `jax.sharding.Sharding`, `jax.Device`, `Format`, `jax.memory.Space` or "
            f"a pytree of these values. Received invalid value: {where}"
        )
    return where


def prefix(where: Any, tree: Any, what: str) -> list[Any]:
    """For each leaf of a tree what a tree of devices, shardings and specs says, which is a prefix of it.

    Raises: ValueError where it is none, with the place.
    """
    return list(spread_axes(where, tree, what))


def check_fits(sharding: Sharding, shape: tuple[int, ...], what: str, name: str = "", divides: bool = True) -> None:
    """Raise ValueError where arrays of that shape cannot lie so. `name`: of the array in its tree."""
    if isinstance(sharding, NamedSharding):
        try:
            sharding.check_compatible_aval(shape)
        except ValueError as error:
            where = f" with pytree key path {name}" if name else ""
            raise ValueError(
                f"One of {what}{where} is incompatible with its sharding annotation {sharding}: {error}"
            ) from None
    if divides:
        sharding.shard_shape(shape)


def check_divides(sharding: Sharding, shape: tuple[int, ...]) -> None:
    """Raise ValueError where explicit axes, which are part of types, do not divide the axis of an array."""
    if not isinstance(sharding, NamedSharding) or len(sharding.spec) > len(shape):
        return
    for d, (n, axes) in enumerate(zip(shape, split_of(sharding, len(shape)))):
        k = math.prod([sharding.mesh.shape[a] for a in axes])
        if n % k and set(axes) <= set(sharding.mesh.explicit_axes):
            typed = f"NamedSharding(mesh={sharding.mesh.abstract_mesh}, spec={sharding.spec})"
            raise ValueError(
                f"Sharding spec {axes} implies that array axis {d} is partitioned {k} times, but does not evenly "
                f"divide the dimension size {n}. Got shape: {shape} and sharding {typed}"
            )


PLACES = (Device, Sharding, PartitionSpec, MemorySpace)


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """The arrays of a tree, on a device or as a sharding says (a tree of these may be a prefix of x); NumPy arrays and
    scalars become arrays.

    Raises: ValueError where an array cannot lie so, and for `may_alias` beside `donate`: each is a truth value, or a
    prefix of the tree with such.
    """
    leaves, structure = flatten(x)
    gives = [donate] * len(leaves) if isinstance(donate, bool) else prefix(donate, x, "device_put donate")
    shares = (
        [may_alias] * len(leaves)
        if may_alias is None or isinstance(may_alias, bool)
        else prefix(may_alias, x, "device_put may_alias")
    )
    if any([m and d for m, d in zip(shares, gives)]):
        raise ValueError("may_alias and donate cannot be True at the same time.")
    one = device is None or isinstance(device, PLACES) or hasattr(device, "layout")
    wanted = [device] * len(leaves) if one else prefix(device, x, "device_put device")
    out = []
    for v, where, share, give in zip(leaves, wanted, shares, gives):
        with explicitly():
            node = as_node(v)
        if isinstance(where, Format) and isinstance(where.layout, Auto):
            raise ValueError(
                f"sharding and layout in `Layout` instance should be concrete. Got layout: {where} for input "
                f"{node.aval}"
            )
        if where is None or isinstance(where, Format) and where.sharding is None:
            out.append(v if isinstance(v, Array) else on_one(node))
            continue
        if isinstance(where, MemorySpace):
            kind = KINDS.get(where)
            lies = wrap(node).sharding if node.trace != ABSTRACT else sharding_at(node) or default_sharding()
            where = lies if kind is None else lies.with_memory_kind(kind)
        sharding = resolved(where, "device_put")
        if node.trace == ABSTRACT or state.jitted:
            out.append(moved_later(node, sharding))
            continue
        check_fits(sharding, node.shape, "device_put args")
        if isinstance(v, Array) and share is not False and not give and sharding_at(node) == sharding:
            out.append(v)
            continue
        if node.trace == CONCRETE and len(sharding.device_set) > 1 and spanning(sharding) and spread_of(node) is None:
            check_same(v, value_of(node))
        source = sharding_at(node) if node.trace else None
        if source is not None and source._memory == sharding._memory:
            node = constrain(node, sharding=source)  # to there cotangents go back
        out.append(placed(node, sharding, not isinstance(v, Array)))
    return unflatten(structure, out)


def live_arrays(platform: str | None = None) -> list[Array]:
    """All arrays there are. Raises RuntimeError for the name of a platform that this machine has not."""
    if platform not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {platform}. Available backends are ['cpu']")
    known = [x for x in gc.get_objects() if issubclass(type(x), Array)]  # `isinstance` asks each object for its class
    return [x for x in known if x._graph is None or not x._graph.trace]


def on_one(node: Node) -> Array:
    """An array for a value of the host, on one device whatever mesh is set, but free to go elsewhere."""
    if state.on:
        known[node], unplaced[node] = None, SingleDeviceSharding(default_device())
    return wrap(node)


def moved_later(x: Node, sharding: Sharding) -> Array:
    """`device_put` of a traced array. It is part of the type on explicit axes; elsewhere the compiler decides, and only
    the mesh is known."""
    lies = sharding_at(x)
    if sharding.memory_kind not in (None, "device") or lies is not None and lies.memory_kind != "device":
        return placed(x, sharding)
    if isinstance(sharding, NamedSharding) and several():
        state.on = True
        if lies is not None and {*assignment(lies)} ^ {*assignment(sharding)} and assignment(sharding):
            what = f"argument x with shape {x.aval} and"
            refuse_devices([(what, lies), ("device_put inside jit", sharding)])
        if sharding.mesh.explicit_axes:
            return wrap(constrain(x, sharding=in_full(sharding, x.ndim, "device_put")))
        if lies is None:
            return wrap(constrain(x, sharding=sharding.update(spec=PartitionSpec())))
    return wrap(x)


def check_same(x: Any, value: np.ndarray) -> None:
    """Raise AssertionError where processes put other values on devices that they share."""
    kind = type(x)
    agreed(
        value,
        f"{kind} passed to device_put is not the same on each process. Make sure you are passing the same value of "
        f"{kind} on each process.",
    )


def in_full(where: Any, ndim: int, what: str, mesh: Any = None) -> Sharding:
    """The sharding of a type: a spec is over a mesh, by default the default one, and has an entry for each axis."""
    mesh = default_mesh() if mesh is None else mesh
    if isinstance(where, PartitionSpec) and mesh.empty:
        raise ValueError(
            "Using PartitionSpec when you are not under a mesh context is not allowed. Please pass a NamedSharding "
            f"instance or enter into a mesh context via `jax.set_mesh`. Got {where}"
        )
    to = resolved(where, what, mesh)
    if isinstance(to, NamedSharding) and to.mesh.explicit_axes:
        rest, spec = [None] * (ndim - len(to.spec)), to.spec
        to = to.update(spec=PartitionSpec(*spec.partitions, *rest, unreduced=spec.unreduced, reduced=spec.reduced))
    return to


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
                f"AxisType.{kind!r}."
            )


def reshard(xs: Any, out_shardings: Any) -> Any:
    """The arrays of a tree, as a sharding or a spec over the default mesh says, whose axes are explicit ones.

    Raises: ValueError for another axis, and where an array cannot lie so.
    """
    leaves, structure = flatten(xs)
    one = isinstance(out_shardings, (Sharding, PartitionSpec))
    wanted = [out_shardings] * len(leaves) if one else spread_axes(out_shardings, xs, "reshard out_shardings")
    out = []
    for v, where in zip(leaves, wanted):
        with explicitly():
            node = as_node(v)
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
        out.append(shown_as(placed(node, to), "reshard"))
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
    def call(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> Any:
        if out_sharding is None:
            raise TypeError("Missing required keyword argument: 'out_sharding'")
        mesh = mesh_of(out_sharding)
        if mesh.empty:
            return f(*args, **kwargs)
        inside = mesh.with_types(names_of(axes, mesh), AxisType.Auto)
        with Setting(inside):
            out = f(*relabelled(args, inside), **relabelled(kwargs, inside))
        return spread_over(relabelled(out, mesh), out_sharding, "auto_axes", mesh)

    return call


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
    def call(*args: Any, in_sharding: Any = in_sharding, **kwargs: Any) -> Any:
        if in_sharding is None:
            raise TypeError("Missing required keyword argument: 'in_sharding'")
        mesh = mesh_of(in_sharding)
        inside = mesh.with_types(names_of(axes, mesh), AxisType.Explicit)
        with Setting(inside):
            where = map(on_mesh_of(inside), in_sharding, is_leaf=is_where)
            out = f(*spread_over(args, where, "explicit_axes", inside), **kwargs)
        return relabelled(out, mesh)

    return call


def on_mesh_of(mesh: Any) -> Any:
    """From a sharding to the same over a mesh whose axes have other types; specs stay."""
    return lambda s: s.update(mesh=mesh) if isinstance(s, NamedSharding) else s


def spread_over(tree: Any, where: Any, what: str, mesh: Any = None) -> Any:
    """The arrays of a tree, placed; `where` is a sharding, a spec (over the mesh) or a prefix of the tree."""
    leaves, structure = flatten(tree)
    one = isinstance(where, (Sharding, PartitionSpec, Device))
    wanted = [where] * len(leaves) if one else spread_axes(where, tree, what)
    out = []
    for v, to in zip(leaves, wanted):
        node = as_node(v)
        sharding = in_full(to, node.ndim, what, mesh)
        check_divides(sharding, node.shape)
        check_fits(sharding, node.shape, f"{what} results")
        out.append(placed(node, sharding))
    return unflatten(structure, out)


def varying_as(x: Array, out: Array) -> Array:
    """An array inside of `shard_map`, said to vary as another one does."""
    node = out.node
    for axis in sorted(axes_of_value(x.node) - axes_of_value(node), key=str):
        node = pvary(node, contexts.active[-1].index[axis])
    return wrap(node)


def placing(f: Any) -> Any:
    """A function of arrays whose parameter `device` or `out_sharding` says how the result lies. Where it is not given,
    what is made `like` an array lies as that."""
    has = {"device", "out_sharding", "sharding"} & set(inspect.signature(f).parameters)
    if not has:
        return f
    like = f.__name__.endswith("_like")

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            for name in has:
                where = kwargs.get(name)
                if where is not None:
                    rest = {k: v for k, v in kwargs.items() if k not in has}
                    spec = getattr(where, "spec", where)
                    with settled(spec.unreduced if isinstance(spec, PartitionSpec) else frozenset()):
                        out = f(*args, **rest)
                    if name != "out_sharding":
                        out = device_put(out, where)
                        keeps = f.__name__ in ("array", "asarray") or not out.weak_type or out.node.trace
                        return out if keeps else out.astype(out.dtype)
                    check_explicit(in_full(where, 0, f.__name__), f.__name__)
                    return spread_over(out, where, f.__name__)
            out = f(*args, **kwargs)
            if like and contexts.active and isinstance(args[0], Array):
                return varying_as(args[0], out)
            if like and state.on and isinstance(args[0], Array) and args[0].shape == out.shape:
                sharding = sharding_at(args[0].node)
                if sharding is not None and args[0].node.trace:
                    sharding = in_full(sharding, out.ndim, f.__name__)
                return out if sharding is None else placed(out.node, sharding)
            return out
        except BaseException as error:
            leave(error)
            raise

    return call


def place_results(names: dict[str, Any]) -> None:
    """Have the functions of a module do as their parameters `device` and `out_sharding` say."""
    for name, f in list(names.items()):
        if isinstance(f, types.FunctionType) and not name.startswith("_"):
            names[name] = placing(f)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a tree, to lie as the shardings say on the axes of a mesh that are Auto; where all axes are
    Explicit, an assertion that they lie so.

    Raises: RuntimeError for a spec where there is no default mesh, ValueError for explicit or manual axes of a mixed
    mesh and for arrays that cannot lie so, AssertionError, TypeError for what is no sharding.
    """
    leaves, structure = flatten(x)
    one = shardings is None or isinstance(shardings, (Sharding, PartitionSpec)) or hasattr(shardings, "layout")
    for where in [shardings] if one else flatten(shardings, is_leaf=is_where)[0]:
        if not (is_where(where) or hasattr(where, "layout")) or isinstance(where, Device):
            raise TypeError(
                f"shardings leaf specifications are expected to be PartitionSpec instances or None, but got {where}"
            )
    wanted = [shardings] * len(leaves) if one else prefix(shardings, x, "with_sharding_constraint shardings")
    out = []
    for v, where in zip(leaves, wanted):
        with explicitly():
            node = as_node(v)
        if where is None:
            raise ValueError(
                "One of with_sharding_constraint arguments got sharding None which is not allowed. Please only pass "
                "`jax.sharding.Sharding` instances."
            )
        if where is PartitionSpec.UNCONSTRAINED:
            out.append(v if isinstance(v, Array) else wrap(node))
        else:
            out.append(constrained(node, where))
    return unflatten(structure, out)


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """The arrays of a tree, to lie in memory in that order, which is C's (a tree of layouts may be a prefix of x).

    Raises: ValueError for what is no `Layout`, for another number of axes, and outside of traced functions for what is
    no array.
    """
    leaves, structure = flatten(x)
    wanted = [layouts] * len(leaves) if isinstance(layouts, Layout) else prefix(layouts, x, "with_layout_constraint")
    wrong = [type(w) for w in wanted if not isinstance(w, Layout)]
    if wrong:
        raise ValueError(f"layouts passed to `with_layout_constraint` must be of type `Layout`. Got {wrong}")
    for v, w in zip(leaves, wanted):
        if not isinstance(v, Array):
            raise ValueError(f"with_layout_constraint in eager mode can only be applied to jax.Arrays. Got {type(v)}")
        if len(w.major_to_minor) != v.ndim:
            raise ValueError(
                f"One of with_layout_constraint arguments is incompatible with its layout annotation {w}: Length of "
                "major_to_minor and the rank of the value should match. Got "
                f"major_to_minor={w.major_to_minor} and shape={v.shape}"
            )
    return unflatten(structure, leaves)


def check_same_devices(node: Node, to: NamedSharding) -> None:
    """Raise ValueError for a constraint over other devices than those on which an array lies."""
    lies = sharding_at(node)
    if lies is not None and {*assignment(lies)} ^ {*assignment(to)} and assignment(lies) and assignment(to):
        what = "sharding_constraint inside jit" if node.trace else "explicit output sharding"
        name = "x" if node.trace else "x of _identity_fn"
        refuse_devices([(f"argument {name} with shape {node.aval} and", lies), (what, to)])


def is_where(x: Any) -> bool:
    """Whether it is a leaf of a tree of shardings."""
    return x is None or isinstance(x, (Sharding, PartitionSpec, Device))


def constrained(node: Node, where: Any) -> Array:
    """`with_sharding_constraint` of one array."""
    mesh = current.entered[-1] if current.entered and not current.meshes else default_mesh()
    if isinstance(where, PartitionSpec) and mesh.empty:
        raise RuntimeError(no_mesh("with_sharding_constraint", "shardings"))
    to = resolved(where, "with_sharding_constraint", mesh)
    if isinstance(to, NamedSharding) and current.manual and of_places(to.mesh, current.manual[-1]):
        to = to.update(mesh=current.manual[-1])
    if not isinstance(to, NamedSharding):
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
    if to.mesh.explicit_axes:  # what lies along those stays
        to = named_sharding(to.mesh, merged(to, sharding_at(node), node.ndim), node.ndim)
    check_fits(to, node.shape, "with_sharding_constraint arguments", divides=not node.trace)
    if not node.trace and PartitionSpec.UNCONSTRAINED in to.spec.partitions:
        lies, says = split_of(sharding_at(node), node.ndim), split_of(to, node.ndim)
        free = [p is PartitionSpec.UNCONSTRAINED for p in (*to.spec.partitions, *[None] * (node.ndim - len(to.spec)))]
        to = named_sharding(to.mesh, tuple([a if f else b for a, b, f in zip(lies, says, free)]), node.ndim)
    unconstrained = frozenset([d for d, p in enumerate(to.spec.partitions) if p is PartitionSpec.UNCONSTRAINED])
    said = {"sharding": to, "layout": None, "context_mesh": default_mesh(), "unconstrained_dims": unconstrained}
    out: Array = shown_as(placed(node, to), "sharding_constraint", **said)
    return out


def of_places(a: Any, b: Any) -> bool:
    """Whether two meshes have the same axes, of whatever types."""
    return bool(a.shape_tuple == b.shape_tuple)


def merged(to: NamedSharding, lies: Sharding | None, ndim: int) -> Split:
    """The split that a constraint on Auto axes and an array that lies on explicit ones give together."""
    explicit = set(to.mesh.explicit_axes)
    pairs = zip(split_of(to, ndim), split_of(lies, ndim))
    return tuple([(*[a for a in b if a in explicit], *a_) for a_, b in pairs])


def no_mesh(what: str, parameter: str) -> str:
    return (
        f"{what} requires a non-empty mesh in context if you are passing `PartitionSpec`s to {parameter}. You can "
        f"define "
        "a context mesh via `jax.set_mesh(mesh)`. Alternatively, provide `Sharding`s to "
        f"{parameter} and then the mesh context manager is not required."
    )


def device_get(x: Any) -> Any:
    """The arrays of a tree as NumPy arrays; random keys as they are."""
    return map(lambda v: v.__array__() if isinstance(v, Array) and not is_extended(v.dtype) else v, x)


def block_until_ready(x: Any) -> Any:
    """The tree, with all its arrays computed."""
    for v in flatten(x)[0]:
        if hasattr(v, "block_until_ready"):
            v.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Nothing: values are on the host."""
    return x
