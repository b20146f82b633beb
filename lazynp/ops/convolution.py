"""Convolution (cross-correlation, as everybody calls it) in one layout: images (N, C, *space), kernels (O, I, *space).

Parameters are XLA's: strides, padding on both sides (negative ones cut off), dilations of either operand, groups of
features or of the batch, at most one of the two above 1. Its derivatives are convolutions again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import LIBRARY, MIXED, Op
from .elementwise import add
from .family import bilinear
from .joining import flip
from .promotion import Shape
from .shape import Axes, reshape, to_front, transpose, zeros_of

Pads = tuple[tuple[int, int], ...]
CHUNK = 1 << 22  # bytes of unfolded patches at a time


def dilated(n: int, by: int) -> int:
    return 0 if n == 0 else (n - 1) * by + 1


def out_space(space: Shape, kernel: Shape, p: dict[str, Any]) -> Shape:
    """The space axes of the result."""
    out = []
    for n, k, step, (low, high), dl, dr in zip(
        space, kernel, p["strides"], p["padding"], p["lhs_dilation"], p["rhs_dilation"]
    ):
        room = dilated(n, dl) + low + high - dilated(k, dr)
        out.append(room // step + 1 if room >= 0 else 0)
    return tuple(out)


def conv_abstract(x: Aval, w: Aval, **p: Any) -> Aval:
    return Aval((x.shape[0] // p["batch_groups"], w.shape[0], *out_space(x.shape[2:], w.shape[2:], p)), x.dtype)


def conv_lower(xp: Any, x: Any, w: Any, **p: Any) -> Any:
    """Patches, unfolded some images at a time, times kernels."""
    x, w = np.asarray(x), np.asarray(w)
    out = np.zeros((x.shape[0] // p["batch_groups"], w.shape[0], *out_space(x.shape[2:], w.shape[2:], p)), x.dtype)
    if not out.size or not w.size or not x.size:
        return out
    groups = p["groups"]
    if p["batch_groups"] > 1:
        groups = p["batch_groups"]
        x = x.reshape(groups, x.shape[0] // groups, *x.shape[1:]).swapaxes(0, 1)
        x = x.reshape(x.shape[0], groups * x.shape[2], *x.shape[3:])
    x = spaced(x, p["padding"], p["lhs_dilation"])
    n, features, *_ = x.shape
    kernel, space = w.shape[2:], out.shape[2:]
    wide, high, size = features // groups * math.prod(kernel), w.shape[0] // groups, math.prod(space)
    inner = x.strides[2:]
    patches = as_strided(
        x,
        (n, groups, features // groups, *kernel, *space),
        (
            x.strides[0],
            x.strides[1] * (features // groups),
            x.strides[1],
            *[s * d for s, d in zip(inner, p["rhs_dilation"])],
            *[s * d for s, d in zip(inner, p["strides"])],
        ),
    )
    flat = np.ascontiguousarray(w).reshape(groups, high, wide)
    target = out.reshape(n, groups, high, size)
    step = max(1, CHUNK // max(1, groups * wide * size * x.itemsize))
    for i in range(0, n, step):
        part = patches[i : i + step]
        np.matmul(flat, part.reshape(len(part), groups, wide, size), out=target[i : i + step])
    return out


def spaced(x: np.ndarray, padding: Pads, dilation: Shape) -> np.ndarray:
    """x with zeros between and around its elements."""
    full = [dilated(n, d) + low + high for n, (low, high), d in zip(x.shape[2:], padding, dilation)]
    if all(d == 1 for d in dilation) and not any(low or high for low, high in padding):
        return x
    out = np.zeros((*x.shape[:2], *full), x.dtype)
    to, source = [], []
    for n, size, (low, _), d in zip(x.shape[2:], full, padding, dilation):
        first = max(0, -(low // d)) if low < 0 else 0
        last = min(n, (size - 1 - low) // d + 1)
        source.append(slice(first, max(last, first)))
        to.append(slice(low + first * d, low + first * d + max(last - first, 0) * d, d))
    lead = (slice(None), slice(None))
    out[(*lead, *to)] = x[(*lead, *source)]
    return out


def conv_jvp(tangents: Sequence[Node | None], out: Node, x: Node, w: Node, **p: Any) -> Node | None:
    parts = [conv(a, b, **p) for a, b in ((tangents[0], w), (x, tangents[1])) if a is not None and b is not None]
    return None if not parts else parts[0] if len(parts) == 1 else add(*parts)


def swap_first(x: Node) -> Node:
    return transpose(x, axes=(1, 0, *range(2, x.ndim)))


def conv_transpose(ct: Node, x: Any, w: Any, **p: Any) -> tuple[Node | None, Node | None]:
    if type(x) is Aval:
        return along_images(ct, x, w, p), None
    return None, along_kernels(ct, x, w, p)


def along_images(ct: Node, x: Aval, w: Node, p: dict[str, Any]) -> Node:
    """The cotangent of the images: that of the result, spread out by the strides, with the kernels turned round."""
    g = p["groups"] * p["batch_groups"]
    o, i, *kernel = w.shape
    w = reshape(w, shape=(g, o // g, i, *kernel))
    w = reshape(transpose(w, axes=(0, 2, 1, *range(3, w.ndim))), shape=(g * i, o // g, *kernel))
    pads = []
    for n, k, step, m, (low, _), dl, dr in zip(
        x.shape[2:], kernel, p["strides"], ct.shape[2:], p["padding"], p["lhs_dilation"], p["rhs_dilation"]
    ):
        before = dilated(k, dr) - low - 1
        pads.append((before, dilated(n, dl) + dilated(k, dr) - 1 - dilated(m, step) - before))
    out = conv(
        ct,
        flip(w, tuple(range(2, w.ndim))),
        strides=p["lhs_dilation"],
        padding=tuple(pads),
        lhs_dilation=p["strides"],
        rhs_dilation=p["rhs_dilation"],
        groups=g,
        batch_groups=1,
    )
    b = p["batch_groups"]
    if b > 1:
        n, c, *space = out.shape
        out = reshape(out, shape=(n, b, c // b, *space))
        out = reshape(swap_first(out), shape=(b * n, c // b, *space))
    return out


def along_kernels(ct: Node, x: Node, w: Aval, p: dict[str, Any]) -> Node:
    """The cotangent of the kernels: images and result's cotangent, each with the batch as features."""
    if ct.aval.size == 0:
        return zeros_of(w)
    pads = []
    for n, k, step, m, (low, _), dl, dr in zip(
        x.shape[2:], w.shape[2:], p["strides"], ct.shape[2:], p["padding"], p["lhs_dilation"], p["rhs_dilation"]
    ):
        after = dilated(m, step) - dilated(n, dl) + dilated(k, dr) - low - 1
        pads.append((low, after))
    out = conv(
        swap_first(x),
        swap_first(ct),
        strides=p["rhs_dilation"],
        padding=tuple(pads),
        lhs_dilation=p["lhs_dilation"],
        rhs_dilation=p["strides"],
        groups=p["batch_groups"],
        batch_groups=p["groups"],
    )
    return swap_first(out)


