"""Common calls on ten to a hundred elements: what NumPy code does between its large operations.

    python asv_bench/benchmarks/small_calls.py          a table: lazynp's time over NumPy's, call by call
    python asv_bench/benchmarks/small_calls.py fft.fft  the calls whose text has this in it

The list was written before it was measured, from what NumPy programs call. Both get the same text, run in turns in one
process; a ratio is the median over the rounds of the time with lazynp over the time with NumPy.
"""

import math
import statistics
import sys
import time
from pathlib import Path

import numpy

SETUP = """
a = np.linspace(0.5, 2.0, 10); b = np.linspace(1.0, 3.0, 10); v = np.linspace(-1.0, 1.0, 100)
i = np.arange(10); j = np.array([3, 1, 4, 1, 5]); m = a > 1.0; c = a + 1j * b; f = a.astype(np.float32)
M = np.linspace(0.0, 1.0, 16).reshape(4, 4) + np.eye(4); S = M @ M.T; R = np.linspace(0.0, 1.0, 60).reshape(6, 10)
T = np.linspace(0.0, 1.0, 24).reshape(2, 3, 4); x = np.array([1.0, 2.0, 3.0]); y = np.array([0.5, -1.0, 2.0])
w = np.array([3.0, 1.0, 2.0, np.nan]); s = np.float64(1.5); u = np.array([3, 1, 2, 3, 1, 2, 2]); o = np.empty(10)
k = np.array(3.5); p = np.array([1.0, -3.0, 2.0]); r = np.random.default_rng(0); lst = [1.0, 2.0, 3.0, 4.0]
"""
CALLS = """
a + b
a * 2.0
2 - a
a / b
a ** 2
a ** 0.5
-a
abs(v)
a > b
a == b
m & ~m
a @ b
M @ M
M @ M[0]
i + 1
i // 3
i % 3
a + s
s * a
s + s
f * 2.0
c * c
k + 1
a[3]
a[-1]
a[2:7]
a[::-1]
R[1]
R[:, 1]
R[1, 2]
R[1:3, 2:5]
R[..., None]
a[j]
a[m]
R[j]
R[[0, 2], [1, 3]]
T[:, 1]
a[None, :]
float(a[3])
len(a)
a.shape
a.size
a.ndim
a.dtype
R.T
c.real
c.imag
list(a)
a.tolist()
x + [1, 2, 3]
(0.5, 1.5, 2.5) * x
a.sum()
R.sum(axis=0)
R.sum(axis=1, keepdims=True)
a.mean()
R.mean(axis=0)
a.std()
a.var()
a.max()
a.min()
a.argmax()
a.argmin()
a.prod()
a.cumsum()
m.any()
m.all()
a.copy()
a.astype(int)
a.astype(np.float32)
a.reshape(2, 5)
a.reshape(-1, 1)
R.ravel()
R.flatten()
R.transpose()
T.transpose(2, 0, 1)
T.swapaxes(0, 1)
a.dot(b)
M.dot(M[0])
a.clip(0.6, 1.0)
a.round(2)
a.argsort()
a.take(j)
a.repeat(2)
m.nonzero()
M.trace()
M.diagonal()
T.squeeze()
a.searchsorted(1.0)
a.item(3)
o.fill(1.0)
np.array([1.0, 2.0, 3.0])
np.array(lst)
np.array([a, b])
np.array([[1, 2], [3, 4]])
np.array(a)
np.asarray(a)
np.asarray(lst)
np.zeros(10)
np.zeros((4, 4))
np.ones(10)
np.full(10, 2.0)
np.empty(10)
np.arange(10)
np.arange(0.0, 1.0, 0.1)
np.linspace(0.0, 1.0, 10)
np.eye(4)
np.identity(3)
np.zeros_like(a)
np.ones_like(a)
np.empty_like(a)
np.full_like(a, 2.0)
np.diag(x)
np.diag(M)
np.tri(4)
np.tril(M)
np.triu(M)
np.meshgrid(x, y)
np.indices((3, 4))
np.add(a, b)
np.multiply(a, b, out=o)
np.sin(a)
np.exp(a)
np.sqrt(a)
np.sqrt(2.0)
np.log(a)
np.arctan2(a, b)
np.maximum(a, b)
np.isnan(w)
np.sign(v)
np.floor(a)
np.abs(v)
np.where(m, a, b)
np.where(m)
np.sum(a)
np.sum(R, axis=1)
np.mean(a)
np.std(a)
np.var(R, axis=0)
np.max(a)
np.min(R, axis=0)
np.argmax(a)
np.argmin(R, axis=1)
np.any(m)
np.all(m)
np.prod(a)
np.cumsum(a)
np.cumprod(a)
np.diff(a)
np.gradient(a)
np.ptp(a)
np.median(a)
np.percentile(a, 30)
np.quantile(a, 0.3)
np.average(a, weights=b)
np.nansum(w)
np.nanmean(w)
np.nanmax(w)
np.count_nonzero(m)
np.nonzero(m)
np.argwhere(m)
np.flatnonzero(m)
np.dot(a, b)
np.dot(M, M)
np.vdot(a, b)
np.inner(a, b)
np.outer(x, y)
np.matmul(M, M)
np.cross(x, y)
np.kron(x, y)
np.einsum('ij,jk->ik', M, M)
np.tensordot(M, M, 1)
np.trace(M)
np.linalg.norm(x)
np.linalg.norm(R, axis=1)
np.linalg.inv(M)
np.linalg.det(M)
np.linalg.solve(M, M[0])
np.linalg.eigh(S)
np.linalg.svd(M)
np.linalg.qr(M)
np.linalg.cholesky(S)
np.linalg.matrix_rank(M)
np.linalg.lstsq(R.T, a, rcond=None)
np.fft.fft(a)
np.fft.ifft(c)
np.fft.rfft(a)
np.fft.fftfreq(10)
np.fft.fftshift(a)
np.concatenate((a, b))
np.concatenate([R, R], axis=1)
np.vstack((a, b))
np.hstack((a, b))
np.stack((a, b))
np.stack([a, b], axis=1)
np.column_stack((a, b))
np.append(a, 3.0)
np.insert(a, 2, 5.0)
np.delete(a, 3)
np.split(a, 2)
np.array_split(a, 3)
np.tile(x, 3)
np.repeat(x, 2)
np.reshape(a, (2, 5))
np.ravel(R)
np.transpose(R)
np.swapaxes(T, 0, 2)
np.moveaxis(T, 0, -1)
np.squeeze(T)
np.expand_dims(a, 0)
np.atleast_1d(a)
np.atleast_2d(a)
np.broadcast_to(x, (4, 3))
np.flip(a)
np.fliplr(R)
np.rot90(M)
np.roll(a, 2)
np.pad(a, 1)
np.sort(a)
np.argsort(a)
np.unique(u)
np.unique(u, return_counts=True)
np.searchsorted(a, 1.2)
np.digitize(a, x)
np.histogram(a, bins=5)
np.bincount(u)
np.interp(1.2, a, b)
np.interp(x, a, b)
np.polyfit(a, b, 1)
np.polyval(p, a)
np.convolve(a, x)
np.correlate(a, x)
np.clip(a, 0.6, 1.0)
np.round(a, 2)
np.isclose(a, b)
np.allclose(a, b)
np.array_equal(a, b)
np.isin(u, j)
np.intersect1d(u, j)
np.setdiff1d(u, j)
np.take(a, j)
np.take_along_axis(R, R.argsort(axis=1), axis=1)
np.choose([0, 1, 0], [x, y])
np.select([a > 1.0, a > 0.7], [a, b], 0.0)
np.ix_([0, 1], [1, 2])
np.unravel_index(5, (3, 4))
np.ravel_multi_index((1, 2), (3, 4))
np.real(c)
np.angle(c)
np.conj(c)
np.nan_to_num(w)
np.trapezoid(a, b)
np.cov(a, b)
np.corrcoef(a, b)
np.apply_along_axis(len, 0, R)
np.iscomplexobj(a)
np.shape(a)
np.ndim(a)
np.size(a)
np.isscalar(2.0)
np.result_type(a, f)
np.can_cast(int, float)
np.add.reduce(a)
np.add.accumulate(a)
np.add.outer(x, y)
np.add.at(o, j, 1.0)
np.float64(2.0)
np.finfo(float)
r.random()
r.random(10)
r.normal(size=10)
r.integers(0, 10)
r.integers(0, 10, 5)
r.choice(5)
r.permutation(5)
np.random.rand(3)
np.random.randn()
""".strip().split("\n")
WRITES = """
o[3] = 1.0
o[2:5] = 1.0
o[:] = a
o[j] = 2.0
o[m] = 0.0
o += 1.0
o *= b
o[1:] += a[1:]
o[2:7] = a[2:7] * 2
for q in a: q
for q in R: q
for q in range(10): a[q]
np.copyto(o, a)
np.fill_diagonal(M, 1.0)
np.put(o, j, 1.0)
np.putmask(o, m, 0.0)
np.place(o, m, [0.0])
""".strip().split("\n")
BATCH = 2e-4  # seconds
ALL = [*CALLS, *WRITES]


