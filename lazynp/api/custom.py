"""Derivatives that users write: `custom_jvp`, `custom_vjp`, `custom_gradient`, `closure_convert`.

A call on traced arrays leaves a `custom` node (see `ops/tags.py`) whose rule is one of the classes here.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..graph.function import Function, replay
from ..graph.node import ABSTRACT, KEPT, Node, leaf
from ..graph.op import results
from ..ops.elementwise import convert
from ..ops.promotion import is_inexact
from ..ops.shape import add_reduce, broadcast_to, to_front, zeros_of
from ..ops.tags import custom
from ..transforms.batch import batch
from ..tree import flatten, leaves, unflatten
from .differentiate import FLOAT0, tangent_node
from .handles import Door, door_of, doors
from .trace import name_of


def traced_level(args: Any) -> int:
    """The highest trace among the arrays in a tree."""
    return max([doors[type(x)].as_node(x).trace for x in leaves(args) if type(x) in doors], default=0)


def positional(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], kind: str) -> tuple[Any, ...]:
    """All arguments by place, defaults filled in. Raises TypeError where they cannot be."""
    if not kwargs:
        try:
            parameters = inspect.signature(fun).parameters
            if len(args) == len(parameters):
                return args
        except (TypeError, ValueError):
            return args
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError("keyword arguments could not be resolved to positions")
    except TypeError as error:
        raise TypeError(
            f"The input arguments to the {kind}-decorated function {name_of(fun)} could not be resolved to "
            f"positional-only arguments. Binding failed with the error:\n{error}"
        ) from error
    return bound.args


def split(args: tuple[Any, ...], nondiff: Iterable[int]) -> tuple[list[Any], tuple[Any, ...]]:
    """The arguments that no derivative is taken along, in order, and the others."""
    places = {i % len(args) for i in nondiff} if args else set()
    return [args[i] for i in sorted(places)], tuple([a for i, a in enumerate(args) if i not in places])


def filled(fun: Callable[..., Any], nondiff: Iterable[int], static: Sequence[Any], count: int) -> Callable[..., Any]:
    """fun as a function of the other arguments."""
    places = {i % count for i in nondiff} if count else set()

    def call(*dynamic: Any) -> Any:
        a, b = iter(static), iter(dynamic)
        return fun(*[next(a) if i in places else next(b) for i in range(count)])

    return call


def tagged(rule: Any, door: Door, out: Any, kept: Sequence[Node], inputs: Sequence[Node]) -> Any:
    """The result of a function, seen by derivatives through a rule."""
    found, structure = flatten(out)
    outs = [door.as_node(x) for x in found]
    if not outs:
        return out
    rule.out_structure = structure
    node = custom(*outs, *kept, *inputs, rule=rule, hidden=len(outs) + len(kept), n=len(outs))
    return unflatten(structure, [door.wrap(n) for n in results(node)])


class Batched:
    """A rule for a whole axis of examples: the rule is run on placeholders of one, and its graph batched.

    Attributes:
        kept: how many nodes the rule keeps; axes: of those and of the inputs, 0 or None. size: of the axis.
    """

    def __init__(self, rule: Any, kept: int, axes: tuple[int | None, ...], size: int) -> None:
        self.rule, self.kept, self.axes, self.size, self.reverse = rule, kept, axes, size, rule.reverse

    def one(self, node: Node, axis: int | None) -> Node:
        return leaf(node.shape if axis is None else node.shape[1:], node.dtype, weak=node.weak, trace=ABSTRACT)

    def jvp(self, outs: Sequence[Node], inputs: Sequence[Node], tangents: Sequence[Node | None]) -> list[Node | None]:
        at = self.axes[self.kept :]
        singles, ones = [self.one(n, 0) for n in outs], [self.one(n, a) for n, a in zip(inputs, at)]
        along = [None if t is None else self.one(t, a) for t, a in zip(tangents, at)]
        found = self.rule.jvp(singles, ones, along)
        given = [(p, t, a) for p, t, a in zip(along, tangents, at) if p is not None and t is not None]
        rows = [*zip(singles, outs, [0] * len(outs)), *zip(ones, inputs, at), *given]
        return self.batch(found, rows)

    def vjp(
        self, outs: Sequence[Node], kept: Sequence[Node], inputs: Sequence[Node], cts: Sequence[Node | None]
    ) -> list[Node | None]:
        at, n = self.axes[self.kept :], len(outs)
        singles, ones = [self.one(x, 0) for x in outs], [self.one(x, a) for x, a in zip(inputs, at)]
        held = [self.one(x, a) for x, a in zip(kept, self.axes)]
        along = [None if c is None else self.one(c, 0) for c in cts]
        found = self.rule.vjp(singles, held, ones, along)
        given = [(p, c, 0) for p, c in zip(along, cts) if p is not None and c is not None]
        rows = [*zip(singles, outs, [0] * n), *zip(held, kept, self.axes), *zip(ones, inputs, at), *given]
        whole = self.batch(found, rows)
        return [
            x if x is None or a == 0 else add_reduce(x, axes=(0,), keepdims=False, dtype=x.dtype)
            for x, a in zip(whole, at)
        ]

    def batch(self, found: Sequence[Node | None], rows: Sequence[Any]) -> list[Node | None]:
        """What was made of one example, for all, their axis in front."""
        live = [n for n in found if n is not None]
        new = iter(batch(live, [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]))
        out: list[Node | None] = []
        for n in found:
            if n is None:
                out.append(None)
                continue
            node, axis = next(new)
            whole = broadcast_to(node, shape=(self.size, *node.shape)) if axis is None else to_front(node, axis)
            out.append(whole)
        return out

    def batched(self, kept: int, axes: tuple[int | None, ...], size: int) -> Batched:
        return Batched(self, kept, axes, size)


# --- custom_jvp -------------------------------------------------------------------------------------------------------


class Forward:
    """The rule of a `custom_jvp`: `rule(primals, tangents)`, on trees."""

    reverse = False
    out_structure: Any

    def __init__(self, rule: Callable[..., Any], name: str, door: Door, structure: Any) -> None:
        self.rule, self.name, self.door, self.structure = rule, name, door, structure

    def jvp(self, outs: Sequence[Node], inputs: Sequence[Node], tangents: Sequence[Node | None]) -> list[Node | None]:
        wrap = self.door.wrap
        primals = unflatten(self.structure, [wrap(n) for n in inputs])
        along = [
            wrap(zeros_of(n) if t is None else t) if is_inexact(n.dtype) else np.zeros(n.shape, FLOAT0)
            for n, t in zip(inputs, tangents)
        ]
        pair = self.rule(primals, unflatten(self.structure, along))
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(
                f"Custom JVP rule for function {self.name} must produce a pair (list or tuple of length two) "
                f"representing primal and tangent outputs, but got {pair}."
            )
        (values, first), (found, second) = flatten(pair[0]), flatten(pair[1])
        if first != second:
            raise TypeError(
                f"Custom JVP rule for function {self.name} must produce primal and tangent outputs with equal "
                f"container (pytree) structures, but got {first} and {second} respectively."
            )
        if first != self.out_structure:
            raise TypeError(
                f"Custom JVP rule for function {self.name} must produce a pair (list or tuple of length two) whose "
                f"first element has the structure of the function's output, {self.out_structure}, but it had {first}."
            )
        nodes = [tangent_node(self.door, t) for t in found]
        for v, t in zip(values, nodes):
            p = self.door.as_node(v)
            if t is not None and (p.shape, p.dtype) != (t.shape, t.dtype):
                raise TypeError(
                    "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. "
                    f"Expected {p.aval} but got {t.aval}."
                )
        return nodes

    def batched(self, kept: int, axes: tuple[int | None, ...], size: int) -> Batched:
        return Batched(self, kept, axes, size)


class custom_jvp:
    """A function with a forward rule of its own.

        @jax.custom_jvp
        def f(x, y): ...
        @f.defjvp
        def f_jvp(primals, tangents):
            ...
            return primal_out, tangent_out

    Args:
        nondiff_argnums: arguments that no derivative is taken along; the rule gets them first, each for itself.
    """

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun, self.jvp = fun, None
        self.nondiff_argnums = named_places(fun, nondiff_argnums, nondiff_argnames)

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: `(*nondiff, primals, tangents) -> (primal_out, tangent_out)`, linear in the tangents."""
        self.jvp = jvp  # type: ignore[assignment]
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument: `(tangent, primal_out, *primals) -> tangent_out`; None where it is zero."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Any, tangents: Any) -> Any:
            out = self(*primals)
            parts = [flatten(rule(t, out, *primals)) for t, rule in zip(tangents, jvps) if rule]
            values, structure = flatten(out)
            zeros = [0.0 * v if is_inexact(np.dtype(v.dtype)) else np.zeros(v.shape, FLOAT0) for v in values]
            sums = [sum(column[1:], column[0]) for column in zip(*[p for p, _ in parts])] if parts else zeros
            return out, unflatten(structure, sums)

        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {name_of(self.fun)} using defjvp.")
        args = positional(self.fun, args, kwargs, "custom_jvp")
        if not traced_level(args):
            return self.fun(*args)
        static, dynamic = split(args, self.nondiff_argnums)
        found, structure = flatten(dynamic)
        door = door_of(found, next(iter(doors.values())))
        rule = Forward(functools.partial(self.jvp, *static), name_of(self.fun), door, structure)
        return tagged(rule, door, self.fun(*args), (), [door.as_node(x) for x in found])

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def named_places(fun: Callable[..., Any], nums: Sequence[int], names: Sequence[str]) -> tuple[int, ...]:
    """Places of arguments given by place or by name."""
    if not names:
        return tuple(nums)
    order = list(inspect.signature(fun).parameters)
    return (*nums, *[order.index(n) for n in names])


