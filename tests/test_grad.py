"""Derivatives of user functions, through both doors: against JAX, against finite differences, nested, with rules of
one's own, and what is refused."""

from __future__ import annotations

import functools
import itertools
import math
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from verify import verify

import lazynp
import lazynp.jax
import lazynp.jax.numpy
from lazynp.errors import UnexpectedTracerError
from lazynp.graph.node import KEPT
from lazynp.graph.walk import toposort
from lazynp.jax.config import enable_x64

CASES = int(os.environ.get("LAZYNP_CASES", "60"))
rng = np.random.default_rng(4)
V = rng.uniform(0.3, 1.7, 4)
W = rng.uniform(-1.0, 1.0, 4)
M = rng.uniform(-1.0, 1.0, (4, 3))


class World(NamedTuple):
    """Transformations and functions on arrays, of one door or of JAX."""

    t: Any
    np: Any
    name: str


DOORS = [World(lazynp, lazynp, "numpy"), World(lazynp.jax, lazynp.jax.numpy, "jax")]
door = pytest.mark.parametrize("w", DOORS, ids=lambda w: w.name)


@pytest.fixture(scope="module")
def jax() -> Iterator[World]:
    jax = pytest.importorskip("jax", reason="JAX is the oracle of these tests")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jax.config.update("jax_platforms", "cpu")
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        yield World(jax, jax.numpy, "JAX")
        jax.config.update("jax_enable_x64", before)


@pytest.fixture(autouse=True)
def wide() -> Iterator[None]:
    with enable_x64(True):
        yield


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [x for k in sorted(tree) for x in leaves(tree[k])]
    if isinstance(tree, tuple) or isinstance(tree, list) and not all(isinstance(x, float) for x in tree):
        return [x for t in tree for x in leaves(t)]
    return [] if tree is None else [tree]


def same(got: Any, want: Any, rtol: float = 1e-10) -> None:
    a, b = leaves(got), leaves(want)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=rtol, atol=1e-12)


def array(w: World, x: Any) -> Any:
    return w.np.asarray(x) if w.name != "numpy" else lazynp.array(x)


# --- Against JAX and finite differences -------------------------------------------------------------------------------


def branches(w: World, x: Any) -> Any:
    return (x**2).sum() if x[0] > 1.0 else (x**3).sum()


def loop(w: World, x: Any) -> Any:
    total = x[0]
    for i in range(5):
        total = total * w.np.sin(x[i % 4]) + i
    return total


def recursion(w: World, x: Any, n: int = 4) -> Any:
    return w.np.sum(x) if n == 0 else w.np.tanh(recursion(w, x * 1.1, n - 1))


def while_value(w: World, x: Any) -> Any:
    y = x.sum()
    while y < 20.0:
        y = y * (1.5 + x[0])
    return y


def trees(w: World, x: Any) -> Any:
    parts = {"a": x * 2, "b": (x[1:], x[0])}
    return (parts["a"] ** 2).sum() + w.np.exp(parts["b"][1]) * parts["b"][0].prod()


def closure(w: World, x: Any) -> Any:
    scale = array(w, W)

    def inner(y: Any) -> Any:
        return (y * scale * x).sum()

    return inner(w.np.cos(x)) ** 2


def inner_gradient(w: World, x: Any) -> Any:
    def inner(y: Any) -> Any:
        return (w.np.sin(y) * x).sum()

    return (w.t.grad(inner)(x) * x).sum()


def matrix(w: World, x: Any) -> Any:
    y = x[:, None] * array(w, M)
    return w.np.log(w.np.exp(y @ y.T).sum())


def pick(w: World, x: Any) -> Any:
    order = w.np.argsort(x)
    return (x[order] * w.np.arange(4.0)).sum() + w.np.where(x > 0.9, x, x**2).sum() + w.np.max(x) * w.np.min(x)


SCALAR: list[Callable[[World, Any], Any]] = [
    branches,
    loop,
    recursion,
    while_value,
    trees,
    closure,
    inner_gradient,
    matrix,
    pick,
    lambda w, x: w.np.sum(x / (1 + x**2)) - w.np.mean(w.np.log(x)) + w.np.sqrt(x[1]),
    lambda w, x: w.np.concatenate([x, x[::-1] ** 2]).reshape(2, 4).sum(axis=0).prod(),
    lambda w, x: w.np.cumsum(x)[2] * w.np.linalg.norm(x) + w.np.dot(x, x),
]


