"""Linear algebra on stacks of matrices, as numpy.linalg has it; derivatives as JAX's.

Where a routine reads one triangle of its argument only (cholesky, eigh), so do the derivatives. `eig` is always
complex: whether all eigenvalues are real is known only with the values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.errors import MissingRuleError
from ..graph.node import Node
from ..graph.op import BACKWARD, FORWARD, LIBRARY, THROUGH, Op, Rule, results
from .contraction import matmul
from .creation import eye, full, tril, triu
from .elementwise import (
    add,
    conjugate,
    convert,
    divide,
    equal,
    imag,
    make_complex,
    multiply,
    negative,
    real,
    reciprocal,
    subtract,
)
from .failing import Failing
from .family import front_batch, map_batch
from .joining import concatenate, stack
from .promotion import Shape, broadcast, complex_dtype, numpy_error
from .shape import Axes, add_reduce, all_front, expand_dims, reshape, slice_, sum_to, swap_last, whole

Tangents = Sequence[Node | None]


@functools.lru_cache(1024)
def result_dtypes(function: Callable[..., Any], *dtypes: np.dtype[Any]) -> tuple[np.dtype[Any], ...]:
    """Of a numpy.linalg function on square matrices of these dtypes. Raises NumPy's TypeError."""
    out = function(*[np.ones((1, 1), d) for d in dtypes])
    return tuple([x.dtype for x in out]) if isinstance(out, tuple) else (out.dtype,)


def matrix_op(
    name: str,
    shapes: Callable[..., Sequence[Shape]],
    *,
    square: bool = True,
    static: Sequence[str] = (),
    n_out: int = 1,
    jvp: Rule | None = None,
    weakness: str = THROUGH,
) -> Op:
    """`numpy.linalg.<name>` of one stack of matrices. `shapes(m, n, **params)`: those of one matrix's results."""
    function = getattr(np.linalg, name)

    def abstract(a: Aval, **params: Any) -> Any:
        if a.ndim < 2 or (square and a.shape[-1] != a.shape[-2]):
            raise numpy_error(function, a, **params)
        dtypes = result_dtypes(functools.partial(function, **params) if params else function, a.dtype)
        out = [Aval((*a.shape[:-2], *s), d) for s, d in zip(shapes(*a.shape[-2:], **params), dtypes)]
        return tuple(out) if n_out > 1 else out[0]

    def lower(xp: Any, a: Any, **params: Any) -> Any:
        def call(stack: Any) -> Any:
            out = getattr(xp.linalg, name)(stack, **params)
            return tuple(out) if n_out > 1 else out

        return xp.stacked(call, a)

    op = Failing(name, LIBRARY, abstract, lower, static=static, n_out=n_out, jvp=jvp, weakness=weakness)
    op.batch = front_batch(op)
    return op


def adjoint(x: Node) -> Node:
    """The conjugate transpose."""
    x = swap_last(x)
    return conjugate(x) if x.dtype.kind == "c" else x


def diagonal(x: Node) -> Node:
    n, stack = x.shape[-1], x.shape[:-2]
    return slice_(reshape(x, shape=(*stack, n * n)), key=(*whole(stack), (0, n, n + 1)))


def trace(x: Node) -> Node:
    return add_reduce(diagonal(x), axes=(x.ndim - 2,), keepdims=False, dtype=None)


def row(x: Node) -> Node:
    return expand_dims(x, x.ndim - 1)


def column(x: Node) -> Node:
    return expand_dims(x, x.ndim)


def identity(like: Node) -> Node:
    return eye(like.shape[-1], dtype=like.dtype)


def hermitian(t: Node, lower: bool = True) -> Node:
    """The Hermitian matrix of which this is one triangle; of the diagonal the real part counts."""
    half = half_diagonal(tril(t) if lower else triu(t))
    return add(half, adjoint(half))


def half_diagonal(x: Node) -> Node:
    return multiply(x, subtract(1.0, multiply(identity(real(x)), 0.5)))


# Systems.