def timer(text, module, setup=SETUP):
    """A function of n: seconds that n calls take."""
    names = {"np": module}
    exec(setup, names)
    given = ", ".join(f"{name}={name}" for name in names if not name.startswith("_"))
    code = (
        f"def run(n, {given}):\n    start = clock()\n    for _ in range(n):\n        {text}\n    return clock() - start"
    )
    names["clock"] = time.perf_counter
    exec(code, names)
    return names["run"]


def ratio(text, module, setup=SETUP, rounds=15):
    """lazynp's time over NumPy's, and NumPy's time of a call in seconds."""
    ours, theirs = timer(text, module, setup), timer(text, numpy, setup)
    calls = 1
    while theirs(calls) < BATCH:
        calls *= 2
    ours(max(calls // 4, 1))
    pairs = []
    for turn in range(rounds):
        first, second = (ours, theirs) if turn % 2 else (theirs, ours)
        t, s = first(calls), second(calls)
        pairs.append((t, s) if turn % 2 else (s, t))
    return statistics.median([t / s for t, s in pairs]), statistics.median([s for _, s in pairs]) / calls


def main(part="", calls=ALL, setup=SETUP):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    import lazynp

    rows = sorted([(*ratio(text, lazynp, setup), text) for text in calls if part in text], reverse=True)
    for r, seconds, text in rows:
        print(f"{r:6.2f}  {seconds * 1e6:8.2f} us  +{(r - 1) * seconds * 1e9:7.0f} ns  {text}")
    mean = math.exp(statistics.mean(math.log(r) for r, *_ in rows))
    print(
        f"{len(rows)} calls: geometric mean {mean:.2f} of NumPy's time, "
        f"{sum(r > 1.5 for r, *_ in rows)} over 1.5, {sum(r > 2 for r, *_ in rows)} over 2"
    )


class SmallCalls:
    """Each call under asv: seconds."""

    params = (["numpy", "lazynp"], ALL)
    param_names = ("library", "call")

    def setup(self, library, call):
        self.run = timer(call, __import__(library))

    def time_hundred(self, library, call):
        self.run(100)


if __name__ == "__main__":
    main(*sys.argv[1:])
