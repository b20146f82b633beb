"""lazynp: NumPy's arrays, lazily evaluated, fused and compiled.

    import lazynp as np

The names here are NumPy's: see its documentation. What is lazynp's own: `config`, `explain`, `profile`, `compile_wait`,
`HostFallbackError`.
"""

from __future__ import annotations

from .numpy import rehost

rehost.install(globals())

from .config import config  # noqa: E402
from .numpy.host import HostFallbackError  # noqa: E402
