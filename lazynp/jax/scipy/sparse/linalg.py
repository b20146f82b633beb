"""`jax.scipy.sparse.linalg`: linear systems by iteration, on pytrees; the matrix may be a function."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from ... import lax, tree
from ... import numpy as jnp

Operator = Callable[[Any], Any]


def operator_of(a: Any) -> Operator:
    """A function as it is; a matrix, dense or sparse, as the function that multiplies with it."""
    if callable(a):
        return a
    if not hasattr(a, "__matmul__"):
        raise TypeError(f"linear operator must be either a function or ndarray: {a}")
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {a.shape}")
    if isinstance(a, (numpy.ndarray, jnp.ndarray)):
        return lambda x: jnp.dot(a, x)
    return lambda x: a @ x  # a sparse one, or whatever else has products


def dot(x: Any, y: Any) -> Any:
    """The inner product of two trees."""
    parts = tree.leaves(tree.map(lambda a, b: jnp.vdot(a, b), x, y))
    return sum(parts[1:], parts[0])


def combined(x: Any, factor: Any, y: Any) -> Any:
    """x + factor y."""
    return tree.map(lambda a, b: a + factor * b, x, y)


def prepared(a: Any, b: Any, x0: Any, m: Any, maxiter: int | None) -> tuple[Operator, Any, Any, Operator, int]:
    """The operators, b and x0 as trees of arrays, and the iterations. Raises ValueError where x0 does not fit."""
    b = tree.map(jnp.asarray, b)
    x0 = tree.map(jnp.zeros_like, b) if x0 is None else tree.map(jnp.asarray, x0)
    if tree.structure(x0) != tree.structure(b):
        raise ValueError(f"x0 and b must have matching tree structure: {tree.structure(x0)} vs {tree.structure(b)}")
    shapes = [[x.shape for x in tree.leaves(t)] for t in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}")
    size = sum(x.size for x in tree.leaves(b))
    preconditioner: Operator = (lambda x: x) if m is None else operator_of(m)
    return operator_of(a), b, x0, preconditioner, 10 * size if maxiter is None else maxiter


def bound(b: Any, tol: Any, atol: Any) -> Any:
    """The square of the residual's norm that is small enough."""
    return jnp.maximum(tol**2 * dot(b, b).real, atol**2)


def solution(solve: Callable[[Operator, Any], Any], a: Operator, b: Any, *, symmetric: bool = False) -> Any:
    """What `solve(a, b)` finds, as an op whose derivatives are those of the solution: they solve a system each, and the
    iteration itself is never differentiated."""
    return lax.custom_linear_solve(a, b, solve, solve, symmetric=symmetric)


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """x with A x = b for a Hermitian positive A, by conjugate gradients.

    Args:
        A: a matrix, or a function of a tree like b.
        x0: where to start; zeros by default.
        tol, atol: the residual's norm is to be at most max(tol |b|, atol).
        maxiter: iterations at most; ten for each unknown by default.
        M: an approximation of A's inverse.

    Returns: x, and None.

    Raises: ValueError where shapes do not fit.
    """
    a, b, x0, m, most = prepared(A, b, x0, M, maxiter)
    real = not any(jnp.iscomplexobj(x) for x in tree.leaves(b))
    solve = partial(conjugate_gradients, x0=x0, m=m, most=most, tol=tol, atol=atol)
    return solution(solve, a, b, symmetric=real), None


def conjugate_gradients(a: Operator, b: Any, *, x0: Any, m: Operator, most: int, tol: Any, atol: Any) -> Any:
    enough = bound(b, tol, atol)

    def body(state: Any) -> Any:
        x, r, gamma, p, k = state
        ap = a(p)
        alpha = gamma / dot(p, ap)
        x, r = combined(x, alpha, p), combined(r, -alpha, ap)
        z = m(r)
        new = dot(r, z)
        return x, r, new, combined(z, new / gamma, p), k + 1

    def unfinished(state: Any) -> Any:
        return (dot(state[1], state[1]).real > enough) & (state[4] < most)

    r0 = tree.map(lambda u, v: u - v, b, a(x0))
    p0 = m(r0)
    return lax.while_loop(unfinished, body, (x0, r0, dot(r0, p0), p0, 0))[0]


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """x with A x = b, by stabilized bi-conjugate gradients (van der Vorst 1992). Arguments as for `cg`."""
    a, b, x0, m, most = prepared(A, b, x0, M, maxiter)
    return solution(partial(stabilized, x0=x0, m=m, most=most, tol=tol, atol=atol), a, b), None


