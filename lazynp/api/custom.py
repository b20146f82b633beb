"""Derivatives that users write: `custom_jvp`, `custom_vjp`, `custom_gradient`, `closure_convert`; and `checkpoint`.

A call on traced arrays leaves a `custom` node (see `ops/tags.py`), whose rule is one of the classes here.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..doors import FLOAT0, Door, door_of, doors, first_door
from ..errors import bwd_error, closed_over, named
from ..graph.function import Function, replay
from ..graph.node import ABSTRACT, KEPT, Node, leaf
from ..graph.op import pick, results
from ..graph.walk import dependents
from ..ops.control import own_copy
from ..ops.elementwise import convert
from ..ops.kept import redone
from ..ops.promotion import is_inexact
from ..ops.shape import instantiate, zeros_of
from ..ops.tags import Nodes, Tangents, custom, renamed, sequence
from ..runtime.tape import beneath, concrete, differentiating
from ..signatures import Fun, check_primals, held, name_of, others, pair_of, places_of, positional, tuple_of
from ..transforms.jvp import jvp
from ..tree import flatten, leaves, unflatten
from .differentiate import tangent_node
from .trace import Apart, effect, stack, token_of, under_way


def traced_level(args: Any) -> int:
    """The highest trace among the arrays in a tree."""
    return max([doors[type(x)].as_node(x).trace for x in leaves(args) if type(x) in doors], default=0)


quiet: weakref.WeakSet[Custom] = weakref.WeakSet()
"""Functions whose rules have been run, and had no effects."""


# --- Rules ------------------------------------------------------------------------------------------------------------


class Rule:
    """How a call is differentiated.

    Attributes:
        name: of the user's function. reverse: whether the rule works in reverse only.
        door, structure: of the arguments; out_structure: of the result.
        closed: how many of the node's last inputs are no arguments, but traced values that the function captures.
        axes: names and sizes of the named axes around the call; the last inputs are the places along them.
        owner: what the user called, for rules that can be run in its place. done: whether this one has been.
        acts: whether the function has effects, which are those of the call's last result, a token: where the rule has
            been run in its place, those of the rule.
    """

    reverse = False
    owner: Any = None
    acts = done = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.door: Door = first_door()
        self.structure = self.out_structure = None
        self.closed = 0
        self.axes: list[tuple[Any, int]] = []

    @concrete()
    def named(self, inputs: Nodes, call: Fun) -> Any:
        """`call()`, for which the names of axes stand for what the call's inputs say."""
        before, places = stack.axes, inputs[len(inputs) - len(self.axes) :]
        stack.axes = {**before, **{name: (n, at) for (name, n), at in zip(self.axes, places)}}
        try:
            return call()
        finally:
            stack.axes = before

    def may_act(self) -> bool:
        """Whether the rule, which has not been run yet, may have effects, or is to be run in place of some."""
        owner = self.owner
        return owner is not None and not self.done and not owner.late and (self.acts or owner not in quiet)

    def ahead(self, inputs: Nodes, moved: Sequence[bool]) -> tuple[list[Node], list[Node], Rule]:
        """Run the rule in place of the function: the results, what is kept for the derivative, and the rule that is
        left then. `moved`: which inputs are differentiated along."""
        raise NotImplementedError

    def jvp(self, outs: Nodes, kept: Nodes, inputs: Nodes, tangents: Tangents) -> Tangents:
        raise NotImplementedError

    def vjp(self, outs: Nodes, kept: Nodes, inputs: Nodes, cts: Tangents, live: Sequence[bool]) -> Tangents:
        raise NotImplementedError

    def arguments(self, nodes: Nodes) -> Any:
        """The arguments with these nodes, as the user's rule sees them."""
        return unflatten(self.structure, [self.door.wrap(n) for n in nodes[: len(nodes) - self.closed]])[0]

    def along(self, found: Tangents, like: Nodes, structure: Any) -> Any:
        """Tangents or cotangents as the user's rule sees them: zeros for None, float0 for whole numbers."""
        wrap = self.door.wrap
        given = [
            wrap(zeros_of(n) if t is None else t) if is_inexact(n.dtype) else np.zeros(n.shape, FLOAT0)
            for n, t in zip(like, found)
        ]
        return unflatten(structure, given)

    def check_closed(self, live: Sequence[bool]) -> None:
        """Raise UnexpectedTracerError where a captured value is to be differentiated along: no rule says how."""
        if self.closed and any(live[-self.closed :]):
            raise closed_over(self.name)


