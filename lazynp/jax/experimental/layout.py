"""`jax.experimental.layout`: in which order an array's axes lie in memory."""

from ..layouts import Format, Layout
from ..sharding_constraints import with_layout_constraint

__all__ = ["Format", "Layout", "with_layout_constraint"]
