"""The disk cache of compiled kernels. Any number of processes share it; whatever happens to it, results stay right.

An entry is two files: `<key>.so` and `<key>.json`. The description is written last, so an entry without one does not
exist; it holds the SHA-256 of the shared object, which is verified before the object is loaded. A description without
an object is a negative entry: the kernel is known not to be compilable. Every file is written under another name and
renamed. A damaged entry is a miss, and is removed.

The folder belongs to the user alone (mode 0700). One that others can write to is refused, since a shared object from it
would run with the user's rights: one warning, and everything goes on without a cache. The same for a folder that cannot
be made or a disk that is full. Entries that were not used for longest are removed when the cache is larger than its
bound.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.config import config

try:
    import fcntl
except ImportError:  # no file locks: processes may compile the same kernel twice
    fcntl = None  # type: ignore[assignment]

CODEGEN = "17"  # raise it when the generated code changes its meaning
NOWHERE = "-"  # the folder of a cache that keeps nothing
LEFTOVER = 3600.0  # seconds after which temporary and lock files of dead processes are removed


class Entry(NamedTuple):
    path: str | None  # of the shared object; None: not compilable
    meta: dict[str, Any]


def default_folder() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "lazynp")


def compiler_path() -> str | None:
    """The C++ compiler: $CXX, g++ or c++."""
    for name in (os.environ.get("CXX"), "g++", "c++"):
        found = shutil.which(name) if name else None
        if found is not None:
            return os.path.realpath(found)
    return None


@functools.lru_cache(maxsize=8)
def _compiler_identity(path: str | None) -> str:
    if path is None:
        return "none"
    status = os.stat(path)
    return f"{path}:{status.st_size}:{status.st_mtime_ns}"


def march() -> str:
    """g++'s option for the processor that code is made for: this one, or what LAZYNP_MARCH names."""
    return "-march=" + (os.environ.get("LAZYNP_MARCH") or "native")


@functools.cache
def fused_products() -> bool:
    """Whether NumPy's product of complex numbers has fused multiply-adds here: compiled code does the same."""
    x = np.full(64, 1 + 2.0**-27 + 1j)
    return bool((x * x).real[0] != 2.0**-26)


@functools.cache
def _cpu() -> str:
    """What -march=native depends on."""
    wanted = ("vendor_id", "cpu family", "model\t", "model name", "flags", "Features", "CPU part")
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        lines = []
        for line in file:
            if not line.strip():
                break
            if line.startswith(wanted):
                lines.append(line)
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    return platform.processor()


@functools.cache
def torch_version() -> str:
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return "none"


def key_of(spec: KernelSpec, geometry: Geometry) -> str:
    """The name of the entry: a digest of all that the shared object depends on. Microseconds, but for the first."""
    if geometry.symbolic:  # the example does not matter, only which sizes are 1 and the classes of the strides
        shape = tuple(1 if n == 1 else 2 for n in geometry.shape)
        strides = tuple(
            [
                tuple([0 if n == 1 else s if s in (0, 1) else 2 for n, s in zip(geometry.shape, operand)])
                for operand in geometry.strides
            ]
        )
        geometry = Geometry(shape, strides, True)
    compiler = _compiler_identity(compiler_path_cached())
    text = repr(
        (
            tuple(spec),
            tuple(geometry),
            CODEGEN,
            torch_version(),
            _cpu(),
            march(),
            fused_products(),
            compiler,
            platform.machine(),
            platform.libc_ver(),
        )
    )
    return hashlib.sha256(text.encode()).hexdigest()


@functools.lru_cache(maxsize=8)
def _compiler_on(path: str | None, cxx: str | None) -> str | None:
    return compiler_path()


def compiler_path_cached() -> str | None:
    return _compiler_on(os.environ.get("PATH"), os.environ.get("CXX"))