@door
@pytest.mark.parametrize("f", SCALAR, ids=lambda f: f.__name__)
def test_gradients_to_order_two(w: World, f: Any, jax: World) -> None:
    x = array(w, V)
    mine, theirs = functools.partial(f, w), functools.partial(f, jax)
    value, gradient = w.t.value_and_grad(mine)(x)
    same((value, gradient), jax.t.value_and_grad(theirs)(V))
    h = 1e-6
    step = (float(mine(array(w, V + h * W))) - float(mine(array(w, V - h * W)))) / (2 * h)
    assert step == pytest.approx(float((np.asarray(gradient) * W).sum()), rel=1e-5, abs=1e-7)
    forward = w.t.jvp(w.t.grad(mine), (x,), (array(w, W),))[1]
    ahead, behind = (np.asarray(w.t.grad(mine)(array(w, V + s * h * W))) for s in (1, -1))
    np.testing.assert_allclose(np.asarray(forward), (ahead - behind) / (2 * h), rtol=1e-4, atol=1e-6)
    same(w.t.grad(lambda y: (w.t.grad(mine)(y) * array(w, W)).sum())(x), forward, 1e-8)
    same(w.t.grad(lambda y: w.t.jvp(mine, (y,), (array(w, W),))[1])(x), forward, 1e-8)


@door
def test_jacobians(w: World, jax: World) -> None:
    def f(np_: Any, x: Any, y: Any) -> Any:
        return {"s": np_.sin(x) * y, "t": (x[:2] * x[1:3]).sum()}

    x, y = array(w, V), array(w, W[0])
    for name in ("jacfwd", "jacrev"):
        got = getattr(w.t, name)(functools.partial(f, w.np), argnums=(0, 1))(x, y)
        same(got, getattr(jax.t, name)(functools.partial(f, jax.np), argnums=(0, 1))(V, W[0]))
    got = w.t.hessian(functools.partial(matrix, w))(x)
    same(got, jax.t.jit(jax.t.hessian(functools.partial(matrix, jax)))(V), 1e-8)
    same(w.t.jacrev(w.t.jacfwd(functools.partial(matrix, w)))(x), got, 1e-8)
    same(w.t.jacfwd(w.t.jacfwd(functools.partial(matrix, w)))(x), got, 1e-8)
    same(w.t.jacrev(w.t.jacrev(functools.partial(matrix, w)))(x), got, 1e-8)
    jacobian, aux = w.t.jacfwd(lambda x: (x * 2, x[0]), has_aux=True)(x)
    same((jacobian, aux), (2 * np.eye(4), V[0]))


@door
def test_vjp_and_linearize(w: World, jax: World) -> None:
    def f(np_: Any, p: Any, y: Any) -> Any:
        return [np_.exp(p["a"] * y), {"m": p["b"] @ p["a"]}]

    p = {"a": V, "b": rng.standard_normal((2, 4))}
    ours = {k: array(w, x) for k, x in p.items()}
    out, pull = w.t.vjp(functools.partial(f, w.np), ours, array(w, 0.5))
    expected, theirs = jax.t.vjp(functools.partial(f, jax.np), p, 0.5)
    ct = [W, {"m": np.ones(2)}]
    same((out, pull([array(w, W), {"m": array(w, np.ones(2))}])), (expected, theirs(ct)))
    same(pull([array(w, 2 * W), {"m": array(w, np.zeros(2))}]), theirs([2 * W, {"m": np.zeros(2)}]))
    value, linear = w.t.linearize(functools.partial(f, w.np), ours, array(w, 0.5))
    tangents = {"a": W, "b": np.ones((2, 4))}
    want = jax.t.jvp(functools.partial(f, jax.np), (p, 0.5), (tangents, 1.0))
    got = linear({k: array(w, x) for k, x in tangents.items()}, array(w, 1.0))
    same((value, got), want)
    transposed = w.t.linear_transpose(lambda x, y: x * 3.0 - y[1:], array(w, W[1:]), array(w, W))
    same(transposed(array(w, np.ones(3))), ([3.0] * 3, [0.0, -1.0, -1.0, -1.0]))


