"""`grad` and its kin: derivatives of user functions, through either door.

A function is run on fresh leaves, which have values, so that Python's `if` and `while` work; its graph is then
rewritten by `transforms`. Arguments, results and errors are JAX's. Jacobians are in `jacobian`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..doors import FLOAT0, Door, arrays, door_of, doors, first_door, wrap_all
from ..errors import cotangent_error, cotangent_tree_error, derivative_error, tangent_text, transposed_error, tree_text
from ..graph.function import replay
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.walk import dependents
from ..leaks import lose, losing
from ..ops.promotion import is_inexact, is_weak
from ..ops.tags import NO_FORWARD, pulled
from ..ops.tags import stop_gradient as stop_node
from ..ops.weak import all_instantiated, instantiated, weak_cotangents, weak_tangents
from ..runtime.tape import Holder, Tape, cut
from ..signatures import Fun, argnums_of, callable_, check_places, held, labelled, name_of
from ..transforms.jvp import jvp as jvp_graph
from ..transforms.transpose import linearize as linearize_graph
from ..transforms.transpose import transpose as transpose_graph
from ..transforms.transpose import vjp as vjp_graph
from ..tree import differences, flatten, map, unflatten

Argnums = int | Sequence[int]
Check = Callable[[Node], None]

# --- Running the function ---------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """A function that was run to be differentiated.

    Attributes:
        door: whose arrays it was run on.
        nodes: of the arguments' leaves. leaves: what stood for them. structure: of the arguments.
        outs, out_structure: nodes of the result's leaves, and its structure. aux: what it returned besides.
    """

    door: Door
    nodes: list[Node]
    leaves: list[Node]
    structure: Any
    outs: list[Node]
    out_structure: Any
    aux: Any


def record(tape: Tape, fun: Fun, primals: Any, door: Door | None, has_aux: bool, check: Check | None = None) -> Run:
    """Run `fun(*primals)` on fresh leaves; `check(node)` may refuse an argument."""
    leaves, structure = flatten(primals)
    door = door_of(leaves, door or first_door())
    nodes = [door.as_node(x) for x in leaves]
    for n in nodes if check is not None else ():
        check(n)  # type: ignore[misc]
    fresh = [tape.fresh(n) if is_inexact(n.dtype) else n for n in nodes]
    out, aux = losing(tape, door, fun)(*unflatten(structure, [door.wrap(n) for n in fresh])), None
    if has_aux:
        if not isinstance(out, (list, tuple)) or len(out) != 2:
            raise TypeError(
                "expected function with aux output to return a two-element tuple, but got type "
                f"{type(out)} with value {out!r}"
            )
        out, aux = out
    (results, out_structure), (others, aux_structure) = flatten(out), flatten(aux)
    outs, own = [door.as_node(x) for x in results], [doors.get(type(x)) for x in others]
    found = [x if d is None else d.as_node(x) for x, d in zip(others, own)]
    del out, aux, results, others
    lose(tape, door)
    tape.over()
    tape.results += [n for n, d in zip(found, own) if d is not None]
    aux = unflatten(aux_structure, [x if d is None else d.wrap(x) for x, d in zip(found, own)])
    return Run(door, nodes, fresh, structure, outs, out_structure, aux)


def pick_arguments(
    fun: Fun, argnums: Argnums, args: Any, kwargs: Any, error: type[Exception] = TypeError
) -> tuple[Fun, Any]:
    """A function of the chosen arguments only, and these. Raises TypeError, or `error`, where there are not so many."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    check_places(argnums, places, len(args), error)
    return (fun, args) if len(args) == 1 and not kwargs else held(fun, args, kwargs, [i % len(args) for i in places])


# --- Checks, with JAX's messages --------------------------------------------------------------------------------------


def check_type(name: str, what: str, holomorphic: bool, real: bool, whole: bool, n: Node) -> None:
    """Raise TypeError for an argument or a result (`what`) that cannot be differentiated: one that is not complex where
    `holomorphic`, one that is complex where `real`, whole numbers but where they are allowed (`whole`)."""
    if holomorphic:
        if n.dtype.kind != "c":
            raise TypeError(f"{name} with holomorphic=True requires {what} with complex dtype, but got {n.dtype.name}.")
        return
    refused = real and n.dtype.kind == "c"
    if refused or not (whole or is_inexact(n.dtype)):
        raise derivative_error(name, what, real, n)


