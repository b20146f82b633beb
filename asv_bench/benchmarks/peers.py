"""lazynp beside the other ways to make NumPy's text fast, each as its users write it at its best.

    python asv_bench/benchmarks/peers.py [--quick]

prints how many times NumPy's speed each has. Each library has a process of its own, for each of them keeps threads that
wait for work; the processes take turns, and the ratio is the median over the rounds. Results are compared with NumPy's
before anything is timed. Where a library cannot do the work, or is not installed, there is a dash.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

if __package__:
    from . import libraries
else:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import libraries

Thunk = Callable[[], Any]  # does the work once, and has its value
Maker = Callable[..., Thunk]
LIBRARIES = ("numpy", "lazynp", "jax", "torch", "numba", "numexpr", "autograd")
ELEMENTS = 1_000_000
SWEEPS, SQUARINGS = 20, 8
TOLERANCE = {"float32": 2e-5, "float64": 1e-10, "complex128": 1e-10}  # of the largest magnitude


def uniform(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(7).uniform(-1.0, 1.0, shape)


def module(name: str) -> Any:
    """Raises NotImplementedError, which asv shows as n/a, where there is none."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotImplementedError(f"{name} is not installed") from error


def jax_module() -> Any:
    jax = module("jax")
    jax.config.update("jax_enable_x64", True)  # the same work as NumPy
    return jax


def on_jax(f: Callable, *arrays: Any) -> Thunk:
    """`f(jax.numpy, *arrays)`, jitted."""
    jax = jax_module()
    jitted = jax.jit(lambda *given: f(jax.numpy, *given))
    given = [jax.numpy.asarray(a) for a in arrays]
    return lambda: jitted(*given).block_until_ready()


def on_torch(f: Callable, *arrays: Any) -> Thunk:
    """`f(torch, *tensors)`, by torch.compile."""
    torch = module("torch")
    compiled = torch.compile(lambda *given: f(torch, *given))
    given = [torch.from_numpy(a.copy()) for a in arrays]
    return lambda: compiled(*given).numpy()


def on_numpy(f: Callable, *arrays: Any) -> Thunk:
    return lambda: f(numpy, *arrays)


def on_lazynp(f: Callable, *arrays: Any) -> Thunk:
    """`f(lazynp, *arrays)`, with nothing done to it."""
    np = module("lazynp")
    given = [np.array(a) for a in arrays]
    return lambda: numpy.asarray(f(np, *given))


# --- elementwise work, in three types ---


def chain(np: Any, x: Any, y: Any) -> Any:
    return np.sin(x) ** 2 + np.exp(-x * x) * y


def chained(dtype: str) -> dict[str, Maker]:
    def pair(n: int) -> tuple[Any, Any]:
        return tuple(uniform(2, n).astype(dtype))  # type: ignore[return-value]

    def with_numba(n: int) -> Thunk:
        numba, (x, y) = module("numba"), pair(n)

        @numba.njit(parallel=True)
        def run(x: Any, y: Any) -> Any:
            out = numpy.empty_like(x)
            for i in numba.prange(x.size):
                out[i] = numpy.sin(x[i]) ** 2 + numpy.exp(-x[i] * x[i]) * y[i]
            return out

        return lambda: run(x, y)

    def with_numexpr(n: int) -> Thunk:
        numexpr, (x, y) = module("numexpr"), pair(n)
        return lambda: numexpr.evaluate("sin(x)**2 + exp(-x * x) * y", {"x": x, "y": y})

    return {
        "numpy": lambda n: on_numpy(chain, *pair(n)),
        "lazynp": lambda n: on_lazynp(chain, *pair(n)),
        "jax": lambda n: on_jax(chain, *pair(n)),
        "torch": lambda n: on_torch(chain, *pair(n)),
        "numba": with_numba,
        "numexpr": with_numexpr,
    }


def squares(np: Any, z: Any, c: Any) -> Any:
    for _ in range(SQUARINGS):
        z = z * z + c
    return z


