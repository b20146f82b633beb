"""polars: the public functions, and the public methods of frames, series and expressions."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(polars: Any, patches: Patches) -> None:
    patches.functions(polars)
    for cls in (polars.Series, polars.DataFrame, polars.LazyFrame, polars.Expr):
        patches.methods(cls)
    patches.wrap(polars.Series, "__array_ufunc__")
