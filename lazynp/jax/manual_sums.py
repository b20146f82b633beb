"""Summands inside of `shard_map`: values that are `unreduced` along manual axes of a mesh, and those whose cotangents
are (`reduced`). A summand varies between devices; a `reduced` value does not. Which operations may see them is that of
arrays on explicit axes (`unreduced.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..graph.node import ABSTRACT, Node
from ..graph.op import MAP
from .primitive_names import NAMES
from .unreduced import LINEAR, text

Axes = frozenset[Any]
NOTHING: Axes = frozenset()


class Sums(NamedTuple):
    """Along which axes a value is unreduced, and along which reduced."""

    unreduced: Axes = NOTHING
    reduced: Axes = NOTHING


NONE = Sums()
TOTALS = frozenset({"psum", "psum_invariant", "psum_scatter"})


def found(node: Node, marks: dict[Node, Sums], varies: Callable[[Node], Axes | None], axis_of: dict[Node, Any]) -> Sums:
    """The sums of a node, from those that are marked. What is found is marked, too.

    Raises: NotImplementedError for what is not linear, ValueError for operands that do not go together.
    """
    stack = [node]
    while stack:
        n = stack[-1]
        if n in marks:
            stack.pop()
            continue
        missing = [a for a in n.inputs if a.trace == ABSTRACT and a not in marks] if n.trace == ABSTRACT else []
        if missing:
            stack += missing
            continue
        marks[n] = derived(n, [marks.get(a, NONE) for a in n.inputs], varies, axis_of)
        stack.pop()
    return marks[node]


def derived(n: Node, sums: list[Sums], varies: Callable[[Node], Axes | None], axis_of: dict[Node, Any]) -> Sums:
    """The sums of a node whose operands have these."""
    unreduced = NOTHING.union(*[s.unreduced for s in sums])
    reduced = NOTHING.union(*[s.reduced for s in sums])
    if n.op is None or not (unreduced or reduced):
        return NONE
    name = n.op.name
    if name in TOTALS:
        return Sums(unreduced - {axis_of.get(n.inputs[1])}, reduced)
    if name == "pvary":
        return Sums(unreduced, reduced - {axis_of.get(n.inputs[1])})
    if n.op.kind == MAP and len(n.inputs) > 1:
        check_operands(n, sums, varies)
    own = NAMES.get(name, name)
    if unreduced and own != "add" and name not in LINEAR and own not in LINEAR:
        raise NotImplementedError(
            f"unreduced rule for {own} is not implemented. Please file an issue at https://github.com/jax-ml/jax/issues"
        )
    return Sums(unreduced, reduced - NOTHING.union(*[varies(a) or NOTHING for a in n.inputs]))


def check_operands(n: Node, sums: list[Sums], varies: Callable[[Node], Axes | None]) -> None:
    """Raise ValueError where a summand meets what is none."""
    for a, mine in zip(n.inputs, sums):
        for b, other in zip(n.inputs, sums):
            apart = (varies(b) or NOTHING) - other.unreduced
            if mine.unreduced & apart:
                refuse(a, mine.unreduced, mine.unreduced & apart)


def refuse(a: Node, unreduced: Axes, axes: Axes) -> None:
    """Raise ValueError for a summand that is to be taken for a value that varies."""
    shape = ",".join(map(str, a.shape))
    raise ValueError(
        f"pvary cannot accept args which are unreduced. Got {a.dtype.kind}{a.dtype.itemsize * 8}[{shape}]"
        f"{{U:{text(sorted(unreduced, key=str))}}} and axes={set(axes)}"
    )
