"""Operations along an axis that `vmap`, `pmap` or `shard_map` has given a name: `jax.lax.psum` and its like.

`axis_name` may be a tuple of names. Outside of what names it: NameError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api.trace import stack
from ..graph.node import Node
from ..ops import collectives as ops
from ..ops.creation import iota
from ..ops.elementwise import add, convert, divide, equal, multiply, where
from ..ops.joining import span
from ..ops.shape import move_axis, reshape, slice_, whole
from ..ops.tags import without_derivative
from ..tree import flatten, map, unflatten
from .array import as_node, wrap
from .dtypes import INT32, KIND_OF, float_dtype
from .jaxpr_places import axis_of
from .manual_sums import Sums
from .mesh import current
from .varying import axes_of_value, checked, contexts, psum_invariant, pvary, sums_of_value

Apply = Callable[[Node, int, Node], Node]


def bound(name: Any, what: str) -> tuple[int, Node]:
    """Size and index of a named axis. Raises JAX's NameError where nothing around names it."""
    found = stack.axes.get(name)
    if found is None:
        raise NameError(f"Found an unbound axis name: {name}. To fix this, please call {what} under `jax.shard_map`.")
    return found


def names_of(axis_name: Any) -> tuple[Any, ...]:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def along(what: str, x: Any, axis_name: Any, apply: Apply) -> Any:
    """Each leaf of a tree with `apply(node, size, index)` for each of the names."""
    axes = [bound(name, what) for name in names_of(axis_name)]
    leaves, structure = flatten(x)
    out = []
    for node in [as_node(v) for v in leaves]:
        for size, index in axes:
            node = apply(node, size, index)
        out.append(wrap(node))
    return unflatten(structure, out)


def among(what: str, x: Any, axis_name: Any, groups: Any, apply: Callable[[Any, int, Any], Any]) -> Any:
    """Each leaf of a tree with `apply(parts, n, place)`: what the n members of one's group have, along a first axis,
    and one's own place among them. Several names are as one axis; without groups all are in one.

    Raises: ValueError for groups that do not have each index once, or are of different lengths.
    """
    names = names_of(axis_name)
    for name in names:
        bound(name, what)
    size = axis_size(names)
    if groups is not None and any([by_vmap(name) for name in names]):
        advice = "Please open a feature request!" if what == "all_to_all" else "axis_index_groups not supported in vmap"
        raise NotImplementedError(advice)
    groups = [range(size)] if groups is None else groups
    check_groups(groups, size)
    lengths = {len(g) for g in groups}
    if len(lengths) > 1:
        raise ValueError(f"axis_index_groups must all be the same size for {what}. Got {groups}")
    members, places = np.empty((size, lengths.pop()), np.int32), np.empty(size, np.int32)
    for group in groups:
        for place, i in enumerate(group):
            members[i], places[i] = group, place
    me = axis_index(names)
    mine, place = wrap(as_node(members))[me], wrap(as_node(places))[me]
    return map(lambda v: apply(all_gather(v, axis_name)[mine], len(mine), place), x)


def by_vmap(name: Any) -> bool:
    """Whether a named axis is one of a `vmap`, not of devices."""
    return not any([name in mesh.axis_names for mesh in current.manual]) and stack.axes[name][1] not in axis_of


def check_groups(groups: Any, size: int) -> None:
    """Raise ValueError for groups that do not have each index once."""
    if sorted([i for g in groups for i in g]) != list(range(size)):
        raise ValueError("axis_index_groups must cover all indices exactly once")


