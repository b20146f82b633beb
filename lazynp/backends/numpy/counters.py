"""Hashes of counters under keys by other functions than `threefry`'s: the lowering of `ops.generators.hash_counter`,
which importing this module makes work. Bit-exact with JAX's generators of these names.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011). Words are held as uint64, so that
products and sums of two fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .namespace import xp
from .philox import HALF, ROUNDS, WEYL, hashed
from .threefry import PARITY

Array = Any
U64 = np.dtype(np.uint64)
LOW = np.uint64(0xFFFFFFFF)
MULTIPLIER = np.uint64(0xD256D193)
ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))


def philox2x32(counter: list[Array], key: list[Array]) -> list[Array]:
    """Two words for each counter under a key of one word."""
    a, b = counter
    for i in range(ROUNDS):
        product = a * MULTIPLIER
        a, b = (product >> HALF) ^ b ^ ((key[0] + np.uint64(i * WEYL[0])) & LOW), product & LOW
    return [a, b]


def rotated(x: Array, by: int) -> Array:
    return (x << np.uint64(by) | x >> np.uint64(32 - by)) & LOW


def threefry4x32(counter: list[Array], key: list[Array]) -> list[Array]:
    """Four words for each counter under a key of four: 20 rounds, after each four of which the key comes in again."""
    keys = [*key, key[0] ^ key[1] ^ key[2] ^ key[3] ^ np.uint64(PARITY)]
    x = [(c + k) & LOW for c, k in zip(counter, keys)]
    for i in range(20):
        one, other = (1, 3) if i % 2 == 0 else (3, 1)
        for to, of, by in zip((0, 2), (one, other), ROTATIONS[i % 8]):
            x[to] = (x[to] + x[of]) & LOW
            x[of] = rotated(x[of], by) ^ x[to]
        if i % 4 == 3:
            n = i // 4 + 1
            x = [(w + keys[(n + j) % 5]) & LOW for j, w in enumerate(x)]
            x[3] = (x[3] + np.uint64(n)) & LOW
    return x


HASHES: dict[str, tuple[int, Callable[[list[Array], list[Array]], list[Array]]]] = {
    "philox2x32": (2, philox2x32),
    "philox4x32": (4, hashed),
    "threefry4x32": (4, threefry4x32),
}
"""How many words a counter has, and the hash."""


def hash_counter(key: Array, counter: Array, algorithm: str, at: int, dtype: np.dtype[Any]) -> Array:
    """The hashes of these counters (uint64), whose halves are the words `at` and `at + 1`, the upper one first; the
    other words are zero. Records of words, as the keys are."""
    count, function = HASHES[algorithm]
    shape = np.broadcast_shapes(key.shape, counter.shape)
    words = [np.zeros((), U64)] * count
    words[at : at + 2] = counter >> HALF, counter & LOW
    keys = key[key.dtype.names[0]].astype(U64)
    found = function([np.broadcast_to(w, shape) for w in words], [keys[..., i] for i in range(keys.shape[-1])])
    return np.stack(found, axis=-1).astype(np.uint32).view(dtype)[..., 0]


vars(xp).update(hash_counter=hash_counter)
