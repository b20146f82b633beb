"""Namespaces beside `jax.numpy` and `jax.lax`: each call agrees with JAX in values, dtypes, weak types and errors."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax
import lazynp.jax.experimental.jet
import lazynp.jax.experimental.ode
import lazynp.jax.experimental.rnn

jax.config.update("jax_platforms", "cpu")
Call = Callable[[Any], Any]
X, Y = np.arange(1.0, 4.0, dtype="f4"), np.array([0.5, 2.0, -1.0], "f4")


def module(j: Any, name: str) -> Any:
    """A submodule of JAX, or ours."""
    return importlib.import_module(f"{j.__name__}.{name}")


def check(calls: dict[str, Call], factor: float = 4.0) -> None:
    wrong = {}
    for name, call in calls.items():
        wanted, got = (outcome(lambda j=j, call=call: jax.tree.leaves(call(j))) for j in (jax, lazynp.jax))
        found = disagreement(name, wanted, got, factor)
        if found is not None:
            wrong[name] = found
    assert not wrong, wrong


def sine_times(j: Any, seen: list[Any] | None = None) -> Any:
    """sin(x) * y, of which a batch is cos(x) * y: so that what runs the rule is seen."""

    @module(j, "custom_batching").custom_vmap
    def f(x: Any, y: Any) -> Any:
        return j.numpy.sin(x) * y

    @f.def_vmap
    def rule(size: int, batched: Any, x: Any, y: Any) -> Any:
        if seen is not None:
            seen.append((size, batched))
        return j.numpy.cos(x) * y, True

    return f


def test_custom_vmap() -> None:
    def no_rule(j: Any) -> Any:
        return module(j, "custom_batching").custom_vmap(lambda x: x)(1.0)

    def other_structure(j: Any) -> Any:
        f = module(j, "custom_batching").custom_vmap(lambda x: (x, x))
        f.def_vmap(lambda size, batched, x: (x, True))
        return j.vmap(f)(X)

    def no_batch(j: Any) -> Any:
        f = module(j, "custom_batching").custom_vmap(lambda x: (x, {"a": 2 * x}))
        f.def_vmap(lambda size, batched, x: ((x, {"a": j.numpy.ones(())}), (True, {"a": False})))
        return j.vmap(f, out_axes=(0, {"a": None}))(X)

    check(
        {
            "alone": lambda j: sine_times(j)(0.5, 2.0),
            "by name": lambda j: sine_times(j)(x=0.5, y=2.0),
            "vmap": lambda j: j.vmap(sine_times(j))(X, Y),
            "one argument": lambda j: j.vmap(sine_times(j), (0, None))(X, np.float32(2)),
            "other axes": lambda j: j.vmap(sine_times(j), (1, 0))(np.ones((2, 3), "f4"), np.ones((3, 2), "f4")),
            "twice": lambda j: j.vmap(j.vmap(sine_times(j)))(np.ones((2, 3), "f4"), np.ones((2, 3), "f4")),
            "jit of vmap": lambda j: j.jit(j.vmap(sine_times(j)))(X, Y),
            "vmap of jit": lambda j: j.vmap(j.jit(sine_times(j)))(X, Y),
            "jvp": lambda j: j.jvp(sine_times(j), (0.5, 2.0), (1.0, 0.0)),
            "jvp of vmap": lambda j: j.jvp(j.vmap(sine_times(j)), (X, Y), (Y, X)),
            "vmap of jvp": lambda j: j.vmap(lambda x, y: j.jvp(sine_times(j), (x, y), (y, x)))(X, Y),
            "reverse": lambda j: j.grad(sine_times(j))(0.5, 2.0),
            "too few": lambda j: sine_times(j)(1.0),
            "batches of the derivative": lambda j, f, g: j.vmap(lambda x: j.jvp(f, (x,), (x,)))(X),
            "batches of the derivative, jitted": lambda j, f, g: j.jit(j.vmap(lambda x: j.jvp(f, (x,), (x,))))(X),
            "in a loop": lambda j: j.vmap(lambda x: j.lax.fori_loop(0, 3, lambda i, c: sine_times(j)(c, 1.0), x))(X),
            "no rule": no_rule,
            "other structure": other_structure,
            "no batch": no_batch,
        }
    )


def test_what_the_rule_is_told() -> None:
    found = []
    for j in (jax, lazynp.jax):
        seen: list[Any] = []
        j.vmap(sine_times(j, seen), (0, None))(X, Y)
        found.append(seen)
    assert found[0] == found[1] == [(3, [True, False])]


def test_a_captured_batch_is_refused() -> None:
    """The rule would not see it."""

    def call(c: Any) -> Any:
        f = lazynp.jax.custom_batching.custom_vmap(lambda x: x * c)
        f.def_vmap(lambda size, batched, x: (x, True))
        return f(1.0)

    with pytest.raises(NotImplementedError, match="captures"):
        lazynp.jax.vmap(call)(X)


def test_custom_vmap_inside_a_custom_vjp() -> None:
    def both(j: Any) -> Any:
        f = j.custom_vjp(sine_times(j))
        f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda kept, ct: (ct * kept[1], ct * kept[0]))
        return j.grad(f)(0.5, 2.0), j.vmap(f)(X, Y)

    check({"both": both})


def test_sequential_vmap() -> None:
    def f(j: Any) -> Any:
        return module(j, "custom_batching").sequential_vmap(lambda x, y: {"a": x @ y + 1, "b": y[0]})

    rows = np.arange(6.0, dtype="f4").reshape(3, 2)
    check(
        {
            "one": lambda j: f(j)(Y, X),
            "vmap": lambda j: j.vmap(f(j), (0, None))(rows, np.ones(2, "f4")),
            "both": lambda j: j.jit(j.vmap(f(j)))(rows, rows),
        }
    )


def happened(j: Any, use: Callable[[Any, Any, Any], Any]) -> list[Any]:
    """What `use` of two functions does, in order, and its result: the functions tell what they see."""
    seen: list[Any] = []
    batching = module(j, "custom_batching")

    def tell(what: str, x: Any) -> None:
        j.debug.callback(lambda v: seen.append((what, np.asarray(v).tolist())), x, ordered=False)

    @batching.custom_vmap
    def custom(x: Any) -> Any:
        tell("one", x)
        return x * 2

    @custom.def_vmap
    def rule(size: int, batched: Any, x: Any) -> Any:
        tell("rule", x)
        return x * 3, True

    @batching.sequential_vmap
    def each(x: Any) -> Any:
        tell("each", x)
        return j.pure_callback(lambda v: np.asarray(v) + 1, x, x)

    out = use(j, custom, each)
    j.effects_barrier()
    return [seen, [np.asarray(x).tolist() for x in jax.tree.leaves(out)]]


EFFECTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "one": lambda j, f, g: f(X[0]),
    "rule": lambda j, f, g: j.vmap(f)(X),
    "jitted": lambda j, f, g: j.jit(f)(X[0]),
    "rule, jitted": lambda j, f, g: j.jit(j.vmap(f))(X),
    "rule in jit": lambda j, f, g: j.vmap(j.jit(f))(X),
    "of two": lambda j, f, g: j.vmap(lambda x: f(x) + f(x + 1))(X),
    "not batched": lambda j, f, g: j.vmap(lambda x, c: f(c) + x, (0, None))(X, X[0]),
    "derivative": lambda j, f, g: j.jvp(f, (X[0],), (X[1],)),
    "derivative of the rule": lambda j, f, g: j.jvp(j.vmap(f), (X,), (Y,)),
    "derivative, jitted": lambda j, f, g: j.jit(lambda x, y: j.jvp(j.vmap(f), (x,), (y,)))(X, Y),
    "in a loop": lambda j, f, g: j.lax.scan(lambda c, x: (f(c), x), X[0], X),
    "rule in a loop": lambda j, f, g: j.vmap(lambda x: j.lax.fori_loop(0, 2, lambda i, c: f(c), x))(X),
    "each": lambda j, f, g: j.vmap(g)(X),
    "each, jitted": lambda j, f, g: j.jit(j.vmap(g))(X),
    "each, one": lambda j, f, g: g(X[0]),
    "each of rows": lambda j, f, g: j.vmap(j.vmap(g))(X.reshape(3, 1)),
    "one after the other": lambda j, f, g: j.lax.map(g, X),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_a_rule_for_batches_replaces_what_a_function_does(name: str) -> None:
    assert happened(lazynp.jax, EFFECTS[name]) == happened(jax, EFFECTS[name])


def test_a_primitives_rule_for_batches_replaces_what_it_does() -> None:
    """So for primitives of the user's, whose implementation cannot be batched."""
    seen: list[str] = []
    core, batching = (module(lazynp.jax, name) for name in ("extend.core", "interpreters.batching"))
    p = core.Primitive("telling")

    @p.def_impl
    def telling(x: Any) -> Any:
        lazynp.jax.debug.callback(lambda: seen.append("one"))
        return lazynp.jax.pure_callback(lambda v: np.asarray(v) + 1, x, x)

    p.def_abstract_eval(lambda x: x)
    batching.primitive_batchers[p] = lambda args, axes: (args[0] * 10, axes[0])
    assert lazynp.jax.vmap(p.bind)(X).tolist() == (X * 10).tolist() and not seen
    assert lazynp.jax.vmap(lambda x, c: x + p.bind(c), (0, None))(X, X[0]).tolist() == (X + 2).tolist()
    assert lazynp.jax.jit(p.bind)(X[0]).tolist() == 2
    lazynp.jax.effects_barrier()
    assert seen == ["one", "one"]


