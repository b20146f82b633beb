"""Every operation, one block each: abstract value, lowering, derivative, transpose, batching. Imports only `graph`.

`promotion` (shapes and dtypes of results), `shape` (views, writes, the sum that undoes a broadcast), `family` (how a
ufunc becomes an op), `elementwise` and `transcendental` (with `ufuncs`, all of them by NumPy's name), `joining`,
`scans`, `reductions`, `creation`, `indexing`, `sorting`, `contraction`, `linalg`, `fft`, `signals` (what goes along one
line), `special` (with its values in `special_values`), `control` (loops and branches; `flow` makes their nodes of
traced functions, which `closure` closes), `tags`; `rewrites` has the transformations for rules that need them.
`einsum` has no op of its own and is imported by who needs it, since it loads opt_einsum.
"""

from . import (
    contraction,
    control,
    creation,
    elementwise,
    fft,
    indexing,
    joining,
    linalg,
    reductions,
    scans,
    shape,
    signals,
    sorting,
    special,
    transcendental,
    ufuncs,
)

__all__ = [
    "contraction",
    "control",
    "creation",
    "elementwise",
    "fft",
    "indexing",
    "joining",
    "linalg",
    "reductions",
    "scans",
    "shape",
    "signals",
    "sorting",
    "special",
    "transcendental",
    "ufuncs",
]
