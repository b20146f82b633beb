"""Generators: what makes of a seed a key, of a key others, and of a key random bits. Users define their own.

Keys of JAX's default, threefry2x32, have operations of their own (`ops.random`), with samplers in C; the functions of
the same names here take keys of any generator. `draws` has those that make samples.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...graph.node import Node
from ...graph.op import results
from ...ops import random as threefry
from ...ops.creation import iota
from ...ops.elementwise import bitwise_or, bitwise_xor, convert, left_shift
from ...ops.generators import hash_counter, philox
from ...ops.joining import concatenate
from ...ops.random import KEY_DTYPES, key_data, key_wrap
from ...ops.shape import broadcast_to, move_axis, reshape, slice_, whole, zeros_of
from ..array import as_node, wrap
from ..config import flags
from .arguments import Shape

DType = np.dtype[Any]
FRY = KEY_DTYPES["fry"]
U32 = np.dtype(np.uint32)


class PRNGImpl(NamedTuple):
    """A generator.

    Attributes:
        key_shape: of a key's words (uint32).
        seed: from an integer to a key; split: from a key and a shape to keys of that shape.
        random_bits: from a key, a width of 8, 16, 32 or 64 bits and a shape to unsigned integers.
        fold_in: from a key and an integer to a key.
        name, tag: a long and a short one.
    """

    key_shape: tuple[int, ...]
    seed: Callable[..., Any]
    split: Callable[..., Any]
    random_bits: Callable[..., Any]
    fold_in: Callable[..., Any]
    name: str = "<unnamed>"
    tag: str = "?"

    def __hash__(self) -> int:
        return hash(self.tag)

    def __reduce__(self) -> Any:
        return (impl_named, (self.name,)) if IMPLS.get(self.name) is self else (PRNGImpl, tuple(self))

    def __str__(self) -> str:
        return self.tag


IMPLS: dict[str, PRNGImpl] = {}
"""Those that are known by a name."""


def impl_named(name: str) -> PRNGImpl:
    """The generator that is known by that name."""
    return IMPLS[name]


record_of: dict[PRNGImpl, DType] = {}
impl_of: dict[DType, PRNGImpl] = {}
"""The dtype of a generator's keys in the graph, a record of their words; and back."""


def record(impl: PRNGImpl) -> DType:
    """The dtype of keys of a generator; a new one for one that was not seen before."""
    found = record_of.get(impl)
    if found is None:
        field = impl.tag if impl.name in IMPLS else f"{impl.tag}{len(record_of)}"
        found = record_of[impl] = np.dtype([(field, "<u4", (math.prod(impl.key_shape),))])
        impl_of[found] = impl
    return found


# --- Keys, on nodes ---------------------------------------------------------------------------------------------------


def words_of(key: Node) -> Node:
    """The words of keys, in the shape of the generator's."""
    shape = impl_of[key.dtype].key_shape
    found = key_data(key)
    return found if len(shape) == 1 else reshape(found, shape=(*key.shape, *shape))


def keys_of(words: Any, impl: PRNGImpl) -> Node:
    """Keys from words."""
    node, n = words if type(words) is Node else as_node(words), len(impl.key_shape)
    flat = node if n == 1 else reshape(node, shape=(*node.shape[: node.ndim - n], math.prod(impl.key_shape)))
    return key_wrap(flat, dtype=record(impl))


def random_seed(seed: Node, *, dtype: DType) -> Node:
    if dtype == FRY:
        return threefry.random_seed(seed, dtype=dtype)
    impl = impl_of[dtype]
    return keys_of(impl.seed(wrap(seed)), impl)


def random_split(key: Node, *, partitionable: bool, shape: Shape) -> Node:
    if key.dtype == FRY:
        return threefry.random_split(key, partitionable=partitionable, shape=shape)
    impl = impl_of[key.dtype]
    return keys_of(impl.split(wrap(words_of(key)), shape), impl)


def random_fold_in(key: Node, data: Node) -> Node:
    if key.dtype == FRY:
        return threefry.random_fold_in(key, data)
    impl = impl_of[key.dtype]
    return keys_of(impl.fold_in(wrap(words_of(key)), wrap(data)), impl)


# --- JAX's other generators -------------------------------------------------------------------------------------------


def partitionable() -> bool:
    """Which form of threefry is meant, in this thread."""
    form: bool = flags.threefry_partitionable
    return form


def halves(words: Any) -> Node:
    """Two threefry keys: the halves of one of these generators' keys."""
    return key_wrap(reshape(as_node(words), shape=(2, 2)), dtype=FRY)


def rbg_seed(seed: Any) -> Any:
    half = key_data(threefry.random_seed(as_node(seed), dtype=FRY))
    return wrap(concatenate(half, half, axis=0))


def rbg_split(words: Any, shape: Shape) -> Any:
    found = key_data(threefry.random_split(halves(words), partitionable=partitionable(), shape=tuple(shape)))
    return wrap(reshape(move_axis(found, 0, len(shape)), shape=(*shape, 4)))


def rbg_fold_in(words: Any, data: Any) -> Any:
    both = broadcast_to(convert(as_node(data), U32), shape=(2,))
    return wrap(reshape(key_data(threefry.random_fold_in(halves(words), both)), shape=(4,)))


