"""Samplers that accept and reject: gamma, Poisson, binomial. JAX's algorithms, with its order of splitting keys.

A loop runs over all elements at once, each with the keys that JAX's loop would have given it; only those that are not
done yet are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from . import threefry, xla
from .samplers import F32, random_sample, unit, wide, word_width

Array = Any
DType = np.dtype[Any]
STIRLING = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)
"""log k! less Stirling's formula, for k up to 9."""


def drawn(name: str, keys: Array, dtype: DType, partitionable: bool) -> Array:
    """One sample for each key."""
    return random_sample(keys, name, dtype, (), partitionable)


def random_gamma(keys: Array, a: Array, log_space: bool, partitionable: bool) -> Array:
    """Gamma samples (their logarithms with `log_space`) of shape a.shape, whose first axes are those of the keys.

    Marsaglia and Tsang, A simple method for generating gamma variables (ACM TOMS 26, 2000).
    """
    dtype, inner = a.dtype, wide(a.dtype)
    stack = keys.ndim - 1
    own = threefry.key_split(keys, (math.prod(a.shape[stack:]),), partitionable).reshape(-1, 2)
    alpha = a.reshape(-1).astype(inner)
    with np.errstate(all="ignore"):
        pairs = threefry.key_split(own, (2,), partitionable)
        boosted = ~(alpha >= 1)
        larger = np.where(boosted, alpha + inner.type(1), alpha)
        d = larger - inner.type(1.0 / 3.0)
        cube = marsaglia(pairs[:, 0], d, inner.type(1.0 / 3.0) * xla.rsqrt(d), dtype, partitionable)
        one = inner.type(1)
        if log_space:
            low = -drawn("exponential", pairs[:, 1], dtype, partitionable).astype(inner)
            boost = np.where(~boosted | (low == 0), inner.type(0), low * (one / alpha))
            out = xla.log(d) + xla.log(cube) + boost
        else:
            rest = one - drawn("uniform", pairs[:, 1], dtype, partitionable).astype(inner)
            out = d * cube * np.where(boosted, xla.power(rest, one / alpha), one)
    return out.astype(dtype).reshape(a.shape)


def marsaglia(keys: Array, d: Array, c: Array, dtype: DType, partitionable: bool) -> Array:
    """The accepted cubes v^3. The first test is of a start at which it depends on d only."""
    kind = d.dtype.type
    out = np.ones_like(d)
    active = np.flatnonzero(xla.log(np.full_like(d, 2)) >= d * kind(0))
    keys = keys[active]
    while active.size:
        three = threefry.key_split(keys, (3,), partitionable)
        keys, inner, last = three[:, 0], three[:, 1], three[:, 2]
        here, step = d[active], c[active]
        x, v = np.zeros_like(here), np.full_like(here, -1)
        todo = np.arange(active.size)
        while todo.size:
            two = threefry.key_split(inner, (2,), partitionable)
            inner = two[:, 0]
            x[todo] = drawn("normal", two[:, 1], dtype, partitionable)
            v[todo] = xla.fma(x[todo], step[todo], kind(1))
            again = v[todo] <= 0
            todo, inner = todo[again], inner[again]
        square = x * x
        cube = v * v * v
        u = drawn("uniform", last, dtype, partitionable).astype(d.dtype)
        out[active] = cube
        bound = xla.fma(here, kind(1) - cube + xla.log(cube), square * kind(0.5))
        squeeze = xla.fma(square * square, kind(-0.0331), kind(1))
        again = (u >= squeeze) & (xla.log(u) >= bound)
        active, keys = active[again], keys[again]
    return out


class Draws:
    """Uniform numbers for single elements of arrays, one array for each key: number i of the array of key b.

    Attributes:
        owner: of each element, which of the keys is its own.
        place: of each element, its place in that key's array, of `size` elements.
    """

    def __init__(self, keys: Array, size: int, dtype: DType, partitionable: bool) -> None:
        self.keys, self.size, self.dtype, self.partitionable = keys.reshape(-1, 2), size, dtype, partitionable
        n = len(self.keys)
        self.owner, self.place = np.repeat(np.arange(n), size), np.tile(np.arange(size, dtype=np.uint64), n)

    def split(self, count: int) -> Array:
        """So many new keys for each: shape (keys, count, 2)."""
        return threefry.key_split(self.keys, (count,), self.partitionable)

    def uniform(self, keys: Array, elements: Array) -> Array:
        """Those of the given elements, as jax.random.uniform of the whole array would have them."""
        if not self.partitionable:
            whole = random_sample(keys, "uniform", self.dtype, (self.size,), False)
            return whole.reshape(-1)[elements].astype(wide(self.dtype))
        own = keys[0] if len(keys) == 1 else keys[self.owner[elements]]
        words = threefry.words_at(own, self.place[elements], word_width(self.dtype))
        return unit(words, self.dtype).astype(wide(self.dtype))


