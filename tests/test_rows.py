"""Reductions of the last axes, and what goes on with them, as one kernel: the same values, and no value lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from seeds import Seeds

import lazynp
from lazynp.runtime import kernels, planner, rows, segment, steps

SEEDS = Seeds("ROWS", 24, 2)
Call = Callable[..., Any]
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "less")
UNARY = ("negative", "abs", "square", "sqrt of", "exp of")


def softmax(np: Any, x: Any) -> Any:
    w = np.exp(x - x.max(axis=-1, keepdims=True))
    w /= w.sum(axis=-1, keepdims=True)
    return w


def normalized(np: Any, x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def scaled(np: Any, x: Any) -> Any:
    """With results that are read elsewhere, too, and more than one reduction of what a reduction went into."""
    low, high = x.min(axis=-1, keepdims=True), x.max(axis=-1, keepdims=True)
    y = (x - low) / (high - low)
    return y, low, (y * y).sum(axis=-1, keepdims=True), y.argmax(-1)


def over_two_axes(np: Any, x: Any) -> Any:
    x = x.reshape(-1, 5, 6)
    return x / np.abs(x).sum(axis=(1, 2), keepdims=True) - x[:, :1, :1]


def written_between(np: Any, x: Any) -> Any:
    x = x.copy()
    top = x.max(axis=1, keepdims=True)
    x[:, 1:3] = 7.0
    y = x - top
    x[0] = y[1]
    return x, y / y.sum(axis=1, keepdims=True)


def without_the_axes(np: Any, x: Any) -> Any:
    """Values of rows that lack the rows' axis, get it, lose it, and are wanted in both forms."""
    total = np.abs(x).sum(axis=1)
    y = x / total[:, None]
    top = y.max(axis=1, keepdims=True)
    flat = top[:, 0]
    return (
        np.log(np.exp(y - top).sum(axis=1)) + flat,
        total,
        flat,
        y * np.sqrt(total)[:, None] - np.reshape(flat, (-1, 1)),
    )


def written_elsewhere(np: Any, x: Any) -> Any:
    other = np.zeros_like(x)
    top = x.max(axis=1, keepdims=True)
    other[:, 2] = 3.0
    y = x - top
    other[5:, 1] = y[5:, 0]
    return y / y.sum(axis=1, keepdims=True), other


def repeated(np: Any, x: Any) -> Any:
    """What is the same along a row, as an array of the whole's shape."""
    top = x.max(axis=1, keepdims=True)
    whole = np.broadcast_to(top, x.shape)
    low = np.broadcast_to(x.min(axis=1, keepdims=True), x.shape)
    return (x - whole) * low, low, (low - 1.0).sum(axis=1), ((low + 1.0) * whole).sum(axis=1, keepdims=True) - x


PROGRAMS = [softmax, normalized, scaled, over_two_axes, without_the_axes, written_elsewhere, written_between]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """For each time that steps which are together were to be run, whether the kernel did it. No plan is an old one."""
    found: list[bool] = []
    parts = rows.Rows.parts

    def noted(self: Any, env: Any) -> Any:
        done = parts(self, env)
        found.append(getattr(done, "gi_code", None) is rows.Rows.ending.__code__)
        return done

    monkeypatch.setattr(rows.Rows, "parts", noted)
    segment.plans.clear()
    segment.exact_plans.clear()
    yield found


def values(out: Any) -> list[numpy.ndarray]:
    return [numpy.asarray(v) for v in (out if isinstance(out, tuple) else (out,))]


def close(found: Any, wanted: Any, what: Any, dtype: str = "f8") -> None:
    for a, b in zip(values(found), values(wanted), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), what
        tolerance = 0 if a.dtype.kind in "ib" else 1e3 * max(numpy.finfo(t).eps for t in (a.dtype, dtype))
        scale = numpy.nanmax(abs(b), initial=1e-30, where=numpy.isfinite(b)) if tolerance else 0
        numpy.testing.assert_allclose(a, b, tolerance, tolerance * scale, err_msg=str(what))