def check_scalar(run: Run) -> Node:
    """The node of a result that has to be one number."""
    text = "Gradient only defined for scalar-output functions. Output"
    if not run.out_structure.is_leaf():
        raise TypeError(f"{text} was {unflatten(run.out_structure, wrap_all(run.door, run.outs))}.")
    if run.outs[0].shape != ():
        raise TypeError(f"{text} had shape: {run.outs[0].shape}.")
    return run.outs[0]


def no_reduce_axes(reduce_axes: Sequence[Any]) -> None:
    if reduce_axes:
        raise NotImplementedError("the reduce_axes argument is deprecated, and has no replacement")


# --- Tangents and cotangents ------------------------------------------------------------------------------------------


def tangent_node(door: Door, x: Any) -> Node | None:
    """The node of a tangent or cotangent; None for one of float0."""
    return None if getattr(x, "dtype", None) == FLOAT0 else door.as_node(x)


def tangent_nodes(
    what: str, door: Door, tree: Any, structure: Any, like: Sequence[Node], *errors: type[Exception]
) -> list[Node | None]:
    """The nodes of a tree of tangents or cotangents, None for float0.

    Raises: the errors, where the tree's structure, a dtype or a shape is not that of what they belong to.
    """
    wrong_tree, wrong_dtype, wrong_shape = errors
    leaves, given = flatten(tree)
    if given != structure:
        raise wrong_tree(tree_text(what, structure, given))
    found = []
    for x, n in zip(leaves, like):
        node, expected = tangent_node(door, x), n.dtype if is_inexact(n.dtype) else FLOAT0
        dtype = FLOAT0 if node is None else node.dtype
        if dtype != expected:
            raise wrong_dtype(tangent_text(what, n.dtype, dtype, expected))
        if np.shape(x) != n.shape:
            raise wrong_shape(tangent_text(what, n.shape, np.shape(x)))
        found.append(node)
    return found


def cotangent_nodes(door: Door, tree: Any, structure: Any, like: Sequence[Node]) -> list[Node | None]:
    """The nodes of a tree of cotangents of these results, None for whole numbers, whatever their cotangents' dtype is.

    Raises: ValueError where the tree's structure, a dtype or a shape is not that of the results.
    """
    leaves, given = flatten(tree)
    if given != structure:
        raise cotangent_tree_error(differences(structure, given))
    found = []
    for x, n in zip(leaves, like):
        node, whole = tangent_node(door, x), not is_inexact(n.dtype)
        if np.shape(x) != n.shape or not whole and (node is None or node.dtype != n.dtype):
            raise cotangent_error(np.shape(x), node, n, whole)
        found.append(None if whole else node)
    return found


# --- Reverse mode -----------------------------------------------------------------------------------------------------


def value_and_grad(
    fun: Fun,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
    *,
    door: Door | None = None,
) -> Fun:
    """A function that gives `fun`'s value and its gradient.

    Args:
        fun: returns one real number (of shape `()`).
        argnums: the positional arguments to differentiate along: pytrees of floating-point arrays.
        has_aux: whether fun returns `(value, aux)`; then the result is `((value, aux), gradient)`.
        holomorphic: whether fun is holomorphic: arguments and value are complex then.
        allow_int: whether whole numbers are allowed: their gradients are zeros of dtype float0.

    Returns: a function with fun's arguments; the gradient has the structure of the argument, or is a tuple of such
        where argnums is a sequence.

    Raises: TypeError, when it is called, for other arguments or results than these.
    """
    no_reduce_axes(reduce_axes)
    callable_(fun)
    argnums = argnums_of(argnums)
    check = functools.partial(check_type, "grad", "inputs", holomorphic, False, allow_int)

    def value_and_grad_f(*args: Any, **kwargs: Any) -> Any:
        chosen, primals = pick_arguments(fun, argnums, args, kwargs)
        with Tape() as tape:
            run = record(tape, chosen, primals, door, has_aux, check)
            value = check_scalar(run)
            check_type("grad", "outputs", holomorphic, True, False, value)
            found = vjp_graph([value], run.leaves, [Node.of_scalar(np.ones((), value.dtype)[()])])
            grads = all_instantiated(found, run.nodes, weak_cotangents([value], run.leaves), value.weak)
            tape.results += [value, *[g for g in grads if g is not None]]
        out, *leaves = arrays(run.door, [value, *grads], [value, *run.nodes])
        gradient = unflatten(run.structure, leaves)
        return ((out, run.aux) if has_aux else out), (gradient[0] if isinstance(argnums, int) else gradient)

    return labelled(value_and_grad_f, fun, f"Value and gradient in {argnums=}")


