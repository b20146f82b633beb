"""How primitives are written in StableHLO that read and write at places, sort, convolve, transform, and solve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..jaxpr_types import JaxprEqn
from .builder import Builder, Rules, Value, array, form
from .rules import common

RULES = Rules()
WRITTEN = {"add": "add", "subtract": "subtract", "multiply": "multiply", "min": "minimum", "max": "maximum"}
"""By mode of a write what is done to the elements."""


def places(b: Builder, indices: Sequence[Value]) -> Value:
    """Arrays of places, which broadcast, as one with the places of all axes last."""
    dtype = common(indices) if common(indices).kind in "iu" else np.dtype(np.int64)
    shape = np.broadcast_shapes(*[i.shape for i in indices])
    wide = [b.broadcast(b.convert(i, dtype), shape) for i in indices]
    return b.concatenate([b.reshape(i, (*shape, 1)) for i in wide], len(shape))


def inside(b: Builder, x: Value, at: Value, axes: Sequence[int]) -> Value:
    """Which places of all axes are no less than zero, and less than the length."""
    n = b.broadcast(b.constant([x.shape[a] for a in axes], at.dtype), at.shape)
    holds = b.binary("and", b.compare("GE", at, b.full(0, at)), b.compare("LT", at, n))
    return b.reduce("and", holds, True, [at.ndim - 1])


def bounded(b: Builder, x: Value, at: Value, axes: Sequence[int], bounds: str) -> Value:
    lengths = np.array([x.shape[a] for a in axes], at.dtype)
    if bounds == "wrap":
        n = b.broadcast(b.constant(lengths, at.dtype), at.shape)
        rest = b.binary("remainder", at, n)
        return b.select(b.compare("LT", rest, b.full(0, rest)), b.binary("add", rest, n), rest)
    if bounds in ("clip", "raise"):
        top = b.broadcast(b.constant(lengths - 1, at.dtype), at.shape)
        return b.binary("minimum", b.binary("maximum", at, b.full(0, at)), top)
    return at


@RULES("gather")
def gathered(b: Builder, eqn: JaxprEqn, x: Value, *indices: Value) -> Value:
    axes, first, bounds = eqn.params["axes"], eqn.params["at"], eqn.params["bounds"]
    at = places(b, indices)
    holds = inside(b, x, at, axes) if bounds == "zero" else None
    at = bounded(b, x, at, axes, bounds)
    rank = at.ndim - 1
    kept = [a for a in range(x.ndim) if a not in axes]
    shape = [x.shape[a] for a in kept]
    shape[first:first] = at.shape[:-1]
    offsets = [i for i in range(len(shape)) if not first <= i < first + rank]
    said = ", ".join(
        [f"offset_dims = {offsets}"] * bool(offsets)
        + [f"collapsed_slice_dims = {sorted(axes)}", f"start_index_map = {list(axes)}", f"index_vector_dim = {rank}"]
    )
    sizes = array([1 if a in axes else n for a, n in enumerate(x.shape)])
    said = f"dimension_numbers = #stablehlo.gather<{said}>, indices_are_sorted = false, slice_sizes = {sizes}"
    (out,) = b.general("stablehlo.gather", [x, at], [(shape, x.dtype)], said)
    if holds is None:
        return out
    holds = b.broadcast(holds, out.shape, range(first, first + rank))
    return b.select(holds, out, b.full(0, out))


@RULES("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max")
def scattered(b: Builder, eqn: JaxprEqn, x: Value, value: Value, *indices: Value) -> Value:
    p = eqn.params
    if "key" in p:
        return written(b, x, value, p["key"])
    axes, first = p["axes"], p["at"]
    at = bounded(b, x, places(b, indices), axes, p["bounds"])
    rank = at.ndim - 1
    kept = [a for a in range(x.ndim) if a not in axes]
    shape = [x.shape[a] for a in kept]
    shape[first:first] = at.shape[:-1]
    value = b.broadcast(b.convert(value, x.dtype), shape)
    window = [i for i in range(len(shape)) if not first <= i < first + rank]
    said = ", ".join(
        [f"update_window_dims = {window}"] * bool(window)
        + [f"inserted_window_dims = {sorted(axes)}", f"scatter_dims_to_operand_dims = {list(axes)}"]
        + [f"index_vector_dim = {rank}"]
    )
    said = f"indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<{said}>, unique_indices = false"
    word = WRITTEN.get(p.get("mode", "set"))
    region = b.region([x.dtype] * 2, lambda old, new: [new if word is None else b.binary(word, old, new)])
    return b.general("stablehlo.scatter", [x, at, value], [(x.shape, x.dtype)], said, [region])[0]


def written(b: Builder, x: Value, value: Value, key: Sequence[Any]) -> Value:
    """x with a part replaced, which a key of numbers, spans (first, length, step) and None says."""
    spans: list[tuple[int, int, int]]
    spans = [(int(k), 1, 1) if isinstance(k, (int, np.integer)) else k for k in key if k is not None]
    spans += [(0, n, 1) for n in x.shape[len(spans) :]]
    shape = [1 if k is None else k[1] for k in key if k is None or not isinstance(k, (int, np.integer))]
    value = b.broadcast(b.convert(value, x.dtype), [*shape, *x.shape[len([k for k in key if k is not None]) :]])
    value = b.reshape(value, [n for _, n, _ in spans])
    if not math.prod(value.shape):
        return x
    if all([step == 1 for _, _, step in spans]):
        starts = [b.constant(int(first), np.int32) for first, _, _ in spans]
        names = ", ".join([v.name for v in (x, value, *starts)])
        return b.short(f"stablehlo.dynamic_update_slice {names}", [x, value, *starts], x.shape, x.dtype)
    back = [a for a, (_, _, step) in enumerate(spans) if step < 0]
    value = b.reverse(value, back) if back else value
    low = [first if step > 0 else first + (n - 1) * step for first, n, step in spans]
    between = [max(abs(step) - 1, 0) for _, _, step in spans]
    high = [m - (a + n + (n - 1) * c) for m, (_, n, _), a, c in zip(x.shape, spans, low, between)]
    wide = b.pad(value, b.constant(0, x.dtype), low, high, between)
    there = b.pad(b.broadcast(b.constant(True, bool), value.shape), b.constant(False, bool), low, high, between)
    return b.select(there, wide, x)


def before(b: Builder, x: Value, y: Value) -> Value:
    """Whether x comes before y: numbers by size, -0. as 0., NaN last, complex ones by their real parts first."""
    if x.dtype.kind == "c":
        real, imag = [[b.unary(word, v) for v in (x, y)] for word in ("real", "imag")]
        same = b.binary("and", b.compare("EQ", real[0], real[1]), before(b, *imag))
        return b.binary("or", before(b, *real), same)
    if x.dtype.kind in "fV":
        x, y = [canonical(b, v) for v in (x, y)]
    return b.compare("LT", x, y, total=True)


def canonical(b: Builder, x: Value) -> Value:
    x = b.select(b.compare("EQ", x, b.full(0, x)), b.full(0, x), x)
    return b.select(b.compare("NE", x, x), b.full(np.nan, x), x)


def ordered(b: Builder, xs: Sequence[Value], axis: int, stable: bool = True) -> list[Value]:
    """Arrays in the order of the first."""
    region = b.region([x.dtype for x in xs for _ in range(2)], lambda x, y, *rest: [before(b, x, y)])
    said = f"dimension = {axis} : i64, is_stable = {str(stable).lower()}"
    return b.general("stablehlo.sort", xs, [(x.shape, x.dtype) for x in xs], said, [region])


@RULES("sort")
def sorted_along(b: Builder, eqn: JaxprEqn, *xs: Value) -> list[Value]:
    p = eqn.params
    if p.get("num_keys", 1) != 1:
        raise NotImplementedError("an order of several keys")
    return ordered(b, xs, int(p["dimension"]), bool(p.get("is_stable", True)))


@RULES("argsort")
def sorting(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    _, dtype = form(eqn.outvars[0].aval)
    axis = int(eqn.params["axis"])
    return ordered(b, [x, b.iota(axis, x.shape, dtype)], axis)[1]


@RULES("arglargest")
def largest(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    _, dtype = form(eqn.outvars[0].aval)
    axis, k = int(eqn.params["axis"]), int(eqn.params["k"])
    axes = [*[a for a in range(x.ndim) if a != axis], axis]
    x = b.transpose(x, axes)
    out = (*x.shape[:-1], k)
    name = b.new()
    types = f"{x.type} -> ({Value('', out, x.dtype).type}, {Value('', out, np.dtype(np.int32)).type})"
    b.lines.append(f"{name}:2 = chlo.top_k({x.name}, k = {k}) : {types}")
    found = b.convert(Value(f"{name}#1", out, np.dtype(np.int32)), dtype)
    return b.transpose(found, np.argsort(axes).tolist())


@RULES("searchsorted")
def searched(b: Builder, eqn: JaxprEqn, x: Value, v: Value) -> Value:
    """How many elements come before each value."""
    shape, dtype = form(eqn.outvars[0].aval)
    if eqn.params.get("stack") or x.ndim != 1:
        raise NotImplementedError("a search in a stack")
    kind = common([x, v])
    wide = (*v.shape, x.shape[0])
    x = b.broadcast(b.convert(x, kind), wide)
    v = b.broadcast(b.convert(v, kind), wide, range(v.ndim))
    if eqn.params["side"] == "left":
        counted = before(b, x, v)
    else:
        counted = before(b, v, x)
        counted = b.binary("xor", counted, b.full(True, counted))
    return b.reshape(b.reduce("add", b.convert(counted, dtype), 0, [len(wide) - 1]), shape)


@RULES("fft", "ifft", "rfft", "irfft")
def transformed(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    _, dtype = form(eqn.outvars[0].aval)
    p, name = eqn.params, eqn.primitive.name
    if "fft_type" in p:
        raise NotImplementedError("a transform of several axes at once")
    axis, n = int(p["axis"]), int(p["n"])
    axes = [*[a for a in range(x.ndim) if a != axis], axis]
    x = b.transpose(b.convert(x, dtype if name in ("fft", "ifft") else x.dtype), axes)
    if name == "irfft":
        x = b.convert(x, f"c{2 * dtype.itemsize}")
    length = n // 2 + 1 if name == "irfft" else n
    if x.shape[-1] > length:
        x = b.part(x, x.ndim - 1, 0, length)
    elif x.shape[-1] < length:
        none = [0] * (x.ndim - 1)
        x = b.pad(x, b.constant(0, x.dtype), [0] * x.ndim, [*none, length - x.shape[-1]], [0] * x.ndim)
    out = (*x.shape[:-1], n // 2 + 1 if name == "rfft" else n)
    x = b.short(f"stablehlo.fft {x.name}, type = {name.upper()}, length = [{n}]", [x], out, dtype)
    back = name in ("ifft", "irfft")
    factor = {"backward": 1.0, "ortho": n**0.5 if back else n**-0.5, "forward": float(n) if back else 1.0 / n}
    scale = factor[p.get("norm") or "backward"]
    x = x if scale == 1.0 else b.binary("multiply", x, b.full(scale, x))
    return b.transpose(x, np.argsort(axes).tolist())


@RULES("conv_general_dilated")
def convolved(b: Builder, eqn: JaxprEqn, x: Value, weights: Value) -> Value:
    shape, dtype = form(eqn.outvars[0].aval)
    p = eqn.params
    if x.dtype != weights.dtype:
        x, weights = b.convert(x, dtype), b.convert(weights, dtype)
    numbers = p["dimension_numbers"]
    names = [
        axis_names(spec, words)
        for spec, words in ((numbers.lhs_spec, "bf"), (numbers.rhs_spec, "oi"), (numbers.out_spec, "bf"))
    ]
    window = ", ".join(
        [
            f"stride = {list(p['window_strides'])}",
            f"pad = {[list(map(int, pair)) for pair in p['padding']]}",
            f"lhs_dilate = {list(p['lhs_dilation'])}",
            f"rhs_dilate = {list(p['rhs_dilation'])}",
        ]
    )
    groups = (
        f"batch_group_count = {p['batch_group_count']} : i64, feature_group_count = {p['feature_group_count']} : i64"
    )
    said = "precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]"
    text = f"stablehlo.convolution({x.name}, {weights.name}) dim_numbers = {names[0]}x{names[1]}->{names[2]}, "
    return b.short(f"{text}window = {{{window}}} {{{groups}, {said}}}", [x, weights], shape, dtype)


def axis_names(spec: Sequence[int], words: str) -> str:
    """`[b, f, 0, 1]`: what each axis is, from the axes of the batch, of the features, and of space."""
    said: list[Any] = [None] * len(spec)
    for i, axis in enumerate(spec):
        said[axis] = words[i] if i < 2 else i - 2
    return f"[{', '.join(map(str, said))}]"


@RULES("cholesky", "cholesky_or_nan")
def cholesky(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    upper = bool(eqn.params.get("upper", False))
    x = b.line(f"stablehlo.cholesky {x.name}, lower = {str(not upper).lower()}", x.type, x.shape, x.dtype)
    row, column = [b.iota(a, x.shape, np.int32) for a in (x.ndim - 2, x.ndim - 1)]
    found = b.select(b.compare("LE" if upper else "GE", row, column), x, b.full(0, x))
    real = b.unary("real", found) if found.dtype.kind == "c" else found
    failed = b.reduce("or", b.compare("NE", real, real), False, [x.ndim - 2, x.ndim - 1])
    failed = b.broadcast(failed, x.shape, range(x.ndim - 2))
    return b.select(failed, b.full(np.nan, x), found)  # where a matrix is not positive, nothing of it is left


@RULES("triangular_solve", "triangular_or_nan")
def solved(b: Builder, eqn: JaxprEqn, x: Value, y: Value) -> Value:
    p = eqn.params
    said = (
        f"left_side = true, lower = {str(bool(p['lower'])).lower()}, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, "
        f"unit_diagonal = {str(bool(p['unit'])).lower()}"
    )
    stack = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = b.broadcast(x, (*stack, *x.shape[-2:])), b.broadcast(y, (*stack, *y.shape[-2:]))
    return b.general("stablehlo.triangular_solve", [x, y], [(y.shape, y.dtype)], said)[0]
