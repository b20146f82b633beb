"""How arguments and results of jitted functions lie: `in_shardings`, `out_shardings`, and what follows from them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from ..api.jit import Call
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node
from ..signatures import leaf_names, name_of, spread_axes
from ..tree import flatten, unflatten
from .array import Array, wrap
from .aval import shaped
from .constraints import over_mesh_of
from .devices import Device
from .layouts import Auto, Format, order_of, place_of
from .placement import check_fits, is_where, no_mesh, placed, resolved
from .processes import spanning
from .sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding, default_mesh, shards_of
from .specs import check_no_axis_twice
from .spreading import as_written, assignment, known, named_sharding, refuse_devices, sharding_at, split_of
from .tree_util import keystr, prefix_errors, tree_leaves_with_path
from .unreduced import pending, with_pending


def replicated(shardings: Sequence[Any]) -> Any:
    """Where a result lies that depends on no argument, of a function whose arguments lie so: on all of their devices.
    None where none of them was placed."""
    placed_ = [s for s in shardings if s is not None]
    named = [s for s in placed_ if isinstance(s, NamedSharding)]
    if named:
        return NamedSharding(named[0].mesh, PartitionSpec())
    return placed_[0] if placed_ else None


def spread_places(where: Any, tree: Any, parameter: str) -> list[Any]:
    """For each leaf of a tree what `in_shardings` or `out_shardings` says, which is a prefix of it.

    Raises: ValueError where it is none, with the place.
    """
    try:
        return list(spread_axes(where, tree, parameter))
    except ValueError:
        wrong = ""
        if parameter == "in_shardings" and not isinstance(where, tuple):
            wrong = f"not a tuple: got {type(where)} instead."
            if len(tree) == 1 and not list(prefix_errors(where, tree[0], is_where)):
                wrong += (
                    " Given the corresponding argument being passed, it looks like pjit in_shardings might need to be "
                    "wrapped in a singleton tuple."
                )
        elif parameter == "in_shardings" and len(where) != len(tree):
            wrong = (
                f"the wrong length: got a tuple or list of length {len(where)} for an args tuple of length {len(tree)}."
            )
        if wrong:
            raise ValueError(
                "pjit in_shardings specification must be a tree prefix of the positional arguments tuple. In "
                "particular, pjit in_shardings must either be a Sharding, a PartitionSpec, or a tuple of length equal "
                f"to the number of positional arguments. But pjit in_shardings is {wrong}"
            ) from None
        for error in prefix_errors(where, tree, is_where):
            raise ValueError(f"Mismatch details (1 found):\n{error(f'pjit {parameter}')}") from None
        raise


def in_place_of(found: list[Any], pinned: list[Any], parameter: str) -> list[Any]:
    """Shardings, but where others are pinned these."""
    return [where_to(p, parameter) or f for f, p in zip(found, pinned)]


def positional(call: Call, leaves: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments by place that are not static, of these leaves."""
    statics = {at for at, _ in call.statics}
    return tuple([x for i, x in enumerate(unflatten(call.structure, leaves)[0]) if i not in statics])


def with_values(args: Sequence[Any], kwargs: Any, call: Call, leaves: Sequence[Any]) -> tuple[Any, Any]:
    """The arguments of a call with these leaves in the place of its own; static ones stay."""
    statics = {at for at, _ in call.statics}
    given, named = unflatten(call.structure, leaves)
    full = [args[i] if i in statics else x for i, x in enumerate(given)]
    return tuple(full), {k: named.get(k, x) for k, x in kwargs.items()}


def pinned_anywhere(pinned: Sequence[Any]) -> list[Any]:
    """The shardings that `out_shardings` says."""
    return [to for p in pinned if (to := where_to(p, "out_shardings")) is not None]


def where_to(where: Any, parameter: str) -> Any:
    """A sharding for what stands in `in_shardings` or `out_shardings`; None where it says nothing."""
    where = place_of(where)
    if isinstance(where, PartitionSpec) and default_mesh().empty:
        raise RuntimeError(no_mesh("jit", parameter))
    return None if where is None else resolved(where, f"jit {parameter}")


def result_names(out: Any) -> list[str]:
    """`result['a']`: for each leaf of what a function returns."""
    return [f"result{keystr(path)}" for path, _ in tree_leaves_with_path(out)]


