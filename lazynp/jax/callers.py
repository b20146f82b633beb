"""Whether it was the user who wrote an operation, or a function of this package.

`jax_numpy_dtype_promotion` and `jax_numpy_rank_promotion` concern what users write. Only where one of them would warn
or refuse are the calling frames looked at, so that nothing is paid for it otherwise.
"""

from __future__ import annotations

import sys
from types import FrameType

PACKAGE = __name__.partition(".")[0] + "."
MACHINERY = frozenset(
    f"{PACKAGE}jax.{name}"
    for name in (
        "callers",
        "dtypes",
        "array",
        "arguments",
        "creation_places",
        "hot_calls",
        "numpy.call",
        "numpy.elementwise",
        "numpy.linalg.products",
        "numpy.methods",
        "numpy.operators",
        "numpy.ufunc",
    )
)
"""What stands between a function that someone writes, and the promotion of its operands."""


def written_by_user(depth: int = 0) -> bool:
    """Whether at most `depth` modules of this package stand between the user's call and the promotion: 0 for a
    function that promotes its own operands through `numpy.call`, 1 for one that asks for the common dtype of its
    arguments."""
    frame: FrameType | None = sys._getframe(1)
    last, found = "", 0
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(PACKAGE):
            break
        if name not in MACHINERY and name != last:
            last, found = name, found + 1
            if found > depth:
                return False
        frame = frame.f_back
    return True
