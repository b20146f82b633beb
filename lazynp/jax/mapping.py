"""`shard_map`: functions of what each device of a mesh has, as nested `vmap`s over the names of its axes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..api.trace import stack
from ..api.vmap import vmap
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node
from ..ops.elementwise import equal, where
from ..ops.promotion import is_inexact
from ..ops.shape import add_reduce, move_axis, reshape, slice_, whole
from ..signatures import name_of
from ..tree import NAMESPACE, flatten, map, unflatten
from .array import as_node, door, wrap
from .aval import shaped
from .cotangents import shared
from .device_views import View, views
from .devices import several
from .jaxpr_places import as_shard_map, of_one_device
from .manual_sums import Sums, refuse
from .mapping_texts import argument_texts, places_of, refuse_uneven
from .mesh import Setting
from .placement import labelled, of_places, with_devices
from .references import mapped_over
from .shard_map_cotangents import pulled_back
from .sharding import (
    AxisType,
    BaseMesh,
    Mesh,
    NamedSharding,
    PartitionSpec,
    axes_of,
    check_spec,
    current,
    default_mesh,
    get_abstract_mesh,
)
from .splits import each_device
from .spreading import Split, constrain, known, named_sharding, note, sharding_at, split_of, state, tidy
from .tree_util import keystr, prefix_errors, tree_leaves_with_path
from .unreduced import pending
from .varying import Axes, Context, contexts


def fresh(x: Any) -> Node:
    """A node of its own for an array."""
    node = x if isinstance(x, Node) else as_node(x)
    return constrain(node, sharding=None) if state.on else node


def split_by(x: Any, spec: PartitionSpec, mesh: Any, manual: Sequence[Any]) -> Any:
    """An argument under a transformation, said to lie as its spec says, so that its cotangent will."""
    node = as_node(x)
    if not state.on or not node.trace or not isinstance(mesh, Mesh) or len(spec) > node.ndim:
        return x
    check_spec(mesh, spec)
    return wrap(constrain(node, sharding=with_others(spec, others_of(node, mesh, manual), node.shape, mesh, manual)))


class Infer:
    """In the place of `in_specs`: as the arguments lie."""


def along_manual(lies: Any, manual: Sequence[Any]) -> PartitionSpec:
    """What a sharding says of the axes that are mapped."""
    if not isinstance(lies, NamedSharding):
        return PartitionSpec()
    return PartitionSpec(*[tuple([a for a in axes_of(p) if a in manual]) for p in lies.spec.partitions])


def check_inferred(mesh: Any, manual: Sequence[Any]) -> None:
    """Raise TypeError where `in_specs` is not given and types do not say how arguments lie."""
    auto = frozenset(manual) & set(mesh.auto_axes)
    if auto:
        raise TypeError(
            "shard_map in_specs argument must be a pytree of `jax.sharding.PartitionSpec` instances, but it was `None` "
            f"when axis_names={auto} are of type {', '.join(['AxisType.Auto'] * len(auto))}"
        )


def spread_specs(specs: Any, tree: Any, what: str) -> list[PartitionSpec]:
    """For each leaf of a tree the spec that a prefix of the tree says. None is a spec of nothing, of arguments."""
    absent = what == "in_specs"

    def is_spec(x: Any) -> bool:
        return x is None and absent or isinstance(x, PartitionSpec)

    marked = map(lambda s: PartitionSpec() if s is None else s, specs, is_leaf=is_spec)
    for spec in flatten(marked, is_leaf=is_spec)[0]:
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"shard_map {what} argument must be a pytree of `jax.sharding.PartitionSpec` instances, but:\n\n  "
                f"{what} is {spec} of type {type(spec).__name__}, \n\nCheck the {what} values passed to shard_map."
            )
    try:
        found = optree.broadcast_prefix(marked, tree, namespace=NAMESPACE)
    except ValueError:
        for error in prefix_errors(specs, tree, is_spec):
            raise error(f"shard_map {what}") from None
        raise
    return list(found)


def others_of(x: Node, mesh: Any, manual: Sequence[Any]) -> Split:
    """Along which axes of a mesh that are not mapped an array lies."""
    if not state.on or len(manual) == len(mesh.axis_names):
        return ((),) * x.ndim
    note(x)
    lies = sharding_at(x)
    if not isinstance(lies, NamedSharding) or not of_places(lies.mesh, mesh):
        return ((),) * x.ndim
    return tuple([tuple([a for a in axes if a not in manual]) for axes in split_of(lies, x.ndim)])


def lying(x: Node, others: Split, mesh: Any) -> Node:
    """The same, said to lie along these axes of a mesh in its last dimensions."""
    if not any(others):
        return x
    split = tidy((*[()] * (x.ndim - len(others)), *others), x.shape, mesh)
    return constrain(x, sharding=named_sharding(mesh, split, x.ndim))


def with_others(
    spec: PartitionSpec, others: Split, shape: tuple[int, ...], mesh: Mesh, manual: Sequence[Any]
) -> NamedSharding:
    """How a result lies: as its spec says, and along the axes that are not mapped as it was found to."""
    explicit = set(mesh.explicit_axes)
    typed = explicit == set(mesh.axis_names) or {a for s in spec for a in axes_of(s)} & explicit
    jitted = len(manual) < len(mesh.axis_names)  # by JAX, whose sharding then says something of each dimension
    if not any(others) and not (jitted and typed):
        return NamedSharding(mesh, spec)
    pairs = zip(split_of(NamedSharding(mesh, spec), len(shape)), others)
    return named_sharding(mesh, tidy(tuple([(*a, *b) for a, b in pairs]), shape, mesh), len(shape))


def cut(
    x: Node, spec: PartitionSpec, mesh: Any, manual: Sequence[Any], name: str, place: str, fun: str
) -> tuple[Node, list[Any]]:
    """An array with the mesh axes it is split along in front, in the mesh's order; and which these are.

    Raises: ValueError where an axis does not divide.
    """
    sizes = mesh.shape
    if len(spec) > x.ndim:
        scalar = (
            "\n\nFor scalar values (rank 0), consider using an in_specs entry of `P()`, where `P = "
            "jax.sharding.PartitionSpec`."
        )
        raise ValueError(
            f"shard_map applied to the function '{fun}' was given an in_specs entry which is too long to be compatible "
            f"with the corresponding input value from the function:\n\n{place} is {spec} which has length "
            f"{len(spec)}, but the passed {name} has shape {x.aval}, which has rank {x.ndim} (and {x.ndim} < "
            f"{len(spec)})\n\nEntries in in_specs must be of length no greater than the number of axes in the "
            f"corresponding input value.\n\nEither revise the spec to be shorter, or modify '{fun}' so that its inputs "
            f"have sufficient rank.{scalar * (not x.ndim)}"
        )
    check_spec(mesh, spec)
    dims: list[Any] = []
    shape: list[int] = []
    for d, n in enumerate(x.shape):
        names = axes_of(spec[d]) if d < len(spec) else ()
        for a in names:
            if n % sizes[a]:
                refuse_uneven(x, d, spec, mesh, name, place, fun)
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


def in_one_place(x: Any, axes: Axes) -> Any:
    """A device's summand of an argument: all of it on the first one along these axes, zeros on the others."""
    node = as_node(x)
    for a in sorted(axes, key=str):
        node = where(equal(stack.axes[a][1], np.int32(0)), node, np.zeros((), node.dtype)[()])
    return wrap(node) if axes else x