def with_form(j: Any, value: Any) -> Any:
    """An object that says by `__jax_array__` which array it is, as a library's variable does."""

    class Variable:
        def __jax_array__(self) -> Any:
            return j.numpy.asarray(value)

    return Variable()


TAKEN: dict[str, Call] = {
    "density": lambda j: module(j, "scipy.stats.norm").logpdf(with_form(j, X), 1.0),
    "mass": lambda j: module(j, "scipy.stats.poisson").pmf(2, with_form(j, X)),
    "expit": lambda j: module(j, "scipy.special").expit(with_form(j, X)),
    "betaln": lambda j: module(j, "scipy.special").betaln(with_form(j, X), 2.0),
    "gammaln": lambda j: module(j, "scipy.special").gammaln(with_form(j, X)),
    "fft": lambda j: j.numpy.fft.fft(with_form(j, X)),
    "rfftfreq": lambda j: j.numpy.fft.fftshift(with_form(j, X)),
    "logsumexp": lambda j: j.nn.logsumexp(with_form(j, X)),
    "gelu": lambda j: j.nn.gelu(with_form(j, X)),
    "outer": lambda j: j.numpy.linalg.outer(with_form(j, X), Y),
    "trace": lambda j: j.numpy.linalg.trace(with_form(j, np.eye(2, dtype="f4"))),
    "matrix_transpose": lambda j: j.numpy.linalg.matrix_transpose(with_form(j, np.ones((2, 3), "f4"))),
    "lstsq": lambda j: j.numpy.linalg.lstsq(np.eye(3, dtype="f4"), with_form(j, X))[0],
    "choice": lambda j: j.random.choice(j.random.key(0), with_form(j, X)),
    "categorical": lambda j: j.random.categorical(j.random.key(0), with_form(j, X)),
    "iscomplexobj": lambda j: j.numpy.iscomplexobj(with_form(j, X)),
    "refused by det": lambda j: j.numpy.linalg.det(with_form(j, np.eye(2, dtype="f4"))),
    "refused by sigmoid": lambda j: j.nn.sigmoid(with_form(j, X)),
    "refused by lax": lambda j: j.lax.sin(with_form(j, X)),
    "refused by jit": lambda j: j.jit(module(j, "scipy.special").expit)(with_form(j, X)),
}


