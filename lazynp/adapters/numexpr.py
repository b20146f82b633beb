"""numexpr: `out=` of ours. Operands, which it looks for in the frame that calls it, it takes as they are."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .patches import Patches, numpy_of


def adapt(numexpr: Any, patches: Patches) -> None:
    patches.put(numexpr, "evaluate", frame_deeper(numexpr.evaluate))


def frame_deeper(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """The function with one frame more, ours, between it and its caller, whose variables it reads."""
    depth = inspect.signature(evaluate).parameters["_frame_depth"].default

    @functools.wraps(evaluate)
    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs["_frame_depth"] = kwargs.get("_frame_depth", depth) + 1
        return evaluate(*numpy_of(args), **numpy_of(kwargs))

    return call
