"""Arrays that are made of parts: of what a callback gives, of each process's data, of arrays on single devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.node import leaf
from ..runtime.execute import value_of
from ..signatures import spread_axes
from ..tree import flatten, map, unflatten
from .array import Array, as_node, wrap
from .devices import Device, everything, own
from .dtypes import canonical, is_extended
from .layouts import order_of, place_of
from .placement import in_order, placed
from .processes import Spread, boxes_of, extent, holding, spanning, spread_of
from .sharding import NamedSharding, PartitionSpec, Sharding


def assembled(shape: tuple[int, ...], sharding: Sharding, parts: dict[Device, Any], dtype: Any) -> Array:
    """The array of the parts of this process's devices. Raises ValueError for one of another shape."""
    if isinstance(sharding, NamedSharding) and sharding.spec.unreduced:
        return added_up(shape, sharding, parts, dtype)
    boxes = {d: box for d, box in boxes_of(sharding, shape).items() if d in parts}
    values = {d: value_of(as_node(parts[d])) for d in boxes}
    for d, part in values.items():
        if part.shape != extent(boxes[d]):
            raise ValueError(
                f"Expected shard shape {extent(boxes[d])} doesn't match the single device array shape {part.shape}. "
                f"Shape of Array is {dtype}[{','.join(map(str, shape))}] with sharding {sharding}"
            )
    if spanning(sharding):
        nodes = {d: as_node(np.asarray(v, dtype)) for d, v in values.items()}
        kind = next((n.dtype for n in nodes.values()), dtype)
        return wrap(holding(Spread(shape, kind, sharding, nodes)))
    out = np.empty(shape, next(v.dtype for v in values.values()) if is_extended(dtype) else dtype)
    for d, part in reversed(values.items()):  # of replicas the first
        out[tuple([slice(a, b) for a, b in boxes[d]])] = part
    return placed(leaf(shape, out.dtype, out), sharding, True)


def added_up(shape: tuple[int, ...], sharding: NamedSharding, parts: dict[Device, Any], dtype: Any) -> Array:
    """The array of which devices have summands. Raises NotImplementedError for devices of several processes."""
    if spanning(sharding):
        raise NotImplementedError("arrays that are unreduced along axes over several processes")
    names = [i for i, a in enumerate(sharding.mesh.axis_names) if a not in sharding.spec.unreduced]
    boxes = boxes_of(sharding.update(spec=PartitionSpec(*sharding.spec.partitions)), shape)
    sums: dict[Any, Any] = {}
    for place, d in np.ndenumerate(sharding.mesh.devices):
        value = value_of(as_node(parts[d]))
        key = tuple([place[i] for i in names])
        sums[key] = boxes[d], value + sums[key][1] if key in sums else value
    out = np.empty(shape, dtype)
    for box, value in reversed(sums.values()):  # of replicas the first
        out[tuple([slice(a, b) for a, b in box])] = value
    return placed(leaf(shape, out.dtype, out), sharding, True)


def plain(dtype: Any) -> Any:
    """NumPy's dtype, or one of keys as it is."""
    return dtype if is_extended(dtype) else np.dtype(dtype)


def make_array_from_callback(shape: tuple[int, ...], sharding: Sharding, data_callback: Any, dtype: Any = None) -> Any:
    """The array whose part at an index (a tuple of slices) `data_callback(index)` gives; it is asked for the parts of
    this process's devices.

    Raises: ValueError where an axis does not divide, or a part has another shape, or this process has no device of the
    sharding and there is no dtype; TypeError for what is no sharding.
    """
    order, sharding = order_of(sharding, tuple(shape), "jit outputs with pytree key path result"), place_of(sharding)
    if not isinstance(sharding, Sharding):
        raise TypeError(f"sharding should be an instance of `jax.sharding`. Got {sharding} of type {type(sharding)}")
    shape = tuple(shape)
    indices = sharding.addressable_devices_indices_map(shape)
    if sharding.is_fully_replicated and indices:
        parts = dict.fromkeys(indices, data_callback(next(iter(indices.values()))))
    else:
        parts = {d: data_callback(i) for d, i in indices.items()}
    kinds = [as_node(p).dtype for p in parts.values()] or ([] if dtype is None else [plain(dtype)])
    if dtype is not None and kinds[0] != plain(dtype):
        raise ValueError(
            "If `dtype` is provided to `jax.make_array_from_callback`, it must match the dtype of the addressable "
            f"shards. Got dtype={plain(dtype)} and shard dtype={kinds[0]}`."
        )
    if not kinds:
        raise ValueError(
            "If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to "
            "`jax.make_array_from_callback`."
        )
    return in_order(assembled(shape, sharding, parts, kinds[0]), order)


