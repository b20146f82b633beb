"""How results lie on several devices: each gets its sharding from those of its operands, when it is recorded.

A sharding belongs to a node of the graph. Nothing of this happens while there is one device: `on` says so. The rules
say for each axis of a result which mesh axes split it; what has no rule is split as its first operand, on axes of one
length. On axes that are
`Auto` this is a choice, as XLA's partitioner makes one; on `Explicit` ones an ambiguity raises ShardingTypeError.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..graph.node import Node
from ..graph.op import MAP, REDUCE, VIEW, Op
from .sharding import NamedSharding, PartitionSpec, Sharding, axes_of, current, default_sharding

Split = tuple[tuple[Any, ...], ...]  # for each axis of an array the mesh axes that split it
Rule = Callable[..., Split]


class ShardingTypeError(Exception):
    """Operands that lie on explicit axes so that the result's sharding is not clear."""


class State:
    """Attributes:
    on: whether arrays lie on several devices; set by the first that does.
    processes: whether they may lie on devices of other processes (`processes.py`).
    settled: how many functions are running whose caller says how their results lie, so that nothing is unclear.
    """

    on = processes = False
    settled = 0


state = State()
known: weakref.WeakKeyDictionary[Node, Sharding | None] = weakref.WeakKeyDictionary()
"""The sharding of a node; None where nobody has placed what it is made of."""

unplaced: weakref.WeakKeyDictionary[Node, Sharding] = weakref.WeakKeyDictionary()
"""Where a node lies that nobody has placed and that was made while a mesh was set."""

constrain = Op(
    "sharding_constraint",
    VIEW,
    lambda x, *, sharding: x,
    lambda xp, x, *, sharding: x,
    static=("sharding",),
    jvp=lambda tangents, out, x, *, sharding: constrain(tangents[0], sharding=sharding),
    transpose=lambda ct, x, *, sharding: (constrain(ct, sharding=sharding),),
    batch=lambda inputs, axes, *, sharding: (constrain(*inputs, sharding=with_axis(sharding, axes[0])), axes[0]),
    linear=True,
    tag="lasting",
    doc="The same value, with a sharding of its own; None: without one.",
)


def with_axis(sharding: Sharding | None, axis: int | None) -> Sharding | None:
    """A sharding of arrays that get one more axis, of which it says nothing."""
    if not isinstance(sharding, NamedSharding) or axis is None:
        return sharding
    parts = list(sharding.spec)
    parts += [None] * (axis - len(parts))
    free = PartitionSpec.UNCONSTRAINED if sharding.mesh.auto_axes else None
    return NamedSharding(sharding.mesh, PartitionSpec(*parts[:axis], free, *parts[axis:]))


def sharding_at(node: Node) -> Sharding | None:
    """The sharding of a node whose array exists; None where nobody placed it."""
    return known.get(node)


def note(node: Node) -> None:
    """Find the sharding of a node that has just been recorded, and of what was recorded on the way to it.

    Raises: ShardingTypeError, and ValueError for operands on other devices.
    """
    stack = [node]
    while stack:
        n = stack[-1]
        if n in known:
            stack.pop()
            continue
        missing = [] if says_all(n) else [a for a in n.inputs if a.value is None and a not in known]
        if missing:
            stack += missing
            continue
        if current.manual:
            check_closed_over(n)
        known[n] = constrained(n) if n.op is constrain else derive(n)
        if known[n] is None and current.meshes and not current.manual:
            unplaced[n] = default_sharding(n.ndim)
        stack.pop()


def says_all(node: Node) -> bool:
    """Whether a node is a constraint that leaves nothing open, so that it does not matter how its operand lies."""
    if node.op is not constrain or state.processes:
        return False
    to = node.static[0]
    return not isinstance(to, NamedSharding) or PartitionSpec.UNCONSTRAINED not in to.spec.partitions


def check_closed_over(node: Node) -> None:
    """Raise NotImplementedError where a function in a `shard_map` reads an array on explicit axes from outside."""
    for a in node.inputs:
        lies = known.get(a)
        if a.dtype is None or not isinstance(lies, NamedSharding):
            continue
        explicit = lies.mesh.explicit_axes
        if explicit and set(explicit) <= set(current.manual[-1].manual_axes):
            raise NotImplementedError(
                "Closing over inputs to shard_map where the input is sharded on `Explicit` axes is not implemented. As "
                "a workaround, please pass those inputs as an argument to shard_map. Got input with shape "
                f"{shown(a, split_of(lies, a.ndim))}({{Explicit: {explicit}}})"
            )


