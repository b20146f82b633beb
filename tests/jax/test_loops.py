"""Loops as machine code against the interpreter: each body runs in both tiers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

import lazynp
import lazynp.jax as jax
from lazynp import config
from lazynp.backends import artifacts
from lazynp.jax import lax
from lazynp.ops.ufuncs import ufuncs
from lazynp.runtime import loops

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (5, 3, 4)).astype(np.float32)
P = RNG.uniform(0.2, 2.5, (5, 3, 4)).astype(np.float32)
I = RNG.integers(-9, 10, (5, 3, 4)).astype(np.int32)


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    with config(compile_after=0.0, compile=True, deterministic=False):
        yield


def leaves(tree: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in jax.tree.leaves(tree)]


def both_tiers(f: Callable[[], Any], tolerance: float = 2e-6, compiled: bool = True) -> None:
    """The first run is interpreted, the second compiled."""
    before = {id(m) for of in loops.machines.values() for m in of.values()}
    first = leaves(f())
    assert loops.wait(PATIENCE)
    made = [m for of in loops.machines.values() for m in of.values() if id(m) not in before]
    assert made
    for m in made:
        assert (m.run is not None) == compiled
    for a, b in zip(leaves(f()), first, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if a.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(a, b)


def rows(f: Callable[..., Any], *xs: Any) -> Callable[[], Any]:
    """All results of f for each row."""
    return lambda: lax.scan(lambda c, v: (lax.add(c, 1), f(*v)), 0, xs)


def test_signed_and_unsigned_integers_compare_as_numbers() -> None:
    """Behind the NumPy door, which has loops of int64 with uint64."""
    signed = np.array([-5, -1, 0, 3, 7, 9, np.iinfo(np.int64).max, np.iinfo(np.int64).min])
    unsigned = np.array([2**64 - 5, 2**64 - 1, 0, 7, 7, 2, 2**63 - 1, 2**63], np.uint64)
    names = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")

    def compared() -> Any:
        def body(c: Any, rows: Any) -> Any:
            a, b = rows
            return c + 1, [getattr(lazynp, n)(x, y) for n in names for x, y in ((a, b), (b, a))]

        return lazynp.scan(body, 0, (lazynp.array(signed), lazynp.array(unsigned)))[1]

    both_tiers(compared)
    wanted = [getattr(np, n)(x, y) for n in names for x, y in ((signed, unsigned), (unsigned, signed))]
    for got, want in zip(compared(), wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(got), want)


UNARY = (
    "abs neg sign sin cos tan sinh cosh tanh exp exp2 expm1 asinh atan erf erfc ceil floor square logistic round cbrt"
)
POSITIVE = "log log1p sqrt rsqrt reciprocal lgamma"
BINARY = "add sub mul div max min atan2 rem pow nextafter eq ne lt le gt ge"
INTEGER = "add sub mul div max min rem eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor"


def all_of(names: str) -> Callable[..., Any]:
    return lambda *v: [getattr(lax, n)(*v) for n in names.split()]


def test_elementwise() -> None:
    both_tiers(rows(lambda x, p: (all_of(UNARY)(x), all_of(POSITIVE.replace(" lgamma", ""))(p)), X, P))


def test_elementwise_of_two() -> None:
    both_tiers(rows(all_of(BINARY.replace("pow ", "")), X, P))
    both_tiers(rows(lambda p, x: (lax.pow(p, x), lax.clamp(-1.0, x, 1.0), lax.integer_pow(x, 3)), P, X))


def test_specials() -> None:
    """NaN, infinities and signed zeros."""
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -1.5, 1e-38], np.float32)
    a, b = (v.reshape(8, 8).copy() for v in np.meshgrid(odd, odd))
    binary = [lax.add, lax.mul, lax.div, lax.max, lax.min, lax.rem, lax.eq, lax.lt]
    f = rows(lambda x, y: [*[g(x, y) for g in binary], lax.sign(x)], a, b)
    both_tiers(f)
    for x in leaves(f()[1])[:4]:
        assert x.shape == (8, 8)


def test_integers() -> None:
    both_tiers(rows(all_of(INTEGER), I, I[::-1].copy()))
    u = I.astype(np.uint32) * np.uint32(0x9E3779B9)
    n = (I & 31).astype(np.uint32)
    shifts = "shift_left shift_right_logical shift_right_arithmetic mulhi"
    both_tiers(rows(lambda a, b: (all_of(shifts)(a, b), lax.population_count(a), lax.clz(a), lax.bitwise_not(a)), u, n))
    small = I.astype(np.int8)
    both_tiers(rows(lambda a: (lax.mul(a, a), lax.shift_left(a, a), lax.convert_element_type(a, np.float32)), small))


def test_shapes() -> None:
    def f(x: Any) -> Any:
        return (
            lax.transpose(x, (1, 0)),
            lax.reshape(lax.transpose(x, (1, 0)), (2, 6)),
            lax.rev(x, (0, 1)),
            lax.slice(x, (0, 1), (3, 4), (2, 2)),
            lax.broadcast_in_dim(x, (3, 2, 4), (0, 2)),
            lax.concatenate([x, lax.sin(x)], 1),
            lax.pad(x, 0.5, ((1, 0, 1), (0, 2, 0))),
            lax.bitcast_convert_type(x, np.int32),
            lax.add(x, lax.broadcasted_iota(np.float32, (3, 4), 1)),
            lax.select(lax.gt(x, 0.0), x, lax.full_like(x, 7.0)),
        )

    both_tiers(rows(f, X))


def test_reductions() -> None:
    def f(x: Any, n: Any) -> Any:
        return (
            [
                getattr(lax, f"reduce_{r}")(x, axes)
                for r in ("sum", "prod", "max", "min")
                for axes in ((0,), (1,), (0, 1))
            ],
            [getattr(lax, f"reduce_{r}")(n, (1,)) for r in ("sum", "max", "and", "or", "xor")],
        )

    both_tiers(rows(f, X, I))
    long = RNG.uniform(-1, 1, (3, 200)).astype(np.float32)
    both_tiers(lambda: lax.scan(lambda c, v: (lax.add(c, lax.reduce_sum(v, (0,))), lax.reduce_max(v, (0,))), 0.0, long))


DTYPES = ("bool", "int8", "int64", "uint16", "uint64", "float32", "float64", "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_each_ufunc_is_in_c(dtype: str) -> None:
    """Of all that have C++ for that kind of dtype: elements, reductions and scans, behind the NumPy door."""
    kind, found = np.dtype(dtype).kind, []
    for name, op in sorted(ufuncs.items()):
        ufunc = op.ufunc
        if (
            op.code is None
            or not (kind in op.code.c or kind == "f" and op.code.libm)
            or name == "power"
            and kind == "i"
        ):
            continue
        with contextlib.suppress(TypeError):
            if ufunc.resolve_dtypes((np.dtype(dtype),) * ufunc.nin + (None,))[0] == dtype:
                found.append(getattr(lazynp, name))
    assert len(found) > (8 if kind == "b" else 15)
    values = RNG.integers(-100, 100, (2, 4, 12)) if kind in "iu" else RNG.normal(size=(2, 4, 12)) * 2
    a, b = (values + 1j * values[::-1] if kind == "c" else values > 0 if kind == "b" else values).astype(dtype)
    if kind in "iu":
        a[:, 0], b[:, 1], b[:, 2], b[:, 3] = 0, 0, 1, 63  # a divisor, and shifts
    if kind == "f":
        a[:, 0], a[0, 1], b[0, 2], a[1, 1], b[1, 2], b[2, 1] = b[:, 0], np.nan, np.nan, np.inf, -np.inf, 0.0
    joined = [f for f in found if ufuncs[f.__name__].associative]

    def computed() -> Any:
        def body(c: Any, rows: Any) -> Any:
            elements = [f(*rows[: ufuncs[f.__name__].ufunc.nin]) for f in found]
            return c + 1, (elements, [f.reduce(rows[0]) for f in joined], [f.accumulate(rows[0]) for f in joined])

        return lazynp.scan(body, 0, (lazynp.array(a), lazynp.array(b)))[1]

    both_tiers(computed)


def test_products() -> None:
    w, v = RNG.normal(size=(4, 20)).astype("f"), RNG.normal(size=4).astype("f")

    def f(x: Any) -> Any:
        return (
            lax.dot(x, w),
            lax.dot(x, v),
            lax.dot(w.T, lax.transpose(x, (1, 0))),
            lax.dot_general(x, x, (((1,), (1,)), ((), ()))),
        )

    both_tiers(rows(f, X), 1e-5)
    for m, k in ((67, 64), (9, 37), (80, 130)):
        matrix, vector = RNG.normal(size=(m, k)).astype("f"), RNG.normal(size=(3, k)).astype("f")
        turned = np.ascontiguousarray(matrix.T)
        both_tiers(rows(lambda v: (lax.dot(matrix, v), lax.dot(v, turned), lax.dot(turned.T, v)), vector), 1e-4)  # noqa: B023
    a = np.eye(3, dtype=np.float32) + 0.1 * X[0][:, :3]
    both_tiers(
        lambda: lax.fori_loop(0, 30, lambda i, q: lax.div(lax.dot(a, q), lax.sqrt(lax.dot(q, q))), np.ones(3, "f"))
    )
    stack = RNG.normal(size=(5, 2, 3, 4)).astype("f")
    both_tiers(rows(lambda x: lax.batch_matmul(x, lax.transpose(x, (0, 2, 1))), stack), 1e-5)


def test_writes() -> None:
    """In buffers that the loop carries: one write, several, a read before, a swap of two."""

    def update(v: Any, i: Any, x: Any) -> Any:
        return lax.dynamic_update_slice(v, lax.reshape(x, (1,)), (i,))

    def f(i: Any, s: Any) -> Any:
        a, b = s
        x = lax.reshape(lax.dynamic_slice(a, (lax.sub(i, 1),), (1,)), ())
        a = update(a, i, lax.add(x, 1.5))
        return update(a, lax.add(i, 1), lax.sin(x)), lax.add(b, a)

    both_tiers(lambda: lax.fori_loop(1, 20, f, (np.zeros(24, "f"), np.zeros(24, "f"))))
    both_tiers(lambda: lax.fori_loop(0, 7, lambda i, s: (s[1], update(s[0], i, 2.0)), (X[0, 0], X[1, 0])))
    both_tiers(
        lambda: lax.fori_loop(0, 7, lambda i, s: (lax.transpose(s[1], (1, 0)), s[0]), (X[0, :, :3], X[1, :, :3]))
    )


def test_index_arrays() -> None:
    rows_ = lax.GatherDimensionNumbers((1,), (0,), (0,))
    into = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    n = RNG.integers(-2, 7, (5, 6, 1)).astype(np.int32)

    def f(x: Any, i: Any) -> Any:
        v = lax.broadcast_in_dim(lax.sin(lax.index_in_dim(x, 0, 0, False)), (6, 4), (1,))
        return (
            lax.gather(x, i, rows_, (1, 4), mode="clip"),
            lax.gather(x, i, rows_, (1, 4), mode="fill", fill_value=0),
            [getattr(lax, f"scatter{k}")(x, i, v, into) for k in ("", "_add", "_mul", "_min", "_max")],
            lax.argmax(x, 0, np.int32),
            lax.argmin(x, 1, np.int32),
            lax.cumsum(x, 0),
            lax.cummax(x, 1, reverse=True),
            lax.cumlogsumexp(x, 1),
        )

    both_tiers(rows(f, X, n))
    count = lambda i, c: lax.scatter_add(c, lax.reshape(lax.rem(lax.mul(i, i), 7), (1, 1)), np.ones(1, "i4"), HIST)
    both_tiers(lambda: lax.fori_loop(0, 50, count, np.zeros(7, "i4")))


HIST = lax.ScatterDimensionNumbers((), (0,), (0,))


def test_written_in_place() -> None:
    """What is carried is overwritten only when nobody reads it any more."""

    def late(i: Any, s: Any) -> Any:
        new = lax.dynamic_update_slice(s, lax.full((1,), 2.0), (i,))
        return lax.add(new, s)

    def exchange(i: Any, s: Any) -> Any:
        a, b = (lax.dynamic_slice(s, (k,), (1,)) for k in (i, lax.sub(7, i)))
        return lax.dynamic_update_slice(lax.dynamic_update_slice(s, b, (i,)), a, (lax.sub(7, i),))

    def kept(c: Any, i: Any) -> Any:
        return lax.dynamic_update_slice(c, lax.full((1,), 5.0), (i,)), c

    start = np.arange(8, dtype=np.float32)
    both_tiers(lambda: lax.fori_loop(0, 4, late, start))
    both_tiers(lambda: lax.fori_loop(0, 4, exchange, start))
    np.testing.assert_array_equal(np.asarray(lax.fori_loop(0, 4, exchange, start)), start[::-1])
    both_tiers(lambda: lax.scan(kept, start, np.arange(8, dtype=np.int32)))
    many = np.zeros(1 << 14, np.float32)
    both_tiers(lambda: lax.fori_loop(0, 200, lambda i, s: lax.dynamic_update_slice(s, lax.full((1,), 1.0), (i,)), many))


def test_while() -> None:
    def newton(y: Any) -> Any:
        return lax.mul(0.5, lax.add(y, lax.div(2.0, y)))

    both_tiers(lambda: lax.while_loop(lambda y: lax.gt(lax.abs(lax.sub(lax.mul(y, y), 2.0)), 1e-6), newton, 30.0))
    even = lambda n: lax.eq(lax.rem(n, 2), 0)

    def collatz(s: Any) -> Any:
        n = lax.cond(even(s[0]), lambda n: lax.div(n, 2), lambda n: lax.add(lax.mul(n, 3), 1), s[0])
        return n, lax.add(s[1], 1)

    both_tiers(lambda: lax.while_loop(lambda s: lax.ne(s[0], 1), collatz, (27, 0)))
    batch = np.arange(1, 9, dtype=np.int32)
    both_tiers(lambda: jax.vmap(lambda n: lax.while_loop(lambda s: lax.ne(s[0], 1), collatz, (n, 0)))(batch))


def test_loops_inside() -> None:
    def inner(c: Any, v: Any) -> Any:
        return lax.sin(lax.add(c, v)), lax.mul(c, v)

    def f(x: Any) -> Any:
        total, parts = lax.scan(inner, lax.full((4,), 0.1), x, reverse=True)
        count = lax.while_loop(
            lambda s: lax.lt(s[1], 5.0),
            lambda s: (lax.add(s[0], 1), lax.add(s[1], lax.add(0.1, s[2])), s[2]),
            (0, 0.0, lax.reduce_max(lax.abs(x), (0, 1))),
        )
        return total, parts, count

    both_tiers(rows(f, X), 1e-5)
    both_tiers(
        rows(
            lambda x: lax.switch(lax.convert_element_type(lax.abs(x), np.int32), [lax.sin, lax.cos, lax.neg], x),
            X[:, 0, 0],
        )
    )


def test_branches_that_give_constants() -> None:
    """Zeros that nothing else reads, where a branch does not use what another does."""

    def f(x: Any, y: Any) -> Any:
        def step(c: Any, v: Any) -> Any:
            c = lax.cond(lax.lt(v, 0.5), lambda a, b: lax.mul(lax.sin(a), b), lambda a, b: lax.neg(b), c, v)
            return c, lax.mul(c, y)

        return lax.reduce_sum(lax.scan(step, np.float32(0.3), x)[1], (0,))

    x, ones = X[:, 0, 0], np.ones_like(X[:, 0, 0])
    slope = jax.grad(f, (0, 1))
    both_tiers(
        lambda: jax.grad(lambda x, y: jax.jvp(lambda x: f(x, y), (x,), (ones,))[1], (0, 1))(x, np.float32(1.5)), 1e-5
    )
    both_tiers(lambda: slope(x, np.float32(1.5)), 1e-5)


def test_gradients() -> None:
    """The loops of reverse mode: residuals forward, cotangents backward."""
    w = RNG.normal(size=(4, 4)).astype("f") * 0.3

    def loss(w: Any, c: Any) -> Any:
        def body(c: Any, v: Any) -> Any:
            c = lax.tanh(lax.add(lax.dot(w, c), v))
            return c, lax.dot(c, c)

        _, ys = lax.scan(body, c, X[:, 0])
        return lax.reduce_sum(ys, (0,))

    both_tiers(lambda: jax.grad(loss, (0, 1))(w, X[0, 1]), 1e-5)
    both_tiers(lambda: jax.jvp(loss, (w, X[0, 1]), (w, X[1, 1])), 1e-5)


def test_double() -> None:
    with jax.enable_x64(True):
        x = X.astype(np.float64)
        both_tiers(rows(lambda v: (lax.sin(v), lax.exp(v), lax.reduce_sum(v, (0,)), lax.mul(v, v)), x), 1e-12)


def test_python_inside() -> None:
    """What has no C++ is computed by Python, in the middle of machine code."""
    both_tiers(rows(lambda x: (lax.sort(lax.add(x, 1.0)), lax.lgamma(lax.abs(x)), lax.mul(x, x)), X))
    a = np.eye(3, dtype=np.float32) + 0.05 * X[:, :, :3]
    both_tiers(rows(lambda a: (lax.linalg.qr(a), jax.numpy.linalg.inv(a)), a), 1e-5)
    both_tiers(rows(lambda x: lax.map(lax.sort, x), X))


def test_errors_of_python_inside() -> None:
    def fail(x: Any) -> Any:
        if x > 3:
            raise KeyError("three")
        return x

    def body(i: Any, x: Any) -> Any:
        return lax.add(jax.pure_callback(fail, jax.ShapeDtypeStruct((), np.float32), x), 1.0)

    both_tiers(lambda: lax.fori_loop(0, 3, body, 0.0))
    for _ in range(2):
        with pytest.raises(Exception, match="three"):
            np.asarray(lax.fori_loop(0, 9, body, 0.0))


def test_effects_stay() -> None:
    """A body that prints has no machine code."""
    both_tiers(rows(lambda x: (jax.debug.callback(lambda: None), x)[1], X), compiled=False)


def test_random() -> None:
    """The bits of the interpreter, which are JAX's."""

    def f(key: Any, i: Any) -> Any:
        key, sub = jax.random.split(key)
        samplers = [
            jax.random.normal,
            jax.random.uniform,
            jax.random.exponential,
            jax.random.gumbel,
            jax.random.laplace,
        ]
        more = jax.random.randint(sub, (5,), -3, 9), jax.random.bits(sub, (3,), np.uint8), jax.random.fold_in(sub, i)
        return key, ([s(sub, (3, 2)) for s in samplers], more, jax.random.permutation(sub, 6))

    for key in (jax.random.key(3), jax.random.PRNGKey(3)):

        def run(key: Any = key) -> Any:
            key, (parts, (*more, folded), order) = lax.scan(f, key, np.arange(20, dtype=np.int32))
            wrapped = jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key)
            return parts, more, order, *[jax.random.key_data(k) if wrapped else k for k in (key, folded)]

        both_tiers(run, 0.0)


