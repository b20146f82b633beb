"""`jax.export`: calls, derivatives and errors as JAX has them; and what is stored and loaded again."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax
import lazynp.jax.export

jax.config.update("jax_platforms", "cpu")
X, Y = np.arange(6, dtype="f4").reshape(2, 3), np.ones((3, 2), "f4")
Call = Callable[[Any], Any]


def export(j: Any, f: Any = None, **options: Any) -> Any:
    def default(x: Any, y: Any) -> Any:
        return {"a": j.numpy.sin(x) @ y, "b": (x * 2).sum()}

    return importlib.import_module(f"{j.__name__}.export").export(j.jit(f or default), **options)


def slope(j: Any) -> Any:
    call = export(j)(X, Y).call
    first = j.grad(lambda x: call(x, Y)["a"].sum())
    return first(X), j.grad(lambda x: (first(x) ** 2).sum())(X)


CALLS: dict[str, Call] = {
    "call": lambda j: export(j)(j.ShapeDtypeStruct((2, 3), "float32"), Y).call(X, Y),
    "jit": lambda j: j.jit(export(j)(X, Y).call)(X, Y),
    "grad": slope,
    "shape": lambda j: export(j)(X, Y).call(X[:1], Y),
    "dtype": lambda j: export(j)(X, Y).call(X.astype("i4"), Y),
    "tree": lambda j: export(j)(X, Y).call(X),
    "names": lambda j: export(j, lambda x, *, k: x + k)(1.0, k=2.0).call(1.0, k=3.0),
    "whole numbers": lambda j: j.grad(export(j, lambda x, i: x * i)(1.0, 2).call)(2.0, 3),
    "another platform": lambda j: export(j, platforms=["tpu"])(X, Y).call(X, Y),
    "both platforms": lambda j: export(j, platforms=["tpu", "cpu"])(X, Y).call(X, Y),
    "not jitted": lambda j: importlib.import_module(f"{j.__name__}.export").export(lambda x: x)(1.0),
}


def test_calls() -> None:
    found = {}
    for name, call in CALLS.items():
        wanted, got = (outcome(lambda j=j, call=call: jax.tree.leaves(call(j))) for j in (jax, lazynp.jax))
        text = disagreement(name, wanted, got, 4)
        if text is not None:
            found[name] = text
    assert not found, found


def test_attributes() -> None:
    said = []
    for j in (jax, lazynp.jax):
        e = export(j)(j.ShapeDtypeStruct((2, 3), "float32"), Y)
        trees = str(e.in_tree), str(e.out_tree), str(e.in_avals), str(e.out_avals)
        said.append((trees, e.platforms, e.nr_devices, e.module_kept_var_idx, e.has_vjp(), str(e)))
    assert said[0] == said[1]


def test_static_arguments() -> None:
    for j in (jax, lazynp.jax):
        f = j.jit(lambda x, n: x * n, static_argnums=1)
        assert importlib.import_module(f"{j.__name__}.export").export(f)(1.0, 3).call(2.0) == 6.0


def stored(f: Any, *args: Any, order: int = 0) -> Any:
    found = lazynp.jax.export.export(lazynp.jax.jit(f))(*args)
    return lazynp.jax.export.deserialize(found.serialize(vjp_order=order))


jnp, lax = lazynp.jax.numpy, lazynp.jax.lax
BODIES: dict[str, Any] = {
    "scan": lambda x: lax.scan(lambda c, i: (c * 0.5 + i, c), x, jnp.arange(4.0)),
    "while": lambda x: lax.while_loop(lambda s: s < 10, lambda s: s * 2, x),
    "cond": lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x),
    "inverse": lambda x: jnp.linalg.inv(jnp.eye(2) * x),
    "qr": lambda x: tuple(jnp.linalg.qr(jnp.eye(2) * x)),
    "random": lambda x: lazynp.jax.random.normal(lazynp.jax.random.key(0), (2,)) * x,
    "sort": lambda x: jnp.sort(jnp.array([x, 1.0, 0.0])),
    "softmax": lambda x: lazynp.jax.nn.softmax(jnp.arange(3) * x),
    "einsum": lambda x: jnp.einsum("ij,jk", jnp.ones((2, 2)), jnp.ones((2, 2)) * x),
    "fft": lambda x: jnp.fft.fft(jnp.ones(4) * x),
    "convolution": lambda x: lax.conv(jnp.ones((1, 1, 4, 4)) * x, jnp.ones((1, 1, 2, 2)), (1, 1), "SAME"),
    "update": lambda x: jnp.ones(3).at[1].add(x),
    "gather": lambda x: (jnp.arange(4.0) * x)[jnp.array([1, 2])],
    "narrow": lambda x: x.astype(jnp.bfloat16) * jnp.array(2, jnp.bfloat16),
    "nothing": lambda x: {"a": None, "b": (), "c": [x]},
    "constant": lambda x: jnp.arange(3),
}


@pytest.mark.parametrize("name", BODIES)
def test_stored(name: str) -> None:
    """As it was before, in values, dtypes and weak types."""
    f, x = BODIES[name], np.float32(2)
    wanted, got = (
        outcome(lambda: lazynp.jax.tree.leaves(f(x))),
        outcome(lambda: lazynp.jax.tree.leaves(stored(f, x).call(x))),
    )
    assert disagreement(name, wanted, got) is None, disagreement(name, wanted, got)


def test_keys_are_stored() -> None:
    r = lazynp.jax.random
    for generator in ("threefry2x32", "rbg"):
        key = r.key(1, impl=generator)
        found = stored(lambda k: (r.uniform(k), k), key).call(key)
        assert found[0] == r.uniform(key) and found[1].dtype == key.dtype


def test_derivatives_are_stored_as_often_as_asked() -> None:
    """Rules of a user's too, which the stored graph does not say."""
    j = lazynp.jax
    sine = j.custom_jvp(j.numpy.sin)
    sine.defjvp(lambda primals, tangents: (sine(*primals), 7 * tangents[0]))
    with pytest.raises(ValueError, match="No VJP"):
        j.grad(stored(lambda x: sine(x), 1.0).call)(2.0)
    once = stored(lambda x: sine(x) * x, 1.0, order=1)
    np.testing.assert_allclose(j.grad(once.call)(2.0), 7 * 2 + np.sin(2), rtol=1e-6)
    with pytest.raises(ValueError, match="No VJP"):
        j.grad(j.grad(once.call))(2.0)
    twice = stored(lambda x: x**3, 1.0, order=2)
    np.testing.assert_allclose(j.grad(j.grad(twice.call))(2.0), 12.0)