def joined(x: Node, spec: PartitionSpec, names: list[Any], checked: bool) -> Node:
    """A result of all places, the mesh's axes in front, as one array: an axis that the spec does not name is taken to
    be the same everywhere. Where that is not `checked`, each place has a share of its cotangent."""
    wanted = [a for part in spec.partitions for a in axes_of(part)]
    if not checked and is_inexact(x.dtype):
        x = shared(x, [i for i, a in enumerate(names) if a not in wanted and a not in spec.unreduced])
    for i in reversed(range(len(names))):
        if names[i] in spec.unreduced:
            x = add_reduce(x, axes=(i,), keepdims=False, dtype=x.dtype)
            del names[i]
        elif names[i] not in wanted:
            x = slice_(x, key=(*whole(x.shape[:i]), 0, *whole(x.shape[i + 1 :])))
            del names[i]
    for d, part in enumerate(spec.partitions):
        for a in reversed(axes_of(part)):
            at, to = names.index(a), len(names) - 1 + d
            x = move_axis(x, at, to)
            x = reshape(x, shape=(*x.shape[:to], x.shape[to] * x.shape[to + 1], *x.shape[to + 2 :]))
            names.remove(a)
    return x


def check_manual(specs: list[PartitionSpec], manual: Sequence[Any], what: str) -> None:
    """Raise ValueError for a spec that names an axis which is not mapped."""
    for spec in specs:
        for a in [
            a for part in spec.partitions for a in ((part,) if part is PartitionSpec.UNCONSTRAINED else axes_of(part))
        ]:
            if a not in manual:
                raise ValueError(
                    f"shard_map {what} argument must refer to an axis marked as manual ({frozenset(manual)}), but:\n\n"
                    f"  {what} refers to {a!r}\n\nCheck the {what} values passed to shard_map."
                )


