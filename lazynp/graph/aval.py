"""The abstract value of an array: what is known of it without computing it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Aval(NamedTuple):
    """Shape, dtype, and whether the dtype is weak (a Python scalar's, which yields to an array's)."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for s in self.shape:
            n *= s
        return n

    @property
    def nbytes(self) -> int:
        """Bytes of the dense array."""
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        names = self.dtype.names  # of a record: random keys, by the name of their generator
        return f"{f'key<{names[0]}>' if names else self.dtype.name}[{','.join(map(str, self.shape))}]"
