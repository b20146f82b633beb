"""What must hold where a wheel is installed with nothing but what it asks for: `python tests/installed.py`.

It needs no torch, no compiler and no test runner, and imports nothing of a checkout. With `--plain` the C modules have
to be missing, as where it was installed without a C compiler. On Linux they have to be there without it; on other
systems it is only said which are. Where torch and a C++ compiler are, a kernel has to be compiled.
"""

import importlib
import importlib.metadata
import importlib.util
import pathlib
import subprocess
import sys
import time
import warnings

import numpy

import lazynp as np
import lazynp.jax as jax
import lazynp.jax.numpy as jnp

MODULES = ("_speed", "_calls", "_blocks", "_keyed", "_adapters", "_apart")
STUBS = ("__init__.pyi", "py.typed", "linalg.pyi", "jax/__init__.pyi", "jax/numpy/__init__.pyi")


def heat(np):
    u = np.zeros((300, 300))
    u[0] = 100.0
    for _ in range(50):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def formula(np):
    x = np.linspace(0.1, 5.0, 700_000)
    return np.log(x) * np.sqrt(x) + np.exp(-x) / x


def sums(np):
    x = np.random.default_rng(0).random((600, 700))
    return np.stack([x.sum(axis=1), x.max(axis=1), np.sort(x, axis=1)[:, 3], (x @ x.T)[0]])


def compiled_calls():
    """Whether a kernel that is hot runs as machine code."""
    with warnings.catch_warnings(), np.config(compile_after=0.0):
        warnings.simplefilter("ignore")  # that nothing is compiled
        for _ in range(3):
            formula(np).block_until_ready()
            np.compile_wait(300)
        with np.profile() as p:
            formula(np).block_until_ready()
    return p.compiled > 0 and p.interpreted == 0


def main(plain: bool) -> None:
    place = pathlib.Path(np.__file__).parent
    assert "site-packages" in place.parts, place
    assert importlib.metadata.version("lazynp") == np.lazynp_version
    built = [module for module in MODULES if importlib.util.find_spec(f"lazynp.{module}")]
    assert built == ([] if plain else list(MODULES)) or (sys.platform != "linux" and not plain), built
    for stub in STUBS:
        assert (place.parent / "lazynp-stubs" / stub).is_file(), stub
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing is compiled
        for program in (heat, formula, sums):
            assert numpy.asarray(program(np)).tobytes() == program(numpy).tobytes(), program
    slope = np.grad(lambda x: (x[1:] * x[:-1]).sum())(np.arange(4.0))
    assert slope.tolist() == [1, 2, 4, 2]
    assert jax.jit(jax.vmap(lambda x: jnp.dot(x, x)))(jnp.ones((2, 3))).tolist() == [3, 3]
    said = subprocess.run([sys.executable, "-m", "lazynp", "doctor"], capture_output=True, text=True, check=False)
    assert said.returncode in (0, 1) and not said.stderr, said
    torch = importlib.util.find_spec("torch") is not None
    compiler = "a trial             compiles" in said.stdout
    compiled = compiled_calls()
    assert compiled == (torch and compiler), (compiled, said.stdout)
    assert ("pip install 'lazynp[torch]'" in said.stdout) == (not torch), said.stdout
    print(
        f"lazynp {np.lazynp_version} in {place}: as it should be, {'with' if torch else 'without'} torch, kernels are "
        f"{'compiled' if compiled else 'interpreted'}, C modules: {', '.join(built) or 'none'}"
    )


if __name__ == "__main__":
    start = time.perf_counter()
    main("--plain" in sys.argv)
    print(f"{time.perf_counter() - start:.1f} s")
