"""torch.utils.data: batches of our arrays, by its table of collating functions."""

from __future__ import annotations

import importlib
from typing import Any

from ..numpy.array import ndarray
from ..numpy.attributes import array as numpy_array
from .patches import Patches


def adapt(data: Any, patches: Patches) -> None:
    collate = importlib.import_module("torch.utils.data._utils.collate")

    def batch(rows: Any, *, collate_fn_map: Any = None) -> Any:
        return collate.collate([numpy_array(x) for x in rows], collate_fn_map=collate_fn_map)

    patches.entry(collate.default_collate_fn_map, ndarray, batch)
    patches.wrap(collate, "default_convert")
    patches.wrap(data, "default_convert")
