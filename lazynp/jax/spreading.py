"""How results lie on several devices: each gets its sharding from those of its operands, when it is recorded.

A sharding belongs to a node of the graph. Nothing of this happens while there is one device: `on` says so. The rules
say for each axis of a result which mesh axes split it; what has no rule is split as its first operand, on axes of one
length. On axes that are
`Auto` this is a choice, as XLA's partitioner makes one; on `Explicit` ones an ambiguity raises ShardingTypeError.
"""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..flags import flags
from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node
from ..graph.op import MAP, VIEW, Op, pick
from ..runtime.recorder import recorder
from ..runtime.storage import lock
from .constraints import flow_back, nodes_of, over_mesh_of
from .devices import own
from .sharding import (
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    axes_of,
    current,
    default_sharding,
)
from .split_rules import KINDS, RULES, check_divided, kept
from .splits import (
    IncompatibleError,
    NoRuleError,
    RefusedError,
    Split,
    known,
    named_sharding,
    primitive,
    settled,
    shown,
    split_of,
    state,
    tidy,
    unclear,
)
from .unreduced import of_result, pending, with_pending

unplaced: weakref.WeakKeyDictionary[Node, Sharding] = weakref.WeakKeyDictionary()
"""Where a node lies that nobody has placed, and whose value was made while there was a default device, or before."""


inside: weakref.WeakSet[Node] = weakref.WeakSet()
"""What was made while a jitted function was traced."""


constrain = Op(
    "sharding_constraint",
    VIEW,
    lambda x, *, sharding: x,
    lambda xp, x, *, sharding: x,
    static=("sharding",),
    jvp=lambda tangents, out, x, *, sharding: constrain(tangents[0], sharding=sharding),
    transpose=lambda ct, x, *, sharding: (constrain(ct, sharding=of_cotangent(sharding, ct)),),
    batch=lambda inputs, axes, *, sharding: (
        constrain(*inputs, sharding=with_axis(sharding, axes[0], *inputs)),
        axes[0],
    ),
    linear=True,
    tag="lasting",
    doc="The same value, with a sharding of its own; None: without one.",
)


def of_cotangent(sharding: Sharding | None, ct: Node) -> Sharding | None:
    """How a cotangent of what lies so does: in the devices' own memory, on axes of the types that they have around;
    where nothing is said, on all devices of its mesh."""
    if sharding is None and not current.manual:
        lies = found_to_lie(ct)
        return NamedSharding(lies.mesh, PartitionSpec()) if isinstance(lies, NamedSharding) else None
    around = current.meshes[-1] if current.meshes else None
    if isinstance(sharding, NamedSharding) and around is not None and around.device_numbers:
        mesh = sharding.mesh
        manual = mesh.manual_axes or around.manual_axes
        if not manual and around.shape_tuple == mesh.shape_tuple and around.axis_types != mesh.axis_types:
            sharding = sharding.update(mesh=around)  # as after `explicit_axes`
    return sharding if sharding is None or sharding._memory == "device" else sharding.with_memory_kind("device")


def found_to_lie(node: Node) -> Sharding | None:
    """How a node of a derivative lies, of which its caller has said nothing."""
    with settled():
        note_all([node])
    return known.get(node)


def lying_as(ct: Any, x: Node) -> Any:
    """A cotangent that lies on explicit axes as the value that it belongs to."""
    lies = found_to_lie(x) if state.on and x.dtype is not None else None
    if not isinstance(lies, NamedSharding) or not lies.mesh.explicit_axes:
        return ct
    if lies.mesh.manual_axes or any(pending(lies)):
        return ct
    if ct not in known and ct.op is not None and ct.shape == x.shape:
        known[ct] = of_cotangent(lies, ct)
        return ct
    own = found_to_lie(ct)
    if isinstance(own, NamedSharding) and (any(pending(own)) or on_explicit_axes(own, ct) == on_explicit_axes(lies, x)):
        return ct
    return constrain(ct, sharding=of_cotangent(lies, ct))


