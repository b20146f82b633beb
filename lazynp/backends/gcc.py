"""Running the C++ compiler, and telling what its failures mean.

A failure is *lasting* where the compiler has refused the source: these versions will do so again, and that may be
remembered. Everything else (killed, out of memory or of time, a disk that is full, a tool that is missing) says nothing
about the source, and is tried again later.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

from lazynp.backends import folders
from lazynp.speed import built

APART = getattr(built("_apart"), "start", None)

TIRED = 75  # exit status of a compiler process that failed for want of something: a new one may do better
TIMEOUT = 300.0  # seconds that the compiler may take
# As text, which is compiled where it is needed: programs that find all in the cache need neither.
_REFUSED = r"(?m)^\S.*:\d+(:\d+)?: error: |undefined reference to |^\S.*: error: .*not supported"
# What the machine does to a compiler. The words are those of GCC, Clang, binutils and the C library.
_MACHINE = (
    r"internal compiler error|fatal signal|fatal error|\b[Kk]illed\b|\bterminated\b|out of memory|memory exhausted"
    r"|bad_alloc|[Cc]annot allocate|[Nn]o space left|[Dd]isk quota|[Rr]ead-only file|[Ii]nput/output error"
    r"|[Pp]ermission denied|[Nn]o such file|[Tt]oo many open files|[Rr]esource temporarily|[Ff]ile size limit"
    r"|[Tt]ext file busy|truncated|can't write|error writing|cannot execute|posix_spawn|vfork|write error"
)


class BuildError(Exception):
    """The compiler failed; the text is the end of what it said.

    Attributes:
        lasting: whether it would fail again.
    """

    def __init__(self, text: str, lasting: bool = False) -> None:
        super().__init__(text)
        self.lasting = lasting

    def __reduce__(self) -> tuple[type[BuildError], tuple[str, bool]]:
        return BuildError, (str(self), self.lasting)


def run(command: list[str], scratch: str, group: bool = False) -> None:
    """Run a compiler whose temporary files lie in `scratch`. Raises `BuildError`. `group`: in a process group of its
    own, which Ctrl-C does not reach, and without ever holding the user's open files, where the system can do that; the
    compiler process has such a group, and no such files."""
    process: _Apart | subprocess.Popen[bytes] | None = _Apart.start(command, scratch) if group else None
    try:
        process = process or subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=folders.environment(scratch),
            process_group=0 if group else None,
        )
    except (OSError, ValueError) as error:
        raise BuildError(f"{command[0]} cannot be run: {error}") from error
    try:
        said = process.communicate(timeout=TIMEOUT)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        _kill(process, group)
        folders.end_users(scratch)
        raise BuildError(f"not done after {TIMEOUT:.0f} s") from None
    except BaseException:
        _kill(process, group)
        raise
    if process.returncode:
        raise BuildError(describe(process.returncode, said), is_lasting(process.returncode, said))


class _Apart:
    """A compiler that `_apart.c` has started: it never shares the locks of the user's files. What it says is a file."""

    stderr = None

    def __init__(self, pid: int, log: str) -> None:
        self.pid, self.log = pid, log
        self.returncode: int | None = None

    @classmethod
    def start(cls, command: list[str], scratch: str) -> _Apart | None:
        """None where the system cannot do it, or not now."""
        if APART is None:
            return None
        path, log = shutil.which(command[0]) or command[0], os.path.join(scratch, f"said-{os.urandom(8).hex()}")
        environment = tuple(os.fsencode(f"{name}={value}") for name, value in folders.environment(scratch).items())
        try:
            arguments = tuple(map(os.fsencode, command))
            return cls(APART(os.fsencode(path), arguments, environment, os.fsencode(log)), log)
        except (OSError, ValueError):
            with contextlib.suppress(OSError):
                os.unlink(log)
            return None

    def communicate(self, timeout: float) -> tuple[None, bytes]:
        """What it has said when it has ended."""
        self.wait(timeout)
        with open(self.log, "rb") as file:
            said = file.read()
        os.unlink(self.log)
        return None, said

    def wait(self, timeout: float = TIMEOUT) -> int:
        end, pause = time.monotonic() + timeout, 0.001
        while self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # the program has waited for it, or ignores all such signals
                pid, status = self.pid, 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                raise subprocess.TimeoutExpired("g++", timeout)
            else:
                time.sleep(pause)
                pause = min(2 * pause, 0.02)
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def _kill(process: _Apart | subprocess.Popen[bytes], group: bool) -> None:
    with contextlib.suppress(OSError):
        if group and process.returncode is None and hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    if process.stderr is not None:
        process.stderr.close()
    process.wait()


def is_lasting(code: int, said: str) -> bool:
    """Whether a compiler that ended with this status, having said this, has refused its source."""
    return code == 1 and re.search(_REFUSED, said) is not None and re.search(_MACHINE, said) is None


def describe(code: int, said: str) -> str:
    errors = [line for line in said.splitlines() if "error" in line]
    return f"exit status {code}: " + ("; ".join(errors[:4]) or said[-400:])
