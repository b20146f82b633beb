# Written by `python -m compat stubs`.
from typing import Any
from ...array import Array
from ..._types import ArrayLike

def logpmf(k: Any, p: ArrayLike, loc: ArrayLike = 0) -> Array: ...
def pmf(k: Any, p: ArrayLike, loc: ArrayLike = 0) -> Array: ...
