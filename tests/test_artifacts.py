"""The disk cache: damage, rights, bounds, many processes."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE

from lazynp.backends import folders, gcc
from lazynp.backends.artifacts import NAME, NOWHERE, Artifacts, default_folder, dump, key_of, parse
from lazynp.backends.compiler import CompilerClient
from lazynp.backends.kernel import Geometry, Instr, KernelSpec
from lazynp.config import config

F = "float64"
SPEC = KernelSpec((F,), (), (Instr("square", (0,), (F,), F),), (1,), 1)
GEOMETRY = Geometry((100,), ((1,), (1,)))
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
A, B, C, D, E, G = ("abcdef"[i] * 64 for i in range(6))  # names of entries


@pytest.fixture
def cache(tmp_path):
    return Artifacts(str(tmp_path / "cache"))


def names(cache):
    """Entries, and what lies beside them."""
    return sorted(n for n in os.listdir(cache.folder) if n not in (folders.MARKER, "work"))


def store(cache, key, size=1000):
    path = os.path.join(cache.scratch_path(), "built")
    with open(path, "wb") as file:
        file.write(os.urandom(size))
    return cache.put(key, path, {"reason": ""})


def test_round_trip(cache):
    assert cache.get(A) is None
    store(cache, A)
    entry = cache.get(A)
    assert os.path.getsize(entry.path) == 1000 and entry.meta["key"] == A
    assert stat.S_IMODE(os.stat(cache.folder).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(entry.path).st_mode) == 0o600
    cache.put(B, None, {"reason": "because"})
    assert cache.get(B).path is None and cache.get(B).meta["reason"] == "because"


def test_every_damage_is_a_miss(cache):
    """A bit of each byte of the description, and of some of the object, is turned; both are cut and lost."""
    for key in (A, B):
        store(cache, key)
    obj, meta = (os.path.join(cache.folder, A + e) for e in (".so", ".json"))
    data, text = Path(obj).read_bytes(), Path(meta).read_bytes()

    def flipped(whole, at):
        return whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]

    damages = [(meta, flipped(text, at)) for at in range(len(text))]
    damages += [(obj, flipped(data, at)) for at in range(0, len(data), 37)]
    damages += [(path, whole[:n]) for path, whole in ((obj, data), (meta, text)) for n in range(0, len(whole), 61)]
    odd = (b"[1]", b"null", b"\xff{", b"[" * 10_000, b'{"entry": {}, "sum": ""}', dump({"key": B, "sha256": None}))
    damages += [(meta, bytes_) for bytes_ in odd]
    for path, damaged in damages:
        Path(obj).write_bytes(data)
        Path(meta).write_bytes(text)
        for p in (obj, meta):
            os.chmod(p, 0o600)
        Path(path).write_bytes(damaged)
        entry = cache.get(A)
        assert entry is None, damaged[:100]
        assert names(cache) == [B + ".json", B + ".so"], "a damaged entry is removed"
    for lost in (obj, meta):
        Path(obj).write_bytes(data)
        Path(meta).write_bytes(text)
        os.unlink(lost)
        assert cache.get(A) is None
    store(cache, A)
    assert cache.get(A) is not None and cache.get(B) is not None


def test_more_is_put_into_whole_descriptions_only(cache):
    """And never raises: it runs within a user's expression."""
    store(cache, A)
    cache.amend(A, doubted=True)
    assert cache.get(A).meta["doubted"]
    for damaged in (b"[1]", b"null", b"\xff{", b"[" * 100_000, b'{"sum": ""}', b'{"entry": 1}'):
        path = Path(cache.folder, A + ".json")
        path.write_bytes(damaged)
        cache.amend(A, doubted=False)
        assert path.read_bytes() == damaged
    cache.amend(B, doubted=True)
    assert cache.get(B) is None


def test_description():
    meta = {"key": A, "sha256": None, "seconds": 0.1 + 0.2, "guards": ["a < b"], "alias_safe": True}
    assert parse(dump(meta)) == meta