def keeps_split(x: Node, out: Node, what: str) -> None:
    """A result lies as an operand with as many axes does, on those that still divide.

    Raises: ShardingTypeError for an explicit axis that does not.
    """
    lies = known.get(x)
    if not isinstance(lies, NamedSharding):
        return
    split = split_of(lies, x.ndim)
    for n, axes in zip(out.shape, split):
        k = math.prod([lies.mesh.shape[a] for a in axes])
        if n % k and set(axes) & set(lies.mesh.explicit_axes):
            name = axes[0] if len(axes) == 1 else axes
            unclear(
                f"{what} on sharded dims where out dim ({n}) is not divisible by mesh axes ({k}) with spec ({name}) is "
                f"not implemented. Got input type={shown(x, split)} and output shape={out.shape}"
            )
    if out.buffer is None or not state.processes:
        known[out] = named_sharding(lies.mesh, tidy(split, out.shape, lies.mesh), out.ndim)


def constrained(node: Node) -> Sharding | None:
    """What a constraint says; where it says nothing, as its operand lies."""
    sharding: Sharding | None = node.static[0]
    if not isinstance(sharding, NamedSharding) or PartitionSpec.UNCONSTRAINED not in sharding.spec.partitions:
        return sharding
    lies, says = [split_of(s, node.ndim) for s in (known.get(node.inputs[0]), sharding)]
    free = [p is PartitionSpec.UNCONSTRAINED for p in sharding.spec]
    split = tuple([a if d < len(free) and free[d] else b for d, (a, b) in enumerate(zip(lies, says))])
    return named_sharding(sharding.mesh, tidy(split, node.shape, sharding.mesh), node.ndim)


def derive(node: Node) -> Sharding | None:
    """The sharding of a node from those of its inputs."""
    found = [known.get(a) if a.value is None else None for a in node.inputs]
    named = [s for s in found if s is not None]
    if not named:
        return None
    check_devices(node, found, named)
    first = next((s for s in named if isinstance(s, NamedSharding)), None)
    if first is None or node.dtype is None:
        return named[0]
    mesh = first.mesh
    rule = RULES.get(node.op.name) or KINDS.get(node.op.kind, kept)  # type: ignore[union-attr]
    found = [s if isinstance(s, NamedSharding) and s.mesh == mesh else None for s in found]  # no names of other meshes
    splits = [split_of(s, a.ndim) if a.dtype is not None else () for s, a in zip(found, node.inputs)]
    return named_sharding(mesh, tidy(rule(node, splits, mesh), node.shape, mesh), node.ndim)


def check_devices(node: Node, found: Sequence[Sharding | None], named: Sequence[Sharding]) -> None:
    if len({frozenset(s.device_set) for s in named}) > 1:
        where = [
            f"argument {i} of {node.op.name} with shape {a.aval} and with device ids "  # type: ignore[union-attr]
            f"{sorted([d.id for d in s.device_set])} on platform CPU"
            for i, (s, a) in enumerate(zip(found, node.inputs))
            if s is not None
        ]
        raise ValueError(f"Received incompatible devices for jitted computation. Got {' and '.join(where[:2])}")


def split_of(sharding: Sharding | None, ndim: int) -> Split:
    """For each axis the mesh axes that split it."""
    if not isinstance(sharding, NamedSharding):
        return ((),) * ndim
    parts = [axes_of(p) for p in sharding.spec]
    return tuple(parts[:ndim] + [()] * (ndim - len(parts)))


def tidy(split: Split, shape: tuple[int, ...], mesh: Any) -> Split:
    """Each mesh axis once, and only where it divides."""
    sizes, out = mesh.shape, []
    seen: set[Any] = set()
    for axes, n in zip((*split, *[()] * (len(shape) - len(split))), shape):
        fresh = tuple([a for a in axes if a not in seen])
        if math.prod([sizes[a] for a in fresh]) > 1 and n % math.prod([sizes[a] for a in fresh]):
            fresh = ()
        seen.update(fresh)
        out.append(fresh)
    return tuple(out)


