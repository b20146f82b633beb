"""How JAX, which the tests compare with, is set up. It has to be imported before JAX is.

Its compiler rounds as the processor's instructions do (in float16 it has fused multiply-adds where there is arithmetic
of that), and the oracle is to say the same everywhere. It compiles for half of the suite's time, mostly what it
compiled in the run before: that is kept, for all environments and checkouts of this user. Keys have JAX's version and
flags in them.
"""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lazynp-tests" / "jax"
BOUND = 1_000_000_000  # bytes; JAX's own bound looks at every entry for each new one

if platform.machine() == "x86_64" and "xla_cpu_max_isa" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa=AVX2".strip()
if os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE)) == str(CACHE):
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.02"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def shrink() -> None:
    """Drop what is kept where that is too much."""
    if CACHE.is_dir():
        with os.scandir(CACHE) as entries:
            kept = sum(entry.stat().st_size for entry in entries)
        if kept > BOUND:
            shutil.rmtree(CACHE, ignore_errors=True)
