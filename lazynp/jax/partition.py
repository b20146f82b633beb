"""Computing with arrays that lie on devices of several processes: each device computes its part of a result.

A rule says how the parts of the inputs have to lie for a result that lies so, and what is done with them. Where an
operation has no rule, all of its inputs are gathered on every device, and it is done there in full: right for any
operation, and as slow as in one process.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api.trace import stack
from ..graph.node import CONCRETE, Node, leaf
from ..graph.op import MAP, REDUCE, make, pick, results
from ..ops.elementwise import cast, weak_cast
from ..ops.joining import concatenate
from ..ops.reductions import reductions
from ..ops.shape import reshape, set_, slice_, whole
from ..runtime.execute import value_of
from . import processes
from .devices import Device, own
from .processes import Box, Parts, Spread, boxes_of, extent, overlap, plain, regions, spread_of
from .sharding import Mesh, NamedSharding, PartitionSpec
from .split_rules import KINDS, RULES, groups, kept, longer
from .splits import Split, known, named_sharding, settled, split_of, tidy
from .spreading import constrain, note

log = logging.getLogger("lazynp.jax")
gathered: Counter[str] = Counter()
"""How often each operation had its inputs gathered in full, since it has no rule."""

LARGE = 1 << 16  # bytes from which on partial results are added up in parts


class Plan(NamedTuple):
    """How a result is computed.

    Attributes:
        out: how it lies then. needs: how each input has to lie.
        local: from the shape of a part and the inputs' parts to that part.
        join: the reduction that joins parts, and the mesh axes along which they are to be joined.
    """

    out: Split
    needs: tuple[Split, ...]
    local: Callable[[tuple[int, ...], tuple[Node, ...]], Node]
    join: tuple[str, tuple[Any, ...]] = ("", ())


Given = Sequence[Split]
PlanRule = Callable[[Node, Split, Given, Any], Plan]


def compute(node: Node) -> None:
    """Give a node its value."""
    if any([trace.kind == "jit" for trace in stack.active]):
        for n in node.inputs:
            processes.check_closed_over(n)
    note(node)
    if node.op is pick:
        node.buffer = node.inputs[0].buffer[node.static[0]]
    else:
        node.buffer = value(node)
    label = known.get(node)
    if type(node.buffer) is Spread and label is not None:
        if not isinstance(label, NamedSharding):
            node.buffer.sharding = label
        elif node.op is not constrain and (node.op.tag or node.op is pick):  # type: ignore[union-attr]
            known[node] = node.buffer.sharding
    if node.trace == CONCRETE:
        node.inputs = ()


def value(node: Node) -> Any:
    """The value of a node: a Spread, or of several results a tuple of them."""
    op = node.op
    assert op is not None
    check_devices(node)
    if op.tag and op is not constrain:
        mesh = mesh_of(node)
        if node.dtype is not None:
            return as_spread(node.inputs[0], mesh)
        return tuple([as_spread(n, mesh) for n in node.inputs[: len(node.outs)]])
    if op.name in LOOPS:
        inputs = [plain_spread(n) for n in node.inputs]
        mesh = mesh_of(node)
        return tuple([as_spread(n, mesh) for n in LOOPS[op.name](node, inputs)])
    if op.name in REFUSED:
        raise NotImplementedError(f"{op.name} of an array that lies on devices of several processes: gather it before")
    mesh, target = target_of(node)
    if op.name == "slice":
        return lazy_slice(node, mesh, target)
    if op.name in PIECEWISE:
        return Spread(node.shape, node.dtype, named(mesh, target), PIECEWISE[op.name](node, mesh, target))
    given = [split_on(n, mesh) for n in node.inputs]
    rule = PLANS.get(op.name) or PLANS_BY_KIND.get(op.kind)
    plan = rule(node, target, given, mesh) if rule is not None and node.dtype is not None else everywhere(node)
    return carried_out(node, plan, mesh, target)


def check_devices(node: Node) -> None:
    """Raise ValueError for a constraint to other devices than those on which an array lies."""
    to, lies = node.static[0] if node.op is constrain else None, spread_of(node.inputs[0])
    if to is not None and lies is not None and to.device_set != lies.sharding.device_set:
        there, here = [sorted([d.id for d in s.device_set]) for s in (lies.sharding, to)]
        raise ValueError(
            f"Received incompatible devices for jitted computation. Got argument with shape {node.aval} and with "
            f"device ids {there} on platform CPU and a sharding constraint with device ids {here} on platform CPU"
        )


def mesh_of(node: Node) -> Any:
    """The mesh on which a node is computed: that of its sharding, else of the first input which has one."""
    spreads = [spread_of(n) for n in node.inputs]
    found: list[Any] = [known.get(node), *[s.sharding for s in spreads if s is not None]]
    for s in found:
        if isinstance(s, NamedSharding):
            return s.mesh
    alone = np.empty(1, object)
    alone[0] = next(iter(next(s for s in found if s is not None).device_set))
    return Mesh(alone, ("alone",))


def target_of(node: Node) -> tuple[Any, Split]:
    """The mesh, and how the result is to lie on it: as its sharding says, else as its inputs do."""
    mesh, label = mesh_of(node), known.get(node)
    if isinstance(label, NamedSharding):
        return mesh, tidy(split_of(label, node.ndim), node.shape, mesh)
    if node.dtype is None:
        return mesh, ()
    given = [split_on(n, mesh) for n in node.inputs]
    rule = RULES.get(node.op.name) or KINDS.get(node.op.kind, kept)  # type: ignore[union-attr]
    with settled():
        split = given[0] if node.op is constrain else rule(node, given, mesh)
    return mesh, tidy(split, node.shape, mesh)


def split_on(x: Node, mesh: Any) -> Split:
    """How an input lies on a mesh; as if it were the same everywhere, where it lies on another one."""
    spread = spread_of(x)
    if spread is not None and isinstance(spread.sharding, NamedSharding) and spread.sharding.mesh == mesh:
        return split_of(spread.sharding, x.ndim)
    return ((),) * x.ndim


def named(mesh: Any, split: Split) -> NamedSharding:
    return named_sharding(mesh, split, len(split))


def mine(mesh: Any) -> list[Device]:
    """This process's devices of a mesh."""
    here = set(own())
    return [d for d in mesh.devices.flat if d in here]