def named_sharding(mesh: Any, split: Split, ndim: int) -> NamedSharding:
    """As JAX writes it: on explicit axes an entry for each axis of the array, else none after the last split one."""
    parts = [None if not axes else axes[0] if len(axes) == 1 else axes for axes in split]
    if not mesh.explicit_axes:
        while parts and parts[-1] is None:
            parts.pop()
    return NamedSharding(mesh, PartitionSpec(*parts))


# --- Rules: (node, how each input is split, mesh) -> how the result is ------------------------------------------------


def elementwise(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    if node.op.name == "where":  # type: ignore[union-attr]
        check_cases(node, splits, mesh)
    out: list[tuple[Any, ...]] = []
    for d, n in enumerate(node.shape):
        choices: list[tuple[Any, ...]] = []
        for a, split in zip(node.inputs, splits):
            at = d - (node.ndim - a.ndim)
            if a.value is None and at >= 0 and a.shape[at] == n and split[at] and split[at] not in choices:
                choices.append(split[at])
        if len(choices) > 1 and set(mesh.explicit_axes).issuperset([x for c in choices for x in c]):
            shown = ", ".join(
                [str(tuple([s[0] if len(s) == 1 else s or None for s in split])) for split in splits if split]
            )
            unclear(f"{node.op.name} got incompatible shardings for broadcasting: {shown}.")  # type: ignore[union-attr]
        out.append(choices[0] if choices else ())
    return tuple(out)


def check_cases(node: Node, splits: Sequence[Split], mesh: Any) -> None:
    """Raise ShardingTypeError where what is chosen between, or what chooses, lies in different ways."""
    found = [s for s, a in zip(splits, node.inputs) if a.shape == node.shape and known.get(a) is not None]
    explicit = set(mesh.explicit_axes)
    if len(set(found)) > 1 and explicit and explicit.issuperset([a for s in found for axes in s for a in axes]):
        unclear(f"select cases must have the same shardings, got [{all_shardings(node, splits, mesh)}].")


def unclear(text: str) -> None:
    """Raise ShardingTypeError, unless the caller said how the result is to lie."""
    if not state.settled:
        raise ShardingTypeError(text)


def kept(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """As the first input, on the axes that are as long as its own."""
    a = node.inputs[0]
    if a.dtype is None or a.ndim < node.ndim:
        return ()
    return tuple([s if n == m else () for s, n, m in zip(splits[0], a.shape, node.shape)])


def picked(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """One of several results: of a loop as what it began with, else as an operand of the same shape."""
    source, i = node.inputs[0], node.static[0]
    inputs, name = source.inputs, source.op.name  # type: ignore[union-attr]
    drop = False
    if name == "while":
        inputs = inputs[source.static[2] + source.static[3] + i :][:1]
    elif name == "scan":
        _, constants, carried, _ = source.static
        drop = i >= carried
        inputs = inputs[constants + carried :] if drop else inputs[constants + i :][:1]
    for a in inputs:
        sharding = known.get(a)
        if not isinstance(sharding, NamedSharding) or sharding.mesh != mesh:
            continue
        if a.dtype is not None and a.shape == node.shape:
            split = split_of(sharding, a.ndim)
            return ((), *split[1:]) if drop else split
    lies = known.get(inputs[0]) if len(inputs) == 1 else None
    if isinstance(lies, NamedSharding) and lies.mesh == mesh:  # of matrices: what is in front of these stays
        a = inputs[0]
        return tuple([s if n == m else () for s, n, m in zip(split_of(lies, a.ndim)[:-2], a.shape, node.shape)])
    return ()


def first(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """As the first input, whose shape the result has."""
    return splits[0] if node.inputs[0].ndim == node.ndim else ()


def reduced(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    axes, keep = node.static[0], node.static[1]
    ndim = node.inputs[0].ndim
    listed = range(ndim) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    gone = {a % ndim for a in listed}
    return tuple([() if d in gone else s for d, s in enumerate(splits[0]) if keep or d not in gone])


def transposed(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    return tuple([splits[0][a] for a in node.static[0]])


def broadcast(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    a = node.inputs[0]
    more = node.ndim - a.ndim
    return ((),) * more + tuple(
        [s if n == node.shape[more + d] else () for d, (s, n) in enumerate(zip(splits[0], a.shape))]
    )


def reshaped(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """Axes that become one are split as the first of them was; of those that come of one each takes what divides it."""
    old, new, split = node.inputs[0].shape, node.shape, splits[0]
    out: list[tuple[Any, ...]] = [()] * len(new)
    for (begin, i), (to, j) in groups(old, new):
        source = longer(old, begin, i)
        if i - begin == 1 and set(split[source]) & set(mesh.explicit_axes):
            parts = shared_out(split[source], new[to:j], mesh.shape)
            if parts is None:
                refuse_reshape(node, split)
            out[to:j] = parts or [()] * (j - to)
            continue
        if i - begin > 1 and j - to > 1 and set(mesh.explicit_axes) & {a for s in split[begin:i] for a in s}:
            refuse_reshape(node, split)
        target = longer(new, to, j)
        out[target] = split[source]
        named = [s for d, s in zip(range(begin, i), split[begin:i]) if old[d] > 1]
        if j - to == 1 and len(named) > 1 and set(mesh.explicit_axes).issuperset([a for s in named for a in s]):
            if any(named) and not named[0] or not all(named) and any(named[1:]):
                refuse_reshape(node, split)
            out[target] = tuple([a for s in named for a in s])
    return tuple(out)


def shared_out(axes: tuple[Any, ...], lengths: tuple[int, ...], sizes: Any) -> list[tuple[Any, ...]] | None:
    """Mesh axes that split one axis, for the axes of these lengths that it becomes: each takes as many as divide it,
    and the next one gets some only where it is used up. None where some are left over."""
    rest, out = list(axes), []
    for n in lengths:
        mine = []
        while rest and n % sizes[rest[0]] == 0:
            n //= sizes[rest[0]]
            mine.append(rest.pop(0))
        out.append(tuple(mine))
        if n > 1:
            break
    return None if rest else out + [()] * (len(lengths) - len(out))


def groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The fewest axes at a time that a reshape makes others of, as bounds in both; none where there are no elements."""
    found: list[tuple[tuple[int, int], tuple[int, int]]] = []
    i = j = 0
    while 0 not in old and i < len(old) and j < len(new):
        begin, to = i, j
        m, n = old[i], new[j]
        i, j = i + 1, j + 1
        while m != n:
            if m < n:
                m, i = m * old[i], i + 1
            else:
                n, j = n * new[j], j + 1
        found.append(((begin, i), (to, j)))
    return found


def longer(shape: tuple[int, ...], begin: int, end: int) -> int:
    """The first of some axes that is longer than 1, else the first."""
    return next((d for d in range(begin, end) if shape[d] > 1), begin)


def refuse_reshape(node: Node, split: Split) -> None:
    unclear(
        "This reshape is not supported. Please specify the sharding of the output via the `out_sharding` argument of "
        f"jax.lax.reshape. Got operand type: {shown(node.inputs[0], split)}, new sizes: {node.shape}"
    )


NO_SLICE = (
    "Use `.at[...].get(out_sharding=)` to provide output PartitionSpec for the gather indexing as out sharding could "
    "not "
    "be resolved unambiguously (or would require collectives on inputs). Got "
)


def sliced(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """An axis keeps its split where all of it is taken."""
    key, out, at = node.moving[0], [], 0
    shape = node.inputs[0].shape
    for k in key if isinstance(key, tuple) else (key,):
        if k is None:
            out.append(())
        elif isinstance(k, int):
            if set(splits[0][at]) & set(mesh.explicit_axes):
                unclear(NO_SLICE + f"operand=ShapedArray({shown(node.inputs[0], splits[0])})")
            at += 1
        else:
            whole = len(out) < node.ndim and node.shape[len(out)] == shape[at]
            if not whole and set(splits[0][at]) & set(mesh.explicit_axes):
                unclear(NO_SLICE + f"operand=ShapedArray({shown(node.inputs[0], splits[0])})")
            out.append(splits[0][at] if whole else ())
            at += 1
    return (*out, *splits[0][at:])


def explicitly_unlike(node: Node, splits: Sequence[Split], mesh: Any) -> bool:
    """Whether operands on explicit axes lie in different ways."""
    explicit = set(mesh.explicit_axes)
    placed = [s for s, a in zip(splits, node.inputs) if a.value is None and a.shape]
    return bool(explicit) and len({tuple([tuple([a for a in x if a in explicit]) for x in s]) for s in placed}) > 1


def all_shardings(node: Node, splits: Sequence[Split], mesh: Any) -> str:
    return ", ".join([str(named_sharding(mesh.abstract_mesh, s, a.ndim)) for s, a in zip(splits, node.inputs)])


def joined(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    if explicitly_unlike(node, splits, mesh):
        unclear(f"All operands should have the same sharding. Got shardings {all_shardings(node, splits, mesh)}")
    return next((s for s in splits if any(s)), splits[0])


def product(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """Rows as the first operand's, columns as the second's, stacks as either's."""
    (a, b), (sa, sb) = node.inputs, splits
    inner = sa[-1], sb[-2] if b.ndim > 1 and node.op.name != "matvec" else sb[-1]  # type: ignore[union-attr]
    explicit = set(mesh.explicit_axes)
    if inner[0] and inner[1] and explicit.issuperset((*inner[0], *inner[1])):
        if inner[0] != inner[1]:
            unclear(
                f"dot_general requires contracting dimensions to have consistent sharding, got {inner[0]} and "
                f"{inner[1]}."
            )
        unclear(
            "Contracting dimensions are sharded and it is ambiguous how the output should be sharded. Please specify "
            f"the output sharding via the `out_sharding` parameter. Got lhs_contracting_spec={inner[0]} and "
            f"rhs_contracting_spec={inner[1]}"
        )
    rows, columns = sa[-2:-1] if a.ndim > 1 else (), sb[-1:] if b.ndim > 1 else ()
    stack = max(sa[:-2], sb[:-2], key=lambda s: (len(s), sum(map(bool, s))))
    both = {x for s in (*rows, *stack) for x in s} & {x for s in columns for x in s}
    if both & set(mesh.explicit_axes):
        unclear(
            f"dot_general operation with inputs: {shown(a, sa)}, {shown(b, sb)} produces an illegally sharded result: "
            f"{shown(node, (*stack, *rows, *columns))}"
        )
    return (*stack, *rows, *columns)


def shown(a: Node, split: Split) -> str:
    """`f32[8@x,2]`."""
    shown_axes = [s[0] if len(s) == 1 else f"({','.join(s)})" for s in split]
    sizes = [f"{n}@{at}" if s else str(n) for n, s, at in zip(a.shape, split, shown_axes)]
    return f"{a.dtype.name}[{','.join(sizes)}]"


def along_axis(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """Of what runs along an axis, which is the first of its parameters."""
    axis = node.static[0] % node.ndim if node.ndim else 0
    if splits[0][axis : axis + 1] != ((),) and set(splits[0][axis]) & set(mesh.explicit_axes):
        name = node.op.name  # type: ignore[union-attr]
        at = named_sharding(mesh, splits[0], node.ndim)
        unclear(
            f"Arguments to {name} must be unsharded over the sorting dimension. Got arg sharding={at} and sorting "
            f"dimension={axis}"
        )
    return splits[0]


def accumulated(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    axis = node.static[0] % node.ndim
    if set(splits[0][axis]) & set(mesh.explicit_axes):
        unclear(
            f"Input should be unsharded over the axis being reduced. Got input type={shown(node.inputs[0], splits[0])} "
            f"and axis={axis}"
        )
    return splits[0]


def key_words(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """Of random keys and their words, which are the last axis."""
    return (*splits[0][: node.ndim], ()) if node.ndim > node.inputs[0].ndim else splits[0][: node.ndim]


KINDS: dict[str, Rule] = {MAP: elementwise, REDUCE: reduced, "set": first}
RULES: dict[str, Rule] = {
    "transpose": transposed,
    **dict.fromkeys(("key_data", "key_wrap"), key_words),
    "broadcast_to": broadcast,
    "reshape": reshaped,
    "slice": sliced,
    "alias": first,
    "bitcast": first,
    "stop_gradient": first,
    "concatenate": joined,
    "matmul": product,
    "pick": picked,
    "argmax": reduced,
    "argmin": reduced,
    "sort": along_axis,
    "argsort": along_axis,
    "scatter": first,
    "dynamic_update_slice": first,
    **dict.fromkeys(("erf", "erfc", "erf_inv", "lgamma", "digamma", "roll"), first),
    **dict.fromkeys([f"{f}.accumulate" for f in ("add", "multiply", "maximum", "minimum", "logaddexp")], accumulated),
    **dict.fromkeys(("psum", "pmax", "pmin", "ppermute"), first),
}
