"""`pmap` and `shard_map`: functions of what each device of a mesh has. Each is a `vmap` over the names of its axes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..api.trace import stack
from ..api.vmap import vmap
from ..graph.node import ABSTRACT, Node
from ..ops.shape import move_axis, reshape, slice_, whole
from ..signatures import Static, leaf_names, name_of, spread_axes
from ..tree import NAMESPACE, flatten, map, unflatten
from .array import Array, as_node, door, wrap
from .devices import everything, process_index, several
from .placement import from_local, labelled, local_part
from .sharding import (
    AxisType,
    IndivisibleError,
    Mesh,
    NamedSharding,
    PartitionSpec,
    axes_of,
    check_spec,
    current,
    get_mesh,
)
from .spreading import constrain, sharding_at, split_of, state
from .stages import PjitFunction
from .varying import Context, contexts

PMAP_AXIS = "_internal_pmap_axis_name"


def pmap(
    fun: Callable[..., Any],
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """The function on each device's part of the arguments, jitted. The mapped axis is as long as there are devices.

    Raises: ValueError where it is longer, or no argument has one.
    """
    there = list(everything()) if devices is None else list(devices)
    nums = static_broadcasted_argnums
    static = (nums,) if isinstance(nums, int) else tuple(nums)
    name = axis_name if axis_name is not None else PMAP_AXIS
    several_processes = {d.process_index for d in there} != {process_index()}

    def axes_given(args: tuple[Any, ...]) -> tuple[list[int], tuple[Any, ...]]:
        axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        given = [i for i in range(len(args)) if i not in static]
        return given, tuple([axes[i] for i in given])

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        given, over = axes_given(args)

        def dynamic(*parts: Any, **named: Any) -> Any:
            full = list(args)
            for i, x in zip(given, parts):
                full[i] = x
            return fun(*full, **named)

        n = mapped_length([args[i] for i in given], over, kwargs, name, there)
        mesh = Mesh(np.array(there[:n], dtype=object), (name,))
        all_axes = map(lambda a: 0 if a is None else a, out_axes, is_leaf=lambda a: a is None)
        out = vmap(dynamic, over, all_axes, name, n, door=door)(*[plain(args[i]) for i in given], **plain(kwargs))
        leaves, structure = flatten(out)
        where = spread_axes(out_axes, out, "pmap out_axes")
        leaves = [x[0] if a is None else x for x, a in zip(leaves, where)]  # None: the same on all devices
        if not state.on and len(there) < 2:
            return unflatten(structure, leaves)
        return unflatten(structure, [labelled(fresh(x), along(mesh, name, a)) for x, a in zip(leaves, where)])

    jitted = PjitFunction(mapped, door, Static(static))
    if not several_processes:
        return jitted

    @functools.wraps(fun)
    def among_processes(*args: Any, **kwargs: Any) -> Any:
        """Each process gives and gets what its own devices have."""
        given, over = axes_given(args)
        full = list(args)
        for i, x in zip(given, to_all([args[i] for i in given], over, name, there)):
            full[i] = x
        out = jitted(*full, **to_all([kwargs], (0,), name, there)[0])
        leaves, structure = flatten(out)
        own = Mesh(np.array([d for d in there if d.process_index == process_index()], dtype=object), (name,))
        where = spread_axes(out_axes, out, "pmap out_axes")
        return unflatten(structure, [local_part(x, along(own, name, a)) for x, a in zip(leaves, where)])

    return among_processes


def to_all(args: list[Any], axes: tuple[Any, ...], name: Any, there: Sequence[Any]) -> list[Any]:
    """The arguments of a process as its part of what all processes map over.

    Raises: ValueError where the mapped axis is not as long as this process has devices among them.
    """
    n = len([d for d in there if d.process_index == process_index()])
    mesh = Mesh(np.array(there, dtype=object), (name,))

    def one(x: Any, axis: int | None) -> Any:
        if axis is not None and np.shape(x)[axis : axis + 1] != (n,):
            raise ValueError(
                f"pmap over {len(there)} devices of several processes: the mapped axis is to be as long as this "
                f"process has devices, {n}; got shape {np.shape(x)}"
            )
        shape = tuple([len(there) if d == axis else size for d, size in enumerate(np.shape(x))])
        return from_local(along(mesh, name, axis), x, shape)

    leaves, structure = flatten(tuple(args))
    where = spread_axes(axes, tuple(args), "pmap in_axes")
    return list(unflatten(structure, [one(x, a) for x, a in zip(leaves, where)]))


def along(mesh: Any, name: Any, axis: int | None) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, name))


def mapped_length(args: list[Any], axes: tuple[Any, ...], kwargs: Any, name: Any, there: Sequence[Any]) -> int:
    """The length of the mapped axis. Raises ValueError where arguments differ in it, or there are too few devices."""
    leaves, where = flatten(tuple(args))[0], spread_axes(axes, tuple(args), "pmap in_axes")
    more = flatten(kwargs)[0]
    pairs = [(x, a) for x, a in zip([*leaves, *more], [*where, *[0] * len(more)]) if a is not None]
    if not pairs or any([not np.ndim(x) for x, _ in pairs]):
        raise ValueError("pmap requires at least one argument with a mapped axis.")
    n = int(np.shape(pairs[0][0])[pairs[0][1]])
    mesh = Mesh(np.array(there[:n], dtype=object), (name,))
    n = min(n, len(there))
    for x, a in pairs:
        if np.shape(x)[a] != n:
            raise IndivisibleError(
                f"Sharding {along(mesh, name, a)} implies that array axis {a} is partitioned {n} times, but the "
                f"dimension size is {np.shape(x)[a]} (full shape: {np.shape(x)})"
            )
    return n


def plain(tree: Any) -> Any:
    """The arrays of a tree without their shardings: inside of what is mapped they are each device's own."""
    return map(lambda x: wrap(fresh(x)) if isinstance(x, Array) else x, tree) if state.on else tree