def reduced(what: str, x: Any, axis_name: Any, groups: Any, apply: Callable[[Any, Any], Any]) -> Any:
    """Each leaf of a tree with `apply(parts, there)`: what the members of one's group have, along a first axis that is
    as long as the longest group, and a mask of the members along it. What is beyond them is what the first one has.

    Raises: ValueError for groups that do not have each index once; NotImplementedError for a sum in a `shard_map` that
        checks what varies.
    """
    name = one_name(axis_name, what)
    size, index = bound(name, what)
    if by_vmap(name):
        raise NotImplementedError("axis_index_groups not supported in vmap collectives. Please open a feature request!")
    check_groups(groups, size)
    if what == "psum" and checked(name):
        raise NotImplementedError(f"{what} with axis_index_groups, where check_vma says what varies")
    longest = max([len(g) for g in groups])
    members, there = np.empty((size, longest), np.int32), np.zeros((size, longest), bool)
    for group in groups:
        members[list(group)] = [*group, *group[:1] * (longest - len(group))]
        there[list(group), : len(group)] = True
    me = wrap(index)
    mine, mask = wrap(as_node(members))[me], wrap(as_node(there))[me]

    def one(v: Any) -> Any:
        parts = all_gather(v, name)[mine]
        return apply(parts, mask.reshape(longest, *(1,) * (parts.ndim - 1)))

    return map(one, x)


def axis_size(axis_name: Any) -> int:
    """The length of a named axis; of several, the product."""
    n = 1
    for name in names_of(axis_name):
        n *= bound(name, "axis_size")[0]
    return n


def axis_index(axis_name: Any) -> Any:
    """The place along a named axis, int32; of several as if they were one axis, the last running fastest."""
    total: Node | None = None
    for name in names_of(axis_name):
        size, index = bound(name, "axis_index")
        total = index if total is None else add(multiply(total, np.int32(size)), index)
    return wrap(total)  # type: ignore[arg-type]


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum along named axes of each leaf. A Python number is multiplied by the size at once. Axes that are numbers
    are those of the array."""
    if not isinstance(axis_name, str) and any([isinstance(a, int) for a in names_of(axis_name)]):
        x = map(lambda v: wrap(as_node(v)).sum(tuple([a for a in names_of(axis_name) if isinstance(a, int)])), x)
        axis_name = tuple([a for a in names_of(axis_name) if not isinstance(a, int)])
    leaves, structure = flatten(x)
    alike = axis_index_groups is None or len({len(g) for g in axis_index_groups}) == 1
    numbers = [alike and type(v) in NUMBERS for v in leaves]
    others: Any = [v for v, number in zip(leaves, numbers) if not number]
    if axis_index_groups is not None:
        others = reduced("psum", others, axis_name, axis_index_groups, lambda parts, there: parts.sum(0, where=there))
    else:
        check_alike("psum", others, axis_name)

        def apply(n: Node, size: int, index: Node) -> Node:
            return summed(convert(n, INT32) if n.dtype.kind == "b" else n, size, index)

        others = along("psum", others, axis_name, apply)
    if any(numbers):
        n = axis_size(axis_name) if axis_index_groups is None else len(axis_index_groups[0])
        found = iter(others)
        others = [v * n if number else next(found) for v, number in zip(leaves, numbers)]
    return unflatten(structure, others)


NUMBERS = (int, float, complex)


def check_alike(what: str, leaves: Sequence[Any], axis_name: Any) -> None:
    """Raise ValueError in a `shard_map` that checks it, where a value varies along some of the axes."""
    names = names_of(axis_name)
    outer = {n for c in contexts.active[:-1] for n in c.manual}
    if len(names) < 2 or not any([checked(n) for n in names]) or outer & set(names):
        return
    for x in leaves:
        varies = {n in axes_of_value(as_node(x)) for n in names}
        if len(varies) > 1:
            raise ValueError(
                f"jax.lax.{what} can only accept axis_name which corresponds to one of varying, unreduced, reduced or "
                f"invarying state of the input. Got input type: {x.aval}, axes: {names} and input state: "
                "{'varying', 'invarying'}"
            )


def summed(n: Node, size: int, index: Node) -> Node:
    """The sum over the axis of an index: in a `shard_map` that checks it, a value that does not vary."""
    name = next((k for k, (_, i) in stack.axes.items() if i is index), None)
    return psum_invariant(n, index) if checked(name) else ops.psum(n, index)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean along named axes of each leaf."""
    if axis_index_groups is not None:
        n = len(axis_index_groups[0])  # of all groups, as in JAX
        return map(lambda v: v / n, psum(x, axis_name, axis_index_groups=axis_index_groups))
    n = axis_size(axis_name)
    leaves, structure = flatten(x)
    if any([type(v) in NUMBERS for v in leaves]):
        return unflatten(structure, [v * 1.0 if type(v) in NUMBERS else pmean(v, axis_name) for v in leaves])
    check_alike("psum", leaves, axis_name)

    def mean(v: Any) -> Any:
        node = as_node(v)
        if KIND_OF[node.dtype] in "biu":
            node = convert(node, float_dtype())
        return wrap(divide(node, Node.of_scalar(float(n))))

    return map(mean, along("pmean", x, axis_name, summed))


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The maximum along named axes of each leaf."""
    x = map(lambda v: wrap(without_derivative("pmax", as_node(v))), x)
    if axis_index_groups is not None:
        return reduced("pmax", x, axis_name, axis_index_groups, lambda parts, _: parts.max(0))
    return along("pmax", x, axis_name, lambda v, _, index: ops.pmax(v, index))


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The minimum along named axes of each leaf."""
    x = map(lambda v: wrap(without_derivative("pmin", as_node(v))), x)
    if axis_index_groups is not None:
        return reduced("pmin", x, axis_name, axis_index_groups, lambda parts, _: parts.min(0))
    return along("pmin", x, axis_name, lambda v, _, index: ops.pmin(v, index))