@door
def test_pullbacks_keep_values_when_arguments_change(w: World) -> None:
    """What a pullback needs is its own, though the argument's owner writes to it."""
    x = array(w, V)
    _, pull = w.t.vjp(lambda x: (x * x) * w.np.sin(x), x)
    want = np.asarray(pull(array(w, np.ones(4)))[0]).copy()
    if w.name == "numpy":
        x[0] = 99.0
    same(pull(array(w, np.ones(4)))[0], want)
    same(want, 2 * V * np.sin(V) + V * V * np.cos(V))


# --- Nesting ----------------------------------------------------------------------------------------------------------


def derivative(f: Any, x: float, order: int) -> float:
    """Of sin(x) exp(x / 2), by its closed form: the imaginary part of exp((i + 1/2) x)."""
    return float((np.exp((0.5 + 1j) * x) * (0.5 + 1j) ** order).imag)


def wrappers(w: World) -> dict[str, Callable[[Any], Any]]:
    """Functions of a number from such functions; those in capitals take a derivative."""
    ones = functools.partial(array, w, 1.0)
    return {
        "GRAD": w.t.grad,
        "JVP": lambda f: lambda x: w.t.jvp(f, (x,), (ones(),))[1],
        "REV": w.t.jacrev,
        "FWD": w.t.jacfwd,
        "VJP": lambda f: lambda x: w.t.vjp(f, x)[1](ones())[0],
        "LIN": lambda f: lambda x: w.t.linearize(f, x)[1](ones()),
        "jit": w.t.jit,
        "checkpoint": w.t.checkpoint,
        "vmap": lambda f: lambda x: w.t.vmap(f)(x * array(w, np.ones(2)))[1],
    }


ORDERS = [
    c
    for n in (2, 3, 4)
    for c in itertools.product(("GRAD", "JVP", "REV", "FWD", "VJP", "LIN", "jit", "checkpoint", "vmap"), repeat=n)
]
CHOSEN = [ORDERS[i] for i in np.random.default_rng(8).permutation(len(ORDERS))[:CASES]]


@door
def test_transformations_nest_in_any_order(w: World) -> None:
    def f(x: Any) -> Any:
        return w.np.sin(x) * w.np.exp(x / 2)

    for names in CHOSEN:
        g: Any = f
        for name in names:
            g = wrappers(w)[name](g)
        order = sum(name.isupper() for name in names)
        assert float(g(array(w, 0.7))) == pytest.approx(derivative(f, 0.7, order), rel=1e-9), names


@door
def test_perturbations_are_not_confused(w: World) -> None:
    assert float(w.t.grad(lambda x: x * w.t.grad(lambda y: x + y)(1.0))(1.0)) == 1.0
    assert float(w.t.grad(lambda x: w.t.grad(lambda y: x * y)(x) * x)(3.0)) == 6.0
    assert float(w.t.grad(lambda x: w.t.jvp(lambda y: x * y * y, (x,), (x,))[1])(2.0)) == pytest.approx(24.0)


@door
def test_a_graph_of_many_operations(w: World) -> None:
    """Walks are iterative."""

    def f(x: Any) -> Any:
        for _ in range(3000):
            x = x * 1.0001 + 0.001
        return x

    assert float(w.t.grad(f)(1.0)) == pytest.approx(1.0001**3000)


# --- Arguments and results --------------------------------------------------------------------------------------------


@door
def test_arguments_of_grad(w: World) -> None:
    def f(x: Any, y: Any, *, k: float = 1.0) -> Any:
        return k * x * y**2

    assert float(w.t.grad(f)(2.0, 3.0)) == 9.0
    assert float(w.t.grad(f, 1)(2.0, 3.0, k=2.0)) == 24.0
    same(w.t.grad(f, (0, 1))(2.0, 3.0), (9.0, 12.0))
    same(w.t.grad(f, -1)(2.0, 3.0), 12.0)
    same(w.t.grad(f, [1, 0])(2.0, 3.0), (12.0, 9.0))
    value, aux = w.t.grad(lambda x: (x**2, {"twice": 2 * x, "text": "kept"}), has_aux=True)(3.0)
    assert float(value) == 6.0 and float(aux["twice"]) == 6.0 and aux["text"] == "kept"
    (value, (extra, _)), gradient = w.t.value_and_grad(lambda x: (x**2, (x, None)), has_aux=True)(3.0)
    assert (float(value), float(extra), float(gradient)) == (9.0, 3.0, 6.0)
    params = {"w": [array(w, V), (array(w, W),)], "none": None}
    gradient = w.t.grad(lambda p: (p["w"][0] * p["w"][1][0]).sum())(params)
    assert gradient["none"] is None and isinstance(gradient["w"][1], tuple)
    same(gradient, {"w": [W, (V,)], "none": None})
    assert w.t.grad(f).__name__ == "f" and "Gradient" in w.t.grad(f).__doc__


