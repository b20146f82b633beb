# Written by `python -m compat stubs`.
from ..array import Array
from .._types import ArrayLike

def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Array: ...