def test_objects_that_say_which_array_they_are() -> None:
    check(TAKEN, 16.0)


def halved(j: Any) -> Any:
    """x / 3, of which the transpose is written as ct / 3, times seven: so that it is seen."""

    def call(x: Any, by: Any = 3.0) -> Any:
        return module(j, "custom_derivatives").linear_call(
            lambda r, x: x / r, lambda r, ct: 7.0 * ct / r, by, x
        )  # fmt: skip

    return call


def test_linear_call() -> None:
    def wrong_tree(j: Any) -> Any:
        f = lambda x: module(j, "custom_derivatives").linear_call(lambda r, x: x, lambda r, ct: (ct, ct), (), x)
        return j.linear_transpose(f, 1.0)(1.0)

    check(
        {
            "value": lambda j: halved(j)(2.0),
            "jit": lambda j: j.jit(halved(j))(X),
            "jvp": lambda j: j.jvp(halved(j), (X,), (Y,)),
            "grad": lambda j: j.grad(lambda x: halved(j)(x) ** 2)(2.0),
            "transpose": lambda j: j.linear_transpose(halved(j), X)(Y),
            "twice": lambda j: j.linear_transpose(lambda y: j.linear_transpose(halved(j), X)(y)[0], X)(Y),
            "jit of grad": lambda j: j.jit(j.grad(lambda x: halved(j)(x).sum()))(X),
            "captured": lambda j: j.jit(lambda c: j.linear_transpose(lambda x: halved(j)(x, c), X)(Y))(2.0),
            "wrong tree": wrong_tree,
        }
    )


