"""`ShapedArray`: the abstract value of an array, as users of `typeof` and of jaxprs see it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..doors import FLOAT0
from ..graph.aval import Aval
from ..ops.promotion import is_inexact
from .dtypes import record_of, short_name, shown
from .memory import MemorySpace
from .sharding import ManualAxisType, NamedSharding, PartitionSpec, axes_of, current, get_abstract_mesh
from .unreduced import suffix

NO_SUMS: Any = (frozenset(), frozenset())


class ShapedArray:
    """Shape, dtype, weak type. Prints as `float32[3,4]`, a weak one as `~float32[]`. In trees it is a leaf.

    Attributes:
        plain: what the graph knows of it, where keys have a record for a dtype.
    """

    __slots__ = ("plain",)

    def __new__(cls, shape: Any, dtype: Any, weak_type: bool = False, *, sharding: Any = None) -> ShapedArray:
        return object.__new__(PlacedArray if sharding is not None and cls is ShapedArray else cls)

    def __init__(self, shape: Any, dtype: Any, weak_type: bool = False, *, sharding: Any = None) -> None:
        sizes = tuple(shape) if isinstance(shape, Iterable) else (shape,)
        if not all([hasattr(n, "__index__") for n in sizes]):
            raise TypeError(f"Shapes must be 1D sequences of concrete values of integer type, got {sizes}.")
        self.plain = Aval(sizes, record_of(dtype), weak_type)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.shape, self.dtype  # the rest is in the slots

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""
        return self.plain.shape

    @property
    def dtype(self) -> Any:
        """That of the array: of keys the extended one, where the graph has a record."""
        return shown(self.plain.dtype)

    @property
    def weak_type(self) -> bool:
        """Whether the dtype came from a Python scalar."""
        return self.plain.weak

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return self.plain.ndim

    @property
    def size(self) -> int:
        """How many elements there are."""
        return self.plain.size

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapedArray) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[Any, ...]:
        """What tells it from others: what is known of the array, how it lies, and along which axes it varies."""
        return self.plain, None, ()

    def update(
        self, shape: Any = None, dtype: Any = None, weak_type: bool | None = None, sharding: Any = None
    ) -> ShapedArray:
        """With some of it replaced."""
        return type(self)(
            self.shape if shape is None else tuple(shape),
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
            sharding=sharding,
        )

    def strip_weak_type(self) -> ShapedArray:
        """The same, not weak."""
        return self.update(weak_type=False)

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """How it lies along the manual axes of a mesh."""
        made: ManualAxisType = ManualAxisType()
        return made

    mat = manual_axis_type

    @property
    def sharding(self) -> NamedSharding:
        """How it lies on devices: whole, on each of them."""
        return NamedSharding(get_abstract_mesh(), PartitionSpec(*[None] * len(self.shape)))

    @property
    def memory_space(self) -> MemorySpace:
        """In which memory of the devices it lies."""
        return MemorySpace.Device

    def to_tangent_aval(self) -> ShapedArray:
        """The type of its tangents: float0 for whole numbers."""
        return self if is_inexact(self.plain.dtype) else ShapedArray(self.shape, FLOAT0)

    def str_short(self, short_dtypes: bool = False) -> str:
        """`float32[3,4]`; `short_dtypes`: `f32[3,4]`."""
        name = "float0" if self.dtype == FLOAT0 else short_name(self.dtype) if short_dtypes else self.dtype.name
        memory = "<host>" * (self.memory_space is MemorySpace.Host)
        return f"{name}{memory}[{','.join(self._sizes())}]"

    def _sizes(self) -> list[str]:
        return [str(n) for n in self.shape]

    def __str__(self) -> str:
        return f"{'~' * self.weak_type}{self.str_short()}"

    def __repr__(self) -> str:
        return f"ShapedArray({self.str_short()}{', weak_type=True' * self.weak_type})"


class PlacedArray(ShapedArray):
    """Of an array that lies on a mesh: prints as `float32[8@x,2]`, where explicit axes split it; inside of `shard_map`,
    where it may differ between devices, as `float32[3]{V:x}`."""

    __slots__ = ("_lies", "_memory", "_sums", "_varying")
    _lies: NamedSharding | None
    _sums: Any
    _memory: MemorySpace
    _varying: tuple[Any, ...]

    def __init__(self, shape: Any, dtype: Any, weak_type: bool = False, *, sharding: Any = None) -> None:
        super().__init__(shape, dtype, weak_type)
        if sharding is not None and not isinstance(sharding, NamedSharding):
            raise TypeError(f"the sharding of a type is a NamedSharding, not {sharding!r}")
        self._lies = None if sharding is None else on_explicit(sharding, self.ndim)
        self._varying, self._memory, self._sums = (), memory_of(sharding), NO_SUMS

    def _compared(self) -> tuple[Any, ...]:
        spec = None if self._lies is None else self._lies.spec
        split = spec is not None and bool(any(spec.partitions) or spec.unreduced or spec.reduced)
        return (
            self.plain,
            self._lies if split else None,
            (*self._varying, *self._sums, *[self._memory] * self._in_host()),
        )

    def update(
        self, shape: Any = None, dtype: Any = None, weak_type: bool | None = None, sharding: Any = None
    ) -> ShapedArray:
        out = super().update(shape, dtype, weak_type, sharding or self._lies)
        assert isinstance(out, PlacedArray)
        out._varying, out._memory, out._sums = self._varying, self._memory, self._sums
        return out

    def _in_host(self) -> bool:
        return self._memory is MemorySpace.Host

    @property
    def memory_space(self) -> MemorySpace:
        return self._memory

    @property
    def manual_axis_type(self) -> ManualAxisType:
        made: ManualAxisType = ManualAxisType(varying=self._varying, unreduced=self._sums[0], reduced=self._sums[1])
        return made

    mat = manual_axis_type

    @property
    def sharding(self) -> NamedSharding:
        """How it lies on the explicit axes of the mesh, an entry for each axis."""
        return super().sharding if self._lies is None else self._lies

    def _sizes(self) -> list[str]:
        parts = [None] * self.ndim if self._lies is None else self._lies.spec.partitions
        names = ["(" + ",".join(map(str, p)) + ")" if isinstance(p, tuple) else p for p in parts]
        return [f"{n}@{p}" if p else str(n) for n, p in zip(self.shape, names)]

    def str_short(self, short_dtypes: bool = False) -> str:
        spec = None if self._lies is None else self._lies.spec
        own = (frozenset(), frozenset()) if spec is None else (spec.unreduced, spec.reduced)
        return super().str_short(short_dtypes) + suffix(own[0] | self._sums[0], own[1] | self._sums[1], self._varying)


def shaped(aval: Aval, sharding: Any = None, varies: Any = (), sums: Any = NO_SUMS) -> ShapedArray:
    """What users see of an abstract value, with the sharding of its array where that is part of the type, and the axes
    along which it varies."""
    on_mesh, memory = isinstance(sharding, NamedSharding), memory_of(sharding)
    if not on_mesh and not varies and not any(sums) and memory is MemorySpace.Device:
        return ShapedArray(*aval)
    out = PlacedArray(*aval)
    out._memory = memory
    axes = [a for a in current.manual[-1].axis_names if a in varies] if varies else []
    out._varying, out._sums = tuple([a for a in axes if a not in sums[0]]), sums
    out._lies = on_explicit(sharding, aval.ndim) if on_mesh else None
    return out


def varying_type(aval: Aval, sharding: Any, axes: tuple[Any, ...]) -> ShapedArray:
    """The type of a value that varies along these axes, in the order of their mesh."""
    out = PlacedArray(*aval)
    out._varying = axes
    out._lies = on_explicit(sharding, aval.ndim) if isinstance(sharding, NamedSharding) else None
    return out


def memory_of(sharding: Any) -> MemorySpace:
    """In which memory an array lies that has this sharding."""
    return MemorySpace.Host if sharding is not None and sharding.memory_kind == "pinned_host" else MemorySpace.Device


def on_explicit(sharding: NamedSharding, ndim: int) -> NamedSharding:
    """What a sharding says of the explicit axes of its mesh, an entry for each axis of the array."""
    mesh = sharding.mesh.abstract_mesh
    kept = [tuple([a for a in axes_of(p) if a in mesh.explicit_axes]) for p in sharding.spec.partitions]
    rest, spec = [None] * (ndim - len(kept)), sharding.spec
    return NamedSharding(mesh, PartitionSpec(*kept, *rest, unreduced=spec.unreduced, reduced=spec.reduced))


class AbstractRef:
    """The type of a mutable reference: `inner_aval` is that of what it holds."""

    def __init__(self, inner_aval: ShapedArray, memory_space: Any = None, kind: Any = None) -> None:
        self.inner_aval, self.memory_space, self.kind = inner_aval, memory_space, kind

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner_aval":
            raise AttributeError(name)
        return getattr(self.inner_aval, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRef) and self.inner_aval == other.inner_aval

    def __hash__(self) -> int:
        return hash((AbstractRef, self.inner_aval))

    def str_short(self, short_dtypes: bool = False) -> str:
        """`Ref{f32[3]}`."""
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __repr__(self) -> str:
        return f"Ref{{{str(self.inner_aval).removeprefix('~')}}}"
