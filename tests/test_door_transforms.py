"""`grad`, `vmap` and `jit` of NumPy programs, with their writes in place: against finite differences of NumPy's own
results, against loops, and against the same without `jit`."""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from door_cases import cases

import lazynp
from lazynp.errors import JAXIndexError
from lazynp.graph.errors import NotConcreteError
from lazynp.tree import leaves

EXAMPLES = Path(__file__).parent.parent / "examples"
THEIRS, OURS = cases(np), cases(lazynp)
NEEDS_VALUES: dict[str, str] = {
    "branch": "if x[0] > 0",
    "python": "max, and",
    "mask": "the length of a selection",
    "unique": "the length of the result",
}
"""Cases in which Python has to know a value: they are for `grad` alone, and errors under `jit` and `vmap`."""
pytestmark = pytest.mark.filterwarnings("ignore")


def slope(f: Callable[..., Any], xs: Any, vs: Any, h: float = 1e-6) -> float:
    """The derivative of f at xs along vs."""
    ahead, behind = (float(f(*[x + s * h * v for x, v in zip(xs, vs)])) for s in (1, -1))
    return (ahead - behind) / (2 * h)


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("name", OURS)
def test_gradients(name: str, mode: str) -> None:
    (f, arrays), (theirs, _) = OURS[name], THEIRS[name]
    vs = [np.random.default_rng(3).standard_normal(x.shape) for x in arrays]
    with lazynp.config(mode=mode):
        value, found = lazynp.value_and_grad(f, argnums=tuple(range(len(arrays))))(*[lazynp.array(x) for x in arrays])
        got = sum(float((np.asarray(g) * v).sum()) for g, v in zip(found, vs))
    assert float(value) == pytest.approx(float(theirs(*[x.copy() for x in arrays])), rel=1e-9)
    assert got == pytest.approx(slope(theirs, arrays, vs), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", OURS)
def test_jit_and_vmap(name: str) -> None:
    (f, arrays), (theirs, _) = OURS[name], THEIRS[name]
    given = [lazynp.array(x) for x in arrays]
    batches = [np.stack([x, x * 0.9, x * 1.1]) for x in arrays]
    if name in NEEDS_VALUES:
        for g, xs in ((lazynp.jit(f), given), (lazynp.vmap(f), [lazynp.array(b) for b in batches])):
            with pytest.raises((NotConcreteError, JAXIndexError)):
                g(*xs)
        return
    jitted = lazynp.jit(f)
    for _ in range(2):
        assert float(jitted(*given)) == pytest.approx(float(theirs(*arrays)), rel=1e-9)
    loop = [float(theirs(*[b[i] for b in batches])) for i in range(3)]
    np.testing.assert_allclose(np.asarray(lazynp.vmap(f)(*[lazynp.array(b) for b in batches])), loop, rtol=1e-9)
    gradients = lazynp.vmap(lazynp.grad(f))(*[lazynp.array(b) for b in batches])
    for i in range(3):
        one = lazynp.grad(f)(*[lazynp.array(b[i]) for b in batches])
        np.testing.assert_allclose(np.asarray(gradients)[i], np.asarray(one), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        np.asarray(lazynp.jit(lazynp.grad(f))(*given)), np.asarray(lazynp.grad(f)(*given)), rtol=1e-9, atol=1e-12
    )


# --- The example programs ---------------------------------------------------------------------------------------------


def program(name: str, ours: bool) -> Any:
    """An example, on NumPy or on lazynp."""
    module = types.ModuleType(name)
    text = (EXAMPLES / f"{name}.py").read_text()
    exec(
        compile(text.replace("import numpy as np", "import lazynp as np") if ours else text, name, "exec"), vars(module)
    )
    return module


def heat(module: Any, xp: Any) -> Any:
    (u,) = module.inputs(10)
    return lambda u: (module.compute(5, u)["u"] ** 2).sum(), np.asarray(u)


def nbody(module: Any, xp: Any) -> Any:
    position, velocity, mass = [np.asarray(x) for x in module.inputs(6)]

    def loss(p: Any) -> Any:
        out = module.compute(4, p, xp.array(velocity), xp.array(mass))
        return (out["position"] ** 2).sum() + out["kinetic"]

    return loss, position


def kmeans(module: Any, xp: Any) -> Any:
    points, centres = [np.asarray(x) for x in module.inputs(40)]
    return lambda c: module.compute(2, xp.array(points), c)["inertia"], centres


def kmeans_points(module: Any, xp: Any) -> Any:
    points, centres = [np.asarray(x) for x in module.inputs(40)]
    return lambda x: module.compute(3, x, xp.array(centres))["inertia"], points


def kmeans_weights(module: Any, xp: Any) -> Any:
    """The same steps with weights in place of selections, whose lengths only the values know."""
    points, centres = [np.asarray(x) for x in module.inputs(40)]

    def loss(centres: Any) -> Any:
        x = xp.array(points)
        for _ in range(2):
            distances = ((x[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
            labels = distances.argmin(axis=1)
            for k in range(len(centres)):
                members = (labels == k) * 1.0
                count = members.sum()
                centres[k] = xp.where(count > 0, members @ x / xp.maximum(count, 1.0), centres[k])
        return distances.min(axis=1).sum()

    return loss, centres


def mlp(module: Any, xp: Any) -> Any:
    x, digits = [np.asarray(v) for v in module.inputs(50)]
    return lambda x: (module.compute(2, x, xp.array(digits))["w2"] ** 2).sum(), x


PROGRAMS = {
    "heat": heat,
    "nbody": nbody,
    "kmeans": kmeans,
    "kmeans points": kmeans_points,
    "kmeans weights": kmeans_weights,
    "mlp": mlp,
}


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, mode: str) -> None:
    file = name.split()[0]
    if file == "mlp":
        pytest.importorskip("sklearn", reason="ships the digits")
    loss, x = PROGRAMS[name](program(file, True), lazynp)
    reference, _ = PROGRAMS[name](program(file, False), np)
    v = np.random.default_rng(5).standard_normal(x.shape)
    with lazynp.config(mode=mode):
        given = lazynp.array(x)
        gradient = np.asarray(lazynp.grad(loss)(given))
        np.testing.assert_array_equal(np.asarray(given), x)  # what is written to is a copy
        assert float((gradient * v).sum()) == pytest.approx(slope(lambda x: reference(x.copy()), [x], [v]), rel=1e-4)
        forward = lazynp.jvp(loss, (given,), (lazynp.array(v),))[1]
        assert float(forward) == pytest.approx(float((gradient * v).sum()), rel=1e-9)
        batch = np.stack([x, x * 1.1, x * 0.9])
        if name in ("kmeans", "kmeans points"):
            with pytest.raises(JAXIndexError, match="boolean"):
                lazynp.jit(loss)(given)
            return
        want = [float(reference(b.copy())) for b in batch]
        np.testing.assert_allclose(np.asarray(lazynp.vmap(loss)(lazynp.array(batch))), want, rtol=1e-9)
        jitted, differentiated = lazynp.jit(loss), lazynp.jit(lazynp.grad(loss))
        for _ in range(2):
            assert float(jitted(lazynp.array(x))) == pytest.approx(want[0], rel=1e-9)
            np.testing.assert_allclose(np.asarray(differentiated(lazynp.array(x))), gradient, rtol=1e-7, atol=1e-10)


def test_jit_writes_into_its_arguments_as_the_program_does() -> None:
    module = program("heat", True)
    (u,), (v,) = module.inputs(10), module.inputs(10)
    module.compute(3, u)
    lazynp.jit(lambda u: module.compute(3, u)["u"].sum())(v)
    np.testing.assert_allclose(np.asarray(u), np.asarray(v), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["nanmin", "nanmax", "nanmean", "nanvar", "nanstd", "nanmedian", "nanpercentile"])
def test_lines_with_and_without_numbers(name: str, dtype: str) -> None:
    """Without a value, under `jit`: NumPy's dtypes and values, NaN where a line has nothing else."""
    x = np.random.default_rng(0).standard_normal((4, 5)).astype(dtype)
    x[x > 0.7] = x[2] = np.nan
    more: tuple[Any, ...] = (40,) if name == "nanpercentile" else ()
    for options in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)}):
        want = getattr(np, name)(x, *more, **options)
        got = lazynp.jit(lambda v, options=options: getattr(lazynp, name)(v, *more, **options))(lazynp.array(x))
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5 if dtype == "f4" else 1e-12)


