"""`jax.experimental.buffer_callback`: functions that write their results into buffers that they are given."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...tree import flatten, map, unflatten
from ..callback import io_callback, pure_callback
from ..dtypes import canonical

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]


class ExecutionStage(enum.Enum):
    """What a callback is called for. Here it is always EXECUTE."""

    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


class ExecutionContext(NamedTuple):
    """What a callback's first argument tells it. `stream` is that of a GPU: None."""

    stage: ExecutionStage = ExecutionStage.EXECUTE
    stream: Any = None


class Buffer:
    """The memory of an array: `np.asarray(buffer)` shares it."""

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def writeable(self) -> bool:
        """Whether it may be written to: results may."""
        return self._array.flags.writeable

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._array, dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def buffer_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """The function that calls `callback(context, out, *args)`: `out` is the tree of `result_shape_dtypes`, with a
    `Buffer` for each, which the callback writes to; buffers of arguments are read-only.

    Args:
        has_side_effect: whether it is called although nobody needs the results.
        vmap_method: as of `jax.pure_callback`.
        input_output_aliases: by the number of an argument the result that begins as a copy of it.
        command_buffer_compatible: of GPUs' graphs of commands; there are none here.
    Raises (when called): JaxRuntimeError where the callback raises, or returns anything but None; those of
        `jax.pure_callback`.
    """
    begins = dict(input_output_aliases or {})

    def call(*args: Any) -> Any:
        types, structure = flatten(result_shape_dtypes)

        def run(*arrays: Any) -> Any:
            leaves = flatten(arrays)[0]
            outer = leading(leaves, args) if vmap_method is not None else ()
            outs = [np.zeros((*outer, *t.shape), canonical(t.dtype)) for t in types]
            for i, k in begins.items():
                outs[k][...] = leaves[i]
            found = callback(ExecutionContext(), unflatten(structure, [Buffer(x) for x in outs]), *map(shown, arrays))
            if found is not None:
                raise ValueError(f"a buffer callback writes its results and returns None, got {type(found)}")
            return unflatten(structure, outs)

        if has_side_effect:
            return io_callback(run, result_shape_dtypes, *args)
        return pure_callback(run, result_shape_dtypes, *args, vmap_method=vmap_method)

    return call


def shown(x: Any) -> Buffer:
    """The buffer of an argument."""
    view = np.asarray(x).view()
    view.flags.writeable = False
    return Buffer(view)


def leading(leaves: list[Any], args: tuple[Any, ...]) -> tuple[int, ...]:
    """The mapped axes that arrays have before those of the arguments."""
    for x, given in zip(leaves, flatten(args)[0]):
        extra = np.ndim(x) - np.ndim(given)
        if extra:
            return np.shape(x)[:extra]
    return ()
