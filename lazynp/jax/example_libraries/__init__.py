"""`jax.example_libraries`: small libraries that others still build on."""

from . import optimizers, stax

__all__ = ["optimizers", "stax"]
