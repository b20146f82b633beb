"""The arrays that users hold, of both doors, seen from the transformations: handle to node and back."""

from __future__ import annotations

import functools
import importlib
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .graph.aval import Aval
from .graph.node import Node
from .graph.op import untagged
from .runtime.tape import Holder
from .tracebacks import boundary, is_own, leave

FLOAT0 = np.dtype([("float0", np.void, 0)])
"""The dtype of derivatives along whole numbers."""


class Door(NamedTuple):
    """How a door's arrays are taken apart and made.

    Attributes:
        array: the class of its arrays.
        as_node: the node of an argument or a result: an array of any door, a NumPy array, a scalar; in the door's
            dtypes. Raises the door's TypeError for what is no array.
        wrap: the array that stands for a node, pending or abstract: always a handle, never a bare scalar.
        canonical: the dtype that the door uses for one that was asked for (32 bits by default behind JAX's).
        of_value: `(buffer, weak) -> array`, where arrays keep a known value as `_host` and its weakness as `_weak`.
        mutable: whether its arrays can be written to, so that nobody may be given one that somebody else has.
        lose: makes an array one that a differentiated function has left behind, if its arrays end with that.
    """

    name: str
    array: type
    as_node: Callable[[Any], Node]
    wrap: Callable[[Node], Any]
    canonical: Callable[[np.dtype[Any]], np.dtype[Any]]
    of_value: Callable[[np.ndarray, bool], Any] | None = None
    lose: Callable[[Any], None] | None = None
    mutable: bool = True


doors: dict[type, Door] = {}


def register(door: Door) -> Door:
    """Make a door's arrays known."""
    doors[door.array] = door
    return door


def first_door() -> Door:
    """The door that was registered first, NumPy's: for what says nothing of another."""
    return next(iter(doors.values()))


def door_of(leaves: list[Any], default: Door) -> Door:
    """The door whose arrays stand for the leaves inside a user's function: that of the first array among them."""
    for x in leaves:
        door = doors.get(type(x))
        if door is not None:
            return door
    return default


def outermost(x: Any) -> Any:
    """A function of ours that one of ours has returned, with its errors leaving this package; else what it is."""
    return boundary(x) if is_own(x.__func__ if type(x) is types.MethodType else x) else x


def through(f: Callable[..., Any], door: Door) -> Callable[..., Any]:
    """A function of `api` with this door as the default: what a door shows to users."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            out = f(*args, door=door, **kwargs)
        except BaseException as error:
            leave(error)
            raise
        # What `grad` gives, say, and beside its result `vjp`.
        return tuple([outermost(x) for x in out]) if type(out) is tuple else outermost(out)

    signature = inspect.signature(f)
    vars(call).pop("__wrapped__")
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[p for name, p in signature.parameters.items() if name != "door"]
    )
    return call


def wrap_all(door: Door, nodes: Sequence[Node], given: dict[int, Any] | None = None) -> list[Any]:
    """The arrays for these nodes. All are held before the first is made, since that may run what is pending.

    `given`: for the numbers of some of them what the caller has given, and gets back unless arrays can be written to.
    """
    if given and not door.mutable:
        made = iter(wrap_all(door, [n for i, n in enumerate(nodes) if i not in given]))
        return [given[i] if i in given else next(made) for i in range(len(nodes))]
    nodes = [untagged(n) for n in nodes]
    holders = [Holder(n) for n in nodes if n.buffer is None and n.trace < 2] if len(nodes) > 1 else []
    arrays = [door.wrap(n) for n in nodes]
    holders.clear()
    return arrays


def arrays(door: Door, nodes: Sequence[Node | None], like: Sequence[Aval | Node]) -> list[Any]:
    """The arrays for these nodes; zeros of float0 for None."""
    found = iter(wrap_all(door, [n for n in nodes if n is not None]))
    return [np.zeros(x.shape, FLOAT0) if n is None else next(found) for n, x in zip(nodes, like)]


importlib.import_module("lazynp.numpy.door")  # by name: a door stands above
