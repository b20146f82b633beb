# Written by `python -m compat stubs`.
from typing import Any

def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any: ...
