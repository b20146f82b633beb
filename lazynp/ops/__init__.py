"""Every operation, one block each: abstract value, lowering, derivative, transpose, batching. Imports only `graph`.

`family` (how a ufunc becomes an op), `elementwise`, `reductions`, `scans`, `shape` (views, writes, and what is made of
them), `indexing`, `contraction`, `linalg`, `fft`, `sorting`, `creation`.
"""
