"""`jax.extend.backend`: the one backend."""

from __future__ import annotations

from typing import Any

from ..config import flags
from ..devices import Device, check_backend, default_backend, default_device, devices, local_devices
from ..names import clear_caches

__all__ = ["backends", "clear_backends", "get_backend", "get_default_device"]


class Backend:
    """What computes: this process, on its processor or the device that it was told."""

    platform_version = "lazynp"

    @property
    def platform(self) -> str:
        """The platform on which arrays are made."""
        return default_backend()

    def devices(self) -> list[Device]:
        """All devices."""
        return list(devices())

    def local_devices(self) -> list[Device]:
        """The devices of this process."""
        return list(local_devices())

    def device_count(self) -> int:
        """How many devices there are."""
        return len(devices())

    def process_index(self) -> int:
        """The number of this process."""
        return 0


CPU = Backend()


def get_backend(platform: Any = None) -> Backend:
    """The backend. Raises RuntimeError for a platform that is not the processor."""
    if platform is not CPU:
        check_backend(platform)
    return CPU


def backends() -> dict[str, Backend]:
    """All backends by platform."""
    return {CPU.platform: CPU}


def get_default_device() -> Device:
    """Where arrays are made."""
    chosen = flags.default_device
    return default_device() if chosen is None or isinstance(chosen, str) else chosen


def clear_backends(_crash: bool = False) -> None:
    """Forget what was traced and compiled."""
    clear_caches()
