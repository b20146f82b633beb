"""`debug_nans`, `debug_infs`: NaN and infinity are errors where they come up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..away import on_host
from ..flags import Flags, flags, watchers
from ..graph.node import Node
from ..graph.op import Current, current
from ..ops.promotion import is_inexact
from .detours import detour
from .recorder import recorder

names: dict[str, str] = {}
"""What operations are called in errors, where a door has other names than the graph."""


def check_values(values: Sequence[Any], where: str) -> None:
    """Raise FloatingPointError for a NaN (under `debug_nans`) or an infinity (under `debug_infs`) among these."""
    if not (flags.debug_nans or flags.debug_infs):
        return
    for x in map(on_host, values):
        if is_inexact(x.dtype):
            wide = x if x.dtype.kind in "fc" else x.astype(np.float32)
            if flags.debug_nans and np.isnan(wide).any():
                raise FloatingPointError(f"invalid value (nan) encountered in {where}")
            if flags.debug_infs and np.isinf(wide).any():
                raise FloatingPointError(f"invalid value (inf) encountered in {where}")


def checked(node: Node) -> None:
    """Record a node and compute it at once, so that the error comes from the line that made the value."""
    recorder(node)
    recorder.demand(node)
    assert node.op is not None
    values = on_host(node.buffer)
    check_values(values if type(values) is tuple else (values,), names.get(node.op.name, node.op.name))


def watch(target: Any) -> None:
    """Check each operation where the flags ask for it: then none may take a shortcut past the graph."""
    if target is Flags:
        Current.sink = staticmethod(checked) if Flags.debug_nans or Flags.debug_infs else recorder  # type: ignore
    asked = flags.debug_nans or flags.debug_infs
    vars(current).pop("sink", None)
    if asked:
        current.sink = checked
    detour(checked, asked)


watchers.append(watch)