# --- custom_vjp -------------------------------------------------------------------------------------------------------


class Reverse:
    """The rule of a `custom_vjp`: `fwd(*args)` gives the result and what `bwd(residuals, ct)` needs.

    Attributes:
        residuals: the tree of what fwd gave, with None in the places of the nodes that are kept: their places are
            `places`. None before fwd was run, which is then done when the derivative is asked for.
    """

    reverse = True
    out_structure: Any

    def __init__(self, fwd: Callable[..., Any], bwd: Callable[..., Any], name: str, door: Door, structure: Any) -> None:
        self.fwd, self.bwd, self.name, self.door, self.structure = fwd, bwd, name, door, structure
        self.residuals: tuple[Any, list[Any], list[int]] | None = None

    def forward(self, args: Any) -> tuple[Any, list[Node], tuple[Any, list[Any], list[int]]]:
        """Run fwd: the result, the nodes to keep, and the rest of the residuals."""
        pair = self.fwd(*args)
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(
                f"Custom VJP fwd rule for function {self.name} must produce a pair (list or tuple of length two) of "
                f"the primal output and residuals (what the backward pass needs), but its output was {pair}."
            )
        found, structure = flatten(pair[1])
        places = [i for i, x in enumerate(found) if type(x) in doors]
        kept = [doors[type(found[i])].as_node(found[i]) for i in places]
        return pair[0], kept, (structure, [None if i in places else x for i, x in enumerate(found)], places)

    def vjp(
        self, outs: Sequence[Node], kept: Sequence[Node], inputs: Sequence[Node], cts: Sequence[Node | None]
    ) -> list[Node | None]:
        wrap, residuals = self.door.wrap, self.residuals
        if residuals is None:
            _, held, residuals = self.forward(unflatten(self.structure, [wrap(n) for n in inputs]))
            kept = held
        structure, others, places = residuals
        values = list(others)
        for i, n in zip(places, kept):
            values[i] = wrap(n)
        along = [
            wrap(zeros_of(o) if c is None else c) if is_inexact(o.dtype) else np.zeros(o.shape, FLOAT0)
            for c, o in zip(cts, outs)
        ]
        found = self.bwd(unflatten(structure, values), unflatten(self.out_structure, along))
        return self.checked(found, inputs)

    def checked(self, found: Any, inputs: Sequence[Node]) -> list[Node | None]:
        """The nodes of what bwd gave, None for zeros. Raises TypeError and ValueError where it does not fit."""
        examples = unflatten(self.structure, list(inputs))
        if type(found) is list:
            found = tuple(found)
        nodes: list[Node | None] = []
        if not isinstance(found, tuple) or len(found) != len(examples):
            raise self.mismatch(found)
        for ct, example in zip(found, examples):
            wanted, structure = flatten(example)
            given, other = flatten(ct, lambda x: x is None)
            if ct is None:
                given = [None] * len(wanted)
            elif other != structure and not any(g is None for g in given) or len(given) != len(wanted):
                raise self.mismatch(found)
            nodes += [None if c is None else tangent_node(self.door, c) for c in given]
        for n, c in zip(inputs, nodes):
            if c is not None and is_inexact(n.dtype) and (c.shape, c.dtype) != (n.shape, n.dtype):
                raise ValueError(
                    f"The custom VJP bwd rule for {self.name} produced a cotangent of type {c.aval}, but the "
                    f"corresponding argument has type {n.aval}: their shapes and dtypes must be equal."
                )
        return nodes

    def mismatch(self, found: Any) -> TypeError:
        return TypeError(
            "Custom VJP bwd rule must produce an output with the same container (pytree) structure as the args tuple "
            "of the primal function, in particular a tuple of length equal to the number of arguments to "
            f"the primal function, but got bwd output structure {flatten(found)[1]} for primal input structure "
            f"{self.structure}."
        )

    def batched(self, kept: int, axes: tuple[int | None, ...], size: int) -> Batched:
        return Batched(self, kept, axes, size)