def test_what_cannot_be_traced_says_so() -> None:
    x = lazynp.array([1.0, 2.0])
    with pytest.raises(NotConcreteError, match="computed by NumPy"):
        lazynp.grad(lambda x: lazynp.frompyfunc(float, 1, 1)(x).sum())(x)
    with pytest.raises(NotConcreteError, match="boolean"):
        lazynp.jit(lambda x: x if x.sum() > 0 else -x)(x)
    with pytest.raises(NotConcreteError):
        lazynp.jit(lambda x: x * float(x.sum()))(x)
    with pytest.raises(NotConcreteError):
        lazynp.jit(lambda x: np.asarray(x).sum())(x)
    assert repr(lazynp.jit(lambda x: notes.append(repr(x)) or x)(x)) == "array([1., 2.])"
    assert notes == ["Traced<float64[2]>"]


notes: list[str] = []


SMALL: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda x, y: x * 2 + y,
    "two results": lambda x, y: (x + y, {"product": x * y}),
    "one result twice": lambda x, y: [x - y] * 2,
    "an argument": lambda x, y: (x, x + y),
    "an argument alone": lambda x, y: y,
    "a view": lambda x, y: ((x + y).T, y[::-1]),
    "a constant": lambda x, y: (x + y, lazynp.arange(3.0)),
    "reductions": lambda x, y: (lazynp.sum(x), lazynp.max(x + y, axis=0)),
    "a product": lambda x, y: x @ y.T,
    "a choice": lambda x, y: lazynp.where(x > y, x, 0),
    "zero divided": lambda x, y: (x - x) / (y - y),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_calls_of_jitted_functions(name: str) -> None:
    """Whatever runs them: results are the function's, nobody else's, and of the arguments as they are at the call."""
    f = SMALL[name]
    jitted = lazynp.jit(f)
    whole = lazynp.arange(24.0).reshape(4, 6)
    arguments: list[tuple[Any, Any]] = [
        (lazynp.ones((4, 6)), whole),
        (whole, lazynp.ones((4, 6)) * 2),
        (whole[1:3], whole[2:]),
        (whole[:, ::2], whole[:, 1::2]),
        (whole.T, whole.T + 1),
        (lazynp.arange(6), lazynp.arange(6)[::-1]),
        (lazynp.ones((4, 6), "float32"), np.full((4, 6), 3.0)),
        (whole, 2.0),
        (3, whole),
    ]
    for _ in range(3):
        for x, y in arguments:
            if np.ndim(x) * np.ndim(y) == 0 and name in ("a product", "a view", "an argument alone"):
                continue
            before = [np.array(z) for z in (x, y)]
            with np.errstate(all="ignore"):
                wanted = [np.array(z) for z in leaves(f(x, y))]
            got = leaves(jitted(x, y))
            for w, g in zip(wanted, got, strict=True):
                assert type(g) is lazynp.ndarray and g.dtype == w.dtype
                np.testing.assert_array_equal(np.array(g), w)
            for k, g in enumerate(got):  # each is its own
                g[...] = 7 + k
            assert [np.array(g).ravel()[0] for g in got if g.size] == [7 + k for k, g in enumerate(got) if g.size]
            for z, b in zip((x, y), before):
                np.testing.assert_array_equal(np.array(z), b)
        whole += 1


