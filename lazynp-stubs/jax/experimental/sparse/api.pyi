# Written by `python -m compat stubs`.
from typing import Any
from ..._types import Shape

from ...array import Array as Array
from ...experimental.sparse import BCOO as BCOO
from ...experimental.sparse.bcsr import BCSR as BCSR
from ...experimental.sparse.coo import COO as COO
from ...experimental.sparse.csr import CSC as CSC
from ...experimental.sparse.csr import CSR as CSR
from ...experimental.sparse import JAXSparse as JAXSparse
annotations: Any
def empty(shape: Shape, dtype: Any = None, index_dtype: Any = 'int32', sparse_format: str = 'bcoo', **kwds: Any) -> JAXSparse: ...
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = 'int32', sparse_format: str = 'bcoo', **kwds: Any) -> JAXSparse: ...
def todense(arr: Any) -> Array: ...
todense_p: Any
