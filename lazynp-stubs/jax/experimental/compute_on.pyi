# Written by `python -m compat stubs`.
from contextlib import AbstractContextManager
from collections.abc import Callable
from typing import Any

def compute_on(compute_type: str) -> AbstractContextManager[None]: ...
def compute_on2(f: Callable[..., Any] | None = None, *, compute_type: str, out_memory_spaces: Any, compiler_options: Any = None) -> Any: ...
