"""`jax.experimental.compute_on`: on which kind of device a part of a function is computed. There is one here, the host,
so that these say it and change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

from ..placement import device_put

__all__ = ["compute_on", "compute_on2"]


def check_type(compute_type: Any) -> None:
    known = ("device_host", "device", "tpu_sparsecore")
    if not (compute_type in known or str(compute_type).startswith("gpu_stream:")):
        raise ValueError(
            f"Invalid compute type {compute_type}. Current supported values are `device_host`, `device`, "
            "`tpu_sparsecore`, and `gpu_stream:#`."
        )


@contextmanager
def compute_on(compute_type: str) -> Iterator[None]:
    """What stands in the `with` block is computed there.

    Raises: ValueError for another type than "device_host", "device", "tpu_sparsecore" and "gpu_stream:#".
    """
    if not isinstance(compute_type, str):
        raise TypeError(f"`compute_on`'s compute_type argument must be a string. Got {compute_type}")
    check_type(compute_type)
    yield


def compute_on2(
    f: Callable[..., Any] | None = None,
    *,
    compute_type: str,
    out_memory_spaces: Any,
    compiler_options: Any = None,
) -> Any:
    """f, computed there, its results in these memories (`jax.memory.Space`, or a tree of them).

    Args:
        compiler_options: XLA's, not looked at.

    Raises: as `compute_on`.
    """
    if f is None:
        return partial(
            compute_on2,
            compute_type=compute_type,
            out_memory_spaces=out_memory_spaces,
            compiler_options=compiler_options,
        )
    check_type(compute_type)
    function = f

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return device_put(function(*args, **kwargs), out_memory_spaces)

    return call
