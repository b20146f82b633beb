"""Control flow: `scan` and `while`, and what they share with `cond` (see `branches`). Their bodies are closed
functions, static parameters (see `closure`).

A body's inputs and outputs are flat lists of arrays. Derivatives and batches of a body are made by the transformations
of graphs, which stand in a higher layer and put themselves into `rewrites`; running a body is `engine`'s, which the
runtime puts in place. The linear part of a differentiated scan is transposed as JAX does it: what it needs of the
forward part is stacked by one scan, and read backwards by another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..graph.aval import Aval
from ..graph.function import Function, replay
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import LIBRARY, LOOP, MAP, VIEW, Op, make, pick
from ..graph.walk import dependents, toposort
from .closure import captured, interned, unrecorded, with_leaves
from .elementwise import where
from .reductions import logical_or_reduce
from .rewrites import rewrites
from .shape import Axes, aligned, batch_size, broadcast_to, expand_dims, instantiate, move_axis, to_front
from .tags import custom, silenced, summed, used

Nodes = Sequence[Node]
Tangents = Sequence[Node | None]


engine: Any = None
"""Runs loops on arrays: `scan`, `while_` and `cond`, with the parameters of the ops. See `runtime.loops`."""


def rewritten(inputs: Nodes, outputs: Nodes, effects: Nodes = ()) -> Function:
    """A body of these nodes, without what can be left out."""
    inputs, results = with_leaves(inputs, [*outputs, *effects])
    results = rewrites.simplify(results, inputs, True)
    return interned(inputs, results[: len(outputs)], results[len(outputs) :])


def opened(bodies: Sequence[Function]) -> tuple[list[Function], list[Node]]:
    """Bodies in which rules that users wrote may have read something else; it becomes the first inputs of each, and is
    returned too."""
    read: dict[Node, None] = {}
    for f in bodies:
        read.update(dict.fromkeys(captured(f)))
    return [rewritten([*read, *f.inputs], f.outputs, f.effects) for f in bodies], list(read)


def performed(node: Node) -> Node:
    """A node that derivatives have made, whose effects, those of rules, come with the derivative."""
    if any(map(has_effects, node.static)):
        rewrites.effects([node])
    return node


def recorded(nodes: Nodes) -> list[Node]:
    """What was made in the midst of a body, as nodes that the recorder knows."""
    found: dict[Node, Node] = {}
    for n in toposort(nodes):
        if n.op is not None and n.buffer is None and n.index < 0 and n.trace < ABSTRACT:
            found[n] = make(n.op, tuple([found.get(i, i) for i in n.inputs]), n.static, n.moving)
    return [found.get(n, n) for n in nodes]


def placeholder(like: Any) -> Node:
    return leaf(like.shape, like.dtype, weak=like.weak, trace=ABSTRACT)


def tangent_leaf(like: Node) -> Node:
    return leaf(like.shape, like.dtype, weak=like.weak, trace=ABSTRACT)


def split(xs: Sequence[Any], *counts: int) -> list[list[Any]]:
    """A list in parts of these lengths, and the rest."""
    parts, start = [], 0
    for n in counts:
        parts.append(list(xs[start : start + n]))
        start += n
    return [*parts, list(xs[start:])]


def chosen(xs: Iterable[Any], which: Iterable[Any]) -> list[Any]:
    """Those that are wanted."""
    return [x for x, w in zip(xs, which) if w]


def picked(node: Node, first: int, wanted: Sequence[bool]) -> list[Node | None]:
    """For each wanted one the next result of a node, from `first` on; None for the others."""
    places = iter(range(first, first + sum(wanted)))
    return [pick(node, i=next(places)) if w else None for w in wanted]


def tangents_of(f: Function, moved: Sequence[bool]) -> tuple[list[Node | None], list[Node | None]]:
    """Placeholders for the tangents of the inputs that have one, and the tangents of the outputs. Rules that are run
    now have no effects: where there are some, they were run when the body was made part of what is differentiated."""
    given = [tangent_leaf(n) if m else None for n, m in zip(f.inputs, moved)]
    with rewrites.collecting():
        return given, rewrites.jvp(f.outputs, f.inputs, given)


def own_copy(f: Function) -> Function:
    """The body to be differentiated, without its effects: those are the loop's that computes the values alone. It is
    another graph where it holds rules that users wrote, since a rule that has served is marked, or where it holds loops
    and branches that have effects."""
    order = toposort(f.outputs, stop=set(f.inputs))
    quiet = {n: silent(n.static) for n in order if has_effects(n.static)}
    if not quiet and not any([n.op is custom for n in order]):
        return f
    found: dict[Node, Node] = {n: placeholder(n) for n in f.inputs}
    for n in order:
        if n not in found and (n in quiet or any([i in found for i in n.inputs])):
            assert n.op is not None
            inputs = tuple([found.get(i, i) for i in n.inputs])
            if n.op is custom:
                inputs = silenced(inputs, n.static[0], n.static[2])
            found[n] = make(n.op, inputs, quiet.get(n, n.static), n.moving)
            if n in used:
                used.add(found[n])
    return Function([found[n] for n in f.inputs], [found.get(n, n) for n in f.outputs])


def has_effects(value: Any) -> bool:
    """Whether a parameter is, or has in it, a body that has effects."""
    return bool(value.effects) if type(value) is Function else type(value) is tuple and any(map(has_effects, value))


def silent(value: Any) -> Any:
    """A parameter, with bodies that have no effects."""
    if type(value) is tuple:
        return tuple([silent(v) for v in value])
    if not has_effects(value):
        return value
    body = own_copy(value)
    return rewritten(body.inputs, body.outputs)


def settled(state: list[bool], step: Callable[[list[bool]], list[bool]]) -> list[bool]:
    """The least fixed point above a state of a step that only turns False into True."""
    while True:
        new = [a or b for a, b in zip(state, step(state))]
        if new == state:
            return state
        state = new


def full_axes(inputs: Nodes, axes: Axes, wanted: Sequence[bool], at: int = 0) -> list[Node]:
    """The inputs with the mapped axis at `at`, also where they have none but are wanted to."""
    n = batch_size(inputs, axes)
    out = []
    for x, a, w in zip(inputs, axes, wanted):
        if a is not None:
            out.append(move_axis(x, a, at))
        elif w:
            out.append(broadcast_to(expand_dims(x, at), shape=(*x.shape[:at], n, *x.shape[at:])))
        else:
            out.append(x)
    return out


def spread(x: Node, axis: int | None, n: int, wanted: bool = True) -> Node:
    """A body's output with the mapped axis in front."""
    if axis is not None:
        return to_front(x, axis)
    return broadcast_to(x, shape=(n, *x.shape)) if wanted else x


