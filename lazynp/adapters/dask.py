"""dask: our arrays are chunks (`register_chunk_type`), are named as NumPy's are (`normalize_token`), and have NumPy's
entries in its tables of functions by type."""

from __future__ import annotations

import importlib
from typing import Any

import numpy

from ..numpy.array import ndarray
from ..numpy.attributes import array as numpy_array
from .patches import Patches


def adapt(array: Any, patches: Patches) -> None:
    base, Dispatch = importlib.import_module("dask.base"), importlib.import_module("dask.utils").Dispatch
    chunk_types = importlib.import_module("dask.array.chunk_types")
    known = list(chunk_types._HANDLED_CHUNK_TYPES)
    array.register_chunk_type(ndarray)
    patches.undoing.append(lambda: chunk_types._HANDLED_CHUNK_TYPES.__setitem__(slice(None), known))
    base.normalize_token.register(ndarray, lambda x: base.normalize_token(numpy_array(x)))
    patches.undoing.append(lambda: base.normalize_token._lookup.pop(ndarray, None))
    for table in list(vars(importlib.import_module("dask.array.dispatch")).values()):
        if isinstance(table, Dispatch) and numpy.ndarray in table._lookup:
            patches.entry(table._lookup, ndarray, table.dispatch(numpy.ndarray))
