"""`jax.ad`: what a pullback does with each cotangent: `back.with_refs(ref, jax.ad.DontWant())(ct)`."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..tree import flatten, unflatten
from .references import Ref


class Marker:
    """What stands for an argument or a cotangent of it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class GradValue(Marker):
    """The cotangent of this argument is to be returned."""


class DontWant(Marker):
    """The cotangent of this argument is not wanted."""


class DidntWant(Marker):
    """In the place of a cotangent that was not wanted."""


class GradRef(Marker):
    """In the place of a cotangent that was added to a reference."""


def given_to(back: Callable[[Any], Any], structure: Any, wanted: tuple[Any, ...]) -> Callable[[Any], Any]:
    """The pullback, whose cotangents are added to the references among what is wanted.

    Raises: ValueError where what is wanted has another structure than the arguments.
    """
    markers, given = flatten(wanted)
    if given != structure:
        raise ValueError(f"with_refs takes a reference or a marker for each argument: {structure}, but got {given}")

    def call(out_ct: Any) -> Any:
        results = []
        for marker, ct in zip(markers, flatten(back(out_ct))[0]):
            if isinstance(marker, Ref):
                marker[...] = marker[...] + ct
            kind = GradRef if isinstance(marker, Ref) else DidntWant if isinstance(marker, DontWant) else None
            results.append(ct if kind is None else kind())
        return unflatten(structure, results)

    return call


ad = SimpleNamespace(DontWant=DontWant, DidntWant=DidntWant, GradRef=GradRef, GradValue=GradValue)