def complex_pair(n: int) -> tuple[Any, Any]:
    a = 0.5 * uniform(4, n)
    return a[0] + 1j * a[1], a[2] + 1j * a[3]


def squares_numba(n: int) -> Thunk:
    numba, (z, c) = module("numba"), complex_pair(n)

    @numba.njit(parallel=True)
    def run(z: Any, c: Any) -> Any:
        out = numpy.empty_like(z)
        for i in numba.prange(z.size):
            w = z[i]
            for _ in range(SQUARINGS):
                w = w * w + c[i]
            out[i] = w
        return out

    return lambda: run(z, c)


def squares_numexpr(n: int) -> Thunk:
    numexpr, (z, c) = module("numexpr"), complex_pair(n)

    def run() -> Any:
        w = z
        for _ in range(SQUARINGS):
            w = numexpr.evaluate("w * w + c", {"w": w, "c": c})
        return w

    return run


# --- a stencil, in place ---


def grid(n: int) -> numpy.ndarray:
    side = round(n**0.5)
    return uniform(side, side)


def sweeps(np: Any, u: Any) -> Any:
    u = u + 0.0
    for _ in range(SWEEPS):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def sweeps_jax(n: int) -> Thunk:
    jax = jax_module()

    def sweep(_: Any, u: Any) -> Any:
        return u.at[1:-1, 1:-1].set(0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]))

    return on_jax(lambda _, u: jax.lax.fori_loop(0, SWEEPS, sweep, u), grid(n))


def sweeps_torch(torch: Any, u: Any) -> Any:
    for _ in range(SWEEPS):
        v = u.clone()
        v[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        u = v
    return u


def sweeps_numba(n: int) -> Thunk:
    numba, start = module("numba"), grid(n)

    @numba.njit(parallel=True)
    def run(u: Any) -> Any:
        u, v = u.copy(), u.copy()
        for _ in range(SWEEPS):
            for i in numba.prange(1, u.shape[0] - 1):
                for j in range(1, u.shape[1] - 1):
                    v[i, j] = 0.25 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1])
            u, v = v, u
        return u

    return lambda: run(start)


# --- transformations ---


