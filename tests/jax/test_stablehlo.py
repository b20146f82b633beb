"""What `lower` and `export` write is StableHLO: XLA parses it, verifies it, compiles it, and its results are ours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import xla_modules

import lazynp.jax as lj

HERE = Path(__file__).resolve().parent
CUSTOM = frozenset(
    [
        *("bessel_i0e", "betainc", "det", "eigh_or_nan", "gcd", "igamma", "philox", "qr", "random_gamma"),
        *("solve_or_nan", "svd_or_nan"),
    ]
)
"""The primitives of the cases that StableHLO has no operation for: calls of what only has a name."""


def arrays() -> dict[str, Any]:
    """What makes the arguments of a case: floats between 0 and 1, normal ones, integers, truth values, complex ones."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal
    return {
        "f": lambda *s: rng.uniform(0.1, 0.9, s).astype(np.float32),
        "g": lambda *s: normal(s).astype(np.float32),
        "i": lambda *s, lo=0, hi=10: rng.integers(lo, hi, s).astype(np.int32),
        "u": lambda *s: rng.integers(0, 1 << 31, s).astype(np.uint32),
        "b": lambda *s: rng.random(s) > 0.5,
        "c": lambda *s: (normal(s) + 1j * normal(s)).astype(np.complex64),
        "np": np,
        "n": lj.numpy,
    }


CASES = (HERE / "module_cases.txt").read_text().splitlines()
NAMES = {"j": lj, "n": lj.numpy, "l": lj.lax, "np": np}


def same(want: Any, got: np.ndarray[Any, Any]) -> None:
    want = np.asarray(want)
    assert (want.shape, want.dtype) == (got.shape, got.dtype)
    if want.dtype.kind in "fcV":
        kind, near = (np.complex128, 1e-4) if want.dtype.kind == "c" else (np.float64, 1e-4)
        near = near if want.dtype.itemsize >= 4 else 0.02
        np.testing.assert_allclose(got.astype(kind), want.astype(kind), near, near / 5)
    else:
        assert np.array_equal(want, got)


@pytest.mark.parametrize("case", CASES)
def test_modules_run_elsewhere(case: str) -> None:
    text, *given = case.split(" ; ")
    made = arrays()
    args = [np.asarray(eval(a, made)) for a in given]
    function = eval(text, dict(NAMES))
    module = lj.jit(function, keep_unused=True).lower(*args).as_text()
    custom = set(re.findall(r'call_target_name = "lazynp\.(\w+)"', module))
    if custom:
        xla_modules.parsed(module)
        assert custom <= CUSTOM
        return
    leaves = lj.tree.leaves(function(*[lj.numpy.asarray(a) for a in args]))
    leaves = [lj.random.key_data(x) if lj.dtypes.issubdtype(x.dtype, lj.dtypes.prng_key) else x for x in leaves]
    results = xla_modules.run(module, *args)
    assert len(leaves) == len(results)
    for want, got in zip(leaves, results):
        same(want, got)


def test_constants_keep_their_bits() -> None:
    for dtype in (np.float16, np.float32, np.float64, lj.numpy.bfloat16):
        values = np.array([1 / 3, 0.1, 1e-5, 65504.0, 3.0, -0.0, np.inf, -np.inf, 1 / 7e4], dtype)
        with lj.enable_x64(True):
            module = lj.jit(lambda values=values: lj.numpy.asarray(values)).lower().as_text()
        (got,) = xla_modules.run(module)
        assert got.tobytes() == values.tobytes()


def test_wide_dtypes() -> None:
    with lj.enable_x64(True):
        x = np.linspace(0.1, 0.9, 12).reshape(3, 4)
        key = lj.random.key(5)

        def function(x: Any) -> Any:
            draws = lj.random.normal(key, (3,)) + lj.random.uniform(key, (3,)), lj.random.bits(key, (2,), "uint64")
            return lj.numpy.sort(x @ x.T, 0), lj.numpy.argmax(x, 1), x.astype("complex128") * 1j, *draws

        module = lj.jit(function).lower(x).as_text()
        for want, got in zip(function(lj.numpy.asarray(x)), xla_modules.run(module, x)):
            same(want, got)


def test_exported_modules() -> None:
    function = lambda x, n: {"a": lj.numpy.tanh(x) * n, "b": x.sum()}
    exported = lj.export.export(lj.jit(function))(np.ones((2, 3), np.float32), np.float32(2))
    module = exported.mlir_module()
    assert module.startswith("module @jit__lambda")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    a, b = xla_modules.run(module, x, np.float32(3))
    np.testing.assert_allclose(a, np.tanh(x) * 3, 1e-6)
    assert b == 15
    again = lj.export.deserialize(exported.serialize())
    assert again.mlir_module() == module
    (rows,) = lj.export.symbolic_shape("rows")
    with pytest.raises(NotImplementedError, match="sizes that are not known"):
        lj.export.export(lj.jit(lj.numpy.sin))(lj.ShapeDtypeStruct((rows,), "float32")).mlir_module()


def composites(j: Any) -> list[str]:
    def applied(x: Any, **told: Any) -> Any:
        return j.lax.composite(lambda x, **_: (x * 2, x.sum()), "my.op", version=1)(x, **told)

    modules = [
        j.jit(lambda x: applied(x)).lower(np.ones(3, np.float32)).as_text(),
        j.jit(lambda x: applied(x, n=3, s='a "b"', f=1.5, flag=True)).lower(np.ones(3, np.float32)).as_text(),
        j.jit(lambda x: applied(x, t=(1, 2.0), d={"k": np.arange(3)}, dt=np.dtype("float32")))
        .lower(np.ones(3, np.float32))
        .as_text(),
    ]
    for module in modules:
        xla_modules.parsed(module)
    return [line.strip() for module in modules for line in module.splitlines() if "stablehlo.composite" in line]


def test_composites_keep_their_names() -> None:
    assert composites(lj) == composites(jax)
    module = lj.jit(lj.lax.composite(lambda x: x * 2, "my.twice")).lower(np.ones(3, np.float32)).as_text()
    assert xla_modules.run(module, np.ones(3, np.float32))[0].tolist() == [2, 2, 2]


def test_on_many_devices() -> None:
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    done = subprocess.run(
        [sys.executable, str(HERE / "module_devices.py")], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("same") == 19
