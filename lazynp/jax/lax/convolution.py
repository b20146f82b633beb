"""Convolutions, with all their dimension numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops import convolution
from ...ops import shape as s
from ...ops.creation import eye
from ...ops.elementwise import convert, not_equal
from ...ops.promotion import Shape
from ..array import Array
from ..at_once import apply, apply_like
from ..dimension_numbers import ConvDimensionNumbers
from ..precision import check_precision, check_preferred
from ..symbolic import is_symbolic_dim
from .call import argument, arguments, check_kinds, check_same_dtypes, dtype_of, public, sizes_of, spread
from .contraction import dot_general, in_common
from .windows import dilated, padtype_to_pads

public(ConvDimensionNumbers)


@public
def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[Shape, Shape, Shape]:
    """From letters to places: "NCHW", "OIHW", "NHWC"."""
    lhs, rhs, out = dimension_numbers
    for i, (text, first) in enumerate(zip((lhs, rhs, out), ("NC", "OI", "NC"))):
        if any(text.count(c) != 1 for c in first):
            raise TypeError(
                f"convolution dimension_numbers[{i}] must contain the characters {first[0]!r} and {first[1]!r} exactly "
                f"once, got {text}."
            )
        if len(text) != len(set(text)):
            raise TypeError(f"convolution dimension_numbers[{i}] cannot have duplicate characters, got {text}.")
    space = [c for c in rhs if c not in "OI"]
    if not set(lhs) - set("NC") == set(rhs) - set("OI") == set(out) - set("NC"):
        raise TypeError(
            "convolution dimension_numbers elements must each have the same set of spatial characters, "
            f"got {dimension_numbers}."
        )
    return tuple(
        [tuple([t.index(c) for c in (*first, *space)]) for t, first in zip((lhs, rhs, out), ("NC", "OI", "NC"))]
    )  # type: ignore[return-value]


@public
def conv_dimension_numbers(lhs_shape: Any, rhs_shape: Any, dimension_numbers: Any) -> ConvDimensionNumbers:
    """Dimension numbers as places. Raises TypeError for what is none."""
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    n = len(lhs_shape)
    if n != len(rhs_shape):
        raise TypeError(f"convolution requires lhs and rhs ndim to be equal, got {n} and {len(rhs_shape)}.")
    if dimension_numbers is None:
        places = tuple(range(n))
        return ConvDimensionNumbers(places, places, places)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError(f"convolution dimension_numbers must be tuple/list or None, got {type(dimension_numbers)}.")
    if len(dimension_numbers) != 3:
        raise TypeError(f"convolution dimension_numbers list/tuple must be length 3, got {len(dimension_numbers)}.")
    if not all(isinstance(t, str) for t in dimension_numbers):
        kinds = tuple(map(type, dimension_numbers))
        raise TypeError(f"convolution dimension_numbers elements must be strings, got {kinds}.")
    for i, t in enumerate(dimension_numbers):
        if len(t) != n:
            raise TypeError(
                f"convolution dimension_numbers[{i}] must have len equal to the ndim of lhs and rhs, got {len(t)} for "
                f"lhs and rhs shapes {lhs_shape} and {rhs_shape}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def checked_conv(x: Node, w: Node, numbers: ConvDimensionNumbers, steps: Shape, groups: int, batch: int) -> None:
    """Raises JAX's ValueError for operands that do not fit."""
    if x.ndim != w.ndim:
        raise ValueError(
            "conv_general_dilated lhs and rhs must have the same number of dimensions, but got "
            f"{x.shape} and {w.shape}."
        )
    (n, c), (o, i) = ((v.shape[p[0]], v.shape[p[1]]) for v, p in ((x, numbers[0]), (w, numbers[1])))
    for what, value in (("feature_group_count", groups), ("batch_group_count", batch)):
        if value <= 0:
            raise ValueError(f"conv_general_dilated {what} must be a positive integer, got {value}.")
    problems = (
        (c % groups, f"feature_group_count must divide lhs feature dimension size, but {groups} does not divide {c}."),
        (
            c // groups != i,
            "lhs feature dimension size divided by feature_group_count must equal the rhs input feature dimension "
            f"size, but {c} // {groups} != {i}.",
        ),
        (
            o % groups,
            "rhs output feature dimension size must be a multiple of feature_group_count, but "
            f"{o} is not a multiple of {groups}.",
        ),
        (n % batch, f"batch_group_count must divide lhs batch dimension size, but {batch} does not divide {n}."),
        (
            o % batch,
            "rhs output feature dimension size must be a multiple of batch_group_count, but "
            f"{o} is not a multiple of {batch}.",
        ),
        (
            len(steps) != x.ndim - 2,
            f"window and window_strides must have the same number of dimensions, but got {x.ndim - 2} and {len(steps)}",
        ),
    )
    for wrong, text in problems:
        if wrong:
            raise ValueError(f"conv_general_dilated {text}")
    if batch > 1 and groups > 1:
        raise ValueError(
            "At most one of batch_group_count and feature_group_count may be > 1, got "
            f"batch_group_count={batch} and feature_group_count={groups}"
        )


