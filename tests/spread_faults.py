"""Faults in one of several processes, at random moments: all have to end, with an error that names the rank, in time.

    python tests/spread_faults.py 200
    python tests/spread_faults.py 30 cuda

The second has the processes compute on one GPU, and exchange by NCCL what lies there. A fault is a kill, an exception,
a stall, an operation more than the others run, or an exit. The program is a stencil, with sums and products, so that
the moment may lie in an exchange of rows, in a reduction, or between them.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
TIMEOUT = 6.0  # seconds after which a process that does not come is given up
LATE = 2.0  # seconds, beyond that, in which all have to have ended
# NCCL refuses a GPU that two processes share, unless they say that they are on machines of their own.
SHARED = """
import os
os.environ |= {"LOCAL_RANK": "0", "NCCL_HOSTID": os.environ["RANK"], "NCCL_SOCKET_IFNAME": "lo"}
"""
PROGRAM = """
import os, random, sys, threading, time
import numpy as np

kind, rank, step_of_fault, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
me = int(os.environ["RANK"])

def say():
    with open("when", "w") as file:
        file.write(repr(time.time()))

def kill():
    say()
    os.kill(os.getpid(), 9)

u = np.zeros((400, 400))
u[0] = 100.0
w = np.ones((400, 8))
total = 0.0
for step in range(80):
    u[1:-1] = 0.5 * (u[2:] + u[:-2])
    if step % 5 == 0:
        total += float(u.sum())
    if step % 7 == 0:
        w = w + u @ w * 1e-6
    if step == step_of_fault and me == rank:
        if kind == "kill":
            threading.Timer(seconds, kill).start()
        else:
            say()
        if kind == "stall":
            time.sleep(1000)
        if kind == "exception":
            raise ValueError("a bug on one rank")
        if kind == "exit":
            sys.exit(7)
        if kind == "divergence":
            u[2:] += 1.0
    if kind == "kill" and step > step_of_fault:
        time.sleep(0.01)
print("the end", total, float(w.sum()), float(u.sum()))
"""
EXPECTED = {
    "kill": r"rank {r} (of \d+ was ended by SIGKILL|has ended)",
    "exception": r"(?=[\s\S]*a bug on one rank)[\s\S]*rank {r} (of \d+ ended with exit status 1|has ended)",
    "exit": r"rank {r} (of \d+ ended with exit status 7|has ended)",
    "stall": r"rank {r} has not come to",
    "divergence": r"different programs: .*rank {r}\b",
}


def once(kind: str, size: int, rank: int, step: int, seed: int, folder: Path, device: str) -> tuple[str, float]:
    """What came of one fault ("" where all is well), and seconds from it to the end of all processes."""
    when = folder / "when"
    when.unlink(missing_ok=True)
    seconds = random.Random(seed).random() * 0.05
    args = [str(folder / "program.py"), kind, str(rank), str(step), str(seconds)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LAZYNP_COMPILE": "0", "LAZYNP_SPREAD_SIZE": "1000"}
    env |= {"LAZYNP_PEER_TIMEOUT": str(TIMEOUT), "LAZYNP_SMALL": "500", "LAZYNP_DEVICE": device}
    command = [sys.executable, "-m", "lazynp", "--processes", str(size), *args]
    try:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=150, check=False)
    except subprocess.TimeoutExpired:
        return "hangs", 150.0
    end = time.time()
    if not when.exists():
        return f"the fault did not come: {done.stderr[-300:]}", 0.0
    took = end - float(when.read_text())
    if done.returncode == 0 or "the end" in done.stdout:
        return f"ended as if nothing were: {done.stdout}", took
    if not re.search(EXPECTED[kind].format(r=rank), done.stderr):
        return f"does not name rank {rank}: {done.stderr[-600:]}", took
    return "", took


def main(count: int, device: str = "cpu") -> int:
    chance, bad, worst = random.Random(int(os.environ.get("LAZYNP_SEED", "1"))), 0, Counter[str]()
    late: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "program.py").write_text(SHARED * (device == "cuda") + PROGRAM)
        for _ in range(count):
            kind, size = chance.choice(list(EXPECTED)), chance.randint(2, 4)
            rank, step = chance.randrange(size), chance.randrange(3, 70)
            text, took = once(kind, size, rank, step, chance.randrange(1 << 30), Path(name), device)
            kinds[kind] += 1
            worst[kind] = max(worst[kind], took)  # type: ignore[call-overload]
            late[kind] += took > LATE + (TIMEOUT if kind == "stall" else 0)
            if text:
                bad += 1
                print(f"{kind} on rank {rank} of {size} at step {step}: {text}", flush=True)
    for kind, n in sorted(kinds.items()):
        print(f"{n:4} x {kind:10} the slowest {worst[kind]:5.2f} s, {late[kind]} later than {LATE} s")
    print(f"{count} faults, {bad} not as they should be")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
