# Written by `python -m compat stubs`.
from typing import Any

def create_compile_options(*args: Any, **options: Any) -> Any: ...
