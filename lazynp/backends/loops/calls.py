"""What libraries do elsewhere, in C++: Fourier transforms by the inner loops of NumPy's generalized ufuncs, which are
called without Python; convolutions as products of matrices; `roll`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .libraries import inner_loop
from .program import Step, Unsupported, Value
from .scalar import ctype
from .shapes import in_memory, store, unrolled
from .sums import multiplied
from .writer import Place, Shape, State, Writer, dense, emits

FOURIER: dict[str, Any] = vars(np.fft)["_pocketfft_umath"].__dict__


# Inner loops of NumPy.


def call_loop(
    w: Writer, ufunc: Any, places: Sequence[Place], cores: Sequence[int], sizes: Sequence[int], stack: Shape
) -> None:
    """Call the inner loop of a generalized ufunc on operands and results in memory, for each place of a stack.

    Args:
        cores: how many axes of each the loop goes through, the last ones. sizes: the lengths that its signature names.
    """
    found = inner_loop(ufunc, tuple([p.dtype for p in places]))
    if found is None:
        raise Unsupported(f"{ufunc.__name__} of these types")
    address = w.constant(np.array(found, np.uint64), Value((2,), "uint64")).base
    full = [w.aligned(p, (*stack, *p.shape[len(p.shape) - n :])) for p, n in zip(places, cores)]
    items = [np.dtype(p.dtype).itemsize for p in places]
    steps = [s * item for p, n, item in zip(full, cores, items) for s in p.strides[len(p.strides) - n :]]

    def one(index: list[str]) -> None:
        elements = ", ".join([f"(char*)&{p.at([*index, *['0'] * n])}" for p, n in zip(full, cores)])
        w.put(f"{{ char* args[] = {{{elements}}};")
        w.put(f"const int64_t dims[] = {{1, {', '.join(map(str, sizes))}}};")
        w.put(f"const int64_t steps[] = {{{', '.join(['0'] * len(full) + list(map(str, steps)))}}};")
        w.put(f"((void (*)(char**, const int64_t*, const int64_t*, void*)){address}[0])")
        w.put(f"(args, dims, steps, (void*){address}[1]); }}")

    unrolled(w, stack, one)


def of_dtype(w: Writer, p: Place, dtype: str) -> Place:
    """Elements of that dtype, in memory."""
    if p.dtype == dtype:
        return in_memory(w, p)
    out = Place(w.buffer(dtype, math.prod(p.shape)), dense(p.shape), p.shape, dtype)
    store(w, p, out)
    return out


def last(p: Place, axis: int) -> Place:
    """With an axis put last."""
    order = [i for i in range(len(p.shape)) if i != axis] + [axis]
    return p._replace(shape=tuple([p.shape[i] for i in order]), strides=tuple([p.strides[i] for i in order]))


@emits("fft", "ifft", "rfft", "irfft")
def fourier(w: Writer, state: State, s: Step) -> Place:
    value, axis, n = state.body.values[s.outs[0]], s.params["axis"], s.params["n"]
    single = value.dtype in ("float32", "complex64")
    real, whole = ("float32", "complex64") if single else ("float64", "complex128")
    if value.dtype not in (real, whole) or 0 in value.shape or n < 1:
        raise Unsupported(f"{s.op} of {value.dtype}")
    x = of_dtype(w, w.place(state, s.args[0]), real if s.op == "rfft" else whole)
    out = w.fresh(value, state.wanted.get(s.outs[0]) or w.buffer(value.dtype, value.size))
    inverse = s.op[0] == "i"
    divided = s.params["norm"] == ("backward" if inverse else "forward")
    kind = np.dtype(real).type
    factor = kind(1) / np.sqrt(kind(n)) if s.params["norm"] == "ortho" else kind(1) / kind(n) if divided else kind(1)
    scale = w.constant(np.array([factor]), Value((1,), real))
    scale = scale._replace(base=f"(({ctype(real)}*){scale.base})", shape=(), strides=())
    name = f"rfft_n_{'odd' if n % 2 else 'even'}" if s.op == "rfft" else s.op
    x, to = last(x, axis), last(out, axis)
    call_loop(w, FOURIER[name], (x, scale, to), (1, 0, 1), (x.shape[-1], to.shape[-1]), to.shape[:-1])
    return out


# Convolutions.


@emits("conv")
def convolution(w: Writer, state: State, s: Step) -> Place:
    """Patches of the images, unfolded, times kernels: as `ops.convolution` has it."""
    x, k = (in_memory(w, w.place(state, a)) for a in s.args)
    value, p = state.body.values[s.outs[0]], s.params
    if {x.dtype, k.dtype} != {value.dtype} or 0 in (*x.shape, *k.shape, *value.shape):
        raise Unsupported(f"conv of {value.dtype}")
    groups, parts = p["groups"], p["batch_groups"]
    images, features = x.shape[0] // parts, x.shape[1] // groups
    if parts > 1:  # each with images of its own
        outer, steps = (images, parts, features), (x.strides[0], x.strides[0] * images, x.strides[1])
    else:
        outer, steps = (images, groups, features), (x.strides[0], x.strides[1] * features, x.strides[1])
    groups *= parts
    x = spaced(w, x._replace(shape=(*outer, *x.shape[2:]), strides=(*steps, *x.strides[2:])), p)
    kernel, space, inner = k.shape[2:], value.shape[2:], x.strides[3:]
    wide, high, size = features * math.prod(kernel), k.shape[0] // groups, math.prod(space)
    patches = x._replace(
        shape=(*outer, *kernel, *space),
        strides=(
            *x.strides[:3],
            *[t * d for t, d in zip(inner, p["rhs_dilation"])],
            *[t * d for t, d in zip(inner, p["strides"])],
        ),
    )
    unfolded = w.fresh(Value(patches.shape, x.dtype), w.buffer(x.dtype, math.prod(patches.shape)))
    w.copy(patches, unfolded)
    if not k.dense:
        given, k = k, w.fresh(Value(k.shape, k.dtype), w.buffer(k.dtype, math.prod(k.shape)))
        w.copy(given, k)
    out = w.fresh(value, state.wanted.get(s.outs[0]) or w.buffer(value.dtype, value.size))
    stack = (images, groups)
    left, right, to = (
        q._replace(shape=shape, strides=dense(shape))
        for q, shape in ((k, (groups, high, wide)), (unfolded, (*stack, wide, size)), (out, (*stack, high, size)))
    )
    multiplied(w, left, right, to, stack)
    return out


def spaced(w: Writer, x: Place, p: dict[str, Any]) -> Place:
    """Images with zeros between and around their elements. Three axes come before those of space."""
    padding, dilation, space = p["padding"], p["lhs_dilation"], x.shape[3:]
    if all([d == 1 for d in dilation]) and not any([low or high for low, high in padding]):
        return x
    full = [(n - 1) * d + 1 + low + high for n, (low, high), d in zip(space, padding, dilation)]
    shape = (*x.shape[:3], *full)
    out = w.fresh(Value(shape, x.dtype), w.buffer(x.dtype, math.prod(shape)))
    w.put(f"std::memset({out.base}, 0, {math.prod(shape) * np.dtype(x.dtype).itemsize});")
    begin, to, counts = 0, 0, []
    for i, (n, size, (low, _), d) in enumerate(zip(space, full, padding, dilation), 3):
        first = max(0, -(low // d)) if low < 0 else 0
        count = max(min(n, (size - 1 - low) // d + 1) - first, 0)
        begin += first * x.strides[i]
        to += (low + first * d) * out.strides[i] if count else 0
        counts.append(count)
    region = (*x.shape[:3], *counts)
    strides = (*out.strides[:3], *[t * d for t, d in zip(out.strides[3:], dilation)])
    source = x._replace(base=f"({x.base} + {begin})", shape=region)
    w.copy(source, Place(f"({out.base} + {to})", strides, region, x.dtype))
    return out


# Moving elements.


@emits("roll")
def roll(w: Writer, state: State, s: Step) -> Place:
    p, value = w.place(state, s.args[0]), state.body.values[s.outs[0]]
    if p.variable or 0 in value.shape:
        return p
    out = w.fresh(value, state.wanted.get(s.outs[0]))
    shifts = [0] * len(value.shape)
    for axis, shift in zip(s.params["axes"], s.params["shifts"]):
        shifts[axis] = (shifts[axis] + shift) % value.shape[axis]
    pieces = [[(0, k, n - k), (n - k, 0, k)] if k else [(0, 0, n)] for n, k in zip(value.shape, shifts)]
    for piece in itertools.product(*pieces):  # on each axis: from where, to where, how many
        begin = sum([a * t for (a, _, _), t in zip(piece, p.strides)])
        to = sum([b * t for (_, b, _), t in zip(piece, out.strides)])
        shape = tuple([n for _, _, n in piece])
        w.copy(
            p._replace(base=f"({p.base} + {begin})", shape=shape),
            out._replace(base=f"({out.base} + {to})", shape=shape),
        )
    return out
