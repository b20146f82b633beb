"""`distribute()`: from here on this process is one of those that run the program together."""

from __future__ import annotations

import gc
import importlib
import os
import random
import secrets
import sys

import numpy as np

from ..config import config
from ..runtime.processes import processes
from ..runtime.recorder import recorder
from ..speed import tell
from ..threads import at_fork
from . import door
from . import group as groups
from .buffer import begin


def distribute() -> None:
    """Have the processes that torchrun, or `python -m lazynp --processes`, started share the work of this program: each
    has some rows of every large array. The program's text stays that of one process.

    In a process that is alone, and where it was called before, it does nothing. What other processes than the first
    print is dropped.

    Raises: RuntimeError without torch, or where the other processes do not come.
    """
    if groups.joined() and processes.run is not None or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return
    group = groups.join(timeout=config.peer_timeout)
    if group.size == 1:
        return
    recorder.flush()
    config.replay = False  # what is replayed is not recorded, and when it begins is a matter of time
    seed_all(group)
    begin(group)
    gc.collect()
    gc.disable()  # see `engine.collect`
    processes.run = importlib.import_module("lazynp.spread.engine").run
    door.install()
    at_fork(20, child=alone)
    if group.rank:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def alone() -> None:
    """In a child that was forked: it has none of the connections. What is spread stays with its parent."""
    processes.run = processes.door = None
    tell(spreads=False)
    groups.group().broken = groups.ProcessError("a child of one of several processes has no part in their messages")


def seed_all(group: groups.Group) -> None:
    """Have all processes draw the same where no seed is given."""
    seed = np.frombuffer(secrets.token_bytes(32), np.uint32).copy()
    seed = group.broadcast(seed, "a seed")
    random.seed(seed.tobytes())
    np.random.seed(seed)
    entropy = random.Random(seed.tobytes())
    source: dict[str, object] = vars(importlib.import_module("numpy.random.bit_generator"))
    source["randbits"] = entropy.getrandbits