def solve_abstract(a: Aval, b: Aval) -> Aval:
    """`b` is a stack of matrices: `solve` makes one of a vector."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise numpy_error(np.linalg.solve, a, b)
    return Aval(
        (*broadcast(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), result_dtypes(np.linalg.solve, a.dtype, b.dtype)[0]
    )


def solve_jvp(tangents: Tangents, out: Node, a: Node, b: Node) -> Node | None:
    ta, tb = tangents
    if ta is None:
        return None if tb is None else solve_op(a, tb)
    right = negative(matmul(ta, out))
    return solve_op(a, right if tb is None else add(tb, right))


def solve_transpose(ct: Node, a: Node, b: Aval) -> tuple[None, Node]:
    return None, sum_to(solve_op(swap_last(a), ct), b.shape)


solve_op = Failing(
    "solve",
    LIBRARY,
    solve_abstract,
    lambda xp, a, b: xp.stacked(xp.linalg.solve, a, b),
    jvp=solve_jvp,
    transpose=solve_transpose,
)
solve_op.batch = map_batch(solve_op)


def solve(a: Node, b: Node) -> Node:
    """numpy.linalg.solve."""
    if b.ndim != 1:
        return solve_op(a, b)
    if a.ndim < 2 or a.shape[-1] != b.shape[0]:
        raise numpy_error(np.linalg.solve, a.aval, b.aval)
    out = solve_op(a, expand_dims(b, 1))
    return reshape(out, shape=out.shape[:-1])


def triangle(x: Node, lower: bool, unit: bool) -> Node:
    return tril(x, -unit) if lower else triu(x, unit)


def triangular_abstract(a: Aval, b: Aval, *, lower: bool, unit: bool) -> Aval:
    return solve_abstract(a, b)


def triangular_jvp(tangents: Tangents, out: Node, a: Node, b: Node, *, lower: bool, unit: bool) -> Node | None:
    ta, tb = tangents
    if ta is None:
        return None if tb is None else triangular_solve(a, tb, lower=lower, unit=unit)
    right = negative(matmul(triangle(ta, lower, unit), out))
    return triangular_solve(a, right if tb is None else add(tb, right), lower=lower, unit=unit)


def triangular_transpose(ct: Node, a: Node, b: Aval, *, lower: bool, unit: bool) -> tuple[None, Node]:
    return None, sum_to(triangular_solve(swap_last(a), ct, lower=not lower, unit=unit), b.shape)


triangular_solve = Failing(
    "triangular_solve",
    LIBRARY,
    triangular_abstract,
    lambda xp, a, b, *, lower, unit: xp.triangular_solve(a, b, lower, unit),
    static=("lower", "unit"),
    jvp=triangular_jvp,
    transpose=triangular_transpose,
)
"""x with a x = b, of which a the one triangle is read; `unit`: its diagonal is taken for ones."""
triangular_solve.batch = map_batch(triangular_solve)


def inv_jvp(tangents: Tangents, out: Node, a: Node) -> Node | None:
    return None if tangents[0] is None else negative(matmul(matmul(out, tangents[0]), out))


def cofactors(a: Node) -> Node:
    """Of matrices of two or three rows, as products of their elements."""
    n = a.shape[-1]

    def at(i: int, k: int) -> Node:
        return slice_(a, key=(*whole(a.shape[:-2]), i % n, k % n))

    def minor(i: int, k: int) -> Node:
        first, second = multiply(at(i + 1, k + 1), at(i + 2, k + 2)), multiply(at(i + 1, k + 2), at(i + 2, k + 1))
        return subtract(first, second)

    if n == 2:
        parts = [at(1, 1), negative(at(1, 0)), negative(at(0, 1)), at(0, 0)]
    else:
        parts = [minor(i, k) for i in range(3) for k in range(3)]
    return reshape(stack(*parts, axis=a.ndim - 2), shape=a.shape)


def cofactor_values(xp: Any, a: Any) -> Any:
    """Of matrices of any size, the determinant times the inverse's transpose; of
    singular ones from a = u s v, where the cofactors of s are products of all other singular values."""
    try:
        return xp.linalg.det(a)[..., None, None] * np.swapaxes(xp.linalg.inv(a), -1, -2)
    except np.linalg.LinAlgError:
        u, s, v = xp.linalg.svd(a)
    others = np.where(np.eye(s.shape[-1], dtype=bool), 1, s[..., None, :]).prod(-1)
    sign = xp.linalg.det(u) * xp.linalg.det(v)
    return sign[..., None, None] * ((u.conj() * others[..., None, :]) @ v.conj())


def cofactors_jvp(tangents: Tangents, out: Node, a: Node) -> Node | None:
    t = tangents[0]
    if t is None:
        return None
    inverse = swap_last(inv(a))
    along = add_reduce(multiply(out, t), axes=(a.ndim - 2, a.ndim - 1), keepdims=True, dtype=None)
    return subtract(multiply(along, inverse), matmul(matmul(inverse, swap_last(t)), out))


cofactors_op = Failing(
    "cofactors",
    LIBRARY,
    lambda a: Aval(a.shape, a.dtype),
    lambda xp, a: xp.stacked(functools.partial(cofactor_values, xp), a),
    jvp=cofactors_jvp,
)
cofactors_op.batch = front_batch(cofactors_op)


def det_jvp(tangents: Tangents, out: Node, a: Node) -> Node | None:
    """Jacobi's formula."""
    if tangents[0] is None:
        return None
    around = cofactors(a) if a.shape[-1] in (2, 3) else cofactors_op(a)
    return add_reduce(multiply(around, tangents[0]), axes=(a.ndim - 2, a.ndim - 1), keepdims=False, dtype=None)


