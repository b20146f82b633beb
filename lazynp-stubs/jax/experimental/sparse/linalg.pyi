# Written by `python -m compat stubs`.
from typing import Any

annotations: Any
def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-06, reorder: int = 1) -> Any: ...
