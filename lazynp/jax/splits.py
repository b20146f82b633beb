"""Along which axes of a mesh arrays are split: what is known of nodes, and how it is written."""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ..graph.aval import Aval
from ..graph.node import Node
from .devices import state
from .dtypes import short_name
from .primitive_names import NAMES
from .sharding import NamedSharding, PartitionSpec, Sharding, axes_of

Split = tuple[tuple[Any, ...], ...]  # for each axis of an array the mesh axes that split it


Rule = Callable[..., Split]


class RefusedError(Exception):
    """What a rule says of operands that do not go together. All that rules may raise is of this kind: an error of
    another one is a fault of the rule, and nothing hides it."""


class ShardingTypeError(RefusedError):
    """Operands that lie on explicit axes so that the result's sharding is not clear."""


class IncompatibleError(RefusedError, ValueError):
    """Operands on other devices, of other meshes or in other memories."""


class NoRuleError(RefusedError, NotImplementedError):
    """Operands that JAX has no rule for."""


@contextlib.contextmanager
def settled(sums: frozenset[Any] = frozenset()) -> Iterator[None]:
    """In this block nothing is unclear about shardings: the caller says how the result lies, and along which axes
    devices are to have summands of it."""
    before, state.sums = state.sums, sums
    state.settled += 1
    try:
        yield
    finally:
        state.settled -= 1
        state.sums = before


@contextlib.contextmanager
def each_device() -> Iterator[None]:
    """In this block arrays are what single devices have: they lie on no mesh."""
    state.mapping += 1
    try:
        yield
    finally:
        state.mapping -= 1


known: weakref.WeakKeyDictionary[Node, Sharding | None] = weakref.WeakKeyDictionary()
"""The sharding of a node; None where nobody has placed what it is made of."""


def primitive(node: Node) -> str:
    """JAX's name for what a node does."""
    name: str = node.op.name  # type: ignore[union-attr]
    return NAMES.get(name, name)


def split_of(sharding: Sharding | None, ndim: int) -> Split:
    """For each axis the mesh axes that split it."""
    if not isinstance(sharding, NamedSharding):
        return ((),) * ndim
    parts = [axes_of(p) for p in sharding.spec.partitions]
    return tuple(parts[:ndim] + [()] * (ndim - len(parts)))


def tidy(split: Split, shape: tuple[int, ...], mesh: Any) -> Split:
    """Each mesh axis once, and only where it divides."""
    sizes, out = mesh.shape, []
    seen: set[Any] = set()
    for axes, n in zip((*split, *[()] * (len(shape) - len(split))), shape):
        fresh = tuple([a for a in axes if a not in seen])
        if math.prod([sizes[a] for a in fresh]) > 1 and n % math.prod([sizes[a] for a in fresh]):
            fresh = ()
        seen.update(fresh)
        out.append(fresh)
    return tuple(out)


def named_sharding(mesh: Any, split: Split, ndim: int) -> NamedSharding:
    """As JAX writes it: on explicit axes an entry for each axis of the array, else none after the last split one."""
    parts = [None if not axes else axes[0] if len(axes) == 1 else axes for axes in split]
    if not mesh.explicit_axes:
        while parts and parts[-1] is None:
            parts.pop()
    return NamedSharding(mesh, PartitionSpec(*parts))


def unclear(text: str) -> None:
    """Raise ShardingTypeError, unless the caller said how the result is to lie."""
    if not state.settled:
        raise ShardingTypeError(text)


def spec_text(split: Split) -> tuple[Any, ...]:
    """`('x', None)`."""
    return tuple([None if not s else s[0] if len(s) == 1 else s for s in split])


def shown(a: Node | Aval, split: Split, short: bool = False) -> str:
    """`float32[8@x,2]`; `short`: `f32[8@x,2]`."""
    sizes = [f"{n}@{entry_text(s)}" if s else str(n) for n, s in zip(a.shape, split)]
    return f"{short_name(a.dtype) if short else a.dtype.name}[{','.join(sizes)}]"


def entry(axes: tuple[Any, ...]) -> Any:
    """As it stands in a spec."""
    return None if not axes else axes[0] if len(axes) == 1 else axes


def entry_text(axes: tuple[Any, ...]) -> str:
    return str(axes[0]) if len(axes) == 1 else f"({','.join(map(str, axes))})"
