"""Reductions along axes that `vmap`, `pmap` or `shard_map` has given a name: `axis="i"`, or `axis=(0, "i")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..parallel import axis_size, bound


def names_in(axis: Any) -> tuple[str, ...]:
    """The names in an `axis=`; those of the array itself have numbers."""
    if type(axis) is str:
        return (axis,)
    return tuple([a for a in axis if isinstance(a, str)]) if isinstance(axis, (tuple, list)) else ()


def numbers_in(axis: Any) -> tuple[Any, ...]:
    """What is no name."""
    return () if type(axis) is str else tuple([a for a in axis if not isinstance(a, str)])


def over_names(name: str, axis: Any, reduce: Callable[[Any], Any], combine: Callable[[Any, Any], Any] | None) -> Any:
    """What `reduce` gives for the axes with numbers, combined along those with names.

    Raises: NameError for a name that nothing around has given; NotImplementedError for a reduction without `combine`,
        as in JAX.
    """
    if combine is None:
        raise NotImplementedError(f"Named reductions not implemented for jnp.{name}()")
    names = names_in(axis)
    for n in names:
        bound(n, combine.__name__)
    return combine(reduce(numbers_in(axis)), names)


def length_of(axis: Any, shape: tuple[int, ...]) -> int:
    """How many elements go into each result. Raises NameError for a name that nothing around has given."""
    n = axis_size(names_in(axis))
    for a in numbers_in(axis):
        n *= shape[a]
    return n
