"""Binomial samples made of any generator's uniform ones, all at once, as JAX makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import numpy as jnp
from ..lax.control import while_loop

Split = Callable[[Any, int], Any]
Uniform = Callable[[Any], Any]
TAILS = (
    *(0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211),
    *(0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287),
)
"""Of the logarithm of a factorial, what Stirling's formula leaves out, for 0 to 9."""


def binomial_samples(key: Any, count: Any, p: Any, split: Split, uniform: Uniform) -> Any:
    """How many of `count` trials of success probability p succeed; both arrays have the shape of the result.

    `split(key, n)` gives n keys, and `uniform(key)` numbers of that shape in [0, 1). NaN for a negative count or a p
    outside of [0, 1].
    """
    rare = p < 0.5
    q = jnp.where(rare, p, 1 - p)
    no_count, no_chance = jnp.isnan(count) | (count < 0), jnp.isnan(q)
    invalid = no_count | no_chance | (q < 0)
    q = jnp.where(no_chance | (q < 0), 0.01, q)
    few = no_count | (count * q <= 10)
    whole = jnp.floor(count)
    found = jnp.where(
        few,
        by_waiting(key, jnp.where(few, whole, 0), q, split, uniform),
        by_rejection(key, jnp.where(few, 1e4, whole), jnp.where(few, 0.5, q), split, uniform),
    )
    endless = jnp.isinf(whole)
    found = jnp.where(invalid, jnp.nan, jnp.where(endless, jnp.inf, found))
    return jnp.where(rare | no_count | no_chance | endless, found, whole - found)


def by_waiting(key: Any, count: Any, p: Any, split: Split, uniform: Uniform) -> Any:
    """Trials up to the next success, added up until there are more than `count`: for few expected successes."""
    scale = jnp.log1p(-p)

    def wait(state: Any) -> Any:
        successes, trials, key = state
        own, key = split(key, 2)
        waited = jnp.ceil(jnp.log(uniform(own)) / scale)
        return jnp.where(trials <= count, successes + 1, successes), trials + waited, key

    zero = jnp.zeros_like(p)
    return while_loop(lambda state: (state[1] <= count).any(), wait, (zero, zero, key))[0] - 1


def by_rejection(key: Any, count: Any, p: Any, split: Split, uniform: Uniform) -> Any:
    """Hörmann, The generation of binomial random variates (1993): transformed rejection, for many of them."""
    deviation = jnp.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre, bound, odds = count * p + 0.5, 0.92 - 4.2 / b, p / (1 - p)
    alpha, mode = (2.83 + 5.1 / b) * deviation, jnp.floor((count + 1) * p)

    def propose(state: Any) -> Any:
        out, accepted, key = state
        key, first, second = split(key, 3)
        u, v = uniform(first) - 0.5, uniform(second)
        us = 0.5 - jnp.abs(u)
        k = jnp.floor((2 * a / us + b) * u + centre)
        limit = (
            (mode + 0.5) * jnp.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * jnp.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * jnp.log(odds * (count - k + 1) / (k + 1))
            + tail(mode)
            + tail(count - mode)
            - tail(k)
            - tail(count - k)
        )
        inside = (k >= 0) & (k <= count) & (jnp.log(v * alpha / (a / (us * us) + b)) <= limit)
        accept = (us >= 0.07) & (v <= bound) | inside
        return jnp.where(accept, k, out), accepted | accept, key

    start = (jnp.full_like(p, -1), jnp.zeros(p.shape, bool), key)
    return while_loop(lambda state: (~state[1]).any(), propose, start)[0]


def tail(k: Any) -> Any:
    """What Stirling's formula for the logarithm of k! leaves out."""
    small = jnp.clip(k, 0, 9)
    square = (small + 1) * (small + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (small + 1)
    return jnp.where(k <= 9, jnp.array(TAILS, k.dtype)[jnp.floor(small).astype("int32")], series)
