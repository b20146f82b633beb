"""Putting arrays on devices: `device_put`, and what stands for a sharding."""

from __future__ import annotations

import enum
import gc
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.trace import stack
from ..graph.node import ABSTRACT, CONCRETE, Node, leaf
from ..graph.op import VIEW, Op
from ..runtime.execute import value_of
from ..signatures import spread_axes
from ..tree import flatten, map, unflatten
from .array import Array, as_node, wrap
from .device_views import views
from .devices import Device, check_backend, default_device, several
from .dtypes import is_extended
from .jaxpr_places import said_of_batch, shown_as
from .layouts import Auto, Format, in_c, order_of, orders
from .memory import KINDS, MemorySpace
from .processes import agreed, laid, spanning, spread_of
from .sharding import (
    AxisType,
    ManualAxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    current,
    default_mesh,
    default_sharding,
)
from .spreading import (
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
from .transfers import between_devices, explicitly
from .varying import axes_of_value


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


def in_order(x: Array, order: tuple[int, ...] | None) -> Array:
    """An array that lies in memory in that order of its axes; as it is where nothing is said, and in a trace."""
    if order is None or x.node.trace or orders.get(x.node, in_c(x.ndim)) == order:
        return x
    node = leaf(x.shape, x.node.dtype, np.array(x._value(), order="C"), weak=x.node.weak)
    known[node] = known.get(x.node)
    if order != in_c(x.ndim):
        orders[node] = order
    return wrap(node)


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


def each_placed(tree: Any, where: Any, what: str) -> tuple[list[tuple[Any, Node, Any]], Any]:
    """The leaves of a tree, each with its node and with what `where` says of it, which is a place or a prefix of the
    tree; and the tree's structure.

    Raises: ValueError where it is no prefix, with the place.
    """
    leaves, structure = flatten(tree)
    wanted = spread_axes(where, tree, what)
    with explicitly():
        return [(x, as_node(x), to) for x, to in zip(leaves, wanted)], structure


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


constrain.batched = said_of_batch


class ArrayCopySemantics(enum.IntEnum):
    """What `device_put` does with the buffer of its operand, in jaxprs."""

    REUSE_INPUT = 0
    ALWAYS_COPY = 1
    DONATE_INPUT = 2

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"ArrayCopySemantics.{self.name}"


def as_equation(x: Array, where: Any, share: Any, give: bool) -> Array:
    """A traced array that was put somewhere, in a function that is shown with an equation for that."""
    if not stack.shown or not x.node.trace:
        return x
    kinds = ArrayCopySemantics
    how = kinds.DONATE_INPUT if give else kinds.ALWAYS_COPY if share is False else kinds.REUSE_INPUT
    apart = wrap(constrain(x.node, sharding=sharding_at(x.node)))
    out: Array = shown_as(apart, "device_put", devices=(where,), srcs=(None,), copy_semantics=(how,))
    return out


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """The arrays of a tree, on a device or as a sharding says (a tree of these may be a prefix of x); NumPy arrays and
    scalars become arrays.

    Raises: ValueError where an array cannot lie so, and for `may_alias` beside `donate`: each is a truth value, or a
    prefix of the tree with such.
    """
    gives: list[Any] = [*spread_axes(donate, x, "device_put donate")]
    shares = spread_axes(may_alias, x, "device_put may_alias")
    if any([m and d for m, d in zip(shares, gives)]):
        raise ValueError("may_alias and donate cannot be True at the same time.")
    found, structure = each_placed(x, device, "device_put device")
    out = []
    for (v, node, where), share, give in zip(found, shares, gives):
        if isinstance(where, Format) and isinstance(where.layout, Auto):
            raise ValueError(
                f"sharding and layout in `Layout` instance should be concrete. Got layout: {where} for input "
                f"{node.aval}"
            )
        if where is None or isinstance(where, Format) and where.sharding is None:
            same = v if share is not False and not give else wrap(node)
            out.append(as_equation(same if isinstance(v, Array) else on_one(node), None, share, give))
            continue
        order = order_of(where, node.shape, "jit outputs with pytree key path result")
        if isinstance(where, MemorySpace):
            kind = KINDS.get(where)
            lies = wrap(node).sharding if node.trace != ABSTRACT else sharding_at(node) or default_sharding()
            where = lies if kind is None else lies.with_memory_kind(kind)
        sharding = resolved(where, "device_put")
        if current.manual:
            # Compiled code lies as `shard_map` says.
            if isinstance(sharding, SingleDeviceSharding) and not views.active:
                out.append(v if isinstance(v, Array) else on_one(node))
                continue
            check_inside(node, sharding)
        if node.trace == ABSTRACT or state.jitted:
            out.append(as_equation(moved_later(node, sharding), where, share, give))
            continue
        check_fits(sharding, node.shape, "device_put args")
        now = sharding_at(node)
        if order is None and node in orders and (now == sharding or now is not None and on_one_each(now, sharding)):
            order = orders[node]
        if isinstance(v, Array) and share is not False and not give and now == sharding:
            out.append(in_order(v, order))
            continue
        if not node.trace and isinstance(v, Array) and several() and v.devices() != sharding.device_set:
            between_devices(node.aval, sharding)
        if node.trace == CONCRETE and len(sharding.device_set) > 1 and spanning(sharding) and spread_of(node) is None:
            check_same(v, value_of(node))
        out.append(in_order(placed(coming_back(node, sharding), sharding, not isinstance(v, Array)), order))
    return unflatten(structure, out)


def check_inside(node: Node, to: Sharding) -> None:
    """Raise ValueError inside of `shard_map` for one device, and for a mesh along whose Auto axes a value varies."""
    if isinstance(to, SingleDeviceSharding):
        (device,) = to.device_set
        raise ValueError(
            "device_put with explicit device not allowed within shard_map-decorated functions, but got device "
            f"{device.platform}:{device.id}"
        )
    varies = axes_of_value(node)
    kinds = dict(zip(to.mesh.axis_names, to.mesh.axis_types)) if isinstance(to, NamedSharding) else {}
    for axis, kind in kinds.items():
        if axis in varies and kind is not AxisType.Manual:
            raise ValueError(
                "Axes mentioned in `manual_axis_type` field of ShapedArray should be of type `Manual`. Got "
                f"manual_axis_type={ManualAxisType(varying=varies)} with axis: {axis} of type AxisType.{kind.name}"
            )


def on_one_each(a: Sharding, b: Sharding) -> bool:
    """Whether each is of one device."""
    return a.num_devices == b.num_devices == 1


def live_arrays(platform: str | None = None) -> list[Array]:
    """All arrays there are. Raises RuntimeError for the name of a platform that this machine has not."""
    check_backend(platform)
    known = [x for x in gc.get_objects() if issubclass(type(x), Array)]  # `isinstance` asks each object for its class
    return [x for x in known if x._graph is None or not x._graph.trace]


def on_one(node: Node) -> Array:
    """An array for a value of the host, on one device whatever mesh is set, but free to go elsewhere."""
    if state.on:
        known[node], unplaced[node] = None, SingleDeviceSharding(default_device())
    return wrap(node)


def put_all(inputs: Sequence[Node], axes: Sequence[int | None], *, sharding: Sharding) -> tuple[Node, int | None]:
    """Put all examples somewhere: as they lie together, the axis along which they stand among the others, as in JAX."""
    (x,) = inputs
    if x.trace == ABSTRACT:
        return put(x, sharding=sharding), axes[0]
    check_fits(sharding, x.shape, "device_put args")
    return constrain(coming_back(x, sharding), sharding=sharding), axes[0]


def coming_back(x: Node, to: Sharding) -> Node:
    """What is differentiated and will be put somewhere, whose cotangent goes back to where x lies."""
    source = sharding_at(x)
    if not x.trace or source is None or source._memory != to._memory:
        return x
    return constrain(x, sharding=source)


put = Op(
    "device_put",
    VIEW,
    lambda x, *, sharding: x,
    lambda xp, x, *, sharding: x,
    static=("sharding",),
    jvp=lambda tangents, out, x, *, sharding: put(tangents[0], sharding=sharding),
    transpose=lambda ct, x, *, sharding: (ct,),
    batch=put_all,
    linear=True,
    tag="lasting",
    doc="One example of what will be put somewhere.",
)


def moved_later(x: Node, sharding: Sharding) -> Array:
    """`device_put` of a traced array. It is part of the type on explicit axes; elsewhere the compiler decides, and only
    the mesh is known. What is mapped outside of traced functions is put there with all examples."""
    if several() and not current.manual and all([t.kind == "vmap" for t in stack.active]) and x.trace == ABSTRACT:
        state.on = True
        check_fits(sharding, x.shape, "device_put args")
        return wrap(put(x, sharding=sharding))
    if not current.manual and not any([t.kind == "vmap" for t in stack.active]):
        check_fits(sharding, x.shape, "device_put args")
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
        parts, spec = [*to.spec.partitions, *[None] * (ndim - len(to.spec))], to.spec
        parts = parts[:ndim] if not any([*parts[ndim:]]) else parts
        to = to.update(spec=PartitionSpec(*parts, unreduced=spec.unreduced, reduced=spec.reduced))
    return to


def with_kept(to: NamedSharding, node: Node, kept: Sequence[Any], beside: bool = True) -> NamedSharding:
    """A sharding of an array that stays as it lies along the `kept` axes of the mesh, `beside` what the sharding says
    of an axis of the array, or where it says nothing."""
    split = []
    for says, lies in zip(split_of(to, node.ndim), split_of(sharding_at(node), node.ndim)):
        stays = tuple([a for a in lies if a in kept and (beside or not says)])
        split.append((*stays, *says))
    return named_sharding(to.mesh, tuple(split), node.ndim)


def is_where(x: Any) -> bool:
    """Whether it is a leaf of a tree of shardings."""
    return x is None or isinstance(x, (Sharding, PartitionSpec, Device))


def of_places(a: Any, b: Any) -> bool:
    """Whether two meshes have the same axes, of whatever types."""
    return bool(a.shape_tuple == b.shape_tuple)


def no_mesh(what: str, parameter: str) -> str:
    return (
        f"{what} requires a non-empty mesh in context if you are passing `PartitionSpec`s to {parameter}. You can "
        f"define "
        "a context mesh via `jax.set_mesh(mesh)`. Alternatively, provide `Sharding`s to "
        f"{parameter} and then the mesh context manager is not required."
    )


def device_get(x: Any) -> Any:
    """The arrays of a tree, and NumPy's scalars, as NumPy arrays; random keys and traced arrays as they are."""

    def fetched(v: Any) -> Any:
        plain = isinstance(v, Array) and not is_extended(v.dtype) and not v.node.trace
        return v.__array__() if plain or isinstance(v, np.generic) else v

    return map(fetched, x)


def block_until_ready(x: Any) -> Any:
    """The tree, with all its arrays computed."""
    for v in flatten(x)[0]:
        if hasattr(v, "block_until_ready") and not (isinstance(v, Array) and v.node.trace == ABSTRACT):
            v.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Nothing: values are on the host."""
    return x


def with_devices(mesh: Any, leaves: list[Any]) -> Any:
    """For an AbstractMesh the mesh of devices on which arguments lie; without one where they are traced.

    Raises: ValueError where there are no such arguments.
    """
    if isinstance(mesh, Mesh) or current.manual:
        return mesh
    around = default_mesh()
    if isinstance(around, Mesh) and not around.empty and around.abstract_mesh == mesh:
        return around
    nodes = [as_node(x) for x in leaves]
    for lies in [sharding_at(n) for n in nodes]:
        if isinstance(lies, NamedSharding) and isinstance(lies.mesh, Mesh) and lies.mesh.axis_sizes == mesh.axis_sizes:
            return lies.mesh
    if all([n.trace != ABSTRACT for n in nodes]):
        raise ValueError(
            "Please pass `jax.Array`s with a `NamedSharding` as input to `shard_map` when passing `AbstractMesh` to "
            "the mesh argument."
        )
    return mesh