def grad(
    fun: Fun,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
    *,
    door: Door | None = None,
) -> Fun:
    """A function that gives the gradient of `fun`; with has_aux, `(gradient, aux)`. See `value_and_grad`."""
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes, door=door)

    def grad_f(*args: Any, **kwargs: Any) -> Any:
        out, gradient = both(*args, **kwargs)
        return (gradient, out[1]) if has_aux else gradient

    return labelled(grad_f, fun, f"Gradient in {argnums=}")


class Linear:
    """The derivative of a function at a point, `forward` or backward: a linear graph from `inputs` (placeholders; None
    for whole numbers) to `outputs` (None: zero). It holds the values that it needs."""

    def __init__(self, fun: Fun, primals: Any, door: Door | None, has_aux: bool, forward: bool) -> None:
        with Tape() as tape:
            run = self.run = record(tape, callable_(fun), primals, door, has_aux)
            self.inputs, self.outputs = linearize_graph(run.outs, run.leaves)
            self.weak = (weak_tangents if forward else weak_cotangents)(run.outs, run.leaves)
            self.sources = [n for n in self.inputs if n is not None]
            inside = dependents([n for n in self.outputs if n is not None], self.sources)
            tape.results += [*run.outs, *[n for node in inside for n in node.inputs]]
        self.reverse = any([n.op is pulled for n in inside])
        for node in inside:
            cut(node)
        kept = {n for node in inside for n in node.inputs}.difference(inside, self.sources)
        self.holders = [Holder(n) for n in kept if n.buffer is None and n.value is None and n.trace == 0]

    def result(self, linear_map: Fun, has_aux: bool) -> Any:
        """What the user's function returned, and the map; and aux, where there is some."""
        run = self.run
        out = unflatten(run.out_structure, wrap_all(run.door, run.outs)), linear_map
        return (*out, run.aux) if has_aux else out

    def forward(self, *tangents: Any) -> Any:
        """The derivative along these tangents of the arguments."""
        if self.reverse:
            raise TypeError(NO_FORWARD)
        run, wrong = self.run, (TypeError, ValueError, ValueError)
        ts = tangent_nodes("linearized function: primals and tangents", run.door, tangents, run.structure, run.nodes,
                           *wrong)  # fmt: skip
        given = [t for t, n in zip(ts, self.inputs) if n is not None and t is not None]
        found = iter(replay([n for n in self.outputs if n is not None], self.sources, given))
        along = [None if n is None else next(found) for n in self.outputs]
        along = all_instantiated(along, run.outs, self.weak, all([t is None or t.weak for t in ts]))
        return unflatten(run.out_structure, arrays(run.door, along, run.outs))

    def backward(self, out_ct: Any) -> Any:
        """The arguments' cotangents, a tuple, for a cotangent of the result."""
        run = self.run
        cts = cotangent_nodes(run.door, out_ct, run.out_structure, run.outs)
        pairs = [(t, c) for t, c in zip(self.outputs, cts) if t is not None and c is not None]
        found = iter(transpose_graph([t for t, _ in pairs], self.sources, [c for _, c in pairs]))
        whole = [None if n is None else next(found) for n in self.inputs]
        grads = all_instantiated(whole, run.nodes, self.weak, all([c is None or c.weak for c in cts]))
        return unflatten(run.structure, arrays(run.door, grads, run.nodes))


def vjp(
    fun: Fun, *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = (), door: Door | None = None
) -> Any:
    """`fun(*primals)`, and the function that pulls a cotangent of it back to the arguments, a tuple; aux as third with
    has_aux.

    The pullback raises ValueError for a cotangent of another structure, shape or dtype than the result's.
    """
    no_reduce_axes(reduce_axes)
    linear = Linear(fun, primals, door, has_aux, False)

    def pullback(out_ct: Any, *extra: Any) -> Any:
        if extra:
            raise TypeError(
                f"The function returned by `jax.vjp` applied to {name_of(fun)} was called with {len(extra) + 1} "
                "arguments: it must be called with a single argument corresponding to the single value returned by "
                "the function being differentiated (even if that is a tuple or other container)."
            )
        return linear.backward(out_ct)

    return linear.result(pullback, has_aux)


