"""Random words of other generators than threefry, and samples of a distribution from random words.

`philox` is what JAX's `rng_bit_generator` gives on CPUs: Philox-4x32 with ten rounds (Salmon, Moraes, Dror, Shaw, SC
2011), keyed by the first two words of a state, at the counter in the other two.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import LIBRARY, Op, results
from .control import together
from .family import map_batch
from .joining import concatenate, span
from .promotion import Shape, broadcast
from .random import DType, front
from .shape import Axes, reshape, to_front


def philox_abstract(state: Aval, *, dtype: DType, shape: Shape) -> tuple[Aval, Aval]:
    return Aval(state.shape, state.dtype), Aval(shape, dtype)


def philox_batch(inputs: Sequence[Node], axes: Axes, *, dtype: DType, shape: Shape) -> tuple[Node, tuple[int, int]]:
    """As JAX has it: all words are those of the first state, and only that one is another afterwards."""
    states = to_front(inputs[0], axes[0])
    n = states.shape[0]
    after, words = results(philox(reshape(span(states, 0, 0, 1), shape=(4,)), dtype=dtype, shape=(n, *shape)))
    rest = concatenate(reshape(after, shape=(1, 4)), span(states, 0, 1, n - 1), axis=0)
    return together(rest, words), (0, 0)


philox = Op(
    "philox",
    LIBRARY,
    philox_abstract,
    lambda xp, state, *, dtype, shape: xp.philox(state, dtype, shape),
    static=("dtype",),
    moving=("shape",),
    n_out=2,
    batch=philox_batch,
    doc="The next state, and unsigned integers of that dtype and shape, of a state of four words.",
)
hash_counter = Op(
    "hash_counter",
    LIBRARY,
    lambda key, counter, *, algorithm, at, dtype: Aval(broadcast(key.shape, counter.shape), dtype),
    lambda xp, key, counter, *, algorithm, at, dtype: xp.hash_counter(key, counter, algorithm, at, dtype),
    static=("algorithm", "at", "dtype"),
    doc="A record of words for each counter (uint64) under its key; both broadcast. The counter's halves are the words "
    "`at` and `at + 1` of what is hashed by that algorithm (`backends.numpy.counters.HASHES`).",
)
hash_counter.batch = map_batch(hash_counter)
words_to_sample = Op(
    "words_to_sample",
    LIBRARY,
    lambda words, *, sampler, dtype: Aval(words.shape[:-1], dtype),
    lambda xp, words, *, sampler, dtype: xp.words_to_sample(words, sampler, dtype),
    static=("sampler", "dtype"),
    doc="Samples of a distribution without parameters (see `random_sample`), each from the words along the last axis.",
)
words_to_sample.batch = front(words_to_sample)
