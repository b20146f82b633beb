"""SIGKILL at any moment of compiling and of writing the cache: nothing bad is ever loaded, and nothing is left behind.

The compiler process is the real one, with g++ and the cache; only Inductor is replaced by a line of C++, so that a
kernel takes a fraction of a second. `make kills KILLS=200` is the campaign; here a few of each kind.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import PATIENCE

from lazynp.backends.artifacts import Artifacts, compiler_path, digest, parse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KILLS = int(os.environ.get("LAZYNP_KILLS", "5"))
SEED = int(os.environ.get("LAZYNP_KILLS_SEED", "0"))
TARGETS = ("main", "worker", "compiler", "both", "all")
PROGRAM = """
import sys, types
p = types.ModuleType("lazynp"); p.__path__ = [{root!r} + "/lazynp"]; sys.modules["lazynp"] = p
from lazynp.backends import compiler
from lazynp.backends.kernel import Geometry, Instr, KernelSpec

compiler.BOOT = compiler.BOOT.rpartition("; ")[0] + '''
import lazynp.backends.torch.worker as w
w.build.prelude = lambda capability: "#include <cstdint>\\\\n#include <cmath>\\\\n"
w.build.SHARED_FROM = 0
def translate(self, job):
    n = len(job.spec.body)
    head = 'extern "C" __attribute__((visibility("default"))) int '
    return head + 'lazynp_run() {{{{ return %d; }}}} ' % n + head + 'lazynp_arrays() {{{{ return 0; }}}}', {{{{}}}}
w.Worker._translate = translate
w.main(*sys.argv[2:])
'''.format()
F = "float64"
client = compiler.CompilerClient({folder!r}, 600_000)
print("ready", flush=True)
for n in range({first}, {first} + 1000):
    spec = KernelSpec((F,), (), tuple([Instr("add", (i, i), (F, F), F) for i in range(1 + n % 97)]), (1,), 1)
    geometry = Geometry((n,), ((1,), (1,)))
    client.submit(spec, geometry)
    if n % 3 == 0:
        assert client.wait(3000)
        found = client.lookup(spec, geometry)
        if found is not None and found.call(None, None, b"", 1) != 1 + n % 97:
            print("bad", n, flush=True)
        print("done", n, found is not None, flush=True)
"""


def processes(folder):
    """Those that work for a cache: number, parent, what."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            around = Path(f"/proc/{pid}/environ").read_bytes()
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if state[0] in "ZX" or int(pid) == os.getpid():
            continue
        if b"TMPDIR=" + folder.encode() + b"/" in around:
            found.append((int(pid), "compiler"))
        elif folder.encode() in line:
            found.append((int(pid), "worker"))
    return found


def strike(target, main, folder):
    for pid, kind in processes(folder):
        if kind == target or target == "all" or target == "both" and kind == "worker":
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            if target == "compiler":
                break
    if target in ("main", "both", "all"):
        main.kill()


def check(folder):
    """The next start: it finds whole entries only, and nothing else is there a moment later."""
    cache = Artifacts(folder, 600_000)
    end = time.monotonic() + PATIENCE
    work = os.path.join(cache.folder, "work")
    while (left := [*os.listdir(work), *processes(folder)]) and time.monotonic() < end:
        time.sleep(0.1)
        cache = Artifacts(folder, 600_000)
    assert not left
    for name in os.listdir(cache.folder):
        if name.endswith(".json"):
            entry = cache.get(name.removesuffix(".json"))
            assert entry is not None and entry.path is not None, "nothing half written is found"
            assert digest(entry.path) == entry.meta["sha256"] == parse(Path(cache.folder, name).read_bytes())["sha256"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are found through /proc")
@pytest.mark.skipif(compiler_path() is None, reason="there is no C++ compiler")
def test_kills(tmp_path):
    folder, chance = str(tmp_path / "cache"), random.Random(SEED)
    struck, went_on, loaded = 0, 0, 0
    for k in range(KILLS):
        target = TARGETS[k % len(TARGETS)]
        code = PROGRAM.format(root=ROOT, folder=folder, first=1000 * (k % 5))
        main = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert main.stdout.readline() == "ready\n"
        end = time.monotonic() + 60
        while target != "main" and not processes(folder) and time.monotonic() < end:
            time.sleep(0.005)
        if chance.random() < 0.5:  # in the midst of it, not at the beginning
            loaded += "True" in main.stdout.readline()
        time.sleep(chance.random() * chance.choice((0.05, 0.5, 1.5)))
        strike(target, main, folder)
        struck += 1
        if main.poll() is None and target in ("worker", "compiler"):  # it goes on
            lines = [main.stdout.readline() for _ in range(2)]
            assert all(line.startswith("done") for line in lines), lines
            loaded += sum("True" in line for line in lines)
            went_on += 1
        main.kill()
        said, _ = main.communicate(timeout=PATIENCE)
        assert "bad" not in said
        loaded += said.count("True")
        check(folder)
    assert struck == KILLS and went_on
    print(f"\n{struck} kills, {went_on} of them survived by the program, {loaded} loads: none bad, nothing left")
