"""Several devices: meshes, shardings and how they spread, `jit`, `pmap`, `shard_map` and collectives, as JAX has them.

One process evaluates all expressions of `device_cases.py` on both sides, since the number of devices is settled once.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import device_cases
import pytest
import sharding_blocks
import split_expressions

EIGHT = "--xla_force_host_platform_device_count=8"


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def found() -> dict[str, tuple[str, str]]:
    """JAX's result and lazynp's for each expression."""
    text = run(str(pathlib.Path(device_cases.__file__)), XLA_FLAGS=EIGHT, JAX_PLATFORMS="cpu")
    return {case: (theirs, ours) for case, theirs, ours in json.loads(text)}


@pytest.mark.parametrize("case", device_cases.CASES)
def test_as_jax(found: dict[str, tuple[str, str]], case: str) -> None:
    theirs, ours = found[case]
    assert ours == theirs


@pytest.fixture(scope="module")
def outcomes() -> list[list[str]]:
    """JAX's outcome and lazynp's for each program of `sharding_blocks.txt`."""
    text = run(str(pathlib.Path(sharding_blocks.__file__)), XLA_FLAGS=EIGHT, JAX_PLATFORMS="cpu")
    found: list[list[str]] = json.loads(text)
    return found


@pytest.mark.parametrize("i", range(len(sharding_blocks.BLOCKS)))
def test_programs_as_jax(outcomes: list[list[str]], i: int) -> None:
    theirs, ours = outcomes[i]
    assert ours == theirs, sharding_blocks.BLOCKS[i]


def test_most_expressions_have_values(found: dict[str, tuple[str, str]]) -> None:
    """The comparison is of results, not of errors."""
    assert sum(theirs.startswith("raises") for theirs, _ in found.values()) < len(found) / 2


SERIALIZED = """
import numpy as np
import lazynp.jax as jax
from lazynp.jax import lax, numpy as jnp
from lazynp.jax.experimental import serialize_executable as SE
from lazynp.jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
rows = NamedSharding(mesh, P("x"))
v = jnp.arange(12, dtype="float32").reshape(4, 3)

def loaded(compiled):
    return SE.deserialize_and_load(*SE.serialize(compiled))

def raises(error, f, *args, **named):
    try:
        f(*args, **named)
    except error:
        return True

c = jax.jit(lambda v, k, w=1: {"a": v @ v.T, "b": v.sum() * k + w}, static_argnums=1).lower(v, 3, w=v[0]).compile()
parts = SE.serialize(c)
assert type(parts[0]) is bytes and str(parts[1]) == "PyTreeDef(((*,), {'w': *}))", parts[1]
d = SE.deserialize_and_load(*parts, execution_devices=jax.devices()[:1])
for name, value in c(v, w=v[0]).items():
    assert (d(v, w=v[0])[name] == value).all() and value.shape == d(v, w=v[0])[name].shape
assert raises(TypeError, d, v) and raises(TypeError, d, v[:2], w=v[0])
assert raises(ValueError, SE.deserialize_and_load, *parts, execution_devices=jax.devices()[:2])
assert raises(ValueError, SE.deserialize_and_load, parts[0], parts[2], parts[1])

c = jax.jit(lambda v, w: v * 2 + w.sum(), in_shardings=(rows, None), out_shardings=rows).lower(v, v[0]).compile()
d = loaded(c)
x, w = jax.device_put(v, rows), jax.device_put(v[0], NamedSharding(mesh, P()))
assert (d(x, w) == v * 2 + v[0].sum()).all() and d(x, w).sharding == rows
assert d.input_shardings[0][0] == rows and d.output_shardings == rows

