"""Which random keys have been used: `jax_debug_key_reuse`.

A key is used by what draws from it or splits it. The parts of an array of keys share one record with it, so that
`keys[0]` twice is the same key twice. Records are kept by node, and die with the nodes.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph.node import Node
from .errors import KeyReuseError, user_line

lock = threading.Lock()


class Record(NamedTuple):
    """Attributes:
    used: for each key of the array that was made first, where it was used; None where it was not.
    place: of each key of this node, its place there.
    """

    used: Any
    place: Any


records: weakref.WeakKeyDictionary[Node, Record] = weakref.WeakKeyDictionary()


def record_of(node: Node) -> Record:
    """The record of a node of keys; new keys are not used yet."""
    found = records.get(node)
    if found is None:
        size = node.aval.size
        found = records[node] = Record(np.full(size, None), np.arange(size).reshape(node.shape))
    return found


def use(node: Node, name: str) -> None:
    """Note that keys are used by `name`. Raises KeyReuseError where one has been used before."""
    with lock:
        record = record_of(node)
        before = [w for w in record.used[record.place].ravel() if w is not None]
        if before:
            raise KeyReuseError(
                f"a random key is used for {name} at {user_line()}, and has been used before: {before[0]}. Make new "
                "keys with jax.random.split or jax.random.fold_in; jax.random.clone says that the repetition is meant."
            )
        record.used[record.place] = f"{name} at {user_line()}"


def share(part: Node, whole: Node, place: Callable[[Any], Any]) -> None:
    """Note that `part` are keys of `whole`: those that `place` picks out of an array of its shape."""
    with lock:
        record = record_of(whole)
        records[part] = Record(record.used, np.broadcast_to(place(record.place), part.shape))


def use_as(traced: Sequence[Node], given: Sequence[Node], name: str) -> None:
    """Note that a function was called with `given`, whose trace used keys of its placeholders `traced`."""
    for inside, outside in zip(traced, given):
        record = records.get(inside)
        if record is not None and any(w is not None for w in record.used):
            use(outside, name)
