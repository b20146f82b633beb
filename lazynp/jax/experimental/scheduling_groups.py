"""`jax.experimental.scheduling_groups`: functions whose operations XLA is to schedule together, or is told something
of. Graphs that are shown have their calls; nothing else changes, since there is no XLA here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...api.jit import Call, Entry
from ..array import door
from ..stages import PjitFunction

__all__ = ["scheduling_group", "xla_metadata_call"]


class MetadataCall(PjitFunction):
    """A jitted function with what XLA is told of it: text for each name."""

    _kind = "xla_metadata_call"
    _told: dict[str, Any]

    def _params(self, call: Call, entry: Entry) -> dict[str, Any]:
        return self._told

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        wrong = [type(v) for v in self._told.values() if not isinstance(v, str)]
        if wrong:
            raise NotImplementedError(f"what XLA is told of a call is text, got a value of type {wrong[0]}")
        return super()._call(args, kwargs)


def scheduling_group(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function's operations are one group, of that name, for XLA's scheduler.

    Raises (when called): NotImplementedError for a name that is no text.
    """
    return xla_metadata_call(scheduling_group=name)


def xla_metadata_call(f: Callable[..., Any] | None = None, **meta: Any) -> Any:
    """The function, with `meta` for XLA; without f, a decorator.

    Raises (when called): NotImplementedError for values that are no text.
    """
    if f is None:
        return functools.partial(xla_metadata_call, **meta)
    made = MetadataCall(f, door, known_by=(f, ("xla_metadata_call", *sorted(meta.items()))))
    made._told = meta
    return made
