"""What is left of `jax.lax`: Fourier transforms, and names that only steer a compiler for accelerators."""

from __future__ import annotations

import dataclasses
import enum
import math
from typing import Any

import numpy as np

from ...backends.numpy import philox as lowerings  # noqa: F401  (of ops.generators)
from ...backends.numpy.threefry import PARITY, ROTATIONS
from ...graph.node import Node
from ...graph.op import results
from ...ops import fft as ops
from ...ops.bits import bitcast
from ...ops.creation import iota
from ...ops.elementwise import add, convert, left_shift
from ...ops.generators import philox
from ...ops.joining import concatenate, span, stack
from ...ops.shape import reshape
from ..array import Array, as_node, wrap
from ..at_once import apply
from ..dtypes import KIND_OF, inexact
from ..precision import DotAlgorithm
from .call import argument, public, sizes_of

U32 = np.dtype(np.uint32)


@public
class FftType(enum.IntEnum):
    """Which Fourier transform."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


@public
class RandomAlgorithm(enum.IntEnum):
    """XLA's generators, of which `rng_bit_generator` has Philox."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


@public
class AccuracyMode(enum.Enum):
    """How accurate an elementwise function is to be: accepted; all are accurate."""

    HIGHEST = 1
    DEFAULT = 2


@public
@dataclasses.dataclass(frozen=True)
class Tolerance:
    """Errors that an elementwise function may have: accepted; all are accurate.

    Raises: ValueError where one is negative, or all are 0.
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if min(self.atol, self.rtol, self.ulps) < 0:
            raise ValueError("Tolerances must be non-negative.")
        if not max(self.atol, self.rtol, self.ulps):
            raise ValueError("At least one of atol, rtol, or ulps must be set.")


public(DotAlgorithm)


def transformable(x: Node, real: bool) -> Node:
    """An operand of a transform, complex or real. Raises ValueError for a complex one that has to be real."""
    dtype = inexact(x.dtype)
    if not real:
        wide = dtype if KIND_OF[dtype] == "c" else np.dtype(np.complex128 if dtype.itemsize == 8 else np.complex64)
        return convert(x, wide)
    if KIND_OF[dtype] == "c":
        raise ValueError("only real valued inputs supported for rfft")
    return convert(x, dtype)


@public
def fft(x: Any, fft_type: FftType | str, fft_lengths: Any) -> Array:
    """A Fourier transform over the last axes, as many as there are lengths.

    Raises: ValueError or TypeError for lengths that do not fit, and for operands of the wrong kind.
    """
    if isinstance(fft_type, str) and fft_type.upper() not in FftType.__members__:
        raise ValueError(f"Unknown FFT type {fft_type!r}")
    if not isinstance(fft_type, (str, FftType)):
        raise TypeError(f"Unknown FFT type value '{fft_type}'")
    if np.ndim(fft_lengths) == 0:
        raise TypeError(f"fft_lengths is a sequence of lengths, got {fft_lengths}")
    kind = FftType[fft_type.upper()] if isinstance(fft_type, str) else fft_type
    node, lengths = argument("fft", x), sizes_of(fft_lengths)
    n = len(lengths)
    if not n:
        return apply(lambda x: transformable(x, kind == FftType.RFFT), node)
    if n > node.ndim:
        raise ValueError(
            f"fft input shape {node.shape} must have at least as many input dimensions as fft_lengths {lengths}."
        )
    node = transformable(node, kind == FftType.RFFT)
    if node.dtype.itemsize < 4:
        raise ValueError(f"RFFT input must be float32 or float64, got {node.dtype}")
    expected = (*lengths[:-1], lengths[-1] // 2 + 1) if kind == FftType.IRFFT else lengths
    if node.shape[node.ndim - n :] != expected:
        raise ValueError(
            f"{kind.name} input shape {node.shape} minor dimensions must be equal to fft_lengths {lengths}"
        )

    def run(x: Node) -> Node:
        axes = list(range(x.ndim - n, x.ndim))
        if kind == FftType.RFFT:
            x = ops.rfft(x, axis=axes[-1], norm="backward", n=lengths[-1])
        rest = axes[:-1] if kind in (FftType.RFFT, FftType.IRFFT) else axes
        op = ops.fft if kind in (FftType.FFT, FftType.RFFT) else ops.ifft
        for a in reversed(rest):
            x = op(x, axis=a, norm="backward", n=x.shape[a])
        return ops.irfft(x, axis=axes[-1], norm="backward", n=lengths[-1]) if kind == FftType.IRFFT else x

    return apply(run, node)


def threefry2x32(first: Any, second: Any, x: Any, y: Any) -> list[Any]:
    """The hash of pairs of words under keys of two words."""
    keys = first, second, first ^ second ^ np.uint32(PARITY)
    x, y = x + first, y + second
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x, y = x + keys[(i + 1) % 3], y + keys[(i + 2) % 3] + np.uint32(i + 1)
    return [x, y]


def threefry(state: Node, dtype: np.dtype[Any], shape: tuple[int, ...]) -> tuple[Node, Node]:
    """As XLA has it: the first two words are the key, the other two a counter. The two words of a hash make one number
    of 64 bits, or are neighbours along the first axis of even length; without one along the longest, of which the last
    is left out."""
    words = [wrap(span(state, 0, i, 1)) for i in range(4)]
    sizes = shape or (1,)
    even = [i for i, n in enumerate(sizes) if n % 2 == 0]
    split = even[0] if even else sizes.index(max(sizes))
    half = sizes if dtype.itemsize == 8 else (*sizes[:split], (sizes[split] + 1) // 2, *sizes[split + 1 :])
    total = math.prod(half)
    low = words[2] + wrap(iota(total, dtype=U32))
    hashed = threefry2x32(words[0], words[1], low, words[3] + carry(low, words))
    x, y = [wrap(reshape(as_node(w), shape=half)) for w in hashed]
    if dtype.itemsize == 8:
        found = add(convert(as_node(x), dtype), left_shift(convert(as_node(y), dtype), np.uint64(32)))
    else:
        pairs = stack(as_node(x), as_node(y), axis=split + 1)
        doubled = reshape(pairs, shape=(*half[:split], 2 * half[split], *half[split + 1 :]))
        found = convert(span(doubled, split, 0, sizes[split]), dtype)
    end = words[2] + np.uint32(total)
    after = concatenate(*[as_node(w) for w in (*words[:2], end, words[3] + carry(end, words))], axis=0)
    return after, reshape(found, shape=shape)


def carry(low: Any, words: list[Any]) -> Any:
    """One where the lower word of a counter has run over."""
    return wrap(convert(as_node(low < words[2]), U32))


@public
def rng_bit_generator(
    key: Any,
    shape: Any,
    dtype: Any = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Array, Array]:
    """The next state of a generator, and random integers: Philox-4x32, as JAX has on CPUs, or threefry.

    Args:
        key: the state: uint32 of shape (4,) or uint64 of shape (2,). dtype: unsigned.

    Raises: TypeError for another state or dtype.
    """
    node, size, found = argument("rng_bit_generator", key), sizes_of(shape), np.dtype(dtype)
    if (node.dtype, node.shape) not in ((np.dtype(np.uint32), (4,)), (np.dtype(np.uint64), (2,))):
        raise TypeError(f"rng_bit_generator takes a key of uint32[4] or uint64[2], got {node.aval}")
    if found.kind != "u":
        raise TypeError(f"rng_bit_generator: unsupported dtype {found}")

    state = node if node.shape == (4,) else reshape(bitcast(node, dtype=U32), shape=(4,))
    if algorithm == RandomAlgorithm.RNG_THREE_FRY:
        after, words = threefry(state, found, size)
    else:
        after, words = results(philox(state, dtype=found, shape=size))
    if node.shape != (4,):
        after = bitcast(reshape(after, shape=(2, 2)), dtype=node.dtype)
    return wrap(after), wrap(words)


__all__ = [
    "AccuracyMode",
    "DotAlgorithm",
    "FftType",
    "RandomAlgorithm",
    "Tolerance",
    "fft",
    "rng_bit_generator",
]
