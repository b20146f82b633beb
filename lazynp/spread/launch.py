"""`python -m lazynp --processes P script.py`: the same program in P processes on this machine, which share its work.

Nothing here imports torch. The launcher sees which process ends first, and how, and ends the others.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

LOOK = 0.02  # seconds between looks at the processes
SETTLE = 0.3  # seconds in which others may turn out to have ended before
GRACE = 0.7  # seconds from asking a process to end to making it
KEPT = 1 << 14  # characters of what a process has written to stderr


class Launched:
    """One of the processes, and the end of what it writes to stderr; the first one's is shown as it comes."""

    def __init__(self, rank: int, command: Sequence[str], env: dict[str, str]) -> None:
        self.rank, self.text = rank, ""
        first = rank == 0
        self.process: Any = subprocess.Popen(
            command,
            env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdin=None if first else subprocess.DEVNULL,
            stdout=None if first else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        while text := os.read(self.process.stderr.fileno(), KEPT).decode(errors="replace"):
            self.text = (self.text + text)[-KEPT:]
            if self.rank == 0:
                sys.stderr.write(text)
                sys.stderr.flush()

    @property
    def status(self) -> int | None:
        return self.process.poll()

    def is_victim(self) -> bool:
        """Whether it ended since another one did."""
        return "group.LostError: " in self.text


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def environment(size: int) -> dict[str, str]:
    """What all processes get: who they are, and their share of the cores. What is set already stays."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    share = str(max(1, cores // size))
    shares = {name: share for name in ("LAZYNP_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    return {
        **shares,
        "PYTHONHASHSEED": "0",
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "LAZYNP_LAUNCHED": "1",
    }


def launch(size: int, args: Sequence[str]) -> int:
    """Run `python -m lazynp args...` in so many processes; the exit status. When one fails all end, and stderr says
    which one it was, with its traceback."""
    env = environment(size)
    running = [Launched(rank, [sys.executable, "-m", "lazynp", *args], env) for rank in range(size)]
    try:
        while True:
            ended = [p.status for p in running]
            if any(ended):
                return failed(running)
            if None not in ended:
                return 0
            time.sleep(LOOK)
    except KeyboardInterrupt:  # which they have got, too
        return 128 + signal.SIGINT
    finally:
        end(running)


def failed(running: list[Launched]) -> int:
    """Say who failed first, and give the status to exit with."""
    until = time.monotonic() + SETTLE
    while time.monotonic() < until and None in [p.status for p in running]:
        time.sleep(LOOK)
    for p in running:
        if p.status is not None:
            p.reader.join(SETTLE)
    bad = [p for p in running if p.status]
    # Those that only lost another one come last; what a signal has ended, before what has raised an error.
    culprit = min(bad, key=lambda p: (p.is_victim(), (p.status or 0) > 0))
    status = culprit.status or 1
    how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
    text = "" if culprit.rank == 0 else culprit.text
    print(f"lazynp: rank {culprit.rank} of {len(running)} {how}", file=sys.stderr)
    if text.strip():
        print(text.rstrip(), file=sys.stderr)
    return 128 - status if status < 0 else status


def end(running: list[Launched]) -> None:
    """End what still runs."""
    for p in running:
        if p.status is None:
            p.process.terminate()
    until = time.monotonic() + GRACE
    for p in running:
        try:
            p.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            p.process.kill()
            p.process.wait()
    for p in running:
        p.reader.join(SETTLE)
        if not p.reader.is_alive():
            p.process.stderr.close()
