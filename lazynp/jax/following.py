"""Tangents and cotangents that lie on explicit axes of a mesh as what they belong to."""

from __future__ import annotations

import functools
from typing import Any

from ..ops.promotion import is_inexact
from ..ops.rewrites import rewrites
from ..tree import flatten, map
from .array import Array, wrap
from .devices import may_be_several
from .sharding import NamedSharding
from .spreading import constrain, lying_as, on_explicit_axes, sharding_at, shown, state


def following(fun: Any) -> Any:
    """A function whose arguments keep their places on explicit axes of a mesh when it is differentiated: tangents and
    cotangents lie as what they belong to, wherever they come from."""
    if not callable(fun) or not may_be_several():
        return fun
    rewrites.lie = lying_as

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


def check_lies(like: Any, given: Any, forward: bool) -> None:
    """Raise ValueError for tangents (`forward`) or cotangents that lie otherwise than what they belong to, where both
    lie on explicit axes of a mesh."""
    for x, t in zip(flatten(like)[0], flatten(given)[0]):
        lies = [sharding_at(v.node) if isinstance(v, Array) else None for v in (x, t)]
        if not all([isinstance(s, NamedSharding) and s.mesh.explicit_axes for s in lies]) or x.shape != t.shape:
            continue
        splits = [on_explicit_axes(s, x.node) for s in lies]
        if splits[0] == splits[1]:
            continue
        wanted, got = [shown(x.node, split) for split in splits]
        if forward:
            raise ValueError(
                "linearized function called on tangent values inconsistent with the original primal values:\nGot "
                f"tangent aval {got} for primal aval {wanted} but expected {wanted}."
            )
        raise ValueError(
            f"unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got {got}, but expected {wanted} "
            f"because the corresponding output of the differentiated function had JAX type {wanted}"
        )


def of_following(transformation: Any) -> Any:
    """A transformation of functions, with tangents and cotangents that lie as what they belong to."""

    @functools.wraps(transformation)
    def transform(fun: Any, *args: Any, **options: Any) -> Any:
        return transformation(following(fun), *args, **options)

    return transform
