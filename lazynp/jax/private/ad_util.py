"""Zeros of derivatives, and the primitive of `stop_gradient`."""

from ..bind import Zero, instantiate_zeros
from ..custom_derivatives import SymbolicZero
from ..primitives import primitive_of

stop_gradient_p = primitive_of("stop_gradient")
__all__ = ["SymbolicZero", "Zero", "instantiate_zeros", "stop_gradient_p"]
