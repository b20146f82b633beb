"""Cotangents that lie on explicit axes of a mesh as what they belong to."""

from __future__ import annotations

import functools
from typing import Any

from ..ops.promotion import is_inexact
from ..tree import map
from .array import Array, wrap
from .devices import may_be_several
from .sharding import NamedSharding
from .spreading import constrain, sharding_at, state


def following(fun: Any) -> Any:
    """A function whose arguments keep their places on explicit axes of a mesh when it is differentiated: cotangents lie
    as what they belong to, wherever they come from."""
    if not callable(fun) or not may_be_several():
        return fun

    def follow(x: Any) -> Any:
        lies = sharding_at(x.node) if isinstance(x, Array) else None
        if not isinstance(lies, NamedSharding) or not lies.mesh.explicit_axes or not is_inexact(x.node.dtype):
            return x
        return wrap(constrain(x.node, sharding=lies))

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.on:
            args, kwargs = map(follow, args), map(follow, kwargs)
        return fun(*args, **kwargs)

    return call


def of_following(transformation: Any) -> Any:
    """A transformation of functions that goes backwards, with cotangents that lie as what they belong to."""

    @functools.wraps(transformation)
    def transform(fun: Any, *args: Any, **options: Any) -> Any:
        return transformation(following(fun), *args, **options)

    return transform
