# Written by `python -m compat stubs`.
from typing import Any
from ..extend.core import Primitive

def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any: ...
canonicalize_dtype_handlers: Any
