"""`jax.scipy`: special functions, linear algebra, statistics, and what else of SciPy JAX has."""

from . import cluster, fft, integrate, interpolate, linalg, ndimage, optimize, signal, sparse, special, stats
