"""Threads that take blocks in turn. NumPy releases the GIL inside a ufunc, so they run side by side."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import Any


class Crew:
    """The calling thread and `size - 1` helpers. Helpers start when first needed, and anew after a fork."""

    def __init__(self) -> None:
        self.pid = 0
        self.tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.helpers = 0

    def ensure(self, helpers: int) -> None:
        if self.pid != os.getpid():
            self.pid, self.tasks, self.helpers = os.getpid(), queue.SimpleQueue(), 0
        while self.helpers < helpers:
            self.helpers += 1
            threading.Thread(target=self.help, args=(self.tasks,), daemon=True, name=f"lazynp-{self.helpers}").start()

    @staticmethod
    def help(tasks: Any) -> None:
        while True:
            work, done = tasks.get()
            work()
            done.release()
            del work, done

    def run(self, work: Callable[[], None], threads: int) -> None:
        """Call `work` on so many threads at once, and wait for all of them. Raises what one of them raised."""
        helpers = threads - 1
        if helpers <= 0:
            work()
            return
        self.ensure(helpers)
        done = threading.Semaphore(0)
        errors: list[BaseException] = []

        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                errors.append(error)

        for _ in range(helpers):
            self.tasks.put((guarded, done))
        guarded()
        for _ in range(helpers):
            done.acquire()
        if errors:
            raise errors[0]


crew = Crew()
