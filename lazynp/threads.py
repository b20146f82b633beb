"""Helper threads of ours, and what happens when the process forks. Imports nothing of lazynp.

In a child only the thread that forked is left. What helpers had in hand is nobody's there, and a lock that another
thread held is never let go of. So each part of lazynp that has a lock or a helper says here what to do around a fork.
"""

from __future__ import annotations

import _thread
import collections
import contextlib
import ctypes
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

gone = 0  # threads that Python still counts, though they stayed behind in a parent
helpers: set[threading.Thread] = set()  # of ours that run


class Helper(threading.Thread):
    """A daemon thread of ours. RuntimeError where none can be started, and at the end of the process."""

    finalizing = staticmethod(sys.is_finalizing)  # the module may be gone by then

    def __init__(self, target: Callable[..., None], *args: Any, name: str) -> None:
        super().__init__(target=target, args=args, name=name, daemon=True)

    def start(self) -> None:
        if self.finalizing():  # the thread would end as soon as it wanted the interpreter, and `start` waits for it
            raise RuntimeError("can't start new thread at interpreter shutdown")
        helpers.add(self)
        try:
            super().start()
        except BaseException:
            helpers.discard(self)
            raise

    def run(self) -> None:
        try:
            super().run()
        finally:
            helpers.discard(self)


def start(work: Callable[..., None], *args: Any, name: str) -> Helper | None:
    """A helper that calls `work`; None where the system has no thread to give."""
    helper = Helper(work, *args, name=name)
    try:
        helper.start()
    except (RuntimeError, MemoryError):  # "can't start new thread"
        return None
    return helper


def others() -> bool:
    """Whether Python code may run in another thread of the program's."""
    return _thread._count() - gone > len(helpers)


class Jobs:
    """What is done in a thread of its own, one job after the other. The thread ends when there is none.

    Attributes:
        name: the thread's. busy: how many jobs are waiting or being done.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.reset()
        at_fork(20, child=self.reset)

    def reset(self) -> None:
        self.lock = threading.Condition()
        self.waiting: collections.deque[tuple[Callable[[], object], Callable[[Exception], object]]] = (
            collections.deque()
        )
        self.busy = 0
        self.ended = False
        self.thread: threading.Thread | None = None

    def submit(self, job: Callable[[], object], refused: Callable[[Exception], object]) -> None:
        """Have it done. `refused` is called with the error where there is no thread. What a job raises is lost."""
        with self.lock:
            self.waiting.append((job, refused))
            self.busy += 1
            if self.thread is not None and self.thread.is_alive() and not self.ended:
                return
            try:
                if self.ended:
                    raise RuntimeError("the process ends")
                self.thread = Helper(self.work, name=self.name)
                self.thread.start()
                return
            except (RuntimeError, MemoryError) as error:  # no more threads
                self.thread, failure = None, error
                failed = [tell for _, tell in self.waiting]
                self.waiting.clear()
        for tell in failed:
            self.do(functools.partial(tell, failure))

    def work(self) -> None:
        with contextlib.suppress(BrokenOffError):
            while True:
                with self.lock:
                    if not self.waiting:
                        self.thread = None
                        return
                    job, _ = self.waiting.popleft()
                self.do(job)

    def do(self, job: Callable[[], object]) -> None:
        try:
            with contextlib.suppress(Exception):
                job()
        finally:
            with self.lock:
                self.busy -= 1
                self.lock.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Block until all is done; whether it is."""
        with self.lock:
            return self.lock.wait_for(lambda: self.busy == 0, timeout)

    def end(self, timeout: float) -> None:
        """At the end of the process: begin nothing more, and have what is being done break off. It does once it runs
        Python code, and not in the midst of C++, which is no place for a thread to end."""
        with self.lock:
            self.ended = True
            self.busy -= len(self.waiting)
            self.waiting.clear()
        until = time.monotonic() + timeout
        while (thread := self.thread) is not None and thread.is_alive() and time.monotonic() < until:
            break_off(thread)
            thread.join(0.1)


class BrokenOffError(BaseException):
    """Raised in a helper that has to end."""


def break_off(thread: threading.Thread) -> None:
    """Raise BrokenOffError in a thread, where it next runs Python code."""
    if thread.ident is not None:
        raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
        raise_in(ctypes.c_ulong(thread.ident), ctypes.py_object(BrokenOffError))


class Hook(NamedTuple):
    """Attributes:
    rank: locks are taken in the order of their ranks, lower ones first, wherever more than one is held.
    before, parent, child: called around a fork.
    """

    rank: int
    before: Callable[[], object] | None
    parent: Callable[[], object] | None
    child: Callable[[], object] | None


hooks: list[Hook] = []
locks: list[Any] = []  # that Python itself lets go of after a fork, in parent and child


def at_fork(
    rank: int,
    before: Callable[[], object] | None = None,
    parent: Callable[[], object] | None = None,
    child: Callable[[], object] | None = None,
    lock: Any = None,
) -> None:
    """Have functions called around each fork: `before` it by rising rank, afterwards by falling rank.

    lock: an RLock that `before` takes. Its own method, in C, is what lets go of it, after `parent` and
    `child`: an error or a signal's handler that ends a function of ours would leave it held, and all other threads
    would wait for it for ever.
    """
    hooks.append(Hook(rank, before, parent, child))
    hooks.sort(key=lambda hook: hook.rank)
    if lock is not None and hasattr(os, "register_at_fork"):
        locks.append(lock)
        os.register_at_fork(after_in_parent=lock.release, after_in_child=lock.release)


def before_fork() -> None:
    failed: BaseException | None = None
    for hook in hooks:
        try:
            if hook.before is not None:
                hook.before()
        except BaseException as error:  # Python shows it, and forks all the same: the other locks are to be held
            failed = error
    if isinstance(failed, KeyboardInterrupt):
        # It comes where the fork returns: called once, and from C, since in our own code it would be dropped, too.
        once = map(_thread.interrupt_main, iter([signal.SIGINT]))
        os.register_at_fork(after_in_parent=functools.partial(next, once, None))
    elif failed is not None:
        raise failed


def after_in_parent() -> None:
    call_all([hook.parent for hook in reversed(hooks) if hook.parent is not None])


def after_in_child() -> None:
    global gone
    gone = _thread._count()
    helpers.clear()
    call_all([hook.child for hook in reversed(hooks) if hook.child is not None])


def call_all(functions: list[Callable[[], object]]) -> None:
    """Call each, whatever the others raise. Raises the last such error, which Python shows."""
    failed: BaseException | None = None
    for function in functions:
        try:
            function()
        except BaseException as error:
            failed = error
    if failed is not None:
        raise failed


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before_fork, after_in_parent=after_in_parent, after_in_child=after_in_child)
