# Written by `python -m compat stubs`.

from ._types import ArrayLike as ArrayLike
from ._types import DTypeLike as DTypeLike
