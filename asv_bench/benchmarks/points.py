"""Calls on 10,000 points of three coordinates: short rows, masks, and places that arrays of numbers name.

    python asv_bench/benchmarks/points.py         a table: lazynp's time over NumPy's, call by call
    python asv_bench/benchmarks/points.py norm    the calls whose text has this in it

Timed as `small_calls.py` times: in turns in one process, the median of the rounds.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import small_calls

SETUP = """
r = np.random.default_rng(0); p = r.random((10_000, 3)); q = r.random((10_000, 3)); w = r.random(10_000)
near = r.integers(0, 10_000, (10_000, 4)); one = near[:, 0].copy(); f = np.zeros((10_000, 3)); m = w > 0.5
out = p > 0.7; g = r.random((100, 100)); i = r.integers(0, 100, 10_000); j = r.integers(0, 100, 10_000)
A = r.random((3, 3)); t = r.random((8, 40, 40)); late = np.triu(np.ones((40, 40), dtype=bool), 1); c = r.random(3)
"""
CALLS = """
p.sum(axis=1)
(p * q).sum(axis=-1)
p.mean(axis=1)
p.max(axis=1)
p.min(axis=0)
(p > 0.1).all(axis=1)
out.any(axis=1)
p.std(axis=1)
p.var(axis=0)
np.linalg.norm(p, axis=1)
np.linalg.norm(p - q, axis=1, keepdims=True)
p - c
p * w[:, None]
p / np.linalg.norm(p, axis=1)[:, None]
p[one]
p[near]
(p[near] - p[:, None, :]).sum(axis=1)
p[m]
w[m]
p[out]
w[m].sum()
g[i, j]
w[one]
p @ A
f[one] = q
f[m] = 0.0
f[m] = q[m]
f[out] *= -0.9
f[one] += q
g[i, j] = w
np.add.at(f, one, q)
t[:, late] = -1.0
t.sum(axis=1)
t.max(axis=0)
""".strip().split("\n")


class Points:
    """Each call under asv: seconds."""

    params = (["numpy", "lazynp"], CALLS)
    param_names = ("library", "call")

    def setup(self, library, call):
        self.run = small_calls.timer(call, __import__(library), SETUP)

    def time_ten(self, library, call):
        self.run(10)


if __name__ == "__main__":
    small_calls.main(*(sys.argv[1:] or [""]), calls=CALLS, setup=SETUP)