class Artifacts:
    """The cache in one folder. All methods are safe to call from any thread and process, and none raises for I/O."""

    def __init__(self, folder: str | None = None, limit: int | None = None) -> None:
        self._warned = folder == NOWHERE
        self.folder = os.path.abspath(folder or config.cache_dir or default_folder())
        self.limit = config.cache_bytes if limit is None else limit
        self.usable = folder != NOWHERE and self._open()
        self._stored = 0  # bytes written since the size was last checked

    def _open(self) -> bool:
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            status = os.stat(self.folder)
        except OSError as error:
            return self._refuse(f"cannot be made ({error.strerror})")
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            return self._refuse("belongs to another user")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return self._refuse("can be written to by other users (chmod 700 makes it usable)")
        if not os.access(self.folder, os.R_OK | os.W_OK | os.X_OK):
            return self._refuse("cannot be written to")
        return True

    def _refuse(self, reason: str) -> bool:
        self._warned = True
        warnings.warn(
            f"the folder of compiled kernels {self.folder} {reason}: going on without it", RuntimeWarning, stacklevel=4
        )
        return False

    def _failed(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"cannot keep compiled kernels in {self.folder} ({error.strerror}): going on without",
                RuntimeWarning,
                stacklevel=3,
            )

    def _path(self, key: str, ending: str) -> str:
        return os.path.join(self.folder, key + ending)

    def get(self, key: str) -> Entry | None:
        """A verified entry, or None. About 0.1 ms for a hit."""
        if not self.usable:
            return None
        path = self._path(key, ".json")
        try:
            with open(path, "rb") as file:
                meta = json.load(file)
            if meta["key"] != key:
                raise ValueError(key)
            if meta["sha256"] is None:
                return Entry(None, meta)
            target = self._path(key, ".so")
            if digest(target) != meta["sha256"]:
                raise ValueError(key)
            now = time.time()
            os.utime(path, (now, now))
            return Entry(target, meta)
        except FileNotFoundError:
            if os.path.exists(path):
                self.remove(key)
        except (ValueError, KeyError, TypeError):
            self.remove(key)
        except OSError as error:
            self._failed(error)
        return None

    def remove(self, key: str) -> None:
        for ending in (".json", ".so", ".h.gch", ".h"):
            self._unlink(key + ending)

    def put(self, key: str, built: str | None, meta: dict[str, Any]) -> Entry | None:
        """Take over the shared object `built` (None: a negative entry). None where the entry could not be written."""
        if not self.usable:
            return None
        meta = {**meta, "key": key, "sha256": digest(built) if built is not None else None}
        target = self._path(key, ".so")
        try:
            if built is not None:
                with open(built, "rb") as file:
                    self._write(target, file.read())
            self._write(self._path(key, ".json"), json.dumps(meta).encode())
        except OSError as error:
            self._failed(error)
            return None
        self._stored += os.path.getsize(built) if built is not None else 0
        if self._stored > self.limit // 64:
            self._stored = 0
            self.shrink()
        return Entry(target if built is not None else None, meta)

    def _write(self, path: str, data: bytes) -> None:
        handle, name = tempfile.mkstemp(prefix=".tmp-", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def shrink(self) -> None:
        """Remove what was not used for longest until the cache is within its bound, and what dead processes left."""
        sizes: dict[str, int] = {}  # of an entry, both files; precompiled headers count as entries
        used: dict[str, float] = {}
        now = time.time()
        try:
            with os.scandir(self.folder) as found:
                files = [(item.name, item.stat(follow_symlinks=False)) for item in found]
        except OSError:
            return
        names = {name for name, _ in files}
        for name, status in files:
            stem = name.partition(".")[0]
            orphan = name.endswith(".so") and stem + ".json" not in names
            if name.startswith(".tmp-") or name.endswith(".lock") or orphan:
                if now - status.st_mtime > LEFTOVER:
                    self._unlink(name)
            elif name.endswith((".so", ".json", ".h", ".gch")):
                sizes[stem] = sizes.get(stem, 0) + status.st_size
                used[stem] = max(used.get(stem, 0.0), 0.0 if name.endswith(".so") else status.st_mtime)
        total = sum(sizes.values())
        for stem in sorted(sizes, key=used.__getitem__):
            if total <= self.limit:
                break
            total -= sizes[stem]
            self.remove(stem)

    def _unlink(self, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.folder, name))

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[bool]:
        """Whether this process is the one to compile `key`. Does not wait.

        The kernel lets a lock go when its holder dies, so none is ever stale. Without file locks everybody compiles.
        """
        if fcntl is None or not self.usable:
            yield True
            return
        path = self._path(key, ".lock")
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            yield True
            return
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held = os.path.exists(path) and os.stat(path).st_ino == os.fstat(handle).st_ino
            except BlockingIOError:
                held = False
            except OSError:
                held = True
            try:
                yield held
            finally:
                if held:
                    with contextlib.suppress(OSError):
                        os.unlink(path)
        finally:
            os.close(handle)


def digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
