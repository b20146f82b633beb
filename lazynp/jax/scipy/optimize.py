"""`jax.scipy.optimize`: minima of smooth functions, by BFGS (Nocedal and Wright, Numerical Optimization, 2006)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..derivatives import value_and_grad

LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


class OptimizeResults(NamedTuple):
    """What `minimize` found.

    Attributes:
        x: the place of the minimum.
        success: whether the gradient is small there.
        status: 0 for success, 1 where the iterations were used up, above where the line search failed.
        fun, jac: the function and its gradient there.
        hess_inv: an approximation of the inverse Hessian there.
        nfev, njev, nit: evaluations of the function and of its gradient, and iterations.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class Step(NamedTuple):
    """A step of a line search: its length, the function and the gradient there, evaluations, and whether it is good."""

    length: Any
    value: Any
    gradient: Any
    evaluations: Any
    good: Any


def line_search(f: Callable[[Any], Any], x: Any, p: Any, value: Any, gradient: Any, first: Any, most: int) -> Step:
    """A step that meets the strong Wolfe conditions: bracketed by doubling, then by cubic interpolation or bisection.

    One loop does both: `high` is infinite until the bracket is found.
    """
    slope0 = p @ gradient
    dtype = x.dtype
    c1, c2 = 1e-4, 0.9

    def body(state: Any) -> Any:
        k, t, low, high, f_low, d_low, best = state
        v, g = value_and_grad(f)(x + t * p)
        v, g = v.astype(dtype), g.astype(dtype)
        slope = p @ g
        too_high = (v > value + c1 * t * slope0) | ((v >= f_low) & (low > 0)) | jnp.isnan(v)
        good = ~too_high & (jnp.abs(slope) <= -c2 * slope0)
        beyond = ~too_high & ~good & (slope * jnp.where(jnp.isinf(high), 1.0, high - low) >= 0)
        new_high = jnp.where(too_high, t, jnp.where(beyond, low, high))
        new_low = jnp.where(too_high, low, t)
        new_f, new_d = jnp.where(too_high, f_low, v), jnp.where(too_high, d_low, slope)
        width = new_high - new_low
        # The minimum of the parabola through the low end with its slope, and the other end, if it is well inside.
        other, at = jnp.where(too_high, v, f_low), jnp.where(too_high, t, low)
        step = at - new_low
        curve = (other - new_f - new_d * step) / (step * step)
        guess = new_low - new_d / (2 * curve)
        inside = jnp.abs(guess - (new_low + new_high) / 2) < 0.4 * jnp.abs(width)
        middle = jnp.where(inside, guess, (new_low + new_high) / 2)
        new_t = jnp.where(jnp.isinf(new_high), 2 * t, middle).astype(dtype)
        take = good | ((v < best.value) & ~too_high)
        best = Step(
            jnp.where(take, t, best.length),
            jnp.where(take, v, best.value),
            jnp.where(take, g, best.gradient),
            best.evaluations + 1,
            good,
        )
        return k + 1, new_t, new_low, new_high, new_f, new_d, best

    zero = jnp.zeros((), dtype)
    start = Step(zero, value, gradient, 0, jnp.zeros((), bool))
    infinite = jnp.full((), np.inf, dtype)
    state = (0, first.astype(dtype), zero, infinite, value, slope0, start)
    return lax.while_loop(lambda s: (s[0] < most) & ~s[6].good, body, state)[6]


def minimize_bfgs(
    f: Callable[[Any], Any],
    x0: Any,
    maxiter: int | None = None,
    norm: Any = np.inf,
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    """The minimum of f by BFGS, from x0.

    Args:
        maxiter: iterations at most; 200 for each variable by default.
        norm: which norm of the gradient has to be below `gtol`.
        line_search_maxiter: about how many evaluations a bracket may take.
    """
    x0 = jnp.asarray(x0)
    n = x0.shape[0]
    most = 200 * n if maxiter is None else maxiter
    one = jnp.eye(n, dtype=x0.dtype)
    value, gradient = value_and_grad(f)(x0)

    def size(g: Any) -> Any:
        return jnp.linalg.norm(g, ord=norm)

    def body(state: Any) -> Any:
        k, x, value, old, gradient, inverse, evaluations, _ = state
        p = -(inverse @ gradient)
        slope = p @ gradient
        guess = 1.01 * 2 * (value - old) / slope
        first = jnp.where((guess > 1) | (guess <= 0) | jnp.isnan(guess), 1.0, guess)
        step = line_search(f, x, p, value, gradient, first, 3 * line_search_maxiter)
        s, y = step.length * p, step.gradient - gradient
        rho = 1 / (y @ s)
        w = one - rho * s[:, None] * y[None, :]
        updated = w @ inverse @ w.T + rho * s[:, None] * s[None, :]
        inverse = jnp.where(jnp.isfinite(rho), updated, inverse)
        failed = ~step.good & (step.length == 0)
        return k + 1, x + s, step.value, value, step.gradient, inverse, evaluations + step.evaluations, failed

    def unfinished(state: Any) -> Any:
        return (state[0] < most) & ~state[7] & (size(state[4]) >= gtol)

    start = value + jnp.linalg.norm(gradient) / 2
    state = (0, x0, value, start, gradient, one, 1, jnp.zeros((), bool))
    k, x, value, _, gradient, inverse, evaluations, failed = lax.while_loop(unfinished, body, state)
    success = size(gradient) < gtol
    status = jnp.where(success, 0, jnp.where(failed, 3, 1))
    return OptimizeResults(x, success, status, value, gradient, inverse, evaluations, evaluations, k)


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """The minimum of `fun(x, *args)` from x0, a vector.

    Args:
        method: "BFGS".
        options: maxiter, norm, gtol, line_search_maxiter.

    Raises: TypeError where args is no tuple, ValueError for another method.
    """
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to jax.scipy.optimize.minimize must be a tuple, got {args}")
    if method.lower() not in ("bfgs", LBFGS):
        raise ValueError(f"Method {method} not recognized")
    known = ("maxiter", "norm", "gtol", "line_search_maxiter")
    chosen = dict(options or {})
    if method.lower() == LBFGS:
        chosen = {k: v for k, v in chosen.items() if k in known}
    out = minimize_bfgs(lambda x: fun(x, *args), x0, **chosen)
    return out if method.lower() == "bfgs" else out._replace(hess_inv=None)