def ruled(rule: Rule, fun: Fun, args: Any, kwargs: Any, level: int) -> Any:
    """`fun(*args, **kwargs)`, seen by derivatives through a rule."""
    found, rule.structure = flatten((args, kwargs))
    door = rule.door = door_of(found, first_door())
    nodes = [door.as_node(x) for x in found]
    inner = [renamed(n) for n in nodes]
    ran = run_in_place(rule, inner)
    if ran is None:
        given, named = unflatten(rule.structure, [door.wrap(n) for n in inner])
        with Apart() as apart:
            out = concrete()(fun)(*given, **named)
        found, rule.out_structure = flatten(out)
        ran = [door.as_node(x) for x in found], [], rule, apart.effects
        token = [] if apart.token is None else [apart.token]
    outs, kept, rule, effects = ran
    rule.acts = rule.owner is not None and bool(effects) and bool(outs)
    for e in effects if not rule.acts else ():
        effect(e)
    if not outs:
        return unflatten(rule.out_structure, [])
    again = effects if isinstance(rule, Recompute) else []
    function = Function([*inner, *token] if again else inner, outs, again)
    rule.axes = [(name, n) for name, (n, at) in stack.axes.items() if at.trace]
    places = [stack.axes[name][1] for name, _ in rule.axes]
    captured = [n for n in function.captured() if n.trace and n not in places]
    closed = [*[n for n in captured if isinstance(rule, Recompute) or is_inexact(n.dtype)], *places]
    rule.closed = len(closed)
    if isinstance(rule, Recompute):
        rule.function = Function([*inner, *closed], outs, again, *token)
    n = len(outs)
    if rule.acts:
        outs = [*outs, sequence(*map(token_of, effects))]
    node = custom(*outs, *kept, *nodes, *closed, rule=rule, hidden=len(outs) + len(kept), n=len(outs))
    if rule.acts:
        effect(pick(node, i=n))
    return unflatten(rule.out_structure, [door.wrap(n) for n in results(node)[:n]])


def run_in_place(rule: Rule, inputs: Nodes) -> tuple[list[Node], list[Node], Rule, list[Node]] | None:
    """What `Rule.ahead` gives, and the effects of the rule, where the call is differentiated by who runs it; else None,
    and where a `custom_jvp`'s rule has no effects: it is run when the derivative is asked for."""
    if rule.owner is None or rule.owner.late or not (rule.reverse or rule.may_act()):
        return None
    for tape, moved in differentiating(inputs)[:1]:
        before = stack.acted
        with beneath(tape), Apart() as apart:
            found = rule.ahead(inputs, moved)
        if stack.acted > before:
            return *found, apart.effects
        quiet.add(rule.owner)
        return (*found, []) if rule.reverse else None
    return None


class Recompute(Rule):
    """The rule of a checkpointed call: its graph, closed over what it captures, is recorded anew and differentiated."""

    function: Function

    def jvp(self, outs: Nodes, kept: Nodes, inputs: Nodes, tangents: Tangents) -> Tangents:
        fresh = [renamed(x) for x in inputs]
        function = self.silent()
        return self.acting(jvp(replay(function.outputs, function.inputs, fresh), fresh, tangents), inputs)

    def silent(self) -> Function:
        """The graph without effects."""
        return own_copy(self.function) if self.function.effects else self.function

    def acting(self, along: Tangents, inputs: Nodes) -> Tangents:
        """The tangents, whose transpose, where it is a part of a loop or a branch, has the effects once more."""
        f, live = self.function, [t for t in along if t is not None]
        if not f.effects or not live or under_way(inputs):
            return along
        node = redone(*live, *inputs, effects=Function(f.inputs, (), f.effects, f.token), n=len(live))
        made = iter(results(node))
        return [None if t is None else next(made) for t in along]