def random_poisson(keys: Array, rate: Array, dtype: DType, shape: tuple[int, ...], partitionable: bool) -> Array:
    """Poisson samples of that shape for each key, with rates (float32) that broadcast to (*keys.shape[:-1], *shape)."""
    whole = (*keys.shape[:-1], *shape)
    rate = np.broadcast_to(rate, whole).reshape(-1)
    out = np.empty(rate.shape, dtype)
    small = np.isnan(rate) | (rate < 10)
    most = int(np.iinfo(dtype).max)
    with np.errstate(all="ignore"):
        if small.any():
            draws = Draws(keys, math.prod(shape), F32, partitionable)
            out[small] = knuth(draws, np.flatnonzero(small), rate[small], most).astype(dtype)
        if not small.all():
            draws = Draws(keys, math.prod(shape), F32, partitionable)
            found = transformed(draws, np.where(small, np.float32(1e5), rate), most)
            count = found[~small]
            out[~small] = np.where(count >= most, most, count.astype(dtype))
    out[rate == 0] = 0
    return out.reshape(whole)


def knuth(draws: Draws, elements: Array, rate: Array, most: int) -> Array:
    """How many uniform numbers can be multiplied before the product falls below exp(-rate), for small rates."""
    counts = np.full(elements.size, -1, np.int64)
    product = np.zeros(elements.size, F32)
    active = np.flatnonzero(product > -rate)
    for _ in range(most):
        if not active.size:
            break
        counts[active] += 1
        keys = draws.split(2)
        draws.keys = keys[:, 0]
        product[active] += xla.log(draws.uniform(keys[:, 1], elements[active]))
        active = active[product[active] > -rate[active]]
    return counts


Round = tuple[Array, Array, Array, Callable[[Array], None]]


def candidates(draws: Draws, most: int) -> Iterator[Round]:
    """Rounds of a transformed rejection: elements, two uniform numbers for each, the first less 1/2, and a function to
    be told which were accepted. A key's elements all take part until each has been accepted once: later ones count."""
    waiting_for = np.ones(draws.owner.size, bool)
    for _ in range(most):
        open_keys = np.bincount(draws.owner[waiting_for], minlength=len(draws.keys)) > 0
        elements = np.flatnonzero(open_keys[draws.owner])
        if not elements.size:
            return
        keys = draws.split(3)
        draws.keys = keys[:, 0]
        accepted: list[Array] = []
        u, v = (draws.uniform(keys[:, i], elements) for i in (1, 2))
        yield elements, u - u.dtype.type(0.5), v, accepted.append
        waiting_for[elements[accepted[0]]] = False


def transformed(draws: Draws, rate: Array, most: int) -> Array:
    """W. Hoermann, The transformed rejection method for generating Poisson random variables (1993): rates from 10."""
    f = np.float32
    log_rate = xla.log(rate)
    b = xla.fma(np.sqrt(rate), f(2.53), f(0.931))
    a = xla.fma(b, f(0.02483), f(-0.059))
    inverse_alpha = f(1.1239) + f(1.1328) / (b - f(3.4))
    v_r = f(0.9277) - f(3.6224) / (b - f(2))
    counts = np.full(rate.size, -1, F32)
    for active, u, v, accepted in candidates(draws, most):
        here, a1, b1 = rate[active], a[active], b[active]
        rest = f(0.5) - np.abs(u)
        k = np.floor(xla.fma(f(2) * a1 / rest + b1, u, here) + f(0.43))
        s = xla.log(v * inverse_alpha[active] / (a1 / (rest * rest) + b1))
        t = xla.fma(k, log_rate[active], -here) - xla.lgamma(k + f(1))
        reject = (k < 0) | ((rest < f(0.013)) & (v > rest))
        accept = ((rest >= f(0.07)) & (v <= v_r[active])) | (~reject & (s <= t))
        counts[active[accept]] = k[accept]
        accepted(accept)
    return counts


