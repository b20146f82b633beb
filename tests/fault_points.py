"""Where `tests/faults.py` raises, and the processes in which it does so."""

from __future__ import annotations

import contextlib
import dis
import functools
import gc
import io
import os
import pickle
import select
import signal
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import lazynp
from lazynp import threads
from lazynp.backends import compiler, folders

FOLDER = os.path.dirname(os.path.abspath(lazynp.__file__)) + os.sep
NOTHING = dis.opmap["NOP"]
HOOKS = (threads.before_fork.__code__, threads.after_in_parent.__code__, threads.after_in_child.__code__)
LIMIT = 20.0  # seconds until a run counts as one that hangs


class HandlerError(RuntimeError):
    """What a signal handler raises."""


OF_HANDLERS = (KeyboardInterrupt, HandlerError)
FAULTS: tuple[type[BaseException], ...] = (MemoryError, KeyboardInterrupt, HandlerError, OSError, RecursionError)


def throw(fault: type[BaseException], text: str) -> None:
    raise fault(text)


def raiser(fault: type[BaseException]) -> Callable[[str], None]:
    """What raises a fault where the engine can see who did: a computation, or what a signal's handler calls."""
    name = __name__ if fault in OF_HANDLERS else "lazynp.injected"
    return functools.partial(types.FunctionType(throw.__code__, globals() | {"__name__": name}), fault)


class Point(NamedTuple):
    """A line and the calls through which it was reached (`key`), for the so manieth time. main: in the main thread."""

    place: str
    key: int
    times: int
    main: bool


class Outcome(NamedTuple):
    """kind: of what happened; where, and by which fault."""

    kind: str
    where: str
    fault: str = ""

    def of(self, fault: type[BaseException], point: Point) -> Outcome:
        return self._replace(fault=fault.__name__, where=self.where or point.place)


@functools.cache
def passed_over(code: types.CodeType) -> frozenset[int]:
    """The lines with which a `with` statement begins: at its end they are executed again."""
    entries = [i.positions for i in dis.get_instructions(code) if i.opname == "BEFORE_WITH"]
    return frozenset([p.lineno for p in entries if p is not None and p.lineno is not None])


