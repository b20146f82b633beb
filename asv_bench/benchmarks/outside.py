"""Operations on memory that another library has, too: `np.asarray` of its array, which it may write to at any time.

    python asv_bench/benchmarks/outside.py         a table: NumPy's time over lazynp's, call by call

Timed as `million.py` times: in turns in one process, all results computed.
"""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parent))

import million

import lazynp

N = 1_000_000
CALLS = """
x + 1
x * x
np.sin(x)
np.sqrt(x)
x[1:] - x[:-1]
(x * 2 + 1) * x
np.exp(-(x**2)) * x
np.where(x > 0.5, x, 0)
np.clip(x, 0.2, 0.8)
np.diff(x)
x.astype(np.float32)
(x - x.mean()) / x.std()
np.abs(x - 0.5).max()
m.mean(axis=0)
m @ v
np.add(x, 1, out=w)
w.__iadd__(x)
""".strip().splitlines()


def arrays(np):
    x = numpy.random.default_rng(0).random(N)
    as_array = np.asarray if np is lazynp else lambda a: a
    return SimpleNamespace(
        x=as_array(x), m=as_array(x.reshape(1000, 1000)), v=as_array(x[:1000]), w=np.zeros(N), kept=x
    )


def function(text):
    code = compile(text, text, "eval")
    return lambda np, a: eval(code, {"np": np, **vars(a)})


class Outside(million.Million):
    make, compiled = staticmethod(arrays), staticmethod(function)
    params = (CALLS, ["numpy", "lazynp"])


if __name__ == "__main__":
    print(" clock median   CPU     NumPy    lazynp")
    for text in CALLS:
        held = [arrays(numpy), arrays(lazynp)]
        found = million.measure(function(text), held, rounds=15, budget=0.6)
        ratios = " ".join([f"{x:6.2f}" for x in (found.clock, found.median, found.processors)])
        print(ratios, *[f"{1e3 * s:9.3f}" for s in found.seconds], "ms ", text)
