"""Loops over small arrays, each round of which is one program: what a matched operation costs, and whole rounds.

Each loop runs until it is replayed before it is timed; `_off` is the same with replay off.
"""

from __future__ import annotations

import numpy

import lazynp
from lazynp.runtime import replay

ROUNDS = 2000


def binary(np, u, v):
    for _ in range(ROUNDS):
        u + v


def scalar(np, u, v):
    for _ in range(ROUNDS):
        u * 0.5


def write(np, u, v):
    for _ in range(ROUNDS):
        u[1:-1] = v[2:]


def in_place(np, u, v):
    for _ in range(ROUNDS):
        u += 1e-9


def stencil(np, u, v):
    for _ in range(ROUNDS):
        v[1:-1] = 0.25 * (u[2:] + 2.0 * u[1:-1] + u[:-2])
        u, v = v, u


def names_bound_anew(np, u, v):
    for k in range(ROUNDS):
        r = v - 0.3 * u
        u = u + 0.01 * r + 1e-9 * k * (u - v)


def test_of_convergence(np, u, v):
    for _ in range(ROUNDS):
        old = u.copy()
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        if np.max(np.abs(u - old)) < 0.0:
            break


def masks(np, u, v):
    seen = u < 0.0
    for _ in range(ROUNDS):
        seen |= v < 0.02
        u = np.where(seen & (v < 0.5), u, 0.5 * v)


MOST = binary, scalar, write, in_place, stencil, names_bound_anew, test_of_convergence, masks
LOOPS = {f.__name__: f for f in MOST}


class Replay:
    params = (list(LOOPS), [10, 1000, 30_000], ["numpy", "lazynp", "lazynp_off"])
    param_names = ("loop", "elements", "library")

    def setup(self, loop, elements, library):
        self.np = numpy if library == "numpy" else lazynp
        replay.switch(library == "lazynp", seconds=0)
        values = numpy.random.default_rng(0).random((2, elements))
        self.u, self.v = self.np.array(values[0]), self.np.array(values[1])
        for _ in range(4):
            LOOPS[loop](self.np, self.u, self.v)
            lazynp.compile_wait()

    def teardown(self, loop, elements, library):
        replay.switch(lazynp.config.replay)

    def time_rounds(self, loop, elements, library):
        LOOPS[loop](self.np, self.u, self.v)
        float(self.u[0])
