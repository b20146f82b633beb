# Written by `python -m compat stubs`.
from collections.abc import Callable
from typing import Any
from .array import Array

def ravel_pytree(pytree: Any) -> tuple[Array, Callable[[Any], Any]]: ...
