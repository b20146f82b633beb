"""How results are split: for each kind of operation a rule, (node, how each input is split, mesh) -> how the result is.

What has no rule is split as its first operand, on axes of one length (`kept`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.node import Node
from ..graph.op import MAP, REDUCE, VIEW
from .sharding import NamedSharding
from .splits import (
    Rule,
    ShardingTypeError,
    Split,
    entry,
    entry_text,
    known,
    named_sharding,
    shown,
    spec_text,
    split_of,
    state,
    unclear,
)


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
            shown = ", ".join([str(spec_text(((),) * (node.ndim - len(split)) + split)) for split in splits if split])
            unclear(f"{node.op.name} got incompatible shardings for broadcasting: {shown}.")  # type: ignore[union-attr]
        out.append(agreed(choices))
    return by_operand(node, splits, out, mesh)


def agreed(choices: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The longest of several splits of one axis, if it goes on where the others end; else none."""
    longest = max(choices, key=len, default=())
    return longest if all([longest[: len(c)] == c for c in choices]) else ()


def by_operand(node: Node, splits: Sequence[Split], out: list[tuple[Any, ...]], mesh: Any) -> Split:
    """A split in which each mesh axis stands once, where axes are Auto: where the first operand that lies along it has
    it."""
    used = [a for axes in out for a in axes]
    if mesh.explicit_axes or len(used) == len(set(used)):
        return tuple(out)
    place: dict[Any, int] = {}
    for a, split in zip(node.inputs, splits):
        for d, axes in enumerate(split, node.ndim - a.ndim):
            for name in axes:
                if name in out[d]:
                    place.setdefault(name, d)
    return tuple([tuple([n for n in axes if place[n] == d]) for d, axes in enumerate(out)])


def check_cases(node: Node, splits: Sequence[Split], mesh: Any) -> None:
    """Raise ShardingTypeError where what is chosen between, or what chooses, lies in different ways."""
    explicit = set(mesh.explicit_axes)
    found = [(a, s) for a, s in zip(node.inputs, splits) if a.shape == node.shape and known.get(a) is not None]
    if not explicit or not explicit.issuperset([a for _, s in found for axes in s for a in axes]):
        return
    cases = [s for a, s in found if a is not node.inputs[0]]
    at = [str(named_sharding(mesh.abstract_mesh, s, node.ndim)) for s in reversed(cases)]
    if len(set(cases)) > 1:
        unclear(f"select cases must have the same shardings, got [{', '.join(at)}].")
    if cases and len(cases) < len(found) and found[0][1] != cases[0]:
        which = named_sharding(mesh.abstract_mesh, found[0][1], node.ndim)
        unclear(
            f"select `which` must be scalar or have the same sharding as cases, got `which` sharding {which} but case "
            f"sharding {at[0]}."
        )


