"""The arrays that users hold, of both doors, seen from the transformations: handle to node and back; and the leaves
that stand for a function's arguments while it is differentiated."""

from __future__ import annotations

import functools
import importlib
import inspect
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph.aval import Aval
from ..graph.node import BORROWED, KEPT, Node, leaf
from ..graph.op import make, pick, untagged
from ..ops.tags import alias
from ..runtime.recorder import recorder


class Door(NamedTuple):
    """How a door's arrays are taken apart and made.

    Attributes:
        array: the class of its arrays.
        as_node: the node of an argument or a result: an array of any door, a NumPy array, a scalar; in the door's
            dtypes. Raises the door's TypeError for what is no array.
        wrap: the array that stands for a node, pending or abstract: always a handle, never a bare scalar.
        canonical: the dtype that the door uses for one that was asked for (32 bits by default behind JAX's).
        of_value: `(buffer, weak) -> array`, where arrays keep a known value as `_host` and its weakness as `_weak`.
    """

    name: str
    array: type
    as_node: Callable[[Any], Node]
    wrap: Callable[[Node], Any]
    canonical: Callable[[np.dtype[Any]], np.dtype[Any]]
    of_value: Callable[[np.ndarray, bool], Any] | None = None


doors: dict[type, Door] = {}


def register(door: Door) -> Door:
    """Make a door's arrays known."""
    doors[door.array] = door
    return door


def is_array(x: Any) -> bool:
    """Whether x is an array of a door."""
    return type(x) in doors


def door_of(leaves: list[Any], default: Door) -> Door:
    """The door whose arrays stand for the leaves inside a user's function: that of the first array among them."""
    for x in leaves:
        door = doors.get(type(x))
        if door is not None:
            return door
    return default


def abstract(x: Any, door: Door) -> Aval:
    """The abstract value of a leaf, without computing it."""
    return door.as_node(x).aval


def through(f: Callable[..., Any], door: Door) -> Callable[..., Any]:
    """A function of `api` with this door as the default: what a door shows to users."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        return f(*args, door=door, **kwargs)

    signature = inspect.signature(f)
    vars(call).pop("__wrapped__")
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[p for name, p in signature.parameters.items() if name != "door"]
    )
    return call


# --- Leaves under differentiation -------------------------------------------------------------------------------------


class Depth(threading.local):
    """How many differentiations are under way in this thread, and since which node."""

    n = since = 0


depth = Depth()
live: set[Node] = set()
"""The leaves of differentiations that are under way, in all threads."""


class Tape:
    """`with Tape() as tape:` while a function is differentiated: its leaves, whose dependents stay a graph when
    computed. Afterwards these are ordinary values again, and what only transformations need is cut out of them."""

    def __init__(self) -> None:
        self.leaves: list[Node] = []
        self.results: list[Node] = []

    def __enter__(self) -> Tape:
        if depth.n == 0:
            depth.since = recorder.count
        depth.n += 1
        return self

    def fresh(self, node: Node) -> Node:
        """A leaf with this node's value, which derivatives can tell from it."""
        if node.value is not None:
            new = leaf((), node.dtype, np.asarray(node.value, node.dtype), weak=node.weak, trace=KEPT)
            new.index = BORROWED
        elif node.trace == 0 and node.buffer is not None:
            new = Node(alias, (node,), (), (), node.shape, node.dtype, node.weak, node.number, node.sort)
            new.buffer, new.index, new.trace = node.buffer, BORROWED, KEPT
        else:
            new = make(alias, (node,))
            new.trace = max(node.trace, KEPT)
        self.leaves.append(new)
        live.add(new)
        return new

    def __exit__(self, *error: object) -> None:
        depth.n -= 1
        for x in self.leaves:
            live.discard(x)
            x.trace = x.inputs[0].trace if x.inputs else 0
        if depth.n == 0:
            settle(self.results, depth.since)


def settle(results: Sequence[Node], since: int) -> None:
    """Make what no differentiation needs any more ordinary: the pending nodes from number `since` on, and the results
    with what they depend on."""
    with recorder.lock:
        pending = recorder.nodes
        if pending and since > pending[0].index:
            pending = pending[since - pending[0].index :]  # none, where since is the next one's number
        kept: set[Node] = set()  # another differentiation needs these
        for root in (*pending, *results):
            stack = [root]
            while stack:
                node = stack[-1]
                if node.trace != KEPT or node in live or node in kept:
                    stack.pop()
                    continue
                below = [i for i in node.inputs if i.trace == KEPT and i not in live and i not in kept]
                if below:
                    stack.extend(below)
                    continue
                stack.pop()
                node.trace = max([i.trace for i in node.inputs], default=0)
                if node.trace:
                    kept.add(node)
                elif node.buffer is not None and node.op is not alias:  # which shares the buffer of its input
                    node.inputs = ()
                else:
                    cut(node)


def outlived(node: Node) -> bool:
    """Whether a node belonged to a differentiation, and none is under way: then it is an ordinary one from now on."""
    if node.trace != KEPT or live:
        return False
    settle([node], recorder.count)
    return node.trace == 0


def cut(node: Node) -> None:
    """Read what tags stand for, past them."""
    if any([i.op is not None and (i.op.tag or i.op is pick) for i in node.inputs]):
        node.inputs = tuple([untagged(i) for i in node.inputs])


class Holder:
    """Says to the recorder that a node's value is wanted, as an array of it would."""

    __slots__ = ("node", "__weakref__")

    def __init__(self, node: Node) -> None:
        self.node = node
        ref = weakref.ref(self)
        node.holder = ref if node.holder is None else (node.holder, ref)


def wrap_all(door: Door, nodes: Sequence[Node]) -> list[Any]:
    """The arrays for these nodes. All are held before the first is made, since that may run what is pending."""
    nodes = [untagged(n) for n in nodes]
    holders = [Holder(n) for n in nodes if n.buffer is None and n.trace < 2] if len(nodes) > 1 else []
    arrays = [door.wrap(n) for n in nodes]
    holders.clear()
    return arrays


importlib.import_module("lazynp.numpy.door")  # by name: a door stands above
