"""NumPy's ufuncs as ops, by name."""

from __future__ import annotations

import numpy as np

from ..graph.op import Op, registry
from . import elementwise, transcendental  # noqa: F401, which fill the registry

UFUNCS = tuple(
    sorted(
        {
            u.__name__
            for u in vars(np).values()
            if isinstance(u, np.ufunc) and u.nout == 1 and u.signature is None and u.__name__ != "isnat"
        }
    )
)
ufuncs: dict[str, Op] = {name: registry[name] for name in UFUNCS if name in registry}
"""The ufuncs of one result, by NumPy's name. `isnat` is for dates only, which the engine does not hold."""
called: dict[str, Op] = {**ufuncs, "clip": elementwise.clip}
"""The same, and the ufunc that `numpy.clip` calls."""
LOOPS = {op.ufunc: op.code.loops() for op in ufuncs.values() if op.code is not None}
"""What the C modules have to know of NumPy's inner loops."""
