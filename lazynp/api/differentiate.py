"""`grad` and its kin: derivatives of user functions, through either door.

A function is run on fresh leaves, which have values, so that Python's `if` and `while` work; its graph is then
rewritten by `transforms`. Arguments, results and errors are JAX's. Jacobians are in `jacobian`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph.aval import Aval
from ..graph.function import replay
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.walk import dependents
from ..ops.elementwise import weak_cast
from ..ops.promotion import is_inexact
from ..ops.shape import zeros_of
from ..ops.tags import stop_gradient as stop_node
from ..transforms.jvp import jvp as jvp_graph
from ..transforms.transpose import linearize as linearize_graph
from ..transforms.transpose import transpose as transpose_graph
from ..transforms.transpose import vjp as vjp_graph
from ..tree import flatten, map, unflatten
from .handles import Door, Holder, Tape, cut, door_of, doors, wrap_all
from .trace import name_of

FLOAT0 = np.dtype([("float0", np.void, 0)])
Argnums = int | Sequence[int]
Fun = Callable[..., Any]

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


def callable_(fun: Any) -> Fun:
    """fun itself. Raises TypeError where it cannot be called."""
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    return fun


def record(tape: Tape, fun: Fun, primals: Any, door: Door | None, has_aux: bool, check: Any = None) -> Run:
    """Run `fun(*primals)` on fresh leaves; `check(node)` may refuse an argument."""
    leaves, structure = flatten(primals)
    door = door_of(leaves, default_door(door))
    nodes = [door.as_node(x) for x in leaves]
    if check is not None:
        for n in nodes:
            check(n)
    fresh = [tape.fresh(n) if is_inexact(n.dtype) else n for n in nodes]
    out, aux = fun(*unflatten(structure, [door.wrap(n) for n in fresh])), None
    if has_aux:
        if not isinstance(out, (list, tuple)) or len(out) != 2:
            raise TypeError(
                "expected function with aux output to return a two-element tuple, but got type "
                f"{type(out)} with value {out!r}"
            )
        out, aux = out
        tape.results += [doors[type(x)].as_node(x) for x in flatten(aux)[0] if type(x) in doors]
    results, out_structure = flatten(out)
    return Run(door, nodes, fresh, structure, [door.as_node(x) for x in results], out_structure, aux)


def default_door(door: Door | None) -> Door:
    """The door, or the one that is registered first: NumPy's."""
    return next(iter(doors.values())) if door is None else door


def pick_arguments(fun: Fun, argnums: Argnums, args: Any, kwargs: Any) -> tuple[Fun, Any]:
    """A function of the chosen arguments only, and these. Raises TypeError where there are not so many."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if max(places) >= len(args):
        raise TypeError(
            f"differentiating with respect to {argnums=} requires at least {max(places) + 1} positional arguments to "
            f"be passed by the caller, but got only {len(args)} positional arguments."
        )
    if min(places) < -len(args):
        raise ValueError(f"Positional argument indices, e.g. for `argnums`, must be in [-{len(args)}, {len(args)})")
    if len(args) == 1 and not kwargs:
        return fun, args
    places = tuple([i % len(args) for i in places])

    def chosen(*dynamic: Any) -> Any:
        full = list(args)
        for i, x in zip(places, dynamic):
            full[i] = x
        return fun(*full, **kwargs)

    return chosen, tuple([args[i] for i in places])


def argnums_of(argnums: Any) -> Argnums:
    """Ints, from anything that is an index. Raises TypeError."""
    return argnums.__index__() if hasattr(argnums, "__index__") else tuple([i.__index__() for i in argnums])


def named(new: Fun, fun: Fun, what: str, argnums: Argnums) -> Fun:
    """The new function with the user's name."""
    new.__module__, new.__doc__ = getattr(fun, "__module__", ""), f"{what} of {name_of(fun)} in {argnums=}."
    new.__name__ = new.__qualname__ = name_of(fun)
    new.__wrapped__ = fun  # type: ignore[attr-defined]
    return new


# --- Checks, with JAX's messages --------------------------------------------------------------------------------------

HOLOMORPHIC = (
    "For holomorphic differentiation, pass holomorphic=True. For differentiation of non-holomorphic functions "
    "involving complex"
)


