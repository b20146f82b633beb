"""`jax.scipy.sparse`: iterative solvers."""

from . import linalg
