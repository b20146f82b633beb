"""bottleneck: its functions, some of which work in place."""

from __future__ import annotations

from typing import Any

from .patches import Patches


def adapt(bottleneck: Any, patches: Patches) -> None:
    patches.functions(bottleneck)
