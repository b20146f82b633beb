"""LightGBM: data sets and models."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(lightgbm: Any, patches: Patches) -> None:
    for cls in (lightgbm.Dataset, lightgbm.Booster):
        patches.methods(cls)
