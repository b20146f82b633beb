"""Messages between processes with torch.distributed: gloo, through main memory; and tensors from device to device, by
NCCL where these are GPUs."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

LOOK = 0.1  # seconds between looks at whether another process was lost
BUSY = 0.0005  # seconds of a wait for a device before the processor has a rest, and for how long


class Transport:
    """torch's process group, and the store in which processes note what they have to say of one another.

    Args:
        address: "host:port". rank, size: of this process, and how many there are. timeout: seconds.
    """

    def __init__(self, address: str, rank: int, size: int, timeout: float) -> None:
        host, _, port = address.rpartition(":")
        self.rank = rank
        launched = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"  # torchrun listens there itself
        limit = timedelta(seconds=timeout)
        try:
            store = dist.TCPStore(host, int(port), size, rank == 0 and not launched, limit)
            self.hosted = not launched
            self.store: Any = dist.PrefixStore("lazynp", store)
            self.made = not dist.is_initialized()
            if self.made:
                dist.init_process_group(
                    "gloo", store=dist.PrefixStore("gloo", store), rank=rank, world_size=size, timeout=limit
                )
        except dist.DistError as error:
            raise RuntimeError(f"rank {rank} of {size} cannot join the others at {address}: {error}") from error
        self.open = True
        self.links: list[Link] = []

    def send(self, data: np.ndarray, to: int, tag: int) -> Any:
        """Begin to send bytes, which must stay."""
        return dist.isend(torch.from_numpy(data), to, tag=tag)

    def receive(self, data: np.ndarray, source: int, tag: int) -> Any:
        """Begin to receive bytes into an array."""
        return dist.irecv(torch.from_numpy(data), source, tag=tag)

    def wait(self, work: Any, timeout: float) -> None:
        """Raises RuntimeError where the other side has gone, or does not come."""
        work.wait(timedelta(seconds=timeout))

    def tell(self, key: str, text: str) -> None:
        """Note something for the others; the first that notes it under that key is heard. Nothing where nobody
        listens any more."""
        with contextlib.suppress(RuntimeError):
            self.store.compare_set(key, "", text or " ")

    def told(self, key: str) -> str | None:
        """What was noted; None if nothing was."""
        try:
            return self.store.get(key).decode() if self.store.check([key]) else None
        except RuntimeError:  # the first process, which listens, has gone
            return "0 rank 0 has ended" if self.hosted and self.rank and key == "lost" else None

    def stay(self, keys: list[str], timeout: float) -> None:
        """Wait until these have been noted, or something was lost."""
        with contextlib.suppress(RuntimeError):
            self.store.wait(keys, timedelta(seconds=timeout))

    def place_of(self, device: Any) -> str:
        """What no other device is called, of any machine; in main memory every process has one."""
        if device.torch.type == "cuda":  # NCCL_HOSTID: what NCCL takes for the machine's name
            return f"{os.environ.get('NCCL_HOSTID', '')} {torch.cuda.get_device_properties(device.torch).uuid}"
        return f"{socket.gethostname()} {os.getpid()}"

    def link(self, device: Any, timeout: float) -> tuple[Link | None, str]:
        """A way from device to device; or None, and why there is none. All processes come here together."""
        if device.torch.type == "cuda" and not dist.is_nccl_available():
            return None, "have no NCCL in their torch"
        self.links.append(Link(self, device.torch, timeout))
        return self.links[-1], ""

    def close(self, broken: bool = False) -> None:
        """Close the connections: whoever waits for this process gets an error. `broken`: something may be under way."""
        if self.open:
            self.open = False
            for link in self.links if broken else ():
                link.abort()
            with contextlib.suppress(*[RuntimeError] * broken):
                if self.made:
                    dist.destroy_process_group()


class Link:
    """The devices of all processes: tensors that are sent from one to another.

    Attributes:
        queues: whether a device sends when it comes to it, and cannot be told to give up: so nothing may be begun that
            the other side does not begin, too.
    """

    def __init__(self, transport: Transport, device: torch.device, timeout: float) -> None:
        self.transport, self.queues = transport, device.type == "cuda"
        # NCCL's own watch would end the process: it is to come after ours.
        limit = timedelta(seconds=2 * timeout + 60 if self.queues else timeout)
        self.group: Any = dist.new_group(backend="nccl" if self.queues else "gloo", timeout=limit)
        if self.queues:  # the first time all have to take part
            torch.cuda.set_device(device.index or 0)
            works = dist.all_reduce(torch.zeros(1, device=device), group=self.group, async_op=True)
            Queued([works], transport).wait(timedelta(seconds=timeout))

    def operations(self, sends: Mapping[int, Sequence[Tensor]], receives: Mapping[int, Sequence[Tensor]]) -> list[Any]:
        """To send contiguous tensors to others, and to receive tensors into memory that is there; by rank."""
        return [
            dist.P2POp(way, bytes_of(x), q, self.group, tag)
            for way, messages in ((dist.isend, sends), (dist.irecv, receives))
            for q, tensors in messages.items()
            for tag, x in enumerate(tensors)
            if x.numel()
        ]

    def begin(self, operations: Sequence[Any]) -> list[tuple[int, Any]]:
        """Begin them all. Pairs of a rank and what is to be waited for."""
        if not operations:
            return []
        works = dist.batch_isend_irecv(list(operations))
        if self.queues:
            return [(operations[-1].peer, Queued(works, self.transport))]
        return [(operation.peer, work) for operation, work in zip(operations, works, strict=True)]

    def abort(self) -> None:
        """Have what is under way given up."""
        if self.queues:
            with contextlib.suppress(RuntimeError):
                self.group.abort()


class Queued:
    """What a device has queued. It is waited for until it is done, and not only until what comes after it is queued,
    so that the wait has an end."""

    def __init__(self, works: Sequence[Any], transport: Transport) -> None:
        self.works, self.transport = works, transport

    def wait(self, limit: timedelta) -> None:
        """Raises RuntimeError where it fails, takes longer, or another process is lost."""
        begin = time.monotonic()
        look = begin + LOOK
        for work in self.works:
            while not work.is_completed():
                now = time.monotonic()
                if now > begin + limit.total_seconds():
                    raise RuntimeError("timed out")
                if now > look:
                    look = now + LOOK
                    if self.transport.told("lost"):
                        raise RuntimeError("another process was lost")
                if now > begin + BUSY:
                    time.sleep(BUSY)
            work.wait()


def bytes_of(x: Tensor) -> Tensor:
    """The memory of a contiguous tensor, whatever strides it has along axes of length 1."""
    return x.as_strided((x.numel(),), (1,)).view(torch.uint8)
