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


class RefEffect(Effect):
    """What is done to a mutable reference, a variable of the jaxpr."""

    def __init__(self, ref: object) -> None:
        self.ref = ref

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.ref is getattr(other, "ref", None)

    def __hash__(self) -> int:
        return hash((type(self), id(self.ref)))

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.ref})"

    __repr__ = __str__


class ReadEffect(RefEffect):
    """It is read."""


class WriteEffect(RefEffect):
    """It is written to."""


class AccumEffect(RefEffect):
    """It is added to."""
