"""`jax.random` against JAX itself: the same numbers for the same keys, the same errors."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import jax as oracle
import ml_dtypes
import numpy as np
import pytest
from random_cases import FLOATS, OTHERS, WRONG, Case
from random_forms import Form, fused, ulps_apart

import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp.config import config

oracle.config.update("jax_platforms", "cpu")


def check(mine: Any, theirs: Any, case: Case) -> None:
    """Equal shape, dtype, weak type, and values as the case says."""
    assert mine.shape == theirs.shape and mine.dtype == theirs.dtype, (
        mine.shape,
        mine.dtype,
        theirs.shape,
        theirs.dtype,
    )
    assert mine.weak_type == theirs.weak_type
    a, b = np.asarray(mine), np.asarray(theirs)
    if a.dtype.kind == "c":
        a, b = a.view(a.real.dtype), b.view(b.real.dtype)
    if fused(a.dtype):
        np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=4e-3, atol=4e-3)
    elif case.ulps is None:
        scale = max(1.0, {2: 2.0**14, 4: 1.0, 8: 2.0**-26}[a.dtype.itemsize])
        np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=case.rtol * scale, atol=case.rtol * scale)
    elif a.dtype.kind in "iub" or case.ulps == 0:
        np.testing.assert_array_equal(a.astype(np.float64) if a.dtype.kind == "V" else a, b)
    else:
        assert ulps_apart(a, b).max(initial=0) <= case.ulps, (a, b)


def both(case: Case, seed: int = 0, **kwargs: Any) -> tuple[Any, Any]:
    mine = getattr(jax.random, case.name)(jax.random.key(seed), *case.args, **case.kwargs, **kwargs)
    theirs = getattr(oracle.random, case.name)(oracle.random.key(seed), *case.args, **case.kwargs, **kwargs)
    return mine, theirs


@pytest.mark.parametrize("case", FLOATS, ids=str)
def test_floats(case: Case) -> None:
    check(*both(case), case)


@pytest.mark.parametrize("case", OTHERS, ids=str)
def test_others(case: Case) -> None:
    check(*both(case, seed=3), case)


ORIGINAL = ("bits", "randint", "permutation", "poisson", "binomial", "gamma", "normal", "split", "bernoulli", "choice")


@pytest.mark.parametrize("case", [c for c in (*FLOATS, *OTHERS) if c.name in ORIGINAL][::5], ids=str)
def test_original_form(case: Case) -> None:
    with Form(False):
        check(*both(case, seed=1), case)


SHORT = (
    Case("uniform", ((99,),)),
    Case("uniform", ((99,),), {"minval": -0.3, "maxval": 2.5}),
    Case("normal", ((99,),)),
    Case("exponential", ((99,),)),
    Case("gumbel", ((99,),)),
    Case("logistic", ((99,),)),
    Case("cauchy", ((99,),), ulps=1),  # the C library's tangent, which is not always rounded right
    Case("laplace", ((99,),)),
)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("case", SHORT, ids=str)
def test_other_floats(case: Case, dtype: str) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    with jax.enable_x64(True), oracle.enable_x64(True):
        mine, theirs = both(case, dtype=kind)
        check(mine, theirs, case)
        if dtype == "float16":
            with Form(False):
                check(*both(case, dtype=kind), case)


def test_64_bits() -> None:
    with jax.enable_x64(True), oracle.enable_x64(True):
        for case in (
            Case("bits", ((5,), "uint64")),
            Case("bits", ((5,),)),
            Case("randint", ((5,), -(2**62), 2**62)),
            Case("gamma", (np.array([0.5, 2.0, 30.0]),), ulps=2),
            Case("poisson", (np.array([3.0, 30.0]),)),
            Case("permutation", (7,)),
            Case("rademacher", ((5,),)),
        ):
            check(*both(case, seed=-1), case)


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_errors(case: Case) -> None:
    errors = []
    for module in (jax, oracle):
        with pytest.raises(Exception) as caught:
            getattr(module.random, case.name)(module.random.key(0), *case.args, **case.kwargs)
        errors.append(caught.type)
    mine, theirs = errors
    known = next(e for e in theirs.__mro__ if e.__module__ == "builtins")
    assert issubclass(mine, known), errors


def test_every_name_is_there() -> None:
    assert not [
        n for n in dir(oracle.random) if not n.startswith("_") and n != "random_gamma_p" and not hasattr(jax.random, n)
    ]


# --- Keys -------------------------------------------------------------------------------------------------------------


def test_documented_numbers() -> None:
    key = jax.random.key(42)
    assert str(jax.random.normal(key)) == "-0.028304616"
    with jax.threefry_partitionable(False):
        assert str(jax.random.normal(key)) == "-0.18471177"
        assert str(jax.random.normal(jax.random.fold_in(key, 43))) == "0.11627013"
        assert [str(jax.random.normal(k)) for k in jax.random.split(key)] == ["0.13790321", "1.3694694"]
        assert str(jax.random.normal(jax.random.PRNGKey(42))) == "-0.18471177"


@pytest.mark.parametrize("partitionable", [True, False], ids=["partitionable", "original"])
def test_keys_are_jax_keys(partitionable: bool) -> None:
    with Form(partitionable):
        for seed in (0, 1, -1, 2**31 - 1, 2**40 + 5, np.uint32(7), np.int8(-3)):
            mine, theirs = jax.random.key(seed), oracle.random.key(seed)
            for a, b in (
                (mine, theirs),
                (jax.random.split(mine, 3), oracle.random.split(theirs, 3)),
                (jax.random.split(mine, (2, 3)), oracle.random.split(theirs, (2, 3))),
                (jax.random.fold_in(mine, 7), oracle.random.fold_in(theirs, 7)),
                (jax.random.clone(mine), oracle.random.clone(theirs)),
            ):
                assert repr(a) == repr(b) and a.shape == b.shape and str(a.dtype) == str(b.dtype) == "key<fry>"
                np.testing.assert_array_equal(jax.random.key_data(a), oracle.random.key_data(b))
            raw, other = jax.random.PRNGKey(seed), oracle.random.PRNGKey(seed)
            for a, b in (
                (raw, other),
                (jax.random.split(raw, 3), oracle.random.split(other, 3)),
                (jax.random.fold_in(raw, 7), oracle.random.fold_in(other, 7)),
                (jax.random.normal(raw, (3,)), oracle.random.normal(other, (3,))),
            ):
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)


def test_a_seed_may_have_64_bits() -> None:
    with jax.enable_x64(True), oracle.enable_x64(True):
        for seed in (2**40 + 5, -1, -(2**63)):
            np.testing.assert_array_equal(
                jax.random.key_data(jax.random.key(seed)), oracle.random.key_data(oracle.random.key(seed))
            )


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_arrays_of_keys(mode: str) -> None:
    """They index, reshape, join and select as arrays do, and keep their dtype."""
    with config(mode=mode):
        check_arrays_of_keys()


def check_arrays_of_keys() -> None:
    mine, theirs = jax.random.split(jax.random.key(0), 6), oracle.random.split(oracle.random.key(0), 6)

    def words(module: Any, keys: Any) -> np.ndarray:
        assert str(keys.dtype) == "key<fry>", keys.dtype
        return np.asarray(module.random.key_data(keys))

    steps: list[Any] = [
        lambda m, k: k[2],
        lambda m, k: k[1:5:2],
        lambda m, k: k[m.numpy.array([3, 0])],
        lambda m, k: k.reshape(2, 3),
        lambda m, k: k.reshape(2, 3).T,
        lambda m, k: k.reshape(2, 3)[:, 1],
        lambda m, k: m.numpy.stack([k, k]),
        lambda m, k: m.numpy.concatenate([k[:2], k[4:]]),
        lambda m, k: m.numpy.where(m.numpy.arange(6) < 3, k, k[::-1]),
        lambda m, k: m.numpy.expand_dims(k, 0),
        lambda m, k: m.numpy.broadcast_to(k[0], (4,)),
        lambda m, k: k.at[1].set(k[0]),
        lambda m, k: m.random.wrap_key_data(m.random.key_data(k)),
        lambda m, k: m.jit(lambda q: q[::-1])(k),
        lambda m, k: m.vmap(lambda q: m.random.fold_in(q, 1))(k),
        lambda m, k: m.vmap(m.random.split)(k),
        lambda m, k: m.vmap(lambda q, n: m.lax.cond(n > 1, lambda q: m.random.fold_in(q, 3), lambda q: q, q))(
            k, m.numpy.arange(6)
        ),
    ]
    for i, step in enumerate(steps):
        a, b = step(jax, mine), step(oracle, theirs)
        np.testing.assert_array_equal(words(jax, a), words(oracle, b), err_msg=str(i))
    assert len(mine) == 6 and mine.ndim == 1 and mine.size == 6 and mine.itemsize == 8 and mine.nbytes == 48
    assert isinstance(mine, jax.Array) and len(list(mine)) == 6
    assert (mine == mine).all() and not (mine != mine).any() and bool(mine[0] != mine[1])
    assert jax.random.key_impl(mine) == "threefry2x32" and jax.random.key_dtype() == mine.dtype
    assert jnp.issubdtype(mine.dtype, jax.dtypes.prng_key) if hasattr(jax, "dtypes") else True


def test_keys_have_no_arithmetic() -> None:
    key = jax.random.key(0)
    for bad in (
        lambda: key + 1,
        lambda: -key,
        lambda: float(key),
        lambda: bool(key),
        lambda: np.asarray(key),
        lambda: len(key),
        lambda: iter(key).__next__(),
        lambda: hash(key),
        lambda: jax.grad(lambda k: 1.0)(key),
        lambda: jax.random.key(key),
    ):
        with pytest.raises(TypeError):
            bad()
    with pytest.raises(NotImplementedError, match="astype"):  # a method that keys have not, as in JAX
        key.astype(int)


@pytest.mark.parametrize(
    "bad",
    [
        lambda r: r.normal("key"),
        lambda r: r.normal(np.zeros(2, np.float32)),
        lambda r: r.normal(np.zeros(3, np.uint32)),
        lambda r: r.normal(r.split(r.key(0))),
        lambda r: r.split(r.split(r.key(0))),
        lambda r: r.normal(r.split(r.PRNGKey(0))),
        lambda r: r.key(np.arange(3)),
        lambda r: r.key(1.5),
        lambda r: r.key(2**64),
        lambda r: r.key(0, impl="nothing"),
        lambda r: r.key(0, impl=3.5),
        lambda r: r.key(0, impl="threefry2x32", dtype="threefry2x32"),
        lambda r: r.wrap_key_data(np.zeros(2, np.int32)),
        lambda r: r.wrap_key_data(np.zeros((2, 3), np.uint32)),
        lambda r: r.wrap_key_data([1, 2]),
        lambda r: r.key_data(3),
    ],
)
def test_what_is_no_key(bad: Any) -> None:
    with pytest.raises(Exception) as theirs:
        bad(oracle.random)
    with pytest.raises(theirs.type):
        bad(jax.random)


# --- Transformations --------------------------------------------------------------------------------------------------


BATCHED: tuple[tuple[str, Any], ...] = (
    ("normal", lambda r, k: r.normal(k, (3,))),
    ("bits", lambda r, k: r.bits(k, (2, 2), "uint16")),
    ("randint", lambda r, k: r.randint(k, (3,), 0, 100)),
    ("split", lambda r, k: r.key_data(r.split(k, 3))),
    ("permutation", lambda r, k: r.permutation(k, 5)),
    ("gamma", lambda r, k: r.gamma(k, np.float32(2.5), (3,))),
    ("poisson", lambda r, k: r.poisson(k, np.array([3.0, 30.0], np.float32))),
    ("binomial", lambda r, k: r.binomial(k, 50, np.array([0.1, 0.4], np.float32))),
    ("categorical", lambda r, k: r.categorical(k, np.arange(4.0, dtype=np.float32))),
    ("choice", lambda r, k: r.choice(k, 10, (3,), replace=False)),
    ("truncated_normal", lambda r, k: r.truncated_normal(k, -1.0, 1.0, (3,))),
    ("dirichlet", lambda r, k: r.dirichlet(k, np.ones(3, np.float32))),
)


@pytest.mark.parametrize(("name", "f"), BATCHED, ids=[n for n, _ in BATCHED])
def test_jit_and_vmap_over_keys(name: str, f: Any) -> None:
    """Equal to a loop over the keys, under jit too, and to JAX."""
    keys = jax.random.split(jax.random.key(5), 4)
    loop = np.stack([np.asarray(f(jax.random, k)) for k in keys])
    batched = jax.vmap(lambda k: f(jax.random, k))
    np.testing.assert_array_equal(np.asarray(batched(keys)), loop)
    np.testing.assert_array_equal(np.asarray(jax.jit(batched)(keys)), loop)
    theirs = oracle.vmap(lambda k: f(oracle.random, k))(oracle.random.split(oracle.random.key(5), 4))
    np.testing.assert_allclose(loop, theirs, rtol=3e-7)
    raw = jax.random.key_data(keys)
    np.testing.assert_array_equal(np.asarray(batched(raw)), loop)


def test_vmap_over_parameters_only() -> None:
    """One key, many parameters: the same random bits for each."""
    key = jax.random.key(1)
    for f, parameters in (
        (lambda a: jax.random.gamma(key, a, (2,)), np.array([0.5, 2.0, 9.0], np.float32)),
        (lambda a: jax.random.uniform(key, (2,), maxval=a), np.array([0.5, 2.0, 9.0], np.float32)),
        (lambda a: jax.random.randint(key, (2,), 0, a), np.array([5, 20, 90])),
        (lambda a: jax.random.poisson(key, a, (2,)), np.array([0.5, 20.0, 9.0], np.float32)),
        (lambda a: jax.random.binomial(key, 30, a, (2,)), np.array([0.5, 0.1, 0.9], np.float32)),
    ):
        loop = np.stack([np.asarray(f(a)) for a in parameters])
        np.testing.assert_array_equal(np.asarray(jax.vmap(f)(jnp.asarray(parameters))), loop)


def test_derivatives() -> None:
    """Along the parameters, as JAX has them: of reparametrized samples, and the implicit one of gamma."""
    x = np.float32(2.5)
    for f in (
        lambda m, a: m.random.gamma(m.random.key(0), a, (5,)).sum(),
        lambda m, a: m.random.loggamma(m.random.key(0), a / 9, (5,)).sum(),
        lambda m, a: m.random.uniform(m.random.key(0), (5,), minval=-a, maxval=a * a).sum(),
        lambda m, a: m.random.truncated_normal(m.random.key(0), -a, a, (5,)).sum(),
        lambda m, a: m.random.pareto(m.random.key(0), a, (5,)).sum(),
        lambda m, a: m.random.lognormal(m.random.key(0), a, (5,)).sum(),
        lambda m, a: (m.random.normal(m.random.key(0), (5,)) * a).sum(),
        lambda m, a: m.random.dirichlet(m.random.key(0), m.numpy.stack([a, a * 2, a]))[0],
    ):
        mine, theirs = jax.grad(lambda a, f=f: f(jax, a))(x), oracle.grad(lambda a, f=f: f(oracle, a))(x)
        np.testing.assert_allclose(mine, theirs, rtol=2e-4)


def test_keys_in_loops() -> None:
    """As what `scan` runs over, and as its carry."""

    def walk(m: Any) -> Any:
        def step(carry: Any, key: Any) -> Any:
            own, x = carry
            own, use = m.random.split(own)
            x = x + m.random.normal(use) + m.random.normal(key)
            return (own, x), x

        key = m.random.key(0)
        return m.lax.scan(step, (m.random.fold_in(key, 1), np.float32(0)), m.random.split(key, 5))[1]

    np.testing.assert_allclose(walk(jax), walk(oracle), rtol=1e-6)


def test_traced_keys_stay_traced() -> None:
    seen: list[str] = []

    @jax.jit
    def f(key: Any) -> Any:
        seen.append(repr(key))
        return jax.random.normal(key), key

    value, same = f(jax.random.key(42))
    assert str(value) == "-0.028304616" and str(same.dtype) == "key<fry>" and "key<fry>" in seen[0]
    with pytest.raises(TypeError):
        jax.jit(lambda n: jax.random.normal(jax.random.key(0), (n,)))(3)


# --- Key reuse --------------------------------------------------------------------------------------------------------


def twice(r: Any) -> Any:
    key = r.key(0)
    return r.normal(key), r.uniform(key)


REUSES: tuple[tuple[Any, bool], ...] = (
    (twice, True),
    (lambda r: [r.split(k) for k in [r.key(0)] * 2], True),
    (lambda r: (lambda k: (r.split(k), r.normal(k)))(r.key(0)), True),
    (lambda r: (lambda k: (r.fold_in(k, 1), r.fold_in(k, 2), r.normal(k)))(r.key(0)), False),
    (lambda r: (lambda k: (r.normal(r.clone(k)), r.normal(k)))(r.key(0)), False),
    (lambda r: (lambda k: (r.normal(k[0]), r.normal(k[1])))(r.split(r.key(0))), False),
    (lambda r: (lambda k: (r.normal(k[0]), r.normal(k[0])))(r.split(r.key(0))), True),
    (lambda r: (lambda k: (r.gamma(k, 1.0), r.bits(k)))(r.key(0)), True),
    (lambda r: (lambda k: (r.normal(k), r.normal(k)))(r.PRNGKey(0)), False),
    (lambda r: (lambda k: (r.key_data(k), r.normal(k)))(r.key(0)), False),
    (lambda r: (lambda k: (r.normal(k.reshape(1)[0]), r.normal(k)))(r.key(0)), True),
)


@pytest.mark.parametrize("i", range(len(REUSES)))
def test_key_reuse(i: int) -> None:
    f, reused = REUSES[i]
    f(jax.random)
    with jax.debug_key_reuse(True):
        if reused:
            with pytest.raises(jax.errors.KeyReuseError, match="used before"):
                f(jax.random)
        else:
            f(jax.random)


def test_key_reuse_by_jitted_functions() -> None:
    f = jax.jit(lambda k: jax.random.normal(k))
    g = jax.jit(twice_of)
    with jax.debug_key_reuse(True):
        key = jax.random.key(0)
        f(key)
        with pytest.raises(jax.errors.KeyReuseError):
            f(key)
        with pytest.raises(jax.errors.KeyReuseError):
            g(jax.random.key(1))
    f(key)


def twice_of(key: Any) -> Any:
    return jax.random.normal(key) + jax.random.normal(key)


# --- Threads ----------------------------------------------------------------------------------------------------------


def test_threads_share_a_key() -> None:
    key = jax.random.key(3)
    expected = [np.asarray(jax.random.normal(jax.random.fold_in(key, i), (40_000,))) for i in range(4)]
    results: list[Any] = [None] * 8

    def work(j: int) -> None:
        results[j] = np.asarray(jax.random.normal(jax.random.fold_in(key, j % 4), (40_000,)))

    threads = [threading.Thread(target=work, args=(j,)) for j in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for j, x in enumerate(results):
        np.testing.assert_array_equal(x, expected[j % 4])


def test_large_arrays_come_in_blocks() -> None:
    """The same numbers whatever the size, and as JAX's."""
    for n in (32_767, 32_769, 100_003):
        np.testing.assert_array_equal(
            np.asarray(jax.random.normal(jax.random.key(1), (n,)))[-5:],
            np.asarray(oracle.random.normal(oracle.random.key(1), (n,)))[-5:],
        )


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_dtypes_of_keys_are_pickled(impl: str) -> None:
    key = jax.random.key(3, impl=impl)
    assert pickle.loads(pickle.dumps(key.dtype)) == key.dtype
