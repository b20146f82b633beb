"""Threads that take blocks in turn. NumPy releases the GIL inside a ufunc, so they run side by side."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from ...threads import at_fork, start


class Task:
    """Work that threads do together: each calls `work`, which takes blocks until none is left.

    `run` may be left by any exception (Ctrl-C while it waits), and be called again: it goes on with what is left, and
    returns when all blocks are done.

    Attributes:
        work: returns how many blocks it has done. blocks: how many there are; 0: it is not known.
        busy: a lock for each helper that has begun, which it holds until it has ended. errors: what they raised.
        ended: as many as have ended. owner: the thread that waits for it.
    """

    __slots__ = ("work", "threads", "blocks", "busy", "ended", "errors", "owner")

    def __init__(self, work: Callable[[], int | None], threads: int, blocks: int = 0) -> None:
        self.work, self.threads, self.blocks, self.owner = work, threads, blocks, threading.get_ident()
        self.busy: list[Any] = []
        self.ended: list[bool] = []
        self.errors: list[BaseException] = []

    def run(self) -> None:
        """Do it. Raises what one of the threads raised."""
        self.errors.clear()
        helpers = self.threads - 1
        if helpers <= 0 or self.blocks and time.monotonic() < crew.balance.alone_until:
            self.work()
            return
        crew.running.append(self)
        try:
            begun = time.monotonic()
            crew.call(self, helpers)
            own = self.work()
            worked = time.monotonic()
            self.wait()
            if own and self.blocks:
                crew.balance.weigh(own / self.blocks, worked - begun, time.monotonic() - begun)
        finally:
            crew.running.remove(self)
        if self.errors:
            raise self.errors[0]

    def wait(self) -> None:
        """Until the helpers that have begun have ended; one that comes later finds nothing to do."""
        for lock in list(self.busy):
            with lock:
                pass

    def help(self) -> None:
        """What a helper does."""
        lock = threading.Lock()
        with lock:
            with crew.gate:
                self.busy.append(lock)
            try:
                self.work()
            except BaseException as error:
                self.errors.append(error)
            self.ended.append(True)


class Balance:
    """Whether helpers are worth it. On a machine that others use a helper may be off its core in the middle of a block,
    and what is lost by waiting for it be more than what it does.

    Attributes:
        saved: seconds that helpers have saved lately. alone_until: they are not asked before. pause: for how long.
    """

    def __init__(self) -> None:
        self.saved = self.alone_until = self.pause = 0.0

    def weigh(self, share: float, work: float, whole: float) -> None:
        """One task: the caller has done this share of it in `work` seconds, and all was done after `whole`."""
        self.saved = 0.8 * self.saved + work / share - whole
        if self.saved < 0:
            self.pause = min(max(2 * self.pause, SHORTEST), LONGEST)
            self.saved, self.alone_until = 0.0, time.monotonic() + self.pause
        elif self.saved > PROVEN * whole:
            self.pause = 0.0


SHORTEST, LONGEST = 0.02, 0.64  # seconds without helpers
PROVEN = 3.0  # times a task's duration that was saved: they were there


class Crew:
    """The helpers. They start when first needed, as many as the system gives, and anew after a fork.

    Attributes:
        running: tasks that threads are waiting for. balance: whether helpers are worth it.
        gate: a helper begins with a task while it has this.
    """

    def __init__(self) -> None:
        self.running: list[Task] = []
        self.gate = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Start without helpers: at the beginning, and in a forked child, which has none."""
        self.lock = threading.RLock()
        self.tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self.balance = Balance()
        self.helpers = 0

    def ensure(self, helpers: int) -> int:
        """Start what is missing of so many; how many there are."""
        if self.helpers < helpers:
            with self.lock:
                while self.helpers < helpers:
                    if start(self.help, self.tasks, name=f"lazynp-{self.helpers + 1}") is None:
                        break
                    self.helpers += 1
        return min(helpers, self.helpers)

    @staticmethod
    def help(tasks: Any) -> None:
        while True:
            task = tasks.get()
            task.help()
            del task

    def call(self, task: Task, helpers: int) -> None:
        """Have so many helpers do a task, too."""
        for _ in range(self.ensure(helpers)):
            self.tasks.put(task)

    @staticmethod
    def run(work: Callable[[], int | None], threads: int) -> None:
        """Call `work` on so many threads at once, and wait for all of them. Raises what one of them raised."""
        Task(work, threads).run()

    def before_fork(self) -> None:
        """Let no helper begin, and wait for those that have begun to help this thread, which a child has not: a
        signal's handler may fork while it waits for them itself."""
        self.gate.acquire()
        me = threading.get_ident()
        for task in list(self.running):
            while task.owner == me and len(task.ended) < len(task.busy):
                time.sleep(1e-4)


crew = Crew()
at_fork(20, crew.before_fork, child=crew.reset, lock=crew.gate)
