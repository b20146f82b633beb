"""`jax.interpreters.batching`: batches of primitives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from ..bind import Primitive, batchers
from ..numpy import broadcast_to, expand_dims, moveaxis

__all__ = [
    "axis_primitive_batchers",
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "fancy_primitive_batchers",
    "primitive_batchers",
]
Rule = Callable[..., Any]
fancy_primitive_batchers = batchers


def unmapped(primitive: Primitive, args: Any, params: dict[str, Any]) -> Any:
    out = primitive.bind(*args, **params)
    return out, [None] * len(out) if primitive.multiple_results else None


def without_axis(primitive: Primitive, rule: Rule) -> Rule:
    """A rule `(args, axes, **params)` in the form of the table."""

    def whole(axis_data: Any, args: Any, dims: Any, **params: Any) -> Any:
        if all(d is None for d in dims):
            return unmapped(primitive, args, params)
        return rule(args, dims, **params)

    return whole


def with_names(primitive: Primitive, rule: Rule) -> Rule:
    """A rule `(size, name, type of trace, args, axes, **params)` in the form of the table."""

    def whole(axis_data: Any, args: Any, dims: Any, **params: Any) -> Any:
        if all(d is None for d in dims):
            return unmapped(primitive, args, params)
        return rule(axis_data.size, axis_data.name, None, args, dims, **params)

    return whole


class Table(MutableMapping[Primitive, Rule]):
    """The table of batching rules, for rules of another form."""

    def __init__(self, adapt: Callable[[Primitive, Rule], Rule]) -> None:
        self.adapt = adapt

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        batchers[primitive] = self.adapt(primitive, rule)

    def __getitem__(self, primitive: Primitive) -> Rule:
        rule = batchers[primitive]
        return lambda args, dims, **params: rule(None, args, dims, **params)

    def __delitem__(self, primitive: Primitive) -> None:
        del batchers[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(batchers)

    def __len__(self) -> int:
        return len(batchers)


primitive_batchers = Table(without_axis)
axis_primitive_batchers = Table(with_names)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """x with a new axis of that size."""
    return broadcast_to(expand_dims(x, axis), (*x.shape[:axis], sz, *x.shape[axis:]))


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """x with its mapped axis in front, also where it has none."""
    return broadcast(x, size, 0) if bdim is None else moveaxis(x, bdim, 0)


def mapped_size(args: Any, dims: Any) -> int:
    return int(next(x.shape[d] for x, d in zip(args, dims) if d is not None))


def defvectorized(primitive: Primitive) -> None:
    """Say that it works element by element on its one argument, so that a batch is one more axis."""

    def rule(args: Any, dims: Any, **params: Any) -> Any:
        (x,), (d,) = args, dims
        return primitive.bind(x, **params), d

    primitive_batchers[primitive] = rule


def defbroadcasting(primitive: Primitive) -> None:
    """Say that it works element by element on arguments of one shape."""

    def rule(args: Any, dims: Any, **params: Any) -> Any:
        size = mapped_size(args, dims)
        return primitive.bind(*[bdim_at_front(x, d, size) for x, d in zip(args, dims)], **params), 0

    primitive_batchers[primitive] = rule


def defreducer(primitive: Primitive, ident: Any = None) -> None:
    """Say that it reduces its argument along the parameter `axes`."""

    def rule(args: Any, dims: Any, *, axes: Any, **params: Any) -> Any:
        (x,), (d,) = args, dims
        moved = tuple([a + (a >= d) for a in axes])
        return primitive.bind(x, axes=moved, **params), d - sum([a < d for a in moved])

    primitive_batchers[primitive] = rule
