"""`todense`, `empty` and `eye`, of all formats."""

from __future__ import annotations

import operator
import threading
from typing import Any

from ....once import surroundings
from ... import numpy as jnp
from ...array import Array
from ...bind import OwnPrimitive
from ...interpreters import ad, batching
from .base import JAXSparse
from .bcsr import BCSR
from .coo import COO
from .csr import CSC, CSR
from .elements import BCOO
from .util import Shape

__all__ = ["empty", "eye", "todense", "todense_p"]
FORMATS: dict[str, Any] = {"bcsr": BCSR, "bcoo": BCOO, "coo": COO, "csr": CSR, "csc": CSC}


class Tracing(threading.local):
    """How many functions `sparsify` traces in this thread."""

    depth = 0


tracing = Tracing()
surroundings.append(lambda: tracing.depth > 0)


def todense(arr: Any) -> Array:
    """The dense form of an array, sparse or not."""
    if isinstance(arr, JAXSparse):
        return arr.todense()
    out: Array = todense_p.bind(jnp.asarray(arr)) if tracing.depth else jnp.asarray(arr)
    return out


def same(x: Any) -> Any:
    return x


todense_p = OwnPrimitive("todense")  # where a function that `sparsify` traces has an array made dense; else nothing
todense_p.def_impl(same)
todense_p.def_abstract_eval(same)
ad.deflinear2(todense_p, lambda ct, _: [ct])
batching.defvectorized(todense_p)


def empty(
    shape: Shape, dtype: Any = None, index_dtype: Any = "int32", sparse_format: str = "bcoo", **kwds: Any
) -> JAXSparse:
    """All zeros. `kwds`: of the format. Raises ValueError for a format that does not exist."""
    if sparse_format not in FORMATS:
        raise ValueError(f"sparse_format={sparse_format!r} not recognized; must be one of {list(FORMATS)}")
    out: JAXSparse = FORMATS[sparse_format]._empty(tuple(shape), dtype=dtype, index_dtype=index_dtype, **kwds)
    return out


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> JAXSparse:
    """Ones on a diagonal. `kwds`: of the format. Raises KeyError for a format that has none."""
    rows, columns, offset = map(operator.index, (N, N if M is None else M, k))
    formats = {name: kind for name, kind in FORMATS.items() if hasattr(kind, "_eye")}
    out: JAXSparse = formats[sparse_format]._eye(rows, columns, offset, dtype=dtype, index_dtype=index_dtype, **kwds)
    return out