def make_array_from_process_local_data(sharding: Sharding, local_data: Any, global_shape: Any = None) -> Any:
    """The arrays of which each process has its own data: along an axis that is split over processes its part, else all.

    Args:
        sharding: of the arrays, or a prefix of the tree of them.
        global_shape: of the arrays, or a prefix of the tree of them; by default what the data of all processes are
            together. Along an axis that is as long as in the global shape, the data are those of all.

    Raises: ValueError where an axis does not divide, or is neither as long as the whole nor as this process's part.
    """
    leaves, structure = flatten(local_data)
    lies: list[Any] = list(spread_axes(place_of(sharding), local_data, "sharding"))
    held = map(Held, global_shape, is_leaf=is_shape)
    found: list[Any] = list(spread_axes(held, local_data, "global_shape"))
    shapes = [s.shape for s in found]
    return unflatten(structure, [from_local(to, x, s) for to, x, s in zip(lies, leaves, shapes)])


class Held:
    """A shape, as a leaf of a tree of shapes."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


def is_shape(x: Any) -> bool:
    """Whether it is a leaf of a tree of shapes: none, or a tuple of sizes, of which some may be left open."""
    return x is None or isinstance(x, tuple) and all([d is None or isinstance(d, int) for d in x])


def from_local(sharding: Sharding, data: Any, global_shape: Any) -> Array:
    value = np.asarray(data)
    if global_shape not in (None, value.shape) and len({d.process_index for d in everything()}) == 1:
        raise ValueError(
            "When calling `make_array_from_process_local_data` on a single process, global_shape should be None or "
            f"equal to local_data.shape.Got global_shape={global_shape} and local_data.shape={value.shape}."
        )
    if global_shape is None:
        shape = tuple([n * k for n, k in zip(value.shape, counts(sharding, value.ndim))])
    else:
        shape = tuple(global_shape)
        if None in shape:
            raise ValueError(f"global_shape={shape} has Nones. This is not supported.")
        if len(shape) != value.ndim:
            raise ValueError(f"global_shape={shape} and the data of this process, {value.shape}, have other ranks")
    sharding.shard_shape(shape)
    boxes = {d: box for d, box in boxes_of(sharding, shape).items() if d in own()}
    begins, own_shape = [], []
    for axis, n in enumerate(shape):
        spans_ = sorted({box[axis] for box in boxes.values()})
        own_size = sum([b - a for a, b in spans_])
        if value.shape[axis] not in (n, own_size):
            raise ValueError(
                f"Invalid host data, each dimension should match either global or process shape. In dimension {axis}, "
                f"the process data has {value.shape[axis]} elements. Process addresses {own_size} elements and "
                f"global_shape={shape}."
            )
        begins.append({span: sum([b - a for a, b in spans_[:i]]) for i, span in enumerate(spans_)})
        own_shape.append(own_size)
    parts = {}
    for d, box in boxes.items():
        index = [
            slice(a, b) if value.shape[axis] == n else slice(begins[axis][a, b], begins[axis][a, b] + b - a)
            for axis, ((a, b), n) in enumerate(zip(box, shape))
        ]
        parts[d] = value[tuple(index)]
    dtype = data.dtype if isinstance(data, Array) else canonical(value.dtype)
    return assembled(shape, sharding, parts, dtype)


def local_part(x: Array, local: Sharding) -> Array:
    """What this process's devices have of an array on those of several, as an array that lies as `local` says."""
    spread = spread_of(x.node)
    if spread is None:
        return placed(x.node, local)
    boxes = boxes_of(spread.sharding, x.shape)
    shape = tuple([sum([b - a for a, b in {boxes[d][axis] for d in spread.parts}]) for axis in range(x.ndim)])
    return assembled(shape, local, {d: value_of(n) for d, n in spread.parts.items()}, x.dtype)


