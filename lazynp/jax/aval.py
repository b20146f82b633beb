"""`ShapedArray`: the abstract value of an array, as users of `typeof` and of jaxprs see it."""

from __future__ import annotations

from typing import Any

from ..api.differentiate import FLOAT0
from ..graph.aval import Aval
from ..ops.promotion import is_inexact
from .dtypes import record_of, shown
from .sharding import AbstractMesh, ManualAxisType, NamedSharding, PartitionSpec, current


class ShapedArray(Aval):
    """Shape, dtype, weak type. Prints as `float32[3,4]`, a weak one as `~float32[]`."""

    __slots__ = ()

    def __new__(cls, shape: Any, dtype: Any, weak_type: bool = False, **_: Any) -> ShapedArray:
        return Aval.__new__(cls, tuple(shape), record_of(dtype), weak_type)

    @property
    def dtype(self) -> Any:
        """That of the array: of keys the extended one, where the graph has a record."""
        return shown(self[1])

    @property
    def weak_type(self) -> bool:
        """Whether the dtype came from a Python scalar."""
        return self.weak

    def update(self, shape: Any = None, dtype: Any = None, weak_type: bool | None = None) -> ShapedArray:
        """With some of it replaced."""
        return ShapedArray(
            self.shape if shape is None else tuple(shape),
            self.dtype if dtype is None else dtype,
            self.weak if weak_type is None else weak_type,
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
        mesh = current.manual[-1] if current.manual else AbstractMesh((), ())
        return NamedSharding(mesh, PartitionSpec(*[None] * len(self.shape)))

    def to_tangent_aval(self) -> ShapedArray:
        """The type of its tangents: float0 for whole numbers."""
        return self if is_inexact(self[1]) else ShapedArray(self.shape, FLOAT0)

    def str_short(self, short_dtypes: bool = False) -> str:
        """`float32[3,4]`."""
        name = "float0" if self.dtype == FLOAT0 else self.dtype.name
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __str__(self) -> str:
        return f"{'~' * self.weak}{self.str_short()}"

    def __repr__(self) -> str:
        return f"ShapedArray({self.str_short()}{', weak_type=True' * self.weak})"


class VaryingArray(ShapedArray):
    """Of an array inside of `shard_map`, which may differ between devices: prints as `float32[3]{V:x}`."""

    _varying: tuple[Any, ...]

    @property
    def manual_axis_type(self) -> ManualAxisType:
        made: ManualAxisType = ManualAxisType(varying=self._varying)
        return made

    mat = manual_axis_type

    def str_short(self, short_dtypes: bool = False) -> str:
        names = ",".join(map(str, self._varying))
        return f"{ShapedArray.str_short(self)}{{V:{names if len(self._varying) == 1 else f'({names})'}}}"


class SpreadArray(ShapedArray):
    """Of an array on explicit axes of a mesh, by which it is split: prints as `float32[8@x,2]`."""

    _lies: NamedSharding

    @property
    def sharding(self) -> NamedSharding:
        """How it lies on the devices of the mesh, an entry for each axis."""
        return self._lies

    def __str__(self) -> str:
        parts = (*self.sharding.spec, *[None] * (self.ndim - len(self.sharding.spec)))
        names = ["(" + ",".join(p) + ")" if isinstance(p, tuple) else p for p in parts]
        sizes = ",".join([f"{n}@{p}" if p else str(n) for n, p in zip(self.shape, names)])
        return f"{'~' * self.weak}{self.dtype.name}[{sizes}]"

    def __repr__(self) -> str:
        return f"ShapedArray({self}{', weak_type=True' * self.weak})"


def shaped(aval: Aval, sharding: Any = None, varies: Any = ()) -> ShapedArray:
    """What users see of an abstract value, with the sharding of its array where that is part of the type, and the axes
    along which it varies."""
    if varies:
        varying = VaryingArray(*aval)
        varying._varying = tuple([a for a in current.manual[-1].axis_names if a in varies])
        return varying
    if not isinstance(sharding, NamedSharding) or not sharding.mesh.explicit_axes:
        return ShapedArray(*aval)
    out = SpreadArray(*aval)
    mesh = sharding.mesh.abstract_mesh
    out._lies = NamedSharding(mesh, PartitionSpec(*sharding.spec, *[None] * (aval.ndim - len(sharding.spec))))
    return out