def check_sums(specs: list[PartitionSpec], mesh: Any, manual: Sequence[Any], what: str) -> None:
    """Raise NotImplementedError for specs with summands where some axes are not mapped."""
    for spec in specs:
        if (spec.unreduced or spec.reduced) and len(manual) < len(mesh.axis_names):
            raise NotImplementedError(
                f"unreduced/reduced can only be passed to {what} when shard_map is in full manual mode. Got mesh axis "
                f"names {mesh.axis_names}, manual_axes: {frozenset(manual)}, specs: {spec}. Please file a bug at "
                "https://github.com/jax-ml/jax/issues."
            )


def check_lies(x: Node, spec: PartitionSpec, mesh: Any, manual: Sequence[Any]) -> None:
    """Raise ValueError for an argument that lies otherwise than its spec says, where all axes of the mesh are explicit
    and are mapped, by this or by a `vmap` around it: where some are not, the argument goes where its spec says."""
    explicit = set(manual)
    if explicit - set(mesh.explicit_axes) or set(mesh.axis_names) - explicit - {a for s in state.examples for a in s}:
        return
    shardings = (sharding_at(x), NamedSharding(mesh, spec))
    lies, wanted = [split_of(s, x.ndim) for s in shardings]
    sums = [tuple([axes & explicit for axes in pending(s)]) for s in shardings]
    if [set(s) & explicit for s in wanted] != [set(s) & explicit for s in lies] or sums[0] != sums[1]:
        now, to = [
            PartitionSpec(*[s or None for s in split], unreduced=u, reduced=r)
            for split, (u, r) in zip((lies, wanted), sums)
        ]
        raise ValueError(
            f"in_specs passed to shard_map: {to} does not match the specs of the input: {now} for arg: "
            f"{shaped(x.aval, sharding_at(x))}. "
            "`in_specs` is an optional argument so you can omit specifying it and shard_map will infer the in_specs "
            "from "
            "the arguments. If you want to reshard your inputs, you can use `jax.reshard` on the arguments and then "
            "pass "
            "those args to shard_map."
        )


def check_devices(x: Node, mesh: Any) -> None:
    """Raise ValueError for an argument that was placed on other devices than the mesh's."""
    lies = sharding_at(x)
    if lies is None or not isinstance(mesh, Mesh) or lies.device_set == set(mesh.devices.flat):
        return
    here, there = [sorted([d.id for d in devices]) for devices in (lies.device_set, mesh.devices.flat)]
    raise ValueError(
        f"Received incompatible devices for jitted computation. Got argument with shape {x.aval} and with device ids "
        f"{here} on platform CPU and shard_map inside jit with device ids {there} on platform CPU"
    )


def check_results(
    out: Any, out_specs: Any, varying: Context | None, manual: Sequence[Any], mesh: Any, name: str
) -> None:
    """Raise ValueError for a spec that is too long, or that says of what differs that it is the same everywhere."""
    specs = spread_specs(out_specs, out, "out_specs")
    check_manual(specs, manual, "out_specs")
    paths = [path for path, _ in tree_leaves_with_path(out)]
    results = list(zip(paths, flatten(out)[0], specs, places_of(out_specs, out, "out_specs")))
    check_ranks([(place, spec, as_node(x), f"{name}(*args){keystr(path)}") for path, x, spec, place in results], name)
    wrong: list[str] = []
    for _, x, spec, place in results:
        node = as_node(x)
        check_spec(mesh, spec)
        axes = frozenset([a for part in spec.partitions for a in axes_of(part)])
        found = varying.of(node) if varying is not None and node.trace == ABSTRACT else None
        sums = Sums() if varying is None or node.trace != ABSTRACT else varying.sums(node)
        if sums.unreduced - spec.unreduced:
            refuse(node, sums.unreduced, sums.unreduced - spec.unreduced)
        more = (found or frozenset()) - axes - spec.unreduced
        if more:
            how = apart(axes, more, mesh)
            wrong.append(f"* {place} is {spec} which implies that the corresponding output value is {how}")
    if wrong:
        text = "\n\n".join(wrong) if len(wrong) > 1 else wrong[0].removeprefix("* ")
        raise ValueError(
            f"shard_map applied to the function '{name}' was given out_specs which require replication which can't be "
            f"statically inferred given the mesh:\n\nThe mesh given has shape {mesh.axis_sizes} with corresponding "
            f"axis names {mesh.axis_names}.\n\n{text}\n\nCheck if these output values are meant to be replicated over "
            "those mesh axes. If not, consider revising the corresponding out_specs entries. If so, consider disabling "
            "the check by passing the check_vma=False argument to `jax.shard_map`."
        )