def test_a_small_jitted_call_sees_what_is_pending() -> None:
    """Operations that were recorded, or matched in a replayed loop, come before it."""
    f = lazynp.jit(lambda x: x * 0.5 + 1)
    for n in (10, 250_000):
        x, want = lazynp.ones(n), np.ones(n)
        for k in range(200 if n == 10 else 5):
            x[1:] += x[:-1] * 0.25
            want[1:] += want[:-1] * 0.25
            x, want = f(x), want * 0.5 + 1
            x -= k * 0.01
            want -= k * 0.01
        np.testing.assert_array_equal(np.array(x), want)
    for mode in ("graph", "eager"):
        with lazynp.config(mode=mode):
            assert f(lazynp.ones(3)).tolist() == [1.5] * 3


NUMBERS: dict[str, Callable[..., Any]] = {
    "choose": lambda np, x: np.choose(np.array([0, 1, 0]), [x, 0]),
    "where": lambda np, x: np.where(np.array([True, False]), x, 0),
    "where int32": lambda np, x: np.where(np.array([True, False]), np.arange(2, dtype="i4"), x),
    "concatenate": lambda np, x: np.concatenate([np.arange(3), np.atleast_1d(x)]),
    "concatenate many": lambda np, x: np.concatenate([np.arange(200_000), np.atleast_1d(x)])[-3:],
    "stack": lambda np, x: np.stack([np.array(x), np.array(2)]),
    "append": lambda np, x: np.append(np.arange(3), x),
    "pad": lambda np, x: np.pad(np.arange(3), 1, constant_values=x),
    "outer": lambda np, x: np.outer(x, np.arange(3)),
    "sum": lambda np, x: np.sum([x, x]) + np.sum(x),
    "tile": lambda np, x: np.tile(x, 3),
    "sort": lambda np, x: np.sort(np.array([x, 1, 2])),
    "matrix": lambda np, x: np.array([[x, 0], [0, x]]) @ np.arange(2),
    "transform": lambda np, x: np.fft.fft(np.array([x, 1.0])),
    "reshape": lambda np, x: np.reshape(x, (1, 1)),
    "int32": lambda np, x: np.ones(3, "i4") + x,
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("number", [3, 2.5, True])
def test_numbers_as_arguments_of_jitted_functions(name: str, number: Any) -> None:
    f = NUMBERS[name]
    jitted = lazynp.jit(lambda x: f(lazynp, x))
    for _ in range(2):
        want, got = np.asarray(f(np, number)), np.asarray(jitted(number))
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want)