def slogdet_jvp(tangents: Tangents, out: Node, a: Node) -> tuple[Node | None, Node | None] | None:
    if tangents[0] is None:
        return None
    along = trace(matmul(inv(a), tangents[0]))
    if along.dtype.kind != "c":
        return None, along
    return multiply(results(out)[0], make_complex(0.0, imag(along))), real(along)


def pinv_terms(p: Node, a: Node, ta: Node) -> tuple[Node, Node]:
    """The parts of the derivative that live off the range of a and of its adjoint (Golub and Pereyra 1973, 4.12)."""
    th, ph = adjoint(ta), adjoint(p)
    left = matmul(matmul(p, ph), th)
    right = matmul(th, matmul(ph, p))
    return subtract(left, matmul(matmul(left, a), p)), subtract(right, matmul(p, matmul(a, right)))


def pinv_abstract(a: Aval, *, hermitian: bool, rcond: float | None) -> Aval:
    if a.ndim < 2:
        raise numpy_error(np.linalg.pinv, a)
    return Aval((*a.shape[:-2], a.shape[-1], a.shape[-2]), result_dtypes(np.linalg.pinv, a.dtype)[0])


def pinv_jvp(tangents: Tangents, out: Node, a: Node, *, hermitian: bool, rcond: float | None) -> Node | None:
    if tangents[0] is None:
        return None
    left, right = pinv_terms(out, a, tangents[0])
    return add(negative(matmul(matmul(out, tangents[0]), out)), add(left, right))


pinv_op = Failing(
    "pinv",
    LIBRARY,
    pinv_abstract,
    lambda xp, a, *, hermitian, rcond: xp.linalg.pinv(a, rcond, hermitian),
    static=("hermitian",),
    moving=("rcond",),
    jvp=pinv_jvp,
)
pinv_op.batch = front_batch(pinv_op)


def pinv(a: Node, rcond: float | None = None, hermitian: bool = False) -> Node:
    """numpy.linalg.pinv."""
    return pinv_op(a, hermitian=hermitian, rcond=rcond)


def lstsq_abstract(a: Aval, b: Aval, *, stack: int, rcond: float | None) -> tuple[Aval, ...]:
    """x, rank and singular values for a matrix a and a matrix b of right-hand sides, with `stack` leading axes."""
    if a.ndim != 2 + stack or b.ndim != 2 + stack or a.shape[-2] != b.shape[-2]:
        raise numpy_error(np.linalg.lstsq, a, b)
    x, _, rank, s = np.linalg.lstsq(np.ones((1, 1), a.dtype), np.ones((1, 1), b.dtype))
    lead, (m, n) = a.shape[:-2], a.shape[-2:]
    shapes = ((*lead, n, b.shape[-1]), lead, (*lead, min(m, n)))
    return tuple([Aval(shape, np.asarray(r).dtype) for shape, r in zip(shapes, (x, rank, s))])


