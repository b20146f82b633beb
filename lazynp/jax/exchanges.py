"""Exchanges along a named axis of rows whose number differs from one to the next, and of what is sent to one alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from . import numpy as jnp
from .array import Array, as_node, wrap
from .parallel import all_gather, all_to_all, bound, names_of


def ragged_all_to_all(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: Any,
    axis_index_groups: Any = None,
) -> Array:
    """Rows of `operand`, some to each along a named axis, and the rows of `output` that were not written to.

    Args:
        operand: of shape (N, ...). output: of shape (M, ...).
        input_offsets, send_sizes: of shape (K,): rows `input_offsets[i]:input_offsets[i] + send_sizes[i]` are sent to
            the one at place i // (K / size of the axis).
        output_offsets: of shape (K,): where these rows begin in the receiver's output.
        recv_sizes: of shape (K,): how many rows come from each.

    Raises: RuntimeError outside of a mapped axis, ValueError for offsets and sizes that are no integers along one axis
        of at least one element.
    """
    for name in names_of(axis_name):
        try:
            bound(name, "ragged_all_to_all")
        except NameError:
            message = "ragged_all_to_all must be used within a mapped context like vmap or shard_map."
            raise RuntimeError(message) from None
    given = {
        "input_offsets": input_offsets,
        "send_sizes": send_sizes,
        "output_offsets": output_offsets,
        "recv_sizes": recv_sizes,
    }
    nodes = {name: as_node(value) for name, value in given.items()}
    for name, node in nodes.items():
        if node.dtype.kind not in "iu":
            raise ValueError(f"ragged_all_to_all {name} must be integer type.")
    for name, node in nodes.items():
        if node.ndim != 1 or not node.shape[0]:
            raise ValueError(
                f"ragged_all_to_all {name} must be rank 1 with positive dimension size, but got shape {node.shape}"
            )

    def exchanged(name: str) -> Any:
        return all_to_all(wrap(nodes[name]), axis_name, 0, 0, axis_index_groups=axis_index_groups, tiled=True)

    starts, places, counts = exchanged("input_offsets"), exchanged("output_offsets"), wrap(nodes["recv_sizes"])
    sent = all_gather(wrap(as_node(operand)), axis_name, axis_index_groups=axis_index_groups)
    each = counts.shape[0] // sent.shape[0]
    out = wrap(as_node(output))
    row = jnp.arange(out.shape[0])
    for i in range(counts.shape[0]):
        inside = (row >= places[i]) & (row < places[i] + counts[i])
        rows = sent[i // each].at[row - places[i] + starts[i]].get(mode="clip")
        out = jnp.where(inside.reshape(-1, *(1,) * (out.ndim - 1)), rows.astype(out.dtype), out)
    return out


def check_permutation(axis_name: Any, perm: Sequence[tuple[int, int]]) -> None:
    size = 1
    for name in names_of(axis_name):
        size *= bound(name, "psend")[0]
    assert len(perm) == size, "Permutation doesn't match the axis size!"


def psend(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> NoReturn:
    """Raises NotImplementedError: between GPUs only, as in JAX. `ppermute` sends on every machine."""
    check_permutation(axis_name, perm)
    raise NotImplementedError("psend is currently only implemented on GPU")


def precv(token: Any, out_shape: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> NoReturn:
    """Raises NotImplementedError: between GPUs only, as in JAX. `ppermute` receives on every machine."""
    check_permutation(axis_name, perm)
    raise NotImplementedError("precv is currently only implemented on GPU")
