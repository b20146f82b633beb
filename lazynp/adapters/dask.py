"""dask: our arrays are chunks (`register_chunk_type`), and have NumPy's name (`normalize_token`)."""

from __future__ import annotations

import importlib
from typing import Any

import numpy

from ..numpy.array import ndarray
from .patches import Patches


def adapt(array: Any, patches: Patches) -> None:
    base = importlib.import_module("dask.base")
    chunk_types = importlib.import_module("dask.array.chunk_types")
    known = list(chunk_types._HANDLED_CHUNK_TYPES)
    array.register_chunk_type(ndarray)
    patches.undoing.append(lambda: chunk_types._HANDLED_CHUNK_TYPES.__setitem__(slice(None), known))
    of_numpy = base.normalize_token.dispatch(numpy.ndarray)
    base.normalize_token.register(ndarray, lambda x: of_numpy(x.__array__()))
    patches.undoing.append(lambda: base.normalize_token._lookup.pop(ndarray, None))