def check_holomorphic(name: str, what: str, n: Node) -> None:
    if n.dtype.kind != "c":
        raise TypeError(f"{name} with holomorphic=True requires {what} with complex dtype, but got {n.dtype.name}.")


def check_input(name: str, holomorphic: bool, allow_int: bool, n: Node) -> None:
    if holomorphic:
        check_holomorphic(name, "inputs", n)
    if not is_inexact(n.dtype) and not allow_int:
        raise TypeError(
            f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got "
            f"{n.dtype.name}. If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True."
        )


def check_output(name: str, holomorphic: bool, n: Node) -> None:
    if holomorphic:
        return check_holomorphic(name, "outputs", n)
    if n.dtype.kind == "c" or not is_inexact(n.dtype):
        advice = f"{HOLOMORPHIC} outputs" if n.dtype.kind == "c" else "For functions with integer outputs"
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got "
            f"{n.dtype.name}. {advice}, use jax.vjp directly."
        )
    return None


def check_scalar(run: Run) -> Node:
    """The node of a result that has to be one number."""
    text = "Gradient only defined for scalar-output functions. Output"
    if not run.out_structure.is_leaf():
        raise TypeError(f"{text} was {unflatten(run.out_structure, run.outs)}.")
    if run.outs[0].shape != ():
        raise TypeError(f"{text} had shape: {run.outs[0].shape}.")
    return run.outs[0]


def fits(x: Node | None, like: Node) -> bool:
    """Whether a tangent or cotangent has the type that one of this node's must have; None is one of float0."""
    return x is None or (x.shape, x.dtype) == (like.shape, like.dtype if is_inexact(like.dtype) else FLOAT0)


# --- Reverse mode -----------------------------------------------------------------------------------------------------


def tangent_node(door: Door, x: Any) -> Node | None:
    """The node of a tangent or cotangent; None for one of float0."""
    return None if getattr(x, "dtype", None) == FLOAT0 else door.as_node(x)


def instantiated(found: Node | None, like: Node) -> Node | None:
    """A derivative of this node's type: zeros where there is none; None for whole numbers, whose are of float0."""
    if not is_inexact(like.dtype):
        return None
    found = zeros_of(like) if found is None else found
    return weak_cast(found, dtype=found.dtype) if like.weak and not found.weak else found


def arrays(door: Door, nodes: Sequence[Node | None], like: Sequence[Aval | Node]) -> list[Any]:
    """The arrays for these nodes; zeros of float0 for None."""
    found = iter(wrap_all(door, [n for n in nodes if n is not None]))
    return [np.zeros(x.shape, FLOAT0) if n is None else next(found) for n, x in zip(nodes, like)]


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
    if reduce_axes:
        raise NotImplementedError("reduce_axes argument to grad is deprecated")
    callable_(fun)
    argnums = argnums_of(argnums)
    check = functools.partial(check_input, "grad", holomorphic, allow_int)

    def value_and_grad_f(*args: Any, **kwargs: Any) -> Any:
        chosen, primals = pick_arguments(fun, argnums, args, kwargs)
        with Tape() as tape:
            run = record(tape, chosen, primals, door, has_aux, check)
            value = check_scalar(run)
            check_output("grad", holomorphic, value)
            found = vjp_graph([value], run.leaves, [Node.of_scalar(np.ones((), value.dtype)[()])])
            grads = [instantiated(g, n) for g, n in zip(found, run.nodes)]
            tape.results += [value, *[g for g in grads if g is not None]]
        out, *leaves = arrays(run.door, [value, *grads], [value, *run.nodes])
        gradient = unflatten(run.structure, leaves)
        return ((out, run.aux) if has_aux else out), (gradient[0] if isinstance(argnums, int) else gradient)

    return named(value_and_grad_f, fun, "Value and gradient", argnums)


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

    return named(grad_f, fun, "Gradient", argnums)


