"""Derivative and batching rules of every op: against finite differences to order 2, against JAX, against a loop."""

from __future__ import annotations

import itertools
import warnings
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from library_cases import LIBRARY_CASES
from op_cases import ELEMENT_CASES, Case
from special_cases import JAX_CASES
from verify import verify

from lazynp.backends.numpy.evaluate import evaluate
from lazynp.graph.errors import MissingRuleError
from lazynp.graph.node import KEPT, Node, leaf
from lazynp.graph.op import registry
from lazynp.graph.walk import toposort
from lazynp.jax import symbolic  # noqa: F401 (its op is in the registry, whatever was imported before)
from lazynp.ops import elementwise, linalg, reductions, scans, transcendental
from lazynp.ops.elementwise import add, convert, multiply
from lazynp.ops.promotion import is_inexact
from lazynp.ops.shape import add_reduce, set_, slice_
from lazynp.ops.ufuncs import ufuncs
from lazynp.transforms.batch import batch
from lazynp.transforms.jvp import jvp
from lazynp.transforms.transpose import linearize, transpose, vjp

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

CASES = [*ELEMENT_CASES, *LIBRARY_CASES, *JAX_CASES]


def rng_of(case: Case) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(case.name.encode()))


def constant(x: Any, trace: int = 0) -> Node:
    x = np.asarray(x)
    return leaf(x.shape, x.dtype, x, trace=trace)


def as_list(x: Any) -> list[Node]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