def one_name(axis_name: Any, what: str) -> Any:
    names = names_of(axis_name)
    if len(names) != 1:
        raise NotImplementedError(f"{what} takes one axis name, got {axis_name}")
    return names[0]


def inside(axis: int, ndim: int) -> int:
    """An axis counted from the front. Raises ValueError where there is none such."""
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def all_gather(
    x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False, to: str = "varying"
) -> Any:
    """What all have, along a new axis (`tiled`: joined along an axis that is there). Several names: as one axis.

    Args:
        to: "invarying": the type says that it is the same on all devices; "reduced": and that its cotangent is summed
            up later.

    Raises: ValueError for another `to`, NotImplementedError for groups whose members alone have the same.
    """
    if to not in ("varying", "invarying", "reduced"):
        raise ValueError(
            "Got unexpected `to` value for `jax.lax.all_gather`. Allowed `to` values are: {'invarying', 'reduced', "
            "'varying'}"
        )
    if to == "reduced":
        alike = all_gather(x, axis_name, axis_index_groups=axis_index_groups, axis=axis, tiled=tiled, to="invarying")
        return pcast(alike, axis_name, to="reduced")
    if to == "invarying" and axis_index_groups is not None:
        raise NotImplementedError("all_gather(to='invarying') with axis_index_groups")
    if to == "invarying":
        return map(lambda v: gathered_alike(v, axis_name, axis, tiled), x)

    def apply(v: Node, size: int, index: Node) -> Node:
        at = inside(axis, v.ndim + (not tiled))
        return ops.all_gather(v, index, axis=at, tiled=tiled, size=size)

    if axis_index_groups is not None:
        return among("all_gather", x, axis_name, axis_index_groups, lambda parts, n, _: laid(parts, axis, tiled))
    names = names_of(axis_name)
    for name in reversed(names):
        x = along("all_gather", x, name, apply)
    if len(names) > 1 and not tiled:
        x = map(lambda v: merged(v, axis, len(names)), x)
    return x


def gathered_alike(x: Any, axis_name: Any, axis: int, tiled: bool) -> Any:
    """`all_gather` as a sum of what each has in its own place, whose type says that it is the same on all devices."""
    node, n = as_node(x), axis_size(axis_name)
    place = as_node(axis_index(axis_name))
    here = reshape(equal(iota(n, INT32), place), shape=(n, *(1,) * node.ndim))
    own = where(here, reshape(node, shape=(1, *node.shape)), np.zeros((), node.dtype)[()])
    return laid(psum(wrap(own), axis_name), axis, tiled)


