"""`jax.profiler`: what ran, as `lazynp.profile` counts it, written to a file where JAX writes a trace."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..runtime.api import profile
from .names import named_scope

__all__ = ["StepTraceAnnotation", "TraceAnnotation", "annotate_function", "start_trace", "stop_trace", "trace"]
FILE = "lazynp-profile.txt"
running: list[tuple[Path, profile]] = []
"""The trace that is under way, and where it goes."""


def start_trace(log_dir: Any, *args: Any, **kwargs: Any) -> None:
    """Begin to count. Raises RuntimeError where a trace is under way."""
    if running:
        raise RuntimeError("Profile has already been started. Only one profile may be run at a time.")
    figures = profile()
    figures.__enter__()
    running.append((Path(log_dir), figures))


def stop_trace() -> None:
    """Write what ran since `start_trace` to `log_dir/lazynp-profile.txt`. Raises RuntimeError without one."""
    if not running:
        raise RuntimeError("No profile started")
    folder, figures = running.pop()
    figures.__exit__(None, None, None)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(f"{figures}\n")


@contextlib.contextmanager
def trace(log_dir: Any, *args: Any, **kwargs: Any) -> Iterator[None]:
    """`start_trace`, then `stop_trace` at the end of the block."""
    start_trace(log_dir)
    try:
        yield
    finally:
        stop_trace()


def TraceAnnotation(name: str, **kwargs: Any) -> contextlib.AbstractContextManager[None]:
    """A name for what runs in a block."""
    return named_scope(name)


def StepTraceAnnotation(name: str, **kwargs: Any) -> contextlib.AbstractContextManager[None]:
    """A name for a step of a program."""
    return named_scope(name)


def annotate_function(func: Callable[..., Any], name: str | None = None, **kwargs: Any) -> Callable[..., Any]:
    """The function, under a name of its own."""

    @functools.wraps(func)
    def named(*args: Any, **keywords: Any) -> Any:
        with named_scope(name or str(getattr(func, "__qualname__", "function"))):
            return func(*args, **keywords)

    return named
