"""Putting arrays on devices: `device_put`, `reshard`, constraints in jitted functions, arrays made of parts."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..graph.node import CONCRETE, Node, leaf
from ..runtime.execute import value_of
from ..signatures import spread_axes
from ..tracebacks import leave
from ..tree import flatten, map, unflatten
from .array import Array, as_node, wrap
from .devices import Device, own, several
from .dtypes import canonical
from .processes import Spread, agreed, boxes_of, extent, holding, laid, spanning, spread_of
from .sharding import (
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    axes_of,
    current,
    default_mesh,
    get_abstract_mesh,
)
from .spreading import Split, constrain, known, named_sharding, sharding_at, split_of, state
from .transfers import explicitly


def placed(x: Node, sharding: Sharding, owned: bool = False) -> Array:
    """An array of that value which lies so. `owned`: no other array has the node."""
    if several():
        state.on = True
    if x.trace:
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
        raise ValueError(f"{what}: {where!r} is neither a device nor a sharding")
    return where


def check_fits(sharding: Sharding, shape: tuple[int, ...], what: str) -> None:
    """Raise ValueError where arrays of that shape cannot lie so."""
    if isinstance(sharding, NamedSharding):
        try:
            sharding.check_compatible_aval(shape)
        except ValueError as error:
            raise ValueError(
                f"One of {what} is incompatible with its sharding annotation {sharding}: {error}"
            ) from None
    sharding.shard_shape(shape)


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """The arrays of a tree, on a device or as a sharding says (a tree of these may be a prefix of x); NumPy arrays and
    scalars become arrays.

    Raises: ValueError where an array cannot lie so.
    """
    leaves, structure = flatten(x)
    one = device is None or isinstance(device, (Device, Sharding, PartitionSpec)) or hasattr(device, "layout")
    wanted = [device] * len(leaves) if one else spread_axes(device, x, "device_put device")
    out = []
    for v, where in zip(leaves, wanted):
        with explicitly():
            node = as_node(v)
        if where is None:
            out.append(wrap(node))
            continue
        sharding = resolved(where, "device_put")
        check_fits(sharding, node.shape, "device_put args")
        if node.trace == CONCRETE and len(sharding.device_set) > 1 and spanning(sharding) and spread_of(node) is None:
            check_same(v, value_of(node))
        out.append(placed(node, sharding, not isinstance(v, Array)))
    return unflatten(structure, out)


def check_same(x: Any, value: np.ndarray) -> None:
    """Raise AssertionError where processes put other values on devices that they share."""
    kind = type(x)
    agreed(
        value,
        f"{kind} passed to device_put is not the same on each process. Make sure you are passing the same value of "
        f"{kind} on each process.",
    )


def in_full(where: Any, ndim: int, what: str) -> Sharding:
    """The sharding of a type: a spec is over the default mesh, and has an entry for each axis."""
    if isinstance(where, PartitionSpec) and default_mesh().empty:
        raise ValueError(
            "Using PartitionSpec when you are not under a mesh context is not allowed. Please pass a NamedSharding "
            f"instance or enter into a mesh context via `jax.set_mesh`. Got {where}"
        )
    to = resolved(where, what)
    if isinstance(to, NamedSharding) and to.mesh.explicit_axes:
        to = to.update(spec=(*to.spec, *[None] * (ndim - len(to.spec))))
    return to


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
        to = in_full(where, node.ndim, "reshard")
        if isinstance(to, NamedSharding):
            for name in [a for part in to.spec for a in axes_of(part)]:
                if name not in to.mesh.explicit_axes:
                    kind = to.mesh.axis_types[to.mesh.axis_names.index(name)]
                    raise ValueError(
                        "PartitionSpec passed to reshard cannot contain axis names that are of type Auto or Manual. "
                        "Got "
                        f"PartitionSpec: {to.spec} with axis name: {name} of type: AxisType.{kind!r}."
                    )
        check_fits(to, node.shape, "reshard args")
        out.append(placed(node, to))
    return unflatten(structure, out)


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """In this block nothing is unclear about shardings: the caller says how the result lies."""
    state.settled += 1
    try:
        yield
    finally:
        state.settled -= 1


def auto_axes(f: Any = None, /, *, axes: Any = None, out_sharding: Any = None) -> Any:
    """A function in which explicit axes of the mesh are as Auto ones; its results lie as `out_sharding` says.

    Raises: TypeError where that is missing.
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)

    @functools.wraps(f)
    def call(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> Any:
        if out_sharding is None:
            raise TypeError("Missing required keyword argument: 'out_sharding'")
        with settled():
            out = f(*args, **kwargs)
        return spread_over(out, out_sharding, "auto_axes")

    return call


def explicit_axes(f: Any = None, /, *, axes: Any = None, in_sharding: Any = None) -> Any:
    """A function whose arguments lie as `in_sharding` says, on axes of the mesh that are explicit in it.

    Raises: TypeError where that is missing.
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)

    @functools.wraps(f)
    def call(*args: Any, in_sharding: Any = in_sharding, **kwargs: Any) -> Any:
        if in_sharding is None:
            raise TypeError("Missing required keyword argument: 'in_sharding'")
        return f(*spread_over(args, in_sharding, "explicit_axes"), **kwargs)

    return call


def spread_over(tree: Any, where: Any, what: str) -> Any:
    """The arrays of a tree, placed; `where` is a sharding, a spec or a prefix of the tree."""
    leaves, structure = flatten(tree)
    one = isinstance(where, (Sharding, PartitionSpec, Device))
    wanted = [where] * len(leaves) if one else spread_axes(where, tree, what)
    out = []
    for v, to in zip(leaves, wanted):
        node = as_node(v)
        sharding = in_full(to, node.ndim, what)
        check_fits(sharding, node.shape, f"{what} results")
        out.append(placed(node, sharding))
    return unflatten(structure, out)


def placing(f: Any) -> Any:
    """A function of arrays whose parameter `device` or `out_sharding` says how the result lies. Where it is not given,
    what is made `like` an array lies as that."""
    code = f.__code__
    has = {"device", "out_sharding"} & set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
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
                    with settled():
                        out = f(*args, **rest)
                    return device_put(out, where) if name == "device" else spread_over(out, where, f.__name__)
            out = f(*args, **kwargs)
            if like and state.on and isinstance(args[0], Array) and args[0].shape == out.shape:
                sharding = sharding_at(args[0].node)
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
    wanted = [shardings] * len(leaves) if one else spread_axes(shardings, x, "with_sharding_constraint shardings")
    out = []
    for v, where in zip(leaves, wanted):
        with explicitly():
            node = as_node(v)
        if where is None or where is PartitionSpec.UNCONSTRAINED:
            out.append(v if isinstance(v, Array) else wrap(node))
        else:
            out.append(constrained(node, where))
    return unflatten(structure, out)


def is_where(x: Any) -> bool:
    """Whether it is a leaf of a tree of shardings."""
    return x is None or isinstance(x, (Sharding, PartitionSpec, Device))


def constrained(node: Node, where: Any) -> Array:
    """`with_sharding_constraint` of one array."""
    mesh = current.entered[-1] if current.entered and not current.meshes else default_mesh()
    if current.manual:
        mesh = current.manual[-1]
    if isinstance(where, PartitionSpec) and mesh.empty:
        raise RuntimeError(no_mesh("with_sharding_constraint", "shardings"))
    to = resolved(where, "with_sharding_constraint", mesh)
    if current.mapped and isinstance(to, NamedSharding) and to.mesh == current.manual[-1]:
        to = to.update(mesh=current.mapped[-1])
    if not isinstance(to, NamedSharding):
        return placed(node, to)
    around = get_abstract_mesh()
    if not around.empty and around.are_all_axes_explicit and to.mesh.are_all_axes_explicit:
        split, lies = [split_of(s, node.ndim) for s in (to, sharding_at(node))]
        if split != lies:
            raise AssertionError(
                "`with_sharding_constraint` acts as an assert when all axes of mesh are of type `Explicit`. The array "
                f"sharding: {named_sharding(to.mesh, lies, node.ndim).spec} did not match the sharding provided: "
                f"{to.spec}. Please use `jax.sharding.reshard` to shard your input to the sharding you want."
            )
        return wrap(node)
    named = {a for part in to.spec for a in axes_of(part)}
    manual = set(current.manual[-1].manual_axes) if current.manual else set()
    if named & (set(to.mesh.explicit_axes) | manual):
        raise ValueError(
            f"The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto axes of the mesh. "
            f"Got spec={to.spec} and mesh={to.mesh.abstract_mesh}. You probably meant to use `reshard` API?"
        )
    if to.mesh.explicit_axes:  # what lies along those stays
        to = named_sharding(to.mesh, merged(to, sharding_at(node), node.ndim), node.ndim)
    check_fits(to, node.shape, "with_sharding_constraint arguments")
    return placed(node, to)


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


def assembled(shape: tuple[int, ...], sharding: Sharding, parts: dict[Device, Any], dtype: Any) -> Array:
    """The array of the parts of this process's devices. Raises ValueError for one of another shape."""
    boxes = {d: box for d, box in boxes_of(sharding, shape).items() if d in parts}
    values = {d: np.asarray(parts[d]) for d in boxes}
    for d, part in values.items():
        if part.shape != extent(boxes[d]):
            raise ValueError(
                f"Expected shard shape {extent(boxes[d])} doesn't match the single device array shape {part.shape}. "
                f"Shape of Array is {dtype}{list(shape)} with sharding {sharding}"
            )
    if spanning(sharding):
        nodes = {d: as_node(np.asarray(v, dtype)) for d, v in values.items()}
        kind = next((n.dtype for n in nodes.values()), dtype)
        return wrap(holding(Spread(shape, kind, sharding, nodes)))
    out = np.empty(shape, dtype)
    for d, part in values.items():
        out[tuple([slice(a, b) for a, b in boxes[d]])] = part
    return placed(as_node(out), sharding, True)


def make_array_from_callback(shape: tuple[int, ...], sharding: Sharding, data_callback: Any, dtype: Any = None) -> Any:
    """The array whose part at an index (a tuple of slices) `data_callback(index)` gives; it is asked for the parts of
    this process's devices.

    Raises: ValueError where an axis does not divide, or a part has another shape, or this process has no device of the
    sharding and there is no dtype.
    """
    shape = tuple(shape)
    parts = {d: data_callback(i) for d, i in sharding.addressable_devices_indices_map(shape).items()}
    kinds = [canonical(np.asarray(p).dtype) for p in parts.values()] or ([] if dtype is None else [np.dtype(dtype)])
    if dtype is not None and kinds[0] != np.dtype(dtype):
        raise ValueError(
            "If `dtype` is provided to `jax.make_array_from_callback`, it must match the dtype of the addressable "
            f"shards. Got dtype={np.dtype(dtype)} and shard dtype={kinds[0]}`."
        )
    if not kinds:
        raise ValueError(
            "If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to "
            "`jax.make_array_from_callback`."
        )
    return assembled(shape, sharding, parts, kinds[0])


def make_array_from_process_local_data(sharding: Sharding, local_data: Any, global_shape: Any = None) -> Any:
    """The arrays of which each process has its own data: along an axis that is split over processes its part, else all.

    Args:
        global_shape: of the arrays; by default what the data of all processes are together. Along an axis that is as
            long as in the global shape, the data are those of all.

    Raises: ValueError where an axis does not divide, or is neither as long as the whole nor as this process's part.
    """
    wanted: list[Any]
    shapes = global_shape
    leaves, structure = flatten(local_data)
    if shapes is None or isinstance(shapes, tuple) and all([d is None or isinstance(d, int) for d in shapes]):
        wanted = [shapes] * len(leaves)
    else:
        wanted = spread_axes(shapes, local_data, "global_shape")
    return unflatten(structure, [from_local(sharding, x, s) for x, s in zip(leaves, wanted)])


def from_local(sharding: Sharding, data: Any, global_shape: Any) -> Array:
    value = np.asarray(data)
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
        raise TypeError("jax.make_array_from_single_device_arrays `arrays` argument should be a list or tuple.")
    shape, devices = tuple(shape), sharding.addressable_devices
    if len(arrays) != len(devices):
        raise ValueError(
            f"Expected {len(devices)} per-device arrays (this is how many devices are addressable by the sharding), "
            f"but "
            f"got {len(arrays)}"
        )
    dtypes = {a.dtype for a in arrays}
    if len(dtypes) > 1:
        raise ValueError(
            f"Input buffers to `Array` must have matching dtypes. Got {', '.join([a.dtype.name for a in arrays])}"
        )
    if not arrays:
        if dtype is None:
            raise ValueError(
                "If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to "
                "`jax.make_array_from_single_device_arrays`."
            )
        return assembled(shape, sharding, {}, np.dtype(dtype))
    if len(devices) == 1:
        return assembled(shape, sharding, dict(zip(devices, arrays)), arrays[0].dtype)
    parts = {next(iter(a.devices())): a for a in arrays}
    if set(parts) != devices:
        raise ValueError(
            f"Addressable devices and per-device arrays devices do not match. Sharding contains devices "
            f"{devices - set(parts)} that are not present in per-device arrays. Per-device arrays contain devices "
            f"{set(parts) - devices} that are not present in the sharding."
        )
    return assembled(shape, sharding, parts, arrays[0].dtype)