def test_files_of_others_stay(tmp_path):
    """The folder that is named may hold anything: only entries in the cache's own folder are removed."""
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    theirs = ["poetry.lock", "yarn.lock", "ext.cpython-311.so", "a.json", ".tmp-x", "x.h", "x.h.gch", "prelude-1.h"]
    theirs += [A + ".so", "sub/b.so", B + ".lock", "1-0123456789abcdef"]
    for name in theirs:
        (folder / name).write_text(name)
        os.utime(folder / name, (1000, 1000))
    cache = Artifacts(str(folder), limit=3000)
    inside = ["notes.txt", "poetry.lock", "ext.so", A[:-1] + ".so", A.upper() + ".so", "link"]
    for name in inside[:-1]:
        Path(cache.folder, name).write_text(name)
    os.symlink(folder, os.path.join(cache.folder, "link"))
    os.symlink(folder, os.path.join(cache.folder, "work", "5-0123456789abcdef"))
    for key in (A, B, C, D):
        store(cache, key)
    cache.shrink()
    again = Artifacts(str(folder), limit=0)
    again.shrink()
    assert again.get(A) is None and again.get(D) is None
    for name in theirs:
        assert (folder / name).read_text() == name
    assert names(cache) == sorted(inside)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_folder_that_others_can_write_to(tmp_path, mode, recwarn):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match="other users") as caught:
        cache = Artifacts(str(folder))
    assert len(caught) == 1
    assert cache.get(A) is None and cache.put(A, None, {}) is None
    with cache.lock(A) as mine:
        assert mine
    assert list(folder.iterdir()) == [] and len(recwarn) == 0
    folder.chmod(mode | stat.S_ISVTX)  # as /tmp
    assert Artifacts(str(folder)).usable


def refused(named, match):
    with pytest.warns(RuntimeWarning, match=match) as caught:
        cache = Artifacts(str(named))
    assert len(caught) == 1 and not cache.usable and not cache.writable
    assert cache.get(A) is None and cache.put(A, None, {}) is None
    return cache


def test_a_folder_that_cannot_be_marked_is_used_later(tmp_path, monkeypatch):
    """Without its mark it would be taken for a foreign one from the first entry on."""
    with monkeypatch.context() as patch:
        patch.setattr(folders, "_private_file", lambda *_: (_ for _ in ()).throw(OSError(24, "Too many open files")))
        refused(tmp_path, "cannot be used")
    for _ in range(2):
        cache = Artifacts(str(tmp_path))
        assert cache.usable and cache.put(A, None, {}) is not None


def test_folders_that_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    refused(tmp_path / "file" / "cache", "cannot be used")
    open_, linked, foreign = (tmp_path / n for n in ("open", "linked", "foreign"))
    (open_ / "in").mkdir(parents=True)
    open_.chmod(0o777)
    refused(open_ / "in", "everybody can write")
    linked.mkdir()
    os.symlink(tmp_path, linked / NAME)
    refused(linked, "something else")
    (foreign / NAME).mkdir(parents=True)
    (foreign / NAME / "precious.so").write_text("")
    refused(foreign, "did not make")
    assert (foreign / NAME / "precious.so").exists()
    (foreign / NAME / "precious.so").unlink()
    (foreign / NAME).chmod(0o775)
    refused(foreign, "other users can write")
    (foreign / NAME).chmod(0o700)
    os.symlink(foreign, tmp_path / "link")
    assert Artifacts(str(tmp_path / "link")).usable, "the folder that is named may be a link"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user(tmp_path):
    cache = Artifacts(str(tmp_path / "cache"))
    store(cache, A)
    for name in (A + ".so", A + ".json"):
        path = os.path.join(cache.folder, name)
        os.chown(path, 12345, -1)
        assert cache.get(A) is None
        store(cache, A)
        os.chmod(path, 0o666)
        assert cache.get(A) is None
        store(cache, A)
        os.rename(path, path + ".moved")
        os.symlink(path + ".moved", path)
        assert cache.get(A) is None
        store(cache, A)
        assert cache.get(A) is not None
    os.chown(cache.folder, 12345, -1)
    refused(tmp_path / "cache", "other users can write")
    os.chown(tmp_path / "cache", 12345, -1)
    refused(tmp_path / "cache", "belongs to another user")