def lstsq_jvp(
    tangents: Tangents, out: Node, a: Node, b: Node, *, stack: int, rcond: float | None
) -> tuple[Node | None, ...]:
    """pinv(a) b, differentiated where the rank does not change."""
    ta, tb = tangents
    p = pinv(a, rcond)
    along = None if tb is None else matmul(p, tb)
    if ta is None:
        return along, None, None
    left, right = pinv_terms(p, a, ta)
    moved = add(negative(matmul(matmul(p, ta), matmul(p, b))), add(matmul(left, b), matmul(right, b)))
    s = svdvals(a)
    return (moved if along is None else add(along, moved)), None, svdvals_jvp((ta,), s, a)


def lstsq_batch(inputs: Sequence[Node], axes: Axes, *, stack: int, rcond: float | None) -> tuple[Node, int]:
    return lstsq_op(*all_front(inputs, axes), stack=stack + 1, rcond=rcond), 0


lstsq_op = Failing(
    "lstsq",
    LIBRARY,
    lstsq_abstract,
    lambda xp, a, b, *, stack, rcond: xp.lstsq_stack(a, b, stack, rcond),
    static=("stack",),
    moving=("rcond",),
    n_out=3,
    jvp=lstsq_jvp,
    batch=lstsq_batch,
)


def lstsq(a: Node, b: Node, rcond: float | None = None) -> Node:
    """x, rank, singular values: numpy.linalg.lstsq without the residuals, whose shape depends on the rank."""
    return lstsq_op(a, b, stack=0, rcond=rcond)


inv = matrix_op("inv", lambda m, n: [(m, n)], jvp=inv_jvp)
det = matrix_op("det", lambda m, n: [()], jvp=det_jvp)
slogdet = matrix_op("slogdet", lambda m, n: [(), ()], n_out=2, jvp=slogdet_jvp)

# Factorizations.


def cholesky_jvp(tangents: Tangents, out: Node, a: Node, *, upper: bool) -> Node | None:
    """The tangent of a factor, from the triangle of the argument's that is read."""
    return None if tangents[0] is None else cholesky_along(hermitian(tangents[0], not upper), out, upper)


def cholesky_along(t: Node, out: Node, upper: bool) -> Node:
    """Smith, Differentiation of the Cholesky algorithm (1995); Murray, arXiv:1602.07527, section 3.1."""
    low = adjoint(out) if upper else out
    half = triangular_solve(low, t, lower=True, unit=False)
    k = adjoint(triangular_solve(low, adjoint(half), lower=True, unit=False))
    along = matmul(low, half_diagonal(tril(k)))
    return adjoint(along) if upper else along


cholesky = matrix_op("cholesky", lambda m, n, *, upper: [(m, n)], static=("upper",), jvp=cholesky_jvp, weakness=FORWARD)


def qr_shapes(m: int, n: int, *, mode: str) -> list[Shape]:
    k = m if mode == "complete" else min(m, n)
    return [(k, n)] if mode == "r" else [(m, k), (k, n)]


def thin_qr_jvp(t: Node, q: Node, r: Node) -> tuple[Node, Node]:
    """Of a q with as many columns as r, which is square. Walter and Lehmann, arXiv:1001.1654, section 3.3."""
    t_rinv = swap_last(triangular_solve(swap_last(r), swap_last(t), lower=True, unit=False))
    inside = matmul(adjoint(q), t_rinv)
    lower = tril(inside, -1)
    skew = subtract(lower, adjoint(lower))
    if t.dtype.kind == "c":
        skew = add(skew, multiply(identity(inside), make_complex(0.0, imag(inside))))
    return add(matmul(q, subtract(skew, inside)), t_rinv), matmul(subtract(inside, skew), r)


