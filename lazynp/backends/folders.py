"""Folders on disk: one that is ours alone, and in it scratch folders that go with the process that made them.

A scratch folder holds a lock file that its process keeps locked. The operating system lets go of the lock when the
process ends, however it ends, so whoever starts next sees which folders are left over, and removes them together with
the compilers that still work in them. Process numbers and clocks play no part: several machines or containers may share
the folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import stat
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from io import BufferedReader, FileIO

try:
    import fcntl
except ImportError:  # no file locks: leftovers go by their age
    fcntl = None  # type: ignore[assignment]

MARKER = "CACHEDIR.TAG"  # https://bford.info/cachedir: backups leave such folders out
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55\n# Compiled kernels of lazynp. May be removed.\n"
LOCK = "lock"
OLD = 86400.0  # seconds after which a leftover goes where there are no file locks
TRIES = 16
_SCRATCH = r"\d+-[0-9a-f]{16}"
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Refused(OSError):
    """A folder that is not to be used; the text says why, and goes on from the folder's name."""


def ours(status: os.stat_result) -> bool:
    """Whether only we (or root) can have written it."""
    return not hasattr(os, "geteuid") or status.st_uid in (os.geteuid(), 0) and not status.st_mode & _OTHERS


def private(named: str, name: str, marked: bool = True) -> str:
    """The folder `name` in the folder `named`, both made where they are missing. Raises `Refused`.
    `marked`: with a file in it that says whose it is.

    `named` may be shared with other files, and be a link. Nobody else may be able to put something in the place of
    `name`, which belongs to us, is no link, and holds nothing at first, since files will be removed from it.
    """
    path = os.path.join(named, name)
    try:
        os.makedirs(named, mode=0o700, exist_ok=True)
        _check_way(named)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass
        except OSError as error:
            if not os.path.lexists(path):
                raise Refused(f"cannot be written to ({error.strerror})") from None
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            raise Refused(f"holds something else named {name}")
        if not ours(status):
            raise Refused(f"holds a folder {name} that other users can write to")
        if not os.access(path, os.R_OK | os.X_OK):
            raise Refused("cannot be read")
        if marked and os.access(path, os.W_OK):
            _mark(path)
    except Refused:
        raise
    except OSError as error:
        raise Refused(f"cannot be used ({error.strerror or error})") from None
    return path


def _check_way(named: str) -> None:
    if not hasattr(os, "geteuid"):
        return
    status = os.stat(named)
    if {status.st_uid, os.lstat(named).st_uid} - {os.geteuid(), 0}:
        raise Refused("belongs to another user")
    if status.st_mode & _OTHERS and not status.st_mode & stat.S_ISVTX:
        raise Refused("can be written to by other users (chmod 700 makes it usable)")
    parent = os.path.realpath(named)
    while parent != (parent := os.path.dirname(parent)):
        mode = os.stat(parent).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise Refused(f"lies in {parent}, which everybody can write to")


def _mark(path: str) -> None:
    marker = os.path.join(path, MARKER)
    if not os.path.lexists(marker):
        if os.listdir(path) and not os.path.lexists(marker):  # again: another process may just have made it
            raise Refused(f"holds a folder {os.path.basename(path)} that lazynp did not make")
        # A folder without it would be refused as soon as there is something in it, and so is one that cannot have it.
        with contextlib.suppress(FileExistsError), open(marker, "x", opener=_private_file) as file:
            file.write(SIGNATURE)