def check_spmd(names: Sequence[Any], specs: Sequence[PartitionSpec], mesh: Any) -> None:
    """Raise ValueError where axes along which a `vmap` lies stand in specs too, KeyError where the mesh has no such."""
    if {a for s in specs for part in s.partitions for a in axes_of(part)} & set(names):
        raise ValueError("vmap spmd_axis_name cannot appear in shard_map in_specs")
    for a in names:
        mesh.shape[a]


def check_ranks(results: Sequence[tuple[str, PartitionSpec, Node, str]], name: str) -> None:
    """Raise ValueError for specs (each with its place, the result and what that is called) that are too long."""
    wrong = [
        f"* {place} is {spec} which has length {len(spec)}, but {what} has shape {node.aval}, which has rank "
        f"{node.ndim} (and {node.ndim} < {len(spec)})"
        for place, spec, node, what in results
        if len(spec) > node.ndim
    ]
    if not wrong:
        return
    scalar = (
        "\n\nFor scalar values (rank 0), consider using an out_specs entry of `P()`, where `P = "
        "jax.sharding.PartitionSpec`. In particular, for rank 0 outputs which are not constant over the mesh, add at "
        "least one (singleton) axis to them so that they can be concatenated using out_specs."
    )
    scalars = any([not node.ndim and len(spec) for _, spec, node, _ in results])
    text = "\n\n".join(wrong) if len(wrong) > 1 else wrong[0].removeprefix("* ")
    raise ValueError(
        f"shard_map applied to the function '{name}' was given an out_specs entry which is too long to be compatible "
        f"with the corresponding output value from the function:\n\n{text}\n\nEntries in out_specs must be of length "
        "no greater than the number of axes in the corresponding output value.\n\nEither revise the spec to be "
        f"shorter, or modify '{name}' so that its outputs have sufficient rank.{scalar * scalars}"
    )


def apart(axes: Axes, more: Axes, mesh: Any) -> str:
    """Along which axes of a mesh a result is said to vary, and along which others it was found to."""
    rest = [a for a in mesh.axis_names if a not in axes]
    if len(rest) > 1:
        return (
            f"only varying across mesh axes {shown(axes)} and not {shown(more)}, but it was inferred to be possibly "
            f"varying over {shown(axes | more)}"
        )
    return f"replicated across mesh axis {rest[0]!r}, but could not infer replication over any axes"


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
    **unknown: Any,
) -> Callable[..., Any]:
    """f on each part of the arguments, as `in_specs` splits them over the mesh; its results joined by `out_specs`.

    Inside, `psum` and its like work along the mesh's axes, or along those in `axis_names`.

    Raises: ValueError where an argument does not divide, where a spec does not fit, and (`check_vma`) where a result
    that may differ between devices is said to be the same on all; TypeError for other parameters.
    """
    if unknown:
        raise TypeError(f"shard_map() got an unexpected keyword argument {next(iter(unknown))!r}")
    if f is None:
        return functools.partial(
            shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names, check_vma=check_vma
        )
    if not callable(f):
        raise TypeError(f"shard_map requires a callable for its first argument, but got {f} of type {type(f)}.")
    options = {"mesh": mesh, "axis_names": axis_names, "check_vma": check_vma}

    def make(fun: Callable[..., Any], first: Any, first_out: Any) -> Callable[..., Any]:
        given = in_specs
        if first and given is not Infer:
            given = (*first, *(given if isinstance(given, tuple) else (given,) * arity.pop()))
        return per_device(fun, out_specs if first_out is None else (out_specs, first_out), given, **options)

    arity: list[int] = []

    def specs(args: Any) -> list[PartitionSpec]:
        arity.append(len(args))
        if in_specs is Infer:
            raise NotImplementedError("shard_map of a reference needs in_specs")
        return spread_specs(in_specs, args, "in_specs")

    return mapped_over(f, specs, make)