class Trace:
    """Follows the lines of lazynp. It counts them; or raises `fault` at `point`; or forks at each of the `chosen`
    points, and raises in the child.

    Attributes:
        points: those that were passed. raised: where it raised, and what. around_fork: whether that was in what Python
            calls before or after a fork, whose errors it shows and drops.
    """

    def __init__(
        self,
        point: Point | None = None,
        fault: type[BaseException] = MemoryError,
        chosen: dict[Point, list[type[BaseException]]] | None = None,
        send: Callable[[Outcome], None] | None = None,
        times: int = 1 << 60,
    ) -> None:
        self.point, self.fault, self.chosen, self.send, self.times = point, fault, chosen, send, times
        self.seen: dict[tuple[int, bool], int] = {}
        self.points: list[Point] = []
        self.raised: tuple[str, type[BaseException]] | None = None
        self.around_fork = False

    def call(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(FOLDER):
            return None
        entries, inside, place = passed_over(code), set(), code.co_filename.removeprefix(FOLDER)
        way, above = [], frame.f_back
        while above is not None:
            if above.f_code.co_filename.startswith(FOLDER):
                way.append((id(above.f_code), above.f_lineno))
            above = above.f_back
        came, main = hash((id(code), *way)), threading.current_thread() is threading.main_thread()

        def line(frame: Any, event: str, arg: Any) -> Any:
            if event != "line" or code.co_code[frame.f_lasti] == NOTHING:
                return line
            number = frame.f_lineno
            if number in entries:
                if number in inside:
                    inside.discard(number)
                    return line
                inside.add(number)
            key = hash((came, number))
            times = self.seen[key, main] = self.seen.get((key, main), 0) + 1
            if times <= self.times:
                self.pass_by(Point(f"{place}:{number}", key, times, main))
            return line

        return line

    def pass_by(self, point: Point) -> None:
        if self.chosen is not None:
            for fault in self.chosen.get(point, ()):
                self.fork(fault, point)
        elif self.point is None:
            self.points.append(point)
        elif self.point == point:
            self.throw(self.fault, point)

    def throw(self, fault: type[BaseException], point: Point) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        self.point = Point("", 0, 0, False)
        self.raised = point.place, fault
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            self.around_fork |= frame.f_code in HOOKS
        raiser(fault)("injected")

    def fork(self, fault: type[BaseException], point: Point) -> None:
        """Have a child raise here, and wait for what it finds."""
        assert self.send is not None
        reader, writer = os.pipe()
        with quiet_fork() as pid:
            pass
        if pid == 0:
            os.close(reader)
            self.chosen, self.send = None, lambda found: tell(writer, found)
            self.throw(fault, point)
        os.close(writer)
        self.send(answer(reader, pid).of(fault, point))

    def __enter__(self) -> Trace:
        if self.chosen is None:  # from a helper no child can be forked that has the main thread
            threading.settrace(self.call)
        sys.settrace(self.call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]


@contextlib.contextmanager
def quiet_fork() -> Iterator[int]:
    """Fork without lazynp's knowing: the child is to be what the process was, but for its helpers."""
    for lock in threads.locks:  # which Python lets go of; one that another thread has stays that one's
        lock.acquire(blocking=False)
    hooks, clients, scratches = threads.hooks, compiler._clients, folders._scratches
    threads.hooks, compiler._clients, folders._scratches = [], (), ()  # type: ignore[assignment]
    counted, helpers = threads.gone, threads.helpers
    threads.helpers = set()
    try:
        yield plain_fork()
    finally:
        threads.hooks, compiler._clients, folders._scratches = hooks, clients, scratches
        threads.gone, threads.helpers = counted, helpers


def plain_fork() -> int:
    with warnings.catch_warnings():  # Python warns of forks beside threads, which lazynp promises to bear
        warnings.simplefilter("ignore")
        return os.fork()


def tell(writer: int, found: Any) -> None:
    """What a child says to its parent, and its end."""
    data = pickle.dumps(found)
    while data:
        data = data[os.write(writer, data) :]
    os._exit(0)


def answer(reader: int, pid: int, limit: float = LIMIT) -> Any:
    """What a child says: an outcome, or whatever it was asked for."""
    try:
        ready, _, _ = select.select([reader], [], [], limit)
        with os.fdopen(reader, "rb") as given:
            return pickle.load(given) if ready else Outcome("hang", "")
    except EOFError:
        return Outcome("died", "")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def in_child(call: Callable[[], Any], limit: float = LIMIT) -> Any:
    """Run it in a forked process; "hang" where it does not end, "died" where it ends without a word."""
    reader, writer = os.pipe()
    pid = plain_fork()
    if pid == 0:
        try:
            os.close(reader)
            settle_in()
            tell(writer, call())
        finally:
            os._exit(1)
    os.close(writer)
    return answer(reader, pid, limit)


def settle_in() -> None:
    """What a child does first: it says nothing, and collects no garbage, which would copy all memory."""
    warnings.simplefilter("ignore")
    gc.disable()
    sys.stderr = io.StringIO()


def outcomes(run: Callable[[Trace], Outcome], trace: Trace) -> Iterator[Outcome]:
    """Those of the forks of a process that runs a program; at the end "hang" or "died" where it did not come to it."""
    reader, writer = os.pipe()
    pid = plain_fork()
    if pid == 0:
        try:
            os.close(reader)
            settle_in()
            trace.send = lambda outcome: send(writer, outcome)
            found = run(trace)
            trace.send(None if trace.raised is None else found)  # the end, or what came of it in one of the forks
        finally:
            os._exit(0)
    os.close(writer)
    try:
        while (given := received(reader, 2 * LIMIT)) is not None:
            yield given
            if given.kind in ("hang", "died") and not given.fault:
                return
    finally:
        os.close(reader)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def send(writer: int, what: Any) -> None:
    data = pickle.dumps(what)
    data = len(data).to_bytes(8, "little") + data
    while data:
        data = data[os.write(writer, data) :]


def received(reader: int, limit: float) -> Any:
    """What `send` sent."""

    def part(size: int) -> bytes:
        data = b""
        while len(data) < size:
            if not select.select([reader], [], [], limit)[0]:
                raise TimeoutError
            more = os.read(reader, size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    try:
        return pickle.loads(part(int.from_bytes(part(8), "little")))
    except TimeoutError:
        return Outcome("hang", "the program itself")
    except EOFError:
        return Outcome("died", "the program itself")
