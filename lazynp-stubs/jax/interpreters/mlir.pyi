# Written by `python -m compat stubs`.
from collections.abc import Callable
from typing import Any
from ..stages import Lowered
from ..extend.core import Primitive

LoweringRule: Any
def lower_fun(fun: Callable[..., Any], multiple_results: bool = True, **_: Any) -> Lowered: ...
def register_lowering(prim: Primitive, rule: Any, platform: str | None = None, inline: bool = True, cacheable: bool = True) -> Any: ...
