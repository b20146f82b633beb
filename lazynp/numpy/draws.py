"""Random numbers that are drawn while the program goes on.

A large draw of a generator runs in a thread of its own, in the program's order, and its array is pending meanwhile, as
an operation's result is: NumPy lets go of the GIL in it, so it runs beside what was recorded before. Only generators
that `default_rng` seeded: nobody else has their bits. Once somebody asks for those, all draws are done at once.

A draw that fails (short memory) is done again by whoever needs its numbers, or the generator: until then nothing that
the generator was asked for later is drawn, so that all numbers are those that NumPy would have given.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy
import numpy.random as source

from ..backends.numpy.parts import in_parts
from ..backends.support import CORES
from ..config import config
from ..graph.node import Node
from ..ops.creation import arrival
from ..runtime.pool import pool
from ..runtime.storage import Storage
from ..threads import at_fork, start
from .array import of_node

FLOAT, INT, OBJECT = numpy.dtype(numpy.float64), numpy.dtype(numpy.int64), numpy.dtype(object)
DIVIDED, PARTS = 1 << 18, 4  # numbers that several threads draw, and in how many parts
SEED = source.SeedSequence(0)  # of generators whose state is set
LARGE = 1 << 14  # numbers; in a shorter time than they take, no thread is woken
AHEAD = 256 << 20  # bytes that may be on their way before the program waits
LOOK = 0.5  # seconds between looks at the thread by one who waits for it
SHARED = object()  # in the place of a generator's last draw: somebody else may have its bits
STATE: Any = vars(source.PCG64)["state"]
BITS: Any = vars(source.Generator)["bit_generator"]
NUMBER = (int, float)
INT64 = range(-(1 << 63), 1 << 63)


class Distribution:
    """What a method draws.

    Attributes:
        names: of its arguments, the last of them the size. defaults: of those before.
        right: whether the arguments before the size are such that NumPy will not complain.
        dtype: of the numbers. fills: whether the method writes into an array that it is given. even: whether each
            number takes one step of the generator, so that others can be drawn before it is.
    """

    def __init__(
        self,
        names: str,
        defaults: tuple[Any, ...] = (),
        right: Callable[..., bool] | None = None,
        dtype: numpy.dtype[Any] = FLOAT,
        even: bool = False,
    ) -> None:
        self.even = even
        self.names, self.defaults, self.right, self.dtype = (*names.split(), "size"), defaults, right, dtype
        self.fills = right is None

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """The arguments and the size, as a shape; None for what NumPy has to look at, or draws no array for."""
        given = dict(zip(self.names, args))
        if len(args) > len(self.names) or not given.keys().isdisjoint(kwargs):
            return None
        given.update(kwargs)
        size = given.pop("size", None)
        values = tuple([given.pop(n, d) for n, d in zip(self.names, self.defaults)])
        if given or size is None:
            return None
        shape = size if type(size) is tuple else (size,)
        if not all([type(n) is int and n >= 0 for n in shape]) or not (self.right is None or self.right(*values)):
            return None
        return (*values, shape)


def of_scale(scale: Any) -> bool:
    return type(scale) in NUMBER and scale >= 0


def of_place(loc: Any, scale: Any) -> bool:
    return type(loc) in NUMBER and of_scale(scale)


def of_bounds(low: Any, high: Any) -> bool:
    return type(low) in NUMBER and type(high) in NUMBER and math.isfinite(float(high) - float(low)) and high >= low


def of_ints(low: Any, high: Any) -> bool:
    low, high = (0, low) if high is None else (low, high)
    return type(low) is int and type(high) is int and low < high and low in INT64 and high in INT64


DISTRIBUTIONS = {
    "random": Distribution("", even=True),
    "standard_normal": Distribution(""),
    "standard_exponential": Distribution(""),
    "normal": Distribution("loc scale", (0.0, 1.0), of_place),
    "uniform": Distribution("low high", (0.0, 1.0), of_bounds, even=True),
    "exponential": Distribution("scale", (1.0,), of_scale),
    "integers": Distribution("low high", (None, None), of_ints, INT),
}


class Draw:
    """Numbers that are being drawn, or were. They can be had again: from the generator's state, which is kept.

    Attributes:
        generator: None once they have been drawn. before: what it was asked for before, if that is not done.
        out: the numbers; before they are there, what they are drawn into, where the method fills an array.
        lock: of all draws of the generator that are under way.
    """

    __slots__ = ("host", "generator", "given", "fills", "even", "out", "state", "before", "lock")

    def __init__(
        self,
        host: Callable[..., Any],
        generator: Any,
        given: tuple[Any, ...],
        distribution: Distribution,
        before: Draw | None,
    ) -> None:
        self.host, self.generator, self.given = host, generator, given
        self.fills, self.even = distribution.fills, distribution.even
        self.out = self.room()
        self.state: Any = None
        self.before = before if before is not None and before.generator is not None else None
        self.lock = threading.RLock() if self.before is None else self.before.lock

    def __repr__(self) -> str:
        return f"<{self.host.__name__}>"

    def room(self) -> Any:
        """What the numbers are drawn into; None where NumPy makes it."""
        return pool.empty(self.given[-1], FLOAT) if self.fills else None

    def complete(self) -> None:
        """Draw, unless that has been done, after all that the generator was asked for before. Raises what drawing
        raises, and may be called again then."""
        with self.lock:
            todo: list[Draw] = []
            draw: Draw | None = self
            while draw is not None and draw.generator is not None:
                todo.append(draw)
                draw = draw.before
            while todo:
                todo.pop().run()

    def run(self) -> None:
        bits = BITS.__get__(self.generator)
        if self.state is None:
            self.state = STATE.__get__(bits)
        else:  # it was left in the middle
            STATE.__set__(bits, self.state)
        self.out = self.drawn(self.generator, self.out)
        self.before = self.generator = None

    def cancel(self) -> None:
        """Do not draw what has not been drawn."""
        with self.lock:
            self.generator = None

    def drawn(self, generator: Any, out: Any) -> Any:
        if self.even and math.prod(self.given[-1]) >= DIVIDED and isinstance(BITS.__get__(generator), source.PCG64):
            return self.drawn_in_parts(generator, pool.empty(self.given[-1], FLOAT) if out is None else out)
        return self.host(generator, out=out) if self.fills else self.host(generator, *self.given)

    def drawn_in_parts(self, generator: Any, out: numpy.ndarray) -> numpy.ndarray:
        """The same on all cores: each part by a generator that is as many steps ahead as there are numbers before."""
        bits, flat = BITS.__get__(generator), out.reshape(-1)
        state, share = STATE.__get__(bits), -(-flat.size // PARTS)

        def ahead_by(steps: int) -> Any:
            other = source.PCG64(SEED)
            other.state = state
            return other.advance(steps)

        def draw(part: tuple[slice, ...]) -> None:
            for begin in range(part[0].start * share, min(part[0].stop * share, flat.size), share):
                row, other = flat[begin : begin + share], source.Generator(ahead_by(begin))
                if self.fills:
                    self.host(other, out=row)
                else:
                    row[...] = self.host(other, *self.given[:-1], row.shape)

        in_parts(draw, PARTS, 0)
        STATE.__set__(bits, {**state, "state": ahead_by(flat.size).state["state"]})
        return out

    def take(self) -> numpy.ndarray:
        """The numbers, as an array that is the caller's. Raises what drawing them raises."""
        self.complete()
        out, self.out = self.out, None
        if out is None:
            bits = source.PCG64()
            bits.state = self.state
            out = self.drawn(source.Generator(bits), self.room())
        return out


