# Written by `python -m compat stubs`.
from typing import Any
from ...array import Array
from ..._types import ArrayLike

def logpdf(x: ArrayLike, kappa: Any) -> Array: ...
def pdf(x: ArrayLike, kappa: Any) -> Array: ...