def with_axis(sharding: Sharding | None, axis: int | None, x: Node) -> Sharding | None:
    """A sharding of arrays that get one more axis: that lies as it does in x, or, where axes are Auto, anyhow, or as
    the `vmap` says. Raises ValueError where it does not divide an array that is there."""
    if not isinstance(sharding, NamedSharding) or axis is None:
        return sharding
    parts = list(sharding.spec)
    parts += [None] * (axis - len(parts))
    free: Any = PartitionSpec.UNCONSTRAINED
    own = {a for p in parts for a in axes_of(p)}
    spmd = state.spmd[-1] if state.spmd else ()
    if spmd and not set(spmd) & set(sharding.mesh.explicit_axes + sharding.mesh.manual_axes):
        if own & set(spmd):
            raise ValueError(
                f"vmap spmd_axis_name {spmd} cannot appear in with_sharding_constraint spec, but got spec "
                f"{sharding.spec}"
            )
        free = spmd
    elif not sharding.mesh.auto_axes:
        with settled():
            note(x)
        lies = known.get(x)
        same = isinstance(lies, NamedSharding) and lies.mesh.shape_tuple == sharding.mesh.shape_tuple
        split = split_of(lies, x.ndim)[axis] if same else ()
        free = split
    out = NamedSharding(sharding.mesh, PartitionSpec(*parts[:axis], free, *parts[axis:]))
    if x.trace != ABSTRACT and free is spmd:
        out.shard_shape(x.shape)
    return out


def sharding_at(node: Node) -> Sharding | None:
    """The sharding of a node whose array exists; None where nobody placed it."""
    return known.get(node)


def note(node: Node) -> None:
    """Find the sharding of a node that has just been recorded, and of what was recorded on the way to it.

    Raises: ShardingTypeError, and ValueError for operands on other devices.
    """
    with lock:  # another thread may be about to compute it, and then nobody knows what it was made of
        derive_all(node)
    if known[node] is None and node.dtype is not None and node not in unplaced and not state.mapping:
        made_now(node, node.op is not None)


def note_all(nodes: list[Node]) -> None:
    """Find the shardings of what is about to be computed, and then no longer knows what it was made of."""
    for node in nodes if state.on else ():
        with contextlib.suppress(RefusedError):  # for whoever makes an array of it: values are computed
            derive_all(node)


def derive_all(node: Node) -> None:
    """Find the sharding of a node, and of what was recorded on the way to it."""
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
        try:
            known[n] = constrained(n) if n.op is constrain else derive(n)
        except RefusedError:
            raise
        except Exception:  # a fault of a rule is told once, and keeps nothing else from being computed
            known[n] = None
            raise
        if state.jitted and n.op is not None:
            inside.add(n)
        stack.pop()


def made_now(node: Node, here: bool = True) -> None:
    """Say where a node lies that is made of nothing that was placed: if it was made `here`, over the mesh that is set,
    else where `jax_default_device` says, but free to go elsewhere."""
    if current.meshes and here:
        lies = default_sharding(node.ndim)
        if isinstance(lies, NamedSharding):
            known[node] = lies
            return
    if flags.default_device is not None and not node.trace:
        unplaced[node] = default_sharding()


def made_before(node: Node) -> None:
    """Say where a node lies whose value has been there for some time, and lies on no mesh: on the first device."""
    unplaced[node] = SingleDeviceSharding(own()[0])


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
            raise NoRuleError(
                "Closing over inputs to shard_map where the input is sharded on `Explicit` axes is not implemented. As "
                "a workaround, please pass those inputs as an argument to shard_map. Got input with shape "
                f"{shown(a, split_of(lies, a.ndim))}({{Explicit: {explicit}}})"
            )


