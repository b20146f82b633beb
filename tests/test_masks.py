"""Booleans in compiled kernels: loaded as masks and stored from them, for each width of vector of this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lazynp.backends.artifacts import Artifacts
from lazynp.backends.compiled import Compiled
from lazynp.backends.kernel import Geometry, Instr, KernelSpec

LENGTH = 1013  # a tail of 5 for vectors of 16 and of 8
KINDS = [
    *[(dtype, capability) for capability in ("AVX512", "AVX2") for dtype in ("float32", "float64", "int32", "int64")],
    ("uint8", "AVX512"),
    ("float64", "DEFAULT"),
]


def selection(dtype: str) -> KernelSpec:
    """(x, y, b) -> x > y; that and b; x where both hold, else y."""
    body = (
        Instr("greater", (0, 1), (dtype, dtype), "bool", ()),
        Instr("logical_and", (3, 2), ("bool", "bool"), "bool", ()),
        Instr("where", (4, 0, 1), ("bool", dtype, dtype), dtype, ()),
    )
    return KernelSpec((dtype, dtype, "bool"), (), body, (3, 4, 5), 1)


def logic() -> KernelSpec:
    """(b, c) -> not b; b xor c."""
    body = (
        Instr("logical_not", (0,), ("bool",), "bool", ()),
        Instr("not_equal", (0, 1), ("bool", "bool"), "bool", ()),
    )
    return KernelSpec(("bool", "bool"), (), body, (2, 3), 1)


def compiled(spec: KernelSpec, capability: str, folder: Path) -> Compiled:
    from lazynp.backends.torch import build, translate

    tools = build.toolchain()
    if tools is None:
        pytest.skip("no C++ compiler on this machine")
    names = [*build.CAPABILITIES, "DEFAULT"]
    if names.index(capability) < names.index(tools.capability):
        pytest.skip(f"this machine has no {capability}")
    flags = [f for f in tools.flags if not f.startswith("-DCPU_CAPABILITY")]
    if capability != tools.capability:  # torch's headers look at what the compiler has, too
        flags += {"AVX2": ["-march=haswell"], "DEFAULT": []}[capability]
    if capability != "DEFAULT":
        flags += [f"-DCPU_CAPABILITY={capability}", f"-DCPU_CAPABILITY_{capability}"]
    geometry = Geometry((LENGTH,), ((1,),) * (len(spec.inputs) + len(spec.outputs)), False)
    text, meta = translate.translate(spec, geometry, capability)
    if capability != "DEFAULT" and spec.inputs[0] in ("float32", "float64"):
        assert "lazynp_mask<" in text
        assert "lazynp_store(" in text

    class Header(build.Header):
        def _find(self) -> None:
            """Nothing is compiled ahead: each header here would serve a few kernels."""

    tools = tools._replace(capability=capability, flags=tuple(flags))
    target = str(folder / "kernel.so")
    build.build(tools, Header(tools, Artifacts(str(folder))), text, target)
    return Compiled(spec, "kernel", target, meta)


def truths(rng: np.random.Generator) -> np.ndarray:
    """Booleans of which some true ones are another byte than 1, as views of bytes have them."""
    return (rng.integers(0, 2, LENGTH, "uint8") * rng.integers(1, 255, LENGTH, "uint8")).view(bool)


@pytest.mark.parametrize(("dtype", "capability"), KINDS)
def test_comparisons_and_choices(dtype: str, capability: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.integers(0, 5, LENGTH).astype(dtype) for _ in range(2))
    if x.dtype.kind == "f":
        x[::7], y[::11], x[::13] = np.nan, -0.0, -np.inf
    b = truths(rng)
    call = compiled(selection(dtype), capability, tmp_path)
    greater, both, chosen = np.empty(LENGTH, bool), np.empty(LENGTH, bool), np.empty(LENGTH, dtype)
    assert call([x, y, b], [], [greater, both, chosen])
    assert greater.view("uint8").tolist() == (x > y).view("uint8").tolist()
    wanted = np.logical_and(x > y, b)
    assert both.view("uint8").tolist() == wanted.view("uint8").tolist()
    assert chosen.tobytes() == np.where(wanted, x, y).tobytes()


@pytest.mark.parametrize("capability", ["AVX512", "AVX2", "DEFAULT"])
def test_logic_of_booleans(capability: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    b, c = (rng.random(LENGTH) < 0.5 for _ in range(2))
    call = compiled(logic(), capability, tmp_path)
    neither, either = np.empty(LENGTH, bool), np.empty(LENGTH, bool)
    assert call([b, c], [], [neither, either])
    assert neither.tobytes() == np.logical_not(b).tobytes()
    assert either.tobytes() == np.not_equal(b, c).tobytes()
