"""`jax.transfer_guard`: values of the host that become arrays, where that is forbidden or to be logged.

Values lie in the host's memory in any case; the guard shows what would be copied to an accelerator. What goes to a
device because the program says so (`device_put`) is explicit, all else is implicit. Reading an array on the CPU is no
transfer, as in JAX.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from typing import Any

from ..api.trace import stack
from ..errors import JaxRuntimeError
from ..flags import flags, watchers
from ..runtime.detours import detour

log = logging.getLogger(__name__)


class State:
    """Whether a guard may be on in any thread."""

    on = False


class Here(threading.local):
    """Whether what happens in this thread is explicit."""

    explicit = False


here = Here()


def level() -> str:
    """What holds in this thread for values that become arrays."""
    found: str | None = flags.transfer_guard_host_to_device or flags.transfer_guard
    return found or "allow"


def between_devices(aval: Any, to: Any) -> None:
    """Note that an array goes to other devices, as the program says. Raises JaxRuntimeError where that is forbidden."""
    found = flags.transfer_guard_device_to_device or flags.transfer_guard
    if found not in ("log_explicit", "disallow_explicit") or stack.active:
        return
    text = f"device-to-device transfer: aval=ShapedArray({aval}), dst_sharding={to}"
    if found == "disallow_explicit":
        raise JaxRuntimeError(f"INVALID_ARGUMENT: Disallowed {text}")
    log.warning("%s", text)


def watch(_: Any) -> None:
    """While something is guarded no operation may take a shortcut past the graph."""
    State.on = level() != "allow"
    detour(to_device, State.on)


watchers.append(watch)


def to_device(what: Any) -> None:
    """Note that a value of the host becomes an array. Raises JaxRuntimeError where the guard forbids it."""
    found = level()
    if here.explicit:
        found = {"log_explicit": "log", "disallow_explicit": "disallow"}.get(found, "allow")
    if found == "allow" or stack.active:
        return
    text = f"host-to-device transfer: {type(what).__name__} of shape {getattr(what, 'shape', ())}"
    if found.startswith("disallow"):
        raise JaxRuntimeError(f"INVALID_ARGUMENT: Disallowed {text}")
    log.warning("%s", text)


@contextlib.contextmanager
def explicitly() -> Iterator[None]:
    """What is transferred in the block is so because the program says it."""
    before, here.explicit = here.explicit, True
    try:
        yield
    finally:
        here.explicit = before
