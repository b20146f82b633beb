"""The interpreter's kernels: what is done in another way than by NumPy's own call has NumPy's bits."""

from __future__ import annotations

import numpy as np
import pytest

from lazynp.backends.kernel import Instr, KernelSpec
from lazynp.backends.numpy import blocked
from lazynp.backends.numpy.blocked import SHORT, reduce_into

REDUCTIONS = {
    "?": ("logical_or", "logical_and"),
    "i": ("add", "multiply", "minimum", "bitwise_or"),
    "f": ("add", "fmin"),
}


@pytest.mark.parametrize("char", "?bHiqdfeD")
@pytest.mark.parametrize("n", [1, 2, 3, 5, SHORT, SHORT + 1])
def test_sums_over_a_short_last_axis(char: str, n: int) -> None:
    rng = np.random.default_rng(n)
    x = (rng.normal(size=(3, 50, n)) * 3).astype(char)
    if char in "fde":
        x[0, :5], x[1, :5, 0], x[2, 3] = -0.0, np.nan, np.inf
    kind = np.dtype(char).kind
    for name in REDUCTIONS.get("i" if kind in "iu" else kind, ("add",)):
        for keepdims in (False, True):
            reduce = getattr(np, name).reduce
            with np.errstate(all="ignore"):
                wanted = reduce(x, axis=2, dtype=x.dtype if name in ("add", "multiply") else None, keepdims=keepdims)
                out = np.empty_like(wanted)
                reduce_into(Instr("reduce", (0,), (x.dtype.name,), x.dtype.name, (name, (2,))), x, out)
            assert out.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("n", [35, 1_000, 100_003])
def test_parts_end_where_registers_do(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which zero `fmax` takes depends on whether an element is in a full register: parts for threads keep that."""
    monkeypatch.setattr(blocked, "PARALLEL", 0)
    monkeypatch.setattr(blocked, "BLOCK_BYTES", 64)
    program = blocked.Program(
        KernelSpec(("float64", "float64"), (), (Instr("fmax", (0, 1), ("float64", "float64"), "float64"),), (2,), 1)
    )
    x, y, out = np.full(n, -0.0), np.zeros(n), np.empty(n)
    for threads in (1, 2, 3):
        program.run([x, y], [], [out], (n,), threads)
        assert out.tobytes() == np.fmax(x, y).tobytes()
