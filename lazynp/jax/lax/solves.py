"""Solutions that are defined by what they solve: `custom_root`, `custom_linear_solve`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...api import differentiate
from ...api.control import pair, traced
from ...api.custom import Rule, closure_convert, ruled, traced_level
from ...api.differentiate import tangent_node
from ...doors import wrap_all
from ...errors import named
from ...graph.function import Function
from ...graph.node import Node
from ...graph.op import results
from ...ops.closure import close
from ...ops.control import tangent_leaf
from ...ops.elementwise import negative
from ...ops.rewrites import rewrites
from ...ops.shape import instantiate
from ...ops.solves import linear_solve
from ...ops.tags import Nodes, Tangents, custom
from ...tree import flatten, structure, unflatten
from ...tree import map as tree_map
from ..array import as_node, door, wrap
from .call import public


class Implicit(Rule):
    """The rule of a solution: the equation alone says how it moves, whatever the solver reads besides, which is not run
    again. `change` gives the tangent for the result, the equation's constants and their tangents."""

    def __init__(self, name: str, change: Callable[[Any, Any, Any], Any]) -> None:
        super().__init__(name)
        self.change = change

    def jvp(self, outs: Nodes, kept: Nodes, inputs: Nodes, tangents: Tangents) -> Tangents:
        n, wrap = len(inputs) - self.closed, self.door.wrap
        again = results(custom(*outs, *inputs, rule=self, hidden=len(outs), n=len(outs)))
        consts, moved = self.arguments(inputs)[1], self.along(tangents[:n], inputs[:n], self.structure)[0][1]
        found = flatten(self.change(unflatten(self.out_structure, [wrap(x) for x in again]), consts, moved))[0]
        return [*[tangent_node(self.door, t) for t in found], *[None] * (len(outs) - len(found))]


@public
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """x with f(x) = 0, found by `solve(f, initial_guess)`, with the derivatives of an implicit function.

    `tangent_solve(g, y)` solves the linear equation g(x) = y. With `has_aux` solve returns x and something else, which
    has no derivative.

    Raises: ValueError for a guess of whole numbers, around which f has no linear form, before solve is called.
    """
    guesses = [as_node(x) for x in flatten(initial_guess)[0]]
    if guesses and not any(g.dtype.kind in "fcV" for g in guesses):
        dtype = guesses[0].dtype
        raise ValueError(f"custom_root needs a guess of inexact numbers, to solve f's linear form; got {dtype}")
    kept = structure(initial_guess)

    def equation(x: Any) -> Any:
        out = f(x)
        check(structure(out), kept, "f()", "initial_guess")
        return out

    general, captured = closure_convert(equation, initial_guess, door=door)

    def root(guess: Any, consts: Any) -> Any:
        out = solve(lambda x: general(x, *consts), guess)
        check(structure(out[0] if has_aux else out), kept, "solve()", "initial_guess")
        return out

    def change(out: Any, consts: Any, moved: Any) -> Any:
        x = out[0] if has_aux else out
        along = differentiate.jvp(lambda *c: general(x, *c), tuple(consts), tuple(moved), door=door)[1]
        found = tangent_solve(
            lambda v: differentiate.jvp(lambda y: general(y, *consts), (x,), (v,), door=door)[1], along
        )
        check(structure(found), kept, "tangent_solve()", "x")
        return tree_map(lambda t: wrap(negative(as_node(t))), found)

    args = initial_guess, list(captured)
    level = traced_level(args)
    if level:
        return ruled(Implicit("custom_root", change), root, args, {}, level)
    return tree_map(lambda x: wrap(as_node(x)), root(*args))


@public
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """x with matvec(x) = b, found by `solve(matvec, b)`, with the derivatives of a linear system's solution.

    `transpose_solve(vecmat, b)` solves the transposed system, which reverse mode needs; for a symmetric one solve does.

    Raises: ValueError or TypeError where matvec or a solver do not keep b's shapes and structure.
    """
    leaves, tree = flatten(b)
    nodes = [as_node(x) for x in leaves]
    forward, out = traced(matvec, nodes, pair(tree), door, "custom_linear_solve")
    check_like(forward.outputs, nodes, out, tree, "matvec()")
    if transpose_solve is None and symmetric:
        transpose_solve = solve

    def solution(f: Any, apply: Any, what: str) -> tuple[Function, Any]:
        function, out = traced(lambda v: f(apply, v), nodes, pair(tree), door, "custom_linear_solve")
        found = out.child(0) if has_aux and not out.is_leaf() else out
        check_like(function.outputs[: found.num_leaves], nodes, found, tree, what)
        return function, out

    main, out = solution(solve, matvec, "solve()")
    functions: list[Any] = [forward, main]
    if transpose_solve is not None:
        backward = forward if symmetric else transposed(forward)

        def vecmat(v: Any) -> Any:
            return unflatten(tree, [wrap(n) for n in backward(*[as_node(x) for x in flatten(v)[0]])])

        functions += [backward, solution(transpose_solve, vecmat, "transpose_solve()")[0]]
    closed, captured = close(*functions)
    pack = (*closed, *[None] * (4 - len(closed)))
    found = results(linear_solve(*captured, *nodes, functions=pack, n_consts=len(captured)))
    return unflatten(out, wrap_all(door, list(found)))


def transposed(f: Function) -> Function:
    """The transpose of a linear graph."""
    given: list[Node] = [tangent_leaf(n) for n in f.outputs]
    found = rewrites.transpose(f.outputs, f.inputs, given)
    return Function(given, [instantiate(c, n) for c, n in zip(found, f.inputs)])


def check(out: Any, tree: Any, what: str, expected: str) -> None:
    if out != tree:
        raise TypeError(f"{what} output pytree structure must match {expected}, got {named(out)} and {named(tree)}.")


def check_like(outs: Nodes, nodes: Nodes, out: Any, tree: Any, what: str) -> None:
    """Raises ValueError where results have other shapes than b, TypeError where they have another structure."""
    shapes = [[n.shape for n in side] for side in (outs, nodes)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"{what} output shapes must match b, got {shapes[0]} and {shapes[1]}")
    check(out, tree, what, "b")


__all__ = ["custom_linear_solve", "custom_root"]
