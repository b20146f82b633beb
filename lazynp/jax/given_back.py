"""What a differentiated function returns of what it was given, or makes without arrays, comes back as it is: Python's
numbers as Python's numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..signatures import spread_axes
from ..tree import flatten, unflatten
from .array import Array

Fun = Callable[..., Any]


ARRAY = object()  # among what was noted, in the place of an array


class Noted:
    """A function, and what it last returned.

    Attributes:
        found: the leaves of its result, without the arrays. sources: for each the number of the argument that it is;
            None where it is none.
    """

    def __init__(self, fun: Fun) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.found: list[Any] = []
        self.sources: list[int | None] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        number = {id(x): i for i, x in enumerate(flatten((args, kwargs))[0]) if isinstance(x, Array)}
        out = self.fun(*args, **kwargs)
        leaves = flatten(out)[0]
        self.found = [ARRAY if isinstance(x, Array) else x for x in leaves]
        self.sources = [number.get(id(x)) for x in leaves]
        return out

    def apart(self) -> Noted:
        """What was noted, without the function."""
        new = object.__new__(Noted)
        new.found, new.sources = self.found, self.sources
        return new

    def restored(self, results: Sequence[Any], args: Any, kwargs: Any) -> list[Any]:
        """Leaves of the result, with those arguments that they are, and with what the function made without arrays."""
        originals = flatten((args, kwargs))[0]
        out = []
        for x, found, i in zip(results, self.found, self.sources):
            out.append(originals[i] if i is not None else x if found is ARRAY else found)
        return out


def restored(noted: Noted, out: Any, args: Any, kwargs: Any) -> Any:
    """The result of a function, with what it was given."""
    leaves, structure = flatten(out)
    return unflatten(structure, noted.restored(leaves, args, kwargs))


def plain(args: Any, kwargs: Any) -> bool:
    """Whether there are arguments that are no arrays of ours."""
    return not all([isinstance(x, Array) for x in flatten((args, kwargs))[0]])


def of_primals(transformation: Fun) -> Fun:
    """`vjp` or `linearize`, whose first result is the function's."""

    @functools.wraps(transformation)
    def transform(fun: Fun, *primals: Any, **options: Any) -> Any:
        if not callable(fun):
            return transformation(fun, *primals, **options)
        noted = Noted(fun)
        out, linear, *aux = transformation(noted, *primals, **options)
        whole = (out, *aux) if aux else out
        found = restored(noted, whole, primals, {})
        return (found[0], linear, found[1]) if aux else (found, linear)

    return transform


def of_tangents(jvp: Fun) -> Fun:
    """`jvp`, whose tangents are those of arguments, where the results are these."""

    @functools.wraps(jvp)
    def transform(fun: Fun, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
        if not callable(fun) or not isinstance(primals, (tuple, list)):
            return jvp(fun, primals, tangents, has_aux=has_aux)
        noted = Noted(fun)
        out, along, *aux = jvp(noted, primals, tangents, has_aux=has_aux)
        whole = restored(noted, (out, *aux) if aux else out, primals, {})
        ts, (leaves, structure) = flatten(tangents)[0], flatten(along)
        moved = [x if i is None else ts[i] for x, i in zip(leaves, noted.sources)]
        tangent = unflatten(structure, moved)
        return (whole[0], tangent, whole[1]) if aux else (whole, tangent)

    return transform


def of_value(transformation: Fun, has_value: bool) -> Fun:
    """`value_and_grad` (or, without the value, `grad`), whose value and aux are the function's."""

    @functools.wraps(transformation)
    def transform(fun: Fun, argnums: Any = 0, has_aux: bool = False, *rest: Any, **options: Any) -> Any:
        if not callable(fun) or not (has_aux or has_value):
            return transformation(fun, argnums, has_aux, *rest, **options)
        made = transformation(fun, argnums, has_aux, *rest, **options)

        @functools.wraps(made)
        def differentiated(*args: Any, **kwargs: Any) -> Any:
            if not plain(args, kwargs):
                return made(*args, **kwargs)
            noted = Noted(fun)
            both = transformation(noted, argnums, has_aux, *rest, **options)(*args, **kwargs)
            if has_value:
                return restored(noted, both[0], args, kwargs), both[1]
            return both[0], restored(noted, (0, both[1]), args, kwargs)[1]

        return differentiated

    return transform


def of_unmapped(vmap: Fun) -> Fun:
    """`vmap`, whose results without a mapped axis are what the function returned, where that is no array of ours."""

    @functools.wraps(vmap)
    def transform(fun: Fun, in_axes: Any = 0, out_axes: Any = 0, *rest: Any, **options: Any) -> Fun:
        mapped = vmap(fun, in_axes, out_axes, *rest, **options)
        if None not in flatten(out_axes, lambda x: x is None)[0]:
            return mapped

        @functools.wraps(mapped)
        def call(*args: Any, **kwargs: Any) -> Any:
            noted = Noted(fun)
            leaves, structure = flatten(vmap(noted, in_axes, out_axes, *rest, **options)(*args, **kwargs))
            axes = spread_axes(out_axes, unflatten(structure, leaves), "vmap out_axes")
            found = [x if a is not None or y is ARRAY else y for x, y, a in zip(leaves, noted.found, axes)]
            return unflatten(structure, found)

        return call

    return transform