@door
def test_integers_and_complex_numbers(w: World, jax: World) -> None:
    def f(x: Any, n: Any) -> Any:
        return (x * n).sum()

    n = array(w, np.arange(4))
    gradient = w.t.grad(f, argnums=(0, 1), allow_int=True)(array(w, V), n)
    assert gradient[1].dtype == jax.t.dtypes.float0 and gradient[1].shape == (4,)
    same(gradient[0], np.arange(4.0))
    z = 1.0 + 2.0j
    got = w.t.grad(lambda z: z**3, holomorphic=True)(array(w, z))
    assert complex(got) == pytest.approx(3 * z**2)
    got = w.t.grad(lambda z: w.np.abs(z) ** 2)(array(w, z))
    assert complex(got) == pytest.approx(complex(jax.t.grad(lambda z: jax.np.abs(z) ** 2)(z)))
    _, tangent = w.t.jvp(lambda n: n * 2, (array(w, np.arange(3)),), (np.zeros(3, jax.t.dtypes.float0),))
    assert tangent.dtype == jax.t.dtypes.float0


def nothing(x: Any) -> Any:
    return x


REFUSED: list[tuple[str, Callable[[World], Any], type, str]] = [
    ("vector", lambda w: w.t.grad(lambda x: x * 2)(array(w, V)), TypeError, r"scalar-output.*had shape: \(4,\)"),
    ("tree", lambda w: w.t.grad(lambda x: (x, x))(1.0), TypeError, "scalar-output"),
    ("int input", lambda w: w.t.grad(lambda x: x * 1.0)(1), TypeError, "real- or complex-valued inputs"),
    ("int output", lambda w: w.t.grad(lambda x: array(w, 1))(1.0), TypeError, "real-valued outputs"),
    ("complex output", lambda w: w.t.grad(lambda x: x * 1j)(1.0), TypeError, "holomorphic"),
    ("real input", lambda w: w.t.grad(nothing, holomorphic=True)(1.0), TypeError, "inputs with complex dtype"),
    ("too few", lambda w: w.t.grad(nothing, argnums=1)(1.0), TypeError, "at least 2 positional"),
    ("no function", lambda w: w.t.grad(3), TypeError, "callable"),
    ("no aux", lambda w: w.t.grad(nothing, has_aux=True)(1.0), TypeError, "two-element tuple"),
    ("no array", lambda w: w.t.grad(nothing)("text"), TypeError, ""),
    ("jvp lists", lambda w: w.t.jvp(nothing, 1.0, 1.0), TypeError, "tuples or lists"),
    ("jvp tree", lambda w: w.t.jvp(nothing, (1.0,), ((1.0, 1.0),)), TypeError, "same tree structure"),
    ("jvp dtype", lambda w: w.t.jvp(nothing, (1.0,), (1,)), TypeError, "dtypes must be equal"),
    ("jvp shape", lambda w: w.t.jvp(nothing, (1.0,), (array(w, V),)), ValueError, "tangent shapes"),
    ("vjp tree", lambda w: w.t.vjp(nothing, 1.0)[1]((1.0, 1.0)), ValueError, "tree structure"),
    ("vjp shape", lambda w: w.t.vjp(nothing, 1.0)[1](array(w, V)), ValueError, "unexpected JAX type"),
    ("vjp args", lambda w: w.t.vjp(nothing, 1.0)[1](1.0, 2.0), TypeError, "single argument"),
    ("jacfwd int", lambda w: w.t.jacfwd(nothing)(array(w, 1)), TypeError, "real-valued inputs"),
    ("jacrev complex", lambda w: w.t.jacrev(lambda x: x * 1j)(1.0), TypeError, "real-valued outputs"),
]