def test_notice_never_raises(tmp_path):
    """`-W error` makes an error of every warning: not of ours."""
    (tmp_path / "file").write_text("")
    code = (
        BOOT.format(root=ROOT) + f"from lazynp.backends.artifacts import Artifacts\nArtifacts('{tmp_path}/file/cache')"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "cannot be used" in done.stderr and "Traceback" not in done.stderr


def test_no_home(monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert os.path.isabs(default_folder())  # from the user's entry
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # a user without an entry
    assert default_folder() == ""
    monkeypatch.setattr(config, "cache_dir", "")
    with pytest.warns(RuntimeWarning, match="no home folder"):
        cache = Artifacts()
    assert not cache.usable and cache.get(A) is None and os.path.isdir(cache.scratch_path())
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_folder() == ""
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_folder() == "/somewhere/lazynp"


def test_full_disk(cache, monkeypatch):
    """At each call that needs room: told once, nothing is lost, and nothing half written is found."""
    store(cache, A)

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    told = []
    monkeypatch.setattr("lazynp.backends.artifacts.notify", told.append)
    for target in ("os.replace", "os.chmod", "os.mkdir", "lazynp.backends.artifacts.dump"):
        cache.scratch.close() if target == "os.mkdir" else cache.scratch_path()
        built = os.path.join(os.path.dirname(cache.folder), "built")
        Path(built).write_bytes(b"built")
        with monkeypatch.context() as patch:
            patch.setattr(target, full)
            assert cache.put(B, built, {}) is None
        assert os.path.exists(built) and cache.get(B) is None and cache.get(A) is not None
    assert len(told) == 1 and "No space left" in told[0]


def test_read_only(cache, monkeypatch):
    """What is there is used; nothing is written, and nobody is bothered."""
    store(cache, A)
    monkeypatch.setattr("os.access", lambda path, mode, **options: not mode & os.W_OK)
    again = Artifacts(os.path.dirname(cache.folder))
    assert again.get(A) is not None and not again.writable and again.put(B, None, {}) is None
    assert not again.scratch_path().startswith(cache.folder)


def test_removed_while_in_use(cache):
    store(cache, A)
    shutil.rmtree(os.path.dirname(cache.folder))
    assert cache.get(A) is None
    cache.shrink()
    store(cache, A)
    assert cache.get(A) is not None


def test_nowhere(recwarn):
    cache = Artifacts(NOWHERE)
    assert not cache.usable and cache.get(A) is None and len(recwarn) == 0


def test_oldest_goes_first(tmp_path):
    cache = Artifacts(str(tmp_path / "cache"), limit=50_000)
    for i, key in enumerate((A, B, C, D)):
        store(cache, key, 10_000)
        os.utime(os.path.join(cache.folder, f"{key}.json"), (1000 + i, 1000 + i))
    assert cache.get(A) is not None, "being used makes it the youngest"
    for key in (E, G):
        store(cache, key, 10_000)
    assert cache.get(B) is None and cache.get(C) is None
    assert all(cache.get(key) is not None for key in (A, E, G))
    assert sum(f.stat().st_size for f in os.scandir(cache.folder)) <= 50_000


def test_clock_that_goes_backwards(tmp_path):
    cache = Artifacts(str(tmp_path / "cache"), limit=50_000)
    for key in (A, B, C):
        store(cache, key, 10_000)
        os.utime(os.path.join(cache.folder, f"{key}.json"), (4e9, 4e9))  # from the future
    assert all(cache.get(key) is not None for key in (A, B, C))
    for key in (D, E, G):
        store(cache, key, 10_000)
        assert cache.get(key) is not None
    assert len(names(cache)) <= 10


def test_what_is_being_written_counts(tmp_path):
    cache = Artifacts(str(tmp_path / "cache"), limit=50_000)
    for key in (A, B, C):
        store(cache, key, 10_000)
    Path(cache.scratch_path(), "large").write_bytes(bytes(30_000))
    cache.shrink()
    assert len(names(cache)) == 2
    assert cache.put(D, None, {}) is not None and store(cache, E, 60_000) is None, "larger than the whole cache"


def test_half_an_entry(cache):
    """An object without description goes, but not while it is being written."""
    for key in (A, B):
        store(cache, key)
        os.unlink(os.path.join(cache.folder, key + ".json"))
    with cache.lock(B) as mine:
        assert mine
        cache.shrink()
    assert names(cache) == [B + ".so"]


def test_lock(cache):
    with cache.lock(A) as mine:
        assert mine
        with cache.lock(A) as again, cache.lock(B) as other:
            assert not again and other
    with cache.lock(A) as mine:
        assert mine
    assert names(cache) == [] and not [n for n in os.listdir(os.path.join(cache.folder, "work")) if "lock" in n]


HOLDER = """
from lazynp.backends.artifacts import Artifacts
import os, subprocess, sys, time
from lazynp.backends import folders
cache = Artifacts({folder!r})
scratch = cache.scratch_path()
child = subprocess.Popen(["sleep", "600"], env=folders.environment(scratch), start_new_session=True)
with cache.lock("a" * 64) as mine:
    print(child.pid, flush=True)
    time.sleep(600)
"""


def gone(pid):
    """Whether a process has ended, or is about to."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def ends(pid):
    """Whether a process that was killed has ended: on a busy machine that takes a moment."""
    end = time.monotonic() + PATIENCE
    while not gone(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return gone(pid)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="compilers of dead processes are found through /proc")
def test_leftovers_of_a_dead_process(cache):
    """Its lock, its scratch folder and its compilers are gone at the next start; those of the living stay."""
    named, work = os.path.dirname(cache.folder), os.path.join(cache.folder, "work")
    code = BOOT.format(root=ROOT) + HOLDER.format(folder=named)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    child = int(process.stdout.readline())
    scratch = next(os.path.join(work, n) for n in os.listdir(work) if n.startswith(f"{process.pid}-"))
    Path(scratch, "large").write_bytes(bytes(1000))
    Artifacts(named).shrink()
    with cache.lock(A) as mine:
        assert not mine and os.path.isdir(scratch) and not gone(child)
    process.kill()
    process.wait()
    process.stdout.close()
    again = Artifacts(named)
    assert os.listdir(work) == [] and ends(child)
    with again.lock(A) as mine:
        assert mine


def test_scratch(cache):
    """It goes with its process, and a forked child takes nothing away."""
    work = os.path.join(cache.folder, "work")
    path = cache.scratch_path()
    assert cache.scratch_path() == path and os.listdir(work) == [os.path.basename(path)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        other = cache.scratch_path()
        cache.scratch.close()
        os._exit(0 if other != path and not os.path.exists(other) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and os.path.isdir(path)
    shutil.rmtree(path)
    again = cache.scratch_path()
    assert again != path and os.path.isdir(again)
    cache.scratch.close()
    assert os.listdir(work) == []


def test_scratch_at_the_end_of_the_process(tmp_path):
    """One that is made when finalizers have been called already: `close` removes it, and leaves no lock open."""
    code = f"""
import atexit
def last():
    path = scratch.path()
    scratch.close()
    print(os.path.exists(path))
atexit.register(last)
import os, weakref
from lazynp.backends.folders import Scratch
scratch = Scratch({str(tmp_path)!r})
scratch.path()
scratch.close()
"""
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.stdout, done.stderr) == ("False\n", "") and os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("said", "lasting"),
    [
        ("a.cpp:3:5: error: 'x' was not declared in this scope", True),
        ("/usr/bin/ld: a.o: undefined reference to `f'\ncollect2: error: ld returned 1 exit status", True),
        ("g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.", False),
        ("a.cpp:3:5: error: x\ncc1plus: out of memory allocating 65536 bytes", False),
        ("virtual memory exhausted: Cannot allocate memory", False),
        ("a.cpp:9:1: internal compiler error: Segmentation fault", False),
        ("/usr/bin/ld: final link failed: No space left on device\ncollect2: error: ld returned 1 exit status", False),
        ("a.cpp:1:10: fatal error: cmath: No such file or directory\ncompilation terminated.", False),
        ("g++: error: cannot execute 'cc1plus': execvp: No such file or directory", False),
        ("", False),
    ],
)
def test_what_a_failure_means(said, lasting):
    assert gcc.is_lasting(1, said) is lasting
    assert not gcc.is_lasting(-9, said) and not gcc.is_lasting(4, said)


def test_compiler_that_does_not_end(tmp_path, monkeypatch):
    """It is ended together with what it started."""
    script = tmp_path / "cc"
    script.write_text("#!/bin/sh\nsleep 600 & echo $! > $TMPDIR/child; wait\n")
    script.chmod(0o755)
    monkeypatch.setattr(gcc, "TIMEOUT", 1.0)
    for group in (False, True):
        with pytest.raises(gcc.BuildError, match="not done") as caught:
            gcc.run([str(script)], str(tmp_path), group)
        assert not caught.value.lasting
        assert ends((tmp_path / "child").read_text().strip())


@pytest.mark.skipif(gcc.APART is None, reason="the system lends a new process its descriptors")
def test_compilers_never_hold_locks_of_the_programs_files(tmp_path):
    """A file that is closed and opened again while a compiler is started: HDF5 refuses it where the lock is held."""
    fcntl = pytest.importorskip("fcntl", reason="only systems like Unix have it")
    runs = 0

    def build():
        nonlocal runs
        while not done.is_set():
            gcc.run([shutil.which("true")], str(tmp_path), True)
            runs += 1

    done = threading.Event()
    thread = threading.Thread(target=build)
    thread.start()
    try:
        end = time.monotonic() + PATIENCE
        while runs < 100 and time.monotonic() < end:
            with open(tmp_path / "data", "w") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        done.set()
        thread.join()
    assert runs >= 100 and os.listdir(tmp_path) == ["data"]


def test_key():
    key = key_of(SPEC, GEOMETRY)
    assert key == key_of(SPEC, GEOMETRY) and len(key) == 64
    assert key != key_of(SPEC, Geometry((101,), ((1,), (1,))))
    assert key != key_of(SPEC, Geometry((100,), ((1,), (1,)), True))
    symbolic = [Geometry((n,), ((s,), (1,)), True) for n, s in ((100, 3), (7, 9), (7, -2), (7, 1), (1, 1))]
    keys = [key_of(SPEC, g) for g in symbolic]
    assert keys[0] == keys[1] == keys[2] and len({keys[0], keys[3], keys[4]}) == 3


BOOT = """
import sys, types
p = types.ModuleType("lazynp"); p.__path__ = [{root!r} + "/lazynp"]; sys.modules["lazynp"] = p
"""
WRITER = """
import os
from lazynp.backends.artifacts import Artifacts
cache = Artifacts({folder!r})
print("ready", flush=True)
while True:
    built = os.path.join(cache.scratch_path(), "built")
    with open(built, "wb") as file:
        file.write(os.urandom(1 << 20))
    cache.put("a" * 64, built, {{}})
"""


def test_kill_in_the_middle_of_writing(tmp_path):
    folder = str(tmp_path / "cache")
    for attempt in range(4):
        code = BOOT.format(root=ROOT) + WRITER.format(folder=folder)
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.05 + 0.013 * attempt)
        process.kill()
        process.wait()
        process.stdout.close()
        cache = Artifacts(folder)
        entry = cache.get(A)  # a whole entry, or a miss that leaves nothing behind
        assert entry is None or os.path.getsize(entry.path) == 1 << 20
        assert os.listdir(os.path.join(cache.folder, "work")) == []


CLIENT = """
import json
import numpy as np
from lazynp.backends.compiler import CompilerClient
from lazynp.backends.kernel import Geometry, Instr, KernelSpec
F = "float64"
client = CompilerClient({folder!r})
for n in range(2):
    spec = KernelSpec((F,), (), (Instr("square", (0,), (F,), F), Instr("add", (1, n), (F, F), F)), (2,), 1)
    geometry = Geometry((100,), ((1,), (1,)))
    client.submit(spec, geometry)
assert client.wait({patience})
a, out = np.arange(100.0), np.zeros(100)
assert client.lookup(spec, geometry)([a], (), [out]) and (out == a * a + a * a).all()
print(json.dumps([e.outcome for e in client.events]))
client.shutdown()
"""


def test_processes_at_once(tmp_path):
    """On an empty cache each kernel is compiled once."""
    code = BOOT.format(root=ROOT) + CLIENT.format(patience=PATIENCE, folder=str(tmp_path / "cache"))
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outcomes = [outcome for p in processes for outcome in json.loads(p.communicate(timeout=PATIENCE)[0])]
    assert all(p.returncode == 0 for p in processes)
    assert outcomes.count("compiled") == 2 and outcomes.count("found") == 4


def test_damaged_object_is_compiled_again(tmp_path):
    folder = str(tmp_path / "cache")
    for _ in range(2):
        client = CompilerClient(folder)
        assert client.lookup(SPEC, GEOMETRY) is None
        client.submit(SPEC, GEOMETRY)
        assert client.wait(PATIENCE)
        compiled = client.lookup(SPEC, GEOMETRY)
        a, out = np.arange(100.0), np.zeros(100)
        assert compiled([a], (), [out]) and (out == a * a).all()
        client.shutdown()
        path = os.path.join(folder, NAME, client.key(SPEC, GEOMETRY) + ".so")
        data = Path(path).read_bytes()
        os.unlink(path)  # another file: this process has the old one loaded
        with open(path, "wb") as file:
            file.write(data[: len(data) // 2])
        os.chmod(path, 0o600)
    assert ctypes.CDLL(None) is not None