class Linear:
    """The derivative of a function at a point: a linear graph from `inputs` (placeholders; None for whole numbers) to
    `outputs` (None: zero). It holds the values that it needs."""

    def __init__(self, fun: Fun, primals: Any, door: Door | None, has_aux: bool) -> None:
        with Tape() as tape:
            run = self.run = record(tape, callable_(fun), primals, door, has_aux)
            self.inputs, self.outputs = linearize_graph(run.outs, run.leaves)
            self.sources = [n for n in self.inputs if n is not None]
            inside = dependents([n for n in self.outputs if n is not None], self.sources)
            tape.results += [*run.outs, *[n for node in inside for n in node.inputs]]
        for node in inside:
            cut(node)
        kept = {n for node in inside for n in node.inputs}.difference(inside, self.sources)
        self.holders = [Holder(n) for n in kept if n.buffer is None and n.value is None and n.trace == 0]

    def value(self) -> Any:
        return unflatten(self.run.out_structure, wrap_all(self.run.door, self.run.outs))

    def forward(self, tangents: Sequence[Node]) -> list[Node | None]:
        found = iter(replay([n for n in self.outputs if n is not None], self.sources, tangents))
        return [None if n is None else next(found) for n in self.outputs]

    def backward(self, cotangents: Sequence[Node | None]) -> list[Node | None]:
        pairs = [(t, c) for t, c in zip(self.outputs, cotangents) if t is not None and c is not None]
        found = iter(transpose_graph([t for t, _ in pairs], self.sources, [c for _, c in pairs]))
        return [None if n is None else next(found) for n in self.inputs]


class VJP:
    """What `vjp` returns: a function from a cotangent of the result to the cotangents of the arguments."""

    def __init__(self, fun: Fun, linear: Linear) -> None:
        self.fun, self.linear = fun, linear

    def __call__(self, out_ct: Any, *extra: Any) -> Any:
        run, name = self.linear.run, name_of(self.fun)
        if extra:
            raise TypeError(
                f"The function returned by `jax.vjp` applied to {name} was called with {len(extra) + 1} arguments, but "
                "functions returned by `jax.vjp` must be called with a single argument corresponding to the single "
                "value returned by the function being differentiated (even if that is a tuple or other container)."
            )
        leaves, structure = flatten(out_ct)
        if structure != run.out_structure:
            raise ValueError(
                "unexpected tree structure.\n\nThe argument to a VJP function returned by `jax.vjp` must match the "
                f"pytree structure of the differentiated function {name}: {run.out_structure}, not {structure}"
            )
        cts = [tangent_node(run.door, c) for c in leaves]
        for c, o in zip(cts, run.outs):
            if c is not None and not fits(c, o):
                raise ValueError(
                    f"unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got {c.aval} for an output "
                    f"of JAX type {o.aval}"
                )
        found = [instantiated(g, n) for g, n in zip(self.linear.backward(cts), run.nodes)]
        return unflatten(run.structure, arrays(run.door, found, run.nodes))


def vjp(
    fun: Fun, *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = (), door: Door | None = None
) -> Any:
    """`fun(*primals)`, and the function that pulls a cotangent of it back to the arguments, a tuple; aux as third with
    has_aux.

    The pullback raises ValueError for a cotangent of another structure, shape or dtype than the result's.
    """
    if reduce_axes:
        raise NotImplementedError("reduce_axes argument to vjp is deprecated")
    linear = Linear(fun, primals, door, has_aux)
    out = linear.value(), VJP(fun, linear)
    return (*out, linear.run.aux) if has_aux else out


# --- Forward mode -----------------------------------------------------------------------------------------------------


def check_tangents(door: Door, nodes: Sequence[Node], tangents: Sequence[Any]) -> list[Node | None]:
    """The nodes of the arguments' tangents. Raises TypeError and ValueError where they do not fit."""
    found = []
    for n, t in zip(nodes, tangents):
        expected, node = n.dtype if is_inexact(n.dtype) else FLOAT0, tangent_node(door, t)
        dtype = FLOAT0 if node is None else node.dtype
        if dtype != expected:
            raise TypeError(
                "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of int/bool "
                f"primal dtype the tangent dtype must be float0. Got primal dtype {n.dtype} and so expected tangent "
                f"dtype {expected}, but got tangent dtype {dtype} instead."
            )
        if np.shape(t) != n.shape:
            raise ValueError(
                f"jvp called with different primal and tangent shapes; Got primal shape {n.shape} and tangent shape as "
                f"{np.shape(t)}"
            )
        found.append(node)
    return found


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
    (leaves, structure), (ts, other) = flatten(tuple(primals)), flatten(tuple(tangents))
    if structure != other:
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals have tree structure "
            f"{structure} whereas tangents have tree structure {other}."
        )
    chosen = door_of([*leaves, *ts], default_door(door))
    nodes = check_tangents(chosen, [chosen.as_node(x) for x in leaves], ts)
    with Tape() as tape:
        run = record(tape, fun, tuple(primals), chosen, has_aux)
        found = jvp_graph(run.outs, run.leaves, nodes, forward=True)
        along = [instantiated(t, o) for t, o in zip(found, run.outs)]
        tape.results += [*run.outs, *[t for t in along if t is not None]]
    n, both = len(run.outs), arrays(run.door, [*run.outs, *along], [*run.outs, *run.outs])
    out = unflatten(run.out_structure, both[:n]), unflatten(run.out_structure, both[n:])
    return (*out, run.aux) if has_aux else out


