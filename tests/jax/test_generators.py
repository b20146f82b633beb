"""Keys of other generators than threefry2x32: JAX's, and one that a user defines, against JAX."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
Call = Callable[[Any, Any], Any]


def mine(j: Any) -> Any:
    """A generator of one word, as a user writes it."""
    jnp, uint = j.numpy, np.uint32

    def split(k: Any, shape: Any) -> Any:
        return (k + jnp.arange(1, 1 + int(np.prod(shape)), dtype=uint)).reshape(*shape, 1)

    def bits(k: Any, width: int, shape: Any) -> Any:
        words = k[0] * jnp.arange(1, 1 + int(np.prod(shape)), dtype=uint) * uint(2654435761)
        return words.reshape(shape).astype(f"uint{width}")

    return importlib.import_module(f"{j.__name__}.extend.random").define_prng_impl(
        key_shape=(1,),
        seed=lambda s: jnp.array([s], dtype=uint),
        split=split,
        random_bits=bits,
        fold_in=lambda k, d: k ^ d.astype(uint),
        name="mine",
        tag="mi",
    )


def plain(j: Any, out: Any) -> list[Any]:
    """Leaves, with keys as their words."""
    leaves = j.tree.leaves(out)
    return [j.random.key_data(x) if "key<" in str(getattr(x, "dtype", "")) else x for x in leaves]


CALLS: dict[str, Call] = {
    "key": lambda r, k: k,
    "split": lambda r, k: [r.split(k, 3), r.split(k, (2, 2))],
    "fold_in": lambda r, k: r.fold_in(k, 7),
    "wrap": lambda r, k: r.wrap_key_data(r.key_data(k), impl=r.key_impl(k)) == k,
    **{name: lambda r, k, n=name: getattr(r, n)(k, (2, 3)) for name in ("uniform", "normal", "exponential", "cauchy")},
    "bits": lambda r, k: [r.bits(k, (3,), f"uint{n}") for n in (8, 16, 32)],
    "randint": lambda r, k: [r.randint(k, (5,), 0, 10), r.randint(k, (5,), 0, 100, "int8")],
    "permutation": lambda r, k: r.permutation(k, 6),
    "gumbel modes": lambda r, k: [r.gumbel(k, (2,), mode=m) for m in ("highest",)],
}


def transformed(r: Any, key: Any) -> Any:
    """Under `vmap` JAX draws all numbers of a batch of keys from the first of them."""
    j = jax if r is jax.random else lazynp.jax
    keys = r.split(key, 3)
    loop = j.lax.scan(lambda k, _: (r.split(k)[0], r.uniform(k)), key, None, length=3)
    batches = j.vmap(lambda k: r.normal(k, (2,)))(keys), j.vmap(lambda i: r.fold_in(key, i))(np.arange(3))
    return [loop, *batches, j.jit(lambda k: r.uniform(k, (2,)))(key), j.vmap(r.split)(keys)]


CALLS["transformed"] = transformed
CALLS["gamma"] = lambda r, k: r.gamma(k, np.array([0.5, 2.0, 7.0], "f4"))
OF_HASHES = ["key", "split", "fold_in", "wrap", "normal", "bits", "permutation", "transformed"]
NAMES = {
    "rbg": list(CALLS),
    "unsafe_rbg": ["key", "split", "fold_in", "normal", "transformed"],
    **dict.fromkeys(("philox2x32", "philox4x32", "threefry4x32"), OF_HASHES),
}
STORED = Path(__file__).with_name("generators.json")


def results(j: Any, generator: str, name: str) -> list[Any]:
    key = j.random.key(42, impl=mine(j) if generator == "mine" else generator)
    return plain(j, CALLS[name](j.random, key))


@pytest.mark.parametrize("generator", NAMES)
def test_samples(generator: str) -> None:
    """JAX's numbers, which are stored, since it takes long to compile them: `python tests/jax/test_generators.py`."""
    stored = json.loads(STORED.read_text())[generator]
    for name in NAMES[generator]:
        got = results(lazynp.jax, generator, name)
        assert [x.dtype.name for x in got] == [dtype for dtype, _ in stored[name]], name
        for x, (dtype, wanted) in zip(got, stored[name]):
            tolerance = 2e-6 if dtype == "float32" else 0
            np.testing.assert_allclose(np.asarray(x), np.array(wanted, dtype), rtol=tolerance, atol=tolerance)


def test_poisson_is_for_threefry() -> None:
    with pytest.raises(NotImplementedError, match="threefry2x32"):
        lazynp.jax.random.poisson(lazynp.jax.random.key(0, impl="rbg"), 3.0)


