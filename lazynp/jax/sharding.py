"""`jax.sharding`: meshes of devices, and how arrays lie on them.

Devices share the host's memory (`devices.py`), so a sharding is kept beside its array: it says which part each device
would have, and changes no value.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..tracebacks import bounded
from .devices import Device, default_device, everything, own
from .specs import AxisType, DuplicateSpecError, ManualAxisType, P, PartitionSpec, axes_of, check_spec  # noqa: F401


class AbstractDevice:
    """What is known of the devices of a mesh that has none yet."""

    def __init__(self, device_kind: str, num_cores: int | None, platform: str | None = None) -> None:
        self.device_kind, self.num_cores, self.platform = device_kind, num_cores, platform

    def _key(self) -> Any:
        return self.device_kind, self.num_cores, self.platform

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractDevice) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"AbstractDevice({self})"

    def __str__(self) -> str:
        return f"device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform}"


def types_of(axis_types: Any, n: int) -> tuple[AxisType, ...]:
    """The types of n axes. Raises ValueError for another number of them, TypeError for what is no AxisType."""
    if axis_types is None:
        return (AxisType.Auto,) * n
    found = (axis_types,) if isinstance(axis_types, AxisType) else tuple(axis_types)
    if any([not isinstance(t, AxisType) for t in found]):
        raise TypeError(f"axis_types must be of type `jax.sharding.AxisType`. Got {axis_types}")
    if len(found) != n:
        raise ValueError(
            f"Number of axis names should match the number of axis_types. Got axis_types={found} for {n} axes"
        )
    return found


class BaseMesh:
    """Names, sizes and types of axes.

    Attributes:
        axis_names, axis_sizes, axis_types: of the axes, in order.
    """

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """Sizes by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes))

    @property
    def size(self) -> int:
        """How many places it has."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        return not self.axis_names

    def _of_type(self, kind: AxisType) -> tuple[Any, ...]:
        return tuple([n for n, t in zip(self.axis_names, self.axis_types) if t is kind])

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        return self._of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        return all([t is AxisType.Auto for t in self.axis_types])

    @property
    def are_all_axes_explicit(self) -> bool:
        return all([t is AxisType.Explicit for t in self.axis_types])

    @property
    def are_all_axes_manual(self) -> bool:
        return all([t is AxisType.Manual for t in self.axis_types])

    def _key(self) -> Any:
        return type(self), self.axis_names, self.axis_sizes, self.axis_types

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, BaseMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        sizes = ", ".join([f"{k!r}: {n}" for k, n in self.shape_tuple]) or "()"
        return f"{type(self).__name__}({sizes}, axis_types={self.axis_types})"


class AbstractMesh(BaseMesh):
    """Names, sizes and types of a mesh's axes, without its devices."""

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: Any,
        axis_types: Any = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ) -> None:
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        self.axis_sizes = tuple(axis_sizes)
        if len(self.axis_names) != len(self.axis_sizes):
            raise ValueError(
                f"Number of axis names should match the number of axis sizes. Got axis_sizes={self.axis_sizes} and "
                f"axis_names={self.axis_names}"
            )
        self.axis_types = types_of(axis_types, len(self.axis_names))
        self.abstract_device = abstract_device

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    def __getattr__(self, name: str) -> Any:
        if name in ("devices", "device_ids", "is_multi_process", "local_devices", "local_mesh"):
            raise ValueError(f"AbstractMesh does not implement {name}")
        raise AttributeError(f"'AbstractMesh' object has no attribute {name!r}")

    def update(self, axis_sizes: Any = None, axis_names: Any = None, axis_types: Any = None, **more: Any) -> Any:
        """With other axes, types of axes, or an `abstract_device`."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
            **({"abstract_device": self.abstract_device} | more),
        )

    def update_axis_types(self, name_to_type: Mapping[Any, AxisType]) -> AbstractMesh:
        """With other types for the axes of these names."""
        changed = [name_to_type.get(n, t) for n, t in zip(self.axis_names, self.axis_types)]
        return self.update(axis_types=tuple(changed))

    def _key(self) -> Any:
        return (*super()._key(), self.abstract_device)

    def __repr__(self) -> str:
        sizes = ", ".join([f"{k!r}: {n}" for k, n in self.shape_tuple]) or "()"
        device = f", {self.abstract_device}" if self.abstract_device is not None else ""
        return f"AbstractMesh({sizes}, axis_types={self.axis_types}{device})"

    __str__ = __repr__


class Mesh(BaseMesh):
    """An array of devices whose axes have names. As a context manager, the mesh of specs in
    `with_sharding_constraint`.

    Raises: ValueError where there is not a name for each axis.
    """

    is_scalar = False

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        self.devices = np.asarray(devices, dtype=object)
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if len(self.axis_names) != self.devices.ndim:
            raise ValueError(
                f"Mesh requires the ndim of its first argument (`devices`) to equal the length of its second argument "
                f"(`axis_names`), but got devices.ndim == {self.devices.ndim} and len(axis_names) == "
                f"{len(self.axis_names)}."
            )
        self.devices.flags.writeable = False
        self.axis_sizes = self.devices.shape
        self.axis_types = types_of(axis_types, len(self.axis_names))

    @property
    def abstract_mesh(self) -> AbstractMesh:
        kind = AbstractDevice("cpu", None, "cpu") if self.devices.size else None
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types, abstract_device=kind)

    @property
    def device_ids(self) -> np.ndarray:
        """The numbers of the devices, in the mesh's shape."""
        return np.array([d.id for d in self.devices.flat], int).reshape(self.devices.shape)

    @property
    def local_mesh(self) -> Mesh:
        """What of it is this process's. Raises ValueError where that is no mesh."""
        here = np.isin(self.device_ids, [d.id for d in own()])
        if here.all():
            return self
        places = np.argwhere(here)
        index = tuple([slice(at.min(), at.max() + 1) for at in places.T]) if len(places) else ()
        if not len(places) or not here[index].all():
            raise ValueError(f"the devices of this process are no part of {self!r} that is a mesh")
        return Mesh(self.devices[index], self.axis_names, self.axis_types)

    @property
    def is_multi_process(self) -> bool:
        """Whether it has devices of several processes."""
        return len({d.process_index for d in self.devices.flat}) > 1

    @property
    def local_devices(self) -> list[Device]:
        """Those of this process."""
        here = set(own())
        return [d for d in self.devices.flat if d in here]

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """With other devices, names or types."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def _key(self) -> Any:
        return (*super()._key(), tuple(self.devices.flat))

    def __repr__(self) -> str:
        types = f", axis_types={self.axis_types}" if self.axis_names else ""
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}{types})"

    def __reduce__(self) -> Any:
        return Mesh, (self.devices, self.axis_names, self.axis_types)

    def __enter__(self) -> Mesh:
        current.entered.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        current.entered.pop()


class Current(threading.local):
    """The meshes that are set in this thread, the innermost last."""

    def __init__(self) -> None:
        self.meshes: list[Any] = []
        self.entered: list[Mesh] = []  # by `with mesh:`, which only `with_sharding_constraint` asks
        self.manual: list[AbstractMesh] = []  # those of `shard_map`s that are being traced


current = Current()


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of that shape. Raises ValueError where there are too few devices."""
    n = math.prod(axis_shapes)
    there = list(everything()) if devices is None else list(devices)
    if n > len(there):
        raise ValueError(f"Number of devices {len(there)} must be >= the product of mesh_shape {tuple(axis_shapes)}")
    array = np.empty(n, dtype=object)
    array[:] = there[:n]
    array = array.reshape(tuple(axis_shapes))
    return Mesh(array, axis_names, axis_types or (AxisType.Explicit,) * array.ndim)


