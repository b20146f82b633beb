"""The stubs: that they are current, and what mypy and jedi make of them. `make types` asks pyright, too."""

import pytest

from compat import stubs
from compat.stubs import check


def test_stubs_are_current() -> None:
    """`python -m compat.stubs` writes them."""
    assert stubs.stale() == []


def test_findings_of_mypy() -> None:
    """The same in programs that import NumPy or JAX and in the same programs with lazynp."""
    pytest.importorskip("mypy", reason="mypy comes with lazynp[test]")
    found = list(check.findings())
    assert len(found) == 10
    for program, _, theirs, ours in found:
        assert len(theirs) >= 4, program
        assert ours == theirs, program


def test_stubs_are_sound(tmp_path) -> None:
    """mypy has nothing to say of the stubs themselves."""
    pytest.importorskip("mypy", reason="mypy comes with lazynp[test]")
    check.laid_out(tmp_path)
    (tmp_path / "uses.py").write_text(USES)
    found = check.mypy(tmp_path, "-m", "uses", "-p", "lazynp")
    assert found == {"uses.py": expected()}


USES = """
import functools
import lazynp as np
import lazynp.jax as jax
import lazynp.jax.numpy as jnp

def f(x: np.ndarray, scale: float = 1.0) -> np.ndarray: return x * scale

g = np.jit(f)
g(np.ones(3), scale=2.0).sum()
g(np.ones(3), scale="wide")  # arg-type
np.grad(f)(np.ones(3), 1.0, 2.0)  # call-arg
value, slope = np.value_and_grad(f)(np.ones(3))
np.vmap(f)(np.ones((2, 3))).sum()
with np.config(mode="graph", threads=1): np.config.threads = 2
np.config.thread = 2  # attr-defined
np.config(modes="graph")  # call-arg
with np.profile() as p: print(p.operations + 1, p.operators)  # attr-defined
np.explain(value).upper()
np.nonexistent  # attr-defined

@jax.jit(static_argnames=("n",))
def power(x: jax.Array, n: int) -> jax.Array: return x**n

class Model:
    @jax.jit
    def __call__(self, x: jax.Array) -> jax.Array: return x

    @functools.partial(jax.jit, static_argnums=0)
    def loss(self, x: jax.Array, y: float) -> jax.Array: return x * y

power(jnp.ones(3), n=2).at[0].add(1.0).block_until_ready()
Model()(jnp.ones(3)).sum()
Model().loss(jnp.ones(3), y=2.0)
jax.jit(power).lower(jnp.ones(3), 2).compile().as_text()
jax.value_and_grad(power)(jnp.ones(3), "two")  # arg-type
cube = functools.partial(jax.jit, static_argnames=("n",))(power)
cube(jnp.ones(3), n=3).sum()
u, s, vh = jnp.linalg.svd(jnp.eye(3))
jnp.linalg.svd(jnp.eye(3), compute_uv=False).sum()
c, ys = jax.lax.scan(lambda c, x: (c + x, c), jnp.zeros(()), jnp.ones(3))
"""


def expected() -> list[tuple[int, str]]:
    """The lines of `USES` that say what mypy finds in them."""
    lines = enumerate(USES.splitlines(), 1)
    return [(number, line.rsplit("  # ", 1)[1]) for number, line in lines if "  # " in line]


def test_names_that_jedi_completes() -> None:
    """At least 95 % of the library's names that lazynp has."""
    pytest.importorskip("jedi", reason="jedi comes with lazynp[test]")
    modules = ["numpy", "numpy.linalg", "numpy.random", "jax", "jax.numpy", "jax.lax", "jax.nn"]
    ours = {m: f"lazynp.{m}" if m.startswith("jax") else m.replace("numpy", "lazynp", 1) for m in modules}
    completed = check.completed(*ours.values(), "numpy.linalg")
    for module, mine in ours.items():
        there = check.public(module) & check.public(mine)
        there &= completed.get(module, there)  # NumPy 2.2's stubs have not all names of numpy.linalg
        there -= {"linalg"} if module == "numpy.linalg" else set()  # a module under its name of before NumPy 2
        assert len(there) > 25
        assert len(completed[mine] & there) >= 0.95 * len(there), module


def test_dir_lists_what_is_loaded_late() -> None:
    import lazynp

    names = dir(lazynp)
    assert {"grad", "jit", "vmap", "jax", "jnp", "config", "profile", "linalg", "sin"} <= set(names)
    assert len(names) == len(set(names))
    for name in names:
        getattr(lazynp, name)
