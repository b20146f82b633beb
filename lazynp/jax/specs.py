"""Along which axes of a mesh arrays are split, and along which they vary: what shardings and types consist of."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class AxisType(enum.Enum):
    """How an axis of a mesh is used: Auto axes are chosen for each result, Explicit ones follow the types of arrays,
    Manual ones are those inside of `shard_map`."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class PartitionSpec:
    """For each axis of an array the mesh axis (or several, or None) along which it is split."""

    UNCONSTRAINED = type("UNCONSTRAINED", (), {"__repr__": lambda self: "UNCONSTRAINED"})()
    __slots__ = ("partitions", "unreduced", "reduced")

    def __init__(self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset()) -> None:
        self.partitions = tuple([tidy(p) for p in partitions])
        self.unreduced, self.reduced = frozenset(unreduced), frozenset(reduced)
        if unreduced or reduced:
            self._check(unreduced, reduced)

    def _check(self, unreduced: Any, reduced: Any) -> None:
        """Raise TypeError for what is no set of axes, ValueError for an axis that stands in two places."""
        used = {a for p in self.partitions for a in axes_of(p)}
        for name, axes in (("unreduced", unreduced), ("reduced", reduced)):
            if not isinstance(axes, (set, frozenset)):
                raise TypeError(
                    f"{name} argument of PartitionSpec should of type `frozenset` or `set`. Got type {axes}"
                )
            if None in axes:
                raise ValueError(f"{name} cannot contain None. All elements in {name} should refer to the mesh axes.")
            if (used | {p for p in self.partitions if p is self.UNCONSTRAINED}) & axes:
                raise ValueError(
                    f"partitions cannot overlap with {name} axes passed to PartitionSpec. Got partitions: "
                    f"{self.partitions} and {name} axes: {frozenset(axes)}"
                )
        if self.unreduced & self.reduced:
            raise ValueError(
                "`unreduced` and `reduced` argument to PartitionSpec cannot overlap. Got unreduced: "
                f"{self.unreduced} and reduced: {self.reduced}"
            )

    def __repr__(self) -> str:
        parts = ", ".join(map(repr, self.partitions))
        parts += "," if len(self.partitions) == 1 and not (self.unreduced or self.reduced) else ""
        for name in ("unreduced", "reduced"):
            if getattr(self, name):
                parts += f"{', ' if parts else ''}{name}={set(getattr(self, name))!r}"
        return f"P({parts})"

    def _key(self) -> Any:
        return self.partitions, self.unreduced, self.reduced

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __iter__(self) -> Iterator[Any]:
        if self.unreduced or self.reduced:
            raise ValueError(
                "Using *pspec is dangerous when PartitionSpec has non-empty unreduced/reduced set. Please use "
                "*spec.partitions"
            )
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, i: Any) -> Any:
        return self.partitions[i]

    def __add__(self, other: Any) -> PartitionSpec:
        self._check_joined(other, "__add__")
        axes = (other.unreduced, other.reduced) if isinstance(other, PartitionSpec) else (frozenset(), frozenset())
        parts = other.partitions if isinstance(other, PartitionSpec) else other
        return spec_of((*self.partitions, *parts), self.unreduced | axes[0], self.reduced | axes[1])

    def __radd__(self, other: Any) -> PartitionSpec:
        self._check_joined(other, "__radd__")
        return PartitionSpec(*other, *self.partitions)

    def _check_joined(self, other: Any, what: str) -> None:
        if not isinstance(other, (tuple, PartitionSpec)):
            raise NotImplementedError(f"a PartitionSpec is joined with another one or a tuple, not with {other!r}")
        if isinstance(other, tuple) and (self.unreduced or self.reduced):
            name = "unreduced" if self.unreduced else "reduced"
            raise TypeError(
                f"other {other} cannot be of instance `tuple` when self {self} has {name} in `{what}` of PartitionSpec."
            )

    def __reduce__(self) -> Any:
        return spec_of, self._key()

    def index(self, value: Any) -> int:
        """The first axis that is split so. Raises ValueError where none is."""
        return self.partitions.index(tidy(value))

    def count(self, value: Any) -> int:
        """How many axes are split so."""
        return self.partitions.count(tidy(value))

    def update(self, **changed: Any) -> PartitionSpec:
        """With other `partitions`, `unreduced` or `reduced`."""
        now = dict(zip(self.__slots__, self._key())) | changed
        return spec_of(*[now[k] for k in self.__slots__])


