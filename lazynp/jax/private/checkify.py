"""`jax.experimental.checkify`, and the classes of its errors."""

from typing import TypeVar

from ..check_errors import (
    BatchedError,
    DivisionByZeroError,
    FailedCheckError,
    JaxException,
    NaNError,
    OOBError,
)
from ..experimental.checkify import *
from ..experimental.checkify import __all__ as _public

Out = TypeVar("Out")
__all__ = [
    *_public,
    "BatchedError",
    "DivisionByZeroError",
    "FailedCheckError",
    "JaxException",
    "NaNError",
    "OOBError",
    "Out",
]
