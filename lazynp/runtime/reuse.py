"""Which random keys have been used: `jax_debug_key_reuse`.

A key is used by what draws from it or splits it, and by being sliced out of an array of keys, so that `keys[0]` can be
taken once. Other parts of an array of keys share one record with it. Records are kept by node, and die with the nodes.
What a traced function uses is noted with its graph, and counts whenever the graph is called.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import KeyReuseError, placeholders, user_line
from ..flags import flags
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node
from ..ops.tags import alias
from ..threads import at_fork

lock = threading.RLock()


def in_child() -> None:
    """After a fork: the lock may be somebody's who is not here."""
    global lock
    lock = threading.RLock()


at_fork(30, child=in_child)


class Keys:
    """An array of keys as it was made. Attributes:
    used: for each key where it was used; None where it was not.
    made: a weak reference to its node.
    """

    def __init__(self, node: Node) -> None:
        self.used = np.full(node.aval.size, None)
        self.made = weakref.ref(node)


class Record(NamedTuple):
    """Attributes:
    keys: the array that was made first.
    place: of each key of this node, its place there; of a part that is not known, the places where it may be.
    """

    keys: Keys
    place: Any


class Uses(NamedTuple):
    """What one run of a traced function uses. Attributes:
    inputs: for each input, which of its keys; None where it uses none.
    captured: keys from outside, and their places there.
    spent: for each output, whether it is an array of keys that have been used.
    """

    inputs: list[Any]
    captured: list[tuple[Keys, Any]]
    spent: list[bool]


class Watches(threading.local):
    """The traces under way in this thread, the innermost last."""

    def __init__(self) -> None:
        self.active: list[Watch] = []


watches = Watches()
records: weakref.WeakKeyDictionary[Node, Record] = weakref.WeakKeyDictionary()
uses: weakref.WeakKeyDictionary[Function, Uses] = weakref.WeakKeyDictionary()


def record_of(node: Node) -> Record:
    """The record of a node of keys; new keys are not used yet."""
    while node.op is alias and node.inputs:
        node = node.inputs[0]
    found = records.get(node)
    if found is None:
        found = records[node] = Record(Keys(node), np.arange(node.aval.size).reshape(node.shape))
    return found


def born(node: Node) -> None:
    """Note that these keys are new."""
    keys = record_of(node).keys
    for watch in watches.active[-1:]:
        watch.own.append(keys)


PRIMITIVES = {"bits": "random_bits", "split": "random_split", "slice": "slice"}


def mark(keys: Keys, place: Any, name: str, at: int = 0) -> None:
    """Raises KeyReuseError where one of the keys, the argument number `at`, has been used before."""
    place = place.ravel()
    before = [w for w in keys.used[place] if w is not None]
    here = f"{name} at {user_line()}"
    if before:
        primitive = PRIMITIVES.get(name)
        raise KeyReuseError(
            (f"In {primitive or 'jit'}, argument {at} is already consumed" if watches.active else
             f"Previously-consumed key passed to {primitive or 'jit-compiled function'} at index {at}")
            + f": a random key is used for {here}, and has been used before: {before[0]}. Make new keys with "
            "jax.random.split or jax.random.fold_in; jax.random.clone says that the repetition is meant."
        )  # fmt: skip
    keys.used[place] = here
    for watch in watches.active[-1:]:
        watch.log.append((keys, place))


def used_of(record: Record) -> Any:
    """For each of its keys, whether it has been used."""
    return np.array([w is not None for w in record.keys.used[record.place.ravel()]], bool)


def use(node: Node, name: str) -> None:
    """Note that keys are used by `name`. Raises KeyReuseError where one has been used before."""
    with lock:
        record = record_of(node)
        mark(record.keys, record.place, name)


def share(part: Node, whole: Node, place: Callable[[Any], Any]) -> None:
    """Note that `part` are keys of `whole`: those that `place` picks out of an array of its shape, or any of them,
    where that is not known yet."""
    with lock:
        record = record_of(whole)
        try:
            places = np.broadcast_to(place(record.place), part.shape)
        except (TypeError, IndexError, ValueError):  # by an index that is traced
            places = record.place
        records[part] = Record(record.keys, places)


def cut(part: Node, whole: Node, place: Callable[[Any], Any]) -> None:
    """Note that `part`, new keys, are those that `place` picks out of `whole`, which are used there. Raises
    KeyReuseError where one has been used before."""
    with lock:
        record = record_of(whole)
        mark(record.keys, place(record.place), "slice")
        born(part)


