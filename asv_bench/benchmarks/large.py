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


LOOPS = {f.__name__: f for f in (rows_of_fresh_array, columns_of_copy)}


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