def fresh(x: Any) -> Node:
    """A node of its own for an array."""
    node = as_node(x)
    return constrain(node, sharding=None) if state.on else node


def split_by(x: Any, spec: PartitionSpec, mesh: Any) -> Any:
    """An argument under a transformation, said to lie as its spec says, so that its cotangent will."""
    node = as_node(x)
    if not state.on or not node.trace or not isinstance(mesh, Mesh) or len(spec) > node.ndim:
        return x
    check_spec(mesh, spec)
    return wrap(constrain(node, sharding=NamedSharding(mesh, spec)))


class Infer:
    """In the place of `in_specs`: as the arguments lie."""


def spread_specs(specs: Any, tree: Any, what: str) -> list[PartitionSpec]:
    """For each leaf of a tree the spec that a prefix of the tree says. None is a spec of nothing."""

    def is_spec(x: Any) -> bool:
        return x is None or isinstance(x, PartitionSpec)

    marked = map(lambda s: PartitionSpec() if s is None else s, specs, is_leaf=is_spec)
    for spec in flatten(marked, is_leaf=is_spec)[0]:
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"shard_map {what} argument must be a pytree of `jax.sharding.PartitionSpec` instances, but got "
                f"{spec!r}"
            )
    try:
        found = optree.broadcast_prefix(marked, tree, is_leaf=is_spec, namespace=NAMESPACE)
    except ValueError as error:
        raise ValueError(
            f"shard_map {what} specification must be a tree prefix of the corresponding value: {error}"
        ) from None
    return list(found)


def cut(x: Node, spec: PartitionSpec, mesh: Any, manual: Sequence[Any], name: str) -> tuple[Node, list[Any]]:
    """An array with the mesh axes it is split along in front, in the mesh's order; and which these are.

    Raises: ValueError where an axis does not divide.
    """
    sizes = mesh.shape
    if len(spec) > x.ndim:
        raise ValueError(
            "shard_map applied to a function was given an in_specs entry which is too long to be compatible with the "
            f"corresponding input value from the function:\n\nin_specs is {spec} which has length {len(spec)}, but the "
            f"passed {name} has shape {x.aval}, which has rank {x.ndim} (and {x.ndim} < {len(spec)})\n\nEntries in "
            "in_specs must be of length no greater than the number of axes in the corresponding input value."
        )
    check_spec(mesh, spec)
    dims: list[Any] = []
    shape: list[int] = []
    for d, n in enumerate(x.shape):
        names = axes_of(spec[d]) if d < len(spec) else ()
        for a in names:
            if n % sizes[a]:
                raise ValueError(
                    "shard_map applied to a function was given argument arrays with axis sizes that are not evenly "
                    f"divisible by the corresponding mesh axis sizes:\n\nThe mesh given has shape {mesh.axis_sizes} "
                    f"with "
                    f"corresponding axis names {mesh.axis_names}.\n\nthe passed {name} of shape {x.aval} corresponds "
                    f"to "
                    f"in_specs of value {spec}, which maps array axis {d} (of size {x.shape[d]}) to mesh axes "
                    f"{names} (of "
                    f"total size {int(np.prod([sizes[k] for k in names]))})"
                )
            dims.append(a)
            shape.append(sizes[a])
            n //= sizes[a]
        dims.append(None)
        shape.append(n)
    x = reshape(x, shape=tuple(shape))
    used = [a for a in manual if a in dims]
    for i, a in enumerate(used):
        at = dims.index(a)
        dims.insert(i, dims.pop(at))
        x = move_axis(x, at, i)
    return x, used