class set_mesh(contextlib.AbstractContextManager[Any]):
    """Make a mesh the default: from now on, or in a `with` block."""

    def __init__(self, mesh: Any) -> None:
        if not isinstance(mesh, BaseMesh):
            raise ValueError(f"Expected mesh of type `jax.sharding.Mesh`. Got {type(mesh)}")
        self.mesh = mesh
        current.meshes.append(mesh)

    def __enter__(self) -> Any:
        return self.mesh

    def __exit__(self, *error: object) -> None:
        current.meshes.remove(self.mesh)


class use_abstract_mesh(set_mesh):
    """Make an AbstractMesh the default in a `with` block."""


use_mesh = set_mesh


def get_mesh() -> Any:
    """The default mesh; an empty one where none is set."""
    return current.meshes[-1] if current.meshes else Mesh(np.empty((), dtype=object), ())


def get_abstract_mesh() -> AbstractMesh:
    """Names, sizes and types of the default mesh; inside of `shard_map`, of its mesh."""
    if current.manual:
        return current.manual[-1]
    found = get_mesh()
    return found.abstract_mesh if found.axis_names else AbstractMesh((), ())


# --- Shardings --------------------------------------------------------------------------------------------------------


class IndivisibleError(ValueError):
    """An axis of an array is not split into equal parts."""