def conv_batch(inputs: Sequence[Node], axes: Axes, *, groups: int, batch_groups: int, **p: Any) -> tuple[Node, int]:
    x, w = (n if a is None else to_front(n, a) for n, a in zip(inputs, axes))
    if axes[1] is None:
        b, n, *rest = x.shape
        if batch_groups > 1:
            k = batch_groups
            x = reshape(swap_first(reshape(x, shape=(b, k, n // k, *rest))), shape=(k * b * (n // k), *rest))
        else:
            x = reshape(x, shape=(b * n, *rest))
        out = conv(x, w, groups=groups, batch_groups=batch_groups, **p)
        return reshape(out, shape=(b, out.shape[0] // b, *out.shape[1:])), 0
    b, o, *kernel = w.shape
    if axes[0] is None:
        g = groups * batch_groups
        w = reshape(swap_first(reshape(w, shape=(b, g, o // g, *kernel))), shape=(b * o, *kernel))
        out = conv(x, w, groups=groups, batch_groups=batch_groups, **p)
        out = reshape(out, shape=(out.shape[0], g, b, o // g, *out.shape[2:]))
        out = to_front(out, 2)
        return reshape(out, shape=(b, out.shape[1], o, *out.shape[4:])), 0
    w = reshape(w, shape=(b * o, *kernel))
    if batch_groups > 1:
        x = reshape(x, shape=(b * x.shape[1], *x.shape[2:]))
        out = conv(x, w, groups=groups, batch_groups=batch_groups * b, **p)
    else:
        x = swap_first(x)
        x = reshape(x, shape=(x.shape[0], b * x.shape[2], *x.shape[3:]))
        out = conv(x, w, groups=groups * b, batch_groups=1, **p)
    return to_front(reshape(out, shape=(out.shape[0], b, o, *out.shape[2:])), 1), 0


conv = Op(
    "conv",
    LIBRARY,
    conv_abstract,
    conv_lower,
    static=("strides", "padding", "lhs_dilation", "rhs_dilation", "groups", "batch_groups"),
    jvp=conv_jvp,
    transpose=bilinear(conv_transpose),
    batch=conv_batch,
    weakness=MIXED,
)
"""Images and kernels of one dtype."""
