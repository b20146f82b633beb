"""Scaled dot-product attention, with grouped heads, biases, masks, and windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from ..array import as_node
from ..numpy.call import check_broadcast
from .functions import logsumexp, softmax


def four_axes(x: Any) -> Any:
    """The array with axes of length 1 in front, four in all."""
    x = jnp.asarray(x)
    return x if x.ndim >= 4 else jnp.reshape(x, (1,) * (4 - x.ndim) + x.shape)


def check(x: Any, shape: Sequence[int], dtype: Any, name: str) -> None:
    """Raises ValueError where rank, dtype or sizes are wrong; -1 is any size, and no dtype any."""
    if x is None:
        return
    if x.ndim != len(shape):
        raise ValueError(f"{name} ndim should be {len(shape)}, but got {x.ndim}")
    if dtype is not None and x.dtype != dtype:
        raise ValueError(f"{name} dtype should be {dtype}, but got {x.dtype}")
    if any(want not in (-1, got) for want, got in zip(shape, x.shape)):
        raise ValueError(f"{name} shape should be {list(shape)}: but got {x.shape}")


def allowed(t: int, s: int, causal: bool, window: tuple[int, int] | None, query_lengths: Any, key_lengths: Any) -> Any:
    """Which of s keys each of t queries may look at, to broadcast with (B, N, T, S); None: all."""
    query, key = np.arange(t)[:, None], np.arange(s)[None, :]
    parts: list[Any] = []
    if causal:
        parts.append((query >= key)[None, None])
    if window is not None:
        left, right = window
        parts.append(((query <= key + left) & (query >= key - right))[None, None])
    if query_lengths is not None:
        parts.append((np.arange(t)[None, :] < query_lengths[:, None])[:, None, :, None])
    if key_lengths is not None:
        parts.append((np.arange(s)[None, :] < key_lengths[:, None])[:, None, None, :])
    out = None
    for part in parts:
        out = part if out is None else jnp.logical_and(out, part)
    return out


def large_negative(dtype: Any) -> Any:
    """What takes the place of a masked logit: -0.7 of the largest number that it and float32 have."""
    top = min(float(dtypes.finfo(dtype).max), float(dtypes.finfo(np.float32).max))
    return jnp.asarray(-0.7 * top, dtype=dtype)


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(scale query key^T + bias) value, for each head (Vaswani et al., arXiv:1706.03762).

    Args:
        query: ([B,] T, N, H): batch, queries, heads, features of a head.
        key, value: ([B,] S, K, H); K divides N, and each head of theirs serves N / K heads of the query.
        bias: is added to the logits; broadcasts to (B, N, T, S).
        mask: of booleans; broadcasts likewise; False leaves a logit out.
        scale: of the logits; 1 / sqrt(H) by default.
        is_causal: whether a query sees no later key.
        query_seq_lengths, key_value_seq_lengths: (B,) of int32; what lies beyond them is padding.
        local_window_size: how many keys to the left and to the right of its place a query sees.
        implementation: "xla" or None; there is no cuDNN here.
        return_residual: whether to return the logarithm of each softmax's sum too, ([B,] T, N).

    Returns: an array of the query's shape.

    Raises: ValueError for shapes, dtypes, or an implementation that do not fit, RuntimeError for cuDNN's.
    """
    if implementation == "cudnn":
        raise RuntimeError("cuDNN is not detected.")
    if implementation not in (None, "xla"):
        raise ValueError(f"Unsupported implementation option: {implementation}")
    shape = jnp.asarray(query).shape
    q, k, v = four_axes(query), four_axes(key), four_axes(value)
    bias, mask = (None if x is None else four_axes(x) for x in (bias, mask))
    lengths = [None if x is None else jnp.asarray(x) for x in (query_seq_lengths, key_value_seq_lengths)]
    window = (local_window_size, local_window_size) if isinstance(local_window_size, int) else local_window_size
    b, s, heads, h = k.shape
    check(v, [b, s, heads, h], k.dtype, "value")
    check(q, [b, -1, -1, h], k.dtype, "query")
    check(mask, [-1] * 4, np.dtype(bool), "mask")
    check(bias, [-1] * 4, None, "bias")
    check(lengths[0], [b], np.dtype(np.int32), "query_seq_lengths")
    check(lengths[1], [b], np.dtype(np.int32), "key_value_seq_lengths")
    t, n = q.shape[1:3]
    if n % heads:
        raise ValueError(f"The number of query heads must be a multiple of key/value heads, but got {n} vs {heads}")

    kind = jnp.promote_types(q.dtype, np.float32)
    per_head = [jnp.repeat(x, n // heads, axis=2) if n != heads else x for x in (k, v)]
    logits = jnp.einsum("btnh,bsnh->bnts", q, per_head[0], preferred_element_type=kind)
    logits = logits * jnp.asarray(1.0 / np.sqrt(h) if scale is None else scale, logits.dtype)
    if bias is not None:
        logits = (logits + bias).astype(logits.dtype)
    open_to = allowed(t, s, is_causal, window, *lengths)
    if mask is not None:
        check_broadcast("and", [as_node(logits), as_node(mask)])
        open_to = mask if open_to is None else jnp.logical_and(open_to, mask)
    if open_to is not None:
        logits = jnp.where(open_to, logits, large_negative(logits.dtype))
    logits = logits.astype(np.float32)
    out = jnp.einsum("bnts,bsnh->btnh", softmax(logits, axis=-1).astype(k.dtype), per_head[1])
    if lengths[0] is not None:
        out = out * (np.arange(t)[None, :] < lengths[0][:, None])[:, :, None, None].astype(out.dtype)
    out = jnp.reshape(out, shape)
    if not return_residual:
        return out
    residual = jnp.transpose(logsumexp(logits, axis=-1).astype(k.dtype), (0, 2, 1))
    return out, lax.stop_gradient(jnp.reshape(residual, shape[:-1]))
