"""NumPy's text that asks of values only to refuse them, to warn, or to go a shorter way: for arrays that have no value,
under `jit` and `vmap`, the answer is no. Loaded with the transformations; see `traced_math.PYTHON`.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy

from .. import errors
from ..graph.node import Node
from .traced import Rule, concrete


class Asking(threading.local):
    """How many functions are running in this thread whose questions are answered with no."""

    depth = 0


asking = Asking()


def answered(theirs: Rule) -> Rule:
    """A function of NumPy's, in which `if x` of an array that has no value goes on as where x is False."""

    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        asking.depth += 1
        try:
            return theirs(*args, **kwargs)
        finally:
            asking.depth -= 1

    return call


def truth(node: Node) -> numpy.ndarray:
    """What `bool(x)` is told of an array that has no value. Raises TracerBoolConversionError where it matters."""
    if asking.depth:
        return numpy.zeros((), bool)
    raise errors.bool_error(node)


def unchecked(*arrays: Any) -> Any:
    """`numpy.linalg` refuses infinities and NaN where it can see them; otherwise they come out as NaN."""
    return NotImplemented if all(map(concrete, arrays)) else None


IMAGINARY = [n for n in ("_to_real_if_imag_zero",) if hasattr(numpy.linalg._linalg, n)]
# By module, the functions in which no is an answer that any of their questions may be given.
ANSWERED: dict[str, tuple[str, ...]] = {
    "lazynp._core.function_base": ("geomspace",),  # is a bound zero?
    "lazynp._core._methods": ("_var",),  # are there no more elements than `ddof`?
    "lazynp.lib._function_base_impl": (
        "gradient",
        "percentile",
        "quantile",
    ),  # are distances the same, weights negative?
    "lazynp.lib._histograms_impl": ("histogramdd",),  # do edges descend?
    # Are all real? The result is complex. From NumPy 2.5 on roots of polynomials ask by a function.
    "lazynp.linalg._linalg": ("eig", "eigvals", *IMAGINARY),
    "lazynp.polynomial.polyutils": ("_div",),  # is the leading coefficient zero? So are the next.
    "lazynp.polynomial.polynomial": ("polydiv", "polymulx"),
    "lazynp.polynomial.chebyshev": ("chebdiv", "chebmulx"),
    "lazynp.polynomial.legendre": ("legmulx",),
    "lazynp.polynomial.hermite": ("hermmulx",),
    "lazynp.polynomial.hermite_e": ("hermemulx",),
    "lazynp.polynomial.laguerre": ("lagmulx",),
}
RULES: tuple[tuple[str, str, Rule], ...] = (("lazynp.linalg._linalg", "_assert_finite", unchecked),)
