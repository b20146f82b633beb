"""What examples in the documentation of JAX's functions show, beside JAX's."""

from __future__ import annotations

import array
import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

BOTH = (lazynp.jax, jax)
RISING, FALLING = np.array([1, 2, 3], np.float32), np.array([3, 2, 1], np.float32)
POINTS = np.array([1.0, 2.0, 2.5, 1.5, 3.0, 3.5], np.float32)
LOST = np.array([[1, np.nan, 2, 4], [1, 2, 3, 4], [np.nan] * 4], np.float32)
WEIGHTS = np.array([1, 2, 1, 1], np.float32)
TABLE = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
SETS = np.array([1, 2, 3, 3], np.int32), np.array([3], np.int32)
Check = Callable[[Any], Any]
SHOWN: dict[str, Check] = {
    "buffers": lambda j: [j.numpy.array(array.array("i", [2, 3])), j.numpy.asarray(array.array("d", [2, 3]))],
    "columns": lambda j: [j.numpy.c_["r", [1, 2], [3, 4]], j.numpy.c_["c", [1, 2], [3, 4]], j.numpy.r_["c", [1, 2]]],
    "rising bins": lambda j: [j.numpy.digitize(POINTS, RISING, right=r) for r in (False, True)],
    "falling bins": lambda j: [j.numpy.digitize(POINTS, FALLING, right=r) for r in (False, True)],
    "nearest": lambda j: [j.numpy.percentile(np.arange(n), np.array([25, 50, 75]), method="nearest") for n in (4, 7)],
    "weights": lambda j: [
        f(LOST, np.float32([0.2, 0.5]), weights=WEIGHTS, method="inverted_cdf", axis=1)
        for f in (j.numpy.nanquantile, j.numpy.quantile)
    ],
    "polynomials": lambda j: [
        f(a, b)
        for f in (j.numpy.polyadd, j.numpy.polysub)
        for a, b in ((TABLE, TABLE[:1]), (np.array([7]), TABLE), (TABLE[0], TABLE[0, :2]), (TABLE[0, :1], TABLE[1]))
    ],
    "polynomials that do not fit": lambda j: j.numpy.polyadd(TABLE, np.zeros(0, np.float32)),
    "roots of a polynomial with leading zeros": lambda j: [
        j.jit(lambda p: j.numpy.roots(p, strip_zeros=False))(np.array(p, np.float32))
        for p in ([0, 1, 2], [0, 0, 1, -3, 2], [1, 2, 0, 0], [1, -3, 2])
    ],
    "sets of a fixed size": lambda j: [
        j.jit(functools.partial(j.numpy.setdiff1d, size=4))(*SETS),
        j.jit(lambda a, b, v: j.numpy.setdiff1d(a, b, size=4, fill_value=v))(*SETS, 0),
    ],
    "derivatives of sinc": lambda j: [
        functools.reduce(lambda f, _: j.grad(f), range(n), j.numpy.sinc)(np.float32(0)) for n in range(1, 6)
    ],
    "axes in another order": lambda j: [
        j.lax.broadcast_in_dim(TABLE, (3, 2), (1, 0)),
        j.lax.broadcast_in_dim(TABLE, (3, 4, 2), (2, 0)),
    ],
    "an axis twice": lambda j: j.lax.broadcast_in_dim(np.ones((2, 2)), (2, 2), (1, 1)),
    "rules of a function inside": lambda j: with_rules(j),
}


def with_rules(j: Any) -> Any:
    """A function with a rule for vmap, in one with a rule for derivatives, which sets both."""
    f = j.custom_vjp(j.custom_batching.custom_vmap(lambda x, y: j.numpy.sin(x) * y))
    f.def_vmap(lambda size, batched, xs, ys: (j.numpy.cos(xs) * ys, True))
    f.defvjp(lambda x, y: (f(x, y), y), lambda y, ct: (ct * y * 5, ct))
    one = np.ones((), np.float32)
    return j.vmap(f)(np.zeros(3, np.float32), np.ones(3, np.float32)), j.grad(f)(one, one)


def outcome(check: Check, j: Any) -> Any:
    try:
        leaves = j.tree.leaves(check(j))
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins").__name__
    return [(str(x.dtype), x.shape, x.weak_type, np.asarray(x)) for x in leaves]


@pytest.mark.parametrize("name", SHOWN)
def test_as_in_jax(name: str) -> None:
    ours, theirs = (outcome(SHOWN[name], j) for j in BOTH)
    if isinstance(theirs, str):
        assert ours == theirs
        return
    for a, b in zip(ours, theirs, strict=True):
        assert a[:3] == b[:3]
        np.testing.assert_allclose(a[3], b[3], rtol=1e-4, atol=1e-4)


def test_operations_are_counted() -> None:
    """Of products, sums and elementwise operations, those that are no functions apart."""
    x, y = np.ones((10, 20), np.float32), np.ones((20, 30), np.float32)
    for f, args in ((lambda x, y: x @ y, (x, y)), (lambda x: x.sum(), (x,))):
        ours, theirs = (j.jit(f).lower(*args).cost_analysis()["flops"] for j in BOTH)
        assert ours == theirs
    counted = [j.jit(lambda x, j=j: j.numpy.sin(x) + 1).lower(x).cost_analysis() for j in BOTH]
    assert counted[0]["flops"] == counted[1]["flops"] and counted[0]["transcendentals"] == counted[1]["transcendentals"]
