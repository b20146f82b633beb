"""The JAX door, `jit`, loops and keys on a device: what the host gives, up to rounding, and what is there stays there.

All runs on the device "torch", which is torch's operations in main memory, and on a GPU where there is one.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE
from test_device import DEVICES, close

import lazynp
import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp.config import config
from lazynp.flags import flags
from lazynp.runtime.device import DeviceBuffer, device_of
from lazynp.runtime.profile import profile as counters

lax, R = jax.lax, jax.random
ROWS = np.random.default_rng(0).random((300, 200), dtype=np.float32)
LARGE = np.random.default_rng(1).random((600, 400), dtype=np.float32)  # for mode "auto" to compute it there


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    with config(device=request.param):
        yield request.param


def buffer_of(x: Any) -> Any:
    return x.node.buffer


def body(x: Any) -> Any:
    return lambda c, t: (jnp.sin(c * 0.5 + t), c.sum())


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: (jnp.tanh(x) * 2 + x, x > 0.5, x.astype(int) // 3),
    "scan": lambda x: lax.scan(lambda c, t: (c * 0.5 + t, (c.sum(), c)), x, jnp.arange(5.0)),
    "scan in reverse": lambda x: lax.scan(
        lambda c, t: (c.at[t].set(c[t] * 2 + 1), c[t]), x, jnp.arange(7), reverse=True
    ),
    "scan that swaps": lambda x: lax.scan(lambda c, t: ((c[1], c[0] + t), c[0]), (x, x + 1), jnp.arange(3.0)),
    "scan to what it reads": lambda x: lax.scan(lambda c, t: (x, c + t), x * 3, jnp.arange(3.0)),
    "scan over rows": lambda x: lax.scan(lambda c, t: (t.at[0].set(9.0), c), x[0], x),
    "scan to one value twice": lambda x: lax.scan(
        lambda c, t: ((c[0].at[0].add(t),) * 2, c[1]), (x, x), jnp.arange(3.0)
    ),
    "fori_loop": lambda x: lax.fori_loop(0, 5, lambda i, c: c.at[i].add(c[i + 1]), x),
    "while_loop": lambda x: lax.while_loop(lambda c: c.sum() < 1e6, lambda c: c * 2, x),
    "cond": lambda x: lax.cond(x.sum() > 3, lambda x: x * 2, lambda x: x - 1, x),
    "switch": lambda x: lax.switch(2, [lambda x: x * 2, lambda x: x - 1, jnp.sin], x),
    "gradient of a scan": jax.grad(lambda x: lax.scan(body(x), x, jnp.arange(5.0))[1].sum()),
    "scan under vmap": jax.vmap(lambda x: lax.scan(body(x), x, jnp.arange(5.0))),
    "checkpoint": jax.grad(jax.checkpoint(lambda x: jnp.tanh(x @ x.T).sum())),
    "hessian": lambda x: jax.hessian(lambda v: (jnp.sin(v) * v).sum())(x[0]),
    "order": lambda x: (jnp.sort(x, 0), jnp.argsort(x), lax.top_k(x, 3), jnp.cumsum(x, 1)),
    "fft": jnp.fft.fft,
    "bfloat16": lambda x: x.astype(jnp.bfloat16) * 2,
    "int4": lambda x: (x * 5).astype(jnp.int4).astype(jnp.int32),
    "convolutions": lambda x: (
        lax.conv(x[None, None], x[None, None, :3, :3], (1, 1), "SAME"),
        lax.conv_general_dilated(x[None, None], x[None, None, :3, :2], (2, 1), ((2, -1), (0, 3)), (1, 2), (2, 1)),
        lax.conv_general_dilated(
            x[:32].reshape(4, 4, -1), x[:8, :12].reshape(8, 4, -1), (1,), ((0, 0),), batch_group_count=2
        ),
        lax.conv_general_dilated(
            x[:32].reshape(4, 4, -1), x[:8, :6].reshape(8, 2, -1), (1,), ((1, 1),), feature_group_count=2
        ),
    ),
    "scatters": lambda x: [
        getattr(x.at[jnp.array([3, 5, 3, 400]), jnp.array([0, 1, 0, 2])], how)(jnp.arange(4.0), mode="drop")
        for how in ("set", "add", "multiply", "min", "max")
    ],
    "segments": lambda x: jax.ops.segment_sum(x, jnp.arange(300) % 7, 7),
    "gather": lambda x: (x[jnp.array([5, -1, 2])], x.at[jnp.array([1, 900])].get(mode="fill", fill_value=7), x[3, 4]),
    "slices at computed places": lambda x: (
        lax.dynamic_update_slice(x, x[:2, :2], (jnp.int32(5), jnp.int32(250))),
        lax.dynamic_slice(x, (jnp.int32(299), x[0, 0].astype(int)), (3, 4)),
    ),
    "products": lambda x: (jnp.einsum("ij,kj->ik", x, x), jax.nn.softmax(x), jax.nn.gelu(x)),
    "solves": lambda x: jnp.linalg.solve(x.T @ x + 200 * jnp.eye(200), x.T),
    "triangles": lambda x: jax.scipy.linalg.solve_triangular(jnp.tril(x[:200]) + 90 * jnp.eye(200), x.T, lower=True),
    "eigenvalues": lambda x: jnp.linalg.eigvalsh(x.T @ x / 1000),
    "callback": lambda x: jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x),
    "trees": lambda x: {"a": x, "b": (x + 1, [x])},
}


def leaves(tree: Any) -> list[Any]:
    return [np.asarray(x) for x in jax.tree.leaves(tree)]


def near(got: Any, wanted: Any) -> None:
    got, wanted = leaves(got), leaves(wanted)
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        kind = np.complex128 if b.dtype.kind == "c" else np.float64
        a, b = a.astype(kind), b.astype(kind)
        np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5 * np.abs(b).max(initial=1.0))


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_recorded_and_jitted(name: str, mode: str, device: str) -> None:
    f = FUNCTIONS[name]
    with config(device="cpu"):
        x = jnp.asarray(ROWS)
        wanted = f(x)
    with config(mode=mode):
        near(f(jnp.asarray(ROWS)), wanted)
        near(jax.jit(f)(jnp.asarray(ROWS)), wanted)


DRAWS: dict[str, Callable[[Any], Any]] = {
    "words": lambda k: R.bits(k, (300, 200)),
    "uniform": lambda k: R.uniform(k, (300, 200), minval=-2, maxval=5),
    "normal": lambda k: R.normal(k, (300, 200)),
    "truncated": lambda k: R.truncated_normal(k, -1, 1, (300, 200)),
    "others": lambda k: [d(k, (300, 200)) for d in (R.gumbel, R.laplace, R.exponential, R.cauchy, R.logistic)],
    "integers": lambda k: (R.randint(k, (300, 200), -5, 100_000), R.randint(k, (300, 200), 0, 2**31 - 1)),
    "order": lambda k: (R.permutation(k, 5000), R.choice(k, 1000, (300, 200))),
    "chances": lambda k: (R.bernoulli(k, 0.3, (300, 200)), R.categorical(k, jnp.ones((300, 100)))),
    "gamma": lambda k: R.gamma(k, 2.0, (300, 200)),
    "bfloat16": lambda k: R.normal(k, (300, 200), jnp.bfloat16),
    "many keys": lambda k: R.key_data(R.split(k, 3000).reshape(300, 10).T[::-1, 2:50]),
    "folded": lambda k: R.normal(R.fold_in(k, 7), (300, 200)),
    "chosen": lambda k: R.normal(jnp.where(True, k, R.key(5)), (300, 200)),
    "under vmap": lambda k: jax.vmap(lambda k: R.normal(k, (300,)))(R.split(k, 300)),
    "in a scan": lambda k: lax.scan(
        lambda c, k: (c + R.normal(k, (300, 200)), None), jnp.zeros((300, 200)), R.split(k, 4)
    ),
    "carried": lambda k: lax.fori_loop(
        0, 4, lambda i, s: (R.split(s[0])[0], s[1] + R.normal(s[0], (300, 200))), (k, jnp.zeros((300, 200)))
    )[1],
}


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("name", DRAWS)
def test_draws(name: str, mode: str, device: str) -> None:
    f = DRAWS[name]
    with config(device="cpu"):
        wanted = f(R.key(3))
    with config(mode=mode):
        near(f(R.key(3)), wanted)
        near(jax.jit(f)(R.key(3)), wanted)


# Graphs as one piece.

PIECES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "gradient": (jax.grad(lambda x: (jax.nn.softmax(x) ** 2).sum()), (ROWS,)),
    "writes": (lambda x: x.at[1:-1, ::2].set(x[2:, ::2] * 0.5 + x[:-2, ::2]).at[::-1, 3].add(1.0), (ROWS,)),
    "a number": (lambda x, k: x * k + jnp.float32(k) ** 2, (ROWS, 3)),
    "indices": (
        lambda x, i: (x[i], x.at[i].add(1.0), lax.dynamic_slice(x, (i[0], i[1]), (3, 4))),
        (ROWS, np.arange(5)),
    ),
    "what it was given": (lambda x: (x, x.T, x[::-1], x + 1), (ROWS,)),
}


@pytest.fixture
def compiling(device: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(device_of(device).hot, "enabled", True)
    monkeypatch.setattr(device_of(device).hot, "kernels", {})
    return device


@pytest.mark.parametrize("name", PIECES)
def test_a_jitted_graph_is_compiled_as_one_piece(name: str, compiling: str) -> None:
    f, args = PIECES[name]
    g = jax.jit(f)
    others = [a + 1 if type(a) is int else a for a in args]
    with config(device="cpu"):
        wanted, then = g(*args), g(*others)
    with config(mode="graph"):
        near(g(*args), wanted)
        assert lazynp.compile_wait(PATIENCE)
        with lazynp.profile() as p:
            got = g(*args)
        assert (p.device_kernels, p.device_compiled, p.device_host) == (1, 1, {})
        near(got, wanted)
        near(g(*others), then)


@pytest.mark.parametrize("how", ["add", "set", "max"])
def test_a_piece_writes_to_none_of_its_arguments(how: str, compiling: str) -> None:
    """A version of Inductor took the copy of an argument for the argument, and wrote to it."""
    f = jax.jit(lambda x, i: (getattr(x.at[i], how)(7.0), lax.dynamic_slice_in_dim(x, i[0], 3), x.T))
    rows, place = np.arange(60_000, dtype=np.float32).reshape(300, 200), np.arange(5)
    x = jnp.asarray(rows)
    with config(mode="graph"):
        for _ in range(2):
            _, read, turned = f(x, place)
            assert lazynp.compile_wait(PATIENCE)
            near((x, read, turned), (rows, rows[:3], rows.T))


def test_a_piece_with_keys(compiling: str) -> None:
    with config(device="cpu"):
        wanted = R.normal(R.split(R.key(3))[1], (300, 200))

    def f(key: Any) -> Any:
        key, other = R.split(key)
        return key, R.normal(other, (300, 200))

    g = jax.jit(f)
    for _ in range(2):
        key, x = g(R.key(3))
        near(x, wanted)
        assert lazynp.compile_wait(PATIENCE)
    assert key.dtype == R.key(3).dtype
    near(R.key_data(key), R.key_data(R.split(R.key(3))[0]))


def test_a_graph_that_needs_values_stays_a_list_of_steps(compiling: str) -> None:
    f = FUNCTIONS["callback"]
    g = jax.jit(lambda x: f(x * 2) + 1)
    for _ in range(2):
        near(g(ROWS), ROWS * 4 + 1)
        assert lazynp.compile_wait(PATIENCE)
    assert counters.compiles[-1]["outcome"] == "not compiled"
    assert device_of(compiling).hot.enabled


def test_bodies_of_loops_are_pieces(compiling: str) -> None:
    g = jax.jit(lambda x: lax.fori_loop(0, 6, lambda i, x: x.at[1:-1].set(0.25 * (x[2:] + x[:-2]) + x[1:-1] * 0.5), x))
    with config(device="cpu"):
        wanted = np.asarray(g(ROWS))
    for _ in range(2):
        with lazynp.profile() as p:
            near(g(ROWS), wanted)
        assert lazynp.compile_wait(PATIENCE)
    assert p.device_kernels == p.device_compiled == 6


# Where values are.


def test_values_stay_there(device: str) -> None:
    step = jax.jit(lambda x: x * 0.5)
    with lazynp.profile() as p:
        x = jnp.asarray(LARGE) + 1
        for _ in range(5):
            x = step(jnp.sin(x))
        x.block_until_ready()
    assert (p.uploads, p.downloads) == (1, 0)
    assert isinstance(buffer_of(x), DeviceBuffer)
    assert x.is_ready()
    assert float(x.sum()) == pytest.approx(float(np.asarray(x).sum()), rel=1e-5)
    with config(device="cpu"):
        y = step(x) + 1
        assert type(buffer_of(y.block_until_ready())) is np.ndarray
    near(y, np.asarray(x) * 0.5 + 1)


@pytest.mark.parametrize(
    "index", [3, 70_000, [1, 1, 5, -2], [1, 70_000, 1, -70_001, 0], list(range(0, 999, 3)) * 2 + [70_000]]
)
@pytest.mark.parametrize("how", ["set", "add", "multiply", "min", "max"])
def test_writes_at_places(how: str, index: Any, device: str) -> None:
    """One place, some, and many, twice the same and outside: the last one stays, what is outside changes nothing."""
    index = np.array(index)
    value = np.arange(1.0, 1 + index.size, dtype=np.float32).reshape(index.shape)
    f = jax.jit(lambda x, v: getattr(x.at[index], how)(v, mode="drop"))
    vector = np.linspace(-2, 9, 70_000, dtype=np.float32)
    for base in (vector, vector.astype(np.int32), vector.reshape(100, 700)):
        v = np.broadcast_to(value.reshape(index.shape + (1,) * (base.ndim - 1)), index.shape + base.shape[1:])
        wanted = base.copy()
        for place, one in zip(index.reshape(-1), v.reshape(index.size, *base.shape[1:]).astype(base.dtype)):
            if -len(base) <= place < len(base):
                old = wanted[place]
                both = {"set": one, "add": old + one, "multiply": old * one}
                wanted[place] = both[how] if how in both else getattr(np, how + "imum")(old, one)
        x, v = jnp.asarray(base), jnp.asarray(v.astype(base.dtype))
        with lazynp.profile() as p:
            found = f(x, v).block_until_ready()
        assert p.device_host == {}
        in_any_order = device != "torch" and how in ("add", "multiply") and base.dtype.kind == "f"  # as on JAX's GPUs
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5 if in_any_order else 0)


def test_numpys_door_jits_there(device: str) -> None:
    def f(a: Any) -> Any:
        b = a * 2
        b[1:] += b[:-1]
        return b, b.sum()

    a = np.linspace(0.0, 1.0, 300_000)
    with config(device="cpu"):
        wanted = lazynp.jit(f)(a)
    got = lazynp.jit(f)(lazynp.array(a))
    assert isinstance(got[0]._s_.node.buffer, DeviceBuffer)
    for ours, theirs in zip(got, wanted):
        close(ours, theirs)


def test_small_values_are_the_hosts(device: str) -> None:
    with lazynp.profile() as p:
        x = jnp.arange(8.0)
        y = jax.jit(lambda x: jnp.sin(x) * 2)(x)
        z = lax.fori_loop(0, 100, lambda i, x: x + 1, y)
    assert (p.uploads, p.downloads, p.device_kernels) == (0, 0, 0)
    near(z, np.sin(np.arange(8.0, dtype="f")) * 2 + 100)


def test_donated_arrays(device: str) -> None:
    step = jax.jit(lambda x, y: x.at[3].set(1.0) + y, donate_argnums=0)
    x, y = jnp.asarray(LARGE) * 2, jnp.asarray(LARGE)
    wanted = np.asarray(x).copy()
    wanted[3] = 1
    near(step(x, y), wanted + LARGE)
    assert x.is_deleted()
    near(y, LARGE)


def test_debug_nans(device: str) -> None:
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="invalid value"):
        jax.jit(lambda x: jnp.log(x - 1))(jnp.asarray(LARGE))


def test_the_devices_have_names(device: str) -> None:
    platform = "gpu" if device == "cuda" else device
    (there,), (host,) = jax.devices(), jax.devices("cpu")
    assert (there.platform, host.platform, jax.default_backend()) == (platform, "cpu", platform)
    assert (str(there), repr(there)) == (f"{device}:0", f"{device.capitalize()}Device(id=0)")
    assert jax.devices(platform) == jax.devices(device) == jax.local_devices() == [there]
    assert pickle.loads(pickle.dumps(there)) is there
    assert pickle.loads(pickle.dumps(host)) is host
    x = jnp.ones((600, 400))
    assert x.devices() == (x + 1).devices() == {there}
    assert jax.device_put(x, host).devices() == {host}
    with pytest.raises(RuntimeError, match="Unknown backend tpu"):
        jax.devices("tpu")
    assert jax.lax.platform_dependent(x, cpu=lambda x: 1, cuda=lambda x: 2) == (2 if device == "cuda" else 1)
    with config(device="cpu"):
        assert jax.devices() == [host]


def test_default_device_names_the_host(device: str) -> None:
    (host,) = jax.devices("cpu")
    for named in (host, "cpu"):
        with jax.default_device(named), lazynp.profile() as p:
            x = (jnp.asarray(LARGE) + 1).block_until_ready()
            y = jax.jit(lambda x: jnp.cos(x) * 2)(x)
            assert type(buffer_of(x)) is type(buffer_of(y)) is np.ndarray
            assert x.devices() == {host}
        assert p.device_kernels == 0
    assert isinstance(buffer_of((x + 1).block_until_ready()), DeviceBuffer)


def test_calls_are_as_quick_as_before_once_the_host_is_set_again(device: str) -> None:
    """Values that have stayed on the device come to the host when a compiled function reads them there."""
    f, x = jax.jit(lambda a, b: a * 2 + b), jnp.asarray(LARGE)
    there = f(x + 1, x)
    assert isinstance(buffer_of(there), DeviceBuffer)
    assert flags.fast is None
    with config(device="cpu"):
        assert flags.fast is not None
        for _ in range(3):
            got = f(there, x)
            assert type(buffer_of(got)) is np.ndarray
            near(got, (LARGE * 3 + 2) * 2 + LARGE)