class Forward(Rule):
    """The rule of a `custom_jvp`: `rule(primals, tangents)`, on trees.

    Attributes:
        linear: once the rule was run, the tangents that it gave, of what is kept and of the tangents that it got.
        moved, given: which tangents it got, and gave.
    """

    linear: Function | None = None
    moved: Sequence[bool] = ()
    given: Sequence[bool] = ()

    def __init__(self, name: str, rule: Fun) -> None:
        super().__init__(name)
        self.rule = rule

    def ahead(self, inputs: Nodes, moved: Sequence[bool]) -> tuple[list[Node], list[Node], Rule]:
        self.check_closed(moved)
        new, n = copy.copy(self), len(inputs) - self.closed
        new.done, new.moved = True, [m and is_inexact(x.dtype) for m, x in zip(moved, inputs[:n])]
        tangents = [leaf(x.shape, x.dtype, trace=ABSTRACT) if m else None for m, x in zip(new.moved, inputs)]
        sources = [t for t in tangents if t is not None]
        with Apart() as apart:
            values, found = new.pair(inputs, tangents)
        late = set(dependents(apart.effects, sources))
        for e in apart.effects:
            if e not in late:
                effect(e)
        new.given, outs = [t is not None for t in found], [t for t in found if t is not None]
        effects = [e for e in apart.effects if e in late]
        kept = Function(sources, outs, effects).captured()
        new.linear = Function([*kept, *sources], outs, effects)
        return values, kept, new

    def along_linear(self, kept: Nodes, inputs: Nodes, tangents: Tangents) -> Tangents:
        """The tangents, by what the rule has given before. Its effects on tangents come where these have values."""
        assert self.linear is not None
        given = [instantiate(t, x) for t, x, m in zip(tangents, inputs, self.moved) if m]
        found, effects = self.linear.with_effects(*kept, *given)
        for e in effects:
            if under_way([e]):
                effect(e)
        outs = iter(found)
        return [next(outs) if m else None for m in self.given]

    def jvp(self, outs: Nodes, kept: Nodes, inputs: Nodes, tangents: Tangents) -> Tangents:
        self.check_closed([t is not None for t in tangents])
        if self.linear is not None and all([t is None or m for t, m in zip(tangents, self.moved)]):
            return self.along_linear(kept, inputs, tangents)
        return self.pair(inputs, tangents, outs)[1]

    def pair(self, inputs: Nodes, tangents: Tangents, outs: Nodes = ()) -> tuple[list[Node], Tangents]:
        """What the rule gives: results, which have to be as those of the function, and their tangents."""
        primals, n = self.arguments(inputs), len(inputs) - self.closed
        given = self.along(tangents[:n], inputs[:n], self.structure)[0]
        found = self.named(inputs, lambda: self.rule(primals, given))
        pair = pair_of("JVP", self.rule, found, self.name)
        (values, first), (found, second) = flatten(pair[0]), flatten(pair[1])
        if first != second:
            raise TypeError(
                f"Custom JVP rule {name_of(self.rule)} for function {self.name} must produce primal and tangent "
                f"outputs with equal container (pytree) structures, but got {named(first)} and {named(second)} "
                "respectively."
            )
        if self.out_structure is None:
            self.out_structure = first
        primal_nodes = [self.door.as_node(v) for v in values]
        check_primals("JVP", self.rule, self.name, (first, primal_nodes), (self.out_structure, outs))
        nodes = [tangent_node(self.door, t) for t in found]
        for p, t in zip(primal_nodes, nodes):
            if t is not None and (p.shape, p.dtype) != (t.shape, t.dtype):
                raise TypeError(
                    "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. "
                    f"Expected {p.aval} (tangent type of {p.aval}) but got {t.aval}."
                )
        return primal_nodes, nodes