def keeps_split(x: Node, out: Node, what: str, at_once: bool = False) -> None:
    """A result lies as an operand with as many axes does, on those that still divide; what is computed `at_once` only
    on those of which it has all, where axes are Auto.

    Raises: ShardingTypeError for an explicit axis that does not.
    """
    lies = known.get(x)
    if not isinstance(lies, NamedSharding):
        return
    split = split_of(lies, x.ndim)
    check_divided(x, split, out.shape, lies.mesh, what)
    if at_once and not lies.mesh.explicit_axes:
        split = tuple([s if n == m else () for s, n, m in zip(split, x.shape, out.shape)])
    if out.buffer is None or not state.processes:
        known[out] = named_sharding(lies.mesh, tidy(split, out.shape, lies.mesh), out.ndim)


def keeping(x: Node, what: str, make: Callable[[], Any], along: int | None = None) -> Any:
    """What `make()` gives, arrays that are made of x in several steps and lie as it does: see `keeps_split`.
    `along`: an axis that is not split afterwards, where axes are Auto."""
    if not state.on:
        return make()
    with settled():
        out = make()
    for part in out if isinstance(out, (tuple, list)) else (out,):
        keeps_split(x, part.node, what)
        lies = known.get(part.node)
        if along is not None and isinstance(lies, NamedSharding) and not lies.mesh.explicit_axes:
            split = tuple([() if d == along else s for d, s in enumerate(split_of(lies, part.ndim))])
            known[part.node] = named_sharding(lies.mesh, split, part.ndim)
    return out


def everywhere(x: Node, parts: Sequence[Any]) -> tuple[Any, ...]:
    """New arrays, of which each device that has a part of x has all."""
    lies = known.get(x) if state.on else None
    if isinstance(lies, NamedSharding):
        lies = named_sharding(lies.mesh, (), 1)
    if lies is not None:
        known.update({part.node: lies for part in parts})
    return tuple(parts)


def dropping(x: Node, axes: Sequence[int], make: Callable[[], Any]) -> Any:
    """What `make()` gives, arrays that are made of x in several steps and lie as it does, without some of its axes."""
    if not state.on:
        return make()
    with settled():
        out = make()
    lies = known.get(x)
    if isinstance(lies, NamedSharding) and not state.processes:
        split = tuple([s for d, s in enumerate(split_of(lies, x.ndim)) if d not in axes])
        for part in out:
            known[part.node] = named_sharding(lies.mesh, tidy(split, part.shape, lies.mesh), part.ndim)
    return out


def constrained(node: Node) -> Sharding | None:
    """What a constraint says; where it says nothing, as its operand lies."""
    sharding: Sharding | None = node.static[0]
    if not isinstance(sharding, NamedSharding):
        return sharding
    if PartitionSpec.UNCONSTRAINED not in sharding.spec.partitions:
        if not any([n % k for n, k in zip(node.shape, sharding._factors(node.ndim))]):
            return sharding
        split = tuple([dividing(s, n, sharding.mesh) for s, n in zip(split_of(sharding, node.ndim), node.shape)])
        return named_sharding(sharding.mesh, split, node.ndim)
    lies, says = [split_of(s, node.ndim) for s in (known.get(node.inputs[0]), sharding)]
    free = [p is PartitionSpec.UNCONSTRAINED for p in sharding.spec.partitions]
    split = tuple([a if d < len(free) and free[d] else b for d, (a, b) in enumerate(zip(lies, says))])
    return named_sharding(sharding.mesh, tidy(split, node.shape, sharding.mesh), node.ndim)


def dividing(axes: tuple[Any, ...], n: int, mesh: Any) -> tuple[Any, ...]:
    """The first of some mesh axes that divide an axis of an array together."""
    k = max([k for k in range(len(axes) + 1) if n % math.prod([mesh.shape[a] for a in axes[:k]]) == 0])
    return axes[:k]


