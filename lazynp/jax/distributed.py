"""`jax.distributed`: several processes that run one program, each with devices of its own.

They are joined by torch.distributed (`lazynp.spread.group`); what they do together is in `processes.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..spread import group
from .devices import settled
from .partition import compute
from .processes import install

__all__ = ["initialize", "is_initialized", "shutdown"]


class State:
    """Whether `initialize` was called, and how many seconds `shutdown` waits for the others."""

    initialized, patience = False, 0.0


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:
    """Join the processes that run this program, before anything is computed.

    Args:
        coordinator_address: "host:port" at which process 0 listens. num_processes, process_id: how many there are, and
            which one this is. What is not given is looked up in the environment, as torchrun sets it.
        initialization_timeout: seconds in which all have to come; as long may they take, later, to come to what they do
            together. shutdown_timeout_seconds: what `shutdown` waits for them.
        heartbeat_timeout_seconds: not needed: a process that ends closes its connections, which the others see.

    Raises: RuntimeError where something was computed already, a second time, or where the others do not come;
        ValueError where neither the arguments nor the environment say how many processes there are; NotImplementedError
        for what chooses devices or networks.
    """
    if settled():
        raise RuntimeError(
            "jax.distributed.initialize() must be called before any JAX calls that might initialise the XLA backend. "
            "This includes any computation, but also calls to jax.devices, jax.device_put, and others."
        )
    if State.initialized:
        raise RuntimeError("jax.distributed.initialize should only be called once.")
    refused = {
        "local_device_ids": local_device_ids,
        "coordinator_bind_address": coordinator_bind_address,
        "slice_index": slice_index,
        "partition_index": partition_index,
    }
    for name, value in refused.items():
        if value is not None:
            raise NotImplementedError(f"jax.distributed.initialize: {name} is not supported")
    if cluster_detection_method not in (None, "deactivate"):
        raise NotImplementedError(
            f"jax.distributed.initialize: no cluster is looked for by {cluster_detection_method!r}: give the "
            "arguments, or start the program with torchrun"
        )
    launched = cluster_detection_method is None
    get = os.environ.get if launched else (lambda name: None)
    address = coordinator_address
    if address is None and get("MASTER_ADDR") and get("MASTER_PORT"):
        address = f"{get('MASTER_ADDR')}:{get('MASTER_PORT')}"
    count = num_processes if num_processes is not None else int(get("WORLD_SIZE") or 0)
    number = process_id if process_id is not None else int(get("RANK") or (0 if count == 1 else -1))
    if address is None and count != 1:
        raise ValueError("coordinator_address should be defined.")
    if count < 1:
        raise ValueError("Number of processes must be defined.")
    if number < 0:
        raise ValueError("The process id of the current process must be defined.")
    if count > 1:
        group.join(address, number, count, float(initialization_timeout))
        install(compute)
    State.initialized, State.patience = True, float(shutdown_timeout_seconds)


def is_initialized() -> bool:
    """Whether this process has joined others."""
    return State.initialized


def shutdown() -> None:
    """Wait for the other processes, and do nothing together with them from then on."""
    if State.initialized and group.size() > 1:
        joined = group.group()
        usual, joined.timeout = joined.timeout, State.patience
        joined.barrier("jax.distributed.shutdown")
        joined.timeout = usual
    State.initialized = False
