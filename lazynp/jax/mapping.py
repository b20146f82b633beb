"""`pmap` and `shard_map`: functions over the devices of a mesh. There is one device: each is a `vmap` over names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..api.jit import Jit
from ..api.vmap import vmap
from ..graph.node import Node
from ..ops.shape import move_axis, reshape, slice_, whole
from ..signatures import Static, spread_axes
from ..tree import NAMESPACE, flatten, map, unflatten
from .array import Array, as_node, door, wrap
from .sharding import DEVICE, NamedSharding, PartitionSpec, Sharding, axes_of, check_spec, get_mesh, place, sharding_of
from .sharding import device_count as count_devices


def pmap(
    fun: Callable[..., Any],
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """The function on each device's part of the arguments, jitted. The mapped axis is as long as there are devices.

    Raises: ValueError where it is longer.
    """
    static = (
        (static_broadcasted_argnums,)
        if isinstance(static_broadcasted_argnums, int)
        else tuple(static_broadcasted_argnums)
    )
    name = axis_name if axis_name is not None else object()
    most = len(devices) if devices is not None else count_devices()

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        given = [i for i in range(len(args)) if i not in static]

        def dynamic(*parts: Any, **named: Any) -> Any:
            full = list(args)
            for i, x in zip(given, parts):
                full[i] = x
            return fun(*full, **named)

        for x, a in zip(*aligned_axes([args[i] for i in given], tuple([axes[i] for i in given]))):
            n = np.shape(x)[a] if a is not None and np.ndim(x) else most
            if n > most:
                raise ValueError(
                    f"compiling computation that requires {n} logical devices, but only {most} XLA devices are "
                    f"available (num_replicas={n})"
                )
        over = tuple([axes[i] for i in given])
        return vmap(dynamic, over, out_axes, name, axis_size, door=door)(*[args[i] for i in given], **kwargs)

    return Jit(mapped, door, Static(static))


def aligned_axes(args: list[Any], axes: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """The leaves of the arguments, and for each its mapped axis."""
    return flatten(tuple(args))[0], spread_axes(axes, tuple(args), "pmap in_axes")


class Infer:
    """In the place of `in_specs`: as the arguments lie."""


def spread_specs(specs: Any, tree: Any, what: str) -> list[PartitionSpec]:
    """For each leaf of a tree the spec that a prefix of the tree says. None is a spec of nothing."""

    def is_spec(x: Any) -> bool:
        return x is None or isinstance(x, PartitionSpec)

    marked = map(lambda s: PartitionSpec() if s is None else s, specs, is_leaf=is_spec)
    try:
        found = optree.broadcast_prefix(marked, tree, is_leaf=is_spec, namespace=NAMESPACE)
    except ValueError as error:
        raise ValueError(
            f"shard_map {what} specification must be a tree prefix of the corresponding value: {error}"
        ) from None
    return list(found)


def cut(x: Node, spec: PartitionSpec, mesh: Any) -> tuple[Node, list[Any]]:
    """An array with the mesh axes it is split along in front, in the mesh's order; and which these are.

    Raises: ValueError where an axis does not divide.
    """
    sizes = mesh.shape
    check_spec(mesh, spec)
    if len(spec) > x.ndim:
        raise ValueError(
            f"shard_map applied with an in_specs entry {spec} of length {len(spec)} to an argument of rank {x.ndim}"
        )
    dims: list[Any] = []
    shape: list[int] = []
    for d, n in enumerate(x.shape):
        names = axes_of(spec[d]) if d < len(spec) else ()
        for a in names:
            if n % sizes[a]:
                raise ValueError(
                    f"shard_map applied to an argument whose axis {d} of size {x.shape[d]} is not evenly divisible by "
                    f"the mesh axes {names} of sizes {[sizes[k] for k in names]}"
                )
            dims.append(a)
            shape.append(sizes[a])
            n //= sizes[a]
        dims.append(None)
        shape.append(n)
    x = reshape(x, shape=tuple(shape))
    used = [a for a in mesh.axis_names if a in dims]
    for i, a in enumerate(used):
        at = dims.index(a)
        dims.insert(i, dims.pop(at))
        x = move_axis(x, at, i)
    return x, used


def joined(x: Node, spec: PartitionSpec, mesh: Any) -> Node:
    """A result of all places, the mesh's axes in front, as one array: an axis that the spec does not name is taken to
    be the same everywhere."""
    names = list(mesh.axis_names)
    wanted = [a for part in spec for a in axes_of(part)]
    for i in reversed(range(len(names))):
        if names[i] not in wanted:
            x = slice_(x, key=(*whole(x.shape[:i]), 0, *whole(x.shape[i + 1 :])))
            del names[i]
    for d, part in enumerate(spec):
        for a in reversed(axes_of(part)):
            at, to = names.index(a), len(names) - 1 + d
            x = move_axis(x, at, to)
            x = reshape(x, shape=(*x.shape[:to], x.shape[to] * x.shape[to + 1], *x.shape[to + 2 :]))
            names.remove(a)
    return x


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: Any = None,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
    **_: Any,
) -> Callable[..., Any]:
    """f on each part of the arguments, as `in_specs` splits them over the mesh; its results joined by `out_specs`.

    Inside, `psum` and its like work along the mesh's axes. Raises: ValueError where an argument does not divide.
    """
    if f is None:
        return lambda g: shard_map(g, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names)
    function = f

    @functools.wraps(f)
    def mapped(*args: Any) -> Any:
        over = mesh if mesh is not None else get_mesh()
        leaves, structure = flatten(args)
        if in_specs is Infer:
            found = [sharding_of(x) for x in leaves]
            specs = [s.spec if isinstance(s, NamedSharding) else PartitionSpec() for s in found]
        else:
            specs = spread_specs(in_specs, args, "in_specs")
        parts = [cut(as_node(x), s, over) for x, s in zip(leaves, specs)]

        def local(*xs: Any) -> Any:
            return function(*unflatten(structure, list(xs)))

        inner: Callable[..., Any] = local
        for name, size in reversed(over.shape_tuple):
            axes = tuple([0 if name in used else None for _, used in parts])
            inner = vmap(inner, axes, 0, name, size, door=door)
        out = inner(*[wrap(x) for x, _ in parts])
        results, tree = flatten(out)
        specs_out = spread_specs(out_specs, out, "out_specs")
        return unflatten(tree, [wrap(joined(as_node(x), s, over)) for x, s in zip(results, specs_out)])

    return mapped


smap = shard_map


# --- Putting arrays in places -----------------------------------------------------------------------------------------


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """The arrays of a tree, on a device or as a sharding says; NumPy arrays and scalars become arrays."""
    leaves, structure = flatten(x)
    wanted = spread_axes(device, x, "device_put device") if isinstance(device, (dict, list)) else [device] * len(leaves)
    out = []
    for v, where in zip(leaves, wanted):
        a = wrap(as_node(v))
        if isinstance(where, PartitionSpec):
            where = NamedSharding(get_mesh(), where)
        if isinstance(where, Sharding):
            where.shard_shape(a.shape)
            a = place(a, where)
        elif where is not None and where is not DEVICE and not hasattr(where, "layout"):
            raise ValueError(f"device_put: {where!r} is neither a device nor a sharding")
        out.append(a)
    return unflatten(structure, out)


reshard = device_put


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a tree, to lie as the shardings say."""
    leaves, structure = flatten(x)
    return unflatten(structure, [v if isinstance(v, Array) else wrap(as_node(v)) for v in leaves])


def device_get(x: Any) -> Any:
    """The arrays of a tree as NumPy arrays."""
    return map(lambda v: v.__array__() if isinstance(v, Array) else v, x)


def block_until_ready(x: Any) -> Any:
    """The tree, with all its arrays computed."""
    for v in flatten(x)[0]:
        if hasattr(v, "block_until_ready"):
            v.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Nothing: values are on the host."""
    return x


def make_array_from_callback(shape: tuple[int, ...], sharding: Sharding, data_callback: Any, dtype: Any = None) -> Any:
    """The array whose part at an index `data_callback(index)` gives."""
    return place(wrap(as_node(data_callback((slice(None),) * len(shape)))), sharding)


def make_array_from_process_local_data(sharding: Sharding, local_data: Any, global_shape: Any = None) -> Any:
    """The array of this process's data."""
    return place(wrap(as_node(local_data)), sharding)


def make_array_from_single_device_arrays(shape: tuple[int, ...], sharding: Sharding, arrays: Sequence[Any]) -> Any:
    """The array made of the devices' parts."""
    return place(wrap(as_node(arrays[0])), sharding)