def random_binomial(
    keys: Array, count: Array, p: Array, dtype: DType, shape: tuple[int, ...], partitionable: bool
) -> Array:
    """Binomial samples, as floats of `dtype`, of that shape for each key; count and p (floats of one dtype) broadcast
    to (*keys.shape[:-1], *shape)."""
    whole, own, inner = (*keys.shape[:-1], *shape), p.dtype, wide(p.dtype)
    count, p = (np.broadcast_to(x, whole).reshape(-1).astype(inner) for x in (count, p))
    half = p < inner.type(0.5)
    q = np.where(half, p, inner.type(1) - p)
    no_count, no_p, endless = np.isnan(count) | (count < 0), np.isnan(q), np.isinf(count)
    invalid = no_count | no_p | (q < 0)
    q = np.where(no_p | (q < 0), inner.type(0.01), q)
    few = no_count | (count * q <= 10)
    count = np.floor(count)
    out = np.empty(p.shape, dtype)
    most = int(ml_dtypes.finfo(dtype).max)
    with np.errstate(all="ignore"):
        if few.any():
            draws = Draws(keys, math.prod(shape), own, partitionable)
            out[few] = waiting(draws, np.flatnonzero(few), count[few], q[few], most).astype(dtype)
        if not few.all():
            draws = Draws(keys, math.prod(shape), own, partitionable)
            spare = inner.type(1e4), inner.type(0.5)
            found = btrs(draws, np.where(few, spare[0], count), np.where(few, spare[1], q), most)
            out[~few] = found[~few].astype(dtype)
        out[invalid] = np.nan
        out[endless & ~invalid] = np.inf
        turned = ~(half | no_count | no_p | endless)
        out[turned] = count[turned].astype(dtype) - out[turned]
    return out.reshape(whole)


def waiting(draws: Draws, elements: Array, count: Array, q: Array, most: int) -> Array:
    """How many geometric waiting times fit into the number of trials, where few successes are expected."""
    found, passed = np.full_like(q, -1), np.zeros_like(q)
    log_miss = xla.log1p(-q)
    active = np.flatnonzero(passed <= count)
    for _ in range(most):
        if not active.size:
            break
        found[active] += 1
        keys = draws.split(2)
        draws.keys = keys[:, 1]
        passed[active] += np.ceil(xla.log(draws.uniform(keys[:, 0], elements[active])) / log_miss[active])
        active = active[passed[active] <= count[active]]
    return found


def btrs(draws: Draws, count: Array, q: Array, most: int) -> Array:
    """W. Hoermann, The generation of binomial random variates (J. Stat. Comput. Simul. 46, 1993), algorithm BTRS."""
    f = q.dtype.type
    one = f(1)
    deviation = np.sqrt(count * q * (one - q))
    b = xla.fma(deviation, f(2.53), f(1.15))
    a = xla.fma(q, f(0.01), xla.fma(b, f(0.0248), f(-0.0873)))
    c = xla.fma(count, q, f(0.5))
    v_r = f(0.92) - f(4.2) / b
    r = q / (one - q)
    alpha = (f(2.83) + f(5.1) / b) * deviation
    m = np.floor((count + one) * q)
    middle = (m + f(0.5), xla.log((m + one) / (r * (count - m + one))), stirling(m) + stirling(count - m))
    found = np.full_like(q, -1)
    for active, u, v, accepted in candidates(draws, most):
        n, m1, a1, b1, r1 = count[active], m[active], a[active], b[active], r[active]
        rest = f(0.5) - np.abs(u)
        k = np.floor(xla.fma(f(2) * a1 / rest + b1, u, c[active]))
        reject = (k < 0) | (k > n)
        second = (n + one) * xla.log((n - m1 + one) / (n - k + one))
        bound = xla.fma(middle[0][active], middle[1][active], second)
        bound = xla.fma(k + f(0.5), xla.log(r1 * (n - k + one) / (k + one)), bound)
        bound = bound + middle[2][active] - stirling(k) - stirling(n - k)
        accept = (rest >= f(0.07)) & (v <= v_r[active])
        v = xla.log(v * alpha[active] / (a1 / (rest * rest) + b1))
        accept |= ~reject & (v <= bound)
        found[active[accept]] = k[accept]
        accepted(accept)
    return found


def stirling(k: Array) -> Array:
    """log k! less Stirling's formula."""
    f = k.dtype.type
    table = np.array(STIRLING, k.dtype)
    small = np.nan_to_num(np.clip(k, f(0), f(9)))
    square = (small + f(1)) * (small + f(1))
    series = (f(1.0 / 12) - (f(1.0 / 360) - f(1.0 / 1260) / square) / square) / (small + f(1))
    return np.where(k <= 9, table[np.floor(small).astype(np.int32)], series)