def rest_of_q_jvp(tq: Node, q: Node) -> Node:
    """The tangent of the other columns of a square q, from that of its first n.

    They are a choice of LAPACK's: q is a product of n reflections, I - y s y^H with n columns y. So with z =
    q[n:, :n] (q[:n, :n] - I)^-1, which is y[n:] y[:n]^-1, they are those of I plus (q[:, :n] - I[:, :n]) z^H.
    """
    m, n = tq.shape[-2:]
    stack = whole(q.shape[:-2])
    first = slice_(subtract(q, identity(q)), key=(*stack, (0, m, 1), (0, n, 1)))

    def parts(x: Node) -> tuple[Node, Node]:
        return slice_(x, key=(*stack, (0, n, 1), (0, n, 1))), slice_(x, key=(*stack, (n, m - n, 1), (0, n, 1)))

    (above, below), (t_above, t_below) = parts(first), parts(tq)
    z_adjoint = solve_op(adjoint(above), adjoint(below))
    tz_adjoint = solve_op(adjoint(above), adjoint(subtract(t_below, matmul(adjoint(z_adjoint), t_above))))
    return add(matmul(tq, z_adjoint), matmul(first, tz_adjoint))


def qr_jvp(tangents: Tangents, out: Node, a: Node, *, mode: str) -> tuple[Node, Node] | None:
    """The rows of zeros below r stay, and the columns beyond the square ones follow from q."""
    t, (m, n) = tangents[0], a.shape[-2:]
    if t is None:
        return None
    q, r = results(out)
    stack = whole(a.shape[:-2])
    if mode == "complete" and m > n:
        thin = slice_(q, key=(*stack, (0, m, 1), (0, n, 1))), slice_(r, key=(*stack, (0, n, 1), (0, n, 1)))
        tq, tr = thin_qr_jvp(t, *thin)
        none = full((*a.shape[:-2], m - n, n), 0, r.dtype)
        return concatenate(tq, rest_of_q_jvp(tq, q), axis=tq.ndim - 1), concatenate(tr, none, axis=tr.ndim - 2)
    k = min(m, n)
    r1, t1 = (x if n == k else slice_(x, key=(*stack, (0, x.shape[-2], 1), (0, k, 1))) for x in (r, t))
    tq, tr = thin_qr_jvp(t1, q, r1)
    if n == k:
        return tq, tr
    a2, t2 = (slice_(x, key=(*stack, (0, m, 1), (k, n - k, 1))) for x in (a, t))
    return tq, concatenate(tr, add(matmul(adjoint(tq), a2), matmul(adjoint(q), t2)), axis=tr.ndim - 1)


qr = matrix_op("qr", qr_shapes, square=False, static=("mode",), n_out=2, jvp=qr_jvp, weakness=FORWARD)
"""mode "reduced" or "complete": q and r."""


def off_diagonal(differences: Node) -> Node:
    """1 / differences, and zero on the diagonal, where they vanish."""
    one = identity(differences)
    return subtract(reciprocal(add(differences, one)), one)


def eigh_jvp(tangents: Tangents, out: Node, a: Node, *, UPLO: str) -> Any:
    return None if tangents[0] is None else eigh_along(hermitian(tangents[0], UPLO == "L"), out)


def eigh_along(t: Node, out: Node) -> Any:
    """Giles, An extended collection of matrix derivative results (2008), section 3.1."""
    w, v = results(out)
    inside = matmul(adjoint(v), matmul(t, v))
    return real(diagonal(inside)), matmul(v, multiply(off_diagonal(subtract(row(w), column(w))), inside))


def eigvalsh_jvp(tangents: Tangents, out: Node, a: Node, *, UPLO: str) -> Node | None:
    return None if tangents[0] is None else eigh_jvp(tangents, eigh(a, UPLO=UPLO), a, UPLO=UPLO)[0]


eigh = matrix_op("eigh", lambda m, n, *, UPLO: [(m,), (m, m)], static=("UPLO",), n_out=2, jvp=eigh_jvp)
eigvalsh = matrix_op("eigvalsh", lambda m, n, *, UPLO: [(m,)], static=("UPLO",), jvp=eigvalsh_jvp)