def joined(x: Node, spec: PartitionSpec, names: list[Any]) -> Node:
    """A result of all places, the mesh's axes in front, as one array: an axis that the spec does not name is taken to
    be the same everywhere."""
    wanted = [a for part in spec for a in axes_of(part)]
    for i in reversed(range(len(names))):
        if names[i] not in wanted:
            x = slice_(x, key=(*whole(x.shape[:i]), 0, *whole(x.shape[i + 1 :])))
            del names[i]
    for d, part in enumerate(spec):
        for a in reversed(axes_of(part)):
            at, to = names.index(a), len(names) - 1 + d
            x = move_axis(x, at, to)
            x = reshape(x, shape=(*x.shape[:to], x.shape[to] * x.shape[to + 1], *x.shape[to + 2 :]))
            names.remove(a)
    return x


def check_manual(specs: list[PartitionSpec], manual: Sequence[Any], what: str) -> None:
    """Raise ValueError for a spec that names an axis which is not mapped."""
    for spec in specs:
        for a in [a for part in spec for a in axes_of(part)]:
            if a not in manual:
                raise ValueError(
                    f"shard_map {what} argument must refer to an axis marked as manual ({frozenset(manual)}), but:\n\n"
                    f"  {what} refers to {a!r}\n\nCheck the {what} values passed to shard_map."
                )


def check_lies(x: Node, spec: PartitionSpec, mesh: Any) -> None:
    """Raise ValueError for an argument that lies otherwise on explicit axes than its spec says."""
    explicit = set(mesh.explicit_axes)
    wanted = split_of(NamedSharding(mesh, spec), x.ndim)
    lies = split_of(sharding_at(x), x.ndim)
    if [set(s) & explicit for s in wanted] != [set(s) & explicit for s in lies]:
        now, to = [PartitionSpec(*[s or None for s in split]) for split in (lies, wanted)]
        raise ValueError(
            f"in_specs passed to shard_map: {to} does not match the specs of the input: {now} for arg: {x.aval}. "
            "`in_specs` is an optional argument so you can omit specifying it and shard_map will infer the in_specs "
            "from "
            "the arguments. If you want to reshard your inputs, you can use `jax.reshard` on the arguments and then "
            "pass "
            "those args to shard_map."
        )


def check_results(
    out: Any, out_specs: Any, varying: Context | None, manual: Sequence[Any], mesh: Any, name: str
) -> None:
    """Raise ValueError for a spec that is too long, or that says of what differs that it is the same everywhere."""
    specs = spread_specs(out_specs, out, "out_specs")
    check_manual(specs, manual, "out_specs")
    for x, spec in zip(flatten(out)[0], specs):
        node = as_node(x)
        if len(spec) > node.ndim:
            raise ValueError(
                f"shard_map applied to the function '{name}' was given an out_specs entry which is too long to be "
                f"compatible with the corresponding output value from the function:\n\nout_specs is {spec} which has "
                f"length {len(spec)}, but {name}(*args) has shape {node.aval}, which has rank {node.ndim} (and "
                f"{node.ndim} < {len(spec)})\n\nEntries in out_specs must be of length no greater than the number of "
                "axes in the corresponding output value."
            )
        axes = {a for part in spec for a in axes_of(part)}
        found = varying.of(node) if varying is not None and node.trace == ABSTRACT else None
        more = (found or frozenset()) - axes
        if more:
            raise ValueError(
                f"shard_map applied to the function '{name}' was given out_specs which require replication which can't "
                f"be statically inferred given the mesh:\n\nThe mesh given has shape {mesh.axis_sizes} with "
                f"corresponding "
                f"axis names {mesh.axis_names}.\n\nout_specs is {spec} which implies that the corresponding output "
                f"value "
                f"is only varying across mesh axes {shown(axes)} and not {shown(more)}, but it was inferred to be "
                f"possibly varying over {shown(axes | more)}\n\nCheck if these output values are meant to be "
                f"replicated "
                "over those mesh axes. If not, consider revising the corresponding out_specs entries. If so, consider "
                "disabling the check by passing the check_vma=False argument to `jax.shard_map`."
            )


