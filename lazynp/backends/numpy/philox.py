"""Philox-4x32 in NumPy, bit-exact with XLA's, and samples from words of any generator: the lowerings of
`ops.generators`, which importing this module makes work."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .namespace import xp
from .samplers import SAMPLERS, transform

Array = Any
U32, U64 = np.dtype(np.uint32), np.dtype(np.uint64)
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10
HALF = np.uint64(32)


def hashed(counter: list[Array], key: list[Array]) -> list[Array]:
    """Four words for each counter (four arrays of words, held as uint64) under a key of two, which broadcast."""
    low = np.uint64(0xFFFFFFFF)
    a, b, c, d = counter
    for i in range(ROUNDS):
        k0, k1 = ((k + np.uint64(i * w)) & low for k, w in zip(key, WEYL))
        first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, b, c, d = (second >> HALF) ^ b ^ k0, second & low, (first >> HALF) ^ d ^ k1, first & low
    return [a, b, c, d]


def words(state: Array, count: int) -> tuple[Array, Array]:
    """The state after so many words, and the words. The counter is of 128 bits, of which the key is the upper half, and
    only the lower one goes into the next state."""
    blocks = -(-count // 4)
    k0, k1, c0, c1 = (int(w) for w in state)
    start = c0 | c1 << 32
    index = np.arange(blocks, dtype=U64)
    low = index + np.uint64(start)
    carry = (low < index).astype(U64)
    high = carry + np.uint64(k0 | k1 << 32)
    mask = np.uint64(0xFFFFFFFF)
    found = hashed([low & mask, low >> HALF, high & mask, high >> HALF], [np.uint64(k0), np.uint64(k1)])
    after = start + blocks & 0xFFFFFFFFFFFFFFFF
    following = np.array([k0, k1, after & 0xFFFFFFFF, after >> 32], U32)
    return following, np.stack(found, axis=-1).reshape(-1)[:count].astype(U32)


def philox(state: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The next state, and the low bits of a word for each integer; of two words for integers of 64 bits."""
    each = 2 if dtype.itemsize == 8 else 1
    after, found = words(state, math.prod(shape) * each)
    return after, (found.view(U64) if each == 2 else found.astype(dtype)).reshape(shape)


def words_to_sample(given: Array, sampler: str, dtype: np.dtype[Any]) -> Array:
    """The samples of a distribution in `SAMPLERS`."""
    each = SAMPLERS[sampler].words
    flat = np.ascontiguousarray(given.reshape(-1, each).T)
    with np.errstate(all="ignore"):
        return np.asarray(transform(sampler, dtype)(flat)).reshape(given.shape[:-1])


vars(xp).update(philox=philox, words_to_sample=words_to_sample)
