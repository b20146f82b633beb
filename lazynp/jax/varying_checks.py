"""Errors where carries and branches vary along other manual axes than they may, in JAX's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.function import Function
from ..graph.node import Node
from ..ops.flow import carry_name, carry_part, last_check, points, who_is
from ..tree import paths_of

Axes = frozenset[Any]

SEE = "See https://docs.jax.dev/en/latest/notebooks/shard_map.html#scan-vma for more information.\n\n"
DIFFER = "so the manual axis types do not match"


def type_text(n: Node, axes: Axes) -> str:
    """A type with the axes along which it varies."""
    names = sorted(map(str, axes))
    vary = f"{{V:{names[0] if len(names) == 1 else '(' + ','.join(names) + ')'}}}" if names else ""
    return f"{n.dtype.name}[{','.join(map(str, n.shape))}]{vary}"


def cast_to(axes: Axes) -> str:
    return f"applying `jax.lax.pcast(..., {tuple(sorted(axes, key=str))}, to='varying')`"


def advice(ways: Sequence[str]) -> str:
    """What might be done, where something might."""
    if not ways:
        return ""
    if len(ways) == 1:
        return f"This might be fixed by {ways[0]}.\n{SEE}"
    listed = ";\n".join([f"  * {way}" for way in ways])
    return f"This might be fixed by:\n{listed}.\n{SEE}"


def check_carries(what: str, body: Function, lies: Sequence[Axes | None], out: Sequence[Axes | None]) -> None:
    """Raise TypeError where a carry comes out of a body otherwise than it went in."""
    name, paths = "", [""] * len(lies)
    if last_check.carry is not None and last_check.carry[1].num_leaves == len(lies):
        name, paths = carry_name(last_check.carry[0]), list(paths_of(last_check.carry[1]))
    diffs, ways = [], []
    for n, path, a, b in zip(body.outputs, paths, lies, out):
        if a is not None and b is not None and a != b:
            part = carry_part(name, path)
            diffs.append(
                f"{part} has type {type_text(n, a)} but the corresponding output carry component has type "
                f"{type_text(n, b)}, {DIFFER}"
            )
            if b - a:
                ways.append(f"{cast_to(b - a)}, to the initial carry value corresponding to {part}")
    if diffs:
        raise TypeError(
            f"{what} function carry input and carry output must have equal types, but they differ:\n\n{points(diffs)}"
            f"\n{advice(ways)}Revise the function so that all output types match the corresponding input types."
        )


def check_branches(branches: Sequence[Function], found: Sequence[Sequence[Axes | None]]) -> None:
    """Raise TypeError where branches give what varies in different ways."""
    if last_check.branches is None:
        return
    what, names, fs, tree = last_check.branches
    order = range(len(branches))[:: -1 if what == "cond" else 1]
    first, outputs = found[order[0]], branches[order[0]].outputs
    for k, i in enumerate(order):
        diffs, ways = [], []
        for n, path, a, b in zip(outputs, paths_of(tree), first, found[i]):
            if a is not None and b is not None and a != b:
                place = f" at path {path}" if path else ""
                diffs.append(
                    f"the output of {names[0]}{place} has type {type_text(n, a)} but the corresponding output of "
                    f"{names[k]} has type {type_text(n, b)}, {DIFFER}"
                )
                for name, missing in ((names[0], b - a), (names[k], a - b)):
                    if missing:
                        ways.append(f"{cast_to(missing)} to the output of {name}{place}")
        if diffs:
            raise TypeError(
                f"{what} branches must have equal output types but they differ.\n\n"
                f"{who_is(names[0], fs[0], names[k], fs[k])}\n{points(diffs)}\n{advice(ways)}Revise {names[0]} and/or "
                f"{names[k]} so that all output types match."
            )
