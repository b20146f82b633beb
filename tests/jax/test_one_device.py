"""What a mesh of one device leaves as it was: calls that have nothing to do with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, time
import numpy as np
if sys.argv[1] == "ours":
    import lazynp.jax as jax
    from lazynp import jax as package
    sys.modules["jax"] = package
    import lazynp.jax.numpy as jnp
    from lazynp.jax.sharding import Mesh, NamedSharding, PartitionSpec as P
else:
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

def says(make):
    try:
        out = make()
    except Exception as error:
        return type(error).__name__
    return type(out.sharding).__name__, np.asarray(out).tolist()

x = jnp.ones(4)
before = jax.jit(lambda a, b: a + b * 2)
for _ in range(3):
    before(x, x)
mesh = Mesh(np.array(jax.devices()), ("i",))
lies = NamedSharding(mesh, P("i"))
y = jax.device_put(x, lies)
after = jax.jit(lambda a, b: a + b * 2)
inside = jax.jit(lambda a: jax.lax.with_sharding_constraint(a * 3, lies))
given = jax.jit(lambda a: a * 3, in_shardings=lies)
twice = jax.jit(lambda a, b: a + b, donate_argnums=0)
for _ in range(3):
    for f in (before, after):
        print(says(lambda: f(x, x)), says(lambda: f(y, y)), says(lambda: f(x, y)))
    print(says(lambda: inside(x)), says(lambda: inside(y)), says(lambda: given(x)), says(lambda: inside(x)))
print(says(lambda: twice(x, x)), says(lambda: twice(y, y)), says(lambda: twice(jnp.ones(4), x)))
with jax.set_mesh(mesh):
    print(says(lambda: before(x, x)), says(lambda: after(y, y)), says(lambda: jnp.ones(4) + x))
print(says(lambda: before(x, x)), says(lambda: after(y, y)))
with jax.checking_leaks():
    print(says(lambda: jax.jit(lambda p, a: jax.lax.cond(p, lambda a: a + 1, lambda a: a - 1, a))(True, x)))
"""


@pytest.fixture(scope="module")
def lines() -> list[list[str]]:
    out = []
    for who in ("ours", "jax"):
        done = subprocess.run([sys.executable, "-c", PROGRAM, who], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        out.append(done.stdout.splitlines())
    return out


def test_calls_lie_where_jax_says(lines: list[list[str]]) -> None:
    ours, theirs = lines
    assert len(ours) == 13
    assert ours == theirs


def test_a_call_without_placed_arrays_is_remembered() -> None:
    code = """
import numpy as np
import lazynp.jax as jax, lazynp.jax.numpy as jnp
from lazynp.jax.sharding import Mesh, NamedSharding, PartitionSpec as P
placed = jax.device_put(jnp.ones(4), NamedSharding(Mesh(np.array(jax.devices()), ("i",)), P("i")))
f = jax.jit(lambda a: a * 2)
x = jnp.ones(4)
for _ in range(3):
    f(x), f(placed)
print(len(f._signatures), len(f._placed))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "1 1\n", (done.stdout, done.stderr)