@pytest.mark.parametrize("name", ["key", "split", "fold_in", "wrap", "normal"])
def test_a_generator_of_a_user(name: str) -> None:
    wanted, got = (outcome(lambda j=j: results(j, "mine", name)) for j in (jax, lazynp.jax))
    assert disagreement("random.", wanted, got) is None


def test_slope_of_gamma() -> None:
    """The implicit one, of the sample."""
    j = lazynp.jax
    f = lambda a: j.random.gamma(j.random.key(42, impl="rbg"), a, (3,))
    wanted = j.lax.random_gamma_grad(j.numpy.full(3, 2.5), f(2.5)).sum()
    np.testing.assert_allclose(j.grad(lambda a: f(a).sum())(2.5), wanted, rtol=1e-5)


def test_the_default_is_another() -> None:
    def calls(j: Any) -> Any:
        with j.default_prng_impl("rbg"):
            old = j.random.PRNGKey(3)
            return old, j.random.normal(old, (2,)), j.random.split(old), j.random.key_data(j.random.key(1))

    def refused(j: Any) -> Any:
        with j.default_prng_impl("rbg"):
            return j.random.normal(np.array([1, 2], np.uint32))

    for call in (calls, refused):
        wanted, got = (outcome(lambda j=j, call=call: call(j)) for j in (jax, lazynp.jax))
        assert disagreement("random.", wanted, got) is None


def test_names_of_generators() -> None:
    for j in (jax, lazynp.jax):
        own, r = mine(j), j.random
        assert r.key_impl(r.key(1, impl="rbg")) == "rbg" and r.key_impl(r.key(1, impl=own)) == own
        assert [str(r.key(1, impl=i).dtype) for i in ("rbg", "unsafe_rbg", own)] == ["key<rbg>", "key<urbg>", "key<mi>"]
        with pytest.raises(ValueError, match="unrecognized PRNG implementation"):
            r.key(1, impl="none")
        with pytest.raises(TypeError, match="to end with"):
            r.wrap_key_data(np.arange(4, dtype=np.uint32))


@pytest.mark.parametrize("state", [[1, 2, 3, 4], [1, 2, 2**32 - 1, 2**32 - 1], [7, 8, 2**32 - 1, 0]])
def test_rng_bit_generator(state: list[int]) -> None:
    """The state goes on by blocks of four words, of which the last may be used in part."""
    key = np.array(state, np.uint32)
    for shape, dtype in [((), "uint32"), ((0,), "uint32"), ((2, 3), "uint8"), ((9,), "uint16")]:
        found = [j.lax.rng_bit_generator(j.numpy.asarray(key), shape, dtype) for j in (jax, lazynp.jax)]
        for a, b in zip(*found):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    with jax.enable_x64(True), lazynp.jax.enable_x64(True):
        wide = key.view(np.uint64)
        for a, b in zip(*[j.lax.rng_bit_generator(j.numpy.asarray(wide), (5,), "uint64") for j in (jax, lazynp.jax)]):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


SHAPES = [(), (1,), (5,), (2, 3), (3, 2), (3, 5), (3, 5, 5), (0,)]


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_threefry_of_rng_bit_generator(dtype: str) -> None:
    """The counter of the state runs over into its upper word."""
    with jax.enable_x64(True), lazynp.jax.enable_x64(True):
        for shape in SHAPES:
            state = np.array([1, 2, 0xFFFFFFFF, 4], np.uint32)
            a, b = [
                j.lax.rng_bit_generator(j.numpy.asarray(state), shape, dtype, j.lax.RandomAlgorithm.RNG_THREE_FRY)
                for j in (jax, lazynp.jax)
            ]
            for x, y in zip(a, b):
                np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
                assert y.dtype == x.dtype


def test_what_rng_bit_generator_refuses() -> None:
    lax = lazynp.jax.lax
    with pytest.raises(TypeError, match="key of"):
        lax.rng_bit_generator(np.arange(3, dtype=np.uint32), (2,))
    with pytest.raises(TypeError, match="unsupported dtype int32"):
        lax.rng_bit_generator(np.arange(4, dtype=np.uint32), (2,), np.int32)


@pytest.mark.parametrize("count", [1, 4, 5])
def test_threefry_2x32(count: int) -> None:
    counters, pair = np.arange(count, dtype=np.uint32), (np.uint32(1), np.uint32(2))
    found = [
        np.asarray(
            importlib.import_module(f"{j.__name__}.extend.random").threefry_2x32(pair, j.numpy.asarray(counters))
        )
        for j in (jax, lazynp.jax)
    ]
    np.testing.assert_array_equal(*found)


def write() -> None:
    """Store JAX's numbers."""
    found = {
        g: {n: [(x.dtype.name, np.asarray(x).tolist()) for x in results(jax, g, n)] for n in names}
        for g, names in NAMES.items()
    }
    STORED.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    write()
