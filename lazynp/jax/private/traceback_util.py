"""Frames of libraries in tracebacks: none are hidden here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_exclude_paths: list[str] = []


def register_exclusion(path: str) -> None:
    """Note a file of a library."""
    _exclude_paths.append(path)


def include_frame(frame: Any) -> bool:
    """Whether a frame is the user's."""
    return frame.f_code.co_filename not in _exclude_paths


def api_boundary(fun: F, **_: Any) -> F:
    """The function itself: its tracebacks are whole."""
    return fun


def filter_traceback(tb: Any) -> Any:
    """The whole traceback."""
    return tb
