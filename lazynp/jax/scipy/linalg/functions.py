"""Functions of matrices: the exponential and its derivative."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...arguments import matrices
from ...derivatives import jvp
from .solve import solve_triangular

# Numerators of the Pade approximants of the exponential, by degree (Higham, SIAM J. Matrix Anal. Appl. 26, 2005).
PADE = {
    3: (120.0, 60.0, 12.0, 1.0),
    5: (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0),
    7: (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
    9: (17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0, 3960.0, 90.0, 1.0),
    13: (
        64764752532480000.0,
        32382376266240000.0,
        7771770303897600.0,
        1187353796428800.0,
        129060195264000.0,
        10559470521600.0,
        670442572800.0,
        33522128640.0,
        1323241920.0,
        40840800.0,
        960960.0,
        16380.0,
        182.0,
        1.0,
    ),
}
# Up to which 1-norm each degree is enough; beyond the last, the matrix is halved.
DEGREES = {
    np.dtype(np.float32): ((3, 4.258730016922831e-1), (5, 1.880152677804762), (7, 3.925724783138660)),
    np.dtype(np.float64): (
        (3, 1.495585217958292e-2),
        (5, 2.539398330063230e-1),
        (7, 9.504178996162932e-1),
        (9, 2.097847961257068),
        (13, 5.371920351148152),
    ),
}


def pade(a: Any, degree: int) -> tuple[Any, Any]:
    """Numerator and denominator of the approximant of exp(a)."""
    b = PADE[degree]
    one = jnp.eye(a.shape[-1], dtype=a.dtype)
    a2 = a @ a
    powers = [one, a2]
    while 2 * len(powers) < min(degree, 8):
        powers.append(powers[-1] @ a2)
    odd = sum((b[2 * i + 1] * p for i, p in enumerate(powers)), start=jnp.zeros_like(a))
    even = sum((b[2 * i] * p for i, p in enumerate(powers)), start=jnp.zeros_like(a))
    if degree > 2 * len(powers):
        top, rest = powers[-1], powers[1:]
        odd = odd + top @ sum(
            (b[2 * len(powers) + 2 * i + 1] * p for i, p in enumerate(rest) if 2 * len(powers) + 2 * i + 1 <= degree),
            start=jnp.zeros_like(a),
        )
        even = even + top @ sum(
            (b[2 * len(powers) + 2 * i] * p for i, p in enumerate(rest) if 2 * len(powers) + 2 * i < degree),
            start=jnp.zeros_like(a),
        )
    u = a @ odd
    return even + u, even - u


def expm_one(a: Any, *, upper_triangular: bool, max_squarings: int) -> Any:
    """Of one matrix."""
    real = a.real.dtype
    if real not in DEGREES:
        raise TypeError(f"A.dtype={a.dtype} is not supported.")
    degrees = DEGREES[real]
    norm = lax.stop_gradient(jnp.linalg.norm(a, 1))
    squarings = jnp.maximum(0, jnp.floor(jnp.log2(norm / degrees[-1][1])))
    small = a / (2**squarings).astype(a.dtype)
    place = jnp.sum(norm >= jnp.asarray([limit for _, limit in degrees[:-1]], real))
    above, below = lax.switch(place, [partial(pade, degree=degree) for degree, _ in degrees], small)
    out = solve_triangular(below, above) if upper_triangular else jnp.linalg.solve(below, above)

    def square(out: Any, k: Any) -> tuple[Any, None]:
        return lax.cond(k < squarings, lambda x: x @ x, lambda x: x, out), None

    out, _ = lax.scan(square, out, jnp.arange(max_squarings, dtype=squarings.dtype))
    return jnp.where(squarings > max_squarings, jnp.full_like(out, np.nan), out)


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The exponential of square matrices, by scaling and squaring; NaN where more squarings are needed than allowed.

    Raises: ValueError where they are not square.
    """
    (a,) = matrices(A)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got A.shape={a.shape!r}.")
    one = partial(expm_one, upper_triangular=upper_triangular, max_squarings=max_squarings)
    return one(a) if a.ndim == 2 else jnp.vectorize(one, signature="(n,n)->(n,n)")(a)


def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """exp(A), if asked, and its derivative in the direction E. Raises ValueError for shapes that do not fit."""
    a, e = jnp.asarray(A), jnp.asarray(E)
    for name, x in (("A", a), ("E", e)):
        if x.ndim < 2 or x.shape[-2] != x.shape[-1]:
            raise ValueError(f"expected {name} to be a (batched) square matrix, got {name}.shape={x.shape}")
    if a.shape != e.shape:
        raise ValueError(f"expected A and E to be the same shape, got A.shape={a.shape} E.shape={e.shape}")
    value, along = jvp(expm, (a,), (e,))
    return (value, along) if compute_expm else along
