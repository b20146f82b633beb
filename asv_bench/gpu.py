"""On a machine with a GPU: `python asv_bench/gpu.py [programs] [steps]`.

`programs`: those of `examples/` at their default sizes, unchanged, under NumPy, lazynp on the host and on the GPU, and
CuPy. `steps`: jitted functions of the kinds that JAX's users write, under lazynp's JAX door on the GPU and under JAX.
Each ratio is of one process, the runs of the engines in turn, the best of them: NumPy's (JAX's) time over the engine's.
Results stay on the device, and their end is waited for.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the other engines need memory, too

import numpy

import lazynp

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))
ROUNDS = 5
SECONDS = 60.0  # for a program and all its engines


def loaded(name: str) -> Any:
    """A module that is not everywhere, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def settle(found: Any, cupy: Any) -> None:
    """Wait until arrays are there, wherever they are."""
    recorder = lazynp.runtime.recorder.recorder
    recorder.flush()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()
    if cupy is not None:
        cupy.cuda.Device().synchronize()


def programs() -> None:
    demo, cupy = loaded("run_demo"), loaded("cupy")
    engines: dict[str, tuple[Any, dict[str, Any]]] = {
        "host": (lazynp, {"device": "cpu"}),
        "GPU": (lazynp, {"device": "cuda"}),
    }
    if cupy is not None:
        engines["CuPy"] = (cupy, {})
    print(
        f"{'NumPy over':22}{'NumPy':>9}" + "".join([f"{e:>8}" for e in engines]) + "  first GPU run, agreement, counts"
    )
    for name in demo.PROGRAMS:
        program = importlib.import_module(name)
        size, steps = program.SIZES["default"], program.STEPS["default"]

        def once(np: Any, settings: dict[str, Any]) -> tuple[float, Any]:
            program.np = np  # noqa: B023
            with lazynp.config(**settings):
                began = time.perf_counter()
                found = program.run(size, steps)  # noqa: B023
                settle(found, cupy)
                return time.perf_counter() - began, found

        began = time.perf_counter()
        theirs, wanted = once(numpy, {})
        best: dict[str, float] = {}
        said = ""
        for e, how in list(engines.items()):
            try:
                first, found = once(*how)
                if e == "GPU":
                    agreement = demo.compare(program.TOLERANCE, wanted, {k: numpy.asarray(v) for k, v in found.items()})
                    lazynp.compile_wait(60)
                    with lazynp.profile() as p:
                        once(*how)
                    said = f"  {first:.1f} s, {agreement}, {p.device_kernels} kernels ({p.device_compiled} compiled), "
                    said += f"{p.device_library} calls, {p.uploads} up, {p.downloads} down, {dict(p.device_host)}"
                best[e] = first
            except Exception as error:
                said += f"  {e}: {type(error).__name__}: {str(error)[:80]}"
        for _ in range(ROUNDS):
            for e in best:
                if time.perf_counter() - began < SECONDS:
                    best[e] = min(best[e], once(*engines[e])[0])
        ratios = "".join([f"{theirs / best[e]:8.1f}" if e in best else f"{'-':>8}" for e in engines])
        print(f"{name:22}{theirs:8.2f}s{ratios}{said}", flush=True)
        gc.collect()