@pytest.mark.compiles
@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_programs(mode: str, counted: list[bool]) -> None:
    hosts = [
        numpy.random.default_rng(0).standard_normal((n, 30)).astype(t) for n in (40_000, 41_001) for t in ("f4", "f8")
    ]
    with lazynp.config(mode=mode, compile_after=0.0, compile_nice=0):
        for _ in range(2):
            counted.clear()
            for f in PROGRAMS:
                for x in hosts:
                    close(f(lazynp, lazynp.array(x)), f(numpy, x), f.__name__)
            assert lazynp.compile_wait(240)
    # A write parts what it stands between; small arrays of few bytes are done at once; one program has two groups.
    whole = len(hosts) * (len(PROGRAMS) - 1)
    assert all(counted) and (len(counted) >= whole if mode == "graph" else len(counted) > whole // 2)


def random_program(rng: Any, shape: tuple[int, ...], axes: int) -> Call:
    """Over arrays, rows and numbers; what it returns is chosen at random, too."""
    chosen = [(str(rng.choice(["reduce", "reduce", "binary", "binary", "unary"])), *rng.random(3)) for _ in range(12)]
    wanted = rng.random(3)
    along = tuple(range(-axes, 0))

    def program(np: Any, x: Any, row: Any, column: Any, one: Any) -> Any:
        made = [x, row, column, one, 2.0, x * one]
        for kind, a, b, which in chosen:
            first = made[int(a * len(made))]
            if kind == "reduce" and np.shape(first) == shape:
                name = ("sum", "max", "min", "mean")[int(which * 4)]
                made.append(getattr(first, name)(axis=along, keepdims=bool(b < 0.6)))
            elif kind == "reduce" and np.shape(first) == (shape[0], *(1,) * axes):
                made.append(first.reshape(shape[0]))
            elif kind == "reduce" and np.shape(first) == shape[:1]:
                made.append(first.reshape(shape[0], *(1,) * axes))
            elif kind == "unary":
                name = UNARY[int(which * len(UNARY))]
                value = np.minimum(np.abs(first), 3.0) if " of" in name else first
                made.append(getattr(np, name.removesuffix(" of"))(value))
            else:
                name = BINARY[int(which * len(BINARY))]
                other = made[int(b * len(made))]
                if (shape[0],) in (np.shape(first), np.shape(other)) and np.shape(first) != np.shape(other):
                    other = 2.0  # or they would meet along other axes, and grow
                value = getattr(np, name)(first, other)
                made.append(value * 1.0 if name == "less" else value * 0.5)
        made = made[6:]
        return tuple([made[int(k * len(made))] for k in wanted] + made[-1:])

    return program


@pytest.mark.compiles
@pytest.mark.parametrize("block", SEEDS.blocks)
def test_random_programs(block: int, counted: list[bool]) -> None:
    jobs = []
    for seed in SEEDS.of(block):
        rng = numpy.random.default_rng(seed)
        axes = int(rng.integers(1, 3))
        shape = (int(rng.integers(60, 90)), *[int(n) for n in rng.integers(2, 40, axes)])
        dtype = rng.choice(["f4", "f8"])
        x = rng.standard_normal(shape).astype(dtype)
        x = numpy.asfortranarray(x) if rng.random() < 0.2 else x
        last = shape[1:]
        operands = [x, rng.standard_normal((shape[0], *(1,) * axes)), rng.standard_normal(last), rng.standard_normal()]
        jobs.append((seed, random_program(rng, shape, axes), [numpy.asarray(v, dtype) for v in operands], dtype))
    with lazynp.config(mode="graph", compile_after=0.0, compile_nice=0):
        for _ in range(2):
            for seed, f, operands, dtype in jobs:
                with numpy.errstate(all="ignore"):
                    close(f(lazynp, *map(lazynp.array, operands)), f(numpy, *operands), seed, dtype)
            assert lazynp.compile_wait(600)
    assert any(counted) or len(jobs) < 10


@pytest.mark.compiles
def test_numbers_that_are_none(counted: list[bool]) -> None:
    x = numpy.random.default_rng(1).standard_normal((500, 11))
    x[3, 4], x[5, 6], x[7, 1:3], x[9] = numpy.nan, numpy.inf, -numpy.inf, 0.0
    with lazynp.config(mode="graph", compile_after=0.0, compile_nice=0), numpy.errstate(all="ignore"):
        for _ in range(2):
            for f in (softmax, normalized):
                for dtype in ("f4", "f8"):
                    found, wanted = (numpy.asarray(f(np, np.array(x.astype(dtype)))) for np in (lazynp, numpy))
                    numpy.testing.assert_array_equal(numpy.isnan(found), numpy.isnan(wanted))
                    close(found[10:], wanted[10:], f.__name__)
            assert lazynp.compile_wait(600)
    assert any(counted)


def hyperbolic(np: Any, x: Any) -> Any:
    y = np.tanh(x) - x.min(axis=1, keepdims=True)
    return y / y.sum(axis=1, keepdims=True)


def test_parts_of_it_are_not_compiled_for_their_own_sake(counted: list[bool]) -> None:
    """While the kernel in their place may come."""
    x = lazynp.array(numpy.random.default_rng(2).standard_normal((700, 13)))
    asked: list[Any] = []
    with pytest.MonkeyPatch.context() as patch, lazynp.config(mode="graph", compile=True, compile_after=1e9):
        patch.setattr(kernels.Form, "charge", lambda self, seconds, hasten: asked.append(self.spec))
        numpy.asarray(hyperbolic(lazynp, x))
    assert counted == [False] and len(asked) == 1
    assert [i.params[0] for i in asked[0].body if i.op == "reduce"] == ["minimum", "add"]


def test_what_could_not_be_computed_is_passed_on() -> None:
    plan, seg = plan_of(softmax, numpy.ones((700, 13)))
    env = steps.Environment(seg, [steps.Failure(ValueError("no value"))], plan.n_nodes)
    env.values += [None] * (plan.n_leaves + plan.n_nodes - len(env.values))
    plan.run(env)
    assert [str(env.values[o].error) for o in plan.out] == ["no value"]


def test_few_rows_and_long_ones_run_step_by_step() -> None:
    x = numpy.random.default_rng(4).standard_normal((4, 5000))
    step = next(s for s in plan_of(softmax, x)[0].steps if type(s) is rows.Rows)
    assert not step.is_worth_it((4, 5000)) and not step.is_worth_it((1000, 1 << 20)) and step.is_worth_it((1000, 100))


def plan_of(f: Call, x: numpy.ndarray) -> Any:
    made: list[Any] = []
    with pytest.MonkeyPatch.context() as patch, lazynp.config(mode="graph"):
        segment.plans.clear()
        segment.exact_plans.clear()
        patch.setattr(
            segment, "make_plan", lambda *args: made.append((planner.make_plan(*args), args[0])) or made[-1][0]
        )
        numpy.asarray(f(lazynp, lazynp.array(x)))
    return made[0]