class Reverse(Rule):
    """The rule of a `custom_vjp`: `fwd(*args)` gives the result and what `bwd(residuals, ct)` needs.

    Attributes:
        residuals: the structure of what fwd gave, its leaves that are no arrays, and the places of those that are,
            whose nodes are kept. None before fwd was run, which is then done when the derivative is asked for.
    """

    reverse = True
    live: Sequence[bool] = ()

    def __init__(self, name: str, fwd: Fun, bwd: Fun, owner: custom_vjp) -> None:
        super().__init__(name)
        self.fwd, self.bwd, self.owner = fwd, bwd, owner
        self.residuals: tuple[Any, list[Any], list[int]] | None = None

    def ahead(self, inputs: Nodes, moved: Sequence[bool]) -> tuple[list[Node], list[Node], Rule]:
        self.check_closed(moved)
        new = copy.copy(self)
        new.done, new.live = True, moved
        out, kept, new.residuals = new.named(inputs, lambda: new.forward(new.arguments(inputs)))
        found, structure = flatten(out)
        if new.out_structure is None:
            new.out_structure = structure
        return [new.door.as_node(x) for x in found], kept, new

    def forward(self, args: Any) -> tuple[Any, list[Node], tuple[Any, list[Any], list[int]]]:
        """Run fwd: the result, the nodes to keep, and the rest of the residuals."""
        out, rest = pair_of("VJP fwd", (self.owner.rules or [self.fwd])[0], self.fwd(*args), self.name)
        found, structure = flatten(rest)
        places = [i for i, x in enumerate(found) if type(x) in doors]
        kept = [doors[type(found[i])].as_node(found[i]) for i in places]
        return out, kept, (structure, [None if i in places else x for i, x in enumerate(found)], places)

    def vjp(self, outs: Nodes, kept: Nodes, inputs: Nodes, cts: Tangents, live: Sequence[bool]) -> Tangents:
        self.check_closed(live)
        residuals = self.residuals
        if residuals is None:
            found, kept, residuals = self.named(inputs, lambda: self.forward(self.arguments(inputs)))
            leaves, given = flatten(found)
            nodes = [self.door.as_node(x) for x in leaves]
            rule = (self.owner.rules or [self.fwd])[0]
            check_primals("VJP fwd", rule, self.name, (given, nodes), (self.out_structure or given, outs))
        structure, values, places = residuals[0], list(residuals[1]), residuals[2]
        for i, n in zip(places, kept):
            values[i] = self.door.wrap(n)
        given = unflatten(structure, values), self.along(cts, outs, self.out_structure)
        found = self.named(inputs, lambda: self.bwd(*given))
        return [*self.checked(found, inputs[: len(inputs) - self.closed]), *[None] * self.closed]

    def checked(self, found: Any, inputs: Nodes) -> list[Node | None]:
        """The nodes of what bwd gave, None for zeros. Raises TypeError and ValueError where it does not fit."""
        examples = unflatten(self.structure, list(inputs))[0]
        found = tuple(found) if type(found) is list else found
        fits = isinstance(found, tuple) and len(found) == len(examples)
        nodes: list[Node | None] = []
        for ct, example in zip(found, examples) if fits else ():
            wanted, structure = flatten(example)
            given, other = flatten(ct, lambda x: x is None)
            given = [None] * len(wanted) if ct is None else given
            fits = fits and len(given) == len(wanted) and (None in map(type_of, given) or other == structure)
            nodes += [None if c is None else tangent_node(self.door, c) for c in given]
        if not fits:
            raise TypeError(
                "Custom VJP bwd rule must produce an output with the same container (pytree) structure as the args "
                "tuple of the primal function, and in particular must produce a tuple of length equal to the number of "
                f"arguments to the primal function, but got bwd output structure {named(flatten(found)[1])} for primal "
                f"input structure {named(flatten(examples)[1])}."
            )
        for i, (n, c) in enumerate(zip(inputs, nodes)):
            if c is not None and is_inexact(n.dtype) and c.shape != n.shape:
                raise bwd_error(i, c, n)
        return nodes


