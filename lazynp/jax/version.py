"""`jax.version`: of the JAX whose names these are; programs ask for it."""

__version__ = "0.10.2"
__version_info__ = (0, 10, 2)
