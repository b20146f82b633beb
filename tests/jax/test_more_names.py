"""Names that few programs use, beside JAX's: generators with a state, memories, settings of the user's, names that
are going away."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

jax.config.update("jax_platforms", "cpu")


def part(j: Any, name: str) -> Any:
    return importlib.import_module(f"{j.__name__}.{name}")


def outcome(f: Callable[[], Any]) -> Any:
    try:
        return f()
    except Exception as error:
        return type(error).__name__


def generator(j: Any, seed: Any = 0, **how: Any) -> Any:
    return part(j, "experimental.random").stateful_rng(seed, **how)


def words(j: Any, key: Any) -> Any:
    return j.random.key_data(key).tolist()


def draws(j: Any) -> Any:
    rng = generator(j)
    return [
        words(j, rng.key()),
        rng.uniform(size=(2,)).tolist(),
        words(j, rng.key(2)),
        [words(j, child.key()) for child in rng.spawn(2)],
        rng.integers(3).item(),
        rng.integers(3, 9, (2,), dtype="int8").tolist(),
        rng.normal(loc=1.0, scale=2.0, size=2).tolist(),
        rng.random((2,)).tolist(),
        rng.uniform(low=2, high=3.0).item(),
        [str(x) for x in j.tree.leaves(rng)[1:]],
    ]


def transformed(j: Any) -> Any:
    rng = generator(j)
    return [
        j.jit(lambda: generator(j).uniform())().item(),
        j.jit(lambda rng: rng.uniform())(rng).item(),
        j.jit(lambda: rng.uniform())().item(),
        j.vmap(lambda r, x: r.uniform() + x)(rng.split(2), j.numpy.ones(2)).tolist(),
        j.lax.scan(lambda c, x: (c + rng.uniform(), x), 0.0, j.numpy.arange(3))[0].item(),
        words(j, rng.key()),
    ]


def refused(j: Any) -> Any:
    kind = part(j, "experimental.random").StatefulPRNG
    return [
        outcome(lambda: generator(j, j.random.key(0))),
        outcome(lambda: generator(j, 1.5)),
        outcome(lambda: j.jit(lambda: generator(j, None).uniform())()),
        outcome(lambda: kind(0, j.new_ref(0))),
        outcome(lambda: kind(j.random.key(0), 0)),
        outcome(lambda: generator(j, None).uniform().shape),
        outcome(lambda: words(j, generator(j, impl="rbg").key())),
    ]


def memories(j: Any) -> Any:
    spaces, ones = list(j.memory.Space), j.numpy.ones(2)
    return [repr(spaces), [str(j.device_put(ones, s).sharding.memory_kind) for s in spaces[:2]]]


def contexts(j: Any) -> Any:
    context, seen = j.make_user_context(3), []
    f = j.jit(lambda x: seen.append(context.value) or x)
    f(1.0)
    with context(5):
        f(1.0)
        f(2.0)
    f(1.0)
    return seen


def computed_on(j: Any) -> Any:
    compute_on = part(j, "experimental.compute_on")

    def doubled(x: Any) -> Any:
        with compute_on.compute_on("device_host"):
            return x * 2

    how = {"compute_type": "device_host", "out_memory_spaces": j.memory.Space.Device}
    return [
        float(j.jit(doubled)(1.0)),
        float(compute_on.compute_on2(doubled, **how)(1.0)),
        outcome(lambda: compute_on.compute_on("foo").__enter__()),
        outcome(lambda: compute_on.compute_on2(doubled, **{**how, "compute_type": "foo"})(1.0)),
    ]


def partitioned(j: Any) -> Any:
    """One device computes the function itself, and nothing has to lie like anything."""
    names, alike = part(j, "experimental.custom_partitioning"), part(j, "experimental.shard_alike").shard_alike
    f = names.custom_partitioning(lambda x, n=2: x * n, static_argnums=(1,))
    f.def_partition(lambda *said: None, sharding_rule="... i -> ... i")
    rule = names.SdyShardingRule((names.ArrayMapping("i", "j"),), (names.ArrayMapping("j"),), reduction_factors=("i",))
    return [
        float(f(3.0)),
        float(j.jit(lambda x: f(x, 4))(3.0)),
        str(rule),
        outcome(lambda: f.def_partition(lambda *said: None, sharding_rule="i j")),
        outcome(lambda: j.grad(f)(3.0)),
        [float(x) for x in alike(1.0, 2.0)],
        outcome(lambda: alike([1.0], 2.0)),
    ]


def going_away(j: Any) -> Any:
    found = []
    for name in ("Effect", "gensym", "check_jaxpr", "OutputType", "is_constant_shape", "TraceTag", "abc"):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found.append(outcome(lambda name=name: getattr(j.core, name) is not None))
        found += [(w.category.__name__, str(w.message)) for w in seen]
    return found


def alive(j: Any) -> Any:
    x = j.numpy.ones(3) + 1
    x.block_until_ready()
    return [any(x is y for y in j.live_arrays()), outcome(lambda: j.live_arrays("foo"))]


def absent(j: Any) -> Any:
    names = ("jax.io_callback", "jax.experimental.enable_x64", "jax.core.Primitive", "jax.core.jaxpr_as_fun")
    return [hasattr(part(j, n[4:]) if (n := name.rpartition(".")[0])[4:] else j, name.split(".")[-1]) for name in names]


CASES = [draws, transformed, refused, memories, contexts, computed_on, partitioned, going_away, alive, absent]


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_beside_jax(case: Callable[[Any], Any]) -> None:
    ours, theirs = case(lazynp.jax), case(jax)
    if case in (draws, transformed):
        leaves = [jax.tree.leaves(x) for x in (ours, theirs)]
        texts = [[v for v in leaf if isinstance(v, str)] for leaf in leaves]
        assert texts[0] == texts[1]
        numbers = [[v for v in leaf if not isinstance(v, str)] for leaf in leaves]
        np.testing.assert_allclose(*numbers, rtol=2e-6)
    else:
        assert ours == theirs


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
def test_scaled_dot_general(mode: str) -> None:
    """JAX computes it on GPUs only: it is near the exact product, and its derivative near that one's."""
    j = lazynp.jax
    how = [j.nn.get_scaled_dot_general_config(mode)] * 3
    assert repr(how[0]) == repr(jax.nn.get_scaled_dot_general_config(mode))
    a, b = (j.random.normal(j.random.key(i), (2, 3 + i, 64)) for i in range(2))
    numbers = ((2,), (2,)), ((0,), (0,))

    def product(a: Any, configs: Any) -> Any:
        return j.nn.scaled_dot_general(a, b, numbers, configs=configs)

    exact, found = product(a, None), product(a, how)
    np.testing.assert_allclose(exact, np.einsum("bik,bjk->bij", a, b), rtol=1e-4, atol=1e-4)
    assert 0 < abs(found - exact).max() < (0.1 if mode == "mxfp8" else 0.4) * abs(exact).max()
    slopes = [j.grad(lambda a, c=c: product(a, c).sum())(a) for c in (None, how)]
    np.testing.assert_allclose(*slopes, atol=1.0)
    with pytest.raises(ValueError, match="Unsupported mode"):
        j.nn.get_scaled_dot_general_config("foo")