def derive(node: Node) -> Sharding | None:
    """The sharding of a node from those of its inputs."""
    found = [known.get(a) if a.value is None and not is_constant(a) else None for a in node.inputs]
    named = [s for s in found if s is not None]
    if not named:
        return lies_in_body(node) if node.op is pick else None
    check_devices(node, found, named)
    check_meshes(node, found)
    if len({s._memory for s in named}) > 1:
        check_memories(node, found)
    first = next((s for s in named if isinstance(s, NamedSharding)), None)
    if first is None or node.dtype is None:
        return named[0]
    mesh = first.mesh
    if node.op is pick and mesh.explicit_axes and (own := lies_in_body(node)) is not None:
        return own
    rule = RULES.get(node.op.name) or KINDS.get(node.op.kind, kept)  # type: ignore[union-attr]
    found = [s if isinstance(s, NamedSharding) and s.mesh == mesh else None for s in found]  # no names of other meshes
    splits = [split_of(s, a.ndim) if a.dtype is not None else () for s, a in zip(found, node.inputs)]
    split = rule(node, splits, mesh)
    if mesh.explicit_axes:
        check_once(node, splits, split, mesh)
    elif node.op is pick and not any(split):
        return lies_in_body(node) or named_sharding(mesh, (), node.ndim)
    out = named_sharding(mesh, tidy(split, node.shape, mesh), node.ndim)
    if not mesh.explicit_axes:
        out = named_sharding(mesh, without_ones(out, node.ndim), node.ndim)
        out = as_written(
            out, [s for s, a in zip(found, node.inputs) if isinstance(s, NamedSharding) and a.ndim == node.ndim]
        )
        if node.dtype.names or node.op.name == "key_data" and not node.trace:  # type: ignore[union-attr]
            parts = out.spec.partitions  # of keys JAX says something of each dimension
            out = out.update(spec=PartitionSpec(*parts, *[None] * (node.ndim - len(parts))))
    if any([any(pending(s)) for s in named]):
        out = with_pending(out, *of_result(node, found))
    return out if first._memory == "device" else out.with_memory_kind(first._memory)


def as_written(lies: NamedSharding, found: Sequence[NamedSharding]) -> NamedSharding:
    """The one among the shardings of operands that says the same, as its user has written it."""
    ndim = max([len(s.spec) for s in (lies, *found)])
    split = without_ones(lies, ndim)
    return next((s for s in found if without_ones(s, ndim) == split), lies)


def without_ones(lies: NamedSharding, ndim: int) -> Split:
    """How an array is split, without axes of the mesh that have one device."""
    sizes = lies.mesh.shape
    return tuple([tuple([a for a in axes if sizes[a] > 1]) for axes in split_of(lies, ndim)])


def check_memories(node: Node, found: Sequence[Sharding | None]) -> None:
    """Raise ValueError for operands in different memories."""
    pairs = [(a, s) for a, s in zip(node.inputs, found) if s is not None]
    other = next((p for p in pairs if p[1]._memory != pairs[0][1]._memory), None)
    if other is not None:
        one, two = [
            shown(a, on_explicit_axes(s, a)).replace("[", f"{MEMORY[s._memory]}[", 1) for a, s in (pairs[0], other)
        ]
        raise IncompatibleError(
            f"memory_space of all inputs passed to `{primitive(node)}` must be the same. Got one operand with type: "
            f"{one} and another operand with type: {two}"
        )


MEMORY = {"device": "", "pinned_host": "<host>", "unpinned_host": ""}


def is_constant(a: Node) -> bool:
    """Whether an array was there before the jitted function that reads it: to the compiler a constant, which lies
    nowhere, unless that is part of its type."""
    if not state.jitted or a.trace == ABSTRACT or a in inside:
        return False
    lies = known.get(a)
    return not (isinstance(lies, NamedSharding) and lies.mesh.explicit_axes)