def linearize(fun: Fun, *primals: Any, has_aux: bool = False, door: Door | None = None) -> Any:
    """`fun(*primals)`, and the function from tangents of the arguments to the derivative along them; aux as third with
    has_aux. That function does not run fun again; it raises as `jvp` does."""
    linear = Linear(fun, primals, door, has_aux)
    run = linear.run

    def f_jvp(*tangents: Any) -> Any:
        leaves, structure = flatten(tangents)
        if structure != run.structure:
            raise TypeError(f"expected {run.structure}, got {structure}")
        ts = [tangent_node(run.door, t) for t in leaves]
        for t, n in zip(ts, run.nodes):
            if t is not None and not fits(t, n):
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the original primal values: "
                    f"got tangent aval {t.aval} for primal aval {n.aval}"
                )
        along = linear.forward([t for t, n in zip(ts, linear.inputs) if n is not None and t is not None])
        found = [instantiated(t, o) for t, o in zip(along, run.outs)]
        return unflatten(run.out_structure, arrays(run.door, found, run.outs))

    out = linear.value(), f_jvp
    return (*out, run.aux) if has_aux else out


def linear_transpose(fun: Fun, *primals: Any, reduce_axes: Sequence[Any] = (), door: Door | None = None) -> Fun:
    """The transpose of a linear function: from a cotangent of its result to a tuple of its arguments' cotangents.

    Args:
        primals: say the arguments' shapes and dtypes; values are not looked at.

    Raises: TypeError where fun is not linear, mixes whole and other numbers, or is given another cotangent than its
    result's structure, shapes and dtypes.
    """
    if reduce_axes:
        raise NotImplementedError("reduce_axes argument to transpose is deprecated")
    callable_(fun)
    leaves, structure = flatten(primals)
    chosen = door_of(leaves, default_door(door))
    like = [x if hasattr(x, "shape") and hasattr(x, "dtype") else chosen.as_node(x) for x in leaves]
    inputs = [leaf(tuple(x.shape), np.dtype(x.dtype), trace=ABSTRACT) for x in like]
    results, out_structure = flatten(fun(*unflatten(structure, [chosen.wrap(n) for n in inputs])))
    outs = [chosen.as_node(x) for x in results]
    if len({is_inexact(n.dtype) for n in (*inputs, *outs)}) > 1:
        raise TypeError(
            "linear_transpose only supports [float or complex] -> [float or complex], and integer -> integer "
            f"functions, but got {[n.dtype for n in inputs]} -> {[n.dtype for n in outs]}."
        )

    def transposed(out_cotangent: Any) -> Any:
        cts, given = flatten(out_cotangent)
        if given != out_structure:
            raise TypeError(f"cotangent tree does not match function output, expected {out_structure} but got {given}")
        nodes = [chosen.as_node(c) for c in cts]
        if [(n.shape, n.dtype) for n in nodes] != [(n.shape, n.dtype) for n in outs]:
            want, got = [n.aval for n in outs], [n.aval for n in nodes]
            raise TypeError(f"cotangent type does not match function output, expected {want} but got {got}")
        found = transpose_graph(outs, inputs, nodes)
        return unflatten(structure, wrap_all(chosen, [zeros_of(n) if g is None else g for g, n in zip(found, inputs)]))

    return transposed


def stop_gradient(x: Any, *, door: Door | None = None) -> Any:
    """x (a pytree), seen as constant by derivatives."""
    chosen = default_door(door)

    def stopped(leaf: Any) -> Any:
        own = doors.get(type(leaf))
        if own is None:
            return chosen.wrap(chosen.as_node(leaf)) if chosen.of_value is not None else leaf
        node = own.as_node(leaf)
        return own.wrap(stop_node(node)) if node.trace else leaf

    return map(stopped, x)
