"""The C module of the keyed samplers, `lazynp._keyed`, where it was built; else None. Imports nothing of lazynp.

It is optional: `backends.numpy.threefry` and `backends.numpy.xla` compute the same bits with NumPy. `LAZYNP_SPEED=0`
does without it.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

try:
    native: Any = importlib.import_module("lazynp._keyed") if os.environ.get("LAZYNP_SPEED", "1") != "0" else None
except ImportError:  # not built, or built for another Python
    native = None
