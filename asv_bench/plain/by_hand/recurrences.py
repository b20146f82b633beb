"""`../recurrences.py` in JAX."""

from functools import partial

import jax
import jax.numpy as jnp
from jax.lax import fori_loop, scan

from ..recurrences import lorenz
from .common import carried


@carried(2)
def smoothing(steps, x, y):
    def forth(y, x):
        y = 0.3 * x + 0.7 * y
        return y, y

    def body(_, columns):
        rest = scan(forth, columns[0], x.T[1:])[1]
        columns = jnp.concatenate([columns[:1], rest])
        rest = scan(forth, columns[-1], columns[:-1], reverse=True)[1]
        return jnp.concatenate([rest, columns[-1:]])

    return fori_loop(0, steps, body, y.T).T


@carried(2)
def thomas(steps, upper, x):
    def down(carry, row):
        c, x = carry
        upper, right = row
        pivot = 1.0 / (3.0 - 0.5 * c)
        c, x = upper * pivot, (right + 0.5 * x) * pivot
        return (c, x), (c, x)

    def up(x, row):
        c, right = row
        x = right - c * x
        return x, x

    def body(_, x):
        first = (0.3 * upper[0], 0.5 * x[0])
        c, rest = scan(down, first, (upper[1:], x[1:]))[1]
        c, x = jnp.concatenate([first[0][None], c]), jnp.concatenate([first[1][None], rest])
        rest = scan(up, x[-1], (c[:-1], x[:-1]), reverse=True)[1]
        return jnp.concatenate([rest, x[-1:]])

    return fori_loop(0, steps, body, x)


@carried(1)
def seam(steps, energy):
    def down(above, row):
        wide = jnp.pad(above, 1, constant_values=jnp.inf)
        total = row + jnp.minimum(jnp.minimum(wide[:-2], wide[1:-1]), wide[2:])
        return total, total

    def body(_, state):
        energy, _ = state
        total = jnp.concatenate([energy[:1], scan(down, energy[0], energy[1:])[1]])
        return energy + 0.01 * total / total.max(), total

    return fori_loop(0, steps, body, (energy, energy))[1]


@partial(jax.jit, static_argnums=0)
def viterbi(steps, transitions, emissions):
    cost, emitted = jnp.log(0.1 + transitions), jnp.log(0.1 + emissions)

    def forth(score, row):
        candidates = score[:, None] + cost
        return candidates.max(axis=0) + row, candidates.argmax(axis=0)

    def back(state, came_from):
        return came_from[state], came_from[state]

    score, came_from = scan(forth, emitted[0], emitted[1:steps])
    last = score.argmax()
    return score, jnp.concatenate([scan(back, last, came_from, reverse=True)[1], last[None]])


@carried(1)
def shortest_paths(steps, distance):
    def body(k, distance):
        return jnp.minimum(distance, distance[:, k, None] + distance[k])

    return fori_loop(0, jnp.minimum(steps, distance.shape[0]), body, distance)


@carried(1)
def reachable(steps, linked):
    def body(k, linked):
        return linked | (linked[:, k, None] & linked[k])

    return fori_loop(0, jnp.minimum(steps, linked.shape[0]), body, linked)


@carried(1, 2, 3)
def lorenz_ensemble(steps, x, y, z):
    dt = 0.002

    def body(_, state):
        k1 = lorenz(*state)
        k2 = lorenz(*(w + 0.5 * dt * k for w, k in zip(state, k1)))
        k3 = lorenz(*(w + 0.5 * dt * k for w, k in zip(state, k2)))
        k4 = lorenz(*(w + dt * k for w, k in zip(state, k3)))
        return tuple(w + dt / 6.0 * (a + 2.0 * b + 2.0 * c + d) for w, a, b, c, d in zip(state, k1, k2, k3, k4))

    return fori_loop(0, steps, body, (x, y, z))
