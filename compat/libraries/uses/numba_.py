"""numba."""

import numba
import numpy as np
from describe import main


@numba.njit
def total(a):
    s = 0.0
    for v in a.flat:
        s += v
    return s + a.sum()


@numba.njit
def write(a, k):
    a[k] = -1.0
    return a


@numba.njit("float64[:](float64[:], float64)")
def scaled(a, c):
    return a * c


@numba.njit
def pairs(both, many):
    return both[0].sum() + both[1][0] + many[0].shape[0]


@numba.vectorize
def plus(a, b):
    return a + 2 * b


@numba.vectorize(["float64(float64)"])
def twice(a):
    return 2 * a


@numba.guvectorize(["(float64[:], float64[:], float64[:])"], "(n),(n)->()")
def dot(a, b, out):
    out[0] = 0
    for i in range(a.shape[0]):
        out[0] += a[i] * b[i]


@numba.jit(parallel=False, fastmath=False)
def keywords(a, scale=1.0):
    return a[::2] * scale


WEIGHTS = np.array([1.0, 2.0, 4.0])


@numba.njit
def inside(n):
    a = np.zeros((n, 2), dtype=np.float64)
    for i in range(n):
        a[i] = np.sqrt(i) + np.pi
    return np.concatenate((a[0], np.linalg.solve(np.eye(2) * 2, a[1]))), np.dot(WEIGHTS, WEIGHTS)


@numba.stencil
def neighbours(a):
    return a[-1] + a[1]


@numba.njit(parallel=True)
def doubled(a):
    for i in numba.prange(a.shape[0]):
        a[i] *= 2
    return a


@numba.experimental.jitclass([("a", numba.float64[:])])
class Holder:
    def __init__(self, a):
        self.a = a

    def plus(self, b):
        return np.sum(self.a + b)


def closure():
    c, maximum = x(), np.maximum
    return numba.njit(lambda i: maximum(c[i], 0.5))(3)


def x():
    return np.linspace(0, 1, 12)


def in_place():
    a = x().reshape(3, 4)
    write(a[1], 2)
    write(a.T[0], 0)
    return a, a + 1


def repeated():
    a = x()
    for k in range(3):
        write(a, k)
        a = a * 2
    return a


LINES = {
    "njit(x)": lambda: total(x()),
    "njit(x.reshape(3, 4).T)": lambda: total(x().reshape(3, 4).T),
    "njit of whole numbers": lambda: total(np.arange(6)),
    "njit writes into its argument": in_place,
    "njit between operations": repeated,
    "njit gives its argument": lambda: write(x(), 1),
    "njit with a signature": lambda: scaled(x(), 2.0),
    "njit of tuples of arrays": lambda: pairs((x(), x()), (x(),)),
    "njit with keywords": lambda: keywords(a=x(), scale=3.0),
    "vectorize": lambda: plus(x(), x()),
    "vectorize and a scalar": lambda: plus(x(), 1.0),
    "vectorize with a signature": lambda: twice(x()),
    "vectorize into out": lambda: (lambda out: (twice(x(), out=out), out)[1])(np.zeros(12)),
    "guvectorize": lambda: dot(x().reshape(3, 4), x().reshape(3, 4)),
    "ufunc.reduce": lambda: numba.vectorize(["float64(float64,float64)"])(lambda a, b: a + b).reduce(x()),
    "NumPy's functions inside njit": lambda: inside(3),
    "arrays and functions from a closure": closure,
    "stencil": lambda: neighbours(x()),
    "prange": lambda: doubled(x()),
    "jitclass": lambda: Holder(x()).plus(x()),
    "numba.typeof(x)": lambda: str(numba.typeof(x())),
    "numba.typed.List of arrays": lambda: total(numba.typed.List([x()])[0]),
}

if __name__ == "__main__":
    main(LINES)