def test_complex() -> None:
    z = lax.complex(X, P)

    def f(z: Any) -> Any:
        return (
            all_of("add sub mul div eq ne")(z, lax.conj(z)),
            all_of("neg square exp log sqrt sin cos real imag abs conj tanh")(z),
            lax.reduce_sum(z, (0,)),
            lax.transpose(z, (1, 0)),
        )

    both_tiers(rows(f, z), 1e-5)
    both_tiers(lambda: lax.fori_loop(0, 30, lambda i, s: lax.add(lax.mul(s, s), np.complex64(0.1 + 0.2j)), z))


def test_large_products() -> None:
    """By BLAS: as they are, transposed, strided, in stacks."""
    a, b = (RNG.normal(size=s).astype("f") for s in ((5, 24, 40), (40, 36)))

    def f(x: Any) -> Any:
        y = lax.dot(x, b)
        stack = lax.broadcast_in_dim(lax.slice(x, (0, 0), (24, 20), (1, 1)), (2, 24, 20), (1, 2))
        return (
            y,
            lax.dot(lax.transpose(b, (1, 0)), lax.transpose(x, (1, 0))),
            lax.dot(lax.slice(x, (0, 0), (24, 40), (1, 2)), lax.slice(b, (0, 0), (20, 36))),
            lax.batch_matmul(stack, lax.transpose(stack, (0, 2, 1))),
        )

    both_tiers(rows(f, a), 1e-4)
    with jax.enable_x64(True):
        both_tiers(rows(f, a.astype(np.float64)), 1e-4)