def stabilized(a: Operator, b: Any, *, x0: Any, m: Operator, most: int, tol: Any, atol: Any) -> Any:
    enough = bound(b, tol, atol)
    r0 = tree.map(lambda u, v: u - v, b, a(x0))

    def body(state: Any) -> Any:
        x, r, alpha, omega, rho, p, q, k = state
        new = dot(r0, r)
        beta = new / rho * alpha / omega
        p = combined(r, beta, combined(p, -omega, q))
        p_hat = m(p)
        q = a(p_hat)
        alpha = new / dot(r0, q)
        s = combined(r, -alpha, q)
        small = dot(s, s).real < enough
        s_hat = m(s)
        t = a(s_hat)
        omega = dot(t, s) / dot(t, t)
        x = tree.map(lambda u, v, w: jnp.where(small, u + alpha * v, u + alpha * v + omega * w), x, p_hat, s_hat)
        r = tree.map(lambda u, v: jnp.where(small, u, u - omega * v), s, t)
        failed = (omega == 0) | (alpha == 0)
        return x, r, alpha, omega, new, p, q, jnp.where(new == 0, -10, jnp.where(failed, -11, k + 1))

    def unfinished(state: Any) -> Any:
        return (dot(state[1], state[1]).real > enough) & (state[7] < most) & (state[7] >= 0)

    one = jnp.ones((), dot(b, b).dtype)
    zero = tree.map(jnp.zeros_like, r0)
    state = (x0, r0, one, one, one, zero, zero, jnp.zeros((), int))
    return lax.while_loop(unfinished, body, state)[0]


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """x with A x = b, by restarted minimal residuals (Saad and Schultz 1986). Arguments as for `cg`, and:

    Args:
        restart: the dimension of the Krylov space before a restart.
        solve_method: "batched" or "incremental": the same here.

    Returns: x; and 0, or -1 where x is not a number.

    Raises: ValueError for another method.
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'")
    a, b, x0, m, most = prepared(A, b, x0, M, maxiter)
    solve = partial(restarted, x0=x0, m=m, most=most, tol=tol, atol=atol, restart=restart)
    x = solution(solve, a, b)
    return x, jnp.where(jnp.isnan(dot(x, x).real), -1, 0)


def restarted(a: Operator, b: Any, *, x0: Any, m: Operator, most: int, tol: Any, atol: Any, restart: int) -> Any:
    enough = jnp.sqrt(bound(b, tol, atol))
    leaves, structure = tree.flatten(b)
    shapes, sizes = [x.shape for x in leaves], [x.size for x in leaves]
    n = min(restart, sum(sizes))

    def flat(t: Any) -> Any:
        return jnp.concatenate([jnp.ravel(x) for x in tree.leaves(t)])

    def full(v: Any) -> Any:
        parts, start = [], 0
        for shape, size in zip(shapes, sizes):
            parts.append(jnp.reshape(v[start : start + size], shape))
            start += size
        return tree.unflatten(structure, parts)

    def normalized(v: Any) -> tuple[Any, Any]:
        size = jnp.linalg.norm(v)
        return jnp.where(size > 0, v / jnp.where(size > 0, size, 1), 0), size

    def residual(x: Any) -> Any:
        return flat(m(tree.map(lambda u, v: u - v, b, a(full(x)))))

    def body(state: Any) -> Any:
        x, r, k = state
        unit, size = normalized(r)
        basis, columns = [unit], []
        for _ in range(n):
            w = flat(m(a(full(basis[-1]))))
            known = jnp.stack(basis)
            h = jnp.conjugate(known) @ w
            w = w - h @ known
            again = jnp.conjugate(known) @ w
            w, h = w - again @ known, h + again
            unit, length = normalized(w)
            columns.append(jnp.concatenate([h, length[None].astype(h.dtype), jnp.zeros(n - len(basis), h.dtype)]))
            basis.append(unit)
        hessenberg = jnp.stack(columns, axis=1)
        right = jnp.zeros(n + 1, hessenberg.dtype).at[0].set(size)
        y = jnp.linalg.lstsq(hessenberg, right)[0]
        x = x + y @ jnp.stack(basis[:-1])
        return x, residual(x), k + 1

    start = flat(x0)
    first = residual(start)
    scale = jnp.linalg.norm(first) / jnp.maximum(jnp.linalg.norm(flat(tree.map(lambda u, v: u - v, b, a(x0)))), 1e-30)
    state = (start, first, jnp.zeros((), int))
    out = lax.while_loop(
        lambda s: (jnp.linalg.norm(s[1]) > enough * scale) & (s[2] < most), body, state
    )[0]  # fmt: skip
    return full(out)
