# Written by `python -m compat stubs`.
from collections.abc import Sequence
from typing import Any

class RegularGridInterpolator:
    def __call__(self, xi: Any, method: str | None = None) -> Any: ...
    def __init__(self, points: Sequence[Any], values: Any, method: str = 'linear', bounds_error: bool = False, fill_value: Any = ...) -> None: ...
