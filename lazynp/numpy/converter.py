"""`_array_converter`: how NumPy's Python functions take array-likes and give results of the same kind."""

from __future__ import annotations

from typing import Any

import numpy

from .array import Handle, ndarray
from .calls import call_wrap
from .creation import array
from .host import fresh
from .overrides import wrapper_of

PYTHON_SCALARS = (int, float, complex)
HOST: Any = numpy._core._multiarray_umath._array_converter


class array_converter:
    """Array-likes as arrays; results wrapped as NumPy wraps them."""

    def __init__(self, *objects: Any) -> None:
        self.objects = objects
        self.arrays: list[Any] = [x if isinstance(x, Handle) else array(x, copy=None, subok=True) for x in objects]
        self.scalar_input = tuple(
            [
                not isinstance(x, (Handle, numpy.ndarray)) and not a.ndim and is_scalar(x)
                for x, a in zip(objects, self.arrays)
            ]
        )

    def __len__(self) -> int:
        return len(self.objects)

    def __getitem__(self, i: int) -> Any:
        return self.arrays[i]

    def as_arrays(self, /, *, subok: bool = True, pyscalars: str = "convert_if_no_array") -> tuple[Any, ...]:
        """The inputs as arrays."""
        if pyscalars not in ("convert", "preserve", "convert_if_no_array"):
            raise ValueError("invalid value for `pyscalars`")
        keep = pyscalars == "preserve" or pyscalars == "convert_if_no_array" and not all(map(is_python, self.objects))
        out = [x if keep and is_python(x) else a for x, a in zip(self.objects, self.arrays)]
        if not subok:
            view = ndarray.view  # type: ignore[attr-defined]
            out = [view(x, ndarray) if isinstance(x, Handle) and type(x) is not ndarray else x for x in out]
        return tuple(out)

    def result_type(self, /, extra_dtype: Any = None, *, ensure_inexact: bool = False) -> Any:
        """The common dtype of the inputs; Python's scalars are weak."""
        given = [x if is_python(x) else numpy.empty((), a.dtype) for x, a in zip(self.objects, self.arrays)]
        return HOST(*given).result_type(extra_dtype, ensure_inexact=ensure_inexact)

    def wrap(self, arr: Any, /, *, to_scalar: bool | None = None) -> Any:
        """A result, through the `__array_wrap__` of the inputs."""
        scalar = all(self.scalar_input) if to_scalar is None else to_scalar
        leader = wrapper_of(self.objects, None)
        if leader is not None:
            if not scalar and type(arr) is type(leader):
                return arr  # what it has besides its values stays: the unit of what was computed, say
            if not isinstance(arr, (Handle, numpy.ndarray)):
                arr = fresh(numpy.asarray(arr))
            return call_wrap(leader, arr, None, scalar and arr.ndim == 0)
        return arr[()] if scalar and isinstance(arr, Handle) and arr.ndim == 0 else arr


def is_python(x: Any) -> bool:
    return type(x) in PYTHON_SCALARS


def is_scalar(x: Any) -> bool:
    return numpy.isscalar(x) or not hasattr(type(x), "__array__") and not isinstance(x, (list, tuple))