@door
@pytest.mark.parametrize("case", REFUSED, ids=lambda c: c[0])
def test_refusals_are_jaxs(case: Any, w: World, jax: World) -> None:
    _, call, kind, message = case
    with pytest.raises(kind, match=f"(?s){message}"):
        call(w)
    with pytest.raises(kind):
        call(jax)


# --- Rules of one's own -----------------------------------------------------------------------------------------------


def with_rules(w: World) -> dict[str, Any]:
    """Functions whose rules are wrong by a factor of ten, to be told from true derivatives."""
    t, xp = w.t, w.np

    @t.custom_jvp
    def forward(x: Any, y: Any) -> Any:
        return xp.sin(x) * y

    @forward.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        return forward(x, y), 10.0 * xp.cos(x) * dx * y + xp.sin(x) * dy

    @t.custom_vjp
    def reverse(x: Any, y: Any) -> Any:
        return xp.sin(x) * y

    reverse.defvjp(
        lambda x, y: (reverse(x, y), (xp.cos(x), xp.sin(x), y)), lambda r, ct: (10.0 * r[0] * ct * r[2], r[1] * ct)
    )

    @t.custom_vjp
    def pair(p: Any, q: Any) -> Any:
        return {"sum": p["a"] + q, "product": p["a"] * q}

    pair.defvjp(
        lambda p, q: (pair(p, q), (p["a"], q)),
        lambda r, ct: ({"a": ct["sum"] + 10.0 * r[1] * ct["product"], "b": None}, ct["product"] * r[0]),
    )

    @functools.partial(t.custom_jvp, nondiff_argnums=(0,))
    def apply(f: Any, x: Any) -> Any:
        return f(x)

    @apply.defjvp
    def _apply(f: Any, primals: Any, tangents: Any) -> Any:
        return apply(f, *primals), 10.0 * f(primals[0]) * tangents[0]

    @functools.partial(t.custom_vjp, nondiff_argnums=(0, 2))
    def power(f: Any, x: Any, n: Any) -> Any:
        return f(x) ** n

    power.defvjp(lambda f, x, n: (power(f, x, n), x), lambda f, n, x, ct: (10.0 * n * f(x) * ct,))

    @t.custom_jvp
    def parts(x: Any, y: Any) -> Any:
        return x * y

    parts.defjvps(lambda t, out, x, y: 5.0 * t * y, None)

    @t.custom_gradient
    def graded(x: Any) -> Any:
        return x**2, lambda ct: (ct * x * 10.0,)

    return {
        "forward": lambda x: forward(x, 2.0),
        "forward second": lambda y: forward(2.0, y),
        "reverse": lambda x: reverse(x, 2.0),
        "reverse keyword": lambda x: reverse(x, y=2.0),
        "pair": lambda x: pair({"a": x, "b": 1.0}, 3.0)["product"] + pair({"a": 2.0, "b": 1.0}, x)["sum"],
        "apply": lambda x: apply(xp.sin, x),
        "power": lambda x: power(xp.sin, x, 2),
        "parts": lambda x: parts(x, x),
        "graded": graded,
        "nested": lambda x: reverse(forward(x, x), x),
    }


RULES = list(with_rules(DOORS[0]))


@door
@pytest.mark.parametrize("name", RULES)
def test_custom_rules(name: str, w: World, jax: World) -> None:
    f, g = with_rules(w)[name], with_rules(jax)[name]
    x, one = array(w, 0.7), array(w, 1.0)
    same(f(x), g(0.7))
    same(w.t.grad(f)(x), jax.t.grad(g)(0.7))
    same(w.t.grad(w.t.grad(f))(x), jax.t.grad(jax.t.grad(g))(0.7))
    same(w.t.vjp(f, x)[1](one), jax.t.vjp(g, 0.7)[1](1.0))
    same(w.t.vmap(w.t.grad(f))(array(w, V)), jax.t.vmap(jax.t.grad(g))(V))
    same(w.t.grad(lambda x: w.t.vmap(f)(x).sum())(array(w, V)), jax.t.grad(lambda x: jax.t.vmap(g)(x).sum())(V))
    same(w.t.jacrev(w.t.vmap(f))(array(w, V)), jax.t.jacrev(jax.t.vmap(g))(V))
    same(w.t.jit(w.t.grad(f))(x), jax.t.grad(g)(0.7))
    same(w.t.grad(w.t.jit(f))(x), jax.t.grad(g)(0.7))
    if name in ("forward", "forward second", "apply", "parts"):
        same(w.t.jvp(f, (x,), (one,)), jax.t.jvp(g, (0.7,), (1.0,)))
        same(w.t.jacfwd(f)(x), jax.t.jacfwd(g)(0.7))
    else:
        with pytest.raises(TypeError, match="forward-mode"):
            w.t.jvp(f, (x,), (one,))


