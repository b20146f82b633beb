"""`jax.experimental.xla_metadata`: what XLA is told of operations. There is no XLA here, so that it is checked, and
changes nothing."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from ...tree import map
from ..array import Array, as_node, wrap

__all__ = ["set_xla_metadata"]


class Told(ContextDecorator):
    """What is told of the operations in a `with` block, or of those of a function that it decorates."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def given(x: Any) -> Array:
    """A value, as an array. Raises TypeError for what is none."""
    try:
        return wrap(as_node(x))
    except TypeError:
        raise TypeError(
            "Error interpreting argument to xla_metadata_value as a JAX value. The problematic value is of type "
            f"{type(x)} and was passed to xla_metadata_value at position 0."
        ) from None


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Tell XLA `kwargs` of the operations that give the arrays of a tree x, which is returned; without x, of those in a
    `with` block or in a decorated function.

    Raises: TypeError for leaves that are no arrays.
    """
    return Told(kwargs) if x is None else map(given, x)