def batched_inputs(f: Function, mapped: Sequence[bool], n: int) -> list[Node]:
    return [
        leaf((n, *i.shape) if m else i.shape, i.dtype, weak=i.weak, trace=ABSTRACT) for i, m in zip(f.inputs, mapped)
    ]


def batched(f: Function, new: Nodes, mapped: Sequence[bool]) -> tuple[list[tuple[Node, int | None]], list[Node]]:
    """The outputs of a body for the whole batch, each with its mapped axis, and its effects, with those of rules."""
    with rewrites.collecting() as trace:
        found = rewrites.batch([*f.outputs, *f.effects], f.inputs, new, [0 if m else None for m in mapped])
    of_rules = trace.effects
    if trace.first is not None:
        of_rules = replay(of_rules, [trace.first], [Node.of_scalar(False)])
    return found[: len(f.outputs)], [*[x for x, _ in found[len(f.outputs) :]], *of_rules]


# scan: inputs are what all steps read, the first carry, and arrays of which step i reads element i.


def scan_abstract(
    *avals: Aval, body: Function, n_consts: int, n_carry: int, reverse: bool, length: int
) -> tuple[Aval, ...]:
    outs = body.out_avals
    return (*outs[:n_carry], *[Aval((length, *a.shape), a.dtype, a.weak) for a in outs[n_carry:]])