def direction(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    v = rng.uniform(-1, 1, x.shape)
    return (v + 1j * rng.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else v).astype(x.dtype)


def total(outputs: Sequence[Node], weights: Sequence[Any]) -> Node:
    """The real part of a weighted sum of everything."""
    sums = [
        add_reduce(multiply(o, constant(w)), axes=tuple(range(o.ndim)), keepdims=False, dtype=None)
        for o, w in zip(outputs, weights)
    ]
    out = elementwise.real(sums[0]) if sums[0].dtype.kind == "c" else sums[0]
    for s in sums[1:]:
        out = add(out, elementwise.real(s) if s.dtype.kind == "c" else s)
    return out


def check(build: Any, arrays: Sequence[np.ndarray], order: int, rng: np.random.Generator, tolerance: float) -> None:
    """Directional derivatives in both modes against central differences, then those of the gradient."""
    leaves = [constant(x, KEPT) for x in arrays]
    outputs = [o for o in as_list(build(*leaves)) if is_inexact(o.dtype)]
    if not outputs:
        return
    weights = [direction(rng, np.zeros(o.shape, o.dtype)) for o in outputs]
    live = [i for i, x in enumerate(arrays) if is_inexact(x.dtype)]
    steps = [direction(rng, x) if i in live else None for i, x in enumerate(arrays)]
    value = total(outputs, weights)

    def at(h: float) -> float:
        moved = [x if s is None else x + h * s for x, s in zip(arrays, steps)]
        return float(evaluate([value], dict(zip(leaves, moved)))[0])

    # Central differences with one Richardson step: the error is of order h^4.
    h = 1e-3
    expected = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    (along,) = jvp([value], leaves, [None if s is None else constant(s) for s in steps])
    gradients = vjp([value], leaves, [constant(1.0)])
    found = [(leaves[i], steps[i], gradients[i]) for i in live if gradients[i] is not None]
    for x, _, g in found:
        assert (g.shape, g.dtype) == (x.shape, x.dtype)
    forward = 0.0 if along is None else float(evaluate([along])[0])
    reverse = sum(float(np.real(np.sum(g * s))) for g, (_, s, _) in zip(evaluate([g for _, _, g in found]), found))
    scale = max(1.0, abs(expected))
    assert abs(forward - expected) < tolerance * scale, ("forward", forward, expected)
    assert abs(reverse - expected) < tolerance * scale, ("reverse", reverse, expected)
    verify([value, *[g for _, _, g in found], *([] if along is None else [along])])

    if order > 1 and found:

        def gradient(*xs: Node) -> list[Node]:
            outs = [o for o in as_list(build(*xs)) if is_inexact(o.dtype)]
            return [g for g in vjp([total(outs, weights)], list(xs), [constant(1.0)]) if g is not None]

        check(gradient, arrays, order - 1, rng, tolerance)


@pytest.mark.parametrize("case", [c for c in CASES if c.order], ids=str)
def test_derivatives_numerically(case: Case) -> None:
    rng = rng_of(case)
    check(case.build, case.make(rng), case.order, rng, case.tolerance)


@pytest.fixture(scope="module")
def jax() -> Any:
    jax = pytest.importorskip("jax", reason="JAX is the oracle of these tests")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        yield jax
        jax.config.update("jax_enable_x64", before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [c for c in CASES if c.jax is not None], ids=str)
def test_values_and_gradients_are_jaxs(case: Case, jax: Any) -> None:
    rng = rng_of(case)
    arrays = case.make(rng)
    twin = case.jax
    assert twin is not None
    live = [i for i, x in enumerate(arrays) if is_inexact(x.dtype)]

    def function(*floats: Any) -> Any:
        full = [jax.numpy.asarray(x) for x in arrays]
        for i, x in zip(live, floats):
            full[i] = x
        return twin(jax, jax.numpy, *full)

    floats = [jax.numpy.asarray(arrays[i]) for i in live]
    expected, pull = jax.vjp(function, *floats) if live else (function(), None)
    outputs = as_list(case.build(*[constant(x, KEPT) for x in arrays]))
    leaves = None
    for o, e in zip(evaluate(outputs), expected if isinstance(expected, (tuple, list)) else [expected], strict=True):
        np.testing.assert_allclose(o, np.asarray(e), rtol=1e-6 if o.dtype.itemsize < 8 else 1e-9, atol=1e-12)
    if pull is None or not all(is_inexact(o.dtype) for o in outputs):
        return
    leaves = [constant(x, KEPT) for x in arrays]
    outputs = as_list(case.build(*leaves))
    cts = [direction(rng, np.zeros(o.shape, o.dtype)) for o in outputs]
    cts_jax = [jax.numpy.asarray(c) for c in cts]
    grads = vjp(outputs, leaves, [constant(c) for c in cts])
    theirs = pull(type(expected)(cts_jax) if isinstance(expected, (tuple, list)) else cts_jax[0])
    for i, g in zip(live, theirs, strict=True):
        ours = np.zeros(arrays[i].shape) if grads[i] is None else evaluate([grads[i]])[0]
        np.testing.assert_allclose(
            ours, np.asarray(g), rtol=1e-4 if ours.dtype.itemsize < 8 else 1e-7, atol=1e-9, err_msg=f"input {i}"
        )


# At kinks and corners JAX's derivative is NaN, infinite or asymmetric, and ours the limit that exists.
OWN_CORNERS = {"power", "float_power", "hypot", "copysign", "arccosh"}
KINKED = [n for n, op in ufuncs.items() if op.partials is not None and n not in OWN_CORNERS | {"ldexp"}]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINKED)
def test_derivatives_at_kinks_are_jaxs(name: str, jax: Any) -> None:
    values = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -3.0])
    args = [values] if getattr(np, name).nin == 1 else [np.repeat(values, 6), np.tile(values, 6)]
    try:
        out, pull = jax.vjp(getattr(jax.numpy, name), *args)
    except NotImplementedError:
        return
    leaves = [constant(x, KEPT) for x in args]
    grads = vjp([ufuncs[name](*leaves)], leaves, [constant(np.ones(out.shape))])
    for x, g, theirs in zip(args, grads, pull(jax.numpy.ones_like(out)), strict=True):
        ours = np.zeros(x.shape) if g is None else evaluate([g])[0]
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-9)


def mapped_axes(ranks: Sequence[int]) -> list[tuple[int | None, ...]]:
    """Every choice of batched inputs, each with its first and last axis, and every axis where it is batched alone."""
    choices: set[tuple[int | None, ...]] = set()
    for subset in itertools.product((False, True), repeat=len(ranks)):
        if any(subset):
            choices.add(tuple([0 if b else None for b in subset]))
            choices.add(tuple([r if b else None for b, r in zip(subset, ranks)]))
    for i, r in enumerate(ranks):
        choices.update(tuple([a if k == i else None for k in range(len(ranks))]) for a in range(r + 1))
    return sorted(choices, key=str)


