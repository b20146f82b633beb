"""Threefry-2x32 with 20 rounds, and what JAX makes of it: random bits, split keys, folded keys. Bit-exact with JAX.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011). Two ways lead from a key to n words:

- partitionable: word i is the hash of the 64-bit counter i, its two halves combined by xor (or put together, for
  64-bit words). So any part of the words can be had alone.
- original: the counters 0, 1, ... are cut in two halves, and the hash of (i, i + n/2) gives the words i and i + n/2.

Keys are uint32 arrays whose last axis has length 2. The work is done in place, in blocks that stay in cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...config import config
from ...keyed import native
from ..support import CORES
from .crew import crew

Array = Any
Transform = Callable[[Array], Array]  # of words to samples, elementwise; or several words to one, along axis 0
U32 = np.dtype(np.uint32)
UINTS = {w: np.dtype(f"uint{w}") for w in (8, 16, 32, 64)}
PARITY = 0x1BD11BDA
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
MASK = 0xFFFFFFFF
BLOCK = 1 << 15  # words hashed at a time: three arrays of 128 KB
ALONE = 8  # up to so many words are hashed one by one


def hash_one(k0: int, k1: int, x0: int, x1: int) -> tuple[int, int]:
    """The hash of one counter, in Python's integers: faster than arrays for a few."""
    ks = (k0, k1, k0 ^ k1 ^ PARITY)
    x0, x1 = (x0 + k0) & MASK, (x1 + k1) & MASK
    for i in range(5):
        for r in ROTATIONS[i & 1]:
            x0 = (x0 + x1) & MASK
            x1 = (x1 << r & MASK | x1 >> 32 - r) ^ x0
        x0 = (x0 + ks[(i + 1) % 3]) & MASK
        x1 = (x1 + ks[(i + 2) % 3] + i + 1) & MASK
    return x0, x1


def hash_into(k0: Array, k1: Array, x0: Array, x1: Array, scratch: Array | None = None) -> None:
    """The hash of the counters (x0, x1), written over them. The keys broadcast against them."""
    if native is not None and np.size(k0) in (1, x0.size) and x0.flags.c_contiguous and x1.flags.c_contiguous:
        native.hash(np.ascontiguousarray(k0), np.ascontiguousarray(k1), x0, x1)
        return
    ks = (k0, k1, k0 ^ k1 ^ U32.type(PARITY))
    t = np.empty_like(x1) if scratch is None else scratch
    x0 += k0
    x1 += k1
    for i in range(5):
        for r in ROTATIONS[i & 1]:
            x0 += x1
            np.left_shift(x1, U32.type(r), out=t)
            np.right_shift(x1, U32.type(32 - r), out=x1)
            x1 |= t
            x1 ^= x0
        x0 += ks[(i + 1) % 3]
        x1 += ks[(i + 2) % 3]
        x1 += U32.type(i + 1)


def threefry2x32(k0: Array, k1: Array, x0: Array, x1: Array) -> tuple[Array, Array]:
    """The hash of counters under keys, all uint32, which broadcast: both words."""
    shape = np.broadcast_shapes(*[np.shape(a) for a in (k0, k1, x0, x1)])
    out0, out1 = (np.array(np.broadcast_to(x, shape)).reshape(-1) for x in (x0, x1))
    keys = [np.asarray(k) if np.ndim(k) == 0 else np.broadcast_to(k, shape).reshape(-1) for k in (k0, k1)]
    scratch = np.empty(min(BLOCK, out0.size), U32)
    for start in range(0, out0.size, BLOCK):
        part = slice(start, start + BLOCK)
        a, b = [k if k.ndim == 0 else k[part] for k in keys]
        hash_into(a, b, out0[part], out1[part], scratch[: out0[part].size])
    return out0.reshape(shape), out1.reshape(shape)