def laid(parts: Any, axis: int, tiled: bool) -> Any:
    """What lies along the first axis along another one; `tiled`: joined to that axis."""
    node = as_node(parts)
    at = inside(axis, node.ndim - tiled)
    node = move_axis(node, 0, at)
    return wrap(ops.merge(node, at) if tiled else node)


def own_part(x: Any, axis: int, n: int, place: Any, tiled: bool) -> Any:
    """Of n parts along an axis the one at a place; not `tiled`: without that axis, which is n long."""
    node = as_node(x)
    at = inside(axis, node.ndim)
    if not tiled and node.shape[at] != n:
        raise ValueError(f"reduce_scatter operand scatter dimension size {node.shape[at]} must match shard count {n}")
    if node.shape[at] % n:
        raise ValueError(
            f"tiled reduce_scatter operand scatter dimension size {node.shape[at]} must be divisible by shard_count {n}"
        )
    return wrap(move_axis(ops.split(node, at, n) if tiled else node, at, 0))[place]


def merged(x: Any, axis: int, count: int) -> Any:
    """`count` neighbouring axes from `axis` on as one."""
    node = as_node(x)
    at = inside(axis, node.ndim - count + 1)
    for _ in range(count - 1):
        node = ops.merge(node, at)
    return wrap(node)