def scan_jvp(
    tangents: Tangents,
    out: Node,
    *inputs: Node,
    body: Function,
    n_consts: int,
    n_carry: int,
    reverse: bool,
    length: int,
) -> list[Node | None]:
    """One scan of values and tangents together: forward mode stacks nothing but its results."""
    moved = [t is not None for t in tangents]
    consts, _, xs = split(moved, n_consts, n_carry)
    with unrecorded():
        carry = settled(
            moved[n_consts : n_consts + n_carry],
            lambda c: [t is not None for t in tangents_of(own_copy(body), [*consts, *c, *xs])[1][:n_carry]],
        )
        body = own_copy(body)
        given, along = tangents_of(body, [*consts, *carry, *xs])
        moved = [t is not None for t in along[n_carry:]]
        parts = [
            (v, chosen(t, t)) for v, t in zip(split(body.inputs, n_consts, n_carry), split(given, n_consts, n_carry))
        ]
        new = [instantiate(t, o) for t, o in chosen(zip(along, body.outputs), carry)]
        ins = [n for values, ts in parts for n in (*values, *ts)]
        outs = [*body.outputs[:n_carry], *new, *body.outputs[n_carry:], *chosen(along[n_carry:], moved)]
        (joined,), extra = opened([Function(ins, outs)])
    groups = zip(split(inputs, n_consts, n_carry), split(tangents, n_consts, n_carry), (consts, carry, xs))
    args = [
        n for xs_, ts, wanted in groups for n in (*xs_, *[instantiate(t, x) for t, x in chosen(zip(ts, xs_), wanted)])
    ]
    both = scan(
        *recorded(extra),
        *args,
        body=joined,
        n_consts=len(extra) + n_consts + sum(consts),
        n_carry=n_carry + sum(carry),
        reverse=reverse,
        length=length,
    )
    first = n_carry + sum(carry) + len(body.outputs) - n_carry
    return [*picked(both, n_carry, carry), *picked(both, first, moved)]


class Parts:
    """The linear part of a scan's body, and what it needs of the rest.

    Attributes:
        linear: for each input whether the body is linear in it.
        outputs: for each output whether it is linear.
        fixed: needed values that are the same in each step; stacked: those that are not, without the inputs.
        rows: needed inputs of which each step reads an element.
    """

    def __init__(self, f: Function, linear: Sequence[bool], n_consts: int, n_carry: int) -> None:
        self.f, self.n_consts, self.n_carry = f, n_consts, n_carry
        consts, carry, xs = split(linear, n_consts, n_carry)
        carry = settled(carry, lambda c: self.reached([*consts, *c, *xs])[1][:n_carry])
        self.linear = [*consts, *carry, *xs]
        between, self.outputs = self.reached(self.linear)
        self.find(between)

    def reached(self, linear: Sequence[bool]) -> tuple[list[Node], list[bool]]:
        """The nodes that depend on linear inputs, and which outputs do."""
        sources = chosen(self.f.inputs, linear)
        between = dependents(self.f.outputs, sources)
        inside = {*between, *sources}
        return between, [n in inside for n in self.f.outputs]

    def find(self, between: list[Node]) -> None:
        """What the linear nodes read of the others. A view or an elementwise operation on what is at hand anyway is
        made once more, which costs less than to store and to load it."""
        _, carry, xs = split(self.f.inputs, self.n_consts, self.n_carry)
        inside = {*between, *chosen(self.f.inputs, self.linear)}
        needed = dict.fromkeys([i for n in between for i in n.inputs if i not in inside and i.value is None])
        moving = {*dependents(list(needed), [*carry, *xs]), *carry, *xs}
        for node in reversed(toposort(list(needed), stop=set(self.f.inputs))):
            if node not in needed or node not in moving or node.op is None:
                continue
            reads = [i for i in node.inputs if i.value is None and i in moving]
            cheap = node.op.kind == MAP and all([i in needed or i in xs for i in reads])
            if cheap or node.op.kind == VIEW and all([i.aval.nbytes <= node.aval.nbytes for i in reads]):
                del needed[node]
                needed.update(dict.fromkeys([i for i in node.inputs if i.value is None]))
        self.rows = [n for n in needed if n in xs]
        self.stacked = [n for n in needed if n in moving and n not in xs]
        self.fixed = [n for n in needed if n not in moving]


