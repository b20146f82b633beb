"""`jax.extend.source_info_util`: scopes and sources of equations."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..source_info import NameStack, SourceInfo, current_name_stack, set_name_stack

__all__ = [
    "NameStack",
    "SourceInfo",
    "current",
    "current_name_stack",
    "extend_name_stack",
    "new_name_stack",
    "new_source_info",
    "register_exclusion",
    "reset_name_stack",
    "set_name_stack",
    "summarize",
    "user_context",
]
excluded: set[str] = set()


def new_source_info() -> SourceInfo:
    """No source."""
    return SourceInfo()


def current() -> SourceInfo:
    """The source that an equation made now has."""
    return SourceInfo(None, current_name_stack())


def new_name_stack(name: str = "") -> NameStack:
    """One scope, or none."""
    return NameStack((name,) if name else ())


@contextlib.contextmanager
def extend_name_stack(name: str) -> Iterator[NameStack]:
    """One scope more, in a block."""
    new = current_name_stack().extend(name)
    with set_name_stack(new):
        yield new


@contextlib.contextmanager
def reset_name_stack() -> Iterator[None]:
    """No scopes, in a block."""
    with set_name_stack(NameStack()):
        yield


@contextlib.contextmanager
def user_context(c: Any, *, name_stack: NameStack | None = None) -> Iterator[None]:
    """These scopes, in a block; tracebacks are Python's own."""
    with set_name_stack(name_stack or current_name_stack()):
        yield


def register_exclusion(path: str) -> None:
    """Note a folder that is not the user's code."""
    excluded.add(path)


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """The source as text: "unknown", since none is kept."""
    return "unknown"
