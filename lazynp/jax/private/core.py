"""`jax.core` and `jax.extend.core` in one, as JAX's private module is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api.trace import stack
from ...runtime.tape import depth
from ..array import Array
from ..core import *
from ..core import __all__ as _core
from ..extend.core import *
from ..extend.core import __all__ as _extend
from ..names import typeof

__all__ = [*_core, *_extend, "get_aval", "pytype_aval_mappings", "trace_state_clean", "typeof"]
get_aval = typeof
pytype_aval_mappings: dict[Any, Any] = {np.ndarray: typeof, Array: typeof}


def trace_state_clean() -> bool:
    """Whether no function is being traced or differentiated."""
    return not stack.active and not depth.n
