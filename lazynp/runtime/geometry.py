"""How the operands of a kernel lie in memory: axes that can be walked as one are one before anything is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..backends.kernel import Geometry, KernelSpec


class Collapsed(NamedTuple):
    """A kernel over fewer axes: the spec, its geometry, and for each operand the index that takes one of what is
    repeated (None: nothing is), and the shape to view it in."""

    spec: KernelSpec
    geometry: Geometry
    trims: tuple[Any, ...]
    shapes: tuple[tuple[int, ...], ...]
    classes: tuple[Any, ...]


def operand_strides(x: Any, shape: tuple[int, ...], reduced: tuple[int, ...]) -> tuple[int, ...]:
    """Element strides over the space; 0 on axes that x lacks or has once. `reduced`: axes that a reduction dropped."""
    strides = [s // x.itemsize if n != 1 else 0 for n, s in zip(x.shape, x.strides)]
    if reduced and x.ndim < len(shape):
        it = iter(strides)
        return tuple([0 if a in reduced else next(it) for a in range(len(shape))])
    return (*(0,) * (len(shape) - x.ndim), *strides)


def collapse(spec: KernelSpec, ins: Sequence[Any], outs: Sequence[Any], shape: tuple[int, ...]) -> Collapsed:
    """Join neighbouring axes that every operand walks alike, and drop those of length 1."""
    first = len(spec.inputs) + len(spec.scalars)
    out_reduced = [
        spec.body[v - first].params[1] if v >= first and spec.body[v - first].op == "reduce" else ()
        for v in spec.outputs
    ]
    reduced = {a for instr in spec.body if instr.op == "reduce" for a in instr.params[1]}
    operands = [
        *[operand_strides(x, shape, ()) for x in ins],
        *[operand_strides(x, shape, r) for x, r in zip(outs, out_reduced)],
    ]
    groups: list[list[int]] = []
    per_axis = {
        a: frozenset(i for i, instr in enumerate(spec.body) if instr.op == "reduce" and a in instr.params[1])
        for a in range(len(shape))
    }
    for axis, n in enumerate(shape):
        if n == 1 and (axis not in reduced or len(shape) > 1):
            continue
        if groups:
            last = groups[-1][-1]
            if per_axis[last] == per_axis[axis] and all(s[last] == s[axis] * n for s in operands):
                groups[-1].append(axis)
                continue
        groups.append([axis])
    new_axis = {a: g for g, axes in enumerate(groups) for a in axes}
    sizes = []
    for axes in groups:
        n = 1
        for a in axes:
            n *= shape[a]
        sizes.append(n)
    body = tuple(
        [
            i._replace(params=(i.params[0], tuple(sorted({new_axis[a] for a in i.params[1] if a in new_axis}))))
            if i.op == "reduce"
            else i
            for i in spec.body
        ]
    )
    strides = tuple([tuple([s[axes[-1]] for axes in groups]) for s in operands])
    shapes = tuple([view_shape(s, sizes) for s in strides])
    geometry = Geometry(tuple(sizes), strides)
    classes = (
        len(sizes),
        tuple([n == 1 for n in sizes]),
        tuple([tuple([k if k in (0, 1) else 2 for k in s]) for s in strides]),
    )
    return Collapsed(
        spec._replace(ndim=len(sizes), body=body), geometry, tuple([trim(x) for x in (*ins, *outs)]), shapes, classes
    )


def trim(x: Any) -> Any:
    """The index that takes one element along each axis on which x only repeats; None if there is none."""
    if 0 not in x.strides:
        return None
    return tuple([slice(0, 1) if s == 0 and n > 1 else slice(None) for n, s in zip(x.shape, x.strides)])


def view_shape(strides: tuple[int, ...], sizes: list[int]) -> tuple[int, ...]:
    return tuple([n if s else 1 for n, s in zip(sizes, strides)])


def is_degenerate(spec: KernelSpec) -> bool:
    """Whether a reduction over axes of length 1 only was left with no axis at all."""
    return any(i.op == "reduce" and not i.params[1] for i in spec.body)
