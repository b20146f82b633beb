"""Loops over arrays of about 1,000,000 elements, which are recorded: one loop for each way in which recording can cost
more than it gives."""

from __future__ import annotations

import numpy

import lazynp

SIDE = 1000


def rows_of_fresh_array(np, u):
    """Small writes into, and reads of, an array that is pending."""
    out = np.zeros_like(u)
    for i in range(1, SIDE):
        out[i] = 0.5 * out[i - 1] + u[i]
    return out


def columns_of_copy(np, u):
    out = u.copy()
    for j in range(1, SIDE - 1):
        out[1:-1, j] = 0.4 * (u[2:, j] + u[:-2, j]) + 0.2 * out[1:-1, j - 1]
    return out


def test_of_convergence(np, u):
    """A demand in each step, of a temporary's largest element."""
    for _ in range(20):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        if np.abs(new - u).max() < 0.0:
            break
        u = new
    return u


def residual_and_its_norm(np, u):
    """A kernel with a sum and other large results."""
    x, p = u.copy(), 0.5 * u
    for _ in range(20):
        x += 1e-3 * p
        p -= 1e-3 * x
        if np.sum(p * p) < 0.0:
            break
    return x


def reachable(np, u):
    """Truth values, in place."""
    linked = u < 2.0 / SIDE
    for k in range(100):
        linked |= linked[:, k, None] & linked[k]
    return linked


def transposed_operands(np, u):
    """Covariances of columns: rows and columns change places in each kernel."""
    total = np.zeros((10, 10))
    rows = u.reshape(-1, 10)
    for k in range(8):
        total += np.cov(rows[k * 1000 :], rowvar=False)
    return total


def softmax_of_rows(np, u):
    """A reduction of each row, and what goes on with it."""
    rows = u.reshape(-1, 20)
    weights = np.exp(rows - rows.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def normalized_rows(np, u):
    rows = u.reshape(-1, 50)
    return (rows - rows.mean(axis=1, keepdims=True)) / np.sqrt(rows.var(axis=1, keepdims=True) + 1e-5)


PROGRAMS = (
    rows_of_fresh_array,
    columns_of_copy,
    test_of_convergence,
    residual_and_its_norm,
    reachable,
    transposed_operands,
    softmax_of_rows,
    normalized_rows,
)
LOOPS = {f.__name__: f for f in PROGRAMS}


class Large:
    params = (list(LOOPS), ["numpy", "lazynp"])
    param_names = ("loop", "library")

    def setup(self, loop, library):
        self.np = numpy if library == "numpy" else lazynp
        self.u = self.np.array(numpy.random.default_rng(0).random((SIDE, SIDE)))
        for _ in range(4):
            self.time_loop(loop, library)
            lazynp.compile_wait()

    def time_loop(self, loop, library):
        value = LOOPS[loop](self.np, self.u)
        (value[0] if isinstance(value, tuple) else value).item(0)
