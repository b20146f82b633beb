"""`jax.ref`: mutable references to arrays."""

from __future__ import annotations

from typing import Any

from . import numpy as jnp
from . import references
from .array import Array
from .reference_equations import told
from .references import AbstractRef, Ref, new_ref, put, read

__all__ = ["AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap"]


def ref_get(ref: Any, idx: Any = None) -> Array:
    """What a reference holds, or a part of it."""
    found: Array = ref[... if idx is None else idx]
    return found


def ref_set(ref: Any, idx: Any, value: Any) -> None:
    """Write a part. Raises ValueError for a value of another shape or dtype."""
    references.swap(ref, idx, value)


def ref_swap(ref: Any, idx: Any, value: Any) -> Array:
    """Write a part, and return what was there. Raises ValueError for a value of another shape or dtype."""
    return references.swap(ref, idx, value)


def ref_addupdate(ref: Any, idx: Any, x: Any) -> None:
    """Add to a part. Raises ValueError for a value of another shape or dtype."""
    references.addupdate(ref, idx, x)


get, set, swap, addupdate = ref_get, ref_set, ref_swap, ref_addupdate


def freeze(ref: Ref) -> Array:
    """The array that a reference holds at last."""
    value = read(ref)
    return told("freeze", ..., value, [value])[0]


def free_ref(ref: Ref) -> None:
    """Let go of what a reference holds: there are zeros from then on."""
    put(ref, jnp.zeros(ref.shape, ref.dtype))


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """A reference to an array of that shape and dtype, of zeros."""
    return new_ref(jnp.zeros(ty.shape, ty.dtype), memory_space=memory_space)
