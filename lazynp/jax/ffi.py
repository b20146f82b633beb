"""`jax.ffi`: calls of functions by the names under which they were registered.

In JAX these are compiled functions with XLA's calling convention, in capsules. There is no XLA here, and nothing that
could call such a capsule: a target is a Python function of NumPy arrays, which is called as `jax.pure_callback` calls
one, or `jax.experimental.io_callback` where it has effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..tree import flatten
from .absent import absent
from .callback import check_method, io_callback, pure_callback
from .errors import JaxRuntimeError

__all__ = ["ffi_call", "register_ffi_target"]
__getattr__ = absent(
    __name__,
    {
        "build_ffi_lowering_function ffi_lowering include_dir pycapsule register_ffi_target_as_batch_partitionable "
        "register_ffi_type register_ffi_type_id": "there is no XLA here that would call compiled functions. Register a "
        "Python function of NumPy arrays with register_ffi_target"
    },
)
targets: dict[str, Callable[..., Any]] = {}


def register_ffi_target(name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any) -> None:
    """Give a function a name for `ffi_call`: `fn(*arrays, **attributes)` returns the result, or a tuple of them.

    Raises: NotImplementedError for a capsule of compiled code, and for another platform than the CPU; ValueError for a
    name that is taken.
    """
    if not callable(fn):
        raise NotImplementedError(
            f"register_ffi_target of {type(fn).__name__}: a compiled function with XLA's calling convention cannot be "
            "called, since there is no XLA here. Register a Python function of NumPy arrays."
        )
    if platform != "cpu":
        raise NotImplementedError(f"register_ffi_target for the platform {platform!r}: there is 'cpu'")
    if targets.get(name, fn) is not fn:
        raise ValueError(f"An FFI target of the name {name!r} is registered already")
    targets[name] = fn


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Any] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """The function `(*arrays, **attributes)` that calls a target, with results of these types.

    Args:
        has_side_effect: whether it is called although nobody needs the results.
        vmap_method: as of `jax.pure_callback`.
        input_output_aliases: which arguments' memory the results may take: arrays are copied all the same.
    Raises: ValueError for another `vmap_method`; NotImplementedError for layouts other than C's, and for backend
        configurations, which only XLA reads. When it is run, JaxRuntimeError where no target has that name.
    """
    if input_layouts is not None or output_layouts is not None:
        raise NotImplementedError("ffi_call with layouts: arrays are in C's order")
    if legacy_backend_config is not None:
        raise NotImplementedError("ffi_call with legacy_backend_config, which only XLA reads")

    check_method(vmap_method)
    for i, t in enumerate(flatten(result_shape_dtypes)[0]):
        if not (hasattr(t, "shape") and hasattr(t, "dtype")):
            raise ValueError(
                "All elements of result_shape_dtypes must have 'shape' and 'dtype' attributes. "
                f"Got {t} at position {i}."
            )

    def call(*args: Any, **attributes: Any) -> Any:
        def run(*arrays: Any) -> Any:
            fn = targets.get(target_name)
            if fn is None:
                raise JaxRuntimeError(
                    f"NOT_FOUND: No FFI handler registered for {target_name} on a platform Host: `register_ffi_target` "
                    "takes Python functions."
                )
            return fn(*arrays, **attributes)

        if has_side_effect:
            return io_callback(run, result_shape_dtypes, *args)
        return pure_callback(run, result_shape_dtypes, *args, vmap_method=vmap_method)

    return call
