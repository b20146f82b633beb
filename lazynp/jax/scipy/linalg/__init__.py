"""`jax.scipy.linalg`: systems, factorizations, functions of matrices, matrices with a name."""

from .decompose import eigh, eigh_tridiagonal, hessenberg, polar, qr, qr_multiply, svd
from .functions import expm, expm_frechet
from .schur import funm, rsf2csf, schur, solve_sylvester, sqrtm
from .solve import (
    cho_factor,
    cho_solve,
    cholesky,
    det,
    inv,
    lu,
    lu_factor,
    lu_solve,
    solve,
    solve_triangular,
)
from .special_matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hilbert,
    invhilbert,
    invpascal,
    leslie,
    pascal,
    toeplitz,
)