class Running(threading.local):
    """The functions whose fwd is under way in this thread: it may call them."""

    def __init__(self) -> None:
        self.functions: list[custom_vjp] = []


running = Running()


class custom_vjp:
    """A function with a reverse rule of its own.

        @jax.custom_vjp
        def f(x, y): ...
        f.defvjp(fwd, bwd)      # fwd(x, y) -> (out, residuals); bwd(residuals, ct) -> (ct_x, ct_y)

    Args:
        nondiff_argnums: arguments that no derivative is taken along; bwd gets them first, each for itself.

    Forward mode through it raises TypeError.
    """

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.nondiff_argnums = named_places(fun, nondiff_argnums, nondiff_argnames)

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rules. fwd has the arguments of the function, bwd those of `nondiff_argnums` before its own two."""
        self.fwd, self.bwd = fwd, bwd

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {name_of(self.fun)} using defvjp.")
        args = positional(self.fun, args, kwargs, "custom_vjp")
        level = traced_level(args)
        if not level:
            return self.fun(*args)
        static, dynamic = split(args, self.nondiff_argnums)
        found, structure = flatten(dynamic)
        door = door_of(found, next(iter(doors.values())))
        fwd = filled(self.fwd, self.nondiff_argnums, static, len(args))
        rule = Reverse(fwd, functools.partial(self.bwd, *static), name_of(self.fun), door, structure)
        inputs = [door.as_node(x) for x in found]
        if level == KEPT and self not in running.functions:
            running.functions.append(self)
            try:
                out, kept, rule.residuals = rule.forward(dynamic)
            finally:
                running.functions.pop()
            return tagged(rule, door, out, kept, inputs)
        return tagged(rule, door, self.fun(*args), (), inputs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


# --- Closures ---------------------------------------------------------------------------------------------------------


def converted(
    fun: Callable[..., Any], args: Any, door: Door, wanted: Callable[[Node], bool]
) -> tuple[Callable[..., Any], list[Node]]:
    """fun as a function of its arguments and of the wanted ones among the nodes that it captures; and these."""
    found, structure = flatten(args)
    like = [door.as_node(x) for x in found]
    inputs = [leaf(n.shape, n.dtype, weak=n.weak, trace=ABSTRACT) for n in like]
    out, out_structure = flatten(fun(*unflatten(structure, [door.wrap(n) for n in inputs])))
    function = Function(inputs, [door.as_node(x) for x in out])
    extra = [n for n in function.captured() if wanted(n)]

    def call(*arguments: Any) -> Any:
        given, other = flatten(arguments[: len(args)])
        if other != structure:
            raise TypeError(
                "The inputs to the closure produced by closure_convert must have the same Pytree structure as the "
                f"example arguments passed when closure_convert was called. Expected {structure}, but got {other}"
            )
        nodes = [convert(door.as_node(x), n.dtype) for x, n in zip(given, inputs)]
        new = [door.as_node(x) for x in arguments[len(args) :]]
        outputs = replay(function.outputs, [*inputs, *extra], [*nodes, *new])
        return unflatten(out_structure, [door.wrap(n) for n in outputs])

    return call, extra


def closure_convert(fun: Callable[..., Any], *example_args: Any, door: Door | None = None) -> tuple[Any, list[Any]]:
    """fun as a function of its arguments and of the traced arrays that it has in its closure, which derivatives may be
    taken along; and the list of these."""
    chosen = door_of(leaves(example_args), next(iter(doors.values())) if door is None else door)
    call, extra = converted(fun, example_args, chosen, lambda n: n.trace > 0 and is_inexact(n.dtype))
    return call, [chosen.wrap(n) for n in extra]


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function from one that returns `(value, rule)`: `rule(ct)` gives the cotangents of its arguments, a tuple where
    there are several."""

    @custom_vjp
    def wrapped(*args: Any) -> Any:
        return fun(*args)[0]

    def fwd(*args: Any) -> Any:
        out, rule = fun(*args)
        found = leaves(out)
        door = door_of([*found, *leaves(args)], next(iter(doors.values())))
        call, extra = converted(rule, (out,), door, lambda n: n.trace > 0)
        return out, (Kept(call), [door.wrap(n) for n in extra])

    def bwd(residuals: Any, ct: Any) -> Any:
        kept, extra = residuals
        found = kept.call(ct, *extra)
        return found if isinstance(found, tuple) else (found,)

    wrapped.defvjp(fwd, bwd)
    functools.update_wrapper(wrapped, fun)
    return wrapped


class Kept:
    """A function among residuals: a leaf of their tree that is no array."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