def plain_spread(x: Node) -> Node:
    """A node of the same value, apart from differentiations that are under way."""
    spread = spread_of(x)
    return plain(x) if spread is None else processes.holding(spread, x.weak) if x.trace else x


def as_spread(x: Node, mesh: Any) -> Spread:
    """The value of a node; of one that this process has, the same on all devices."""
    spread = spread_of(x)
    if spread is not None:
        return spread
    x = plain(x)
    return Spread(x.shape, x.dtype, NamedSharding(mesh, PartitionSpec()), {d: x for d in mine(mesh)})


def fetch(x: Node, split: Split, mesh: Any, what: str) -> Parts:
    """The parts of an input that lie so."""
    spread = spread_of(x)
    sharding = named(mesh, split)
    if spread is not None and spread.source is None:
        boxes = boxes_of(spread.sharding, spread.shape)
        if boxes == boxes_of(sharding, x.shape):
            return spread.parts
    return regions(x, boxes_of(sharding, x.shape), what)


def as_weak(part: Node, x: Node) -> Node:
    """A part, as weakly typed as what it is a part of."""
    return part if part.weak == x.weak else (weak_cast if x.weak else cast)(part, dtype=part.dtype)


def carried_out(node: Node, plan: Plan, mesh: Any, target: Split) -> Any:
    name = node.op.name  # type: ignore[union-attr]
    parts_of = [fetch(x, s, mesh, f"{name}'s operand") for x, s in zip(node.inputs, plan.needs)]
    sizes = mesh.shape
    shape = tuple([n // math.prod([sizes[a] for a in s]) for n, s in zip(node.shape, plan.out)])
    made: dict[tuple[Node, ...], Node] = {}
    parts: Parts = {}
    for d in mine(mesh):
        inputs = tuple([as_weak(p[d], x) for p, x in zip(parts_of, node.inputs)])
        if inputs not in made:
            made[inputs] = plan.local(shape, inputs)
        parts[d] = made[inputs]
    if node.dtype is None:
        picked = {d: results(n) for d, n in parts.items()}
        return tuple(
            [
                Spread(a.shape, a.dtype, NamedSharding(mesh, PartitionSpec()), {d: p[i] for d, p in picked.items()})
                for i, a in enumerate(node.outs)
            ]
        )
    if plan.join[1]:
        parts = added_up(node, plan, parts, mesh)
    out = Spread(node.shape, node.dtype, named(mesh, plan.out), parts)
    if plan.out != target:
        parts = regions(processes.holding(out), boxes_of(named(mesh, target), node.shape), f"{name}'s result")
        out = Spread(node.shape, node.dtype, named(mesh, target), parts)
    return out


def added_up(node: Node, plan: Plan, parts: Parts, mesh: Any) -> Parts:
    """Partial results of devices along some mesh axes, joined: the same bits on all of them.

    Large ones are joined in parts, one on each device, and these are gathered: each value travels twice.
    """
    name, axes = plan.join
    k = math.prod([mesh.shape[a] for a in axes])
    stacked = {d: reshape(n, shape=(1, *n.shape)) for d, n in parts.items()}
    whole_ = (k, *node.shape)
    x = processes.holding(Spread(whole_, node.dtype, named(mesh, (axes, *plan.out)), stacked))
    spread_over = plan.out
    part = next(iter(parts.values()), None)
    if part is not None and math.prod(part.shape) * part.dtype.itemsize > LARGE:
        d = next((d for d, n in enumerate(part.shape) if n % k == 0), None)
        if d is not None:
            spread_over = (*plan.out[:d], (*plan.out[d], *axes), *plan.out[d + 1 :])
    there = regions(x, boxes_of(named(mesh, ((), *spread_over)), whole_), f"partial results of {name}")
    dtype = node.dtype if name in ("add", "multiply") else None
    made: dict[Node, Node] = {}
    for n in there.values():
        if n not in made:
            made[n] = reductions[name](n, axes=(0,), keepdims=False, dtype=dtype)
    joined = {d: made[n] for d, n in there.items()}
    if spread_over is plan.out:
        return joined
    y = processes.holding(Spread(node.shape, node.dtype, named(mesh, spread_over), joined))
    return regions(y, boxes_of(named(mesh, plan.out), node.shape), f"the result of {name}")


# --- Rules ------------------------------------------------------------------------------------------------------------


def everywhere(node: Node) -> Plan:
    """All of it on each device."""
    name = node.op.name  # type: ignore[union-attr]
    if any([s is not None and not s.readable for s in map(spread_of, node.inputs)]):
        gathered[name] += 1
        if gathered[name] == 1:
            log.info("%s gathers its operands, which lie on devices of several processes", name)
    needs = tuple([((),) * n.ndim if n.dtype is not None else () for n in node.inputs])
    return Plan(((),) * node.ndim, needs, again(node))


def again(node: Node) -> Callable[[tuple[int, ...], tuple[Node, ...]], Node]:
    """The same operation, with the same parameters."""
    return lambda shape, xs: make(node.op, xs, node.static, node.moving)  # type: ignore[arg-type]


def elementwise(node: Node, target: Split, given: Given, mesh: Any) -> Plan:
    needs = []
    for x in node.inputs:
        more = node.ndim - x.ndim
        needs.append(tuple([target[more + d] if n == node.shape[more + d] else () for d, n in enumerate(x.shape)]))
    return Plan(target, tuple(needs), again(node))


def reduction(node: Node, target: Split, given: Given, mesh: Any) -> Plan:
    """Of each device's part, then of these, where the function can be done in parts."""
    axes, keep = node.static[:2]
    x = node.inputs[0]
    name = node.op.name.removesuffix(".reduce")  # type: ignore[union-attr]
    left = iter(target)
    needs: list[tuple[Any, ...]] = []
    across: list[Any] = []
    used = {a for s in target for a in s}
    for d in range(x.ndim):
        if d in axes:
            split = tuple([a for a in given[0][d] if a not in used]) if name in JOINED else ()
            if keep:
                next(left)
            across += split
            needs.append(split)
        else:
            needs.append(next(left))
    target = tuple([() if keep and d in axes else s for d, s in enumerate(target)])
    return Plan(target, (tuple(needs),), again(node), (name, tuple(across)))


JOINED = frozenset({
    "add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "bitwise_and", "bitwise_or",
    "bitwise_xor", "logical_xor", "gcd", "lcm", "logaddexp", "logaddexp2",
})  # fmt: skip


def transposed(node: Node, target: Split, given: Given, mesh: Any) -> Plan:
    axes = node.static[0]
    return Plan(target, (tuple([target[axes.index(d)] for d in range(node.ndim)]),), again(node))


def broadcast(node: Node, target: Split, given: Given, mesh: Any) -> Plan:
    x = node.inputs[0]
    more = node.ndim - x.ndim
    needs = tuple([target[more + d] if n == node.shape[more + d] else () for d, n in enumerate(x.shape)])
    return Plan(target, (needs,), lambda shape, xs: make(node.op, xs, (), (shape,)))  # type: ignore[arg-type]


def reshaped(node: Node, target: Split, given: Given, mesh: Any) -> Plan:
    """As `spreading.reshaped`: only the first axis of those that become one, or come of one, may be split."""
    x = node.inputs[0]
    needs: list[tuple[Any, ...]] = [()] * x.ndim
    out: list[tuple[Any, ...]] = [()] * node.ndim
    for (begin, end), (first, last) in groups(x.shape, node.shape):
        source, to = longer(x.shape, begin, end), longer(node.shape, first, last)
        k = math.prod([mesh.shape[a] for a in target[to]])
        if x.shape[source] % k == 0:
            needs[source] = out[to] = target[to]
    return Plan(tuple(out), (tuple(needs),), lambda shape, xs: reshape(xs[0], shape=shape))


def along(node: Node, target: Split, given: Given, mesh: Any) -> Plan:
    """Of what runs along one axis, the first of its parameters: that axis is whole."""
    axis = node.static[0] % node.ndim if node.ndim else 0
    split = tuple([() if d == axis else s for d, s in enumerate(target)])
    x = node.inputs[0]
    if x.ndim != node.ndim:
        return everywhere(node)
    return Plan(split, (split,), again(node))


def product(node: Node, target: Split, given: Given, mesh: Any) -> Plan:
    """Products of matrices and vectors: along the axis that they sum over, each device has its part of the sum."""
    a, b = node.inputs
    name = node.op.name  # type: ignore[union-attr]
    rows = 1 if name in ("matvec", "matmul") and a.ndim > 1 else 0
    columns = 1 if name in ("vecmat", "matmul") and b.ndim > 1 else 0
    stack = node.ndim - rows - columns
    row, column = target[stack : stack + rows], target[stack + rows :]
    used = {x for s in target for x in s}
    inner_a, inner_b = a.ndim - 1, b.ndim - 1 - columns
    across = next((s for s in (given[0][inner_a], given[1][inner_b]) if s and not used & set(s)), ())

    def lies(x: Node, ends: int) -> tuple[tuple[Any, ...], ...]:
        more = stack - (x.ndim - ends)
        return tuple([target[more + d] if x.shape[d] == node.shape[more + d] else () for d in range(x.ndim - ends)])

    left = (*lies(a, rows + 1), *row, across)
    right = (*lies(b, columns + 1), across, *column)
    return Plan(target, (left, right), again(node), ("add", tuple(across)))


def chosen(node: Node, target: Split, given: Given, mesh: Any) -> Plan:
    """The place of an extreme element: the axis is whole."""
    axis, keep = node.static
    x = node.inputs[0]
    if axis is None:
        return everywhere(node)
    axis %= x.ndim
    rest = target if keep else (*target[:axis], (), *target[axis:])
    needs = tuple([() if d == axis else s for d, s in enumerate(rest)])
    out = needs if keep else (*needs[:axis], *needs[axis + 1 :])
    return Plan(out, (needs,), again(node))


def words_of_keys(node: Node, target: Split, given: Given, mesh: Any) -> Plan:
    """Of random keys and their words, which are the last axis and stay together."""
    x = node.inputs[0]
    out = target if node.ndim < x.ndim else (*target[:-1], ())
    needs = (*target, ()) if node.ndim < x.ndim else target[:-1]
    return Plan(out, (needs,), again(node))


def convolution(node: Node, target: Split, given: Given, mesh: Any) -> Plan:
    """Examples, the first axis, are apart from one another."""
    out = (target[0], *[()] * (node.ndim - 1))
    if node.static[-1] != 1:
        return everywhere(node)
    needs = ((target[0], *[()] * (node.inputs[0].ndim - 1)), ((),) * node.inputs[1].ndim)
    return Plan(out, needs, again(node))


PLANS_BY_KIND: dict[str, PlanRule] = {MAP: elementwise, REDUCE: reduction}
PLANS: dict[str, PlanRule] = {
    "sharding_constraint": lambda node, target, given, mesh: Plan(target, (target,), lambda shape, xs: xs[0]),
    "transpose": transposed,
    "broadcast_to": broadcast,
    "reshape": reshaped,
    "conv": convolution,
    **dict.fromkeys(("key_data", "key_wrap"), words_of_keys),
    **dict.fromkeys(("matmul", "vecdot", "matvec", "vecmat"), product),
    **dict.fromkeys(("argmax", "argmin"), chosen),
    **dict.fromkeys(("sort", "argsort", "arglargest", "fft", "ifft"), along),
    **dict.fromkeys([f"{f}.accumulate" for f in ("add", "multiply", "maximum", "minimum", "logaddexp")], along),
    **dict.fromkeys(("erf", "erfc", "erf_inv", "lgamma", "digamma", "polygamma", "zeta", "igamma"), elementwise),
    **dict.fromkeys(("igammac", "betainc", "bessel_i0e", "bessel_i1e"), elementwise),
}


# --- What takes regions of its inputs ---------------------------------------------------------------------------------


def lazy_slice(node: Node, mesh: Any, target: Split) -> Spread:
    """A slice: what reads it gets what it needs of the array itself."""
    out = Spread(node.shape, node.dtype, named(mesh, target), None)
    out.source, out.key = plain_spread(node.inputs[0]), node.moving[0]
    return out


def concatenated(node: Node, mesh: Any, target: Split) -> Parts:
    """Each device gets what it needs of each input."""
    axis = node.static[0] % node.ndim
    boxes = boxes_of(named(mesh, target), node.shape)
    found: dict[Device, list[Node]] = {d: [] for d in mine(mesh)}
    start = 0
    for x in node.inputs:
        there: Box = tuple([(start, start + x.shape[axis]) if d == axis else (0, n) for d, n in enumerate(node.shape)])
        wanted: dict[Device, Box | None] = {}
        for d, box in boxes.items():
            both = overlap(box, there)
            wanted[d] = both and (*both[:axis], (both[axis][0] - start, both[axis][1] - start), *both[axis + 1 :])
        for d, part in regions(x, wanted, "an operand of concatenate").items():
            found[d].append(part)
        start += x.shape[axis]
    return {d: joined_along(parts, axis, node, boxes[d]) for d, parts in found.items()}


def joined_along(parts: list[Node], axis: int, node: Node, box: Box) -> Node:
    if not parts:  # nothing is in it
        return leaf(extent(box), node.dtype, np.empty(extent(box), node.dtype))
    if len(parts) == 1 and parts[0].dtype == node.dtype:
        return parts[0]
    return concatenate(*parts, axis=axis)


def written(node: Node, mesh: Any, target: Split) -> Parts:
    """A region replaced: each device replaces what it has of it."""
    base, new = node.inputs
    key = node.moving[0]
    bases = fetch(base, target, mesh, "an array that is written to")
    wanted: dict[Device, Box | None] = {}
    keys: dict[Device, Any] = {}
    for d, box in boxes_of(named(mesh, target), node.shape).items():
        keys[d], wanted[d] = hit(key, box)
    values = regions(new, wanted, "what is written")
    return {d: set_(bases[d], values[d], key=keys[d]) if d in values else bases[d] for d in mine(mesh)}


def hit(key: tuple[Any, ...], box: Box) -> tuple[Any, Box | None]:
    """Of a region that is written, what falls into a box: the key within the box, and what of the new values it is.
    None where nothing does."""
    at: list[Any] = []
    of: list[tuple[int, int]] = []
    axis = 0
    for k in key:
        if k is None:
            at.append(None)
            of.append((0, 1))
            continue
        lo, hi = box[axis]
        axis += 1
        if isinstance(k, tuple):
            start, count, step = k
            if step == 1:
                first, last = max(lo - start, 0), min(hi - start, count)
            else:
                places = [i for i in range(count) if lo <= start + i * step < hi]
                first, last = (places[0], places[-1] + 1) if places else (0, 0)
            if first >= last:
                return None, None
            at.append((start + first * step - lo, last - first, step))
            of.append((first, last))
        elif lo <= k < hi:
            at.append(k - lo)
        else:
            return None, None
    return tuple(at), tuple(of)


PIECEWISE: dict[str, Callable[[Node, Any, Split], Parts]] = {"concatenate": concatenated, "set": written}


# --- Loops and branches -----------------------------------------------------------------------------------------------


def body_of(function: Any, what: str) -> Any:
    if function.effects:
        raise NotImplementedError(
            f"a callback in the body of {what} over arrays that lie on devices of several processes"
        )
    return function


def scan(node: Node, inputs: list[Node]) -> list[Node]:
    """Step by step, each with the operations of the body."""
    body, n_consts, n_carry, reverse = node.static
    length = node.moving[0]
    body_of(body, "scan")
    consts, carry, xs = inputs[:n_consts], inputs[n_consts : n_consts + n_carry], inputs[n_consts + n_carry :]
    rows: list[list[Node]] = []
    for i in reversed(range(length)) if reverse else range(length):
        step = [slice_(x, key=(i, *whole(x.shape[1:]))) for x in xs]
        out = body(*consts, *carry, *step)
        carry = out[:n_carry]
        rows.append(out[n_carry:])
    if reverse:
        rows.reverse()
    stacked = []
    for column, aval in zip(zip(*rows) if rows else [()] * (len(node.outs) - n_carry), node.outs[n_carry:]):
        parts = [reshape(y, shape=(1, *y.shape)) for y in column]
        empty = leaf(aval.shape, aval.dtype, np.empty(aval.shape, aval.dtype))
        stacked.append(concatenate(*parts, axis=0) if parts else empty)
    return [*carry, *stacked]


def while_(node: Node, inputs: list[Node]) -> list[Node]:
    test, body, n_cond, n_body = node.static
    body_of(test, "while_loop"), body_of(body, "while_loop")
    reads, captured, now = inputs[:n_cond], inputs[n_cond : n_cond + n_body], inputs[n_cond + n_body :]
    while bool(value_of(test(*reads, *now)[0])):
        now = body(*captured, *now)
    return now


def cond(node: Node, inputs: list[Node]) -> list[Node]:
    branch = body_of(node.static[0][int(value_of(inputs[0]))], "cond")
    out: list[Node] = branch(*inputs[1:])
    return out


LOOPS: dict[str, Callable[[Node, list[Node]], list[Node]]] = {
    "scan": scan, "while": while_, "cond": cond, "together": lambda node, inputs: inputs,
}  # fmt: skip
REFUSED = frozenset({"callback", "psum", "pmax", "pmin", "all_gather", "psum_scatter", "ppermute", "all_to_all"})