def scan_transpose(
    cts: Sequence[Node | None],
    *inputs: Any,
    body: Function,
    n_consts: int,
    n_carry: int,
    reverse: bool,
    length: int,
) -> list[Node | None]:
    """A scan the other way, over cotangents. What it carries: the carry's cotangents, and sums of the consts'."""
    with unrecorded():
        parts = Parts(body, [type(x) is Aval for x in inputs], n_consts, n_carry)
    fixed, stacked = residuals(parts, inputs, n_consts, n_carry, reverse, length)
    lin_consts, lin_carry, lin_xs = split(parts.linear, n_consts, n_carry)
    out_carry, out_ys = split(parts.outputs, n_carry)
    with unrecorded():
        ct_carry = [tangent_leaf(n) for n in chosen(body.outputs[:n_carry], lin_carry)]
        sums = [tangent_leaf(n) for n in chosen(body.inputs, lin_consts)]
        read = [o and c is not None for o, c in zip(out_ys, cts[n_carry:])]
        ct_ys = [tangent_leaf(n) for n in chosen(body.outputs[n_carry:], read)]
        ends = chosen(zip(body.outputs[:n_carry], ct_carry_of(lin_carry, ct_carry)), out_carry)
        ends += list(zip(chosen(body.outputs[n_carry:], read), ct_ys))
        sources = chosen(body.inputs, parts.linear)
        with rewrites.collecting() as trace:
            found = rewrites.transpose([n for n, _ in ends], sources, [c for _, c in ends])
        by_const, by_carry, by_x = split(found, len(sums), len(ct_carry))
        rows = [*parts.stacked, *parts.rows]
        results = [
            *[instantiate(c, n) for c, n in zip(by_carry, ct_carry)],
            *[s if c is None else summed(s, c) for s, c in zip(sums, by_const)],
            *[instantiate(c, n) for c, n in zip(by_x, sources[len(sums) + len(ct_carry) :]) if c is not None],
        ]
        ins = [*parts.fixed, *ct_carry, *sums, *rows, *ct_ys]
        (backward,), extra = opened([Function(ins, results, trace.effects, trace.first)])
    first = [instantiate(c, n) for c, n in chosen(zip(cts, body.outputs), lin_carry)]
    zeros = [instantiate(None, n) for n in sums]
    given = [c for c, r in zip(cts[n_carry:], read) if r]
    place = {n: i for i, n in enumerate(body.inputs)}
    args = [*fixed, *first, *zeros, *stacked, *[inputs[place[n]] for n in parts.rows], *given]
    back = scan(
        *recorded(extra),
        *args,
        body=backward,
        n_consts=len(extra) + len(fixed),
        n_carry=len(first) + len(zeros),
        reverse=not reverse,
        length=length,
    )
    performed(back)
    rows_read = iter([c is not None for c in by_x])
    out = [
        *picked(back, len(first), lin_consts),
        *picked(back, 0, lin_carry),
        *picked(back, len(first) + len(zeros), [w and next(rows_read) for w in lin_xs]),
    ]
    gone = {
        n
        for n, c in zip(sources, found)
        if c is None and (length or n not in body.inputs[n_consts : n_consts + n_carry])
    }
    return [c if type(x) is Aval and n not in gone else None for c, x, n in zip(out, inputs, body.inputs)]


def ct_carry_of(linear: Sequence[bool], placeholders: list[Node]) -> list[Node | None]:
    rest = iter(placeholders)
    return [next(rest) if w else None for w in linear]