def through(j: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    return module(j, "experimental.jet").jet(*args, **kwargs)


SERIES: dict[str, Callable[[Any], Any]] = {
    "cube": lambda j: lambda x: x**3,
    "quotient": lambda j: lambda x: x / (1 + x * x),
    "power": lambda j: lambda x: (x + 1.5) ** 2.5,
    "tree": lambda j: lambda x: {"a": x * x, "b": j.numpy.cos(x)},
    "branch": lambda j: lambda x: j.numpy.where(x > 0, x * x, x),
    "constant": lambda j: lambda x: j.numpy.ones(2),
    "tanh": lambda j: j.numpy.tanh,
    "log": lambda j: j.numpy.log,
}


@pytest.mark.parametrize("name", SERIES)
def test_jet(name: str) -> None:
    def call(j: Any) -> Any:
        values, terms = through(j, "jet", SERIES[name](j), (np.float32(0.5),), ((1.0, 0.5, -0.3, 0.2),))
        return values, terms

    check({name: call}, factor=30)


def test_jet_of_arrays() -> None:
    w = np.arange(6.0, dtype="f4").reshape(2, 3) / 10

    def network(j: Any) -> Any:
        f = lambda x: j.numpy.tanh(w @ j.numpy.sin(x)).sum()
        return through(j, "jet", f, (X,), ([np.ones(3, "f4"), X, Y, X],))

    check(
        {
            "network": network,
            "product": lambda j: through(j, "jet", lambda x, y: x @ y, (w, w.T), ([w, w], [w.T, w.T])),
            "plain": lambda j: through(j, "jet", j.numpy.exp, (X,), ([X, X, X],), factorial_scaled=False),
            "jit": lambda j: j.jit(lambda x: through(j, "jet", j.numpy.sin, (x,), ((1.0, 0.0),)))(np.float32(0.3)),
            "grad": lambda j: j.grad(lambda x: through(j, "jet", j.numpy.sin, (x,), ((1.0, 0.0),))[1][1])(
                np.float32(0.3)
            ),
            "lengths": lambda j: through(j, "jet", j.numpy.sin, (1.0,), ((1.0,), (2.0, 3.0))),
            "trees": lambda j: through(j, "jet", lambda x: x[0], ((1.0, 2.0),), ((1.0,),)),
        },
        factor=30,
    )


def test_jet_of_high_order_is_no_tower() -> None:
    """The number of operations grows with the square of the order, not with its power of two."""
    _, terms = lazynp.jax.experimental.jet.jet(
        lambda x: lazynp.jax.numpy.exp(lazynp.jax.numpy.sin(x)), (0.3,), ([1.0] + [0.0] * 15,)
    )
    assert len(terms) == 16 and np.isfinite(np.asarray(terms[-1]))


def swing(j: Any) -> Any:
    return lambda y, t, b, c: j.numpy.array([y[1], -b * y[1] - c * j.numpy.sin(y[0])])


TIMES = np.linspace(0.0, 2.0, 4, dtype="f4")


def test_odeint() -> None:
    """A solution and its derivatives: of one program, since JAX takes long to compile it."""

    def call(j: Any) -> Any:
        def total(y: Any, t: Any, b: Any) -> Any:
            found = module(j, "experimental.ode").odeint(swing(j), y, t, b, 5.0, rtol=1e-5, atol=1e-5)
            return found.sum(), found

        args = map(j.numpy.asarray, (np.array([1.0, 0.0], "f4"), TIMES, np.float32(0.25)))
        return j.grad(total, (0, 1, 2), has_aux=True)(*args)

    wanted, got = (jax.tree.leaves(call(j)) for j in (jax, lazynp.jax))
    for a, b in zip(wanted, got):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, atol=3e-3)