class Sharding:
    """How an array lies on devices."""

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all its devices are of this process."""
        return self.device_set <= set(own())

    @property
    def has_addressable_devices(self) -> bool:
        return not self.device_set.isdisjoint(own())

    @property
    def device_set(self) -> set[Device]:
        """The devices that have a part."""
        raise NotImplementedError(f"{type(self).__name__} does not say on which devices it puts an array")

    @property
    def addressable_devices(self) -> set[Device]:
        """Those of this process."""
        return self.device_set & set(own())

    @property
    def num_devices(self) -> int:
        return len(self.device_set)

    @property
    def memory_kind(self) -> str | None:
        return "device"

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has all of the array."""
        raise NotImplementedError(f"{type(self).__name__} does not say which parts devices have")

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one device's part. Raises ValueError where an axis does not divide."""
        index = next(iter(self.devices_indices_map(global_shape).values()))
        return tuple([len(range(*s.indices(n))) for s, n in zip(index, global_shape)])

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, tuple[slice, ...]]:
        """Which part of an array each device has."""
        raise NotImplementedError(f"{type(self).__name__} does not say which parts devices have")

    def addressable_devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, tuple[slice, ...]]:
        """Which part of an array each device of this process has."""
        here = set(own())
        return {d: index for d, index in self.devices_indices_map(global_shape).items() if d in here}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether the other puts the same parts in the same places, of arrays with so many axes."""
        shape = (math.lcm(len(everything()), 1) ** 2,) * ndim  # divides whatever the meshes
        try:
            mine, theirs = self.devices_indices_map(shape), other.devices_indices_map(shape)
        except ValueError:
            return False
        return {d: spans(i, shape) for d, i in mine.items()} == {d: spans(i, shape) for d, i in theirs.items()}

    def with_memory_kind(self, kind: str) -> Sharding:
        """The same in a memory of the devices. Raises ValueError for one that they have not."""
        if kind not in ("device", "unpinned_host", "pinned_host", None):
            raise ValueError(f"Could not find memory addressable by device cpu. Got memory kind: {kind}")
        return self


def spans(index: tuple[slice, ...], shape: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    return tuple([s.indices(n) for s, n in zip(index, shape)])


class SingleDeviceSharding(Sharding):
    """All of an array on one device."""

    is_fully_replicated = True

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        self._device = device

    @property
    def device_set(self) -> set[Device]:
        return {self._device}

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, tuple[slice, ...]]:
        return {self._device: (slice(None),) * len(global_shape)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and self._device is other._device

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, self._device.id))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind=device)"


class NamedSharding(Sharding):
    """An array split along the axes of a mesh as a PartitionSpec says.

    Raises: ValueError for an axis that the mesh does not have, DuplicateSpecError for one that stands there twice.
    """

    def __init__(
        self, mesh: Any, spec: Any, *, memory_kind: str | None = None, _logical_device_ids: Any = None
    ) -> None:
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"Unexpected type {type(spec)} for NamedSharding. Expected a `jax.sharding.PartitionSpec`, got {spec!r}"
            )
        self.mesh, self.spec = mesh, spec
        check_spec(mesh, spec)

    @property
    def device_set(self) -> set[Device]:
        return set(self.mesh.devices.flat)

    @property
    def num_devices(self) -> int:
        return int(self.mesh.size)

    @property
    def replicated_axes(self) -> frozenset[Any]:
        """The mesh axes along which devices have the same."""
        return frozenset(self.mesh.axis_names) - {a for part in self.spec for a in axes_of(part)}

    @property
    def is_fully_replicated(self) -> bool:
        sizes = self.mesh.shape
        return all([sizes[a] == 1 for part in self.spec for a in axes_of(part)])

    def update(self, *, mesh: Any = None, spec: Any = None, memory_kind: Any = None) -> NamedSharding:
        """With another mesh or spec."""
        spec = self.spec if spec is None else spec
        return NamedSharding(
            self.mesh if mesh is None else mesh, spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec)
        )

    def check_compatible_aval(self, shape: tuple[int, ...]) -> None:
        """Raise ValueError where arrays of that shape have too few axes."""
        if len(self.spec) > len(shape):
            raise ValueError(
                f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but was applied to a "
                f"value of rank {len(shape)}."
            )

    def _factors(self, ndim: int) -> list[int]:
        """Into how many parts each axis is split."""
        sizes = self.mesh.shape
        parts = [math.prod([sizes[a] for a in axes_of(p)]) for p in self.spec]
        return parts + [1] * (ndim - len(parts))

    def check_divides(self, shape: tuple[int, ...]) -> list[int]:
        """Into how many parts each axis is split. Raises IndivisibleError where they are not equal."""
        self.check_compatible_aval(shape)
        factors = self._factors(len(shape))
        for axis, (n, k) in enumerate(zip(shape, factors)):
            if n % k:
                raise IndivisibleError(
                    f"Sharding {self} implies that array axis {axis} is partitioned {k} times, but the dimension size "
                    f"is {n} (full shape: {shape}, per-dimension tiling factors: {factors} should evenly divide the "
                    "shape)"
                )
        return factors

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        factors = self.check_divides(tuple(global_shape))
        return tuple([n // k for n, k in zip(global_shape, factors)])

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, tuple[slice, ...]]:
        shape = self.shard_shape(global_shape)
        names, sizes = self.mesh.axis_names, self.mesh.shape
        split = [axes_of(p) for p in self.spec] + [()] * (len(shape) - len(self.spec))
        out = {}
        for place, device in np.ndenumerate(self.mesh.devices):
            at = dict(zip(names, place))
            index = []
            for axes, n, whole in zip(split, shape, global_shape):
                k = 0
                for a in axes:
                    k = k * sizes[a] + at[a]
                index.append(slice(None) if n == whole else slice(k * n, (k + 1) * n))
            out[device] = tuple(index)
        return out

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and self.spec == other.spec and self.mesh == other.mesh

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec))

    def __repr__(self) -> str:
        memory = ", memory_kind=device" if isinstance(self.mesh, Mesh) else ""
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{memory})"

    def __reduce__(self) -> Any:
        return NamedSharding, (self.mesh, self.spec)


make_single_device_sharding = SingleDeviceSharding


def default_sharding(ndim: int = 0) -> Sharding:
    """Of an array of so many axes that nobody has placed: over the default mesh, where one is set."""
    mesh = current.meshes[-1] if current.meshes else None
    if not isinstance(mesh, Mesh) or not mesh.axis_names:
        return SingleDeviceSharding(default_device())
    return NamedSharding(mesh, PartitionSpec(*[None] * ndim) if mesh.explicit_axes else PartitionSpec())


@dataclasses.dataclass(frozen=True, repr=False)
class Shard:
    """A device's part of an array.

    Attributes:
        index: which part it is, slices. replica_id: how many devices before this one have the same part.
    """

    device: Device
    index: tuple[slice, ...]
    replica_id: int
    data: Any

    def __repr__(self) -> str:
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, data={self.data})"


def shards_of(sharding: Sharding, shape: tuple[int, ...]) -> list[tuple[Device, tuple[slice, ...], int]]:
    """Device, index and number of the replica for each part of an array."""
    seen: Counter[Any] = Counter()
    out = []
    for device, index in sharding.devices_indices_map(shape).items():
        key = spans(index, shape)
        out.append((device, index, seen[key]))
        seen[key] += 1
    return out


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:  # of arrays, which are made with what is here
        return bounded(getattr(importlib.import_module("lazynp.jax.placement"), name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


FUNCTIONS = ("auto_axes", "explicit_axes", "reshard")


def __dir__() -> list[str]:
    return [*globals(), *FUNCTIONS]
