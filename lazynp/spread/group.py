"""The processes that run one program: who they are, and messages between them.

A message is checked by who receives it: it says what its sender is at, and where. So processes that have come to run
different programs find out with the messages that they send anyway, and nothing waits for one that will not come.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib
import os
import struct
import sys
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

# Number of the message between these two, what it is for, bytes that follow, and from device to device, and of text.
HEADER = struct.Struct("<QQqqI")
TEXT, INLINE = 220, 1024  # bytes: of the text, and of data that go with the header
SIZE = HEADER.size + TEXT + INLINE
ASKED = 0.4  # seconds in which processes that wait for one another have said so, at least
LATER = 0.1  # of the time that a process may take: how much later than this one others may have begun to wait
STAY = 5.0  # seconds for which the first process waits at its end for the others
TIMEOUT = 300.0


class ProcessError(RuntimeError):
    """The processes cannot go on together. `rank`: of the one that is to blame, or -1."""

    def __init__(self, message: str, rank: int = -1) -> None:
        super().__init__(message)
        self.rank = rank


class LostError(ProcessError):
    """A process has ended, or does not answer in time."""


class DivergedError(ProcessError):
    """Two processes have come to run different programs."""


class Beside:
    """Tensors that go from device to device beside messages. Those have to go to and from the same ranks, if with no
    arrays in them.

    Attributes:
        link: what `Group.reach` gave. sends, receives: contiguous tensors by rank.
    """

    def __init__(self, link: Any) -> None:
        self.link = link
        self.sends: dict[int, list[Any]] = {}
        self.receives: dict[int, list[Any]] = {}


class Group:
    """The processes that have joined, as one of them sees them.

    Attributes:
        rank, size: this process, and how many there are.
        timeout: seconds that another one may take to come to where this one is.
        broken: the error after which there are no messages any more. failed: whether the program ends with another.
        messages, bytes_sent: that this process has sent.
    """

    def __init__(self, transport: Any, rank: int, size: int, timeout: float) -> None:
        self.transport, self.rank, self.size, self.timeout = transport, rank, size, timeout
        self.broken: ProcessError | None = None
        self.messages = self.bytes_sent = 0
        self.numbers: dict[tuple[int, str], int] = {}
        self.failed = False

    def exchange(
        self,
        sends: Mapping[int, Sequence[np.ndarray]],
        receives: Mapping[int, Sequence[np.ndarray]],
        what: str,
        signature: int = 0,
        where: Callable[[], str] = str,
        beside: Beside | None = None,
    ) -> None:
        """Send arrays to others, and receive arrays from others into memory that is there.

        Args:
            sends, receives: by rank; C-contiguous arrays, of sizes that both sides know.
            what: for errors, and compared with what the other side says.
            signature: of what the program is at: compared too.
            where: gives the line, for errors.
            beside: tensors, for ranks that `sends` and `receives` name, too.

        Raises: DivergedError, LostError. After either there are no messages any more.
        """
        if self.broken is not None:
            raise type(self.broken)(str(self.broken), self.broken.rank)
        mark = zlib.crc32(what.encode()) << 32 | signature & 0xFFFFFFFF
        text = f"{what} at {where()}".encode()[:TEXT] if sends else b""
        arriving: list[tuple[int, np.ndarray, Any]] = []
        leaving: list[tuple[int, Any]] = []
        large: list[tuple[int, np.ndarray]] = []
        kept = []  # memory that is being sent
        for q, arrays in sends.items():
            data, there = as_bytes(arrays), nbytes_of(beside.sends.get(q, ())) if beside else 0
            head = np.zeros(SIZE, np.uint8)
            counts = self.number(q, "to"), mark, data.size, there, len(text)
            head[: HEADER.size] = np.frombuffer(HEADER.pack(*counts), np.uint8)
            head[HEADER.size : HEADER.size + len(text)] = np.frombuffer(text, np.uint8)
            if data.size <= INLINE:
                head[HEADER.size + TEXT : HEADER.size + TEXT + data.size] = data
            else:
                large.append((q, data))
            self.messages += 1
            self.bytes_sent += data.size + there
            leaving.append((q, self.begin(self.transport.send, head, q, 1, what)))
            kept.append(head)
        for q in receives:
            head = np.empty(SIZE, np.uint8)
            arriving.append((q, head, self.begin(self.transport.receive, head, q, 1, what)))
        filling: list[tuple[int, np.ndarray, Any, Sequence[np.ndarray]]] = []
        for q, head, work in arriving:
            self.wait(q, work, what)
            arrays = receives[q]
            size, there = nbytes_of(arrays), nbytes_of(beside.receives.get(q, ())) if beside else 0
            self.check(q, head, (mark, size, there), what, where)
            if size <= INLINE:
                fill(arrays, head[HEADER.size + TEXT : HEADER.size + TEXT + size])
            else:
                whole = flat(arrays[0]) if len(arrays) == 1 else np.empty(size, np.uint8)
                filling.append((q, whole, self.begin(self.transport.receive, whole, q, 2, what), arrays))
        leaving += [(q, self.begin(self.transport.send, data, q, 2, what)) for q, data in large]
        for q, whole, work, arrays in filling:
            self.wait(q, work, what)
            if len(arrays) > 1:
                fill(arrays, whole)
        for q, work in leaving:
            self.wait(q, work, what)
        del kept
        if beside:
            self.cross(beside, what)

    def cross(self, beside: Beside, what: str) -> None:
        """Send and receive tensors, all senders having said that they are here. What a device has queued goes on
        without end if the other side does not come: so both sides say that they have begun."""
        peers = list(dict.fromkeys([*beside.receives, *beside.sends]))
        operations = beside.link.operations(beside.sends, beside.receives)
        try:
            works = beside.link.begin(operations)
        except RuntimeError as error:
            self.fail(self.lost(peers[0], what, error))
        if beside.link.queues:
            mine, theirs = np.zeros(1, np.uint8), np.empty((len(peers), 1), np.uint8)
            notes = [(q, self.begin(self.transport.send, mine, q, 3, what)) for q in peers]
            notes += [(q, self.begin(self.transport.receive, to, q, 3, what)) for q, to in zip(peers, theirs)]
            works = notes + works
        for q, work in works:
            self.wait(q, work, what)

    def reach(self, device: Any) -> Any:
        """What sends tensors of a device from process to process, for `exchange`; None where they have to go through
        main memory. All processes have to ask for it."""
        mine = f"{device.name}\n{self.transport.place_of(device)}".encode()
        digest = np.frombuffer(hashlib.sha256(mine).digest(), np.uint8)
        places = {d.tobytes() for d in self.all_gather(digest, f"the devices {device.name} of all")}
        link, why_not = None, "share a device"
        if len(places) == self.size:
            link, why_not = self.transport.link(device, self.timeout)
        if link is None and self.rank == 0:
            warnings.warn(
                f"{self.size} processes {why_not}: what they exchange goes through main memory", RuntimeWarning, 2
            )
        return link

    def begin(self, way: Callable[..., Any], data: np.ndarray, q: int, tag: int, what: str) -> Any:
        """Begin to send data to q, or to receive them."""
        try:
            return way(data, q, tag)
        except RuntimeError as error:  # the connection was closed before
            self.fail(self.lost(q, what, error))

    def number(self, q: int, way: str) -> int:
        """The number of the next message to or from q."""
        number = self.numbers[q, way] = self.numbers.get((q, way), 0) + 1
        return number

    def check(self, q: int, head: np.ndarray, wanted: tuple[int, ...], what: str, where: Callable[[], str]) -> None:
        """Raises DivergedError where the message is none that belongs here."""
        number, *found, length = HEADER.unpack(head[: HEADER.size].tobytes())
        if (number, *found) != (self.number(q, "from"), *wanted):
            text = head[HEADER.size : HEADER.size + length].tobytes().decode(errors="replace")
            self.fail(
                DivergedError(
                    f"the processes have come to run different programs: rank {self.rank} is at {what} at {where()}, "
                    f"rank {q} at {text}",
                    q,
                )
            )

    def wait(self, q: int, work: Any, what: str) -> None:
        """Wait for a message to or from q."""
        try:
            self.transport.wait(work, self.timeout)
        except RuntimeError as error:  # the connection was closed, or the time is over
            self.fail(self.lost(q, what, error))

    def fail(self, error: ProcessError) -> NoReturn:
        """Close the connections, so that nobody waits for this process, and raise the error."""
        self.broken = error
        self.transport.tell("lost", f"{error.rank} {error}")
        self.transport.close(broken=True)
        raise error

    def lost(self, q: int, what: str, error: BaseException) -> LostError:
        """Who is to blame that nothing came from q: another one that q waits for, maybe."""
        known = self.transport.told("lost")
        if known is None and not is_timeout(error):
            time.sleep(0.05)  # it may have been about to say so
            known = self.transport.told("lost")
        if known:
            rank, _, message = known.partition(" ")
            if int(rank) != self.rank:
                return LostError(message, int(rank))
        if not is_timeout(error):
            said = self.transport.told(f"failed/{q}")
            return LostError(f"rank {q} has ended{': ' + said if said else ''} (rank {self.rank} was at {what})", q)
        self.transport.tell(f"waits/{self.rank}", str(q))
        seen = {self.rank}
        while q not in seen:
            seen.add(q)
            other = self.waited_for(q)
            if other is None:
                return LostError(f"rank {q} has not come to {what} for {self.timeout:g} s", q)
            q = int(other)
        return LostError(f"ranks {sorted(seen)} wait for one another, at {what}, for {self.timeout:g} s", q)

    def waited_for(self, q: int) -> str | None:
        """Whom q waits for, which it says when its own time is over; None where it says nothing in time."""
        until = time.monotonic() + max(ASKED, LATER * self.timeout)
        while (other := self.transport.told(f"waits/{q}")) is None and time.monotonic() < until:
            time.sleep(0.05)
        return other

    def all_reduce(
        self, value: np.ndarray, join: Callable[[Any, Any], Any], what: str, signature: int = 0, where: Any = str
    ) -> np.ndarray:
        """The values of all ranks joined, lower ranks on the left; the same bits everywhere. In 2 log2(size) messages
        at most: pairs whose distance doubles each time."""
        size, rank = self.size, self.rank
        value = np.ascontiguousarray(value)
        other = np.empty_like(value)
        full = 1 << (size.bit_length() - 1)
        extra = size - full  # the last ones are joined to the first ones before, and told afterwards
        if rank >= full:
            self.exchange({rank - full: [value]}, {}, what, signature, where)
            self.exchange({}, {rank - full: [other]}, what, signature, where)
            return other
        if rank < extra:
            self.exchange({}, {rank + full: [other]}, what, signature, where)
            value = np.ascontiguousarray(join(value, other))
        distance = 1
        while distance < full:
            q = rank ^ distance
            other = np.empty_like(value)
            self.exchange({q: [value]}, {q: [other]}, what, signature, where)
            value = np.ascontiguousarray(join(value, other) if rank < q else join(other, value))
            distance *= 2
        if rank < extra:
            self.exchange({rank + full: [value]}, {}, what, signature, where)
        return value

    def before(
        self, value: np.ndarray, join: Callable[[Any, Any], Any], what: str, signature: int = 0, where: Any = str
    ) -> np.ndarray | None:
        """The values of all lower ranks joined, in log2(size) messages; None on the first one."""
        total, found, distance = np.ascontiguousarray(value), None, 1
        while distance < self.size:
            up, down = self.rank + distance, self.rank - distance
            other = np.empty_like(total)
            sends = {up: [total]} if up < self.size else {}
            self.exchange(sends, {down: [other]} if down >= 0 else {}, what, signature, where)
            if down >= 0:
                total = np.ascontiguousarray(join(other, total))
                found = other if found is None else np.ascontiguousarray(join(other, found))
            distance *= 2
        return found

    def all_gather(self, value: np.ndarray, what: str, signature: int = 0, where: Any = str) -> list[np.ndarray]:
        """The arrays of all ranks, which have one shape and dtype."""
        value = np.ascontiguousarray(value)
        out = [value if q == self.rank else np.empty_like(value) for q in range(self.size)]
        others = [q for q in range(self.size) if q != self.rank]
        self.exchange({q: [value] for q in others}, {q: [out[q]] for q in others}, what, signature, where)
        return out

    def broadcast(
        self, value: np.ndarray, what: str, root: int = 0, signature: int = 0, where: Any = str
    ) -> np.ndarray:
        """The array of rank `root`; the others give one of that shape and dtype. In log2(size) steps."""
        me = (self.rank - root) % self.size
        value = np.ascontiguousarray(value)
        distance = 1
        if me:
            distance = 1 << (me.bit_length() - 1)
            value = np.empty_like(value)
            self.exchange({}, {(me - distance + root) % self.size: [value]}, what, signature, where)
            distance *= 2
        while distance < self.size:
            if me + distance < self.size:
                self.exchange({(me + distance + root) % self.size: [value]}, {}, what, signature, where)
            distance *= 2
        return value

    def barrier(self, what: str = "a barrier") -> None:
        """Wait until all are here."""
        self.all_reduce(np.zeros(1, np.int64), np.add, what)

    def note(self, error: BaseException) -> None:
        """The program ends with an error here: let the others have its message."""
        if self.broken is None:
            self.transport.tell(f"failed/{self.rank}", traceback.format_exception_only(error)[-1].strip())
            self.failed = True

    def leave(self) -> None:
        """At the program's end. The connections are closed at once, so that nobody waits for this process; where all is
        well, the first one stays for a while, since the others ask it who was lost; but not for the one that was."""
        self.transport.close()
        self.transport.tell(f"left/{self.rank}", "")
        lost = self.broken.rank if isinstance(self.broken, LostError) else self.rank
        others = [f"left/{q}" for q in range(1, self.size) if q != lost]
        if self.rank == 0 and not self.failed and others:
            self.transport.stay(others, min(self.timeout, STAY))


def is_timeout(error: BaseException) -> bool:
    text = str(error).lower()
    return "timed out" in text or "timeout" in text


def flat(array: np.ndarray) -> np.ndarray:
    """An array's memory as bytes."""
    return array.reshape(-1).view(np.uint8)


