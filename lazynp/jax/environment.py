"""`print_environment_info`: what a report of a fault should say of the installation."""

from __future__ import annotations

import os
import platform
import sys

import numpy as np

from .devices import device_count, devices, local_device_count, process_count
from .version import __version__


def print_environment_info(return_string: bool = False) -> str | None:
    """Print versions, devices and the settings in the environment; with `return_string` return the text instead."""
    lines = [
        f"jax:    {__version__} (lazynp.jax)",
        f"numpy:  {np.__version__}",
        f"python: {' '.join(sys.version.split())}",
        f"device info: {devices()[0].device_kind}-{device_count()}, {local_device_count()} local devices",
        f"process_count: {process_count()}",
        f"platform: {platform.uname()}",
        *[f"{key}={value}" for key, value in os.environ.items() if key.startswith(("JAX_", "XLA_", "LAZYNP_"))],
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None
