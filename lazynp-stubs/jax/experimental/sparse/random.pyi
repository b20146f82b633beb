# Written by `python -m compat stubs`.
from collections.abc import Callable, Sequence
from typing import Any
from ...experimental.sparse import BCOO

def random_bcoo(key: Any, shape: Sequence[int], *, dtype: Any = ..., indices_dtype: Any = None, nse: float = 0.2, n_batch: int = 0, n_dense: int = 0, unique_indices: bool = True, sorted_indices: bool = False, generator: Callable[..., Any] = ..., **kwds: Any) -> BCOO: ...
from ...._transformations import vmap as vmap
