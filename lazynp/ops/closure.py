"""Closed functions: graphs that read nothing but their inputs and scalars, one object for each structure.

A loop's body is closed before it becomes a parameter of an op: what it captures is an input like any other, so that
derivatives and batches reach it. Equal bodies are one object, so that whatever was made for the first (plans, machine
code) serves the next.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..graph.function import Function, replay
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import MAP, VIEW, current, make
from ..graph.walk import dependents, toposort

known: weakref.WeakValueDictionary[Any, Function] = weakref.WeakValueDictionary()
Own = Callable[[Node], bool]
CREATION = frozenset({"iota", "arange", "tri", "eye"})


class unrecorded:
    """In here no node is told to the recorder: what rewrites make is part of a body, to be run with it."""

    def __enter__(self) -> None:
        self.before = vars(current).get("sink", unrecorded)
        current.sink = None

    def __exit__(self, *error: object) -> None:
        if self.before is unrecorded:
            vars(current).pop("sink", None)  # a rule that was run here may have set flags
        else:
            current.sink = self.before


def scalar_key(value: Any) -> Any:
    """Tells 0.0 from -0.0 and 1 from True, and takes NaN for equal to itself."""
    return (value.dtype, value.tobytes()) if hasattr(value, "dtype") else (type(value), repr(value))


def structure(function: Function) -> Any:
    """A key that functions share which do the same to inputs of the same shapes and dtypes. None: it has none.

    Raises: ValueError for a function that captures something.
    """
    place: dict[Node, int] = {n: i for i, n in enumerate(function.inputs)}
    lines: list[Any] = [tuple([n.number for n in function.inputs])]
    results = (*function.outputs, *function.effects)
    for node in toposort(results, stop=place.copy()):
        if node in place:
            continue
        if node.value is not None:
            lines.append(scalar_key(node.value))
        elif node.op is None:
            raise ValueError(f"a function that is not closed: it reads {node}")
        else:
            lines.append((node.op, node.static, node.moving, *[place[i] for i in node.inputs]))
        place[node] = len(place)
    lines.append((len(function.outputs), *[place[n] for n in results]))
    key = tuple(lines)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def with_leaves(inputs: Sequence[Node], outputs: Sequence[Node]) -> tuple[Sequence[Node], list[Node]]:
    """The same graph over placeholders of its own, where the inputs are other nodes, or the same one twice."""
    if all([n.op is None and n.trace == ABSTRACT for n in inputs]) and len(set(inputs)) == len(inputs):
        return inputs, list(outputs)
    fresh = [leaf(n.shape, n.dtype, weak=n.weak, trace=ABSTRACT) for n in inputs]
    return fresh, replay(outputs, inputs, fresh)


def interned(inputs: Sequence[Node], outputs: Sequence[Node], effects: Sequence[Node] = ()) -> Function:
    """The one function of that structure; the inputs may be any nodes, behind which it does not look."""
    inputs, results = with_leaves(inputs, [*outputs, *effects])
    function = Function(inputs, results[: len(outputs)], results[len(outputs) :])
    key = structure(function)
    return function if key is None else known.setdefault(key, function)


def inlined(node: Node) -> bool:
    """Whether a captured node is cheaper made anew inside than handed in: a spread scalar, a range."""
    while node.value is None:
        op = node.op
        if op is None or node.buffer is not None or node.trace:
            return False
        if op.name in CREATION:
            return True
        if (op.kind != VIEW and not (op.kind == MAP and op.name in ("cast", "weak_cast"))) or len(node.inputs) != 1:
            return False
        node = node.inputs[0]
    return True


def outside(function: Function, own: Own | None = None) -> list[Node]:
    """What a function reads that does not depend on its inputs, nor on effects of its own, scalars among it. `own`:
    which of these nodes are the function's nevertheless, so that what they read counts in their place."""
    results = (*function.outputs, *function.effects)
    sources = function.inputs if function.token is None else (*function.inputs, function.token)
    order = [*dependents(results, sources), *function.effects]
    inside = {*sources, *order}
    read: dict[Node, None] = {}
    for node in order:
        read.update(dict.fromkeys([i for i in node.inputs if i not in inside]))
    read.update(dict.fromkeys([n for n in function.outputs if n not in inside]))
    if own is None:
        return list(read)
    found: dict[Node, None] = {}
    stack, entered = list(reversed(read)), set(inside)
    while stack:
        node = stack.pop()
        if node not in entered:
            entered.add(node)
            if inlined(node) or not own(node):
                found[node] = None
            else:
                stack.extend(reversed(node.inputs))
    return list(found)


def captured(function: Function, own: Own | None = None) -> list[Node]:
    """The same without scalars and what can be made inside."""
    return [n for n in outside(function, own) if not inlined(n)]


def anew(node: Node) -> Node:
    """An inlined node, made once more: the one that was captured may be computed, and lose its inputs, at any time."""
    if node.op is None or node.value is not None:
        return node
    return make(node.op, tuple([anew(i) for i in node.inputs]), node.static, node.moving)


def results_apart(function: Function, own: Own | None = None) -> list[Node]:
    """A function's outputs and effects, over inlined nodes of its own; what it captures stays as it is, even where that
    depends on one of these."""
    read = [(n, inlined(n)) for n in outside(function, own) if n.value is None]
    if not any(cheap for _, cheap in read):
        return [*function.outputs, *function.effects]
    made = [anew(n) if cheap else n for n, cheap in read]
    return replay((*function.outputs, *function.effects), [n for n, _ in read], made)


def close(*functions: Function, own: Sequence[Own] = ()) -> tuple[list[Function], list[Node]]:
    """The functions, each with the nodes that any of them captures as its first inputs; and these nodes. `own`, for
    each function: see `outside`."""
    found: list[tuple[Function, Own | None]] = [*zip(functions, own)] if own else [(f, None) for f in functions]
    read: dict[Node, None] = {}
    for f, mine in found:
        read.update(dict.fromkeys(captured(f, mine)))
    extra = list(read)
    with unrecorded():
        parts = [(f, results_apart(f, mine), len(f.outputs)) for f, mine in found]
        return [interned((*extra, *f.inputs), made[:n], made[n:]) for f, made, n in parts], extra
