# Written by `python -m compat stubs`.
from collections.abc import Sequence
from typing import Any
from ..array import Array
from .._types import ArrayLike

def map_coordinates(input: ArrayLike, coordinates: Sequence[Any], order: int, mode: str = 'constant', cval: ArrayLike = 0.0) -> Array: ...
