"""Every setting: its environment variable, its default, and a context manager to change it.

with lazynp.config(mode="graph"):
    ...
"""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Setting(NamedTuple):
    env: str
    default: Any
    parse: Callable[[str], Any]
    check: Callable[[Any], bool]
    doc: str

    def allows(self, value: Any) -> bool:
        """Whether the setting can have this value, which may be of any type."""
        try:
            if type(self.default) is int:
                operator.index(value)
            return bool(self.check(value))
        except TypeError:
            return False


def flag(text: str) -> bool:
    return text.strip().lower() not in ("", "0", "false", "no", "off")


def switch_or_names(text: str) -> bool | str:
    """A flag, or names with commas between them."""
    return flag(text) if text.strip().lower() in ("", "0", "1", "false", "true", "no", "yes", "off", "on") else text


def is_device(name: Any) -> bool:
    """Whether a device may have that name; whether it is there, the runtime finds out."""
    if not isinstance(name, str) or not name.startswith("cuda:"):
        return name in ("cpu", "torch", "cuda")
    number = name.removeprefix("cuda:")
    return number.isascii() and number.isdecimal() and number == str(int(number))


def memory() -> int:
    """Bytes of main memory that this machine has; 8 GiB where it does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


MODES = ("auto", "graph", "eager")
SETTINGS = {
    "mode": Setting(
        "LAZYNP_MODE",
        "auto",
        str,
        MODES.__contains__,
        "auto: small arrays are computed at once; graph: all that the engine can do goes through the graph; "
        "eager: every op at once",
    ),
    "small": Setting(
        "LAZYNP_SMALL",
        196608,
        int,
        lambda v: v >= 0,
        "arrays up to so many elements are computed at once in mode auto; twice as many where nothing is compiled",
    ),
    "compile": Setting("LAZYNP_COMPILE", True, flag, lambda v: isinstance(v, bool), "whether hot kernels are compiled"),
    "compile_after": Setting(
        "LAZYNP_COMPILE_AFTER",
        0.3,
        float,
        lambda v: v >= 0,
        "seconds that a kernel may have cost in the interpreter before it is compiled",
    ),
    "chain": Setting(
        "LAZYNP_CHAIN",
        True,
        flag,
        lambda v: isinstance(v, bool),
        "whether compiled kernels that follow one another run together, a few rows of each at a time",
    ),
    "compile_at_exit": Setting(
        "LAZYNP_COMPILE_AT_EXIT",
        True,
        flag,
        lambda v: isinstance(v, bool),
        "whether what was warm, but not yet worth a wait, is compiled after the program's end, for its next run",
    ),
    "compile_nice": Setting(
        "LAZYNP_COMPILE_NICE",
        15,
        int,
        lambda v: 0 <= v <= 19,
        "niceness of the compiler process; 0 lets it compete with the program, and with what else the machine runs",
    ),
    "cache_dir": Setting(
        "LAZYNP_CACHE_DIR",
        "",
        str,
        lambda v: isinstance(v, str),
        "folder of compiled artifacts; empty: the user's cache folder",
    ),
    "cache_bytes": Setting("LAZYNP_CACHE_BYTES", 1 << 30, int, lambda v: v >= 0, "bytes the artifact cache may hold"),
    "threads": Setting(
        "LAZYNP_THREADS", 0, int, lambda v: v >= 0, "threads of the interpreter and of compiled code; 0: one a core"
    ),
    "pending_nodes": Setting(
        "LAZYNP_PENDING_NODES", 512, int, lambda v: v >= 2, "operations recorded before they are run"
    ),
    "pending_bytes": Setting(
        "LAZYNP_PENDING_BYTES", 4 << 30, int, lambda v: v > 0, "bytes of results recorded before they are run"
    ),
    "replay": Setting(
        "LAZYNP_REPLAY",
        True,
        flag,
        lambda v: isinstance(v, bool),
        "whether loops over small arrays run as compiled programs, in which an operation is only matched",
    ),
    "pool_bytes": Setting(
        "LAZYNP_POOL_BYTES",
        min(4 << 30, memory() // 8),
        int,
        lambda v: v >= 0,
        "bytes of dead arrays that are kept for the next ones, for as long as the program does not pause",
    ),
    "deterministic": Setting(
        "LAZYNP_DETERMINISTIC",
        False,
        flag,
        lambda v: isinstance(v, bool),
        "never change the tier: the interpreter's, bit-equal to NumPy",
    ),
    "strict": Setting("LAZYNP_STRICT", False, flag, lambda v: isinstance(v, bool), "falling back to NumPy is an error"),
    "full_tracebacks": Setting(
        "LAZYNP_FULL_TRACEBACKS",
        False,
        flag,
        lambda v: isinstance(v, bool),
        "whether the tracebacks of errors show what happened inside of lazynp",
    ),
    "adapters": Setting(
        "LAZYNP_ADAPTERS",
        True,
        switch_or_names,
        lambda v: isinstance(v, (bool, str)),
        "which libraries are adapted to take arrays of lazynp: True, False, or their names with commas between them",
    ),
    "device": Setting(
        "LAZYNP_DEVICE",
        "cpu",
        str,
        is_device,
        "where recorded operations run: cpu; cuda or cuda:N, a GPU; torch: torch's operations on the CPU, for tests",
    ),
    "spread_size": Setting(
        "LAZYNP_SPREAD_SIZE",
        196608,
        int,
        lambda v: v >= 1,
        "arrays of so many elements, or more, are split over the processes; see docs/many-processes.md",
    ),
    "gather_bytes": Setting(
        "LAZYNP_GATHER_BYTES",
        memory() // 8,
        int,
        lambda v: v >= 0,
        "bytes of an array that may be brought together in each of several processes; more is an error",
    ),
    "peer_timeout": Setting(
        "LAZYNP_PEER_TIMEOUT",
        300.0,
        float,
        lambda v: v > 0,
        "seconds that one of several processes may take to come to where another waits for it",
    ),
    "spread_check": Setting(
        "LAZYNP_SPREAD_CHECK",
        False,
        flag,
        lambda v: isinstance(v, bool),
        "whether values that several processes have all of are compared before they are used; for debugging",
    ),
}


class Config:
    """The settings, as attributes. Call it for a context manager: `config(mode="eager")`."""

    __slots__ = (*SETTINGS, "limit", "_limit", "_watchers", "_guards")
    mode: str
    small: int
    compile: bool
    compile_after: float
    chain: bool
    compile_at_exit: bool
    compile_nice: int
    cache_dir: str
    cache_bytes: int
    threads: int
    pending_nodes: int
    pending_bytes: int
    replay: bool
    pool_bytes: int
    deterministic: bool
    strict: bool
    full_tracebacks: bool
    adapters: bool | str
    device: str
    spread_size: int
    gather_bytes: int
    peer_timeout: float
    spread_check: bool
    limit: int  # arrays of more elements go through the graph: what `mode` and `small` come to, or more: see `lift`
    _limit: int
    _watchers: list[Callable[[str, Any], None]]
    _guards: dict[str, Callable[[Any], None]]

    def __init__(self) -> None:
        object.__setattr__(self, "_watchers", [])
        object.__setattr__(self, "_guards", {})
        object.__setattr__(self, "limit", 0)
        object.__setattr__(self, "_limit", 0)
        for name, setting in SETTINGS.items():
            text = os.environ.get(setting.env)
            try:
                setattr(self, name, setting.default if text is None else setting.parse(text))
            except ValueError:
                raise ValueError(f"the environment has {setting.env}={text!r}: {setting.doc}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        setting = SETTINGS.get(name)
        if setting is None:
            raise AttributeError(f"no setting {name!r}; there are: {', '.join(SETTINGS)}")
        if not setting.allows(value):
            raise ValueError(f"{name}={value!r}: {setting.doc}")
        if name in self._guards:
            self._guards[name](value)
        object.__setattr__(self, name, value)
        if name in ("mode", "small", "compile", "deterministic"):
            small = getattr(self, "small", 0) * (
                1 if getattr(self, "compile", True) and not getattr(self, "deterministic", False) else 2
            )
            limit = {"auto": small, "graph": -1, "eager": 1 << 62}[getattr(self, "mode", "auto")]
            object.__setattr__(self, "limit", limit)
            object.__setattr__(self, "_limit", limit)
        for watcher in self._watchers:
            watcher(name, value)

    def lift(self, limit: int | None) -> None:
        """Have another limit than the settings come to; None: have theirs again."""
        object.__setattr__(self, "limit", self._limit if limit is None else limit)
        for watcher in self._watchers:
            watcher("limit", self.limit)

    def __repr__(self) -> str:
        return "\n".join([f"{name} = {getattr(self, name)!r}" for name in SETTINGS])

    def watch(self, watcher: Callable[[str, Any], None]) -> None:
        """Call `watcher(name, value)` after each change of a setting."""
        self._watchers.append(watcher)

    def guard(self, name: str, allowed: Callable[[Any], None]) -> None:
        """Call `allowed(value)` now, and before each change of that setting: it raises where the value cannot be."""
        allowed(getattr(self, name))
        self._guards[name] = allowed

    @contextlib.contextmanager
    def __call__(self, **settings: Any) -> Iterator[Config]:
        before = {name: getattr(self, name) for name in settings if name in SETTINGS}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield self
        finally:
            for name, value in before.items():
                setattr(self, name, value)


config = Config()