def given(node: Any, lies: Any, where: Any, leaf: Any, name: str) -> tuple[Any, Any]:
    """An argument of that name, placed as `in_shardings` says. Raises ValueError for one that was placed otherwise."""
    to = where_to(where, "in_shardings")
    if to is not None and node.trace == ABSTRACT and lies is not None:
        here, there = set(assignment(lies)), set(assignment(to))
        if here and there and here != there:
            refuse_devices([("ARG_SHARDING", lies), ("jit inside jit", to)])
    if to is None or node.trace == ABSTRACT and typed_by(to):
        return wrap(node), lies
    if not isinstance(leaf, Array) and spanning(to) and not to.is_fully_replicated:
        raise ValueError(
            "Passing non-trivial shardings for numpy inputs is not allowed. To fix this error, either specify a "
            "replicated sharding explicitly or use `jax.make_array_from_process_local_data(...)` to convert your host "
            "local numpy inputs to a jax.Array which you can pass to jit. If the numpy input is the same on each "
            "process, then you can use `jax.make_array_from_callback(...) to create a `jax.Array` which you can pass "
            f"to jit. Got arg type: {node.aval}"
        )
    moves = lies is None or node.trace == ABSTRACT or lies.num_devices == to.num_devices == 1
    memory = lies.memory_kind if lies is not None else "device"
    if isinstance(leaf, Array) and not node.trace and memory != to.memory_kind:
        raise ValueError(
            "Memory kinds passed to jax.jit does not match memory kind on the respective arg. Got jit memory kind: "
            f"{to.memory_kind}, arg memory kind: {memory} for arg type: {shaped(node.aval, lies)}"
        )
    check_given(node, None if moves else lies, to, name)
    return placed(node, to), to


def check_given(node: Any, lies: Any, to: Any, name: str) -> None:
    """Raise ValueError for an argument that lies otherwise than `in_shardings` says, or that cannot lie so."""
    if lies is not None and not split_alike(lies, to, node.shape):
        raise ValueError(
            "Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: "
            f"{to},\narg sharding: {lies} for arg type: {shaped(node.aval, lies)}"
        )
    check_fits(to, node.shape, "pjit arguments", name)


def check_arguments(call: Call, where: Any, names: Sequence[str]) -> None:
    """Raise ValueError for an argument (of these names) that cannot lie as it is said to, or that is said to lie
    otherwise than in `where`, what `in_shardings` was given."""
    said = [None] * len(call.nodes)
    if where is not None:
        said = spread_places(where, positional(call, call.nodes), "in_shardings")
    for i, (n, to) in enumerate(zip(call.nodes, [where_to(s, "in_shardings") for s in said])):
        lies = sharding_at(n)
        if lies is not None:
            lies.shard_shape(n.shape)
        if to is not None:
            check_given(n, lies, to, names[i])


def check_order(node: Any, lies: Any, where: Any, leaf: Any) -> None:
    """Raise ValueError for an argument that lies in memory otherwise than `in_shardings` says."""
    order = order_of(where, node.shape, "pjit arguments")
    auto = isinstance(where, Format) and isinstance(where.layout, Auto)
    if not (auto or order is not None) or not isinstance(leaf, Array) or node.trace or lies is None and not auto:
        return
    own: Any = leaf.format.layout
    if auto or own.major_to_minor != order:
        advice = (
            " The layout given to `jax.jit` is `Layout.AUTO` but the corresponding argument passed is a `jax.Array` "
            "with a concrete layout. Consider passing a `jax.ShapeDtypeStruct` instead of `jax.Array` as an argument "
            "to the jitted function  when using `Layout.AUTO`."
        )
        raise ValueError(
            f"Layout passed to jit does not match the layout on the respective arg. Got jit layout: {where.layout},\n"
            f"arg layout: {own} for arg type: {shaped(node.aval, lies)}.{advice * auto}"
        )


def split_alike(a: Any, b: Any, shape: tuple[int, ...]) -> bool:
    """Whether the devices of two shardings have the same parts of an array, in their own order each."""
    if a.is_equivalent_to(b, len(shape)) or a.is_fully_replicated and b.is_fully_replicated:
        return True
    try:
        parts = [[index for _, index, _ in shards_of(s, shape)] for s in (a, b)]
    except ValueError:  # one of them cannot split it
        return False
    return parts[0] == parts[1]


def typed_by(to: Any) -> bool:
    """Whether a sharding is over explicit axes: those of a traced array are part of its type, and stay."""
    return isinstance(to, NamedSharding) and bool(to.mesh.explicit_axes)


def in_type(lies: Any, ndim: int) -> Any:
    """A sharding as types and the compiler write it: all entries on explicit axes, else no None at the end."""
    if not isinstance(lies, NamedSharding):
        return lies
    full = named_sharding(lies.mesh, split_of(lies, ndim), ndim).with_memory_kind(lies._memory)
    return with_pending(full, *pending(lies)) if any(pending(lies)) else full


