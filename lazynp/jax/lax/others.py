"""What is left of `jax.lax`: Fourier transforms, and names that only steer a compiler for accelerators."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from ...graph.node import Node
from ...ops import fft as ops
from ..array import Array, apply
from .call import argument, public, sizes_of


@public
class FftType(enum.IntEnum):
    """Which Fourier transform."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


@public
class RandomAlgorithm(enum.IntEnum):
    """XLA's generators: a name in signatures. The generators are those of `jax.random`."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


@public
class AccuracyMode(enum.Enum):
    """How accurate an elementwise function is to be: accepted; all are accurate."""

    HIGHEST = 1
    DEFAULT = 2


@public
class Tolerance(NamedTuple):
    """Errors that an elementwise function may have: accepted; all are accurate."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


@public
class DotAlgorithm(NamedTuple):
    """How a product is to be computed: accepted; products are in full precision anyway."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


@public
def fft(x: Any, fft_type: FftType | str, fft_lengths: Any) -> Array:
    """A Fourier transform over the last axes, as many as there are lengths.

    Raises: ValueError or TypeError for lengths that do not fit, and for operands of the wrong kind.
    """
    kind = FftType[fft_type.upper()] if isinstance(fft_type, str) else FftType(fft_type)
    node, lengths = argument("fft", x), sizes_of(fft_lengths)
    n = len(lengths)
    if not lengths or n > node.ndim:
        raise ValueError(
            f"fft input shape {node.shape} must have at least as many input dimensions as fft_lengths {lengths}."
        )
    real = kind == FftType.RFFT
    if real == (node.dtype.kind == "c"):
        raise ValueError(f"{kind.name} input must be {'float' if real else 'complex'}, got {node.dtype}")
    expected = (*lengths[:-1], lengths[-1] // 2 + 1) if kind == FftType.IRFFT else lengths
    if node.shape[node.ndim - n :] != expected:
        raise ValueError(f"{kind.name} operand dimensions {node.shape} must match fft_lengths {lengths}")

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


__all__ = [
    "AccuracyMode",
    "DotAlgorithm",
    "FftType",
    "RandomAlgorithm",
    "Tolerance",
    "fft",
]
