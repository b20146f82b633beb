"""Starting a program in several processes, as torchrun does, without it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from patience import PATIENCE

ROOT = Path(__file__).parents[1]
START = """import numpy, lazynp as np
np.distribute()
from lazynp.spread import group
rank, size = group.rank(), group.size()
"""


class Done(NamedTuple):
    status: int
    out: str
    errors: str


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def run(size: int, program: str, folder: Path, timeout: float = PATIENCE, **env: str) -> list[Done]:
    """Run a program in so many processes, which print what they like to `sys.__stdout__`. START stands before it."""
    path = folder / "program.py"
    path.write_text(START + textwrap.dedent(program))
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    common = {
        **os.environ,
        "PYTHONPATH": paths,
        "PYTHONHASHSEED": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(size),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "LAZYNP_THREADS": "1",
        "LAZYNP_COMPILE": "0",
        **env,
    }
    started = [
        subprocess.Popen(
            [sys.executable, str(path)],
            cwd=folder,
            env={**common, "RANK": str(q)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for q in range(size)
    ]
    out = []
    try:
        for process in started:
            text, errors = process.communicate(timeout=timeout)
            out.append(Done(process.returncode, text, errors))
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.communicate()
    return out


def right(size: int, program: str, folder: Path, timeout: float = PATIENCE, **env: str) -> str:
    """The same, where no process may fail; what the first one printed."""
    done = run(size, program, folder, timeout, **env)
    assert all(d.status == 0 for d in done), "\n".join([d.errors[-3000:] for d in done])
    return done[0].out
