"""`jax.experimental.rnn`: networks of long short-term memory cells, with their weights in one vector.

The vector has, for each layer and direction in turn, the matrix of the inputs and that of the hidden state; then, in
the same order, the two biases. Rows are in four blocks: input gate, forget gate, cell, output gate.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...tracebacks import bound_all as _bound_all
from .. import numpy as jnp
from .. import random
from ..array import Array
from ..jitting import jit
from ..lax.control import scan
from ..names import vmap
from ..nn import sigmoid

__all__ = [
    "get_num_params_in_lstm",
    "init_lstm_weight",
    "lstm",
    "lstm_ref",
    "sigmoid",
    "swap_lstm_gates",
    "tanh",
    "unpack_lstm_weights",
]
tanh = jnp.tanh
Weights = dict[int, Array]


def shapes(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> list[tuple[int, ...]]:
    """The shapes of what lies in the vector of weights, in order."""
    directions = 2 if bidirectional else 1
    rows, matrices = 4 * hidden_size, []
    for layer in range(num_layers):
        columns = directions * hidden_size if layer else input_size
        matrices += [(rows, columns), (rows, hidden_size)] * directions
    biases = [(rows,)] * (2 * num_layers * directions)
    return [*matrices, *biases]


def get_num_params_in_lstm(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> int:
    """The length of the vector of weights."""
    return sum([math.prod(s) for s in shapes(input_size, hidden_size, num_layers, bidirectional)])


def init_lstm_weight(rng: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Array:
    """Weights that are uniform in [-k, k), k = sqrt(1 / hidden_size); float32."""
    count, k = (
        get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional),
        np.sqrt(1.0 / hidden_size),
    )
    return random.uniform(rng, (count,), jnp.float32, minval=-k, maxval=k)


def parts(weights: Array, sizes: list[tuple[int, ...]]) -> list[Array]:
    """The vector, cut into arrays of these shapes."""
    out, at = [], 0
    for shape in sizes:
        n = math.prod(shape)
        out.append(weights[at : at + n].reshape(shape))
        at += n
    return out


def swap_lstm_gates(weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Array:
    """The weights with the last two of the four blocks of rows exchanged, in each matrix and bias."""
    found = parts(jnp.asarray(weights), shapes(input_size, hidden_size, num_layers, bidirectional))
    swapped = [jnp.concatenate([x[: 2 * hidden_size], x[3 * hidden_size :], x[2 * hidden_size : 3 * hidden_size]])
               for x in found]  # fmt: skip
    return jnp.concatenate([x.ravel() for x in swapped])


def unpack_lstm_weights(
    weights: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[Weights, Weights, Weights, Weights]:
    """The matrices of the inputs and of the hidden state, and their biases: each by number."""
    found = parts(weights, shapes(input_size, hidden_size, num_layers, bidirectional))
    matrices, biases = found[: len(found) // 2], found[len(found) // 2 :]
    kinds = matrices[0::2], matrices[1::2], biases[0::2], biases[1::2]
    w_ih, w_hh, b_ih, b_hh = [dict(enumerate(kind)) for kind in kinds]
    return w_ih, w_hh, b_ih, b_hh


def run_layer(xs: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b_ih: Array, b_hh: Array) -> Any:
    """One layer in one direction over xs, of shape (time, batch, size): hidden states and cells at all times."""

    def cell(state: Any, x: Array) -> Any:
        h, c = state
        gates = x @ w_ih.T + b_ih[None] + h @ w_hh.T + b_hh[None]
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
        return (h, c), (h, c)

    return scan(cell, (h, c), xs)[1]


def until(lengths: Array, hs: Array) -> Array:
    """Zeros after the end of each sequence."""
    inside = jnp.arange(hs.shape[0], dtype=jnp.int32)[:, None] < lengths[None]
    return jnp.where(inside[..., None], hs, 0)


def reversed_sequences(xs: Array, lengths: Array) -> Array:
    """Each sequence backwards, from its own end; what follows its end stays behind it."""
    rolled = vmap(functools.partial(jnp.roll, axis=0), in_axes=(1, 0), out_axes=1)(xs, xs.shape[0] - lengths)
    return rolled[::-1]


@functools.partial(jit, static_argnums=(8, 9, 10, 11, 12))
def lstm_ref(
    x: Array,
    h_0: Array,
    c_0: Array,
    W_ih: Weights,
    W_hh: Weights,
    b_ih: Weights,
    b_hh: Weights,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
) -> tuple[Array, Array, Array]:
    """As `lstm`, for weights that have been unpacked."""
    if seq_lengths.dtype != np.int32:
        raise NotImplementedError("`seq_lengths` can only be int32.")
    if dropout != 0.0:
        raise NotImplementedError("lstm has no dropout here: dropout must be 0.0")
    xs, last_h, last_c, directions = x.transpose(1, 0, 2), [], [], 2 if bidirectional else 1
    examples = jnp.arange(x.shape[0])
    for layer in range(num_layers):
        ways = []
        for direction in range(directions):
            k = layer * directions + direction
            given = reversed_sequences(xs, seq_lengths) if direction else xs
            hs, cs = run_layer(given, h_0[k], c_0[k], W_ih[k], W_hh[k], b_ih[k], b_hh[k])
            last_h.append(hs[seq_lengths - 1, examples])
            last_c.append(cs[seq_lengths - 1, examples])
            hs = until(seq_lengths, hs)
            ways.append(reversed_sequences(hs, seq_lengths) if direction else hs)
        xs = jnp.concatenate(ways, axis=-1) if bidirectional else ways[0]
    return xs.transpose(1, 0, 2), jnp.stack(last_h), jnp.stack(last_c)


def lstm(
    x: Array,
    h_0: Array,
    c_0: Array,
    weights: Array,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any = None,
) -> tuple[Array, Array, Array]:
    """The outputs for sequences, and hidden states and cells at their ends.

    Args:
        x: of shape (batch, time, input_size). h_0, c_0: of shape (directions * layers, batch, hidden_size).
        weights: a vector of `get_num_params_in_lstm` floats. seq_lengths: int32, of shape (batch,).
        dropout: 0.0. precision: of matrix products, which are exact to float32 here in any case.

    Returns: outputs (batch, time, directions * hidden_size), zero after the ends; and arrays like h_0 and c_0.

    Raises: NotImplementedError for a dropout, and for lengths of another dtype.
    """
    unpacked = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    sizes = input_size, hidden_size, num_layers
    found: tuple[Array, Array, Array] = lstm_ref(x, h_0, c_0, *unpacked, seq_lengths, *sizes, dropout, bidirectional)
    return found


_bound_all(globals())