def pads_of(padding: Any, space: Shape, kernel: Shape, steps: Shape) -> tuple[tuple[int, int], ...]:
    if isinstance(padding, str):
        return tuple(padtype_to_pads(space, kernel, steps, padding))
    try:
        return tuple([(operator.index(a), operator.index(b)) for a, b in padding])
    except (TypeError, ValueError):
        raise ValueError(
            "padding argument to conv_general_dilated should be a string or a sequence of (low, high) pairs, "
            f"got {padding}"
        ) from None


def pads_for(
    x: Node, w: Node, numbers: ConvDimensionNumbers, dl: Shape, dr: Shape, steps: Shape, padding: Any
) -> tuple[tuple[int, int], ...]:
    space, kernel = (tuple([v.shape[i] for i in p[2:]]) for v, p in ((x, numbers[0]), (w, numbers[1])))
    return pads_of(padding, dilated(space, dl), dilated(kernel, dr), steps)


@public
def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """XLA's convolution of images and kernels.

    Raises: TypeError for operands of two dtypes or bad dimension numbers, ValueError for sizes that do not fit.
    """
    x, w = arguments("conv_general_dilated", lhs, rhs)
    check_precision(precision)
    numbers = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    if isinstance(window_strides, int):
        raise TypeError("'int' object is not iterable")
    steps = sizes_of(window_strides)
    one = (1,) * (x.ndim - 2)
    dl, dr = (one if d is None else sizes_of(d) for d in (lhs_dilation, rhs_dilation))
    if isinstance(padding, str) and any([d != 1 for d in dl]):
        raise ValueError(
            "String padding is not implemented for transposed convolution using this op. Please either exactly specify "
            "the required padding or use conv_transpose."
        )
    if isinstance(padding, str):
        padtype_to_pads((), (), (), padding)  # which raises for a word that is none
    if isinstance(padding, str) and len(dl) == len(dr) == len(steps) == len(one):
        padding = pads_for(x, w, numbers, dl, dr, steps, padding)
    checked_conv(x, w, numbers, steps, feature_group_count, batch_group_count)
    if len(dl) != len(one) or len(dr) != len(one):
        raise ValueError(f"conv_general_dilated dilations must have {len(one)} entries, got {dl} and {dr}")
    for given in (dl, dr):
        if any([d <= 0 for d in given]):
            raise TypeError(f"All dilations must be positive, got {given}.")
    pads = pads_for(x, w, numbers, dl, dr, steps, padding)
    if len(pads) != len(one):
        raise TypeError(f"Wrong number of explicit pads for convolution: expected {len(one)}, got {len(pads)}.")
    sizes = [x.shape[i] for i in numbers[0][2:]]
    if any([not is_symbolic_dim(n) and d * (n - 1) + 1 + sum(p) < 0 for n, d, p in zip(sizes, dl, pads)]):
        raise ValueError(
            "Negative padding is larger than the size of the corresponding dimension: got padding="
            f"{tuple(pads)} for lhs_shape[2:]={tuple(sizes)}"
        )
    check_kinds("conv_general_dilated", [x, w], ["bifc", "bifc"])
    check_same_dtypes("conv_general_dilated", [x, w])
    check_preferred(x.dtype, None if preferred_element_type is None else dtype_of(preferred_element_type))
    truths = x.dtype.kind == "b" and preferred_element_type is None

    def run(x: Node, w: Node) -> Node:
        a, b, out = in_common(x, w, np.int32 if truths else preferred_element_type)
        made = convolution.conv(
            transposed(a, tuple(numbers[0])),
            transposed(b, tuple(numbers[1])),
            strides=steps,
            padding=pads,
            lhs_dilation=dl,
            rhs_dilation=dr,
            groups=feature_group_count,
            batch_groups=batch_group_count,
        )
        made = transposed(made, s.inverse(tuple(numbers[2])))
        return not_equal(made, np.int32(0)) if truths else convert(made, out)

    return apply_like(run, x, w)


def transposed(x: Node, axes: Shape) -> Node:
    return x if axes == tuple(range(x.ndim)) else s.transpose(x, axes=axes)


@public
def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """A convolution in the layouts NCHW and OIHW."""
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