@pytest.mark.parametrize("case", [c for c in CASES if c.batch], ids=str)
def test_batch_equals_a_loop(case: Case) -> None:
    rng = rng_of(case)
    examples = [case.make(rng) for _ in range(3)]
    for axes in mapped_axes([x.ndim for x in examples[0]]):
        leaves = [constant(x) for x in examples[0]]
        outputs = as_list(case.build(*leaves))
        stacked = [
            x if a is None else np.stack([e[i] for e in examples], axis=a)
            for i, (x, a) in enumerate(zip(examples[0], axes))
        ]
        rewritten = batch(outputs, leaves, [constant(x) for x in stacked], axes)
        verify([n for n, _ in rewritten])
        for k in range(3):
            args = [e if a is None else examples[k][i] for i, (e, a) in enumerate(zip(examples[0], axes))]
            expected = evaluate(outputs, dict(zip(leaves, args)))
            for (node, at), e in zip(rewritten, expected):
                got = evaluate([node])[0]
                got = got if at is None else np.take(got, k, axis=at)
                assert got.dtype == e.dtype, axes
                np.testing.assert_allclose(got, e, rtol=1e-10, atol=1e-12, err_msg=f"axes {axes}")


@pytest.mark.parametrize("case", [c for c in CASES if c.order and c.batch], ids=str)
def test_batch_of_gradients_equals_a_loop(case: Case) -> None:
    """Tangents and cotangents are graphs that batch like any other."""
    rng = rng_of(case)
    examples = [case.make(rng) for _ in range(2)]
    leaves = [constant(x, KEPT) for x in examples[0]]
    outputs = [o for o in as_list(case.build(*leaves)) if is_inexact(o.dtype)]
    weights = [direction(rng, np.zeros(o.shape, o.dtype)) for o in outputs]
    grads = [g for g in vjp(outputs, leaves, [constant(w) for w in weights]) if g is not None]
    stacked = [constant(np.stack([e[i] for e in examples])) for i in range(len(leaves))]
    rewritten = batch(grads, leaves, stacked, [0] * len(leaves))
    for k in range(2):
        for (node, at), e in zip(rewritten, evaluate(grads, dict(zip(leaves, examples[k])))):
            got = evaluate([node])[0]
            np.testing.assert_allclose(got if at is None else np.take(got, k, axis=at), e, rtol=1e-9, atol=1e-11)


def test_every_op_has_a_case() -> None:
    """And every op that has no derivative, or no batching, is known to have none."""
    seen = set()
    for case in CASES:
        arrays = case.make(rng_of(case))
        leaves = [constant(x, KEPT) for x in arrays]
        seen.update(n.op.name for n in toposort(as_list(case.build(*leaves))) if n.op is not None)
    assert set(registry) - seen - NOT_IN_CASES == set()
    without = {n for n, op in registry.items() if op.batch is None}
    assert without == {"iota", "arange", "tri", "eye", "arrival", "dim_as_value"}


NOT_IN_CASES = {
    "ldexp.accumulate",  # NumPy has no loop for it that gives back what it takes
    *("alias", "stop_gradient", "refusing", "custom", "pulled"),  # tags, which test_grad.py has
    # Of several devices: tests/jax/test_many_devices.py.
    *("sharding_constraint", "device_put", "pvary", "psum_invariant"),
    "bound",  # a primitive that a user defines: tests/jax/test_primitives.py
    *("name", "remembered"),  # tags of checkpoint: tests/jax/test_checkpoint.py
    *("sequence", "redone"),  # of effects in derivatives: tests/jax/test_effects_of_rules.py
    "check",  # what checkify looks at: tests/jax/test_checkify.py
    # Between the examples of a named axis, so that they mean something under `vmap` only: test_vmap.py.
    *("all_gather", "all_to_all", "pmax", "pmin", "ppermute", "psum", "psum_scatter"),
    "callback",  # a user's function: test_jit.py
    "called",  # a call that a jaxpr shows: tests/jax/test_jaxpr_calls.py
    # Of `custom_vjp` in a `shard_map`, cotangents of one device or of all: tests/jax/test_sharding_programs.py.
    *("into_rule", "out_of_rule", "regrouped"),
    "arrival",  # of what a thread is making: test_draws.py
    "dim_as_value",  # a size with variables: tests/jax/test_symbolic_sizes.py
    # Of one triangle of a matrix that need not be Hermitian; what refuses derivatives: tests/jax/test_lapack.py.
    *("eigh_of_triangle", "eig_without_slopes"),
    # On keys, and what samplers are made of, which only the runtime's namespace has: tests/jax/test_random.py compares
    # bits, samples and their derivatives with JAX's.
    *("key_data", "key_wrap", "random_clone", "random_fold_in", "random_seed", "random_split"),
    "hash_counter",
    *("random_binomial", "random_bits", "random_gamma", "random_integers", "random_poisson", "random_sample"),
    *(
        "random_between",
        "random_erf",
        "random_erf_inv",
        "random_exp",
        "random_exp_complex",
        "random_log",
        "random_log1p",
    ),
    *("random_order", "random_power"),
    "hyp2f1",  # SciPy's: tests/jax/test_rotations.py
    *("philox", "words_to_sample"),  # tests/jax/test_generators.py
}