def linearize(fun: Fun, *primals: Any, has_aux: bool = False, door: Door | None = None) -> Any:
    """`fun(*primals)`, and the function from tangents of the arguments to the derivative along them; aux as third with
    has_aux. That function does not run fun again; it raises TypeError for another structure than the arguments',
    ValueError for other shapes and dtypes."""
    linear = Linear(fun, primals, door, has_aux, True)
    return linear.result(linear.forward, has_aux)


# --- Forward mode, and transposes of linear functions -----------------------------------------------------------------


def jvp(fun: Fun, primals: Any, tangents: Any, has_aux: bool = False, *, door: Door | None = None) -> Any:
    """`fun(*primals)`, and its derivative along the tangents; aux as third with has_aux.

    Raises: TypeError where primals and tangents are no tuples or lists, of different structure or dtypes, or where a
    custom rule works in reverse only; ValueError for different shapes.
    """
    callable_(fun)
    kinds = type(primals).__name__, type(tangents).__name__
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            f"primal and tangent arguments to jax.jvp must be tuples or lists; found {' and '.join(kinds)}."
        )
    leaves, structure = flatten(primals)
    chosen = door_of([*leaves, *flatten(tangents)[0]], door or first_door())
    nodes = [chosen.as_node(x) for x in leaves]
    ts = tangent_nodes("primal and tangent arguments to jax.jvp", chosen, tangents, structure, nodes,
                       TypeError, TypeError, ValueError)  # fmt: skip
    with Tape() as tape:
        run = record(tape, fun, tuple(primals), chosen, has_aux)
        found = jvp_graph(run.outs, run.leaves, ts, forward=True)
        along = all_instantiated(found, run.outs, weak_tangents(run.outs, run.leaves), True)
        tape.results += [*run.outs, *[t for t in along if t is not None]]
    n, both = len(run.outs), arrays(run.door, [*run.outs, *along], [*run.outs, *run.outs])
    out = unflatten(run.out_structure, both[:n]), unflatten(run.out_structure, both[n:])
    return (*out, run.aux) if has_aux else out


def linear_transpose(fun: Fun, *primals: Any, reduce_axes: Sequence[Any] = (), door: Door | None = None) -> Fun:
    """The transpose of a linear function: from a cotangent of its result to a tuple of its arguments' cotangents.

    Args:
        primals: say the arguments' shapes and dtypes; values are not looked at.

    Raises: TypeError where fun is not linear, mixes whole and other numbers, or is given another cotangent than its
    result's structure, shapes and dtypes.
    """
    no_reduce_axes(reduce_axes)
    leaves, structure = flatten(primals)
    chosen = door_of(leaves, door or first_door())
    like = [x if hasattr(x, "shape") and hasattr(x, "dtype") else chosen.as_node(x) for x in leaves]
    inputs = [leaf(tuple(x.shape), np.dtype(x.dtype), weak=is_weak(x), trace=ABSTRACT) for x in like]
    results, out_structure = flatten(callable_(fun)(*unflatten(structure, [chosen.wrap(n) for n in inputs])))
    outs = [chosen.as_node(x) for x in results]
    if len({is_inexact(n.dtype) for n in (*inputs, *outs)}) > 1:
        raise TypeError(
            "linear_transpose only supports [float or complex] -> [float or complex], and integer -> integer "
            f"functions, but got {[n.dtype for n in inputs]} -> {[n.dtype for n in outs]}."
        )

    def transposed(out_cotangent: Any) -> Any:
        cts, given = flatten(out_cotangent)
        nodes = [chosen.as_node(c) for c in cts]
        types = [[(n.shape, n.dtype) for n in side] for side in (nodes, outs)]
        if given != out_structure or types[0] != types[1]:
            raise transposed_error((out_structure, given), (outs, nodes))
        found = zip(transpose_graph(outs, inputs, nodes), inputs)
        weak = all([n.weak for n in nodes]) or None
        grads = [instantiated(g, n, weak if n.weak else None, whole=True) for g, n in found]
        return unflatten(structure, arrays(chosen, grads, inputs))

    return transposed


def stop_gradient(x: Any, *, door: Door | None = None) -> Any:
    """x (a pytree), seen as constant by derivatives."""
    chosen = door or first_door()

    def stopped(leaf: Any) -> Any:
        own = doors.get(type(leaf))
        if own is None:
            node = chosen.as_node(leaf)  # which raises for what is no array
            return leaf if chosen.mutable or type(leaf) in (bool, int, float, complex) else chosen.wrap(node)
        node = own.as_node(leaf)
        return own.wrap(stop_node(node)) if node.trace else leaf

    return map(stopped, x)