def type_of(x: Any) -> Any:
    """None for None, else its type."""
    return None if x is None else type(x)


# --- What users call --------------------------------------------------------------------------------------------------


class Custom:
    """A function with a derivative of its own.

    Args:
        nondiff_argnums, nondiff_argnames: arguments that no derivative is taken along; the rule gets them first, each
            for itself.
    """

    late = False  # whether the rule is run only when the derivative is asked for

    def __init__(self, fun: Fun, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()) -> None:
        functools.update_wrapper(self, fun)
        self.fun, self.nondiff_argnums = fun, places_of(fun, nondiff_argnums, nondiff_argnames)

    def rule(self, static: Sequence[Any], args: tuple[Any, ...], free: Sequence[int]) -> Rule | None:
        """The rule of a call; None before it is set."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kind = type(self).__name__
        args = positional(self.fun, args, kwargs, kind)
        free = others(self.nondiff_argnums, len(args))
        rule = self.rule([a for i, a in enumerate(args) if i not in free], args, free)
        if rule is None:
            way = kind[-3:]
            raise AttributeError(f"No {way.upper()} defined for {kind} function {name_of(self.fun)} using def{way}.")
        level = traced_level(args)
        fun, dynamic = held(self.fun, args, {}, free)
        if level:
            rule.owner = self
            return ruled(rule, fun, dynamic, {}, level)
        out = self.fun(*args)
        if traced_level(out) == KEPT:
            raise closed_over(name_of(self.fun))
        return out

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


class custom_jvp(Custom):
    """A function with a forward rule of its own. `nondiff_argnums` as in `Custom`.

    @jax.custom_jvp
    def f(x, y): ...
    @f.defjvp
    def f_jvp(primals, tangents):
        ...
        return primal_out, tangent_out
    """

    jvp: Fun | None = None

    def defjvp(self, jvp: Fun, symbolic_zeros: bool = False) -> Fun:
        """Set the rule: `(*nondiff, primals, tangents) -> (primal_out, tangent_out)`, linear in the tangents."""
        self.jvp = jvp
        return jvp

    def defjvps(self, *jvps: Fun | None) -> None:
        """Set a rule for each argument: `(tangent, primal_out, *primals) -> tangent_out`; None where it is zero."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Any, tangents: Any) -> Any:
            if len(jvps) != len(primals):
                lengths = f"({len(primals)}, {len(jvps)})"
                raise ValueError(
                    f"safe_zip() argument 1 has length {len(jvps)} but argument 0 has length {len(primals)}. "
                    f"All lengths: {lengths}"
                )
            out = self(*primals)
            parts = [flatten(rule(t, out, *primals)) for t, rule in zip(tangents, jvps) if rule]
            values, structure = flatten(out)
            zeros = [0.0 * v if is_inexact(np.dtype(v.dtype)) else np.zeros(v.shape, FLOAT0) for v in values]
            sums = [sum(column[1:], column[0]) for column in zip(*[p for p, _ in parts])] if parts else zeros
            return out, unflatten(structure, sums)

        self.defjvp(jvp)

    def rule(self, static: Sequence[Any], args: tuple[Any, ...], free: Sequence[int]) -> Rule | None:
        return None if self.jvp is None else Forward(name_of(self.fun), functools.partial(self.jvp, *static))


class custom_vjp(Custom):
    """A function with a reverse rule of its own; forward mode through it raises TypeError. `nondiff_argnums` as in
    `Custom`.

    @jax.custom_vjp
    def f(x, y): ...
    f.defvjp(fwd, bwd)      # fwd(x, y) -> (out, residuals); bwd(residuals, ct) -> (ct_x, ct_y)
    """

    rules: tuple[Fun, Fun] | None = None

    def defvjp(self, fwd: Fun, bwd: Fun, symbolic_zeros: bool = False, optimize_remat: bool = False) -> None:
        """Set the rules. fwd has the arguments of the function, bwd those of `nondiff_argnums` before its own two."""
        self.rules = fwd, bwd

    def rule(self, static: Sequence[Any], args: tuple[Any, ...], free: Sequence[int]) -> Rule | None:
        if self.rules is None:
            return None
        fwd, bwd = self.rules
        return Reverse(name_of(self.fun), held(fwd, args, {}, free)[0], functools.partial(bwd, *static), self)