def test_trees_of_own_types() -> None:
    pair, other = namedtuple("pair", "x y"), namedtuple("other", "x")
    export_ = lazynp.jax.export
    with pytest.raises(ValueError, match="Cannot serialize"):
        stored(lambda p: p, pair(1.0, 2.0))
    export_.register_namedtuple_serialization(pair, serialized_name="tests.pair")
    assert stored(lambda p: p, pair(1.0, 2.0)).call(pair(3.0, 4.0)) == pair(3.0, 4.0)
    for kind, name in ((pair, "tests.again"), (other, "tests.pair")):
        with pytest.raises(ValueError, match="Duplicate"):
            export_.register_namedtuple_serialization(kind, serialized_name=name)


def test_what_cannot_be_stored() -> None:
    j = lazynp.jax
    with pytest.raises(NotImplementedError, match="cannot be serialized"):
        stored(lambda x: j.pure_callback(np.sin, x, x), 1.0)
    with pytest.raises(NotImplementedError, match="effects"):
        stored(lambda x: j.debug.print("{}", x), 1.0)
    for data in (b"", b"other", bytes(j.export.export(j.jit(lambda x: x))(1.0).serialize())[:-9]):
        with pytest.raises(ValueError):
            j.export.deserialize(data)


def test_another_process_reads_it(tmp_path: Path) -> None:
    weights = np.arange(3.0, dtype="f4")
    found = lazynp.jax.export.export(lazynp.jax.jit(lambda x: jnp.tanh(x * weights)))(1.0)
    (tmp_path / "f").write_bytes(found.serialize())
    program = (
        "import sys, pathlib, lazynp.jax as jax, numpy as np\n"
        "call = jax.export.deserialize(pathlib.Path(sys.argv[1]).read_bytes()).call\n"
        "print(np.asarray(call(0.5)).tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "f")], capture_output=True, text=True, check=True
    )
    np.testing.assert_allclose(json.loads(run.stdout), np.tanh(0.5 * weights), rtol=1e-6)
