"""Functions that are called again and again on small arrays become programs, which give what the functions do."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp
import lazynp.jax
import lazynp.jax.numpy as jnp
from lazynp.jax import hot_calls
from lazynp.jax.jitted_names import TABLE, read
from lazynp.speed import calls

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "i0": lambda m, x: m.numpy.i0(x),
    "median": lambda m, x: m.numpy.median(x),
    "median along": lambda m, x: m.numpy.median(x.reshape(2, 4), axis=1, keepdims=True),
    "percentile": lambda m, x: m.numpy.percentile(x, 30),
    "percentiles": lambda m, x: m.numpy.percentile(x, m.numpy.array([20.0, 50.0]), method="lower"),
    "divmod": lambda m, x: m.numpy.divmod(x, 0.3),
    "round": lambda m, x: m.numpy.round(x, 1),
    "tril": lambda m, x: m.numpy.tril(x.reshape(2, 4), 1),
    "roll": lambda m, x: m.numpy.roll(x, 3),
    "pad": lambda m, x: m.numpy.pad(x, 2, mode="edge"),
    "pad of pairs": lambda m, x: m.numpy.pad(x, (1, 2), constant_values=3),
    "lexsort": lambda m, x: m.numpy.lexsort((x, -x)),
    "block": lambda m, x: m.numpy.block([[x, x], [x, x]]),
    "polyfit": lambda m, x: m.numpy.polyfit(x, x**2, 2),
    "polymul": lambda m, x: m.numpy.polymul(x, x, trim_leading_zeros=True),
    "select": lambda m, x: m.numpy.select([x > 1, x > 0], [x, -x], 7),
    "cov": lambda m, x: m.numpy.cov(x.reshape(2, 4), ddof=0),
    "nanstd": lambda m, x: m.numpy.nanstd(m.numpy.where(x > 1, m.numpy.nan, x)),
    "packbits": lambda m, x: m.numpy.packbits(x > 0),
    "take_along_axis": lambda m, x: m.numpy.take_along_axis(x, m.numpy.argsort(x), 0),
    "weak": lambda m, x: m.numpy.sign(m.numpy.asarray(2.5)) * x,
    "int": lambda m, x: m.numpy.sign(m.numpy.arange(3) - 1),
    "shift": lambda m, x: m.numpy.left_shift(m.numpy.arange(3), 2),
    "shifted": lambda m, x: (m.numpy.arange(3) << 2, 5 >> m.numpy.arange(3), divmod(7.0, x + 9)),
    "top_k": lambda m, x: m.lax.top_k(x, 3),
    "solve": lambda m, x: m.numpy.linalg.solve(m.numpy.outer(x, x) + m.numpy.eye(8), x),
    "eigh": lambda m, x: m.numpy.linalg.eigh(m.numpy.outer(x, x))[0],
    "matrix_power": lambda m, x: m.numpy.linalg.matrix_power(m.numpy.outer(x, x) / 9, 3),
    "gelu": lambda m, x: m.nn.gelu(x, approximate=False),
    "one_hot": lambda m, x: m.nn.one_hot(m.numpy.arange(3), 4),
    "softmax": lambda m, x: m.nn.softmax(x.reshape(2, 4), axis=0),
    "logsumexp": lambda m, x: m.nn.logsumexp(x, b=2.0),
    "gammaln": lambda m, x: m.scipy.special.gammaln(x + 5),
    "polygamma": lambda m, x: m.scipy.special.polygamma(1, x + 5),
    "logpdf": lambda m, x: m.scipy.stats.norm.logpdf(x, 1.0, scale=2.0),
    "poisson": lambda m, x: m.scipy.stats.poisson.logpmf(m.numpy.arange(3), 1.5),
    "convolve": lambda m, x: m.scipy.signal.convolve(x, x, mode="same"),
    "wrong shapes": lambda m, x: m.numpy.linalg.solve(x, x),
    "wrong axis": lambda m, x: m.numpy.median(x, axis=3),
}


@pytest.fixture(params=[-1.0, 0.0])
def soon(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions are jitted at their first call, or at their second."""
    monkeypatch.setattr(hot_calls, "ENOUGH", request.param)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("name", CASES)
def test_what_is_jitted_gives_jax_s_results(name: str) -> None:
    x = np.array([0.5, -1.25, 3.0, 2.0, 0.0, 1.75, -0.5, 1.0], np.float32)
    theirs = outcome(lambda: CASES[name](jax, jax.numpy.asarray(x)))
    given = jnp.asarray(x)
    for _ in range(3):
        ours = outcome(lambda: CASES[name](lazynp.jax, given))
        assert disagreement(name, theirs, ours) is None


@pytest.mark.skipif(calls is None, reason="without the C module functions are called as they are")
def test_a_function_is_jitted_once_it_has_taken_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_calls, "ENOUGH", 0.0)
    traced: list[bool] = []

    def plain(x: Any, axis: int | None = None) -> Any:
        traced.append(isinstance(x, lazynp.jax.core.Tracer))
        return jnp.where(x > 1, x, -x).sum(axis)

    f, x = hot_calls.HotCall(plain), jnp.arange(4.0)
    found = [float(f(x)) for _ in range(6)]
    assert found == [4.0] * 6 and traced == [False, True]
    assert f(x.reshape(2, 2), axis=0).tolist() == [2.0, 2.0] and traced == [False, True, False]
    assert [f(x.reshape(2, 2), axis=k % 2).shape for k in range(6)] == [(2,)] * 6 and len(traced) == 6
    assert float(lazynp.jax.grad(f)(x)[2]) == 1.0 and float(lazynp.jax.jit(f)(x)) == 4.0


def test_what_cannot_be_traced_goes_on_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_calls, "ENOUGH", 0.0)
    f = hot_calls.HotCall(lambda x: x[x > 1])
    assert [f(jnp.arange(4.0)).tolist() for _ in range(4)] == [[2.0, 3.0]] * 4
    g = hot_calls.HotCall(lambda x, order: jnp.sum(x) if order == 2 else jnp.max(x))
    assert [float(g(jnp.arange(4.0), k)) for k in (2, 2, 2, 1, 1, 1)] == [6.0] * 3 + [3.0] * 3


def test_large_and_foreign_arguments_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_calls, "ENOUGH", -1.0)
    f = hot_calls.HotCall(lambda x: x)
    large = jnp.zeros(lazynp.config.limit + 1)
    for x in (large, np.zeros(3), object(), jnp.int32):
        assert f(x) is x
    assert f._jit is None


def test_warnings_and_promotion_flags_see_the_users_line() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        jnp.nansum(jnp.ones(3), dtype="float64")
        jnp.trace(jnp.ones((2, 2)), dtype="float64")
    assert [w.filename for w in said] == [__file__] * 2
    for _ in range(3):
        with lazynp.jax.numpy_dtype_promotion("strict"), pytest.raises(Exception, match="promotion path"):
            jnp.kron(jnp.ones(3), jnp.arange(3))


def test_functions_are_shown_and_kept_as_before() -> None:
    assert jnp.median.__name__ == "median" and pickle.loads(pickle.dumps(jnp.median)) is jnp.median
    assert list(inspect.signature(lazynp.jax.nn.gelu).parameters) == ["x", "approximate"]


def test_every_name_is_a_function_of_its_module() -> None:
    for path, words in TABLE.items():
        module = __import__(f"lazynp.jax.{path}", fromlist=["x"])
        missing = [n for n, _ in map(read, words.split()) if not callable(getattr(module, n, None))]
        assert not missing
