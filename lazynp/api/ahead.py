"""Rules that users wrote, run in place of the functions that they belong to, in graphs that are differentiated.

A function's effects are its evaluation's. Where a call is differentiated the rule is evaluated instead, so that it is
the rule's effects that come (printing in `fwd`, say). What differentiates a graph later has its values only: therefore
rules with effects are run as soon as it is known that a graph is differentiated, when loops, branches and jitted or
mapped functions become part of what a differentiation records.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..graph.function import Function
from ..graph.node import ABSTRACT, Node
from ..graph.op import make, pick
from ..graph.walk import toposort
from ..ops import branches, control
from ..ops.closure import captured, unrecorded
from ..ops.rewrites import rewrites
from ..ops.shape import to_front
from ..ops.tags import Batched, Nodes, custom, seen, sequence, spread
from ..runtime.tape import depth, differentiating
from .custom import Recompute, Rule, quiet
from .trace import Apart, Trace, after, collecting, effects, placeholder, stack, token_of

FLOW = (control.scan, control.while_, branches.cond)
kept_rules: weakref.WeakKeyDictionary[Function, list[Rule]] = weakref.WeakKeyDictionary()


def plain(rule: Any) -> Rule:
    """A rule without the axes that it was mapped over."""
    while isinstance(rule, Batched):
        rule = rule.rule
    return rule


def is_replaced(n: Node) -> bool:
    """Whether a node is a call whose rule is run in its place, where it is differentiated."""
    return n.op is custom and plain(n.static[0]).may_act()


def around(rule: Any, user: Rule) -> Any:
    """A rule in the place of the one that is mapped."""
    return Batched(around(rule.rule, user), rule.kept, rule.axes, rule.size) if isinstance(rule, Batched) else user


def bodies_of(node: Node) -> list[Function]:
    """The graphs that a loop or a choice runs."""
    if node.op is branches.cond:
        return list(node.static[0])
    return [f for f in node.static if type(f) is Function]


def rules_of(function: Function) -> list[Rule]:
    """The rules of calls in a graph, and in graphs in it."""
    found = kept_rules.get(function)
    if found is None:
        order = toposort([*function.outputs, *function.effects], stop=set(function.inputs))
        found = [plain(n.static[0]) for n in order if n.op is custom]
        found += [r for n in order if n.op in FLOW for f in bodies_of(n) for r in rules_of(f)]
        kept_rules[function] = found
    return found


def has_rules(function: Function) -> bool:
    """Whether there are rules in a graph that may have effects, or are to be run in place of some."""
    return any([r.may_act() for r in rules_of(function)])


def inline(function: Function, inputs: Sequence[Node]) -> list[Node]:
    """The outputs for these inputs, as new graph, with the function's effects as the current trace's."""
    if depth.tape is not None:
        function, inputs = prepared(function, inputs)
    if not function.effects:
        return function(*inputs)
    outs, acting = function.with_effects(*inputs, after=after())
    effects(acting)
    return outs


def prepared(function: Function, inputs: Sequence[Node]) -> tuple[Function, Sequence[Node]]:
    """A function that is to be run on inputs that may be differentiated along, with rules in place of what they belong
    to; and its inputs, which may be more."""
    if depth.tape is None or not has_rules(function):
        return function, inputs
    inside = set(function.inputs)
    extra = [n for n in function.captured() if n not in inside and differentiating([n])]
    whole = Function([*function.inputs, *extra], function.outputs, function.effects, function.token)
    given = [*inputs, *extra]
    found = whole
    for _, moved in differentiating(given):
        found = run_rules(found, moved)
    return (function, inputs) if found is whole else (found, given)


def flow_node(kind: Callable[..., Node], *args: Any) -> Node:
    """The node `kind(*args)` of a loop or a choice, of functions among the arguments. Where it is differentiated along
    its inputs, rules are run in place of what they belong to."""
    functions = [f for x in args for f in (x if isinstance(x, (list, tuple)) else [x]) if type(f) is Function]
    if depth.tape is None or not any(map(has_rules, functions)):
        return kind(*args)
    with unrecorded():
        node = kind(*args)
        for _, moved in differentiating(node.inputs):
            node = flow_with_rules(node, node.inputs, moved)
    return control.recorded([node])[0]


class Rewriting:
    """What is found of a graph in which rules are run.

    Attributes:
        live: the nodes that are differentiated. new: what takes their places.
        effects: of rules of functions that have none.
        changed: whether rules have effects, or have been run in place of what has some.
    """

    def __init__(self, function: Function, moved: Sequence[bool], trace: Trace) -> None:
        self.live = {n for n, m in zip(function.inputs, moved) if m}
        inputs = enumerate(function.inputs)
        self.new = {n: placeholder(n.aval, trace, i) for i, n in inputs if n.trace == ABSTRACT}
        self.effects: list[Node] = []
        self.changed = False

    def order(self, results: Sequence[Node], inside: set[Node]) -> list[Node]:
        """What the results depend on, inputs first, but for what calls have computed that are replaced."""
        every = [n for n in toposort(results, stop=inside) if n.op is not None and n not in inside]
        for n in every:
            if any(self.moved(seen(n))):
                self.live.add(n)
        wanted = set(results)
        for n in reversed(every):
            if n in wanted:
                wanted.update(n.inputs[n.static[1] :] if n in self.live and is_replaced(n) else n.inputs)
        return [n for n in every if n in wanted]

    def moved(self, nodes: Sequence[Node]) -> list[bool]:
        return [n in self.live for n in nodes]

    def node(self, n: Node, trace: Trace) -> Node:
        """The node of rewritten inputs."""
        inputs = tuple([self.new.get(i, i) for i in n.inputs])
        if n in self.live:
            if is_replaced(n):
                return self.call(n, inputs, trace)
            if n.op is custom and isinstance(plain(n.static[0]), Recompute):
                return self.recomputed(n, inputs)
            if n.op in FLOW:
                made = flow_with_rules(n, inputs, self.moved(n.inputs))
                self.changed = self.changed or made.static != n.static
                if not any(f.effects for f in bodies_of(n)) and any(f.effects for f in bodies_of(made)):
                    self.effects.append(made)
                return made
        if inputs == n.inputs:
            return n
        assert n.op is not None
        made = make(n.op, inputs, n.static, n.moving)
        made.site = n.site
        return made

    def recomputed(self, n: Node, inputs: tuple[Node, ...]) -> Node:
        """A checkpointed call, which computes once more what runs rules."""
        rule, hidden, count = n.static
        user = copy.copy(plain(rule))
        assert isinstance(user, Recompute)
        user.function = run_rules(user.function, self.moved(n.inputs[hidden:]))
        return custom(*inputs, rule=around(rule, user), hidden=hidden, n=count)

    def call(self, n: Node, inputs: tuple[Node, ...], trace: Trace) -> Node:
        """A call with a rule, after the rule was run."""
        rule, hidden, _ = n.static
        args, before = inputs[hidden:], stack.acted
        with Apart() as apart:
            outs, kept, new = ahead(rule, args, self.moved(n.inputs[hidden:]))
        if stack.acted == before:
            quiet.add(plain(rule).owner)
        new.acts = rule.acts or bool(apart.effects)
        self.changed = self.changed or new.acts or stack.acted > before
        if apart.effects:
            tokens = [sequence(*map(token_of, apart.effects))]
        else:
            tokens = [Node.of_scalar(False)] if rule.acts else []
        n_out = len(outs) + len(tokens)
        made = custom(*outs, *tokens, *kept, *args, rule=new, hidden=n_out + len(kept), n=n_out)
        if new.acts:
            trace.last = pick(made, i=n_out - 1)
            self.effects += [] if rule.acts else [trace.last]
        return made


def ahead(rule: Any, inputs: Nodes, moved: Sequence[bool]) -> tuple[list[Node], list[Node], Any]:
    """`Rule.ahead`, of a rule that may be mapped: run for one example, and batched."""
    if not isinstance(rule, Batched):
        return rule.ahead(inputs, moved)
    at = rule.axes[rule.kept :]
    ones = Batched(rule.rule, 0, at, rule.size)
    with Apart() as apart:
        values, kept, inner = ahead(rule.rule, ones.ones(inputs, at), moved)
    old, new, axes = zip(*ones.rows)
    found = rewrites.batch([*values, *kept, *apart.effects], old, new, axes)
    n = len(values)
    effects([e for e, _ in found[n + len(kept) :]])
    outs = spread([x for x, _ in found[:n]], [a for _, a in found[:n]], rule.size)
    rest = [x if a is None else to_front(x, a) for x, a in found[n : n + len(kept)]]
    kept_at = [None if a is None else 0 for _, a in found[n : n + len(kept)]]
    return outs, rest, Batched(inner, len(rest), (*kept_at, *at), rule.size)


def run_rules(function: Function, moved: Sequence[bool]) -> Function:
    """A graph that is differentiated along some of its inputs, in which rules are run in place of what they belong to;
    the same graph, where that changes no effects."""
    if not any(moved) or not has_rules(function):
        return function
    inside = set(function.inputs)
    with unrecorded(), collecting() as trace:
        found = Rewriting(function, moved, trace)
        trace.first = trace.last = function.token
        for n in found.order([*function.outputs, *function.effects], inside):
            found.new[n] = found.node(n, trace)
    if not found.changed:
        return function
    inputs, outputs, acting = (
        [found.new.get(n, n) for n in nodes] for nodes in (function.inputs, function.outputs, function.effects)
    )
    return Function(inputs, outputs, [*acting, *found.effects], trace.first)


def flow_with_rules(node: Node, inputs: Sequence[Node], moved: Sequence[bool]) -> Node:
    """A loop or a choice of these inputs, in whose graphs rules are run."""
    op, static = node.op, node.static
    assert op is not None
    if op is branches.cond:
        bodies, at = [run_rules(f, moved[1:]) for f in static[0]], 1
    else:
        first, n_consts = (0, static[1]) if op is control.scan else (static[2], static[3])
        body = static[0] if op is control.scan else static[1]
        n_carry = static[2] if op is control.scan else len(body.inputs) - n_consts
        given = list(moved[first:])
        consts, rows = given[:n_consts], given[n_consts + n_carry :]
        carry = control.settled(
            given[n_consts : n_consts + n_carry], lambda c: reached(body, [*consts, *c, *rows])[:n_carry]
        )
        bodies, at = [run_rules(body, [*consts, *carry, *rows])], first
    old = list(static[0]) if op is branches.cond else [static[0] if op is control.scan else static[1]]
    if all([a is b for a, b in zip(bodies, old)]):
        if tuple(inputs) == node.inputs:
            return node
        made = make(op, tuple(inputs), static, node.moving)
        made.site = node.site
        return made
    with unrecorded():
        read: dict[Node, None] = {}
        for f in bodies:
            read.update(dict.fromkeys(captured(f)))
        new = [control.rewritten([*read, *f.inputs], f.outputs, f.effects) for f in bodies]
    args = [*inputs[:at], *read, *inputs[at:]]
    if op is branches.cond:
        static = (tuple(new),)
    elif op is control.scan:
        static = (new[0], static[1] + len(read), *static[2:])
    else:
        static = (static[0], new[0], static[2], static[3] + len(read))
    return make(op, tuple(args), static, node.moving)


def reached(f: Function, moved: Sequence[bool]) -> list[bool]:
    """Which outputs are differentiated, where these inputs are."""
    sources = [n for n, m in zip(f.inputs, moved) if m]
    live = {*sources, *rewrites.differentiable(f.outputs, sources)}
    return [n in live for n in f.outputs]