@door
def test_bad_rules_are_refused(w: World) -> None:
    @w.t.custom_vjp
    def f(x: Any) -> Any:
        return x * 2

    with pytest.raises(AttributeError, match="No VJP defined"):
        f(1.0)
    f.defvjp(lambda x: (f(x), x), lambda r, ct: ct)
    with pytest.raises(TypeError, match="tuple of length"):
        w.t.grad(f)(1.0)
    f.defvjp(lambda x: (f(x), x), lambda r, ct: (array(w, V),))
    with pytest.raises(ValueError, match="so the shapes do not match"):
        w.t.grad(f)(1.0)
    f.defvjp(lambda x: f(x), lambda r, ct: (ct,))
    with pytest.raises(TypeError, match="length two"):
        w.t.grad(f)(1.0)

    @w.t.custom_jvp
    def g(x: Any) -> Any:
        return x * 2

    with pytest.raises(AttributeError, match="No JVP defined"):
        g(1.0)
    g.defjvp(lambda p, t: g(*p))
    with pytest.raises(TypeError, match="must produce a pair"):
        w.t.grad(g)(1.0)
    g.defjvp(lambda p, t: (g(*p), (t[0], t[0])))
    with pytest.raises(TypeError, match="equal container"):
        w.t.grad(g)(1.0)


@door
def test_rules_say_nothing_of_what_is_captured(w: World) -> None:
    """A derivative along a traced value that a function with a rule captures: an error, as in JAX, not zero."""

    def of_jvp(y: Any, z: Any) -> Any:
        f = w.t.custom_jvp(lambda x: x * y)
        f.defjvp(lambda p, t: (f(*p), 10.0 * t[0] * y))
        return f(2.0 * z)

    def of_vjp(y: Any, z: Any) -> Any:
        f = w.t.custom_vjp(lambda x: x * y)
        f.defvjp(lambda x: (x * y, None), lambda r, ct: (10.0 * ct * y,))
        return f(2.0 * z)

    def of_gradient(y: Any, z: Any) -> Any:
        return w.t.custom_gradient(lambda x: (x * y, lambda ct: 10.0 * ct * y))(2.0 * z)

    def reverse(g: Any) -> Any:
        return w.t.grad(g, argnums=0)

    def forward(g: Any) -> Any:
        return lambda y, z: w.t.jvp(lambda y: g(y, z), (y,), (array(w, 1.0),))

    y, z = array(w, 3.0), array(w, 4.0)
    for g in (of_jvp, of_vjp, of_gradient):
        same(w.t.grad(g, argnums=1)(y, z), 60.0)
        same(w.t.jit(w.t.grad(g, argnums=1))(y, z), 60.0)
        for f in (g, w.t.jit(g), w.t.checkpoint(g)):
            for how in (reverse, forward) if g is of_jvp else (reverse,):
                with pytest.raises(UnexpectedTracerError):
                    how(lambda y, z, f=f: f(y, y * z))(y, z)


@door
def test_closure_convert_and_stop_gradient(w: World) -> None:
    stop = w.t.stop_gradient if w.name == "numpy" else w.t.lax.stop_gradient

    def f(z: Any) -> Any:
        converted, extra = w.t.closure_convert(lambda x: w.np.sin(x) * z, array(w, 1.0))
        assert len(extra) == 1
        return converted(array(w, 2.0), *extra)

    assert float(w.t.grad(f)(3.0)) == pytest.approx(math.sin(2.0))
    assert float(w.t.grad(lambda x: stop(x) * x)(3.0)) == 3.0
    assert float(w.t.grad(w.t.grad(lambda x: stop(x) * x**2))(3.0)) == 6.0
    same(w.t.vmap(w.t.grad(lambda x: stop({"a": x})["a"] * x))(array(w, V)), V)
    assert float(w.t.jit(w.t.grad(lambda x: stop(x) * x))(array(w, 3.0))) == 3.0


