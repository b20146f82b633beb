"""Casts of complex numbers to real ones: NumPy warns of each, when it is asked for, and names the user's line."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from ..notices import outside

TEXT = "Casting complex values to real discards the imaginary part"


def discards(given: numpy.dtype[Any], dtype: numpy.dtype[Any]) -> bool:
    """Whether a cast takes the real part. To bool it does not: that asks both parts whether they are zero."""
    return given.kind == "c" and dtype.kind in "fiu"


def warn_of_it() -> None:
    """NumPy's warning, which names whoever called the package. Raises it where a filter says so."""
    warnings.warn(TEXT, numpy.exceptions.ComplexWarning, stacklevel=outside())


def real_of(value: Any, dtype: numpy.dtype[Any]) -> Any:
    """What NumPy can be given for a value that it is to cast: it would name our line, since it sees nothing but the
    innermost one. So the warning is given here, and NumPy gets the real part."""
    if isinstance(value, (numpy.ndarray, numpy.generic)) and discards(value.dtype, dtype):
        warn_of_it()
        return value.real
    return value


def cast_to_real(x: numpy.ndarray, dtype: Any, order: str) -> numpy.ndarray:
    """`x.astype(dtype, order)` of a complex array."""
    warn_of_it()
    out = numpy.empty_like(x, numpy.dtype(dtype), order, subok=False)  # type: ignore[call-overload]  # None: float64
    numpy.copyto(out, x.real, casting="unsafe")
    return out