def examples(n: int) -> tuple[Any, Any, Any]:
    a = uniform(n // 10, 11)
    return numpy.ascontiguousarray(a[:, :10]), numpy.sign(a[:, 10]), uniform(10)


def loss(np: Any, w: Any, x: Any, t: Any) -> Any:
    return np.mean(np.log1p(np.exp(-t * (x @ w))))


def gradient_numpy(n: int) -> Thunk:
    x, t, w = examples(n)
    return lambda: -(x.T @ (t / (1 + numpy.exp(t * (x @ w))))) / len(t)


def gradient_lazynp(n: int) -> Thunk:
    np = module("lazynp")
    x, t, w = [np.array(a) for a in examples(n)]
    step = np.jit(np.grad(lambda w, x, t: loss(np, w, x, t)))
    return lambda: numpy.asarray(step(w, x, t))


def gradient_jax(n: int) -> Thunk:
    x, t, w = examples(n)
    return on_jax(lambda np, w, x, t: jax_module().grad(lambda w: loss(np, w, x, t))(w), w, x, t)


def gradient_torch(n: int) -> Thunk:
    x, t, w = examples(n)
    return on_torch(lambda torch, w, x, t: torch.func.grad(lambda w: loss(torch, w, x, t))(w), w, x, t)


def gradient_autograd(n: int) -> Thunk:
    module("autograd")
    np, grad = module("autograd.numpy"), module("autograd").grad
    x, t, w = examples(n)
    step = grad(lambda w: loss(np, w, x, t))
    return lambda: step(w)


def rows(n: int) -> tuple[Any, Any]:
    return uniform(n // 32, 32), uniform(32, 32)


def of_a_row(np: Any, m: Any, v: Any) -> Any:
    return np.sum(np.tanh(m @ v) * v)


def mapped_lazynp(n: int) -> Thunk:
    np = module("lazynp")
    a, m = [np.array(x) for x in rows(n)]
    f = np.jit(np.vmap(lambda v, m: of_a_row(np, m, v), (0, None)))
    return lambda: numpy.asarray(f(a, m))


def mapped_numba(n: int) -> Thunk:
    numba, (a, m) = module("numba"), rows(n)

    @numba.njit(parallel=True)
    def run(a: Any, m: Any) -> Any:
        out = numpy.empty(a.shape[0])
        for k in numba.prange(a.shape[0]):
            total = 0.0
            for i in range(m.shape[0]):
                s = 0.0
                for j in range(m.shape[1]):
                    s += m[i, j] * a[k, j]
                total += numpy.tanh(s) * a[k, i]
            out[k] = total
        return out

    return lambda: run(a, m)


def inputs(n: int) -> tuple[Any, Any]:
    return 0.4 * uniform(8, 8), uniform(max(n // 100, 2), 8)


def steps_numpy(n: int) -> Thunk:
    m, b = inputs(n)

    def run() -> Any:
        x, out = numpy.zeros(8), numpy.empty_like(b)
        for k in range(len(b)):
            x = out[k] = numpy.tanh(m @ x + b[k])
        return out

    return run


def steps_lazynp(n: int) -> Thunk:
    jax = module("lazynp.jax")
    jax.config.update("jax_enable_x64", True)
    return scanned(jax, n)


def scanned(jax: Any, n: int) -> Thunk:
    jnp = jax.numpy

    def run(m: Any, b: Any) -> Any:
        def step(x: Any, row: Any) -> Any:
            x = jnp.tanh(m @ x + row)
            return x, x

        return jax.lax.scan(step, jnp.zeros(8), b)[1]

    jitted, given = jax.jit(run), [jnp.asarray(a) for a in inputs(n)]
    return lambda: jitted(*given).block_until_ready()


def steps_numba(n: int) -> Thunk:
    numba, (m, b) = module("numba"), inputs(n)

    @numba.njit
    def run(m: Any, b: Any) -> Any:
        x, out = numpy.zeros(8), numpy.empty_like(b)
        for k in range(b.shape[0]):
            for i in range(8):
                s = b[k, i]
                for j in range(8):
                    s += m[i, j] * x[j]
                out[k, i] = numpy.tanh(s)
            x = out[k]
        return out

    return lambda: run(m, b)


WORKLOADS: dict[str, dict[str, Maker]] = {
    "chain, float64": chained("float64"),
    "chain, float32": chained("float32"),
    "squares, complex128": {
        "numpy": lambda n: on_numpy(squares, *complex_pair(n)),
        "lazynp": lambda n: on_lazynp(squares, *complex_pair(n)),
        "jax": lambda n: on_jax(squares, *complex_pair(n)),
        "numba": squares_numba,
        "numexpr": squares_numexpr,
    },
    "stencil": {
        "numpy": lambda n: on_numpy(sweeps, grid(n)),
        "lazynp": lambda n: on_lazynp(sweeps, grid(n)),
        "jax": sweeps_jax,
        "torch": lambda n: on_torch(sweeps_torch, grid(n)),
        "numba": sweeps_numba,
    },
    "gradient": {
        "numpy": gradient_numpy,
        "lazynp": gradient_lazynp,
        "jax": gradient_jax,
        "torch": gradient_torch,
        "autograd": gradient_autograd,
    },
    "vmap": {
        "numpy": lambda n: on_numpy(lambda np, a, m: np.sum(np.tanh(a @ m.T) * a, axis=1), *rows(n)),
        "lazynp": mapped_lazynp,
        "jax": lambda n: on_jax(lambda np, a, m: jax_module().vmap(lambda v: of_a_row(np, m, v))(a), *rows(n)),
        "torch": lambda n: on_torch(lambda torch, a, m: torch.func.vmap(lambda v: of_a_row(torch, m, v))(a), *rows(n)),
        "numba": mapped_numba,
    },
    "scan": {
        "numpy": steps_numpy,
        "lazynp": steps_lazynp,
        "jax": lambda n: scanned(jax_module(), n),
        "numba": steps_numba,
    },
}


def thunk(workload: str, library: str, elements: int = ELEMENTS) -> Thunk:
    """Raises NotImplementedError where the library is not there, or cannot do it."""
    return maker_of(workload, library)(elements)


def maker_of(workload: str, library: str) -> Maker:
    maker = WORKLOADS[workload].get(library)
    if maker is None:
        raise NotImplementedError(f"{library} does not do this")
    return maker


def warmed(workload: str, library: str) -> Thunk:
    run = thunk(workload, library)
    end = time.monotonic() + 1.0
    run()
    while time.monotonic() < end:
        run()
    libraries.waiter(library)()
    run()
    return run


class Peers:
    params = (tuple(WORKLOADS), LIBRARIES)
    param_names = ("workload", "library")

    def setup(self, workload: str, library: str) -> None:
        self.run = warmed(workload, library)

    def time_run(self, workload: str, library: str) -> None:
        self.run()


class PeersMemory:
    """The largest size of a process that loads the library and does the work three times."""

    params = (("chain, float64", "stencil"), LIBRARIES)
    param_names = ("workload", "library")

    def setup(self, workload: str, library: str) -> None:
        maker_of(workload, library)
        module(library)

    def peakmem_run(self, workload: str, library: str) -> None:
        run = thunk(workload, library)
        for _ in range(3):
            run()


# --- the table ---


def child(workload: str, library: str) -> None:
    """A process that does the work when it is told to, and says how long it took."""
    run = warmed(workload, library)
    print("ready", flush=True)
    for line in sys.stdin:
        word, _, argument = line.strip().partition(" ")
        if word == "value":
            numpy.save(argument, numpy.asarray(run()))
            print("saved", flush=True)
        else:
            begin, calls = time.perf_counter(), 0
            while not calls or time.perf_counter() - begin < float(argument):
                run()
                calls += 1
            print((time.perf_counter() - begin) / calls, flush=True)


class Child:
    def __init__(self, workload: str, library: str) -> None:
        command = [sys.executable, __file__, "--child", workload, library]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.here = self.answer() == "ready"

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def agrees(found: numpy.ndarray, wanted: numpy.ndarray) -> bool:
    largest = numpy.abs(wanted).max()
    return found.shape == wanted.shape and bool(
        numpy.abs(found - wanted).max() <= TOLERANCE[wanted.dtype.name] * largest
    )


def row(workload: str, rounds: int, seconds: float) -> str:
    children = {library: Child(workload, library) for library in LIBRARIES if library in WORKLOADS[workload]}
    children = {library: process for library, process in children.items() if process.here}
    with tempfile.TemporaryDirectory() as folder:
        values = {}
        for library, process in children.items():
            path = f"{folder}/{library}.npy"
            process.ask(f"value {path}")
            values[library] = numpy.load(path)
    times: dict[str, list[float]] = {library: [] for library in children}
    for k in range(rounds):
        names = list(children)
        for name in names[k % len(names) :] + names[: k % len(names)]:
            times[name].append(float(children[name].ask(f"run {seconds}")))
    for process in children.values():
        process.end()
    cells = []
    for library in LIBRARIES[1:]:
        if library not in times:
            cells.append("-")
        elif not agrees(values[library], values["numpy"]):
            cells.append("differs")
        else:
            ratios = [a / b for a, b in zip(times["numpy"], times[library])]
            cells.append(f"{statistics.median(ratios):.2f}")
    took = statistics.median(times["numpy"])
    return f"| {workload} | {took * 1e3:.1f} ms | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three short rounds")
    parser.add_argument("--workloads", default=";".join(WORKLOADS), help="names, separated by semicolons")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        try:
            child(*given.child)
        except NotImplementedError as error:
            print(error)
        return
    print(f"| work | NumPy takes | {' | '.join(LIBRARIES[1:])} |\n|---|---|{'---|' * len(LIBRARIES[1:])}")
    for workload in given.workloads.split(";"):
        print(row(workload, 3 if given.quick else 9, 0.05 if given.quick else 0.2), flush=True)


if __name__ == "__main__":
    main()