@door
def test_checkpoint(w: World) -> None:
    calls = []

    def f(x: Any, y: Any) -> Any:
        calls.append(1)
        return w.np.sin(w.np.exp(x) * y).sum()

    policy = getattr(w.t, "checkpoint_policies", None)
    more: Any = {} if policy is None else {"policy": policy.dots_saveable}
    for c in (w.t.checkpoint(f), w.t.remat(f, prevent_cse=False, **more), w.t.checkpoint(static_argnums=())(f)):
        same(w.t.grad(c, (0, 1))(array(w, V), 0.3), w.t.grad(f, (0, 1))(array(w, V), 0.3))
    z = array(w, 2.0)
    assert float(w.t.grad(lambda z: w.t.checkpoint(lambda x: x * z * z)(3.0))(z)) == 12.0
    twice = w.t.checkpoint(lambda x, n: x**n, static_argnums=(1,))
    assert float(w.t.grad(lambda x: twice(x, 3))(2.0)) == 12.0
    calls.clear()
    w.t.grad(w.t.checkpoint(lambda x, y: f(x, y)))(array(w, V), 0.3)
    assert len(calls) == 1


# --- What is left behind ----------------------------------------------------------------------------------------------


def test_nothing_stays_traced() -> None:
    """After a gradient all arrays are ordinary, also those that the function let out."""
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x * 2)
        if x[0] > 0:
            seen.append(x.sum())
        return (x * x).sum()

    x = lazynp.array(V)
    gradient, aux = lazynp.grad(lambda x: (f(x), x), has_aux=True)(x)
    for y in (*seen, gradient, aux):
        node = lazynp.asarray(y * 1.0)._node_()
        assert not any(n.trace for n in toposort([node]))
        verify([node])
    same(seen[0], 2 * V)
    same(aux, V)
    aux[0] = 5.0
    same(x, V)


def test_training_keeps_no_history() -> None:
    """Each step's parameters do not hold the steps before."""
    w = lazynp.array(V)
    step = lazynp.value_and_grad(lambda w: ((w - 1.0) ** 2).sum() if (w > -9).all() else w.sum())
    sizes = []
    for i in range(60):
        _, g = step(w)
        w = w - 0.1 * g
        if i >= 20 and i % 10 == 0:
            float(w[0])
            sizes.append(len(toposort([w._node_()])))
    assert max(sizes) <= 40, sizes
    same(w, 1 + (V - 1) * 0.8**60)


def test_values_under_a_gradient() -> None:
    """Python sees values; what is written to is the function's own."""
    notes: list[Any] = []

    def f(x: Any) -> Any:
        notes.append((float(x[0]), int(x[1] > 0), f"{x[2]:.3f}", x.shape, repr(x.sum() > 0), x.dtype))
        x[0] = 7.0
        return (x * x).sum()

    x = lazynp.array(V)
    same(lazynp.grad(f)(x), np.array([0.0, *2 * V[1:]]))
    same(x, V)
    assert notes[0][0] == V[0] and notes[0][2] == f"{V[2]:.3f}" and notes[0][3] == (4,)


def test_many_threads_at_once() -> None:
    failures: list[Any] = []

    def work(k: int) -> None:
        try:
            for i in range(15):
                f = lambda x: (lazynp.sin(x) * k).sum() * (2.0 if x[0] > 0 else 3.0)
                got = lazynp.grad(f)(lazynp.array(V + i))
                np.testing.assert_allclose(np.asarray(got), 2.0 * k * np.cos(V + i))
                second = lazynp.hessian(f)(lazynp.array(V))
                np.testing.assert_allclose(np.asarray(second), np.diag(-2.0 * k * np.sin(V)), atol=1e-12)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures[0]


def test_graph_of_a_gradient_is_legal() -> None:
    with lazynp.config(mode="graph"):
        g = lazynp.grad(lambda x: inner_gradient(DOORS[0], x))(lazynp.array(V))
        verify([g._node_()])
        assert all(n.trace < KEPT for n in toposort([g._node_()]))