def rbg_bits(words: Any, width: int, shape: Sequence[int]) -> Any:
    return wrap(results(philox(as_node(words), dtype=np.dtype(f"uint{width}"), shape=tuple(shape)))[1])


def unsafe_split(words: Any, shape: Shape) -> Any:
    """Every tenth block of the bits."""
    count = math.prod(shape)
    found = as_node(rbg_bits(words, 32, (10 * count, 4)))
    return wrap(reshape(slice_(found, key=((0, count, 10), (0, 4, 1))), shape=(*shape, 4)))


def unsafe_fold_in(words: Any, data: Any) -> Any:
    found = as_node(rbg_bits(rbg_seed(data), 32, (10, 4)))
    return wrap(bitwise_xor(as_node(words), slice_(found, key=(9, (0, 4, 1)))))


# --- Hashes of counters -----------------------------------------------------------------------------------------------

U64 = np.dtype(np.uint64)


def hash_impl(name: str, tag: str, n_key: int, n_out: int, own_at: int) -> PRNGImpl:
    """A generator by a hash of counters (`ops.generators.hash_counter`).

    Args:
        n_key, n_out: words of a key, and of a hash. own_at: where the counter stands whose hash is a key.
    """
    hashes = np.dtype([("words", "<u4", (n_out,))])

    def of_counter(words: Any, counter: Node, at: int) -> Node:
        """The words of the hashes, as a last axis."""
        return key_data(hash_counter(keys_of(words, impl), counter, algorithm=name, at=at, dtype=hashes))

    def counters(shape: Sequence[int]) -> Node:
        return reshape(iota(math.prod(shape), U64), shape=tuple(shape))

    def as_key(found: Node) -> Any:
        return wrap(slice_(found, key=(*whole(found.shape[:-1]), (0, n_key, 1))))

    def seed(value: Any) -> Any:
        halves = key_data(threefry.random_seed(as_node(value), dtype=FRY))
        if n_key == 4:  # the seed is a part of the key, and nothing is counted
            padded = concatenate(halves, zeros_of(halves), axis=0)
            return as_key(of_counter(padded, counters(()), 0))
        high, low = [convert(slice_(halves, key=(i,)), U64) for i in range(2)]
        counter = bitwise_or(left_shift(high, np.uint64(32)), low)
        return as_key(of_counter(as_node(np.zeros(n_key, np.uint32)), counter, 0))

    def split(words: Any, shape: Shape) -> Any:
        return as_key(of_counter(words, counters(shape), own_at))

    def fold_in(words: Any, data: Any) -> Any:
        return as_key(of_counter(words, convert(convert(as_node(data), U32), U64), own_at))

    def bits(words: Any, width: int, shape: Sequence[int]) -> Any:
        found = of_counter(words, counters(shape), 0)
        parts = [slice_(found, key=(*whole(found.shape[:-1]), i)) for i in range(n_out)]
        if width == 64:
            parts = parts[:2] if n_key < 4 else [bitwise_xor(a, b) for a, b in zip(parts[:2], parts[2:])]
            high, low = [convert(p, U64) for p in parts]
            return wrap(bitwise_or(left_shift(high, np.uint64(32)), low))
        return wrap(convert(functools.reduce(bitwise_xor, parts), np.dtype(f"uint{width}")))

    impl = PRNGImpl((n_key,), seed, split, bits, fold_in, name, tag)
    return impl


def fry(f: Callable[..., Node], *args: Any, **params: Any) -> Any:
    """An operation on threefry keys, between words."""
    return wrap(key_data(f(*args, **params)))


threefry_impl = PRNGImpl(
    (2,),
    lambda seed: fry(threefry.random_seed, as_node(seed), dtype=FRY),
    lambda words, shape: fry(
        threefry.random_split, key_wrap(as_node(words), dtype=FRY), partitionable=partitionable(), shape=tuple(shape)
    ),
    lambda words, width, shape: wrap(
        threefry.random_bits(
            key_wrap(as_node(words), dtype=FRY), width=width, partitionable=partitionable(), shape=tuple(shape)
        )
    ),
    lambda words, data: fry(threefry.random_fold_in, key_wrap(as_node(words), dtype=FRY), convert(as_node(data), U32)),
    "threefry2x32",
    "fry",
)
rbg_impl = PRNGImpl((4,), rbg_seed, rbg_split, rbg_bits, rbg_fold_in, "rbg", "rbg")
unsafe_rbg_impl = PRNGImpl((4,), rbg_seed, unsafe_split, rbg_bits, unsafe_fold_in, "unsafe_rbg", "urbg")
all_impls = (
    hash_impl("philox2x32", "phx2", 1, 2, 0),
    hash_impl("philox4x32", "phx4", 2, 4, 2),
    threefry_impl,
    rbg_impl,
    unsafe_rbg_impl,
    hash_impl("threefry4x32", "fry4", 4, 4, 2),
)
IMPLS.update({impl.name: impl for impl in all_impls})
record_of[threefry_impl], impl_of[FRY] = FRY, threefry_impl
