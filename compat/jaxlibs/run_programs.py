"""One library's programs, in this process: `python run_programs.py ours|jax LIBRARY FILE`. What they return goes into
FILE, a pickle of (name, arrays or None, error, seconds)."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np


def main(door: str, library: str, target: str) -> None:
    if door == "ours":
        import lazynp.jax

        lazynp.jax.install()
    warnings.simplefilter("ignore")
    path = Path(__file__).parent / "programs" / f"{library}.py"
    # Under another name than the library's, which the program imports.
    spec = importlib.util.spec_from_file_location(f"programs_{library}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    found = []
    try:
        spec.loader.exec_module(module)
        programs = module.PROGRAMS
    except Exception:
        programs = ()
        found.append(("import", None, traceback.format_exc(), 0.0))
    import jax

    for program in programs:
        start = time.perf_counter()
        try:
            out = [np.asarray(x) for x in jax.tree.leaves(program())]
            found.append((program.__name__, out, "", time.perf_counter() - start))
        except Exception:
            found.append((program.__name__, None, traceback.format_exc(), time.perf_counter() - start))
    Path(target).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