def lies_in_body(node: Node) -> Sharding | None:
    """How a result of a loop or a branch lies, if the operands lie as they do: worked out anew, since a body may be
    that of several loops."""
    source, i = node.inputs[0], node.static[0]
    name = source.op.name if source.op is not None else ""
    if name == "scan":
        function, constants, carried, _ = source.static
        given, rows = source.inputs, constants + carried
    elif name == "while":
        function, given = source.static[1], source.inputs[source.static[2] :]
        rows = len(given)
    elif name == "cond":
        found = [lies_after(f, source.inputs[1:], len(source.inputs) - 1, i) for f in source.static[0]]
        return next((s for s in found if s is not None), None)
    else:
        return None
    found_last = lies_after(function, given, rows, i)
    if name == "scan" and i >= carried and isinstance(found_last, NamedSharding):  # a row of what is stacked
        return named_sharding(found_last.mesh, ((), *split_of(found_last, node.ndim - 1)), node.ndim)
    return found_last


def lies_after(function: Function, given: Sequence[Node], rows: int, i: int) -> Sharding | None:
    """How a result of a body lies if it is given these; from `rows` on it is given their rows."""
    lies = [known.get(a) for a in given]
    lies[rows:] = [row_of(s, a.ndim) for s, a in zip(lies[rows:], given[rows:])]
    order = [n for n in nodes_of(function) if n not in function.inputs and n.trace == ABSTRACT]
    before = {n: known.pop(n) for n in (*function.inputs, *order) if n in known}
    try:
        known.update(zip(function.inputs, lies))
        with settled():
            for n in order:
                known[n] = constrained(n) if n.op is constrain else derive(n)
            flow_back([*function.inputs, *order], derive)
        found = known.get(function.outputs[i])
    finally:
        for n in (*function.inputs, *order):
            known.pop(n, None)
        known.update(before)
    passed_on = function.outputs[i] in function.inputs
    return over_mesh_of([function]) if found is None and not passed_on else found


def row_of(lies: Sharding | None, ndim: int) -> Sharding | None:
    """How a row of an array lies."""
    return named_sharding(lies.mesh, split_of(lies, ndim)[1:], ndim - 1) if isinstance(lies, NamedSharding) else lies


def check_meshes(node: Node, found: Sequence[Sharding | None]) -> None:
    """Raise ValueError where operands lie on explicit axes of another mesh than others, or than the one that is set."""
    pairs = [(a, s.mesh) for a, s in zip(node.inputs, found) if isinstance(s, NamedSharding)]
    pairs = [(a, mesh) for a, mesh in pairs if not mesh.manual_axes]  # `vmap` rewrites bodies of `shard_map` outside
    around = current.meshes[-1] if current.meshes else None
    explicit = any([mesh.explicit_axes for _, mesh in pairs]) or around is not None and around.explicit_axes
    if state.rewriting or not explicit:
        return
    for a, mesh in pairs:
        if around is not None and around.axis_names and mesh is not around and differ(mesh, around):
            raise IncompatibleError(
                f"For primitive {primitive(node)}, context mesh {around.abstract_mesh} should match the aval mesh "
                f"{mesh.abstract_mesh} for shape {shown(a, on_explicit_axes(known.get(a), a))}."
            )
        if mesh is not pairs[0][1] and differ(mesh, pairs[0][1]):
            raise IncompatibleError(
                f"Mesh for all inputs should be equal. Got one mesh: {pairs[0][1].abstract_mesh} and another mesh: "
                f"{mesh.abstract_mesh}"
            )


def differ(a: Any, b: Any) -> bool:
    """Whether two meshes have other axes, or axes of other types."""
    return bool(a.shape_tuple != b.shape_tuple or a.axis_types != b.axis_types)


def on_explicit_axes(lies: Any, a: Node) -> Split:
    if not isinstance(lies, NamedSharding):
        return ((),) * a.ndim
    return tuple([tuple([n for n in s if n in lies.mesh.explicit_axes]) for s in split_of(lies, a.ndim)])


