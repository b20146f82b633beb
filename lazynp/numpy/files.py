"""`pickle`, for what reads and writes files of arrays: arrays of objects stand in them as NumPy's, so that NumPy reads
what we have written, and we get arrays of ours from what NumPy has written."""

from __future__ import annotations

import pickle
import types
from typing import Any

from .array import ndarray
from .attributes import reconstruct

PLACES = frozenset({"numpy", "numpy.core.multiarray", "numpy._core.multiarray"})
OURS = {"ndarray": ndarray, "_reconstruct": reconstruct}


class Writer(pickle.Pickler):
    """Arrays of ours are NumPy's arrays with the same elements."""

    def reducer_override(self, x: Any) -> Any:
        """See `pickle.Pickler`."""
        return x._host_().__reduce_ex__(2) if type(x) is ndarray else NotImplemented


class Reader(pickle.Unpickler):
    """NumPy's arrays are arrays of ours."""

    def find_class(self, module: str, name: str) -> Any:
        """See `pickle.Unpickler`."""
        return OURS[name] if module in PLACES and name in OURS else super().find_class(module, name)


def dump(x: Any, file: Any, protocol: int | None = None, **kwargs: Any) -> None:
    """See `pickle.dump`."""
    Writer(file, protocol, **kwargs).dump(x)


def load(file: Any, **kwargs: Any) -> Any:
    """See `pickle.load`."""
    return Reader(file, **kwargs).load()


PICKLE = types.SimpleNamespace(**{**vars(pickle), "dump": dump, "load": load})