def test_missing_rules_name_op_and_transformation() -> None:
    x = constant(np.array([3.0, 2.0]), KEPT)
    y = scans.scans["arctan2"](x, axis=0, dtype=None)
    with pytest.raises(MissingRuleError, match=r"Differentiation rule for 'arctan2.accumulate' not implemented"):
        jvp([y], [x], [x])
    a = constant(np.eye(3)[:, :2], KEPT)
    from_full = linalg.svd(a, full_matrices=True)
    with pytest.raises(MissingRuleError, match="svd"):
        jvp([from_full], [a], [a])


def test_what_is_not_linear_is_not_transposed() -> None:
    x = constant(np.array([3.0, 2.0]))
    with pytest.raises(TypeError, match="cannot transpose"):
        transpose([multiply(x, x)], [x], [x])
    with pytest.raises(MissingRuleError, match=r"Transpose rule .* for 'sin' not implemented"):
        transpose([transcendental.sin(x)], [x], [x])


def test_zero_tangents_are_none() -> None:
    x, n = constant(np.array([3.0, 2.0]), KEPT), constant(np.array([1, 2]), KEPT)
    assert jvp([elementwise.floor(x), elementwise.isnan(x), n], [x, n], [x, n])[:2] == [None, None]
    assert vjp([multiply(x, 2.0)], [x, n], [x])[1] is None
    assert linearize([convert(x, np.dtype(np.int64))], [x])[1] == [None]


def test_third_derivative_and_mixtures() -> None:
    """Forward over reverse over forward, by transformations of results of transformations."""
    x = constant(np.array(0.7), KEPT)
    one = constant(1.0)
    y = transcendental.exp(transcendental.sin(x))
    (first,) = vjp([y], [x], [one])
    (second,) = jvp([first], [x], [one])
    (third,) = vjp([second], [x], [one])
    s, c = np.sin(0.7), np.cos(0.7)
    e = np.exp(s)
    expected = [e * c, e * (c * c - s), e * (c**3 - 3 * s * c - c)]
    np.testing.assert_allclose(evaluate([first, second, third]), expected, rtol=1e-13)


def test_long_chains_are_differentiated_without_recursion() -> None:
    x = constant(np.array([1.0, 2.0]), KEPT)
    y = x
    for _ in range(20_000):
        y = add(multiply(y, 1.0), 0.5)
    (g,) = vjp([y], [x], [constant(np.ones(2))])
    np.testing.assert_array_equal(evaluate([g])[0], 1.0)
    (out,) = batch([y], [x], [constant(np.ones((3, 2)))], [0])
    assert out[0].shape == (3, 2)


def test_writes_are_differentiated() -> None:
    """a[1:] = a[:-1] * 2; a[0] = 0, as a functional graph."""
    from_ = constant(np.array([1.0, 2.0, 3.0]), KEPT)
    from_key, to_key = ((0, 2, 1),), ((1, 2, 1),)
    y = set_(from_, multiply(slice_(from_, key=from_key), 2.0), key=to_key)
    y = set_(y, 0.0, key=(0,))
    (g,) = vjp([y], [from_], [constant(np.array([10.0, 1.0, 5.0]))])
    np.testing.assert_array_equal(evaluate([g])[0], [2.0, 10.0, 0.0])


def test_reductions_with_where_and_initial_are_differentiated() -> None:
    x = constant(np.array([1.0, 4.0, 2.0]), KEPT)
    mask = constant(np.array([True, False, True]))
    y = reductions.reduce("maximum", x, (0,), initial=0.0, where_=mask)
    (g,) = vjp([y], [x], [constant(1.0)])
    np.testing.assert_array_equal(evaluate([g])[0], [0.0, 0.0, 1.0])