def joined(x0: Array, x1: Array, width: int) -> Array:
    """A word of that many bits for each hash, in the partitionable form."""
    if width == 64:
        return x0.astype(np.uint64) << np.uint64(32) | x1
    x0 ^= x1
    return x0 if width == 32 else x0.astype(UINTS[width])


def words_at(keys: Array, index: Array, width: int) -> Array:
    """Partitionable words: for each counter of `index` (uint64) the one under its key, of shape (n, 2) or (2,)."""
    if index.size <= ALONE:
        pairs = np.broadcast_to(keys, (*index.shape, 2)).tolist()
        found = [hash_one(k0, k1, c >> 32, c & MASK) for (k0, k1), c in zip(pairs, index.tolist())]
        hashes = np.array(found, U32).reshape(-1, 2)
        return joined(hashes[:, 0].copy(), hashes[:, 1], width)
    x0, x1 = (index >> np.uint64(32)).astype(U32), index.astype(U32)
    hash_into(keys[..., 0], keys[..., 1], x0, x1)
    return joined(x0, x1, width)


def original_words(keys: Array, size: int, width: int) -> Array:
    """All words of each key in the original form: shape (len(keys), size)."""
    count = -(-width * size // 32)
    if count >= MASK:
        raise NotImplementedError("more than 2**32 - 2 words under one key, without jax_threefry_partitionable")
    half = (count + 1) // 2
    low = np.arange(half, dtype=U32)
    high = low + U32.type(half)
    if count % 2:
        high[-1] = 0
    x0, x1 = threefry2x32(keys[:, :1], keys[:, 1:], low, high)
    if width == 64:
        return joined(x0, x1, 64)
    words = np.ascontiguousarray(np.concatenate([x0, x1], axis=1)[:, :count])
    return words if width == 32 else words.view(UINTS[width])[:, :size]


def blocks(n_keys: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Parts of (keys, words of a key): a block of one key's words, or all words of several keys."""
    if size >= BLOCK // 2:
        for k in range(n_keys):
            for start in range(0, size, BLOCK):
                yield slice(k, k + 1), slice(start, min(start + BLOCK, size))
    else:
        rows = max(1, BLOCK // max(1, size))
        for k in range(0, n_keys, rows):
            yield slice(k, min(k + rows, n_keys)), slice(0, size)


def generate(keys: Array, shape: tuple[int, ...], width: int, each: int, partitionable: bool, to: Transform) -> Array:
    """Samples of that shape for each key: shape (*keys.shape[:-1], *shape).

    `to` makes of an array of `each` times as many words (uint of `width` bits, those of one sample along axis 0) an
    array of samples. The dtype is that of its result.
    """
    stack = keys.shape[:-1]
    flat, size = keys.reshape(-1, 2), math.prod(shape)
    if native is not None and partitionable and each == 1 and len(flat) * size <= BLOCK:
        few = np.empty((1, len(flat) * size), UINTS[width])
        native.fill(np.ascontiguousarray(flat), 0, size, width, few)
        return to(few).reshape((*stack, *shape))
    first = to(np.zeros((each, 0), UINTS[width]))
    out = np.empty((len(flat), size), first.dtype)
    if size and len(flat):
        run = by_blocks if partitionable else by_keys
        run(flat, out, width, each, to)
    return out.reshape((*stack, *shape))


def by_keys(keys: Array, out: Array, width: int, each: int, to: Transform) -> None:
    size = out.shape[1]
    rows = max(1, BLOCK // size)
    for k in range(0, len(keys), rows):
        part = out[k : k + rows]
        words = np.moveaxis(original_words(keys[k : k + rows], size * each, width).reshape(len(part), each, size), 0, 1)
        for start in range(0, size, BLOCK):
            piece = words[..., start : start + BLOCK]
            part[:, start : start + BLOCK] = to(piece.reshape(each, -1)).reshape(piece.shape[1:])


def by_blocks(keys: Array, out: Array, width: int, each: int, to: Transform) -> None:
    n_keys, size = out.shape
    parts = iter([*blocks(n_keys, size)])
    count = n_keys * size * each
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with np.errstate(all="ignore"):
                for rows, columns in iter(lambda: next(parts, None), None):
                    block(keys[rows], out[rows, columns], columns.start, size, width, each, to)
        except BaseException as error:
            failed.append(error)

    crew.run(work, config.threads or CORES if count > 2 * BLOCK else 1)
    if failed:
        raise failed[0]


def block(keys: Array, out: Array, start: int, size: int, width: int, each: int, to: Transform) -> None:
    n_keys, n = out.shape
    if native is not None and each == 1:
        words = np.empty((1, n_keys * n), UINTS[width])
        native.fill(np.ascontiguousarray(keys), start, n, width, words)
        out[...] = to(words).reshape(n_keys, n)
        return
    index = np.arange(start, start + n, dtype=np.uint64)
    if each > 1:
        index = np.concatenate([index + np.uint64(i * size) for i in range(each)])
    if n_keys == 1:
        words = words_at(keys[0], index, width).reshape(each, n)
        out[0] = to(words)
        return
    words = words_at(np.repeat(keys, len(index), axis=0), np.tile(index, n_keys), width)
    words = np.moveaxis(words.reshape(n_keys, each, n), 0, 1).reshape(each, n_keys * n)
    out[...] = to(words).reshape(n_keys, n)


def key_split(keys: Array, shape: tuple[int, ...], partitionable: bool) -> Array:
    """New keys, of shape (*keys.shape[:-1], *shape, 2)."""
    stack, flat, size = keys.shape[:-1], keys.reshape(-1, 2), math.prod(shape)
    if native is not None and partitionable:
        words = np.empty((len(flat), size), UINTS[64])
        native.fill(np.ascontiguousarray(flat), 0, size, 64, words)
        out = words.view(U32).reshape(-1, 2)[:, ::-1]
    elif partitionable and len(flat) * size <= ALONE:
        found = [hash_one(k0, k1, i >> 32, i & MASK) for k0, k1 in flat.tolist() for i in range(size)]
        out = np.array(found, U32)
    elif partitionable:
        index = np.arange(size, dtype=np.uint64)
        x = (index >> np.uint64(32)).astype(U32), index.astype(U32)
        out = np.stack(threefry2x32(flat[:, :1], flat[:, 1:], *x), axis=-1)
    else:
        out = original_words(flat, 2 * size, 32)
    return out.reshape((*stack, *shape, 2))


def key_fold_in(keys: Array, data: Array) -> Array:
    """The hash of each number (uint32) under its key; the stacks of keys and numbers broadcast."""
    if native is not None and keys.ndim == 1 and np.ndim(data) == 0:
        word = np.empty(1, UINTS[64])
        native.fill(np.ascontiguousarray(keys), int(data), 1, 64, word)
        return word.view(U32)[::-1]
    if keys.size == 2 and np.size(data) == 1:
        shape = np.broadcast_shapes(keys.shape[:-1], np.shape(data))
        k0, k1 = keys.reshape(2).tolist()
        found = hash_one(k0, k1, 0, int(np.reshape(data, ())))
        return np.array(found, U32).reshape((*shape, 2))
    x1 = np.asarray(data, U32)
    return np.stack(threefry2x32(keys[..., 0], keys[..., 1], np.zeros_like(x1), x1), axis=-1)


def key_seed(seeds: Array) -> Array:
    """The key of each integer: its 64 bits as two words, the high one first. Shorter integers have no high word."""
    seeds = np.asarray(seeds)
    bits = seeds.dtype.itemsize * 8
    low = seeds.astype(np.int64).astype(U32)
    high = (seeds.view(np.uint64) >> np.uint64(32)).astype(U32) if bits == 64 else np.zeros_like(low)
    return np.stack([high, low], axis=-1)
