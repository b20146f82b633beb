"""`jax.scipy`: special functions, linear algebra, statistics, and what else of SciPy JAX has."""

from . import linalg, special, stats