def residuals(
    parts: Parts, inputs: Sequence[Any], n_consts: int, n_carry: int, reverse: bool, length: int
) -> tuple[list[Node], list[Node]]:
    """What the linear part needs, as nodes outside of the loop: the same for all steps, and stacked."""
    f = parts.f
    known = [not w for w in parts.linear]
    actual = chosen(inputs, known)
    fixed = Function(chosen(f.inputs, known), parts.fixed)(*actual)
    if not parts.stacked:
        return fixed, []
    carry = list(range(n_consts, n_consts + n_carry))
    needed = settled([False] * n_carry, lambda c: needed_carries(f, carry, [*parts.stacked, *chosen(f.outputs, c)]))
    keep = [k and (i not in carry or needed[i - n_consts]) for i, k in enumerate(known)]
    ins = chosen(f.inputs, keep)
    with unrecorded():
        forward = rewritten(ins, [*chosen(f.outputs, needed), *parts.stacked])
    made = scan(
        *chosen(inputs, keep),
        body=forward,
        n_consts=sum(keep[:n_consts]),
        n_carry=sum(needed),
        reverse=reverse,
        length=length,
    )
    return fixed, [pick(made, i=i) for i in range(sum(needed), sum(needed) + len(parts.stacked))]


def needed_carries(f: Function, carry: list[int], outputs: Nodes) -> list[bool]:
    read = set(toposort(outputs, stop=set(f.inputs)))
    return [f.inputs[i] in read for i in carry]


def scan_batch(
    inputs: Nodes, axes: Axes, *, body: Function, n_consts: int, n_carry: int, reverse: bool, length: int
) -> tuple[Node, tuple[int | None, ...]]:
    n = batch_size(inputs, axes)
    mapped = [a is not None for a in axes]
    consts, _, xs = split(mapped, n_consts, n_carry)

    def outs(carry: list[bool]) -> tuple[list[Node], list[tuple[Node, int | None]], list[Node]]:
        which = [*consts, *carry, *xs]
        new = batched_inputs(body, which, n)
        return new, *batched(body, new, which)

    with unrecorded():
        carry = settled(
            mapped[n_consts : n_consts + n_carry], lambda c: [a is not None for _, a in outs(c)[1][:n_carry]]
        )
        new, pairs, effects = outs(carry)
        results = [spread(x, a, n, w) for (x, a), w in zip(pairs, carry)]
        results += [spread(x, a, n, False) for x, a in pairs[n_carry:]]
        together = rewritten(new, results, effects)
    split_inputs, split_axes = split(inputs, n_consts, n_carry), split(axes, n_consts, n_carry)
    args = [
        *[x if a is None else to_front(x, a) for x, a in zip(split_inputs[0], split_axes[0])],
        *[spread(x, a, n, w) for x, a, w in zip(split_inputs[1], split_axes[1], carry)],
        *[x if a is None else move_axis(x, a, 1) for x, a in zip(split_inputs[2], split_axes[2])],
    ]
    out = scan(*args, body=together, n_consts=n_consts, n_carry=n_carry, reverse=reverse, length=length)
    return out, (*[0 if w else None for w in carry], *[None if a is None else 1 for _, a in pairs[n_carry:]])


scan = Op(
    "scan",
    LIBRARY,
    scan_abstract,
    lambda xp, *args, **params: engine.scan(args, **params),
    static=("body", "n_consts", "n_carry", "reverse"),
    moving=("length",),
    jvp=scan_jvp,
    transpose=scan_transpose,
    batch=scan_batch,
    n_out=0,
    weakness=LOOP,
)
"""The last carry, then the stacked results of all steps; `reverse`: the last element first."""

# while: inputs are what the condition reads, what the body reads, and the first state.


def while_abstract(*avals: Aval, cond: Function, body: Function, n_cond: int, n_body: int) -> tuple[Aval, ...]:
    return body.out_avals