def test_floats_by_way_of_doubles() -> None:
    """Within 2 units in the last place."""
    x = np.concatenate(
        [np.linspace(-110, 110, 4001), np.geomspace(1e-38, 1, 2000), [0.0, -0.0, np.inf, -np.inf, np.nan]]
    )
    x = x.astype("f")[None]
    names = ["tanh", "expm1", "exp2", "sinh", "cosh", "log1p"]
    run = rows(lambda v: [getattr(lax, n)(v) for n in names], x)
    run()
    assert loops.wait(PATIENCE)
    for name, got in zip(names, leaves(run()[1]), strict=True):
        with np.errstate(all="ignore"):
            want = getattr(np, name)(x.astype(np.float64)).astype("f")
        good = np.isfinite(want) & (np.abs(want) > 1e-37)
        assert np.all(np.abs(got - want)[good] <= 2 * np.spacing(np.abs(want[good]))), name
        np.testing.assert_array_equal(got[~np.isfinite(want)], want[~np.isfinite(want)])
        np.testing.assert_array_equal(np.signbit(got[x == 0]), np.signbit(want[x == 0]))


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "compiler_path_cached", lambda: None)
    both_tiers(lambda: lax.fori_loop(0, 40, lambda i, x: lax.add(lax.mul(x, 0.375), 2.0), 1.0), compiled=False)


def test_goes_over_in_the_middle() -> None:
    """A long loop ends in machine code: the same numbers, in less time than the interpreter would have taken."""
    n = 300_000
    x = np.linspace(0, 1, n, dtype=np.float32)
    with config(compile_after=0.02):
        _, ys = lax.scan(lambda c, v: (lax.add(lax.mul(c, 0.5), v), c), 0.0, x)
        assert np.asarray(ys).shape == (n,)
    want, state = np.empty(n, np.float32), np.float32(0)
    for i in range(n):
        want[i] = state
        state = np.float32(state * np.float32(0.5) + x[i])
    np.testing.assert_array_equal(np.asarray(ys), want)


def test_empty_and_reverse() -> None:
    both_tiers(lambda: lax.scan(lambda c, v: (lax.add(c, v), lax.mul(c, v)), 1.0, X[:, 0, 0], reverse=True))
    out = lax.scan(lambda c, v: (lax.add(c, v), c), 1.0, np.zeros(0, "f"))
    assert float(out[0]) == 1.0 and out[1].shape == (0,)
