"""`jax.test_util`: derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..tracebacks import bound_all as _bound_all
from ..tree import flatten, map
from .derivatives import jvp, linearize, vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
EPS = 1e-4
TOLERANCE = {
    np.dtype(np.float16): 1e-2,
    np.dtype(np.float32): 2e-3,
    np.dtype(np.float64): 1e-5,
    np.dtype(np.complex64): 1e-3,
    np.dtype(np.complex128): 1e-5,
}
"""JAX's for derivatives; times the number of elements. Of other dtypes 0.1."""


def tolerance(dtype: Any, given: Any) -> float:
    if given is not None and not isinstance(given, dict):
        return float(given)
    table: dict[Any, float] = {**TOLERANCE, **{np.dtype(k): v for k, v in (given or {}).items()}}
    return table.get(dtype, 0.1 if dtype.kind in "fcV" else 0.0)


def check_close(xs: Any, ys: Any, atol: Any, rtol: Any, message: str) -> None:
    """Raise AssertionError where two trees of arrays differ by more than the tolerance of either's dtype."""
    ours, theirs = flatten(xs)[0], flatten(ys)[0]
    assert len(ours) == len(theirs), message
    for x, y in zip(map(np.asarray, ours), map(np.asarray, theirs)):
        assert x.shape == y.shape, f"{message}: shape {x.shape}, not {y.shape}"
        a, r = (max(tolerance(x.dtype, t), tolerance(y.dtype, t)) * max(x.size, 1) for t in (atol, rtol))
        np.testing.assert_allclose(x, y, rtol=r, atol=a, err_msg=message)


def like(rng: np.random.RandomState, x: Any) -> Any:
    """A random array of x's shape and dtype; a Python scalar for one."""
    dtype = np.asarray(x).dtype if isinstance(x, (bool, int, float, complex)) else x.dtype
    out = np.asarray(rng.randn(*np.shape(x)), dtype)
    if dtype.kind == "c":
        out = out + dtype.type(1j) * np.asarray(rng.randn(*np.shape(x)), dtype)
    return out.item() if isinstance(x, (bool, int, float, complex)) else np.asarray(out, dtype)


def moved(xs: Any, tangents: Any, by: float) -> Any:
    """`xs + by * tangents`, in the dtypes of xs."""

    def step(x: Any, t: Any) -> Any:
        out = np.asarray(x) + np.asarray(t) * by
        return out.item() if isinstance(x, (bool, int, float, complex)) else out.astype(np.asarray(x).dtype)

    return map(step, xs, tangents)


def numerical_jvp(f: Callable[..., Any], args: Any, tangents: Any, eps: float) -> Any:
    """The central difference of f along the tangents."""
    ahead, behind = f(*moved(args, tangents, eps)), f(*moved(args, tangents, -eps))

    def slope(a: Any, b: Any) -> Any:
        a, b = np.asarray(a), np.asarray(b)
        with np.errstate(invalid="ignore"):
            return (np.where(a == b, np.zeros((), a.dtype), a - b) * (0.5 / eps)).astype(a.dtype)

    return map(slope, ahead, behind)


def inner_product(xs: Any, ys: Any) -> Any:
    pairs = zip(map(np.asarray, flatten(xs)[0]), map(np.asarray, flatten(ys)[0]))
    return sum([np.real(np.dot(np.conj(x).reshape(-1), y.reshape(-1))) for x, y in pairs], np.float32(0))


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Any,
    atol: Any = None,
    rtol: Any = None,
    eps: float = EPS,
    err_msg: str = "",
) -> None:
    """Check `f_jvp(args, tangents) -> (result, tangent)`, along one random direction.

    Raises: AssertionError where it differs from the difference quotient.
    """
    tangents = map(partial(like, np.random.RandomState(0)), args)
    out, slope = f_jvp(args, tangents)
    check_close(out, f(*args), atol, rtol, f"{err_msg} primal".strip())
    check_close(slope, numerical_jvp(f, args, tangents, eps), atol, rtol, f"{err_msg} tangent".strip())


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Any,
    atol: Any = None,
    rtol: Any = None,
    eps: float = EPS,
    err_msg: str = "",
) -> None:
    """Check `f_vjp(*args) -> (result, pullback)`, along one random direction and for one random cotangent.

    Raises: AssertionError where it differs from the difference quotient.
    """
    rng = np.random.RandomState(0)
    out, pull = f_vjp(*args)
    check_close(out, f(*args), atol, rtol, f"{err_msg} primal".strip())
    tangents = map(partial(like, rng), args)
    slope = numerical_jvp(f, args, tangents, eps)
    ct = map(partial(like, rng), out)
    pulled = map(np.conj, pull(map(lambda c: np.conj(c) if np.asarray(c).dtype.kind == "c" else c, ct)))
    found, wanted = inner_product(tangents, pulled), inner_product(slope, ct)
    check_close(found, wanted, atol, rtol, f"{err_msg} cotangent projection".strip())


def jvp_by_linearize(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    out, push = linearize(f, *primals)
    return out, push(*tangents)


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Any = None,
    rtol: Any = None,
    eps: float | None = None,
) -> None:
    """Check f's derivatives up to that order, forward ("fwd"), reverse ("rev") and linearized ("lin"), and in mixtures.

    Raises: AssertionError where one differs from the difference quotient.
    """
    step = eps or EPS

    def check(f: Callable[..., Any], args: Any, order: int, what: str = "") -> None:
        for mode, name, derivative in (("fwd", "JVP", jvp), ("lin", "LIN", jvp_by_linearize)):
            if mode in modes:
                message = f"{name} of {what}" if what else name
                push = partial(derivative, f)
                check_jvp(f, push, args, atol, rtol, step, message)
                if order > 1:
                    check(push, (args, args), order - 1, message)
        if "rev" in modes:
            message = f"VJP of {what}" if what else "VJP"
            check_vjp(f, partial(vjp, f), args, atol, rtol, step, message)
            if order > 1:

                def pulled(*xs: Any) -> Any:
                    out, pull = vjp(f, *xs)
                    return pull(out)

                check(pulled, args, order - 1, message)

    check(f, tuple(args), order)


_bound_all(globals())