def shown(axes: Any) -> str:
    return "{" + ",".join(sorted(map_text(axes))) + "}"


def map_text(axes: Any) -> list[str]:
    return [str(a) for a in axes]


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: Any = None,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
    **options: Any,
) -> Callable[..., Any]:
    """f on each part of the arguments, as `in_specs` splits them over the mesh; its results joined by `out_specs`.

    Inside, `psum` and its like work along the mesh's axes, or along those in `axis_names`.

    Raises: ValueError where an argument does not divide, where a spec does not fit, and (`check_vma`) where a result
    that may differ between devices is said to be the same on all; TypeError for other parameters.
    """
    if options:
        raise TypeError(f"shard_map() got an unexpected keyword argument {next(iter(options))!r}")
    if f is None:
        return functools.partial(
            shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names, check_vma=check_vma
        )
    function, name = f, name_of(f)

    @functools.wraps(f)
    def mapped(*args: Any) -> Any:
        over = mesh if mesh is not None else get_mesh()
        if over.empty:
            raise ValueError(
                "The context mesh cannot be empty. Either use `jax.set_mesh(mesh)` to enter into a mesh context or "
                "pass "
                "a mesh to `shard_map` via the `mesh` keyword argument."
            )
        manual = [a for a in over.axis_names if not axis_names or a in axis_names]
        if set(axis_names) - set(manual):
            raise ValueError(
                f"jax.shard_map requires axis_names={set(axis_names)} to be a subset of "
                f"mesh.axis_names={over.axis_names}"
            )
        leaves, structure = flatten(args)
        if in_specs is Infer:
            found = [sharding_at(as_node(x)) for x in leaves]
            specs = [s.spec if isinstance(s, NamedSharding) else PartitionSpec() for s in found]
        else:
            specs = spread_specs(in_specs, args, "in_specs")
        check_manual(specs, manual, "in_specs")
        check_manual([s for s in flatten(out_specs)[0] if isinstance(s, PartitionSpec)], manual, "out_specs")
        names = leaf_names(function, args, {})
        if several():
            for x, spec in zip(leaves, specs):
                check_lies(as_node(x), spec, over)
        parts = [cut(fresh(split_by(x, s, over)), s, over, manual, what) for x, s, what in zip(leaves, specs, names)]

        outer = list(stack.active)
        inside = over.abstract_mesh.update_axis_types(dict.fromkeys(manual, AxisType.Manual))

        def local(*xs: Any) -> Any:
            current.manual.append(inside)
            try:
                return checked(*xs)
            finally:
                current.manual.pop()

        def checked(*xs: Any) -> Any:
            if not check_vma:
                out = function(*unflatten(structure, list(xs)))
                check_results(out, out_specs, None, manual, over, name)
                return out
            lies: dict[Node, frozenset[Any]] = {}
            for x, (_, used) in zip(xs, parts):
                lies[as_node(x)] = lies.get(as_node(x), frozenset()) | frozenset(used)
            context = Context(lies, {a: stack.axes[a][1] for a in manual}, outer)
            contexts.active.append(context)
            try:
                out = function(*unflatten(structure, list(xs)))
                check_results(out, out_specs, context, manual, over, name)
            finally:
                contexts.active.pop()
            return out

        inner: Callable[..., Any] = local
        for axis, size in reversed([(a, over.shape[a]) for a in manual]):
            axes = tuple([0 if axis in used else None for _, used in parts])
            inner = vmap(inner, axes, 0, axis, size, door=door)
        out = inner(*[wrap(x) for x, _ in parts])
        results, tree = flatten(out)
        found_specs = spread_specs(out_specs, out, "out_specs")
        whole_results = [joined(fresh(x), s, list(manual)) for x, s in zip(results, found_specs)]
        if not state.on and (isinstance(over, Mesh) and over.size < 2 or not isinstance(over, Mesh)):
            return unflatten(tree, [wrap(x) for x in whole_results])
        return unflatten(tree, [labelled(x, NamedSharding(over, s)) for x, s in zip(whole_results, found_specs)])

    return mapped


smap = shard_map
