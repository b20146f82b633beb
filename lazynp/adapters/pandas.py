"""pandas: the public functions, and the public methods of its classes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..speed import UfuncBase
from .patches import Arguments, Changes, Patches, adapted, arrays_of, numpy_of

# They look for variables in the frame that calls them, and take no arrays.
READ_FRAMES = ("eval", "query")
CLASSES = {
    "pandas.core.indexing": ("_LocIndexer", "_iLocIndexer", "_AtIndexer", "_iAtIndexer"),
    "pandas.core.groupby": ("DataFrameGroupBy", "SeriesGroupBy"),
    "pandas.core.window": ("Rolling", "Expanding", "ExponentialMovingWindow"),
}


def adapt(pandas: Any, patches: Patches) -> None:
    common = importlib.import_module("pandas.core.common")
    patches.put(common, "apply_if_callable", converted(common.apply_if_callable))
    patches.functions(pandas, READ_FRAMES)
    patches.functions(pandas.api.types)
    patches.functions(importlib.import_module("pandas.plotting"))
    patches.functions(importlib.import_module("pandas._libs.window.aggregations"))  # given what an indexer returns
    patches.wrap(importlib.import_module("pandas.io.formats.printing"), "pprint_thing")  # of what a cell holds
    for value in list(vars(pandas).values()):
        if isinstance(value, type) and value.__module__.split(".")[0] == "pandas":
            patches.methods(value, READ_FRAMES)
    arrays = all_below(pandas.api.extensions.ExtensionArray)
    for array in arrays:
        patches.methods(array, READ_FRAMES)
    protocol = "__array_ufunc__"
    kinds: tuple[Any, ...] = (pandas.Series, pandas.Index, *arrays)
    for owner in dict.fromkeys(k for kind in kinds for k in kind.__mro__ if protocol in vars(k)):
        function: Any = adapted(vars(owner)[protocol], of_numpy)
        function.lazynp_adapted = True
        patches.put(owner, protocol, function)
    patches.put(pandas.Index, "_data", NumpysOwn("_data"))  # which subclasses in programs write
    for name, classes in CLASSES.items():
        module = importlib.import_module(name)
        for cls in classes:
            patches.methods(getattr(module, cls), READ_FRAMES)


class NumpysOwn:
    """An attribute that holds what it is given, but NumPy's arrays for ours. Reading it does not come here."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = numpy_of(value)


def all_below(cls: Any) -> list[Any]:
    """A class of pandas', and the classes in pandas that derive from it."""
    below = [k for kind in cls.__subclasses__() if kind.__module__.split(".")[0] == "pandas" for k in all_below(kind)]
    return [cls, *dict.fromkeys(below)]


def of_numpy(args: tuple[Any, ...], kwargs: dict[str, Any], changes: Changes) -> Arguments:
    """Arguments of `__array_ufunc__`: pandas leaves a call to arrays that it does not know, and keeps what the ufunc
    gives."""
    args, kwargs = arrays_of(args, kwargs, changes)
    return tuple([x.host if isinstance(x, UfuncBase) else x for x in args]), kwargs


def converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of pandas that calls the user's, for an index or a value."""
    return lambda *args, **kwargs: numpy_of(function(*args, **kwargs))
