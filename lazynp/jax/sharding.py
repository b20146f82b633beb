"""`jax.sharding`: meshes of devices, and how arrays lie on them.

Devices share the host's memory (`devices.py`), so a sharding is kept beside its array: it says which part each device
would have, and changes no value.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections import Counter
from typing import Any

import numpy as np

from ..tracebacks import bounded
from .devices import MEMORIES, Device, default_device, everything, own, state
from .mesh import (  # noqa: F401
    AbstractDevice,
    AbstractMesh,
    BaseMesh,
    Mesh,
    current,
    default_mesh,
    get_abstract_mesh,
    get_mesh,
    make_mesh,
    set_mesh,
    use_abstract_mesh,
)
from .specs import AxisType, DuplicateSpecError, ManualAxisType, P, PartitionSpec, axes_of, check_spec  # noqa: F401

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
        raise NotImplementedError("Subclasses should implement this method.")

    @property
    def addressable_devices(self) -> set[Device]:
        """Those of this process."""
        return self.device_set & set(own())

    @property
    def num_devices(self) -> int:
        return len(self.device_set)

    _memory: str = "device"

    @property
    def memory_kind(self) -> str | None:
        """In which memory of the devices: they are all the host's, so this is kept and changes nothing."""
        return self._memory

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has all of the array."""
        raise NotImplementedError("Subclasses should implement this method.")

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one device's part. Raises ValueError where an axis does not divide."""
        index = next(iter(self.devices_indices_map(global_shape).values()))
        return tuple([len(range(*s.indices(n))) for s, n in zip(index, global_shape)])

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, tuple[slice, ...]]:
        """Which part of an array each device has."""
        raise NotImplementedError("Subclasses should implement this method.")

    def addressable_devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, tuple[slice, ...]]:
        """Which part of an array each device of this process has."""
        here = set(own())
        return {d: index for d, index in self.devices_indices_map(global_shape).items() if d in here}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether the other puts the same parts in the same places, of arrays with so many axes."""
        if isinstance(self, NamedSharding) and isinstance(other, NamedSharding) and self.mesh == other.mesh:
            entries = [[axes_of(p) for p in s.spec.partitions] for s in (self, other)]
            one, two = [parts + [()] * (ndim - len(parts)) for parts in entries]
            if one == two and len(one) == ndim:
                return self.memory_kind == other.memory_kind and summands(self) == summands(other)
        shape = (math.lcm(len(everything()), 1) ** 2,) * ndim  # divides whatever the meshes
        try:
            mine, theirs = [without_rest(s, ndim).devices_indices_map(shape) for s in (self, other)]
        except ValueError:
            return False
        if self.memory_kind != other.memory_kind or summands(self) != summands(other):
            return False
        return {d: spans(i, shape) for d, i in mine.items()} == {d: spans(i, shape) for d, i in theirs.items()}

    def with_memory_kind(self, kind: str) -> Sharding:
        """The same in a memory of the devices. Raises ValueError for one that they have not."""
        raise NotImplementedError(f"{type(self).__name__} does not say in which memory it puts an array")


def summands(s: Any) -> Any:
    """Along which axes of its mesh devices have summands."""
    return s.spec.unreduced if isinstance(s, NamedSharding) else frozenset()


def without_rest(s: Any, ndim: int) -> Sharding:
    """The same without summands, and without entries for more axes than there are, which say nothing."""
    if isinstance(s, NamedSharding) and (s.spec.unreduced or len(s.spec) > ndim and not any(s.spec[ndim:])):
        return s.update(spec=s.spec[: max(ndim, 0)])
    found: Sharding = s
    return found


def memory_of(kind: Any) -> str:
    """The name of a memory, by default the devices' own. Raises ValueError for one that they have not."""
    if kind is not None and kind not in MEMORIES:
        raise ValueError(
            f"Could not find memory addressable by device cpu. Device cpu can address the following memory kinds: "
            f"{', '.join(MEMORIES)}. Got memory kind: {kind}"
        )
    return "device" if kind is None else kind