def in_words_of(lies: Any, ndim: int, nodes: Sequence[Node], shardings: Sequence[Any]) -> Any:
    """A sharding of a result, as that of an argument with as many axes is written which says the same."""
    if not isinstance(lies, NamedSharding) or lies.mesh.explicit_axes:
        return lies
    alike = [s for s, n in zip(shardings, nodes) if n.ndim == ndim and isinstance(s, NamedSharding)]
    return as_written(lies, [s for s in alike if s.mesh == lies.mesh and s._memory == lies._memory])


def result(x: Any, lies: Any, where: Any, owned: bool, name: str) -> Any:
    """A result of that name, as `out_shardings` says, else as it was found to lie when the function was traced."""
    if not isinstance(x, Array):
        return x
    to = where_to(where, "out_shardings")
    if to is not None:
        check_fits(to, x.shape, "pjit outputs", name)
        return x if x.node.trace == ABSTRACT and typed_by(to) else placed(x.node, to, owned)
    if lies is not None and x.node.trace != ABSTRACT and sharding_at(x.node) != lies:
        return placed(x.node, lies, owned)
    return x


def on_devices(lies: Any, others: Sequence[Any]) -> Any:
    """A sharding over a mesh of devices: of one over an AbstractMesh that over the mesh of another sharding which has
    the same axes; None where there is none such."""
    if not isinstance(lies, NamedSharding) or isinstance(lies.mesh, Mesh):
        return lies
    meshes = [s.mesh for s in others if isinstance(s, NamedSharding) and isinstance(s.mesh, Mesh)]
    mesh = next((m for m in meshes if m.shape_tuple == lies.mesh.shape_tuple), None)
    return None if mesh is None else NamedSharding(mesh, lies.spec, memory_kind=lies._memory)


def check_some_devices(said: Sequence[Any], lies: Sequence[Any]) -> None:
    """Raise ValueError where `in_shardings` and `out_shardings` name meshes without devices, and nothing names some."""
    named = [s for s in said if isinstance(s, NamedSharding)]
    if named and not any([isinstance(s.mesh, Mesh) for s in named]) and not any([s is not None for s in lies]):
        if not default_mesh().empty:
            return
        raise ValueError(
            "Passing lowering_platforms via jax.export or jit(f).trace(*args).lower(lowering_platforms=...) is "
            "required when only AbstractMesh exists in a jitted computation. Got context mesh: Mesh()"
        )


def argument_texts(f: Any, given: tuple[Any, Any], nodes: Sequence[Node]) -> list[str]:
    """What errors call the arguments (positional ones, and those by name) of a function."""
    names = leaf_names(f, *given)
    if len(names) != len(nodes):  # some are static
        names = [f"{i}" for i in range(len(nodes))]
    return [
        f"argument {name} of {name_of(f)} with shape {shaped(n.aval, known.get(n)).strip_weak_type()} and"
        if sharding_at(n) is not None
        else "ARG_SHARDING"
        for name, n in zip(names, nodes)
    ]


def check_constraints(
    f: Any, given: tuple[Any, Any], nodes: Sequence[Node], lies: Sequence[Any], graph: Function, used: Container[Node]
) -> None:
    """Raise ValueError for an argument that was placed on one device, where a constraint in the function's graph names
    others."""
    single = [i for i, s in enumerate(lies) if isinstance(s, SingleDeviceSharding) and graph.inputs[i] in used]
    over = over_mesh_of([graph]) if single else None
    for i in single:
        if over is not None and assignment(lies[i]) != assignment(over):
            what = argument_texts(f, given, nodes)[i]
            refuse_devices([(what, lies[i]), ("sharding_constraint inside jit", over)])


def check_places(where: Any, parameter: str) -> Any:
    """Raise TypeError for what is neither a sharding nor a spec, ValueError for a sharding over no mesh or a spec that
    leaves something open, DuplicateSpecError for one that names an axis twice."""
    for x in flatten(where, is_leaf=is_where)[0]:
        if isinstance(x, Device) or not is_where(x) and not hasattr(x, "sharding"):
            raise TypeError(
                f"{parameter} leaf specifications are expected to be PartitionSpec instances or None, but got {x}"
            )
        to = place_of(x)
        if isinstance(to, NamedSharding) and to.mesh.empty:
            raise ValueError(
                f"One of {parameter} leaf specifications got an empty NamedSharding: {to} which is not allowed."
            )
        spec = getattr(to, "spec", to)
        if isinstance(spec, PartitionSpec):
            if PartitionSpec.UNCONSTRAINED in spec.partitions:
                raise ValueError(f"Unconstrained dims are not allowed when passed to {parameter}: {to}")
            check_no_axis_twice(spec, parameter)
    return where