def per_device(
    f: Callable[..., Any], out_specs: Any, in_specs: Any, *, mesh: Any, axis_names: Any, check_vma: bool
) -> Callable[..., Any]:
    """`shard_map` of a function of arrays."""
    function, name = f, name_of(f)

    @functools.wraps(f)
    def mapped(*args: Any) -> Any:
        if mesh is not None and not isinstance(mesh, BaseMesh):
            raise TypeError(
                "shard_map requires a `jax.sharding.Mesh` or a `jax.sharding.AbstractMesh` instance for its second "
                f"argument, but got {mesh} of type {type(mesh)}."
            )
        over = mesh if mesh is not None else default_mesh()
        if over.empty:
            raise ValueError("The context mesh cannot be empty. Use `jax.set_mesh(mesh)` to enter into a mesh context")
        if not isinstance(axis_names, (frozenset, set)):
            raise TypeError(
                "`axis_names` argument of shard_map should be of type `frozenset` or `set`. Got type: "
                f"{type(axis_names)}"
            )
        around = get_abstract_mesh()
        if not around.empty and over.abstract_mesh.update(abstract_device=None) != around.update(abstract_device=None):
            raise ValueError(f"The context mesh {around} should match the mesh passed to shard_map {over}")
        manual = [a for a in over.axis_names if not axis_names or a in axis_names]
        if set(axis_names) - set(manual):
            raise ValueError(
                f"jax.shard_map requires axis_names={frozenset(axis_names)} to be a subset of "
                f"mesh.axis_names={frozenset(over.axis_names)}"
            )
        leaves, structure = flatten(args)
        over = with_devices(over, leaves)
        state.meshes = state.meshes or isinstance(over, Mesh)
        state.on = state.on or several() and isinstance(over, Mesh)
        if in_specs is Infer:
            check_inferred(over, manual)
            found = [sharding_at(as_node(x)) for x in leaves]
            specs, places = [along_manual(s, manual) for s in found], ["in_specs"] * len(found)
        else:
            specs, places = spread_specs(in_specs, args, "in_specs"), places_of(in_specs, args, "in_specs")
        check_sums(specs, over, manual, "in_specs")
        check_sums([s for s in flatten(out_specs)[0] if isinstance(s, PartitionSpec)], over, manual, "out_specs")
        check_manual(specs, manual, "in_specs")
        check_manual([s for s in flatten(out_specs)[0] if isinstance(s, PartitionSpec)], manual, "out_specs")
        if state.spmd and any([as_node(x).trace == ABSTRACT for x in leaves]):
            check_spmd(state.spmd[-1], specs, over)
        names = argument_texts(function, args)
        others = [others_of(as_node(x), over, manual) for x in leaves]
        inside = over.with_types(manual, AxisType.Manual)
        body: list[Function] = []  # what one device does, where that is to be shown
        with each_device():
            split = [fresh(split_by(x, s, over, manual)) for x, s in zip(leaves, specs)]
            parts = [
                cut(x, s, over, manual, what, place, name) for x, s, what, place in zip(split, specs, names, places)
            ]
            if several():
                for x, spec in zip(leaves, specs):
                    check_lies(as_node(x), spec, over, manual)
                    check_devices(as_node(x), over)
            parts = [(lying(x, lies, inside), used) for (x, used), lies in zip(parts, others)]

            outer = list(stack.active)
            at_once = isinstance(over, Mesh) and all([as_node(x).trace < ABSTRACT for x in leaves]) and several()

            def local(*xs: Any) -> Any:
                current.manual.append(inside)
                if at_once:
                    own = [as_node(x) for x in xs]
                    views.active.append(View(own, parts, over, manual, lambda n: seen and seen.of(n), door))
                for x, lies in zip(xs, others):
                    if any(lies):
                        known[as_node(x)] = named_sharding(inside, tidy(lies, x.shape, inside), x.ndim)
                try:
                    with Setting(inside):
                        out = checked(*xs)
                        if stack.shown:
                            body.append(of_one_device(xs, flatten(out)[0], {a: stack.axes[a][1] for a in manual}, seen))
                        return out
                finally:
                    current.manual.pop()
                    if at_once:
                        views.active.pop()

            seen: Context | None = None

            def checked(*xs: Any) -> Any:
                nonlocal seen
                if not check_vma:
                    out = function(*unflatten(structure, list(xs)))
                    check_results(out, out_specs, None, manual, over, name)
                    return out
                lies: dict[Node, frozenset[Any]] = {}
                xs = tuple([in_one_place(x, s.unreduced) for x, s in zip(xs, specs)])
                for x, (_, used), s in zip(xs, parts, specs):
                    lies[as_node(x)] = lies.get(as_node(x), frozenset()) | frozenset(used) | s.unreduced
                context = seen = Context(lies, {a: stack.axes[a][1] for a in manual}, outer)
                for x, s in zip(xs, specs):
                    if s.unreduced or s.reduced:
                        context.marks[as_node(x)] = Sums(s.unreduced, s.reduced)
                contexts.active.append(context)
                try:
                    out = function(*unflatten(structure, list(xs)))
                    check_results(out, out_specs, context, manual, over, name)
                finally:
                    contexts.active.pop()
                return out

            local.over_devices = over.size  # type: ignore[attr-defined]
            inner: Callable[..., Any] = local
            for axis, size in reversed([(a, over.shape[a]) for a in manual]):
                axes = tuple([0 if axis in used else None for _, used in parts])
                inner = vmap(inner, axes, 0, axis, size, door=door)
            out = inner(*[wrap(x) for x, _ in parts])
            results, tree = flatten(out)
            found_specs = spread_specs(out_specs, out, "out_specs")
            found_others = [others_of(as_node(x), inside, manual)[len(manual) :] for x in results]
            whole_results = [joined(fresh(x), s, list(manual), check_vma) for x, s in zip(results, found_specs)]
        if isinstance(over, Mesh):
            lies = [
                with_others(s, o, x.shape, over, manual) for x, s, o in zip(whole_results, found_specs, found_others)
            ]
            whole_results = [as_node(labelled(fresh(x), s)) for x, s in zip(whole_results, lies)]
        if body and any([x.trace for x in whole_results]):
            also: dict[str, Any] = {
                "in_specs": tuple(specs),
                "out_specs": tuple(found_specs),
                "newly_manual_axes": frozenset(manual),
            }
            said = {"mesh": over if mesh is not None else over.abstract_mesh, "check_vma": check_vma, **also}
            whole_results = as_shard_map(body[-1], [as_node(x) for x in leaves], whole_results, said, pulled_back)
        return unflatten(tree, [wrap(x) for x in whole_results])

    return mapped


