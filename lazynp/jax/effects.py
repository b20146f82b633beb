"""What an equation of a jaxpr does besides its results."""

from __future__ import annotations


class Effect:
    """A kind of effect."""

    def __str__(self) -> str:
        return type(self).__name__


class DebugEffect(Effect):
    """Printing, and callbacks of `jax.debug`."""

    def __str__(self) -> str:
        return "Debug"


class OrderedDebugEffect(Effect):
    """The same, where the user asks for their order. Effects are in order here in any case, and are `DebugEffect`s."""

    def __str__(self) -> str:
        return "OrderedDebug"


class IOEffect(Effect):
    """Callbacks of `io_callback`."""

    def __str__(self) -> str:
        return "IO"
