"""The disk cache of compiled kernels. Any number of processes share it; whatever happens to it, results stay right.

It lies in a folder of its own (`lazynp-1`) in the folder that the user names, and only files there whose names are
those of entries are ever removed. An entry is two files: `<key>.so` and `<key>.json`. The description is written
last, so an entry without one does not exist; it holds the SHA-256 of the shared object and of itself, which are
verified before the object is loaded. A description without an object is a negative entry: the kernel is known not to
be compilable. Every file is written in a scratch folder and renamed. A damaged entry is a miss, and is removed.

The folder belongs to the user alone (mode 0700), and so do the files that are loaded from it, since a shared object
runs with the user's rights. A folder that is not safe, or that cannot be made, is refused: the user is told once, and
everything goes on without a cache. The same for a disk that is full. Entries that were not used for longest are
removed when the cache, with what is being written, is larger than its bound.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import json
import os
import platform
import re
import shutil
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from lazynp.backends import folders
from lazynp.backends.folders import Refused, Scratch
from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.config import config
from lazynp.notices import notify

CODEGEN = "43"  # raise it when the generated code changes its meaning
NOWHERE = "-"  # the folder of a cache that keeps nothing
NAME = "lazynp-1"  # of the cache's own folder; raise the number when the layout changes
WORK = (
    "work"  # the folder in it for what is not an entry: scratch folders, and locks of kernels that are being compiled
)
ENTRY = re.compile(r"([0-9a-f]{64})\.(so|json)")


class Entry(NamedTuple):
    path: str | None  # of the shared object; None: not compilable
    meta: dict[str, Any]


def default_folder() -> str:
    """The user's cache folder; empty where the user has none."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # to be ignored, says the specification
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "lazynp") if os.path.isabs(base) else ""


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
    try:
        status = os.stat(path)
    except OSError:  # removed since it was found
        return "none"
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
    """torch's version, "none" without torch. It stands in a file of torch's: `importlib.metadata`, which knows it too,
    takes as long to load as a short program may run."""
    with contextlib.suppress(ImportError, ValueError):  # ValueError: what is loaded as torch does not say from where
        spec = importlib.util.find_spec("torch")
        for folder in (spec and spec.submodule_search_locations) or ():
            with contextlib.suppress(OSError), open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
                found = re.search(r"^__version__ = ['\"](.+)['\"]$", file.read(), re.MULTILINE)
                if found is not None:
                    return found[1]
    try:
        return importlib.import_module("importlib.metadata").version("torch")  # which takes long to load
    except ImportError:  # PackageNotFoundError is one
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
    """The cache in one folder. All methods are safe to call from any thread and process, and none raises for I/O.

    Attributes:
        named: the folder that the user named.
        folder: the cache's own, in it.
        usable: whether entries are read; writable: whether they are written.
        scratch: a folder for temporary files, in the cache's own if that can be written to.
    """

    def __init__(self, folder: str | None = None, limit: int | None = None) -> None:
        named = folder or config.cache_dir or default_folder()
        self._told = folder == NOWHERE
        self.limit = config.cache_bytes if limit is None else limit
        self.usable = self.writable = False
        self._stored = 0  # bytes written since the size was last checked
        self.named = NOWHERE if folder == NOWHERE or not named else os.path.abspath(named)
        self.folder = os.path.join(self.named, NAME)
        if self.named != NOWHERE:
            self._open()
        elif not self._told:
            self._tell("this user has no home folder: compiled kernels are kept for this process only")
        self.scratch = self._scratch()

    def _open(self) -> None:
        try:
            folders.private(self.named, NAME)
        except Refused as error:
            return self._tell(f"the folder of compiled kernels {self.named} {error}: going on without it")
        self.usable = True
        with contextlib.suppress(OSError):
            os.makedirs(self._work, mode=0o700, exist_ok=True)
            self.writable = os.access(self.folder, os.W_OK) and os.access(self._work, os.W_OK)
            if self.writable:
                folders.sweep(self._work)

    @property
    def _work(self) -> str:
        return os.path.join(self.folder, WORK)

    def _scratch(self) -> Scratch:
        """Where the cache takes nothing, temporary files lie where the system keeps such."""
        return Scratch(self._work) if self.writable else Scratch(folders.temporary, passing=True)

    def scratch_path(self) -> str:
        """The folder for temporary files of this process. Raises OSError."""
        try:
            return self.scratch.path()
        except FileNotFoundError:  # somebody has removed the cache
            self.usable = self.writable = False
            self._open()
            self.scratch = self._scratch()
            return self.scratch.path()

    def _tell(self, message: str) -> None:
        if not self._told:
            self._told = True
            notify(message)

    def _path(self, key: str, ending: str) -> str:
        return os.path.join(self.folder, key + ending)

    def get(self, key: str) -> Entry | None:
        """A verified entry, or None. About 0.1 ms for a hit."""
        if not self.usable:
            return None
        path, target = self._path(key, ".json"), self._path(key, ".so")
        try:
            with folders.opened(path) as file:
                meta = parse(file.read())
            if meta["key"] != key:
                raise ValueError(key)
            if meta["sha256"] is not None and digest(target) != meta["sha256"]:
                raise ValueError(key)
        except FileNotFoundError:
            if os.path.lexists(path):
                self.remove(key)
            return None
        except (OSError, MemoryError):
            return None
        except Exception:  # whatever a damaged description leads to
            self.remove(key)
            return None
        with contextlib.suppress(OSError):  # it was used now; of a cache that can only be read nobody keeps account
            os.utime(path)
        return Entry(target if meta["sha256"] is not None else None, meta)

    def remove(self, key: str) -> None:
        for ending in (".json", ".so"):
            with contextlib.suppress(OSError):
                os.unlink(self._path(key, ending))

    def put(self, key: str, built: str | None, meta: dict[str, Any]) -> Entry | None:
        """Take over the file `built` (None: a negative entry). None where the entry could not be written: then the file
        is where it was."""
        if not self.writable:
            return None
        target, moved = self._path(key, ".so"), False
        try:
            if built is not None:
                os.chmod(built, 0o600)
            size = os.path.getsize(built) if built is not None else 0
            if size > self.limit:
                return None
            meta = {**meta, "key": key, "sha256": digest(built) if built is not None else None}
            text = self._written(key, meta)
            if built is not None:
                os.replace(built, target)
                moved = True
            os.replace(text, self._path(key, ".json"))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            self._tell(f"cannot keep compiled kernels in {self.folder} ({reason}): going on without")
            if moved and built is not None:
                with contextlib.suppress(OSError):
                    os.replace(target, built)
            return None
        self._stored += size
        if self._stored > self.limit // 64:
            self._stored = 0
            self.shrink(keep=key)
        return Entry(target if built is not None else None, meta)

    def amend(self, key: str, **more: Any) -> None:
        """Put more into an entry's description, if it is there and can be written."""
        path = self._path(key, ".json")
        with contextlib.suppress(Exception):  # as of a damaged description
            if self.writable:
                with folders.opened(path) as file:
                    meta = parse(file.read())
                if not more.items() <= meta.items():
                    os.replace(self._written(key, {**meta, **more}), path)

    def _written(self, key: str, meta: dict[str, Any]) -> str:
        """The path of a new file with a description."""
        path = os.path.join(self.scratch_path(), f"{key}-{os.urandom(4).hex()}.json")
        with open(path, "wb") as file:
            os.chmod(path, 0o600)
            file.write(dump(meta))
        return path

    def shrink(self, keep: str = "") -> None:
        """Remove what was not used for longest until the cache is within its bound. `keep`: not this entry."""
        sizes: dict[str, int] = {}  # of an entry, both files
        used: dict[str, float] = {}
        folders.sweep(self._work)
        try:
            with os.scandir(self.folder) as found:
                files = [(m, item.stat(follow_symlinks=False)) for item in found if (m := ENTRY.fullmatch(item.name))]
        except OSError:
            return
        for match, status in files:
            key, kind = match.groups()
            sizes[key] = sizes.get(key, 0) + status.st_size
            used[key] = max(used.get(key, 0.0), status.st_mtime if kind == "json" else 0.0)
        total = sum(sizes.values()) + folders.size(self._work)
        for key in sorted(sizes, key=used.__getitem__):
            orphan = not used[key]  # an object without description: half an entry, if nobody is writing it now
            if key == keep or total <= self.limit and not orphan:
                continue
            with self.lock(key) if orphan else contextlib.nullcontext(True) as mine:
                if mine:
                    total -= sizes[key]
                    self.remove(key)

    def lock(self, key: str) -> AbstractContextManager[bool]:
        """Whether this process is the one to compile `key`. Does not wait.

        The kernel lets a lock go when its holder dies, so none is ever stale. Without file locks everybody compiles.
        """
        if not self.writable:
            return contextlib.nullcontext(True)
        return folders.lock(os.path.join(self._work, key + ".lock"))


@functools.lru_cache(maxsize=8)
def _at(folder: str, limit: int) -> Artifacts:
    return Artifacts(folder or None, limit)


def shared(folder: str | None = None, limit: int | None = None) -> Artifacts:
    """The cache in a folder, by default the configured one: the same object each time, so that its user is told once
    what is wrong with it."""
    return _at(folder or config.cache_dir or default_folder(), config.cache_bytes if limit is None else limit)


def digest(path: str) -> str:
    with folders.opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def dump(meta: dict[str, Any]) -> bytes:
    """A description as text that shows whether it was damaged."""
    text = json.dumps(meta, sort_keys=True)
    return json.dumps({"entry": meta, "sum": hashlib.sha256(text.encode()).hexdigest()}, sort_keys=True).encode()


def parse(data: bytes) -> dict[str, Any]:
    """What `dump` was given. Raises an exception of any kind where that is not to be had."""
    read = json.loads(data)
    text = json.dumps(read["entry"], sort_keys=True)
    if hashlib.sha256(text.encode()).hexdigest() != read["sum"]:
        raise ValueError("a damaged description")
    return read["entry"]