def kept(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """As the first input, on the axes that are as long as its own."""
    a = node.inputs[0]
    if a.dtype is None or a.ndim < node.ndim:
        return ()
    return tuple([s if n == m else () for s, n, m in zip(splits[0], a.shape, node.shape)])


FACTORS = {
    **dict.fromkeys(("lu", "inv", "det", "cofactors", "slogdet", "solve", "solve_or_nan"), "lu"),
    **dict.fromkeys(("svd", "svd_or_nan", "svdvals_or_nan", "pinv_or_nan"), "svd"),
    **dict.fromkeys(("eigh", "eigh_or_nan", "eigh_of_triangle_or_nan"), "eigh"),
    **dict.fromkeys(("eig_without_slopes", "eigvals_or_nan"), "eig"),
    **dict.fromkeys(("cholesky", "cholesky_or_nan"), "cholesky"),
    "qr": "qr",
}
"""Of operations of matrices, in which factors JAX has them computed."""


def picked(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """One of several results: of a loop as what it began with, of a callback anew, else as an operand of its shape."""
    source, i = node.inputs[0], node.static[0]
    inputs: Sequence[Node]
    inputs, name = source.inputs, source.op.name  # type: ignore[union-attr]
    drop = False
    if name == "callback":
        inputs = ()
    elif name == "while":
        inputs = inputs[source.static[2] + source.static[3] + i :][:1]
    elif name == "scan":
        body, constants, carried, _ = source.static
        if i >= carried:
            rows = body.inputs[constants + carried :]
            row = body.outputs[i]
            drop = row not in rows  # what is computed of rows is stacked; rows themselves are as they were
            inputs = inputs[constants + carried :] if drop else (inputs[constants + carried + rows.index(row)],)
        else:
            inputs = inputs[constants + i :][:1]
    elif name in FACTORS:
        return of_matrices(node, splits and [split_of(known.get(inputs[0]), inputs[0].ndim)], mesh, name)
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
    if state.sums and not state.sums <= {a for d in gone for a in splits[0][d]}:
        raise ShardingTypeError(
            "out_sharding's unreduced axes should be in operand's specs that were summed over. Got operand=ShapedArray("
            f"{shown(node.inputs[0], splits[0])}), axes={frozenset(gone)}, unreduced_spec={state.sums}"
        )
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
    explicit = set(mesh.explicit_axes)
    if explicit & {a for s in split for a in s} and not one_at_a_time(old, new):
        refuse_reshape(node, split)
    for (begin, i), (to, j) in groups(old, new):
        source = longer(old, begin, i)
        parts = shared_out(split[source], new[to:j], mesh.shape) if i - begin == 1 and split[source] else None
        if parts is not None:
            out[to:j] = parts
            continue
        if i - begin == 1 and set(split[source]) & explicit:
            refuse_reshape(node, split)
            continue
        target = longer(new, to, j)
        out[target] = split[source]
        named = [s for d, s in zip(range(begin, i), split[begin:i]) if old[d] > 1]
        if j - to == 1 and len(named) > 1 and explicit.issuperset([a for s in named for a in s]):
            if any([after and not before for before, after in itertools.pairwise(named)]):
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


def one_at_a_time(old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    """Whether a reshape makes several axes of one, or one of several, at one place only, or but adds and drops 1s."""
    if [n for n in old if n != 1] == [n for n in new if n != 1]:
        return True
    changed = [(i - begin, j - to) for (begin, i), (to, j) in groups(old, new) if i - begin > 1 or j - to > 1]
    longer = len(new) > len(old)
    return 0 in old or len(changed) == 1 and len(new) != len(old) and changed[0][longer] > changed[0][not longer] == 1


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
    """An axis keeps its split where that divides what is taken of it."""
    key, out, at = node.moving[0], [], 0
    x, explicit = node.inputs[0], set(mesh.explicit_axes)
    bounds = [*(key if isinstance(key, tuple) else (key,))]
    for k in bounds:
        if k is None:
            out.append(())
            continue
        n = 1 if isinstance(k, int) else node.shape[len(out)]
        parts = math.prod([mesh.shape[a] for a in splits[0][at]])
        if n % parts and set(splits[0][at]) & explicit:
            refuse_slice(x, splits[0], at, n, parts, bounds)
        if not isinstance(k, int):
            out.append(splits[0][at])
        at += 1
    return (*out, *splits[0][at:])


def refuse_slice(x: Node, split: Split, axis: int, n: int, parts: int, bounds: list[Any]) -> None:
    counts = [1 if isinstance(k, int) else k[1] for k in bounds if k is not None]
    name = split[axis][0] if len(split[axis]) == 1 else split[axis]
    unclear(
        f"slicing on sharded dims where out dim ({n}) is not divisible by mesh axes ({parts}) with spec ({name}) is "
        f"not implemented. Got input type={shown(x, split, short=True)} and output shape="
        f"{(*counts, *x.shape[len(counts) :])}"
    )


def rolled(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """As the operand, whose explicit axes are cut in two where they begin afterwards."""
    x, split = node.inputs[0], splits[0]
    for axis, shift in zip(node.static[0], node.moving[0]):
        n = x.shape[axis] and shift % x.shape[axis]
        parts = math.prod([mesh.shape[a] for a in split[axis]])
        if n % parts and set(split[axis]) & set(mesh.explicit_axes):
            refuse_slice(x, split, axis, n, parts, [*[(0, m, 1) for m in x.shape[:axis]], (0, n, 1)])
    return split


def row_of(index: Node, n: int, rank: int) -> int | None:
    """Along which axis of the indices one of them counts 0, ..., n - 1; None where it does not. n = 0: any number."""
    lengths = [(d, k) for d, k in enumerate(index.shape, rank - index.ndim) if k > 1]
    while index.op is not None and index.op.kind == VIEW and index.inputs:
        index = index.inputs[0]
    counts = index.op is not None and index.op.name == "arange"
    return lengths[0][0] if counts and len(lengths) == 1 and lengths[0][1] in (n, n or lengths[0][1]) else None


def refuse_gather(node: Node, splits: Sequence[Split], indices: tuple[Any, ...]) -> None:
    """`indices`: for each axis of theirs its length and what splits it."""
    text = ",".join([f"{n}@{entry_text(at)}" if at else str(n) for n, at in indices])
    unclear(f"{NO_SLICE}operand=ShapedArray({shown(node.inputs[0], splits[0])}), indices=ShapedArray(int32[{text}])")


def gathered(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """Axes that are not indexed keep their split. Where indices stand, it is that of the indices."""
    axes, at = node.static[0], node.static[1]
    split, indices = splits[0], node.inputs[1:]
    rank = node.ndim - (len(split) - len(axes))
    explicit = set(mesh.explicit_axes)
    shape = np.broadcast_shapes(*[i.shape for i in indices])
    of_indices = list(next((s for s, i in zip(splits[1:], indices) if i.ndim == rank and any(s)), ((),) * rank))
    cut = False
    for d, i in zip(axes, indices):
        place = row_of(i, node.inputs[0].shape[d], rank)
        if place is None:
            cut |= bool(set(split[d]) & explicit)
        else:  # each place takes its own row, as `vmap` has it
            of_indices[place] = split[d] or of_indices[place]
    given = {a for d in range(rank) for a in of_indices[d]} & explicit
    if cut or given and not state.settled and all([row_of(i, 0, rank) is None for i in indices]):
        refuse_gather(node, splits, tuple([*zip(shape, of_indices), (len(axes), ())]))
    rest = [s for d, s in enumerate(split) if d not in axes]
    return (*rest[:at], *of_indices, *rest[at:])


def updated(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """As what is written into; on explicit axes what is written has to lie like that."""
    a, b = node.inputs[:2]
    explicit = set(mesh.explicit_axes)
    kinds = [[tuple([x for x in axes if x in explicit]) for axes in s] for s in splits[:2]]
    if explicit and a.ndim == b.ndim and a.shape != b.shape and kinds[0] != kinds[1]:
        on = [f"{{Explicit: {mesh.explicit_axes}}}" if known.get(x) is not None else "{}" for x in (a, b)]
        unclear(
            "dynamic_update_slice operand sharding must be equal to update sharding, got operand sharding "
            f"{shown(a, splits[0])}({on[0]}) and update sharding {shown(b, splits[1])}({on[1]})."
        )
    return splits[0]


def of_matrices(node: Node, splits: Sequence[Split], mesh: Any, name: str | None = None) -> Split:
    """Stacks stay split, matrices are whole. `name`: of the operation, where the node is one of its results."""
    primitive = FACTORS.get(name or node.op.name)  # type: ignore[union-attr]
    if primitive is not None and splits and {a for axes in splits[0][-2:] for a in axes} & set(mesh.explicit_axes):
        lies = named_sharding(mesh, splits[0], len(splits[0])).spec
        unclear(f"Input 0 to {primitive} must be unsharded on non-batch dimensions, but got {lies}.")
    stack = splits[0][:-2] if splits else ()
    return (*stack, *[()] * (node.ndim - len(stack)))


def as_bits(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """Of shorter or longer elements: an axis more or less, the last."""
    return (*splits[0], ()) if node.ndim > len(splits[0]) else splits[0][: node.ndim]


def explicitly_unlike(node: Node, splits: Sequence[Split], mesh: Any) -> bool:
    """Whether operands on explicit axes lie in different ways. Constants of a jitted function lie nowhere."""
    explicit = set(mesh.explicit_axes)
    there = [a.value is None and a.shape and (known.get(a) is not None or not state.jitted) for a in node.inputs]
    placed = [s for s, has in zip(splits, there) if has]
    return bool(explicit) and len({tuple([tuple([a for a in x if a in explicit]) for x in s]) for s in placed}) > 1


def all_shardings(node: Node, splits: Sequence[Split], mesh: Any) -> str:
    return ", ".join([str(named_sharding(mesh.abstract_mesh, s, a.ndim)) for s, a in zip(splits, node.inputs)])


def joined(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    if explicitly_unlike(node, splits, mesh):
        unclear(f"All operands should have the same sharding. Got shardings {all_shardings(node, splits, mesh)}")
    if mesh.explicit_axes:
        return next((s for s in splits if any(s)), splits[0])
    return tuple([agreed([axes for axes in column if axes]) for column in zip(*splits)])


def product(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """Rows as the first operand's, columns as the second's, stacks as either's."""
    (a, b), (sa, sb) = node.inputs, splits
    name = node.op.name  # type: ignore[union-attr]
    vectors = a.ndim == 1 or name in ("vecdot", "vecmat"), b.ndim == 1 or name in ("vecdot", "matvec")
    inner = sa[-1], sb[-1 if vectors[1] else -2]
    explicit = set(mesh.explicit_axes)
    if state.sums:
        check_summands(inner)
    if inner[0] and inner[1] and explicit.issuperset((*inner[0], *inner[1])):
        if inner[0] != inner[1]:
            unclear(
                f"dot_general requires contracting dimensions to have consistent sharding, got {spec_text(inner[:1])} "
                f"and {spec_text(inner[1:])}."
            )
        unclear(
            "Contracting dimensions are sharded and it is ambiguous how the output should be sharded. Please specify "
            f"the output sharding via the `out_sharding` parameter. Got lhs_contracting_spec={spec_text(inner[:1])} "
            f"and rhs_contracting_spec={spec_text(inner[1:])}"
        )
    rows, columns = () if vectors[0] else sa[-2:-1], () if vectors[1] else sb[-1:]
    stacks = [split[: -1 if vector else -2] for split, vector in zip(splits, vectors)]
    stack = max(stacks, key=lambda s: (len(s), sum(map(bool, s))))
    for x, y in zip(*map(reversed, stacks)):
        if x and y and x != y and explicit.issuperset((*x, *y)):
            unclear(
                "dot_general requires lhs batch dimensions and rhs batch dimensions to have the consistent sharding, "
                f"got {spec_text(stacks[0])} and {spec_text(stacks[1])}."
            )
    return (*stack, *rows, *columns)


def convolved(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """Examples as the images', features as the kernels', places as the images' where these divide the result's."""
    (x, _), (sx, sw) = node.inputs, splits
    explicit = set(mesh.explicit_axes)
    if explicit & {a for axes in (sx[1], *sw) for a in axes}:
        unclear("Please specify the output sharding via `out_sharding` parameter of `conv_general_dilated`")
    check_divided(x, sx, node.shape, mesh, "conv_general_dilated")
    return (sx[0], sw[0], *sx[2:])


def check_divided(x: Node, split: Split, shape: tuple[int, ...], mesh: Any, what: str) -> None:
    """Raise ShardingTypeError where an explicit axis that splits x does not divide a result of this shape."""
    for n, axes in zip(shape, split):
        parts = math.prod([mesh.shape[a] for a in axes])
        if n % parts and set(axes) & set(mesh.explicit_axes):
            unclear(
                f"{what} on sharded dims where out dim ({n}) is not divisible by mesh axes ({parts}) with spec "
                f"({axes[0] if len(axes) == 1 else axes}) is not implemented. Got input type="
                f"{shown(x, split, short=True)} and output shape={shape}"
            )


def searched(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """As what is looked for; that in which it is looked for has to be whole where axes are explicit."""
    x = node.inputs[0]
    stack = node.static[1]
    check_divided(x, splits[0], (*x.shape[:stack], 1), mesh, "dynamic_slice")
    return splits[1]


def check_summands(inner: tuple[tuple[Any, ...], tuple[Any, ...]]) -> None:
    """Raise ShardingTypeError where devices would not have the summands of a product that are asked for."""
    specs = [tuple([entry(axes)]) for axes in inner]
    if inner[0] != inner[1]:
        raise ShardingTypeError(
            "lhs and rhs contracting dims should be sharded identically when out_sharding provided to dot_general "
            f"mentions unreduced_axes. Got lhs_contracting_spec={specs[0]}, rhs_contracting_spec={specs[1]}"
        )
    if state.sums != frozenset(inner[0]):
        raise ShardingTypeError(
            "out_sharding's unreduced axes should be equal to the contracting specs. Got unreduced axes="
            f"{state.sums} and contracting spec={specs[0]}"
        )


def along_axis(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """Of what runs along an axis, which is the first of its parameters."""
    axis = node.static[0] % node.ndim if node.ndim else 0
    if node.ndim == 1 and not mesh.explicit_axes:
        return ((),)
    if splits[0][axis : axis + 1] != ((),) and set(splits[0][axis]) & set(mesh.explicit_axes):
        name = node.op.name.removeprefix("arg")  # type: ignore[union-attr]
        at = named_sharding(mesh.abstract_mesh, splits[0], node.ndim)
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


def per_key(node: Node, splits: Sequence[Split], mesh: Any) -> Split:
    """What is drawn by each of an array of keys, in axes of its own behind those of the keys."""
    return (*splits[0], *[()] * (node.ndim - len(splits[0])))


KINDS: dict[str, Rule] = {MAP: elementwise, REDUCE: reduced, "set": first}


RULES: dict[str, Rule] = {
    "transpose": transposed,
    **dict.fromkeys(("key_data", "key_wrap"), key_words),
    **dict.fromkeys([f"random_{name}" for name in ("bits", "gamma", "integers", "order", "sample", "split")], per_key),
    "broadcast_to": broadcast,
    "reshape": reshaped,
    "slice": sliced,
    "alias": first,
    "bitcast": as_bits,
    "gather": gathered,
    "stop_gradient": first,
    "concatenate": joined,
    **dict.fromkeys(("matmul", "vecdot", "matvec", "vecmat"), product),
    "conv": convolved,
    "searchsorted": searched,
    "pick": picked,
    "argmax": reduced,
    "argmin": reduced,
    **dict.fromkeys((*FACTORS, "triangular_or_nan"), of_matrices),
    "sort": along_axis,
    "argsort": along_axis,
    "arglargest": along_axis,
    "scatter": first,
    "dynamic_update_slice": updated,
    **dict.fromkeys(("erf", "erfc", "erf_inv", "lgamma", "digamma"), first),
    "roll": rolled,
    **dict.fromkeys([f"{f}.accumulate" for f in ("add", "multiply", "maximum", "minimum", "logaddexp")], accumulated),
    **dict.fromkeys(("psum", "pmax", "pmin", "ppermute"), first),
}
