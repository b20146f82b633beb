"""`lazynp.jax.install()` and `python -m lazynp --jax`: `import jax` gives `lazynp.jax`. In processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import importlib.metadata, sys
import jax, jaxlib.version
import jax.numpy as jnp
import jax.scipy.stats.norm as norm
from jax import lax, random
from jax.tree_util import tree_map
import lazynp.jax

assert jax is lazynp.jax is sys.modules["jax"]
assert jax.__spec__.name == "lazynp.jax" and jnp is lazynp.jax.numpy
assert norm is jax.scipy.stats.norm and norm.pdf(0.0) > 0.39
assert jaxlib.__version__ == jaxlib.version.__version__ == jax.__version__
try:
    import jax.no_such_module
except ModuleNotFoundError as error:
    assert error.name == "jax.no_such_module"
else:
    raise AssertionError
from jax._src.flatten_util import ravel_pytree
assert ravel_pytree is jax.flatten_util.ravel_pytree
jax.install()
import lazynp, numpy
assert numpy.ones(2).__class__ is numpy.ndarray
print("done", sys.argv[1:])
"""


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", *args], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "args",
    (
        ("-m", "lazynp", "--jax", "-c", PROGRAM, "x"),
        ("-c", f"from lazynp.jax import install; install()\n{PROGRAM}", "x"),
    ),
)
def test_jax_is_ours(args: tuple[str, ...]) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (0, "done ['x']\n"), done.stderr


def test_too_late() -> None:
    done = run("-c", "import jax, lazynp.jax\nlazynp.jax.install()")
    assert "ImportError" in done.stderr and "comes too late" in done.stderr


def test_distributions_are_modules() -> None:
    done = run(
        "-c", "import lazynp.jax.scipy.stats.beta as b; from lazynp.jax.scipy.stats import beta; assert b is beta"
    )
    assert done.returncode == 0, done.stderr