def smap(
    f: Callable[..., Any] | None = None, /, *, in_axes: Any = Infer, out_axes: Any, axis_name: Any
) -> Callable[..., Any]:
    """`shard_map` along one axis of the default mesh, which `in_axes` and `out_axes` put in axes of arrays, as `vmap`'s
    do; None: nowhere.

    Raises: TypeError for an axis that is none, ValueError where no mesh is set.
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    if isinstance(axis_name, (tuple, list)):
        raise TypeError(f"smap axis_name should be a `str` or a `Hashable`, but got {axis_name}")
    if not (in_axes is None or in_axes is Infer or isinstance(in_axes, (int, tuple))):
        raise TypeError(
            "smap in_axes must be an int, None, jax.sharding.Infer, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes}."
        )
    kinds = {"in_axes": "int, None, jax.sharding.Infer,", "out_axes": "int, None,"}
    function = f

    def specs_of(axes: Any, what: str) -> Any:
        def spec(a: Any) -> PartitionSpec:
            if a is None:
                return PartitionSpec()
            if not isinstance(a, int):
                raise TypeError(
                    f"smap {what} must be an {kinds[what]} or (nested) container with those types as leaves, but got "
                    f"{axes}."
                )
            return PartitionSpec(*[None] * a, axis_name)  # -1 is the first axis, as in JAX

        return axes if axes is Infer else map(spec, axes, is_leaf=lambda a: a is None)

    @functools.wraps(f)
    def mapped(*args: Any) -> Any:
        mesh = default_mesh()
        if mesh.empty:
            raise ValueError("The context mesh cannot be empty. Use `jax.set_mesh(mesh)` to enter into a mesh context")
        if in_axes is Infer and axis_name in mesh.auto_axes:
            raise TypeError(
                f"in_axes was not specified when axis_name={frozenset((axis_name,))} was of type AxisType.Auto"
            )
        specs = {"in_specs": specs_of(in_axes, "in_axes"), "out_specs": specs_of(out_axes, "out_axes")}
        return shard_map(function, axis_names={axis_name}, **specs)(*args)

    return mapped