def test_shardings_of_xlas_own_are_refused() -> None:
    from_here = importlib.import_module("lazynp.jax.experimental.custom_partitioning")
    f = from_here.custom_partitioning(lambda x: x)
    with pytest.raises(NotImplementedError, match="decode_shardings"):
        f.def_partition(lambda *a: a, decode_shardings=False)


def test_presets_of_products_are_all_there() -> None:
    ours, theirs = lazynp.jax.lax.DotAlgorithmPreset, jax.lax.DotAlgorithmPreset
    assert list(ours.__members__) == list(theirs.__members__)
    for a, b in zip(ours, theirs):
        assert (repr(a), str(a), a.value) == (repr(b), str(b), b.value)
        assert a.accumulation_type == b.accumulation_type, a
        assert (a.supported_lhs_types, a.supported_rhs_types) == (b.supported_lhs_types, b.supported_rhs_types), a
        for dtype in map(np.dtype, ("float16", "float32", "float64")):
            assert a.supported_output_types(dtype, dtype) == b.supported_output_types(dtype, dtype), a


def test_generators_are_shown_by_their_names() -> None:
    for a, b in zip(lazynp.jax.lax.RandomAlgorithm, jax.lax.RandomAlgorithm):
        assert (repr(a), str(a)) == (repr(b), str(b))