def counts(sharding: Sharding, ndim: int) -> list[int]:
    """Along each axis how many times a process's part the whole is. Raises ValueError where processes differ in it."""
    if not spanning(sharding):
        return [1] * ndim
    shape = tuple(sharding._factors(ndim)) if isinstance(sharding, NamedSharding) else (1,) * ndim
    found = []
    for axis, n in enumerate(shape):
        by_process: dict[int, set[Any]] = {}
        for d, box in boxes_of(sharding, shape).items():
            by_process.setdefault(d.process_index, set()).add(box[axis])
        sizes = {len(spans_) for spans_ in by_process.values()}
        if len(sizes) > 1 or len(set().union(*by_process.values())) % (size := sizes.pop()):
            raise ValueError(f"processes have parts of different sizes along axis {axis}: say global_shape")
        found.append(n // size)
    return found


def make_array_from_single_device_arrays(
    shape: tuple[int, ...], sharding: Sharding, arrays: Sequence[Any], *, dtype: Any = None
) -> Any:
    """The array made of the devices' parts, each an array on its device.

    Raises: TypeError where the parts are no sequence of arrays, ValueError where there is not one for each device, or
    one of another shape.
    """
    if isinstance(arrays, Array):
        raise TypeError(
            "jax.make_array_from_single_device_arrays `arrays` argument must be a list or tuple, but got "
            f"{type(arrays)}."
        )
    shape, devices = tuple(shape), sharding.addressable_devices
    if not arrays and dtype is None:
        raise ValueError(
            "If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to "
            "`jax.make_array_from_single_device_arrays`."
        )
    if len(arrays) != len(devices):
        raise ValueError(
            f"Expected {len(devices)} per-device arrays (this is how many devices are addressable by the sharding), "
            f"but "
            f"got {len(arrays)}"
        )
    for a in arrays:
        if not isinstance(a, Array):
            raise TypeError(f"Unsupported type for elements in `arrays`: {type(a)}")
        if a._on_several():
            raise ValueError(
                "When making an array from single-device arrays the input arrays must have one shard each. An argument "
                f"array had {len(a.addressable_shards)} shard(s)."
            )
        if a.dtype != arrays[0].dtype:
            raise ValueError(
                f"Input buffers to `Array` must have matching dtypes. Got {a.dtype.name}, expected "
                f"{arrays[0].dtype.name} for buffer: {a}"
            )
    if not arrays:
        return assembled(shape, sharding, {}, np.dtype(dtype))
    if dtype is not None and not is_extended(dtype) and arrays[0].dtype != np.dtype(dtype):
        raise ValueError(
            "If `dtype` is provided to `jax.make_array_from_single_device_arrays`, it must match the dtype of the "
            f"addressable shards. Got dtype={np.dtype(dtype)} and shard dtype={arrays[0].dtype}`."
        )
    parts = {next(iter(a.devices())): a for a in arrays}
    if len(parts) < len(arrays):
        raise ValueError(
            "When making an array from single-device arrays, the input arrays must be from distinct devices, but got "
            f"device IDs {[next(iter(a.devices())).id for a in arrays]}"
        )
    if set(parts) != devices:
        missing, more = {d.id for d in devices - set(parts)}, {d.id for d in set(parts) - devices}
        raise ValueError(
            f"Addressable devices and per-device arrays devices do not match. Sharding contains devices {missing} that "
            f"are not present in per-device arrays. Per-device arrays contain devices {more} that are not present in "
            "the sharding."
        )
    return assembled(shape, sharding, parts, arrays[0].dtype)
