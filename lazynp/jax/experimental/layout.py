"""`jax.experimental.layout`: in which order an array's axes lie in memory."""

from ..layouts import Format, Layout

__all__ = ["Format", "Layout"]
