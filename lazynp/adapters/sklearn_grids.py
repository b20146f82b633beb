"""scikit-learn: grids of parameters, which have to be lists or NumPy's arrays."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(model_selection: Any, patches: Patches) -> None:
    for cls in (model_selection.ParameterGrid, model_selection.ParameterSampler):
        patches.wrap(cls, "__init__")
