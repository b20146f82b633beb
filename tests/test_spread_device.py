"""Plain NumPy text in several processes with a device each: right values, and rows stay on the device.

On the device "torch", which is torch's operations in main memory, and on GPUs where there are some.
"""

from __future__ import annotations

import pytest
from many import right
from patience import PATIENCE
from test_spread import FUNCTIONS, LESS, LOCAL, SMALL, WHOLE

torch = pytest.importorskip("torch", reason="torch, whose operations the devices run, is not installed")
pytest.importorskip("torch.distributed", reason="processes are joined by torch, which is an extra")
GPUS = torch.cuda.device_count()
CUDA = pytest.mark.skipif(not GPUS, reason="torch.cuda.device_count() is 0")

# A stencil whose rows stay where they are; a fit that reads the same data in each step, and makes small results.
STAY = """
from lazynp.runtime.recorder import recorder
from lazynp.spread.buffer import Spread, spreading
device = np.config.device
def sweep(np, u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
u, v = np.zeros((240, 240)), numpy.zeros((240, 240))
u[0], v[0], u[:, -1], v[:, -1] = 100.0, 100.0, 50.0, 50.0
sweep(np, u, 4)
recorder.flush()
before = spreading().counts["exchanges"]
with np.profile() as p:
    sweep(np, u, 24)
    recorder.flush()
assert (p.uploads, p.downloads, p.device_host) == STAYS, p
assert p.device_segments[device] > 0 and p.device_kernels > 0, p
assert 1 <= spreading().counts["exchanges"] - before <= 12 and not spreading().counts["gathers"]
assert type(u._node_().buffer) is Spread and type(u._node_().buffer.array).__name__ == "Tensor"
sweep(numpy, v, 28)
with np.profile() as p:
    total = float(u.sum())
assert p.downloads <= 1, p  # of a part of the sum
assert numpy.allclose(total, v.sum()) and numpy.allclose(numpy.asarray(u), v, rtol=1e-13, atol=1e-13)

data, wanted = numpy.random.default_rng(0).standard_normal((900, 20)), numpy.arange(900.0)
def fit(np, x, y, steps):
    w = np.zeros(20)
    for _ in range(steps):
        w = w - 1e-3 * (x.T @ (x @ w - y))
    return w
x, y = np.array(data), np.array(wanted)
fit(np, x, y, 1)
with np.profile() as p:
    w = numpy.asarray(fit(np, x, y, 10))
assert p.uploads <= 25 and p.downloads <= 12, p  # the weights, and their gradients
assert numpy.allclose(w, fit(numpy, data, wanted, 10), rtol=1e-10)
print("right")
"""

DTYPES = """
rng = numpy.random.default_rng(1)
for name in "bool int8 uint16 uint32 int64 uint64 float16 float32 float64 longdouble complex64 complex128".split():
    a = rng.integers(0, 2 if name == "bool" else 40, (120, 12)).astype(name)
    for text in ("a[1:] + a[:-1]|a.T + a.T|a.reshape(-1)[7:]|a[::-2]|a.sum(0)|numpy.sort(a.reshape(-1))|a.cumsum(0)|"
                 "numpy.maximum.accumulate(a)|a[a[:, 0] > 0]|a[5, 3]|a.T @ a").split("|"):
        want = eval(text, {"a": a, "numpy": numpy})
        got = eval(text.replace("numpy", "np"), {"a": np.array(a) * a.dtype.type(1), "np": np})
        assert numpy.asarray(got).dtype == want.dtype, (name, text)
        assert numpy.allclose(numpy.asarray(got), want, rtol=1e-2 if name == "float16" else 1e-5), (name, text)
x = np.array(numpy.arange(6000.0).reshape(60, 100)) * 2
for other in ("cpu", np.config.device, "cpu"):  # what lies on a device is found from elsewhere
    x = x[::-1] + 1
    with np.config(device=other):
        x = x + x[:, ::-1].T.T
    assert x[3, 4] == numpy.asarray(x)[3, 4]
print("right", float(x.sum()))
"""

each = [(e, local) for text, local in ((LOCAL, True), (WHOLE, False)) for e in text.replace("\n", "|").split("|")]
VALUES = "np.config.small, np.config.spread_size = 20, 100\n" + FUNCTIONS.replace("EXPRESSIONS", repr(each))


@pytest.mark.parametrize("size", [2, 3])
def test_values_that_stay_on_a_device(size: int, tmp_path) -> None:
    parts = [STAY.replace("STAYS", "(0, 0, {})"), DTYPES, LESS, VALUES]
    out = right(size, "\n".join(parts), tmp_path, timeout=PATIENCE, LAZYNP_DEVICE="torch", **SMALL)
    assert out.count("right") == len(parts)
