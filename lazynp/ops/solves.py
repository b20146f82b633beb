"""The solution of a linear system whose matrix is a function: `linear_solve`, with the derivatives of implicit ones.

All functions are closed, over the same captured values, which are their first inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import Node
from ..graph.op import LIBRARY, Op, results
from . import control
from .closure import unrecorded
from .control import batched, batched_inputs, chosen, rewritten, spread, tangents_of
from .elementwise import add, negative
from .shape import Axes, batch_size, instantiate, to_front

Functions = tuple[Function, Function, Function | None, Function | None]
"""matvec, solve; and for the transposed system the same two, where they are known."""


def solve_abstract(*avals: Aval, functions: Functions, n_consts: int) -> tuple[Aval, ...]:
    return functions[1].out_avals


def solve_lower(xp: Any, *args: Any, functions: Functions, n_consts: int) -> Any:
    return control.engine.cond((0, *args), branches=(functions[1],))


def solve_jvp(
    tangents: Sequence[Node | None], out: Node, *inputs: Node, functions: Functions, n_consts: int
) -> list[Node | None]:
    """A x = b gives A dx = db - dA x."""
    consts, t_consts, right = inputs[:n_consts], tangents[:n_consts], list(tangents[n_consts:])
    n = len(inputs) - n_consts
    moved = [t is not None for t in t_consts]
    if any(moved):
        matvec = functions[0]
        with unrecorded():
            given, along = tangents_of(matvec, [*moved, *[False] * n])
            live = [t is not None for t in along]
            change = rewritten([*matvec.inputs, *chosen(given, given)], chosen(along, live))
        found = iter(change(*consts, *results(out)[:n], *chosen(t_consts, moved)))
        for i, alive in enumerate(live):
            if alive:
                part, t = negative(next(found)), right[i]
                right[i] = part if t is None else add(t, part)
    if all(t is None for t in right):
        return [None] * len(out.outs)
    full = [instantiate(t, b) for t, b in zip(right, inputs[n_consts:])]
    moved_by = linear_solve(*consts, *full, functions=functions, n_consts=n_consts)
    return [*results(moved_by)[:n], *[None] * (len(out.outs) - n)]


def solve_transpose(cts: Sequence[Node | None], *inputs: Any, functions: Functions, n_consts: int) -> list[Node | None]:
    matvec, solve, vecmat, back = functions
    if any(type(x) is Aval for x in inputs[:n_consts]):
        raise TypeError("cannot transpose: the solution is not linear in the matrix")
    if vecmat is None or back is None:
        raise TypeError("transpose_solve required for backwards mode automatic differentiation of custom_linear_solve")
    right = [instantiate(c, b) for c, b in zip(cts, inputs[n_consts:])]
    out = linear_solve(*inputs[:n_consts], *right, functions=(vecmat, back, matvec, solve), n_consts=n_consts)
    return [*[None] * n_consts, *results(out)[: len(right)]]


def solve_batch(inputs: Sequence[Node], axes: Axes, *, functions: Functions, n_consts: int) -> tuple[Node, int]:
    n = batch_size(inputs, axes)
    mapped = [*[a is not None for a in axes[:n_consts]], *[True] * (len(inputs) - n_consts)]

    def wide(f: Function | None) -> Function | None:
        if f is None:
            return None
        new = batched_inputs(f, mapped, n)
        pairs, effects = batched(f, new, mapped)
        return rewritten(new, [spread(x, a, n) for x, a in pairs], effects)

    with unrecorded():
        made: Any = tuple([wide(f) for f in functions])
    args = [spread(x, a, n) if m else x for x, a, m in zip(inputs, axes, mapped)]
    args = [to_front(x, a) if a is not None and not m else x for x, a, m in zip(args, axes, mapped)]
    return linear_solve(*args, functions=made, n_consts=n_consts), 0


linear_solve = Op(
    "linear_solve",
    LIBRARY,
    solve_abstract,
    solve_lower,
    static=("functions", "n_consts"),
    jvp=solve_jvp,
    transpose=solve_transpose,
    batch=solve_batch,
    n_out=0,
)
"""What `solve` makes of captured values and right-hand sides."""
