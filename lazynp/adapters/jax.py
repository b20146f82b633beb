"""JAX: its `__jax_array__`, its tables of what it does with which type, and indexing by our arrays."""

from __future__ import annotations

import importlib
from typing import Any

from ..numpy.array import ndarray
from ..numpy.attributes import array as numpy_array
from .patches import Patches


def adapt(jax: Any, patches: Patches) -> None:
    jnp = importlib.import_module("jax.numpy")
    core, dtypes, array = [importlib.import_module(f"jax._src.{name}") for name in ("core", "dtypes", "array")]
    pxla, mlir = [importlib.import_module(f"jax._src.interpreters.{name}") for name in ("pxla", "mlir")]
    patches.put(ndarray, "__jax_array__", lambda self: jnp.asarray(numpy_array(self)))
    patches.entry(core.pytype_aval_mappings, ndarray, lambda x: core.shaped_abstractify(numpy_array(x)))

    def shard(xs: Any, *how: Any) -> Any:
        arrays = [numpy_array(x) for x in xs]
        return pxla.shard_arg_handlers[type(arrays[0])](arrays, *how)

    patches.entry(pxla.shard_arg_handlers, ndarray, shard)

    def constant(value: Any, *how: Any) -> Any:
        array = numpy_array(value)
        return mlir.get_constant_handler(type(array))(array, *how)

    patches.entry(mlir._constant_handlers, ndarray, constant)
    dtypes.register_canonicalize_value_handler(ndarray, lambda x: dtypes.canonicalize_value(numpy_array(x)))

    def refuse(x: Any) -> Any:
        raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type.")

    patches.undoing.append(lambda: dtypes.register_canonicalize_value_handler(ndarray, refuse))
    scatter = importlib.import_module("jax._src.numpy.array_methods")
    for cls in (array.ArrayImpl, core.Tracer, scatter._IndexUpdateHelper):
        patches.wrap(cls, "__getitem__")
