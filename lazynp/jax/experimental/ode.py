"""`jax.experimental.ode`: ordinary differential equations by the pair of Dormand and Prince (orders 5 and 4), with
steps that are chosen from the error estimate.

J. R. Dormand, P. J. Prince, "A family of embedded Runge-Kutta formulae", J. Comp. Appl. Math. 6 (1980); values between
steps, and the formula of order 4, by L. F. Shampine, Math. Comp. 46 (1986); the first step by E. Hairer, S. P. Nørsett,
G. Wanner, "Solving Ordinary Differential Equations I", II.4. The derivative is that of the adjoint equation, solved
backwards from one time to the one before (R. T. Q. Chen et al., "Neural Ordinary Differential Equations", 2018).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...tracebacks import bound_all as _bound_all
from .. import numpy as jnp
from ..array import Array, as_node
from ..config import default_matmul_precision
from ..derivatives import closure_convert, custom_vjp, vjp
from ..flatten_util import ravel_pytree
from ..jitting import jit
from ..lax.control import fori_loop, scan, while_loop
from ..names import vmap
from ..tree_util import tree_leaves, tree_map

__all__ = [
    "initial_step_size",
    "interp_fit_dopri",
    "mean_error_ratio",
    "odeint",
    "optimal_step_size",
    "runge_kutta_step",
]
Fun = Callable[..., Any]
NODES = (0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1)
STAGES = np.array([
    [0, 0, 0, 0, 0, 0, 0],
    [1 / 5, 0, 0, 0, 0, 0, 0],
    [3 / 40, 9 / 40, 0, 0, 0, 0, 0],
    [44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
])  # fmt: skip
LOWER_ORDER = np.array([1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60])
ERROR = STAGES[6] - LOWER_ORDER
HALFWAY = np.array([
    6025192743 / 30085553152, 0, 51252292925 / 65400821598, -2691868925 / 45128329728, 187940372067 / 1594534317056,
    -1776094331 / 19743644256, 11237099 / 235043384,
]) / 2  # fmt: skip


def runge_kutta_step(func: Fun, y0: Array, f0: Array, t0: Array, dt: Array) -> tuple[Array, Array, Array, Array]:
    """One step: the next value, the slope there, the estimated error, and the slopes of all stages."""
    nodes, stages = jnp.array(NODES, dt.dtype), jnp.array(STAGES, f0.dtype)
    h = dt.astype(f0.dtype)

    def stage(i: Array, slopes: Array) -> Array:
        found = func(y0 + h * jnp.dot(stages[i], slopes), t0 + dt * nodes[i])
        return slopes.at[i].set(found)

    first = jnp.zeros((len(NODES), f0.shape[0]), f0.dtype).at[0].set(f0)
    slopes = fori_loop(1, len(NODES), stage, first)
    after = h * jnp.dot(stages[-1], slopes) + y0
    return after, slopes[-1], h * jnp.dot(jnp.array(ERROR, f0.dtype), slopes), slopes


def interp_fit_dopri(y0: Array, y1: Array, k: Array, dt: Array) -> Array:
    """The coefficients, highest power first, of the polynomial in [0, 1] with these values and k at the ends, and
    the value in the middle that the stages give."""
    h = dt.astype(y0.dtype)
    middle = y0 + h * jnp.dot(jnp.array(HALFWAY, y0.dtype), k)
    d0, d1 = h * k[0], h * k[-1]
    fourth = 2.0 * (d1 - d0) - 8.0 * (y0 + y1) + 16.0 * middle
    third = 5.0 * d0 - 3.0 * d1 + 18.0 * y0 + 14.0 * y1 - 32.0 * middle
    second = d1 - 4.0 * d0 - 11.0 * y0 - 5.0 * y1 + 16.0 * middle
    return jnp.stack([fourth, third, second, d0, y0])


def initial_step_size(fun: Fun, t0: Array, y0: Array, order: int, rtol: float, atol: float, f0: Array) -> Array:
    """A first guess of the step, from the sizes of the value and its first two derivatives (Hairer, algorithm 4.14).
    `order` is that of the error estimate."""
    dtype = jnp.result_type(y0, f0, jnp.float32)
    y0, f0 = y0.astype(dtype), f0.astype(dtype)
    scale = (atol + jnp.abs(y0) * rtol).astype(dtype)
    size, speed = jnp.linalg.norm(y0 / scale), jnp.linalg.norm(f0 / scale)
    guess = jnp.where((size < 1e-5) | (speed < 1e-5), 1e-6, 0.01 * size / speed)
    later = fun(y0 + guess.astype(dtype) * f0, t0 + guess)
    bend = jnp.linalg.norm((later - f0) / scale) / guess
    flat = (speed <= 1e-15) & (bend <= 1e-15)
    by_bend = (0.01 / jnp.maximum(speed, bend)) ** (1 / (order + 1))
    return jnp.minimum(100.0 * guess, jnp.where(flat, jnp.maximum(1e-6, guess * 1e-3), by_bend))


def mean_error_ratio(error_estimate: Array, rtol: float, atol: float, y0: Array, y1: Array) -> Array:
    """The error over what is tolerated, in the root mean square."""
    allowed = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    ratio = jnp.abs(error_estimate / allowed.astype(error_estimate.dtype))
    return jnp.sqrt(jnp.mean(ratio**2))


def optimal_step_size(
    last_step: Array,
    mean_error_ratio: Array,
    safety: float = 0.9,
    ifactor: float = 10.0,
    dfactor: float = 0.2,
    order: float = 5.0,
) -> Array:
    """The next step: at most `ifactor` times the last one, at least `dfactor` times, and no shorter where that one was
    good."""
    least = jnp.where(mean_error_ratio < 1, 1.0, dfactor)
    factor = jnp.minimum(ifactor, jnp.maximum(mean_error_ratio ** (-1 / order) * safety, least))
    return last_step * jnp.where(mean_error_ratio == 0, ifactor, factor)


def odeint(
    func: Fun,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = jnp.inf,
    hmax: float = jnp.inf,
) -> Any:
    """The solution of dy/dt = func(y, t, *args) with y(t[0]) = y0 at the times t, which increase.

    Args:
        y0: a tree of arrays. t: floating, of shape (n,). args: trees of arrays, which derivatives are taken along too.
        rtol, atol: relative and absolute tolerance of a step's error. mxstep: steps at most from one time to the next.
        hmax: the longest step.

    Returns: y0's tree, with an axis for the times in front of each array.

    Raises: TypeError for args that are no arrays, and for times that are no floats.
    """
    for x in tree_leaves(args):
        try:
            as_node(x)
        except TypeError:
            raise TypeError(f"The contents of odeint *args must be arrays or scalars, but got {x}.") from None
    for x in tree_leaves(y0):
        if not jnp.issubdtype(jnp.result_type(x), jnp.inexact):
            raise TypeError(f"y0 must be arrays of floats, but got {x}.")
    if not jnp.issubdtype(t.dtype, jnp.floating):
        raise TypeError(f"t must be an array of floats, but got {t}.")
    closed, captured = closure_convert(func, y0, t[0], *args)
    return on_trees(closed, rtol, atol, mxstep, hmax, y0, t, *args, *captured)


@functools.partial(jit, static_argnums=(0, 1, 2, 3, 4))
def on_trees(func: Fun, rtol: float, atol: float, mxstep: float, hmax: float, y0: Any, ts: Array, *args: Any) -> Any:
    """The solution for a tree, by way of one vector."""
    flat, unravel = ravel_pytree(y0)

    def on_vector(y: Array, t: Array, *args: Any) -> Array:
        return ravel_pytree(func(unravel(y), t, *args))[0]

    return vmap(unravel)(solve(on_vector, rtol, atol, mxstep, hmax, flat, ts, *args))


@functools.partial(custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def solve(func: Fun, rtol: float, atol: float, mxstep: float, hmax: float, y0: Array, ts: Array, *args: Any) -> Array:
    """The solution for one vector, of shape (times, length)."""

    def f(y: Array, t: Array) -> Array:
        with default_matmul_precision("highest"):
            out: Array = func(y, t, *args)
        return out

    def to_time(state: Any, target: Array) -> Any:
        def going(state: Any) -> Any:
            count, _, _, t, dt, _, _ = state
            return (t < target) & (count < mxstep) & (dt > 0)

        def advance(state: Any) -> Any:
            count, y, slope, t, dt, last, curve = state
            after, next_slope, error, slopes = runge_kutta_step(f, y, slope, t, dt)
            ratio = mean_error_ratio(error, rtol, atol, y, after)
            good = ratio <= 1.0
            new = after, next_slope, t + dt, t, interp_fit_dopri(y, after, slopes, dt)
            y, slope, t, last, curve = [jnp.where(good, a, b) for a, b in zip(new, (y, slope, t, last, curve))]
            return count + 1, y, slope, t, jnp.clip(optimal_step_size(dt, ratio), 0.0, hmax), last, curve

        _, *state = while_loop(going, advance, (0, *state))
        _, _, t, _, last, curve = state
        at = ((target - last) / (t - last)).astype(curve.dtype)
        return tuple(state), jnp.polyval(curve, at)

    slope = f(y0, ts[0])
    dt = jnp.clip(initial_step_size(f, ts[0], y0, 4, rtol, atol, slope), 0.0, hmax)
    state = y0, slope, ts[0], dt, ts[0], jnp.stack([y0] * 5)
    _, ys = scan(to_time, state, ts[1:])
    return jnp.concatenate([y0[None], ys])


def solve_forward(
    func: Fun, rtol: float, atol: float, mxstep: float, hmax: float, y0: Array, ts: Array, *args: Any
) -> Any:
    ys = solve(func, rtol, atol, mxstep, hmax, y0, ts, *args)
    return ys, (ys, ts, args)


def solve_backward(func: Fun, rtol: float, atol: float, mxstep: float, hmax: float, kept: Any, ct: Array) -> Any:
    """The adjoint equation, backwards in time; what it solves for is (y, its cotangent, those of time and of args)."""
    ys, ts, args = kept

    def adjoint(state: Any, minus_t: Array, *args: Any) -> Any:
        y, y_ct, _, _ = state
        slope, pull = vjp(func, y, -minus_t, *args)
        found = pull(y_ct)
        return -slope, found[0], found[1], found[2:]

    def back(state: Any, i: Array) -> Any:
        y_ct, t_ct, args_ct = state
        at_time = jnp.dot(func(ys[i], ts[i], *args), ct[i]).real
        start = ys[i], y_ct, t_ct - at_time, args_ct
        times = jnp.stack([-ts[i], -ts[i - 1]])
        found = odeint(adjoint, start, times, *args, rtol=rtol, atol=atol, mxstep=mxstep, hmax=hmax)
        _, y_ct, t_ct, args_ct = tree_map(lambda x: x[1], found)
        return (y_ct + ct[i - 1], t_ct, args_ct), at_time

    start = ct[-1], jnp.zeros((), ts.dtype), tree_map(jnp.zeros_like, args)
    (y_ct, t_ct, args_ct), at_times = scan(back, start, jnp.arange(len(ts) - 1, 0, -1))
    return (y_ct, jnp.concatenate([t_ct[None], at_times[::-1]]), *args_ct)


solve.defvjp(solve_forward, solve_backward)


_bound_all(globals())
