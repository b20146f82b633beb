"""Every operation, one block each: abstract value, lowering, derivative, transpose, batching. Imports only `graph`.

`promotion` (shapes and dtypes of results), `shape` (views, writes, the sum that undoes a broadcast), `family` (how a
ufunc becomes an op), `elementwise`, `joining`, `scans`, `reductions`, `creation`, `indexing`, `sorting`, `contraction`,
`linalg`, `fft`; `einsum` has no op of its own and is imported by who needs it, since it loads opt_einsum.
"""

from . import contraction, creation, elementwise, fft, indexing, joining, linalg, reductions, scans, shape, sorting

__all__ = [
    "contraction",
    "creation",
    "elementwise",
    "fft",
    "indexing",
    "joining",
    "linalg",
    "reductions",
    "scans",
    "shape",
    "sorting",
]
