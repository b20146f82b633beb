"""Jacobians and Hessians: the derivative of a function along all unit vectors at once, as a batch."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from ..doors import Door, arrays
from ..graph.aval import Aval
from ..graph.node import Node
from ..ops.creation import eye
from ..ops.elementwise import weak_cast
from ..ops.promotion import is_inexact
from ..ops.shape import broadcast_to, move_axis, reshape, zeros_of
from ..runtime.tape import Tape
from ..signatures import Fun, argnums_of, callable_, labelled
from ..transforms.batch import batch
from ..transforms.jvp import jvp
from ..transforms.transpose import vjp
from ..tree import unflatten
from .differentiate import Argnums, Run, check_type, pick_arguments, record
from .trace import Trace, after, collecting, effects, placeholder

Blocks = list[list[Node | None]]  # for each result, for each argument


def rows(outputs: Sequence[Node | None], source: Node, trace: Trace) -> list[Node | None]:
    """The outputs, linear in the source, for each unit vector of its space: their axis first. The effects of the trace
    come for each vector that they depend on."""
    size = math.prod(source.shape)
    basis = reshape(eye(size, dtype=source.dtype), shape=(size, *source.shape))
    live, old, new = [n for n in outputs if n is not None], [source], [basis]
    if trace.first is not None:
        old, new = [source, trace.first], [basis, after()]
    made = batch([*live, *trace.effects], old, new, [0, *[None] * (len(old) - 1)])
    effects([e for e, _ in made[len(live) :]])
    found = iter(made)

    def first(node: Node, axis: int | None) -> Node:
        return broadcast_to(node, shape=(size, *node.shape)) if axis is None else move_axis(node, axis, 0)

    return [None if n is None else first(*next(found)) for n in outputs]


def block(found: Node | None, out: Node, argument: Node, forward: bool) -> Node:
    """The derivative of one result along one argument, of both their axes, from rows of unit vectors."""
    shape, like = (*out.shape, *argument.shape), out if forward else argument
    if found is None:
        found = zeros_of(Aval(shape, like.dtype))
    elif forward:
        found = move_axis(found, 0, found.ndim - 1)
    found = found if found.shape == shape else reshape(found, shape=shape)
    return weak_cast(found, dtype=found.dtype) if like.weak else found


def forward_blocks(run: Run) -> Blocks:
    columns = []
    for n in run.leaves:
        with collecting() as trace:
            t = placeholder(Aval(n.shape, n.dtype), trace, 0)
            tangents = jvp(run.outs, [n], [t], forward=True)
        found = rows(tangents, t, trace)
        columns.append([block(f, o, n, True) for f, o in zip(found, run.outs)])
    return [[column[i] for column in columns] for i in range(len(run.outs))]


def reverse_blocks(run: Run) -> Blocks:
    """The blocks, row by row: those along whole numbers are zeros of their dtype."""
    found: Blocks = []
    for o in run.outs:
        with collecting() as trace:
            c = placeholder(Aval(o.shape, o.dtype), trace, 0)
            cotangents = vjp([o], run.leaves, [c])
        lines = rows(cotangents, c, trace)
        found.append([block(g if is_inexact(n.dtype) else None, o, n, False) for g, n in zip(lines, run.leaves)])
    return found


def jacobian_of(
    name: str, fun: Fun, argnums: Argnums, has_aux: bool, holomorphic: bool, allow_int: bool, door: Door | None
) -> Fun:
    """The function that gives all blocks of a run, in the structure of the results and arguments."""
    forward = name == "jacfwd"
    callable_(fun)
    argnums = argnums_of(argnums)
    check = functools.partial(check_type, name, "inputs", holomorphic, forward, allow_int)

    def jacobian_f(*args: Any, **kwargs: Any) -> Any:
        chosen, primals = pick_arguments(fun, argnums, args, kwargs, ValueError)
        with Tape() as tape:
            run = record(tape, chosen, primals, door, has_aux, check)
            for o in run.outs if holomorphic or not forward else ():
                check_type(name, "outputs", holomorphic, True, False, o)
            nodes = [n for row in (forward_blocks if forward else reverse_blocks)(run) for n in row]
            tape.results += [n for n in nodes if n is not None]
        like = [Aval((*o.shape, *n.shape), o.dtype) for o in run.outs for n in run.nodes]
        found, width = arrays(run.door, nodes, like), len(run.nodes)
        trees = [unflatten(run.structure, found[i * width : (i + 1) * width]) for i in range(len(run.outs))]
        out = unflatten(run.out_structure, [t[0] for t in trees] if isinstance(argnums, int) else trees)
        return (out, run.aux) if has_aux else out

    return labelled(jacobian_f, fun, f"Jacobian in {argnums=}")


def jacfwd(
    fun: Fun, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False, *, door: Door | None = None
) -> Fun:
    """A function that gives the Jacobian of `fun`, by forward mode: for each result, for each argument, an array of the
    axes of both. With has_aux, `(jacobian, aux)`."""
    return jacobian_of("jacfwd", fun, argnums, has_aux, holomorphic, False, door)


def jacrev(
    fun: Fun,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    door: Door | None = None,
) -> Fun:
    """The same as `jacfwd`, by reverse mode. With allow_int, the derivatives along whole numbers are zeros of their
    dtype."""
    return jacobian_of("jacrev", fun, argnums, has_aux, holomorphic, allow_int, door)


jacobian = jacrev


def hessian(
    fun: Fun, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False, *, door: Door | None = None
) -> Fun:
    """A function that gives the second derivatives of `fun`: an array of the result's axes and twice the argument's."""
    inner = jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic, door=door)
    return jacfwd(inner, argnums, has_aux=has_aux, holomorphic=holomorphic, door=door)