def psum_scatter(
    x: Any, axis_name: Any, *, scatter_dimension: int = 0, axis_index_groups: Any = None, tiled: bool = False
) -> Any:
    """The sum along a named axis, of which each gets its part along `scatter_dimension`."""

    def apply(v: Node, size: int, index: Node) -> Node:
        return ops.psum_scatter(v, index, axis=inside(scatter_dimension, v.ndim), tiled=tiled, size=size)

    if axis_index_groups is not None or len(names_of(axis_name)) > 1:

        def scattered(parts: Any, n: int, place: Any) -> Any:
            return own_part(parts.sum(0), scatter_dimension, n, place, tiled)

        return among("psum_scatter", x, axis_name, axis_index_groups, scattered)
    return along("psum_scatter", x, axis_name, apply)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """What the one sent that names me in `(source, destination)`; zeros where nobody does. Several names are as one
    axis, in the mesh's order. Negative places count from the end.

    Raises: ValueError where two send to the same, or one sends twice; IndexError for a place that is not there.
    """
    pairs = tuple([(int(a), int(b)) for a, b in perm])
    wrong = f"ppermute sources and destinations must be unique, got {pairs}."
    if len({a for a, _ in pairs}) < len(pairs) or len({b for _, b in pairs}) < len(pairs):
        raise ValueError(wrong)
    names = names_of(axis_name)
    for name in names:
        bound(name, "ppermute")
    if len(names) > 1 and current.manual:
        names = tuple([a for a in current.manual[-1].axis_names if a in names])
    size = axis_size(names)
    if any(len({p[k] % size for p in pairs}) < len(pairs) for k in (0, 1)):
        raise ValueError(wrong)
    if any(not -size <= i < size for pair in pairs for i in pair):
        raise IndexError(f"ppermute: {perm} leaves the axis {axis_name!r} of size {size}")
    pairs = tuple([(a % size, b % size) for a, b in pairs])
    if len(names) > 1:
        sources = np.full(size, -1, np.int32)
        for source, destination in pairs:
            sources[destination] = source
        mine = wrap(as_node(sources))[axis_index(names)]

        def received(parts: Any, n: int, place: Any) -> Any:
            part = as_node(parts[mine])
            return wrap(where(as_node(mine >= 0), part, np.zeros((), part.dtype)[()]))

        return among("ppermute", x, names, None, received)
    return along("ppermute", x, names, lambda v, _, index: ops.ppermute(v, index, perm=pairs))


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """What `perm[i]` has, for the one at place i. Raises ValueError where perm is no permutation."""
    if sorted(perm) != list(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, [(a, b) for b, a in enumerate(perm)])


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """The named axis in the place of an array axis, and the other way round."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Part i of mine along `split_axis` goes to i; what I get is put together along `concat_axis`."""

    def apply(v: Node, size: int, index: Node) -> Node:
        split, join = inside(split_axis, v.ndim), inside(concat_axis, v.ndim)
        if tiled and v.shape[split] % size:
            raise ValueError(
                f"The size of all_to_all split_axis ({v.shape[split]}) has to be divisible by the size of the named "
                f"axis {axis_name} ({size})"
            )
        return ops.all_to_all(v, index, split_axis=split, concat_axis=join, tiled=tiled, size=size)

    if axis_index_groups is not None or len(names_of(axis_name)) > 1:

        def exchanged(parts: Any, n: int, place: Any) -> Any:
            return laid(own_part(parts, inside(split_axis, parts.ndim - 1) + 1, n, place, tiled), concat_axis, tiled)

        return among("all_to_all", x, axis_name, axis_index_groups, exchanged)
    return along("all_to_all", x, axis_name, apply)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """What the one at place `source` has."""

    def apply(v: Node, size: int, index: Node) -> Node:
        whole = ops.all_gather(v, index, axis=0, tiled=False, size=size)
        return reshape(span(whole, 0, source, 1), shape=v.shape)

    return along("pbroadcast", x, one_name(axis_name, "pbroadcast"), apply)


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """x, taken to vary along these manual axes of a mesh (`to="varying"`): see `varying.pvary`. What varies may be
    taken for summands (`unreduced`), and what does not for a value whose cotangents are summands (`reduced`).

    Raises: ValueError for another cast, and outside of `shard_map`.
    """
    if to not in ("varying", "unreduced", "reduced"):
        raise ValueError("Got unexpected `to` value. Allowed `to` values are: {'varying', 'unreduced', 'reduced'}")
    names = names_of(axis_name)
    if not names:
        return x
    for name in names:
        if name not in stack.axes:
            raise ValueError("pvary should be called under jax.shard_map.")
    if not contexts.active:
        return x

    def cast(v: Any) -> Any:
        node = as_node(v)
        states = {state_along(n, node) for n in names}
        if len(states) > 1:
            raise ValueError(
                "jax.lax.pcast can only accept axis_name which corresponds to one of varying, unreduced, reduced or "
                f"invarying state of the input. Got input type: {v.aval}, axes: {names} and input state: "
                f"{{{', '.join(map(repr, sorted(states)))}}}"
            )
        (now,) = states
        if (now, to) not in CASTS:
            raise ValueError(f"Unsupported pcast from={now}, to={to!r}")
        if to == "varying":
            for name in names:
                node = pvary(node, bound(name, "pcast")[1])
            return wrap(node)
        return marked(node, frozenset(names), to)

    return map(cast, x)


CASTS = {("invarying", "varying"), ("reduced", "varying"), ("varying", "unreduced"), ("invarying", "reduced")}


def state_along(name: Any, node: Node) -> str:
    """How a value lies along an axis of the innermost `shard_map`."""
    sums = sums_of_value(node)
    if name in sums.unreduced:
        return "unreduced"
    if name in sums.reduced:
        return "reduced"
    return "varying" if name in axes_of_value(node) else "invarying"


def marked(node: Node, axes: frozenset[Any], what: str) -> Any:
    """The same value, said to be unreduced or reduced along these axes."""
    context = contexts.active[-1]
    sums = context.sums(node)
    out = context.renewed(slice_(node, key=whole(node.shape)))
    context.marks[out] = (
        Sums(sums.unreduced | axes, sums.reduced) if what == "unreduced" else Sums(sums.unreduced, sums.reduced | axes)
    )
    return wrap(out)