class Line:
    """The thread that draws, one draw after another; made when it is first needed, and anew after a fork."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Begin without a thread: at first, and in a forked child."""
        self.thread: threading.Thread | None = None
        self.tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.bytes = 0  # asked for since the thread was last waited for

    def put(self, draw: Draw, nbytes: int) -> None:
        """Have it drawn; where the system has no thread to give, at once. Under the lock."""
        if self.bytes > AHEAD:
            self.settle()
        if self.thread is None or not self.thread.is_alive():
            self.thread = start(self.work, self.tasks, name="lazynp-draws")
        if self.thread is None:
            draw.complete()
        else:
            self.bytes += nbytes
            self.tasks.put(draw.complete)

    @staticmethod
    def work(tasks: queue.SimpleQueue[Callable[[], None]]) -> None:
        while True:
            with contextlib.suppress(BaseException):  # whoever needs the numbers has them drawn again
                tasks.get()()

    def before_fork(self) -> None:
        """Wait for all draws, and let no other begin: a child has no such thread."""
        self.lock.acquire()
        self.settle()

    def settle(self) -> None:
        """Wait until the thread has done what it was asked for."""
        with self.lock:
            thread = self.thread
            if thread is not None and self.bytes:
                done = threading.Lock()
                done.acquire()
                self.tasks.put(done.release)
                while not done.acquire(timeout=LOOK) and thread.is_alive():
                    pass
            self.bytes = 0


line = Line()


def tracing() -> bool:
    """Whether a function is being traced; supplied by `traced`. What it draws is a constant to it."""
    return False


def ahead(self: Any, name: str, host: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The array of a generator's draw that goes on by itself; None for one to be done at once, which it is the turn of
    when this returns."""
    distribution = DISTRIBUTIONS.get(name)
    given = distribution.bind(args, kwargs) if distribution is not None and CORES > 1 and not tracing() else None
    count = math.prod(given[-1]) if given is not None else 0
    if distribution is None or given is None or count <= max(config.limit, LARGE):
        in_turn(self)
        return None
    shape = given[-1]
    nbytes = count * distribution.dtype.itemsize
    if not distribution.fills:
        numpy.empty(shape, distribution.dtype)  # for which there is no room: NumPy says so at the call
    with line.lock:
        before = self._drawn
        if before is SHARED:
            return None
        self._drawn = draw = Draw(host, self, given, distribution, before)
        try:
            line.put(draw, nbytes)
        except BaseException:  # as if it had not been asked for
            draw.cancel()
            self._drawn = before
            raise
    ticket = Node(None, (), (), (), (), OBJECT, False)
    ticket.value = draw
    Storage.captured += nbytes
    return of_node(arrival(ticket, dtype=distribution.dtype, shape=shape))


def in_turn(self: Any) -> None:
    """Have a generator draw all that it was asked for."""
    drawn = self._drawn
    if drawn is not None and drawn is not SHARED:
        with line.lock:  # nobody forks meanwhile
            drawn.complete()
            if self._drawn is drawn:
                self._drawn = None


at_fork(15, line.before_fork, child=line.reset, lock=line.lock)
atexit.register(line.settle)
