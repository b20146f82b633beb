"""Processes that are told what to do in lines of JSON, and their tables' small print."""

import contextlib
import json
import os
import statistics
import subprocess
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 400.0  # seconds for one answer
# A compiler that goes on after the process has ended would be in the way of what is timed next, and one that is waited
# for before anything is timed need not give way.
DEFAULTS = {"JAX_PLATFORMS": "cpu", "LAZYNP_COMPILE_AT_EXIT": "0", "LAZYNP_COMPILE_NICE": "0"}


class ProcessFailed(Exception):
    """A process ended before it was told to, or took too long for an answer."""


class Process:
    """A child process in a folder, where what it says on its standard error is kept; `name` is for messages."""

    def __init__(self, name: str, command: list[str], folder: Path, limit: float = LIMIT) -> None:
        self.name, self.limit, self.errors = name, limit, folder / "stderr"
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=folder,
                env={**DEFAULTS, **os.environ, "PYTHONPATH": path},
            )

    def ask(self, do: str, **named: Any) -> Any:
        """What it answers. Raises ProcessFailed where it does not."""
        assert self.process.stdin is not None and self.process.stdout is not None
        late = threading.Event()
        watch = threading.Timer(self.limit, lambda: (late.set(), self.process.kill()))
        watch.start()
        try:
            self.process.stdin.write(json.dumps({"do": do, **named}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if line:
            return json.loads(line)
        self.process.wait()
        said = self.errors.read_text().strip().splitlines()
        if late.is_set():
            raise ProcessFailed(f"{self.name}: no answer in {self.limit:g} s")
        raise ProcessFailed(f"{self.name}: {said[-1] if said else f'exit code {self.process.returncode}'}")

    def end(self) -> None:
        """At once: nothing of it is wanted any more."""
        self.process.kill()
        with contextlib.suppress(BrokenPipeError):
            self.process.communicate()


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def mean(ratios: list[float]) -> str:
    return f"{statistics.geometric_mean(ratios):.2f}" if ratios else "-"


def load() -> str:
    return "the machine's load " + " ".join(f"{x:.1f}" for x in os.getloadavg()) + f", {os.cpu_count()} cores"
