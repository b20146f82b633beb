"""The disk cache: damage, rights, bounds, many processes."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from lazynp.backends.artifacts import NOWHERE, Artifacts, key_of
from lazynp.backends.compiler import CompilerClient
from lazynp.backends.kernel import Geometry, Instr, KernelSpec

F = "float64"
SPEC = KernelSpec((F,), (), (Instr("square", (0,), (F,), F),), (1,), 1)
GEOMETRY = Geometry((100,), ((1,), (1,)))
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture
def cache(tmp_path):
    return Artifacts(str(tmp_path / "cache"))


def store(cache, key, size=1000):
    path = os.path.join(cache.folder, os.pardir, "built")
    with open(path, "wb") as file:
        file.write(os.urandom(size))
    return cache.put(key, path, {"reason": ""})


def test_round_trip(cache):
    assert cache.get("a") is None
    store(cache, "a")
    entry = cache.get("a")
    assert os.path.getsize(entry.path) == 1000 and entry.meta["key"] == "a"
    assert stat.S_IMODE(os.stat(cache.folder).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(entry.path).st_mode) == 0o600
    cache.put("no", None, {"reason": "because"})
    assert cache.get("no").path is None and cache.get("no").meta["reason"] == "because"


@pytest.mark.parametrize(
    "damage", ["flip", "truncate", "empty", "no object", "bad json", "half json", "other key", "json list"]
)
def test_damaged_entry_is_a_miss(cache, damage):
    store(cache, "a")
    store(cache, "b")
    obj, meta = (os.path.join(cache.folder, "a" + e) for e in (".so", ".json"))
    data, text = Path(obj).read_bytes(), Path(meta).read_text()
    changed = {
        "flip": (obj, data[:500] + bytes([data[500] ^ 1]) + data[501:]),
        "truncate": (obj, data[:500]),
        "empty": (obj, b""),
        "bad json": (meta, b"\xff{"),
        "half json": (meta, text[: len(text) // 2].encode()),
        "json list": (meta, b"[1]"),
        "other key": (meta, json.dumps({**json.loads(text), "key": "b"}).encode()),
    }
    if damage == "no object":
        os.unlink(obj)
    else:
        path, content = changed[damage]
        with open(path, "wb") as file:
            file.write(content)
    assert cache.get("a") is None
    assert not os.path.exists(meta) and not os.path.exists(obj), "a damaged entry is removed"
    assert cache.get("b") is not None
    store(cache, "a")
    assert cache.get("a") is not None


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_folder_that_others_can_write_to(tmp_path, mode):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match="other users") as caught:
        cache = Artifacts(str(folder))
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get("a") is None and cache.put("a", None, {}) is None
        with cache.lock("a") as mine:
            assert mine
    assert list(folder.iterdir()) == []


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="cannot be made"):
        cache = Artifacts(str(tmp_path / "file" / "cache"))
    assert not cache.usable and cache.get("a") is None


def test_full_disk(cache, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "_write", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        assert store(cache, "a") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store(cache, "a") is None


def test_nowhere():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache = Artifacts(NOWHERE)
        assert not cache.usable and cache.get("a") is None


def test_oldest_goes_first(tmp_path):
    cache = Artifacts(str(tmp_path / "cache"), limit=50_000)
    for i in range(4):
        store(cache, f"k{i}", 10_000)
        os.utime(os.path.join(cache.folder, f"k{i}.json"), (1000 + i, 1000 + i))
    assert cache.get("k0") is not None, "being used makes it the youngest"
    for i in range(4, 6):
        store(cache, f"k{i}", 10_000)
    assert cache.get("k1") is None and cache.get("k2") is None
    assert all(cache.get(f"k{i}") is not None for i in (0, 4, 5))
    assert sum(f.stat().st_size for f in os.scandir(cache.folder)) <= 50_000


def test_leftovers_are_removed(cache):
    old = time.time() - 10_000
    for name in (".tmp-x", "x.so", "y.lock"):
        path = os.path.join(cache.folder, name)
        open(path, "w").close()
        os.utime(path, (old, old))
    open(os.path.join(cache.folder, ".tmp-young"), "w").close()
    cache.shrink()
    assert os.listdir(cache.folder) == [".tmp-young"]


def test_lock(cache):
    with cache.lock("a") as mine:
        assert mine
        with cache.lock("a") as again, cache.lock("b") as other:
            assert not again and other
    with cache.lock("a") as mine:
        assert mine
    assert os.listdir(cache.folder) == []


def hold(folder, ready):
    with Artifacts(folder).lock("a") as mine:
        ready.put(mine)
        time.sleep(60)


def test_lock_of_a_dead_process(cache):
    context = multiprocessing.get_context("spawn")
    ready = context.Queue()
    process = context.Process(target=hold, args=(cache.folder, ready), daemon=True)
    process.start()
    assert ready.get(timeout=30)
    with cache.lock("a") as mine:
        assert not mine
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with cache.lock("a") as mine:
        assert mine


def test_key():
    key = key_of(SPEC, GEOMETRY)
    assert key == key_of(SPEC, GEOMETRY) and len(key) == 64
    assert key != key_of(SPEC, Geometry((101,), ((1,), (1,))))
    assert key != key_of(SPEC, Geometry((100,), ((1,), (1,)), True))
    symbolic = [Geometry((n,), ((s,), (1,)), True) for n, s in ((100, 3), (7, 9), (7, -2), (7, 1), (1, 1))]
    keys = [key_of(SPEC, g) for g in symbolic]
    assert keys[0] == keys[1] == keys[2] and len({keys[0], keys[3], keys[4]}) == 3


WRITER = """
import os, sys
sys.path.insert(0, {root!r})
import types
p = types.ModuleType("lazynp"); p.__path__ = [{root!r} + "/lazynp"]; sys.modules["lazynp"] = p
from lazynp.backends.artifacts import Artifacts
cache = Artifacts({folder!r})
built = {folder!r} + "-built-" + str(os.getpid())
print("ready", flush=True)
while True:
    with open(built, "wb") as file:
        file.write(os.urandom(1 << 20))
    cache.put("k", built, {{}})
