"""Meshes of devices: `Mesh`, `AbstractMesh`, and which of them is set."""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..api.trace import stack
from ..flags import on_mesh
from ..runtime.detours import detour
from .devices import Device, everything, own, several, state
from .specs import AxisType


class AbstractDevice:
    """What is known of the devices of a mesh that has none yet."""

    def __init__(self, device_kind: str, num_cores: int | None, platform: str | None) -> None:
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


def types_of(axis_types: Any, names: tuple[Any, ...]) -> tuple[AxisType, ...]:
    """The types of axes with these names. Raises ValueError for another number of them, TypeError for what is none."""
    if axis_types is None:
        return (AxisType.Auto,) * len(names)
    found = (axis_types,) if isinstance(axis_types, AxisType) else tuple(axis_types)
    if any([not isinstance(t, AxisType) for t in found]):
        kinds = tuple([type(t) for t in found])
        raise TypeError(
            f"axis_types passed to Mesh must be of type `jax.sharding.AxisType`. Got {axis_types} of type {kinds}"
        )
    if len(found) != len(names):
        raise ValueError(
            f"Number of axis names should match the number of axis_types. Got axis_names={names} and axis_types={found}"
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
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        raise NotImplementedError("Subclasses should implement this method.")

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
        self.axis_types = types_of(axis_types, self.axis_names)
        self.abstract_device = abstract_device

    device_numbers = ()

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    def __getattr__(self, name: str) -> Any:
        if name in ("devices", "device_ids", "is_multi_process", "local_devices", "local_mesh"):
            raise ValueError(f"AbstractMesh does not implement {name}")
        raise AttributeError(f"'AbstractMesh' object has no attribute {name!r}")

    def with_types(self, axes: Iterable[Any], kind: AxisType) -> AbstractMesh:
        """With another type for some axes."""
        return self.update_axis_types(dict.fromkeys(axes, kind))

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


FIELDS = ("devices", "axis_names", "axis_sizes", "axis_types")


class Mesh(BaseMesh):
    """An array of devices whose axes have names. As a context manager, the mesh of specs in
    `with_sharding_constraint`.

    Raises: ValueError where there is not a name for each axis.
    """

    is_scalar = False
    devices: np.ndarray

    def __new__(cls, devices: Any, axis_names: Any, axis_types: Any = None) -> Mesh:
        """The mesh of these, one object for all that are equal."""
        self = super().__new__(cls)
        self._set(np.array(devices, dtype=object), axis_names, axis_types)
        return made.setdefault(self._key(), self)

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        """Nothing: `__new__` gives a mesh that is complete."""

    def _set(self, devices: np.ndarray, axis_names: Any, axis_types: Any) -> None:
        self.devices = devices
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if None in self.axis_names:
            raise ValueError(f"Mesh axis names cannot be None. Got: {self.axis_names}")
        if len(self.axis_names) != self.devices.ndim:
            raise ValueError(
                f"Mesh requires the ndim of its first argument (`devices`) to equal the length of its second argument "
                f"(`axis_names`), but got devices.ndim == {self.devices.ndim} and len(axis_names) == "
                f"{len(self.axis_names)}."
            )
        self.devices.flags.writeable = False
        self.axis_sizes = self.devices.shape
        self.axis_types = types_of(axis_types, self.axis_names)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        kind = AbstractDevice("cpu", None, "cpu") if self.devices.size else None
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types, abstract_device=kind)

    @property
    def size(self) -> int:
        return 0 if self.devices.tolist() is None else self.devices.size

    @property
    def empty(self) -> bool:
        return not self.size

    @functools.cached_property
    def device_numbers(self) -> tuple[int, ...]:
        """The numbers of the devices in order."""
        return tuple([d.id for d in self.devices.flat if d is not None])

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

    def with_types(self, axes: Iterable[Any], kind: AxisType) -> Mesh:
        """With another type for some axes."""
        types = self.abstract_mesh.with_types(axes, kind).axis_types
        return self if types == self.axis_types else self.update(axis_types=types)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """With other devices, names or types."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __str__(self) -> str:
        return super().__str__() if self.axis_names else "Mesh()"

    def _key(self) -> Any:
        return (*super()._key(), tuple(self.devices.flat))

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        types = f", axis_types={self.axis_types}"
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}{types})"

    def __reduce__(self) -> Any:
        return Mesh, (self.devices, self.axis_names, self.axis_types)

    def __setattr__(self, name: str, value: Any) -> None:
        if "axis_types" in vars(self) and name in FIELDS:
            raise AttributeError(f"cannot assign to field {name!r}")
        super().__setattr__(name, value)

    def __enter__(self) -> Mesh:
        current.entered.append(self)
        state.meshes = state.meshes or not self.empty
        return self

    def __exit__(self, *error: object) -> None:
        current.entered.pop()


class Current(threading.local):
    """The meshes that are set in this thread, the innermost last."""

    def __init__(self) -> None:
        self.meshes: list[Any] = []
        self.entered: list[Mesh] = []  # by `with mesh:`, which only `with_sharding_constraint` asks
        self.manual: list[BaseMesh] = []  # those among them of `shard_map`s that are being traced


current = Current()
made: weakref.WeakValueDictionary[Any, Mesh] = weakref.WeakValueDictionary()


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


class Setting(contextlib.AbstractContextManager[None]):
    """A mesh that is the default in a `with` block."""

    def __init__(self, mesh: BaseMesh) -> None:
        self._mesh = mesh
        self._before: list[Any] = []

    def __enter__(self) -> None:
        self._set([*current.meshes, self._mesh])

    def _set(self, meshes: list[Any]) -> None:
        self._before, current.meshes = current.meshes, [] if self._mesh.empty else meshes
        state.meshes = state.meshes or not self._mesh.empty
        state.on = state.on or several() and not self._mesh.empty
        detour_by_meshes()

    def __exit__(self, *error: object) -> None:
        current.meshes = self._before
        detour_by_meshes()


def detour_by_meshes() -> None:
    """While a mesh of devices is set, all arrays are made by the graph, which knows where they lie."""
    there = several() and bool(current.meshes)
    detour(current, there)
    on_mesh(there)


class set_mesh(Setting):
    """Make a mesh the default: from now on, or in a `with` block. None: no mesh.

    Raises: ValueError for what is no `Mesh`, for one with manual axes, and in a function that is being traced.
    """

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ValueError(f"Expected mesh of type `jax.sharding.Mesh`. Got {type(mesh)}")
        if stack.active:
            raise ValueError("`set_mesh` can only be used outside of `jax.jit`.")
        if mesh is not None and mesh.manual_axes:
            raise ValueError(
                f"mesh {mesh} contains manual axes which is not allowed when using `jax.set_mesh`. Please use "
                "`jax.shard_map` to enter into `Manual` mode instead."
            )
        super().__init__(NONE if mesh is None else mesh)
        self._set([self._mesh])

    def __enter__(self) -> None:
        pass


class use_abstract_mesh(Setting):
    """Make an AbstractMesh the default in a `with` block.

    Raises: ValueError for what is no AbstractMesh, and for another size than that of the mesh that is set.
    """

    def __init__(self, mesh: AbstractMesh) -> None:
        if not isinstance(mesh, AbstractMesh):
            raise ValueError(f"Expected mesh of type `jax.sharding.AbstractMesh`. Got type: {type(mesh)}")
        super().__init__(mesh)

    def __enter__(self) -> None:
        before = get_abstract_mesh()
        if not before.empty and not self._mesh.empty and before.size != self._mesh.size:
            raise ValueError(
                f"use_abstract_mesh cannot change the size of the mesh. Got new mesh: {self._mesh} with "
                f"size={self._mesh.size} and prev mesh: {before} with size={before.size}"
            )
        super().__enter__()


NONE = Mesh(None, ())


def default_mesh() -> Any:
    """The mesh that is set; an empty one where none is."""
    return current.meshes[-1] if current.meshes else NONE


def get_mesh() -> Mesh:
    """The default mesh; an empty one where none is set. Raises ValueError in a function that is being traced."""
    if stack.active:
        raise ValueError(
            "`get_mesh` can only be used outside of `jax.jit`. Maybe you want `jax.sharding.get_abstract_mesh()`?"
        )
    found = default_mesh()
    return found if isinstance(found, Mesh) else NONE


def get_abstract_mesh() -> AbstractMesh:
    """Names, sizes and types of the default mesh; inside of `shard_map`, of its mesh."""
    found = default_mesh()
    return found.abstract_mesh if found.axis_names else AbstractMesh((), ())