def spans(index: tuple[slice, ...], shape: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    return tuple([s.indices(n) for s, n in zip(index, shape)])


class SingleDeviceSharding(Sharding):
    """All of an array on one device."""

    is_fully_replicated = True

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        self._device, self._memory = device, memory_of(memory_kind)

    @property
    def device_set(self) -> set[Device]:
        return {self._device}

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, tuple[slice, ...]]:
        return {self._device: (slice(None),) * len(global_shape)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SingleDeviceSharding):
            return False
        return self._device is other._device and self._memory == other._memory

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, self._device.id, self._memory))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self._memory})"

    def __reduce__(self) -> Any:
        return restored, (SingleDeviceSharding, (self._device,), self._memory)

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self._device, memory_kind=kind)


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
        self.mesh, self.spec, self._memory = mesh, spec, memory_of(memory_kind)
        check_spec(mesh, spec)
        state.meshes = state.meshes or isinstance(mesh, Mesh)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("mesh", "spec") and name in vars(self):
            raise AttributeError(f"property of {type(self).__name__!r} object has no setter")
        object.__setattr__(self, name, value)

    @property
    def memory_kind(self) -> str | None:
        return self._memory if isinstance(self.mesh, Mesh) or self._memory != "device" else None

    def _with_devices(self, what: str) -> Mesh:
        """The mesh. Raises ValueError where it has no devices."""
        if not isinstance(self.mesh, Mesh):
            raise ValueError(f"{what} is not implemented for `jax.sharding.AbstractMesh`.")
        return self.mesh

    @property
    def device_set(self) -> set[Device]:
        return set(self._with_devices("device_set").devices.flat)

    @property
    def addressable_devices(self) -> set[Device]:
        return set(self._with_devices("addressable_devices").local_devices)

    @property
    def is_fully_addressable(self) -> bool:
        return set(self._with_devices("is_fully_addressable").devices.flat) <= set(own())

    @property
    def num_devices(self) -> int:
        return int(self.mesh.size)

    @property
    def replicated_axes(self) -> frozenset[Any]:
        """The mesh axes along which devices have the same."""
        return frozenset(self.mesh.axis_names) - {a for part in self.spec.partitions for a in axes_of(part)}

    @property
    def is_fully_replicated(self) -> bool:
        sizes = self.mesh.shape
        return not self.spec.unreduced and all([sizes[a] == 1 for part in self.spec.partitions for a in axes_of(part)])

    def update(self, *, mesh: Any = None, spec: Any = None, memory_kind: Any = None) -> NamedSharding:
        """With another mesh, spec or memory."""
        spec = self.spec if spec is None else spec
        return NamedSharding(
            self.mesh if mesh is None else mesh,
            spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec),
            memory_kind=self._memory if memory_kind is None else memory_kind,
        )

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self.update(memory_kind=memory_of(kind))

    def check_compatible_aval(self, shape: tuple[int, ...]) -> None:
        """Raise ValueError where arrays of that shape have too few axes."""
        if len(self.spec) > len(shape):
            raise ValueError(
                f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but was applied to a "
                f"value of rank {len(shape)}." + " For scalars the PartitionSpec should be P()" * (not shape)
            )

    def _factors(self, ndim: int) -> list[int]:
        """Into how many parts each axis is split."""
        sizes = self.mesh.shape
        parts = [math.prod([sizes[a] for a in axes_of(p)]) for p in self.spec.partitions]
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
        self._with_devices("_device_assignment")
        if self.spec.unreduced:
            raise NotImplementedError(
                "device_indices_map doesn't work with unreduced. Please file a bug at "
                "https://github.com/jax-ml/jax/issues"
            )
        shape = self.shard_shape(global_shape)
        names, sizes = self.mesh.axis_names, self.mesh.shape
        split = [axes_of(p) for p in self.spec.partitions] + [()] * (len(shape) - len(self.spec))
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
        if not isinstance(other, NamedSharding):
            return False
        return self.spec == other.spec and self._memory == other._memory and self.mesh == other.mesh

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec, self._memory))

    def __repr__(self) -> str:
        memory = "" if self.memory_kind is None else f", memory_kind={self.memory_kind}"
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{memory})"

    def __reduce__(self) -> Any:
        return restored, (NamedSharding, (self.mesh, self.spec), self._memory)


def restored(kind: Any, args: tuple[Any, ...], memory: str) -> Sharding:
    """A sharding that was pickled."""
    made: Sharding = kind(*args, memory_kind=memory)
    return made


make_single_device_sharding = SingleDeviceSharding


def default_sharding(ndim: int = 0) -> Sharding:
    """Of an array of so many axes that nobody has placed: over the default mesh, where one is set."""
    mesh = next((m for m in reversed(current.meshes) if not m.manual_axes), None)
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
        return bounded(getattr(importlib.import_module("lazynp.jax.explicit_axes"), name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


FUNCTIONS = ("auto_axes", "explicit_axes", "reshard")


def __dir__() -> list[str]:
    return [*globals(), *FUNCTIONS]