def _private_file(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def opened(path: str) -> BufferedReader:
    """A file to read, of which we know who wrote it. Raises ValueError where we do not, and OSError."""
    file: BufferedReader = BufferedReader(FileIO(path, "rb", opener=_no_link))
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or not ours(status):
        file.close()
        raise ValueError(path)
    return file


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _lock_file(path: str, flags: int) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def hold(path: str) -> FileIO | None:
    """An open file that keeps the file at `path` locked; None: somebody else does. Raises OSError where that is not
    possible. Whatever interrupts its owner, the lock goes with the object."""
    assert fcntl is not None
    file = FileIO(path, "rb+", opener=_lock_file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.stat(path), os.fstat(file.fileno())):  # its last holder may have removed it
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        file.close()
        raise
    file.close()
    return None


@contextlib.contextmanager
def lock(path: str) -> Iterator[bool]:
    """Whether the lock at `path` is ours; does not wait. Where there are no locks, everybody has it."""
    file, mine = None, True
    try:
        with contextlib.suppress(OSError):
            file = hold(path) if fcntl is not None else None
            mine = file is not None or fcntl is None
        yield mine
    finally:
        if file is not None:
            with file, contextlib.suppress(OSError):
                os.unlink(path)


class Scratch:
    """A folder for temporary files, made in `parent` when it is first needed; removed by `close`, at the end of the
    process, and when that was killed, by the next process that calls `sweep`. `parent` may be a function that makes
    it; `passing`: it goes with the last folder in it."""

    def __init__(self, parent: str | Callable[[], str], passing: bool = False) -> None:
        self.parent, self.passing = parent, passing
        self._path: str | None = None
        self._held: FileIO | None = None
        self._pid = 0
        self._end: weakref.finalize | None = None
        _scratches.add(self)

    def path(self) -> str:
        """The folder; another one in a forked child, and where somebody has removed it. Raises OSError."""
        if self._path is None or self._pid != os.getpid() or not os.path.isdir(self._path):
            self._make()
            assert self._path is not None
        return self._path

    def _make(self) -> None:
        self.close()
        parent = self.parent if isinstance(self.parent, str) else self.parent()
        for _ in range(TRIES):
            path = os.path.join(parent, f"{os.getpid()}-{os.urandom(8).hex()}")
            os.mkdir(path, 0o700)
            try:
                held = hold(os.path.join(path, LOCK)) if fcntl is not None else None
            except FileNotFoundError:  # swept away before it was locked
                continue
            except OSError:  # a file system without locks
                held = None
            else:
                if held is None and fcntl is not None:
                    continue
            self._path, self._held, self._pid = path, held, os.getpid()
            self._end = weakref.finalize(self, _remove, path, held, self._pid, self.passing)
            return
        raise OSError("no scratch folder")

    def close(self) -> None:
        found = None if self._end is None else self._end.detach()
        if found is not None:  # called here: at the end of the process, finalizers that are called do nothing
            _, remove, args, _ = found
            remove(*args)
        self._path = self._held = self._end = None


_scratches: weakref.WeakSet[Scratch] = weakref.WeakSet()


def _forked() -> None:
    """A child that outlives its parent must not keep the parent's folders locked."""
    for scratch in list(_scratches):
        scratch.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _remove(path: str, held: FileIO | None, pid: int, passing: bool) -> None:
    if pid == os.getpid():
        shutil.rmtree(path, ignore_errors=True)
        if passing:
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(path))
    if held is not None:  # in a forked child the parent's lock stays: only our copy of the handle goes
        with contextlib.suppress(OSError):
            held.close()


def sweep(parent: str) -> None:
    """Remove the scratch folders and locks that processes left in `parent` when they were killed."""
    with contextlib.suppress(OSError), os.scandir(parent) as found:
        for item in list(found):
            with contextlib.suppress(OSError):
                if item.name.endswith(".lock"):
                    with lock(item.path):
                        pass
                elif re.fullmatch(_SCRATCH, item.name) and item.is_dir(follow_symlinks=False):
                    _sweep_one(item.path)


def _sweep_one(path: str) -> None:
    try:
        if fcntl is None:
            raise OSError
        held = hold(os.path.join(path, LOCK))
        if held is None:
            return
    except OSError:
        held = None
        if time.time() - os.lstat(path).st_mtime < OLD:
            return
    try:
        end_users(path)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        if held is not None:
            held.close()


def size(parent: str) -> int:
    """Bytes of what lies in scratch folders."""
    total = 0
    for folder, _, names in os.walk(parent):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def environment(scratch: str) -> dict[str, str]:
    """That of a compiler which works in a scratch folder: its temporary files lie there, by which `end_users` knows it
    too, and it speaks English."""
    return os.environ | {"TMPDIR": scratch, "LC_ALL": "C"}


def end_users(scratch: str) -> None:
    """Kill the compilers that work in a scratch folder: a compiler's driver leaves its children behind when it is
    killed."""
    mark = os.fsencode(f"TMPDIR={scratch}")
    for _ in range(TRIES):  # until none has been found: a driver may start another while we look
        with contextlib.suppress(OSError):
            if not any([_end(pid, mark) for pid in os.listdir("/proc") if pid.isdecimal()]):
                return
        time.sleep(0.005)


def _end(pid: str, mark: bytes) -> bool:
    """Kill a process if `mark` is in its environment; whether it is."""
    if int(pid) == os.getpid():
        return False
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            if mark not in file.read().split(b"\0"):
                return False
        handle = os.pidfd_open(int(pid))  # names this process, even if the number is used again
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                found = mark in file.read().split(b"\0")
            if found:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            return found
        finally:
            os.close(handle)
    except OSError:
        return False


def temporary() -> str:
    """A folder of ours where the system keeps temporary files. Raises OSError where there is none."""
    name = f"lazynp-{os.geteuid() if hasattr(os, 'geteuid') else 'scratch'}"
    path = private(tempfile.gettempdir(), name, marked=False)
    sweep(path)
    return path