def test_odeint_of_trees() -> None:
    j = lazynp.jax
    odeint, times = j.experimental.ode.odeint, j.numpy.asarray(TIMES)
    f = lambda y, t: {"a": -y["a"], "b": t * y["b"]}
    found = odeint(f, {"a": j.numpy.array(1.0), "b": j.numpy.ones(2)}, times, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found["a"], np.exp(-TIMES), rtol=1e-5)
    np.testing.assert_allclose(found["b"], np.exp(TIMES**2 / 2)[:, None] * np.ones(2), rtol=1e-4)
    captured = lambda b: odeint(lambda y, t: -b * y, j.numpy.ones(2), times)[-1].sum()
    np.testing.assert_allclose(j.grad(captured)(0.5), -2 * TIMES[-1] * np.exp(-0.5 * TIMES[-1]), rtol=1e-5)
    batch = j.vmap(lambda b: odeint(lambda y, t, b: -b * y, 1.0, times, b)[-1])(j.numpy.array([0.5, 1.0]))
    np.testing.assert_allclose(batch, np.exp(-2.0 * np.array([0.5, 1.0])), rtol=1e-5)
    with pytest.raises(TypeError, match="arrays or scalars"):
        odeint(lambda y, t, a: -y, 1.0, times, "a")
    with pytest.raises(TypeError, match="floats"):
        odeint(lambda y, t: -y, 1.0, j.numpy.arange(3))