class Watch:
    """`with Watch() as watch:` while a function is traced; then `watch.note(function)`. Its uses are undone at the end,
    since nothing has run yet."""

    def __init__(self) -> None:
        self.log: list[tuple[Keys, Any]] = []
        self.own: list[Keys] = []

    def __enter__(self) -> Watch:
        if flags.debug_key_reuse:
            watches.active.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        if watches.active and watches.active[-1] is self:
            watches.active.pop()
            for keys, place in self.log:
                keys.used[place] = None

    def note(self, function: Function) -> None:
        """The graph that was traced, before its uses are undone."""
        if not flags.debug_key_reuse:
            return
        inside = set(map(id, self.own))
        for keys, _ in self.log:
            made = keys.made()
            if made is None or made.trace == ABSTRACT and not set(placeholders(made)).isdisjoint(function.inputs):
                inside.add(id(keys))
        captured = [(keys, place) for keys, place in self.log if id(keys) not in inside]
        spent = [bool(n.dtype.names) and bool(used_of(record_of(n)).any()) for n in function.outputs]
        found = [used_of(record_of(n)) if n.dtype.names else None for n in function.inputs]
        uses[function] = Uses([f if f is not None and f.any() else None for f in found], captured, spent)


def use_as(function: Function, given: Sequence[Node], name: str) -> None:
    """Note that a traced function is called with these inputs. Raises KeyReuseError where it uses a key again."""
    found = uses.get(function) if flags.debug_key_reuse else None
    if found is None:
        return
    with lock:
        for i, (used, node) in enumerate(zip(found.inputs, given)):
            if used is not None:
                record = record_of(node)
                part = record.place.ravel()
                mark(record.keys, part[used] if part.size == used.size else part, name, i)
        for keys, place in found.captured:
            mark(keys, place, name)


def spend(function: Function, results: Sequence[Node], name: str) -> None:
    """Note that results of a call are keys that the function itself has used."""
    found = uses.get(function) if flags.debug_key_reuse else None
    if found is not None:
        for node, spent in zip(results, found.spent):
            if node.dtype.names and node not in records:
                born(node)
                if spent:
                    record_of(node).keys.used[:] = name


def use_in_loop(functions: Sequence[Function], given: Sequence[Node], n_carry: int, name: str) -> None:
    """Note that a loop runs with these first inputs, of which `n_carry` are carried. The body is the last function.

    Raises: KeyReuseError where a step uses a key that the next one uses, too.
    """
    if not flags.debug_key_reuse:
        return
    body = functions[-1]
    kept = [s or out is x for s, out, x in zip(uses[body].spent, body.outputs, body.inputs)]
    for found, part in zip([uses[f] for f in functions], ("cond", "body")[-len(functions) :]):
        text = (
            f"{name} {part} function leads to key reuse when repeatedly executed: the one of {name}, at {user_line()},"
        )
        if found.captured:
            raise KeyReuseError(
                f"{text} uses a random key from outside, and so the same one in each "
                "step. Carry the key along and split it in the body, or loop over jax.random.split(key, n)."
            )
        if any([used is not None and k for used, k in zip(found.inputs[:n_carry], kept)]):
            raise KeyReuseError(
                f"{text} uses the random key that it carries, and hands it on to the "
                "next step. Split it in the body: one key to use, one to carry."
            )
    for f in functions:
        use_as(f, given, name)


def use_one_of(functions: Sequence[Function], given: Sequence[Node], name: str) -> None:
    """Note that one of several traced functions is called: the keys that any of them uses count as used."""
    every = [uses[f] for f in functions if f in uses] if flags.debug_key_reuse else []
    if not every:
        return
    with lock:
        taken: dict[int, tuple[Keys, set[int]]] = {}
        for found in every:
            for used, node in zip(found.inputs, given):
                if used is not None:
                    record = record_of(node)
                    part = record.place.ravel()
                    add(taken, record.keys, part[used] if part.size == used.size else part)
            for keys, place in found.captured:
                add(taken, keys, place)
        for keys, places in taken.values():
            mark(keys, np.array(sorted(places)), name)


def add(taken: dict[int, tuple[Keys, set[int]]], keys: Keys, place: Any) -> None:
    taken.setdefault(id(keys), (keys, set()))[1].update(place.ravel().tolist())
