# Types that the stubs of the JAX door name in many places. Written by hand.
from collections.abc import Callable, Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias

import numpy as np

from .array import Array

class SupportsDType(Protocol):
    @property
    def dtype(self) -> np.dtype[Any]: ...

ArrayLike: TypeAlias = Array | np.ndarray[Any, Any] | np.bool | np.number[Any] | bool | int | float | complex
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | SupportsDType
Axis: TypeAlias = int | Sequence[int] | None
Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
Dimensions: TypeAlias = Sequence[SupportsIndex]

class ScalarType:
    dtype: np.dtype[Any]
    def __call__(self, x: Any = 0) -> Array: ...
    def __hash__(self) -> int: ...

class ufunc:
    __name__: str
    nin: int
    nout: int
    nargs: int
    identity: Any
    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
    ) -> None: ...
    def __call__(self, *args: ArrayLike, out: None = None, where: None = None) -> Any: ...
    def reduce(
        self,
        a: ArrayLike,
        axis: int | tuple[int, ...] | None = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array: ...
    def at(self, a: ArrayLike, indices: Any, b: ArrayLike | None = None, /, *, inplace: bool = True) -> Array: ...
    def reduceat(
        self, a: ArrayLike, indices: Any, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array: ...
    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array: ...

class UnaryUfunc(ufunc):
    def __call__(self, x: ArrayLike, /, out: None = None, where: None = None) -> Array: ...  # type: ignore[override]

class BinaryUfunc(ufunc):
    def __call__(self, x1: ArrayLike, x2: ArrayLike, /, out: None = None, where: None = None) -> Array: ...  # type: ignore[override]

class Grid:
    def __getitem__(self, key: Any) -> Any: ...

class Concatenator:
    def __getitem__(self, key: Any) -> Array: ...

class Config:
    def update(self, name: str, val: Any) -> None: ...
    def read(self, name: str) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...

config: Config