P = PartitionSpec


def tidy(part: Any) -> Any:
    """An entry of a PartitionSpec: one axis in brackets is that axis, none are None."""
    if not isinstance(part, (tuple, list)):
        return part
    return part[0] if len(part) == 1 else tuple(part) or None


def spec_of(partitions: Iterable[Any], unreduced: Any, reduced: Any) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


class DuplicateSpecError(Exception):
    """A mesh axis splits two axes of an array."""


def check_spec(mesh: Any, spec: PartitionSpec) -> None:
    """Raise ValueError for a name that is no axis of the mesh, DuplicateSpecError for one that stands there twice."""
    if PartitionSpec.UNCONSTRAINED in spec.partitions and not mesh.auto_axes and not mesh.empty:
        raise ValueError(
            f"{spec} cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`. Got mesh axis_types: "
            f"{mesh.axis_types}"
        )
    for kind, axes in (("Unreduced", spec.unreduced), ("Reduced", spec.reduced)):
        if not axes <= {*mesh.explicit_axes, *mesh.manual_axes} and axes <= set(mesh.axis_names):
            raise ValueError(
                f"{kind} axes can only refer to mesh axes that is of type `Explicit`. Got {kind.lower()} axes: {axes} "
                f"and mesh: {mesh}"
            )
        for name in axes:
            if name not in mesh.axis_names:
                raise ValueError(
                    f"{kind} axes {name} is not found in mesh.axis_names={mesh.axis_names}. Got pspec={spec}"
                )
    check_no_axis_twice(spec, "NamedSharding spec")
    for name in [name for part in spec.partitions for name in axes_of(part)]:
        if name not in mesh.axis_names:
            raise ValueError(f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}.")


def check_no_axis_twice(spec: PartitionSpec, what: str) -> None:
    """Raise DuplicateSpecError for a name that stands twice in a spec."""
    names = [name for part in spec.partitions for name in axes_of(part)]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise DuplicateSpecError(
            f"A single {what} specification can map every mesh axis to at most one positional dimension, but {spec} "
            f"has duplicate entries for {', '.join([f'`{name}`' for name in twice])}"
        )


def axes_of(part: Any) -> tuple[Any, ...]:
    """The mesh axes of one entry of a PartitionSpec."""
    if part is None or part is PartitionSpec.UNCONSTRAINED:
        return ()
    return tuple(part) if isinstance(part, (tuple, list)) else (part,)


Names = frozenset[Any]


class ManualAxisFields(NamedTuple):
    varying: Names
    unreduced: Names
    reduced: Names


class ManualAxisType(ManualAxisFields):
    """How a value inside of `shard_map` lies along the manual axes of a mesh: along some it may differ between devices
    (`varying`), along some it is to be summed up (`unreduced`), or its cotangent is (`reduced`).

    Raises: ValueError for an axis that stands in `varying` and in another one.
    """

    __slots__ = ()

    def __new__(cls, *, varying: Any = frozenset(), unreduced: Any = frozenset(), reduced: Any = frozenset()) -> Any:
        for name, axes in (("unreduced", unreduced), ("reduced", reduced)):
            if set(varying) & set(axes):
                raise ValueError(
                    f"varying and {name} cannot have common mesh axes. Got varying={varying} and {name}={axes}"
                )
        return super().__new__(cls, frozenset(varying), frozenset(unreduced), frozenset(reduced))

    @property
    def empty(self) -> bool:
        return not self.vur

    @property
    def vur(self) -> Names:
        """All axes that stand in it."""
        return self.varying | self.unreduced | self.reduced

    def invarying(self, mesh: Any) -> Names:
        """The manual axes of a mesh that do not stand in it."""
        return frozenset(mesh.manual_axes) - self.vur

    def to_ct_mat(self) -> ManualAxisType:
        """That of cotangents: what is reduced is unreduced there, and the other way round."""
        made: ManualAxisType = ManualAxisType(varying=self.varying, unreduced=self.reduced, reduced=self.unreduced)
        return made

    def update(self, **changed: Any) -> ManualAxisType:
        """With other axes."""
        made: ManualAxisType = ManualAxisType(**(self._asdict() | changed))
        return made


class Unspecified:
    """What stands for a sharding that nobody has given."""

    def __repr__(self) -> str:
        return "UnspecifiedValue"


UNSPECIFIED = Unspecified()
