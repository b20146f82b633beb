"""`jax.numpy.linalg`: linear algebra on stacks of matrices. What a value makes impossible is NaN, no error."""

from ..shape import matrix_transpose
from .factor import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from .norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from .products import (
    cross,
    diagonal,
    matmul,
    matrix_power,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)
from .solve import det, inv, lstsq, pinv, slogdet, solve, tensorinv, tensorsolve

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