def while_jvp(
    tangents: Tangents, out: Node, *inputs: Node, cond: Function, body: Function, n_cond: int, n_body: int
) -> list[Node | None]:
    reads, consts, state = split(inputs, n_cond, n_body)
    _, t_consts, t_state = split(tangents, n_cond, n_body)
    moved = [t is not None for t in t_consts]
    with unrecorded():
        carry = settled(
            [t is not None for t in t_state],
            lambda c: [t is not None for t in tangents_of(own_copy(body), [*moved, *c])[1]],
        )
        body = own_copy(body)
        given, along = tangents_of(body, [*moved, *carry])
        parts = split(body.inputs, n_body), split(given, n_body)
        new = [instantiate(t, o) for t, o in chosen(zip(along, body.outputs), carry)]
        ins = [n for values, ts in zip(*parts) for n in (*values, *chosen(ts, ts))]
        (joined,), extra = opened([Function(ins, [*body.outputs, *new])])
        unread = [tangent_leaf(n) for n in chosen(body.inputs[n_body:], carry)]
        test = rewritten([*cond.inputs, *unread], cond.outputs)
    both = while_(
        *reads,
        *recorded(extra),
        *consts,
        *chosen(t_consts, moved),
        *state,
        *[instantiate(t, x) for t, x in chosen(zip(t_state, state), carry)],
        cond=test,
        body=joined,
        n_cond=n_cond,
        n_body=len(extra) + n_body + sum(moved),
    )
    return picked(both, len(state), carry)


def while_transpose(cts: Any, *inputs: Any, **params: Any) -> Any:
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop "
        "values. Try using lax.scan, or using fori_loop with static start/stop."
    )


def while_batch(
    inputs: Nodes, axes: Axes, *, cond: Function, body: Function, n_cond: int, n_body: int
) -> tuple[Node, tuple[int | None, ...]]:
    """Where the condition differs along the batch, all go on while one does, and a state whose condition is false
    stays what it is."""
    n = batch_size(inputs, axes)
    reads, consts, first = split([a is not None for a in axes], n_cond, n_body)

    def outs(f: Function, which: list[bool]) -> tuple[list[Node], list[tuple[Node, int | None]], list[Node]]:
        new = batched_inputs(f, which, n)
        return new, *batched(f, new, which)

    def step(carry: list[bool]) -> list[bool]:
        if outs(cond, [*reads, *carry])[1][0][1] is not None:
            return [True] * len(carry)
        return [a is not None for _, a in outs(body, [*consts, *carry])[1]]

    with unrecorded():
        carry = settled(first, step)
        c_new, ((test, at),), c_effects = outs(cond, [*reads, *carry])
        b_new, pairs, effects = outs(body, [*consts, *carry])
        results = [spread(x, a, n, w) for (x, a), w in zip(pairs, carry)]
        c_args, c_state = split(c_new, n_cond)
        n_reads = 0
        if at is not None:
            test = to_front(test, at)
            mine = [placeholder(x) for x in c_args]
            own = Function(c_new, [test])(*mine, *b_new[n_body:])[0]
            results = [where(aligned(own, x.ndim - 1, 1), x, old) for x, old in zip(results, b_new[n_body:])]
            b_new, n_reads = [*mine, *b_new], n_cond
            test = logical_or_reduce(test, axes=(0,), keepdims=False, dtype=None)
        new_cond = rewritten([*c_args, *c_state], [test], c_effects)
        new_body = rewritten(b_new, results, effects)
    args = [*full_axes(inputs, axes, [False] * (n_cond + n_body) + carry)]
    out = while_(
        *args[:n_cond], *args[:n_reads], *args[n_cond:], cond=new_cond, body=new_body, n_cond=n_cond,
        n_body=n_body + n_reads,
    )  # fmt: skip
    return out, tuple([0 if w else None for w in carry])


while_ = Op(
    "while",
    LIBRARY,
    while_abstract,
    lambda xp, *args, **params: engine.while_(args, **params),
    static=("cond", "body", "n_cond", "n_body"),
    jvp=while_jvp,
    transpose=while_transpose,
    batch=while_batch,
    n_out=0,
    weakness=LOOP,
)
"""The state at which the condition is false for the first time."""

together = Op(
    "together",
    LIBRARY,
    lambda *avals: avals,
    lambda xp, *args: args,
    jvp=lambda tangents, out, *xs: list(tangents),
    transpose=lambda cts, *xs: list(cts),
    n_out=0,
    linear=True,
)
"""Several nodes as the results of one."""


def together_batch(inputs: Nodes, axes: Axes) -> tuple[Node, tuple[int | None, ...]]:
    return together(*inputs), tuple(axes)


together.batch = together_batch