def checkpoint(
    fun: Fun | None = None,
    *,
    prevent_cse: bool = True,
    policy: Fun | None = None,
    static_argnums: int | tuple[int, ...] = (),
    concrete: bool = False,
) -> Fun:
    """A function whose derivative keeps its arguments only, and computes what else it needs once more.

    Args:
        policy: None, or one of JAX's that keep all or nothing; others are for `lazynp.jax.checkpoint`.
        static_argnums: arguments that are no arrays.
        prevent_cse: without effect: nothing is merged outside `jit`, and inside it what is needed twice is kept.
    """
    if policy is not None and getattr(policy, "__name__", "") not in ("everything_saveable", "nothing_saveable"):
        raise NotImplementedError(f"policies that choose are for lazynp.jax.checkpoint, not {policy!r}")
    if concrete:
        raise NotImplementedError("The 'concrete' option to jax.checkpoint is deprecated: use static_argnums instead.")
    if fun is None:
        return functools.partial(checkpoint, policy=policy, static_argnums=static_argnums)

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        level = traced_level((args, kwargs))
        if not level or policy is not None and policy.__name__ == "everything_saveable":
            return fun(*args, **kwargs)
        inner, dynamic = held(fun, args, {}, others(tuple_of(static_argnums), len(args)))
        return ruled(Recompute(name_of(fun)), inner, dynamic, kwargs, level)

    return checkpointed


remat = checkpoint

# --- Closures ---------------------------------------------------------------------------------------------------------


def closure_convert(fun: Fun, *example_args: Any, door: Door | None = None) -> tuple[Fun, list[Any]]:
    """fun as a function of its arguments and of the traced arrays that it has in its closure, which derivatives may be
    taken along; and the list of these."""
    found, structure = flatten(example_args)
    own = door_of(found, door or first_door())
    inputs = [leaf(n.shape, n.dtype, weak=n.weak, trace=ABSTRACT) for n in [own.as_node(x) for x in found]]
    out, out_structure = flatten(fun(*unflatten(structure, [own.wrap(n) for n in inputs])))
    function = Function(inputs, [own.as_node(x) for x in out])
    extra = [n for n in function.captured() if n.trace and is_inexact(n.dtype)]

    def call(*arguments: Any) -> Any:
        given, other = flatten(arguments[: len(example_args)])
        if other != structure:
            raise TypeError(
                "The inputs to the closure produced by closure_convert must have the same Pytree structure as the "
                f"example arguments passed when closure_convert was called. Expected {structure}, but got {other}"
            )
        nodes = [x if x.dtype == n.dtype else convert(x, n.dtype) for x, n in zip(map(own.as_node, given), inputs)]
        new = [own.as_node(x) for x in arguments[len(example_args) :]]
        outputs = replay(function.outputs, [*inputs, *extra], [*nodes, *new])
        return unflatten(out_structure, [own.wrap(n) for n in outputs])

    return call, [own.wrap(n) for n in extra]


class Late:
    """A function among residuals: a leaf of their tree that is no array."""

    def __init__(self, call: Fun) -> None:
        self.call = call


def custom_gradient(fun: Fun) -> Fun:
    """A function from one that returns `(value, rule)`: `rule(ct)` gives the cotangents of its arguments, a tuple where
    there are several. What rule has in its closure is made again when the derivative is asked for."""
    wrapped = custom_vjp(lambda *args: fun(*args)[0])

    def fwd(*args: Any) -> Any:
        out, rule = fun(*args)
        return out, Late(rule)

    def bwd(kept: Late, ct: Any) -> Any:
        found = kept.call(ct)
        return found if isinstance(found, tuple) else (found,)

    wrapped.defvjp(fwd, bwd)
    wrapped.late = True
    functools.update_wrapper(wrapped, fun)
    return wrapped