c = jax.jit(jax.shard_map(lambda v: lax.psum(v, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())).lower(x).compile()
assert (loaded(c)(x) == v.sum(axis=0)).all()
print("fine")
"""


def test_serialized_functions() -> None:
    """Not beside JAX, whose own at times cannot be loaded: it does not find the kernels that it has shared."""
    assert run("-c", SERIALIZED, XLA_FLAGS=EIGHT).strip() == "fine"


COUNT = """
import lazynp.jax as jax
jax.config.update("jax_num_cpu_devices", 3)
assert [d.id for d in jax.devices()] == [0, 1, 2] and jax.device_count() == 3
jax.config.update("jax_num_cpu_devices", 3)  # as it is
try:
    jax.config.update("jax_num_cpu_devices", 4)
except RuntimeError as error:
    assert "before backends are initialized" in str(error)
else:
    raise AssertionError("the number of devices changed while they are in use")
try:
    jax.config.update("jax_num_cpu_devices", 0)
except ValueError:
    print("fine")
"""


def test_the_number_of_devices_is_settled_when_they_are_used() -> None:
    assert run("-c", COUNT, XLA_FLAGS="").strip() == "fine"


MEMORY = """
import gc
import numpy as np
import lazynp.jax as jax
from lazynp.jax.spreading import known
s = jax.NamedSharding(jax.make_mesh((8,), ("x",)), jax.P("x"))
f = jax.jit(lambda v: v * 2 + 1)
def step():
    v = jax.device_put(np.ones(64, np.float32), s)
    return f(v + 1).sum()
for _ in range(20):
    assert step() == 320
gc.collect()
before = len(known)
for _ in range(200):
    step()
gc.collect()
assert len(known) <= before + 8, (before, len(known))
print("fine")
"""


def test_what_is_known_of_arrays_goes_with_them() -> None:
    assert run("-c", MEMORY, XLA_FLAGS=EIGHT).strip() == "fine"


BOUNDARIES = """
import numpy as np
import lazynp.jax as jax
s = jax.NamedSharding(jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,)), jax.P("x"))
x = np.ones(8, np.float32)
jax.device_put(x, s)
def f(v, w):
    return (jax.jit(lambda y: y * 2, out_shardings=s)(v * w) ** 2).sum()
kept = []
for _ in range(300):  # what is pending is computed somewhere on the way
    kept.append(jax.value_and_grad(f, (0, 1))(x, x))
    assert {g.sharding for g in kept[-1][1]} == {s}, kept[-1]
print("fine")
"""


def test_what_is_computed_before_somebody_asks_knows_where_it_lies() -> None:
    assert run("-c", BOUNDARIES, XLA_FLAGS=EIGHT).strip() == "fine"


@pytest.mark.parametrize("kind", ["auto", "explicit"])
def test_how_arrays_lie_changes_no_value_and_no_error(kind: str) -> None:
    found = run(str(pathlib.Path(split_expressions.__file__)), "11", "1500", kind, XLA_FLAGS="")
    assert found.splitlines()[-1].endswith("tried") and found.count("differs") == 0
    assert [line for line in found.splitlines()[:-1] if not line.startswith(" **")] == []  # LAPACK's own remarks


FAULT = """
import numpy as np
import lazynp.jax as jax
from lazynp.jax.split_rules import RULES
from lazynp.ops.elementwise import square
s = jax.NamedSharding(jax.make_mesh((8,), ("x",)), jax.P("x"))
x = jax.device_put(np.arange(8.0, dtype="f4"), s)
RULES["sin"] = RULES["square"] = lambda node, splits, mesh: splits[7]
def told(f):
    try:
        f()
    except IndexError:
        print("told")
told(lambda: jax.numpy.sin(x))
pending = square(x.node)  # recorded, and no array is made of it
told((x + 1).tolist)
print((x + 1).sum(), (x + 1).sharding.spec)
"""


def test_a_rule_that_fails_is_told_once_and_keeps_nothing_from_being_computed() -> None:
    assert run("-c", FAULT, XLA_FLAGS=EIGHT).splitlines() == ["told", "told", "36.0 P('x',)"]


DRAWN = """
import numpy as np
import lazynp.jax as jax
mesh = jax.make_mesh((2, 4), ("x", "y"))
for spec, shape in (("x",), (8, 4)), (("y",), (8,)):
    jax.debug.visualize_sharding(shape, jax.NamedSharding(mesh, jax.P(*spec)))
try:
    jax.debug.visualize_array_sharding(np.float32(1) + jax.numpy.ones(()))
except ValueError as error:
    print(error)
"""
PICTURES = """\
┌───────────┐
│           │
│CPU 0,1,2,3│
│           │
│           │
├───────────┤
│           │
│CPU 4,5,6,7│
│           │
│           │
└───────────┘
┌───────┬───────┬───────┬───────┐
│CPU 0,4│CPU 1,5│CPU 2,6│CPU 3,7│
└───────┴───────┴───────┴───────┘
`visualize_sharding` only works for shapes with 1 and 2 dimensions.
"""


def test_shardings_are_drawn_as_jax_draws_them_without_colours() -> None:
    assert run("-c", DRAWN, XLA_FLAGS=EIGHT, PYTHONIOENCODING="utf-8") == PICTURES
