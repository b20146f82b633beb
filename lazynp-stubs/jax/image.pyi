# Written by `python -m compat stubs`.
import enum
from collections.abc import Sequence
from typing import Any
from .array import Array
from ._types import ArrayLike, Shape

class ResizeMethod(enum.Enum):
    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6
def resize(image: Any, shape: Shape, method: str | ResizeMethod, antialias: bool = True, precision: Any = ...) -> Array: ...
def scale_and_translate(image: Any, shape: Shape, spatial_dims: Sequence[int], scale: ArrayLike, translation: Any, method: str | ResizeMethod, antialias: bool = True, precision: Any = ...) -> Array: ...
