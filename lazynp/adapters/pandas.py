"""pandas: the public functions, and the public methods of its classes."""

from __future__ import annotations

import importlib
from typing import Any

from .patches import Patches

# They look for variables in the frame that calls them, and take no arrays.
READ_FRAMES = ("eval", "query")
CLASSES = {
    "pandas.core.indexing": ("_LocIndexer", "_iLocIndexer", "_AtIndexer", "_iAtIndexer"),
    "pandas.core.groupby": ("DataFrameGroupBy", "SeriesGroupBy"),
    "pandas.core.window": ("Rolling", "Expanding", "ExponentialMovingWindow"),
}


def adapt(pandas: Any, patches: Patches) -> None:
    patches.functions(pandas, READ_FRAMES)
    patches.functions(pandas.api.types)
    patches.functions(importlib.import_module("pandas.plotting"))
    for value in list(vars(pandas).values()):
        if isinstance(value, type) and value.__module__.split(".")[0] == "pandas":
            patches.methods(value, READ_FRAMES)
    for name, classes in CLASSES.items():
        module = importlib.import_module(name)
        for cls in classes:
            patches.methods(getattr(module, cls), READ_FRAMES)
