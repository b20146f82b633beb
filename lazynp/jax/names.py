"""Small names of `jax` that belong nowhere else: scopes, types of values, caches."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from ..api import jit
from ..graph.aval import Aval
from ..once import forget_all
from .array import as_node
from .aval import ShapedArray, shaped
from .references import AbstractRef, Ref
from .shape_struct import ShapeDtypeStruct
from .spreading import sharding_at
from .varying import axes_of_value, sums_of_value
from .vmap import vmap

__all__ = ["clear_caches", "ensure_compile_time_eval", "named_call", "named_scope", "typeof", "vmap"]


def clear_caches() -> None:
    """Forget what all functions were traced to."""
    jit.clear_caches()
    for ways in list(jit.shared.values()):
        for tables in ways.values():
            for part in (tables.fast, tables.signatures, tables.entries):
                part.clear()
    forget_all()


def named_scope(name: str) -> AbstractContextManager[None]:
    """A name for the operations in a block. Raises TypeError at once for what is no text."""
    if not isinstance(name, str):
        raise TypeError("named_scope name argument must be a string.")
    return scope()


@contextlib.contextmanager
def scope() -> Iterator[None]:
    yield


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """The function, under a name of its own. Raises AttributeError for what has none."""
    own = fun.__name__ if name is None else name

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        with named_scope(own):
            return fun(*args, **kwargs)

    return call


@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """What depends on no traced value is computed while tracing in any case."""
    yield


def typeof(x: Any) -> ShapedArray | AbstractRef:
    """The abstract value of an array or a scalar: shape, dtype, weak type; and the sharding, on explicit axes. Of a
    mutable reference, and of a `ShapeDtypeStruct`, the type of what it stands for."""
    if isinstance(x, Ref):
        return x.aval
    if isinstance(x, ShapeDtypeStruct):
        varies = x.manual_axis_type.varying if x.manual_axis_type is not None else ()
        return shaped(Aval(x.shape, x.dtype, x.weak_type), x.sharding, varies)
    node = as_node(x)
    return shaped(node.aval, sharding_at(node), axes_of_value(node), sums_of_value(node))