def cases(jax: Any) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """Functions to be jitted, and their arguments, for lazynp's JAX door and for JAX."""
    jnp, lax = jax.numpy, jax.lax
    rng = numpy.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return jnp.asarray(rng.standard_normal(shape, dtype=numpy.float32))

    x = draw(1 << 24)
    yield "gelu, 16M", lambda x: jax.nn.gelu(x) * 1.5 + x, (x,)
    yield "sum of squares, 16M", lambda x: (x * x + 2 * x).sum(), (x,)
    rows = draw(16384, 1024)
    yield "softmax, 16k rows of 1k", lambda x: jax.nn.softmax(x), (rows,)

    def norm(x: Any, g: Any) -> Any:
        m = x.mean(-1, keepdims=True)
        v = ((x - m) ** 2).mean(-1, keepdims=True)
        return (x - m) * lax.rsqrt(v + 1e-5) * g

    yield "layer norm, 16k rows", norm, (rows, draw(1024))
    yield "its gradient", jax.grad(lambda x, g: (norm(x, g) ** 2).sum()), (rows, draw(1024))
    yield "cumsum, 16k rows", lambda x: jnp.cumsum(x, 1), (rows,)
    yield "sort, 16k rows", lambda x: jnp.sort(x, 1), (rows,)
    p, v = draw(4096, 3), draw(4096, 3)

    def bodies(p: Any, v: Any) -> Any:
        d = p[:, None] - p[None]
        r = (d * d).sum(-1) + 1e-2
        v = v - 1e-3 * (d * (r**-1.5)[..., None]).sum(1)
        return p + 1e-3 * v, v

    yield "N bodies, 4096", bodies, (p, v)
    w = [draw(1024, 4096) * 0.02, draw(4096, 4096) * 0.02, draw(4096, 10) * 0.02]
    images, labels = draw(512, 1024), jax.nn.one_hot(jnp.asarray(rng.integers(0, 10, 512)), 10)

    def loss(w: Any, x: Any, y: Any) -> Any:
        for k in w[:-1]:
            x = jax.nn.relu(x @ k)
        return -(jax.nn.log_softmax(x @ w[-1]) * y).mean()

    def train(w: Any, x: Any, y: Any) -> Any:
        return [a - 0.1 * g for a, g in zip(w, jax.grad(loss)(w, x, y))]

    yield "a step of an MLP", train, (w, images, labels)
    q, k, u = draw(16, 1024, 64), draw(16, 1024, 64), draw(16, 1024, 64)

    def attend(q: Any, k: Any, u: Any) -> Any:
        s = jnp.einsum("hid,hjd->hij", q, k) / 8.0
        s = jnp.where(jnp.tril(jnp.ones((1024, 1024), bool)), s, -1e30)
        return jnp.einsum("hij,hjd->hid", jax.nn.softmax(s), u)

    yield "attention, 16 heads", attend, (q, k, u)
    grid = draw(4096, 4096)

    def jacobi(x: Any) -> Any:
        return x.at[1:-1, 1:-1].set(0.25 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]))

    yield "a Jacobi sweep, 4096^2", jacobi, (grid,)
    yield "50 sweeps, fori_loop", lambda x: lax.fori_loop(0, 50, lambda i, x: jacobi(x), x), (grid,)
    yield "50 sweeps, float64 sums", lambda x: lax.scan(lambda x, _: (jacobi(x), x.sum()), x, None, 50), (grid,)
    yield "FFT, 4096^2", lambda x: jnp.fft.rfft2(x), (grid,)
    yield "matrix product, 4096", lambda a, b: a @ b, (grid, grid)
    yield (
        "Cholesky and solve, 2048",
        lambda a: jnp.linalg.solve(a @ a.T + 5e3 * jnp.eye(2048), a),
        (grid[:2048, :2048],),
    )
    places = jnp.asarray(rng.integers(0, 100_000, 1 << 22))
    yield "4M added into 100k", lambda v, i: jnp.zeros(100_000).at[i].add(v), (x[: 1 << 22], places)
    yield "4M taken of 16M", lambda v, i: v[i * 100], (x, places)
    pictures, filters = draw(32, 32, 64, 64), draw(64, 32, 3, 3)
    yield "convolution", lambda a, b: lax.conv(a, b, (1, 1), "SAME"), (pictures, filters)
    yield "4M normal numbers", lambda key: jax.random.normal(key, (1 << 22,)), (jax.random.key(0),)
    cell, h0, xs = draw(1024, 512) * 0.05, draw(64, 512), draw(100, 64, 512)

    def recur(w: Any, h: Any, xs: Any) -> Any:
        return lax.scan(lambda h, x: (jnp.tanh(jnp.concatenate([h, x], 1) @ w),) * 2, h, xs)

    yield "RNN of 100 steps", recur, (cell, h0, xs)


def runner(jax: Any, f: Any, args: tuple[Any, ...]) -> Callable[[], Any]:
    jitted = jax.jit(f)
    return lambda: jax.block_until_ready(jitted(*args))


def steps() -> None:
    """JAX's products and convolutions in float32 have fewer digits on a GPU by default; here they have all."""
    ours, theirs = importlib.import_module("lazynp.jax"), loaded("jax")
    lazynp.config.device = os.environ.get("LAZYNP_DEVICE", "cuda")
    if theirs is not None:
        theirs.config.update("jax_default_matmul_precision", "highest")
    sides = [list(cases(ours)), list(cases(theirs)) if theirs is not None else []]
    print(f"{'JAX over lazynp':28}{'JAX':>12}{'ratio':>8}  agreement, first call of each, counts")
    for i, (name, f, args) in enumerate(sides[0]):
        runs = [runner(ours, f, args)]
        if theirs is not None:
            runs.append(runner(theirs, *sides[1][i][1:]))
        try:
            first, found, best = [], [], [1e9, 1e9]
            for run in runs:
                began = time.perf_counter()
                found.append(run())
                first.append(time.perf_counter() - began)
            for _ in range(3):
                runs[0]()
            lazynp.compile_wait(60)
            runs[0]()
            with lazynp.profile() as p:
                runs[0]()
            for _ in range(20):
                for k, run in enumerate(runs):
                    began = time.perf_counter()
                    run()
                    best[k] = min(best[k], time.perf_counter() - began)
            off = 0.0
            if theirs is not None:
                for a, b in zip(ours.tree.leaves(found[0]), theirs.tree.leaves(found[1]), strict=True):
                    a, b = numpy.asarray(a), numpy.asarray(b)
                    assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
                    off = max(off, float(numpy.abs(a - b).max() / (numpy.abs(b).max() + 1e-30)))
            print(
                f"{name:28}{best[1] * 1e3:10.3f}ms{best[1] / best[0]:8.2f}  {off:.0e}, "
                f"{first[0]:.1f} s and {first[-1]:.1f} s, {p.device_kernels} kernels ({p.device_compiled} compiled), "
                f"{p.device_library} calls, {p.uploads} up, {p.downloads} down, {dict(p.device_host)}",
                flush=True,
            )
        except Exception as error:
            print(f"{name:28} {type(error).__name__}: {str(error)[:160]}", flush=True)
        gc.collect()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for what in sys.argv[1:] or ("programs", "steps"):
        {"programs": programs, "steps": steps}[what]()
