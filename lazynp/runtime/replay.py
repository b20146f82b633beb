"""Switching replay on: see `_replay.h`. What makes programs, `periods`, is loaded with the first loop."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from typing import Any, ClassVar

from ..config import config
from ..speed import native
from ..threads import Helper, at_fork
from .kernels import waits

FIRST = 0  # among what is done around a fork: what else waits may read what was only matched
EVIDENCE = 32
watching = False  # for loops
TRIALS = 7  # of a program: it is kept where a round takes less time with it
SECONDS = 0.1  # of a loop before it is compiled: that takes about as long, in another process


class ThreadPlanner:
    """What `_replay.h` asks for programs. It is answered in a thread, which loads what it takes: in the main thread the
    modules would lie in the middle of the program's arrays, and keep the C library from giving their memory back."""

    threads: ClassVar[set[threading.Thread]] = set()

    @classmethod
    def plan(cls, question: Any) -> None:
        thread = Helper(lambda: cls.answer(question), name="lazynp-replay")
        cls.threads.add(thread)
        try:
            thread.start()
        except RuntimeError:  # no more threads
            cls.threads.discard(thread)
            native.replay_ready(question[0], None, 0, ())

    @classmethod
    def answer(cls, question: Any) -> None:
        try:
            importlib.import_module("lazynp.runtime.periods").planner.plan(question)
        except Exception:  # no memory to load it, say: the loop goes on as it is
            native.replay_ready(question[0], None, 0, ())
        finally:
            cls.threads.discard(threading.current_thread())

    @classmethod
    def wait(cls, timeout: float | None = None) -> bool:
        """Until all is answered and compiled; whether it is."""
        end = None if timeout is None else time.monotonic() + timeout

        def left() -> float | None:
            return None if end is None else max(0.0, end - time.monotonic())

        for thread in list(cls.threads):
            thread.join(left())
        build = sys.modules.get("lazynp.backends.loops.build")
        return not cls.threads and (build is None or build.builder.wait(left()))


class DirectPlanner:
    """The same, before the loop goes on; for tests."""

    @staticmethod
    def plan(question: Any) -> None:
        planner = importlib.import_module("lazynp.runtime.periods").planner
        planner.tell(question[0], planner.make(question))


def switch(
    on: bool, evidence: int = EVIDENCE, seconds: float = SECONDS, planner: Any = ThreadPlanner, trials: int = TRIALS
) -> None:
    """Begin to watch for loops, or end it. A loop counts as one when it has come three times, with `evidence`
    operations more, and has gone on for so many seconds. Its program is timed `trials` times (0: it is kept anyhow)."""
    global watching
    watching = on
    if on and state is not None:
        native.replay_on(planner, *state, evidence, seconds, trials)
    else:
        native.replay_on(None, None, None, None, 0, 0.0, 0)


def follow(name: str, value: Any) -> None:
    """Switch it with the settings. In mode eager operations are done one by one, arrays of any size at once."""
    if name in ("replay", "mode"):
        on = config.replay and config.mode != "eager"
        if on != watching:
            switch(on)


def install() -> None:
    """Follow the setting, where there is the C module."""
    if native is not None:
        waits.append(ThreadPlanner.wait)
        config.watch(follow)
        follow("replay", config.replay)
        at_fork(FIRST, before=native.replay_settle, child=native.replay_forked)


state: tuple[Any, Any, Any] | None
try:  # NumPy's error state: the context variable, what reads it, and a value under which nothing is said
    umath: Any = importlib.import_module("numpy._core.umath")
    state = umath._extobj_contextvar, umath._get_extobj_dict, umath._make_extobj(all="ignore")
except (AttributeError, ImportError):
    state = None
