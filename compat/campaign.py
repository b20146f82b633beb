"""A fuzzing campaign: the calls of `fuzz` in chunks, each in a process of its own, so that a crash costs one call.

A worker is `python -m compat.campaign SEED FIRST CALLS MODE FOLDER`. It keeps the number of the call that it is at in a
file, from which the campaign knows which call to blame and where to go on.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import fuzz

CHUNK = 10_000
SECONDS = 600  # that a chunk may take
SHOWN = 50
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "LAZYNP_COMPILE": "0"}


@dataclass
class Chunk:
    """Some calls in one mode."""

    mode: str
    seed: int
    first: int
    last: int  # exclusive
    process: subprocess.Popen[bytes] | None = None
    begun: float = 0.0

    def folder(self, scratch: pathlib.Path) -> pathlib.Path:
        return scratch / f"{self.mode}-{self.first}"

    def start(self, scratch: pathlib.Path) -> None:
        folder = self.folder(scratch)
        folder.mkdir()
        numbers = [str(n) for n in (self.seed, self.first, self.last - self.first)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "compat.campaign", *numbers, self.mode, str(folder)],
            env={**os.environ, **ENVIRONMENT},
            cwd=pathlib.Path(__file__).parent.parent,
        )
        self.begun = time.monotonic()

    def ended(self) -> bool:
        """Whether the worker has ended; one that hangs is ended."""
        assert self.process is not None
        if self.process.poll() is not None:
            return True
        if time.monotonic() - self.begun < SECONDS:
            return False
        self.process.kill()
        self.process.wait()
        return True

    def at(self, scratch: pathlib.Path) -> int:
        """The number of the call at which the worker was last."""
        path = self.folder(scratch) / "at"
        return int(path.read_text() or self.first) if path.exists() else self.first


@dataclass
class Totals:
    """What the chunks say."""

    calls: int = 0
    functions: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, path: pathlib.Path) -> None:
        """Add what a worker wrote; nothing where it did not come to that."""
        if path.exists():
            found = json.loads(path.read_text())
            self.calls += found["calls"]
            self.functions.update(found["functions"])


def run(calls: int, seed: int, modes: list[str], jobs: int, first: int = 0) -> int:
    """Make the calls in each mode, so many processes at a time; print counts and what differs. How many differ."""
    totals = {mode: Totals() for mode in modes}
    todo = [Chunk(m, seed, n, min(n + CHUNK, first + calls)) for m in modes for n in range(first, first + calls, CHUNK)]
    running: list[Chunk] = []
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lazynp-fuzz-") as name:
        scratch = pathlib.Path(name)
        while todo or running:
            while todo and len(running) < jobs:
                chunk = todo.pop(0)
                chunk.start(scratch)
                running.append(chunk)
            time.sleep(0.02)
            for chunk in [c for c in running if c.ended()]:
                running.remove(chunk)
                todo[:0] = [*finish(chunk, scratch, totals[chunk.mode])]
    for mode, total in totals.items():
        took = f"{time.monotonic() - begun:.0f} s"
        print(f"{mode}: {total.calls:,} calls of {len(total.functions)} functions, seed {seed}: ", end="")
        print(f"{len(total.wrong)} differ from NumPy ({took})")
    return sum(len(t.wrong) for t in totals.values())


def finish(chunk: Chunk, scratch: pathlib.Path, total: Totals) -> Iterator[Chunk]:
    """Take in what a worker found, show what differs; the rest of a chunk whose worker died."""
    assert chunk.process is not None
    folder = chunk.folder(scratch)
    total.add(folder / "counts.json")
    wrong = folder / "wrong"
    lines = wrong.read_text().splitlines() if wrong.exists() else []
    if chunk.process.returncode:
        at = chunk.at(scratch)
        lines.append(f"--seed {chunk.seed} --first {at} --mode {chunk.mode}: ended by {chunk.process.returncode}")
        total.calls += at + 1 - chunk.first
        if at + 1 < chunk.last:
            yield Chunk(chunk.mode, chunk.seed, at + 1, chunk.last)
    for line in lines[: max(0, SHOWN - len(total.wrong))]:
        print(line, flush=True)
    total.wrong += lines
    print(f"{chunk.mode}: {total.calls:,} calls, {len(total.wrong)} differ", flush=True)


def main(seed: int, first: int, calls: int, mode: str, folder: str) -> None:
    """A worker: make the calls, write what differs as it comes, and the counts at the end."""
    place = pathlib.Path(folder)
    counts: Counter[str] = Counter()
    at = os.open(place / "at", os.O_CREAT | os.O_WRONLY)
    with (place / "wrong").open("w", buffering=1) as wrong:
        for number, call, why in fuzz.made(seed, first, calls, mode, lambda n: os.pwrite(at, str(n).encode(), 0)):
            counts[call.name.split("(")[0]] += 1
            if why:
                wrong.write(fuzz.line(seed, number, mode, call, why) + "\n")
    (place / "counts.json").write_text(json.dumps({"calls": counts.total(), "functions": counts}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])
