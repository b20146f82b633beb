"""Threads that take blocks in turn. NumPy releases the GIL inside a ufunc, so they run side by side."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import Any


class Task:
    """Work that threads do together: each calls `work`, which takes blocks until none is left.

    `run` may be left by any exception (Ctrl-C while it waits), and be called again: it goes on with what is left, and
    returns when all blocks are done.

    Attributes:
        busy: a lock for each helper that has begun, which it holds until it has ended. errors: what they raised.
    """

    __slots__ = ("work", "threads", "busy", "errors")

    def __init__(self, work: Callable[[], None], threads: int) -> None:
        self.work, self.threads = work, threads
        self.busy: list[Any] = []
        self.errors: list[BaseException] = []

    def run(self) -> None:
        """Do it. Raises what one of the threads raised."""
        self.errors.clear()
        helpers = self.threads - 1
        if helpers > 0:
            crew.call(self, helpers)
        self.work()
        self.wait()
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
            self.busy.append(lock)
            try:
                self.work()
            except BaseException as error:
                self.errors.append(error)


class Crew:
    """The helpers. They start when first needed, and anew after a fork."""

    def __init__(self) -> None:
        self.pid = 0
        self.tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self.helpers = 0

    def ensure(self, helpers: int) -> int:
        """Start what is missing of so many; how many there are."""
        if self.pid != os.getpid():
            self.tasks, self.helpers = queue.SimpleQueue(), 0
            self.pid = os.getpid()
        while self.helpers < helpers:
            name = f"lazynp-{self.helpers + 1}"
            try:
                threading.Thread(target=self.help, args=(self.tasks,), daemon=True, name=name).start()
            except RuntimeError:  # no thread can be had: fewer do the work
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
    def run(work: Callable[[], None], threads: int) -> None:
        """Call `work` on so many threads at once, and wait for all of them. Raises what one of them raised."""
        Task(work, threads).run()


crew = Crew()