def eig_abstract(a: Aval) -> tuple[Aval, Aval]:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise numpy_error(np.linalg.eig, a)
    dtype = complex_dtype(result_dtypes(np.linalg.inv, a.dtype)[0])
    return Aval(a.shape[:-1], dtype), Aval(a.shape, dtype)


def eig_lower(xp: Any, a: Any) -> tuple[Any, Any]:
    w, v = xp.linalg.eig(a)
    return xp.as_complex(w), xp.as_complex(v)


def eig_jvp(tangents: Tangents, out: Node, a: Node) -> Any:
    """Eigenvectors keep their norm and their phase (Boeddeker et al., arXiv:1701.00392, 4.60 and 4.63)."""
    if tangents[0] is None:
        return None
    w, v = results(out)
    inside = solve_op(v, matmul(convert(tangents[0], v.dtype), v))
    along = matmul(v, multiply(off_diagonal(subtract(row(w), column(w))), inside))
    shift = add_reduce(multiply(conjugate(v), along), axes=(v.ndim - 2,), keepdims=True, dtype=None)
    return diagonal(inside), subtract(along, multiply(shift, v))


eig = Failing("eig", LIBRARY, eig_abstract, eig_lower, n_out=2, jvp=eig_jvp)
eig.batch = front_batch(eig)
eigvals = Failing(
    "eigvals",
    LIBRARY,
    lambda a: eig_abstract(a)[0],
    lambda xp, a: xp.as_complex(xp.linalg.eigvals(a)),
    jvp=lambda tangents, out, a: None if tangents[0] is None else eig_jvp(tangents, eig(a), a)[0],
)
eigvals.batch = front_batch(eigvals)


def svd_shapes(m: int, n: int, *, full_matrices: bool) -> list[Shape]:
    k = min(m, n)
    return [(m, m if full_matrices else k), (k,), (n if full_matrices else k, n)]


def svd_jvp(tangents: Tangents, out: Node, a: Node, *, full_matrices: bool) -> tuple[Node, ...] | None:
    """Townsend, Differentiating the singular value decomposition (2016), as JAX has it."""
    t, (m, n) = tangents[0], a.shape[-2:]
    if t is None:
        return None
    if full_matrices and m != n:
        raise MissingRuleError("svd with full_matrices of a rectangular matrix", "jvp")
    u, s, vh = results(out)
    uh, v = adjoint(u), adjoint(vh)
    inside, srow, scol = matmul(uh, matmul(t, v)), row(s), column(s)
    gaps = off_diagonal(multiply(add(srow, scol), subtract(srow, scol)))
    zero = convert(equal(s, 0), s.dtype)
    s_inv = subtract(reciprocal(add(s, zero)), zero)
    right, left = multiply(inside, srow), multiply(scol, inside)
    phase = multiply(multiply(subtract(inside, adjoint(inside)), 0.5), multiply(row(s_inv), identity(srow)))
    tu = matmul(u, add(multiply(gaps, add(right, adjoint(right))), phase))
    tv = matmul(v, multiply(gaps, add(left, adjoint(left))))
    if m > n:
        tu = add(tu, divide(outside(u, uh, matmul(t, v)), srow))
    if n > m:
        tv = add(tv, divide(outside(v, vh, matmul(adjoint(t), u)), srow))
    return tu, real(diagonal(inside)), adjoint(tv)


def outside(basis: Node, basis_h: Node, x: Node) -> Node:
    """What of x the basis does not span."""
    return subtract(x, matmul(basis, matmul(basis_h, x)))


svd = matrix_op("svd", svd_shapes, square=False, static=("full_matrices",), n_out=3, jvp=svd_jvp, weakness=BACKWARD)


def svdvals_jvp(tangents: Tangents, out: Node, a: Node) -> Node | None:
    if tangents[0] is None:
        return None
    u, _, vh = results(svd(a, full_matrices=False))
    return real(diagonal(matmul(adjoint(u), matmul(tangents[0], adjoint(vh)))))


svdvals = matrix_op("svdvals", lambda m, n: [(min(m, n),)], square=False, jvp=svdvals_jvp, weakness=BACKWARD)