@public
def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """A convolution in the layouts NCHW and OIHW, with any padding and dilations."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def transpose_padding(k: int, step: int, padding: Any) -> tuple[int, int]:
    """The padding of a transposed convolution, from that of the one it transposes."""
    if padding == "SAME":
        total = k + step - 2
        low = k - 1 if step > k - 1 else math.ceil(total / 2)
    elif padding == "VALID":
        total, low = k + step - 2 + max(k - step, 0), k - 1
    elif isinstance(padding, tuple):
        low, total = k - padding[0] - 1, sum([k - p - 1 for p in padding])
    else:
        raise ValueError(f"Invalid padding mode: {padding}")
    return low, total - low


@public
def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Any,
    padding: Any,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Array:
    """A convolution over images that are spread out by the strides; by default in the layouts NHWC and HWIO."""
    x, w = arguments("conv_transpose", lhs, rhs)
    assert x.ndim == w.ndim and x.ndim >= 2
    if dimension_numbers is None:
        if not 2 <= x.ndim <= 5:
            raise ValueError("No 4+ dimensional dimension_number defaults.")
        space = ("", "H", "HW", "HWD")[x.ndim - 2]
        dimension_numbers = (f"N{space}C", f"{space}IO", f"N{space}C")
    numbers = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    steps = sizes_of(strides)
    inner = (1,) * (x.ndim - 2) if rhs_dilation is None else sizes_of(rhs_dilation)
    kernel = dilated([w.shape[i] for i in numbers[1][2:]], inner)
    if use_consistent_padding or padding in ("SAME", "VALID"):
        each = [padding] * len(steps) if isinstance(padding, str) else padding
        padding = [transpose_padding(k, t, p) for k, t, p in zip(kernel, steps, each)]
    if transpose_kernel:
        o, i, *space_axes = numbers[1]
        rhs = apply(lambda w: swapped(flipped(w, tuple(space_axes)), o, i), w)
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * (x.ndim - 2),
        padding,
        steps,
        inner,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def flipped(x: Node, axes: Shape) -> Node:
    return s.slice_(x, key=tuple([(n - 1, n, -1) if i in axes else (0, n, 1) for i, n in enumerate(x.shape)]))


def swapped(x: Node, i: int, j: int) -> Node:
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return s.transpose(x, axes=tuple(order))


@public
def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The patches that a kernel of that shape would see, flattened into the feature axis."""
    x, sizes = argument("conv_general_dilated_patches", lhs), sizes_of(filter_shape)
    numbers = conv_dimension_numbers(x.shape, (1, 1, *sizes), dimension_numbers)
    count, features = math.prod(sizes), x.shape[numbers[0][1]]

    def kernel() -> Node:
        unit = s.reshape(eye(count, dtype=x.dtype), shape=(1, count, 1, *sizes))
        full = s.reshape(spread(unit, (features, count, 1, *sizes)), shape=(features * count, 1, *sizes))
        return transposed(full, s.inverse(tuple(numbers[1])))

    return conv_general_dilated(
        lhs,
        apply(kernel),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        preferred_element_type=preferred_element_type,
    )


@public
def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    filter_shape: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Array:
    """A convolution with a kernel of its own at each place."""
    x = argument("conv_general_dilated_local", lhs)
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers
    )
    numbers = conv_dimension_numbers(x.shape, (1, 1, *sizes_of(filter_shape)), dimension_numbers)
    (_, rhs_spec, out_spec) = numbers
    pairs = sorted(zip(out_spec[2:], rhs_spec[2:]))
    dims = (((out_spec[1],), (rhs_spec[1],)), (tuple([a for a, _ in pairs]), tuple([b for _, b in pairs])))
    out = argument("conv_general_dilated_local", dot_general(patches, rhs, dims, precision))
    order = [0] * out.ndim
    order[out_spec[0]], order[out_spec[1]] = out.ndim - 2, out.ndim - 1
    for i, (a, _) in enumerate(pairs):
        order[a] = i
    return apply(lambda v: transposed(v, tuple(order)), out)


@public
def conv_shape_tuple(lhs_shape: Any, rhs_shape: Any, strides: Any, pads: Any, batch_group_count: int = 1) -> Shape:
    """The shape of a convolution in the layouts NCHW and OIHW."""
    steps = sizes_of(strides)
    pads = pads_of(pads, sizes_of(lhs_shape, unknown=True)[2:], sizes_of(rhs_shape)[2:], steps)
    space = [
        max((n + low + high - k) // t + 1, 0) for n, k, t, (low, high) in zip(lhs_shape[2:], rhs_shape[2:], steps, pads)
    ]
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *space)


@public
def conv_general_shape_tuple(
    lhs_shape: Any, rhs_shape: Any, window_strides: Any, padding: Any, dimension_numbers: Any
) -> Shape:
    """The shape of a convolution."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple([lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs], window_strides, padding)
    return tuple([shape[i] for i in s.inverse(out)])


@public
def conv_transpose_shape_tuple(
    lhs_shape: Any, rhs_shape: Any, window_strides: Any, padding: Any, dimension_numbers: Any
) -> Shape:
    """The shape of a transposed convolution."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    images, kernels = [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs]
    steps = sizes_of(window_strides)
    if isinstance(padding, str):
        padding = [transpose_padding(k, t, padding) for k, t in zip(kernels[2:], steps)]
    wide = [
        max(1, (n - 1) * t + 1 + low + high - k + 1)
        for n, k, t, (low, high) in zip(images[2:], kernels[2:], steps, padding)
    ]
    shape = (images[0], kernels[0], *wide)
    return tuple([shape[i] for i in s.inverse(out)])


ConvGeneralDilatedDimensionNumbers = Any
__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_patches",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose",
    "conv_transpose_shape_tuple",
    "conv_with_general_padding",
]