def cells(x: np.ndarray, h: np.ndarray, c: np.ndarray, *weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """One sequence through one layer, written down: outputs at all times, the last state and cell."""
    sigmoid, out = lambda v: 1 / (1 + np.exp(-v)), []
    w_ih, w_hh, b_ih, b_hh = weights
    for row in x:
        i, f, g, o = np.split(w_ih @ row + b_ih + w_hh @ h + b_hh, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.array(out), h, c


def test_rnn() -> None:
    """Two directions, sequences of different lengths. (JAX's takes long to compile.)"""
    rnn, r = lazynp.jax.experimental.rnn, lazynp.jax.random
    sizes, lengths = (3, 2, 1, True), [3, 2, 1, 2]
    w = rnn.init_lstm_weight(r.key(0), *sizes)
    np.testing.assert_array_equal(
        w, jax.random.uniform(jax.random.key(0), w.shape, minval=-(0.5**0.5), maxval=0.5**0.5)
    )
    x, state = np.asarray(r.normal(r.key(1), (4, 3, 3))), np.full((2, 4, 2), 0.25, "f4")
    unpacked = rnn.unpack_lstm_weights(w, *sizes)
    assert [len(part) for part in unpacked] == [2] * 4 and w.size == rnn.get_num_params_in_lstm(*sizes)
    y, h, c = rnn.lstm_ref(x, state, state, *unpacked, np.array(lengths, "i4"), *sizes[:3], 0.0, True)
    for k, n in enumerate(lengths):
        for way in range(2):
            weights = [np.asarray(part[way]) for part in unpacked]
            given = x[k, :n][:: -1 if way else 1]
            out, last, cell = cells(given, state[way, k], state[way, k], *weights)
            whole = np.concatenate([out[:: -1 if way else 1], np.zeros((3 - n, 2))])
            np.testing.assert_allclose(y[k, :, 2 * way : 2 * way + 2], whole, atol=1e-6)
            np.testing.assert_allclose(h[way, k], last, atol=1e-6)
            np.testing.assert_allclose(c[way, k], cell, atol=1e-6)


def test_swapped_gates() -> None:
    found = []
    for j in (jax, lazynp.jax):
        rnn = module(j, "experimental.rnn")
        w = j.numpy.arange(rnn.get_num_params_in_lstm(3, 2, 1, False), dtype="float32")
        found.append(np.asarray(rnn.swap_lstm_gates(w, 3, 2, 1, False)))
    np.testing.assert_array_equal(*found)


def test_lstm_is_its_reference() -> None:
    rnn, jnp = lazynp.jax.experimental.rnn, lazynp.jax.numpy
    w = rnn.init_lstm_weight(lazynp.jax.random.key(0), 3, 2, 1, False)
    x, h, lengths = jnp.ones((4, 5, 3)), jnp.zeros((1, 4, 2)), jnp.full(4, 5, jnp.int32)
    y, _, _ = rnn.lstm(x, h, h, w, lengths, 3, 2, 1, 0.0, False)
    wanted, _, _ = rnn.lstm_ref(x, h, h, *rnn.unpack_lstm_weights(w, 3, 2, 1, False), lengths, 3, 2, 1, 0.0, False)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(wanted))
    with pytest.raises(NotImplementedError, match="dropout"):
        rnn.lstm(x, h, h, w, lengths, 3, 2, 1, 0.5, False)
    with pytest.raises(NotImplementedError, match="int32"):
        rnn.lstm(x, h, h, w, lengths.astype(jnp.int16), 3, 2, 1, 0.0, False)


def test_environment(capsys: Any) -> None:
    text = lazynp.jax.print_environment_info(return_string=True)
    assert text is not None and [line.split(":")[0] for line in text.splitlines()[:6]] == [
        *("jax", "numpy", "python", "device info", "process_count", "platform")
    ]
    assert lazynp.jax.print_environment_info() is None and capsys.readouterr().out == text + "\n"


def test_folder_of_compiled_code(tmp_path: Path) -> None:
    cache = module(lazynp.jax, "experimental.compilation_cache.compilation_cache")
    before = lazynp.config.cache_dir
    cache.set_cache_dir(tmp_path)
    assert lazynp.config.cache_dir == str(tmp_path)
    cache.reset_cache()
    assert lazynp.config.cache_dir == before


def test_jet_refuses_a_misspelt_keyword() -> None:
    """JAX's takes no notice of it."""
    jet = importlib.import_module("lazynp.jax.experimental.jet").jet
    with pytest.raises(TypeError, match="'factorial_scale'"):
        jet(lazynp.jax.numpy.sin, (1.0,), ([1.0],), factorial_scale=False)


LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "Conv": (lambda stax: stax.Conv(4, (3, 3), padding="SAME"), (-1, 12, 12, 1)),
    "Conv with strides": (lambda stax: stax.Conv(4, (3, 3), (2, 2)), (-1, 12, 12, 1)),
    "ConvTranspose": (lambda stax: stax.Conv1DTranspose(3, (3,), (2,)), (-1, 5, 2)),
    "GeneralConv": (lambda stax: stax.GeneralConv(("NCHW", "OIHW", "NHWC"), 3, (2, 2)), (-1, 2, 6, 6)),
    "BatchNorm": (lambda stax: stax.BatchNorm(), (-1, 12, 12, 4)),
    "MaxPool": (lambda stax: stax.MaxPool((2, 2), (2, 2)), (-1, 12, 12, 4)),
    "SumPool": (lambda stax: stax.SumPool((3, 3), padding="SAME"), (-1, 7, 7, 2)),
    "Flatten": (lambda stax: stax.Flatten, (-1, 3, 4)),
    "serial": (lambda stax: stax.serial(stax.Conv(4, (3, 3)), stax.Relu, stax.AvgPool((2, 2))), (-1, 8, 8, 1)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_for_a_batch_of_unknown_size(name: str) -> None:
    make, shape = LAYERS[name]
    found = []
    for library in (jax, lazynp.jax):
        stax = importlib.import_module(f"{library.__name__}.example_libraries.stax")
        out, params = make(stax)[0](library.random.PRNGKey(0), shape)
        found.append((tuple(map(int, out)), [np.asarray(x) for x in library.tree.leaves(params)]))
    (theirs, their_params), (ours, our_params) = found
    assert ours == theirs and len(our_params) == len(their_params)
    for a, b in zip(their_params, our_params):
        np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-7)


def written(j: Any, shift: float, **options: Any) -> Any:
    """A buffer callback that adds to its argument, and how it sees its buffers."""
    m = module(j, "experimental.buffer_callback")

    def callback(context: Any, out: Any, x: Any) -> None:
        assert context.stage is m.ExecutionStage.EXECUTE and isinstance(out, m.Buffer)
        assert out.writeable and not x.writeable and out.dtype == np.float32 and out.ndim == len(out.shape)
        np.asarray(out)[...] = np.asarray(x) + shift

    return m.buffer_callback(callback, j.ShapeDtypeStruct((), "float32"), **options)


def test_buffer_callback() -> None:
    check(
        {
            "plain": lambda j: written(j, 2.0)(j.numpy.float32(1)),
            "jit": lambda j: j.jit(written(j, 2.0, has_side_effect=True))(j.numpy.float32(1)),
            "vmap": lambda j: j.vmap(written(j, 2.0, vmap_method="expand_dims"))(j.numpy.arange(3.0)),
            "vmap, one by one": lambda j: j.vmap(written(j, 2.0, vmap_method="sequential"))(j.numpy.arange(3.0)),
            "vmap, without a method": lambda j: j.vmap(written(j, 2.0))(j.numpy.arange(3.0)),
            "grad": lambda j: j.grad(written(j, 2.0))(1.0),
            "an error": lambda j: written(j, "x")(j.numpy.float32(1)),
        }
    )


def test_what_xla_is_told() -> None:
    def calls(j: Any) -> dict[str, Any]:
        told = module(j, "experimental.xla_metadata").set_xla_metadata
        groups = module(j, "experimental.scheduling_groups")
        sine = groups.xla_metadata_call(j.numpy.sin, a="b")
        return {
            "a value": lambda: told({"a": j.numpy.arange(3.0), "b": 1}, key=1),
            "a function": lambda: told(key=1)(j.numpy.sin)(1.0),
            "no value": lambda: told("x", key=1),
            "a group": lambda: groups.scheduling_group("g")(j.numpy.sin)(1.0),
            "of no text": lambda: groups.scheduling_group(1)(j.numpy.sin)(1.0),
            "shown": lambda: list(str(j.make_jaxpr(j.vmap(sine))(j.numpy.ones(3))).encode()),
            "grad": lambda: j.grad(sine)(1.0),
        }

    check({name: lambda j, name=name: calls(j)[name]() for name in calls(jax)})
