"""Messages between processes with torch.distributed: gloo, through main memory."""

from __future__ import annotations

import contextlib
import os
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

PATIENCE = 2.0  # seconds that a question to the first process may take


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

    def close(self) -> None:
        """Close the connections: whoever waits for this process gets an error."""
        if self.open:
            self.open = False
            if self.made:
                dist.destroy_process_group()
