"""`jax.debug`: printing and calling back from traced functions."""

from __future__ import annotations

import builtins
import pdb
from collections.abc import Callable
from typing import Any

from .array import as_node
from .callback import debug_callback as callback
from .callback import debug_print as print
from .sharding import default_sharding
from .spreading import sharding_at

__all__ = ["breakpoint", "callback", "inspect_array_sharding", "log", "print", "visualize_array_sharding"]

log = print


def breakpoint(**kwargs: Any) -> None:
    """Stop in Python's debugger when the function is traced. Values under differentiation are there to look at; those
    of `jit` and `vmap` are not."""
    pdb.set_trace()


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call back with the array's sharding; of a traced one with that which was found for it, when it is traced."""
    node = as_node(value)
    callback(sharding_at(node) or default_sharding(node.ndim) if node.trace else value.sharding)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Say where an array lies: on the one device there is."""
    builtins.print(f"{arr.dtype.name}[{','.join(map(str, arr.shape))}] on {', '.join(map(str, arr.devices()))}")