def check_once(node: Node, splits: Sequence[Split], split: Split, mesh: Any) -> None:
    """Raise ShardingTypeError where an explicit axis would split two axes of a result."""
    used = [a for axes in split for a in axes if a in mesh.explicit_axes]
    if len(used) > len(set(used)):
        inputs = [shown(a, at, short=True) for a, at in zip(padded(node), padded_splits(node, splits))]
        unclear(
            f"{primitive(node)} operation with inputs: {', '.join(inputs)} produces an illegally sharded result: "
            f"{shown(node, split, short=True)}"
        )


def padded(node: Node) -> list[Node | Aval]:
    """The operands, those of an elementwise operation with as many axes as the result has."""
    if node.op.kind != MAP:  # type: ignore[union-attr]
        return list(node.inputs)
    return [a.aval._replace(shape=(1,) * (node.ndim - a.ndim) + a.shape) for a in node.inputs]


def padded_splits(node: Node, splits: Sequence[Split]) -> list[Split]:
    if node.op.kind != MAP:  # type: ignore[union-attr]
        return list(splits)
    return [((),) * (node.ndim - len(s)) + s for s in splits]


def check_devices(node: Node, found: Sequence[Sharding | None], named: Sequence[Sharding]) -> None:
    """Raise ValueError where operands were placed on other devices, or on the same in another order, or on others than
    those of the mesh that is set."""
    around = current.meshes[-1] if current.meshes and not current.manual and not node.trace else None
    numbers = around.device_numbers if around is not None else ()
    if not numbers and not (len(named) > 1 and any([s is not named[0] for s in named])):
        return
    if len({assignment(s) for s in named} - {()} | {numbers} - {()}) > 1:
        by_name = node.op.kind == MAP and len(node.inputs) == 2 or node.op.name == "matmul"  # type: ignore[union-attr]
        names = ("x", "y") if by_name else [f"args[{i}]" for i in range(len(node.inputs))]
        what = primitive(node)
        types = [shown(a, on_explicit_axes(s, a)) for a, s in zip(node.inputs, found)]
        pairs = [(f"argument {k} of {what} with shape {t} and", s) for k, t, s in zip(names, types, found)]
        if numbers:
            pairs.append(("jit's context mesh", NamedSharding(around, PartitionSpec())))
        refuse_devices(pairs)


def assignment(s: Sharding) -> tuple[int, ...]:
    """The numbers of a sharding's devices in the order of its mesh; none, where that has none."""
    if isinstance(s, NamedSharding):
        return tuple(s.mesh.device_numbers)
    return tuple(sorted([d.id for d in s.device_set]))


def refuse_devices(pairs: Sequence[tuple[str, Sharding | None]]) -> None:
    """Raise ValueError for (what lies so, sharding) on other devices: of the first two that differ."""
    numbers = [(what, list(assignment(s))) for what, s in pairs if s is not None]
    numbers = [(what, ids) for what, ids in numbers if ids]
    other = next(p for p in numbers if p[1] != numbers[0][1])
    where = [f"{what} with device ids {ids} on platform CPU" for what, ids in (numbers[0], other)]
    raise IncompatibleError(f"Received incompatible devices for jitted computation. Got {' and '.join(where)}")


def check_whole(x: Node, text: str) -> None:
    """Raise ShardingTypeError for an array that explicit axes split."""
    lies = sharding_at(x)
    if isinstance(lies, NamedSharding) and any(on_explicit_axes(lies, x)):
        unclear(f"{text} Got input type={shown(x, split_of(lies, x.ndim))}")


def check_unsplit(x: Node, axis: int, text: str, rest: str = "") -> None:
    """Raise ShardingTypeError for an array that an explicit axis splits along this one. `rest`: the end of the text."""
    lies = known.get(x)
    if isinstance(lies, NamedSharding) and set(split_of(lies, x.ndim)[axis]) & set(lies.mesh.explicit_axes):
        kind = shown(x, split_of(lies, x.ndim))
        unclear(f"{text} Got input type: {kind} {rest}" if rest else f"{text} Got input type={kind} and axis={axis}")


recorder.before = note_all