"""


def test_kill_in_the_middle_of_writing(tmp_path):
    folder = str(tmp_path / "cache")
    for attempt in range(4):
        code = WRITER.format(root=ROOT, folder=folder)
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.05 + 0.013 * attempt)
        process.kill()
        process.wait()
        process.stdout.close()
        cache = Artifacts(folder)
        entry = cache.get("k")  # a whole entry, or a miss that leaves nothing behind
        assert entry is None or os.path.getsize(entry.path) == 1 << 20


CLIENT = """
import sys, types, json
p = types.ModuleType("lazynp"); p.__path__ = [{root!r} + "/lazynp"]; sys.modules["lazynp"] = p
import numpy as np
from lazynp.backends.compiler import CompilerClient
from lazynp.backends.kernel import Geometry, Instr, KernelSpec
F = "float64"
client = CompilerClient({folder!r})
for n in range(2):
    spec = KernelSpec((F,), (), (Instr("square", (0,), (F,), F), Instr("add", (1, n), (F, F), F)), (2,), 1)
    geometry = Geometry((100,), ((1,), (1,)))
    client.submit(spec, geometry)
assert client.wait(240)
a, out = np.arange(100.0), np.zeros(100)
assert client.lookup(spec, geometry)([a], (), [out]) and (out == a * a + a * a).all()
print(json.dumps([e.outcome for e in client.events]))
client.shutdown()
"""


def test_processes_at_once(tmp_path):
    """On an empty cache each kernel is compiled once."""
    code = CLIENT.format(root=ROOT, folder=str(tmp_path / "cache"))
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outcomes = [outcome for p in processes for outcome in json.loads(p.communicate(timeout=240)[0])]
    assert all(p.returncode == 0 for p in processes)
    assert outcomes.count("compiled") == 2 and outcomes.count("found") == 4


def test_damaged_object_is_compiled_again(tmp_path):
    folder = str(tmp_path / "cache")
    for _ in range(2):
        client = CompilerClient(folder)
        assert client.lookup(SPEC, GEOMETRY) is None
        client.submit(SPEC, GEOMETRY)
        assert client.wait(240)
        compiled = client.lookup(SPEC, GEOMETRY)
        a, out = np.arange(100.0), np.zeros(100)
        assert compiled([a], (), [out]) and (out == a * a).all()
        client.shutdown()
        path = os.path.join(folder, client.key(SPEC, GEOMETRY) + ".so")
        data = Path(path).read_bytes()
        os.unlink(path)  # another file: this process has the old one loaded
        with open(path, "wb") as file:
            file.write(data[: len(data) // 2])
    assert ctypes.CDLL(None) is not None
