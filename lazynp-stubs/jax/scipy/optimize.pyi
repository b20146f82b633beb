# Written by `python -m compat stubs`.
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

class OptimizeResults(NamedTuple):
    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any
def minimize(fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = ..., *, method: str, tol: float | None = None, options: Mapping[str, Any] | None = None) -> OptimizeResults: ...
