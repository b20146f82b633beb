"""SciPy's functions of matrices: BLAS's and LAPACK's routines, which f2py made, where they were loaded before us; and
`funm`, whose C code takes what the user's function gave as NumPy's own type only."""

from __future__ import annotations

import sys
from typing import Any

from .extensions import routines
from .patches import Patches

COMPILED = ("_fblas", "_flapack", "_clapack", "_cblas", "_fblas_64", "_flapack_64")


def adapt(linalg: Any, patches: Patches) -> None:
    patches.wrap(linalg, "funm", called=True)
    for name in (*COMPILED, "blas", "lapack"):
        module = sys.modules.get(f"{linalg.__name__}.{name}")
        if module is not None:
            routines(module, patches)
    for name in ("blas", "lapack"):
        found = getattr(sys.modules.get(f"{linalg.__name__}.{name}"), "_get_funcs", None)
        getattr(found, "memo", {}).clear()  # of the routines as they were