def nbytes_of(arrays: Sequence[Any]) -> int:
    return sum([a.nbytes for a in arrays])


def as_bytes(arrays: Sequence[np.ndarray]) -> np.ndarray:
    parts = [flat(np.ascontiguousarray(a)) for a in arrays]
    data = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0, np.uint8)
    return data if data.flags.writeable else data.copy()


def fill(arrays: Sequence[np.ndarray], data: np.ndarray) -> None:
    at = 0
    for a in arrays:
        flat(a)[:] = data[at : at + a.nbytes]
        at += a.nbytes


_group: Group | None = None


def joined() -> bool:
    """Whether this process has joined others."""
    return _group is not None


def rank() -> int:
    """The number of this process among those that have joined; 0 where it is alone."""
    return 0 if _group is None else _group.rank


def size() -> int:
    """How many processes have joined; 1 where this one is alone."""
    return 1 if _group is None else _group.size


def group() -> Group:
    """The processes that have joined. RuntimeError before."""
    if _group is None:
        raise RuntimeError("this process has not joined others: see lazynp.distribute")
    return _group


def join(
    address: str | None = None, rank: int | None = None, size: int | None = None, timeout: float = TIMEOUT
) -> Group:
    """Join the processes that run this program, once; later calls give the same group.

    Args:
        address: "host:port" at which the first process listens.
        rank, size: of this process, and how many there are. What is not given is looked up in the environment, as
            torchrun sets it: MASTER_ADDR and MASTER_PORT, RANK, WORLD_SIZE.
        timeout: seconds that another process may take to come to where this one is.

    Raises: ValueError where neither the arguments nor the environment say it; RuntimeError without torch, or where the
        others do not come.
    """
    global _group
    if _group is not None:
        if (rank, size) not in ((None, None), (_group.rank, _group.size)):
            raise RuntimeError(f"this process has joined already, as rank {_group.rank} of {_group.size}")
        return _group
    get = os.environ.get
    if address is None and get("MASTER_ADDR") and get("MASTER_PORT"):
        address = f"{get('MASTER_ADDR')}:{get('MASTER_PORT')}"
    me = int(get("RANK", "-1")) if rank is None else rank
    n = int(get("WORLD_SIZE", "-1")) if size is None else size
    if address is None or me < 0 or n < 1:
        raise ValueError("give address, rank and size, or start the program with torchrun")
    if me >= n:
        raise ValueError(f"rank {me} of {n} processes")
    try:
        processes = importlib.import_module("lazynp.backends.torch.processes")
    except ImportError as error:
        raise RuntimeError(f"several processes need torch, which cannot be imported: {error}") from error
    _group = Group(processes.Transport(address, me, n, timeout), me, n, timeout)
    atexit.register(_group.leave)
    sys.excepthook = noting(sys.excepthook, _group)
    return _group


def noting(before: Callable[..., Any], group: Group) -> Callable[..., Any]:
    """The hook for errors that end the program, which tells the others."""

    def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        group.note(error)
        before(kind, error, trace)

    return hook
