"""`pmap`: a function of what each of some devices has, as a jitted `shard_map` over a mesh of one axis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ops.shape import reshape
from ..signatures import Static, callable_, name_of, spread_axes
from ..tree import flatten, map, unflatten
from .array import as_node, door, wrap
from .assembling import from_local, local_part
from .devices import check_backend, everything, process_index
from .jit_places import split_alike
from .jitting import check_apart
from .mapping import fresh, shard_map
from .sharding import IndivisibleError, Mesh, NamedSharding, PartitionSpec
from .spreading import sharding_at, state
from .stages import PjitFunction
from .tree_util import prefix_errors

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

    Raises: ValueError where it is longer, or no argument has one; TypeError for axes that are no numbers.
    """
    callable_(fun)
    for what, axes_of_what in (("in_axes", in_axes), ("out_axes", out_axes)):
        if not all([type(a) is int or hasattr(a, "__index__") for a in flatten(axes_of_what)[0]]):
            raise TypeError(
                f"pmap {what} must be an int, None, or (nested) container with those types as leaves, but got "
                f"{axes_of_what}."
            )
    there = devices_of(devices, backend)
    static, given_away = [
        (n,) if isinstance(n, int) else tuple(n) for n in (static_broadcasted_argnums, donate_argnums)
    ]
    name = axis_name if axis_name is not None else PMAP_AXIS
    several_processes = {d.process_index for d in there} != {process_index()}

    def axes_given(args: tuple[Any, ...]) -> tuple[list[int], tuple[Any, ...]]:
        wrong = tuple([i for i in static if not -len(args) <= i < len(args)])
        if wrong:
            count = f"only {len(args)} positional argument{'s' * (len(args) != 1)}"
            raise ValueError(
                f"pmapped function has static_broadcasted_argnums={wrong} but was called with {count}. All static "
                "broadcasted arguments must be passed positionally."
            )
        fixed = {i % len(args) for i in static}
        given = [i for i in range(len(args)) if i not in fixed]
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        if isinstance(in_axes, list) or len(axes) != len(args) and not fixed:
            argument_places(in_axes, [args[i] for i in given])
        return given, tuple([axes[i] for i in given])

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        given, over = axes_given(args)
        n = mapped_length([args[i] for i in given], over, kwargs, name, there)
        if axis_size not in (None, n):
            raise ValueError(f"Specified axis_size {axis_size} doesn't match received axis_size {n}.")
        mesh = Mesh(np.array(there[:n], dtype=object), (name,))
        leaves, structure = flatten((tuple([args[i] for i in given]), kwargs))
        axes = [*argument_places(over, [args[i] for i in given]), *[0] * len(flatten(kwargs)[0])]
        wrong: list[ValueError] = []
        leaves = [lined_up(x, a, mesh, name, wrong) for x, a in zip(leaves, axes)]

        def one(*parts: Any) -> Any:
            parts_, named = unflatten(structure, [without_axis(x, a) for x, a in zip(parts, axes)])
            full = list(args)
            for i, x in zip(given, parts_):
                full[i] = x
            out = fun(*full, **named)
            results, tree = flatten(out)
            where = spread_axes(out_axes, out, "pmap out_axes")
            return unflatten(tree, [x if a is None else with_axis(x, a) for x, a in zip(results, where)])

        def spec(axis: int | None) -> PartitionSpec:
            return along(mesh, name, axis).spec

        one.__name__ = one.__qualname__ = name_of(fun)
        specs = tuple([spec(a) for a in axes])
        out_specs = map(spec, out_axes, is_leaf=lambda a: a is None)
        out = shard_map(one, mesh=mesh, in_specs=specs, out_specs=out_specs, check_vma=False)(*leaves)
        if wrong:  # what the function itself does wrong comes before, as in JAX
            raise wrong[0]
        return out

    del mapped.__wrapped__  # its signature is no more than this: how many arguments there are is seen at the call
    axes, structure = flatten((in_axes, out_axes), is_leaf=lambda a: a is None)
    how = (axis_name, *axes, structure, *there, axis_size)
    jitted = PjitFunction(mapped, door, Static(static, (), given_away), (fun, ("pmap", *how)))
    check_apart(jitted._static)
    functools.update_wrapper(jitted, fun, updated=())
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


def argument_places(in_axes: tuple[Any, ...], args: Sequence[Any]) -> list[int | None]:
    """For each leaf of the arguments the axis that is mapped. Raises ValueError where `in_axes` is no prefix."""
    try:
        return list(spread_axes(in_axes, tuple(args), "pmap in_axes"))
    except ValueError:
        for error in prefix_errors((in_axes,), (tuple(args),), lambda a: a is None or isinstance(a, int)):
            raise ValueError(f"{error('pmap in_axes')}{NO_PREFIX}") from None
        raise


NO_PREFIX = (
    "\n\nThe 'full pytree' here is the tuple of arguments passed positionally to the pmapped function, and the value "
    "of `in_axes` must be a tree prefix of that tuple. But it was not a prefix.\n\nCheck that the value of the "
    "`in_axes` argument to `pmap` is a tree prefix of the tuple of arguments passed positionally to the pmapped "
    "function."
)


def lined_up(x: Any, axis: int | None, mesh: Mesh, name: Any, wrong: list[ValueError]) -> Any:
    """An argument of a `pmap`, which lies along its devices, or as many others; `wrong` gets a ValueError for one that
    was placed otherwise."""
    node = as_node(x)
    lies = sharding_at(node) if state.on else None
    if lies is None:
        return x
    to = along(mesh, name, axis)
    if lies.is_equivalent_to(to, node.ndim):
        return x
    if not split_alike(lies, to, node.shape):
        wrong.append(
            ValueError(
                "Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: "
                f"{to},\narg sharding: {lies} for arg type: {node.aval}"
            )
        )
    return wrap(fresh(node))


def without_axis(x: Any, axis: int | None) -> Any:
    """A device's part of an argument, without the mapped axis. Raises ValueError where that is longer than 1."""
    if axis is None:
        return x
    node = as_node(x)
    at = axis % node.ndim
    if node.shape[at] != 1:
        refuse_longer(node.shape, axis)
    return wrap(reshape(node, shape=(*node.shape[:at], *node.shape[at + 1 :])))


def refuse_longer(shape: tuple[int, ...], axis: int) -> None:
    """Raise ValueError for what each device has more than one row of."""
    raise ValueError(
        f"cannot select an axis to squeeze out which has size not equal to one, got shape={shape} and "
        f"dimensions=({axis},)"
    )


def with_axis(x: Any, axis: int) -> Any:
    """A device's result, with an axis along which those of all are joined. Raises ValueError where it has none such."""
    node = as_node(x)
    if not -node.ndim - 1 <= axis <= node.ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {node.ndim + 1}")
    at = axis % (node.ndim + 1)
    return wrap(reshape(node, shape=(*node.shape[:at], 1, *node.shape[at:])))


def devices_of(devices: Sequence[Any] | None, backend: Any) -> list[Any]:
    """Those that are given, else all of a platform. Raises RuntimeError for one that is not there."""
    if backend is not None:
        check_backend(backend)
    if devices is not None and not len(devices):
        raise ValueError("'devices' argument to pmap must be non-empty, or None.")
    if devices is not None and len({*devices}) < len(devices):
        raise ValueError(f"'devices' argument to pmap has a device more than once: {list(devices)}")
    return list(everything()) if devices is None else list(devices)


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
    if not pairs:
        raise ValueError("pmap requires at least one argument with a mapped axis.")
    scalars = [x for x, _ in pairs if not np.ndim(x)]
    if scalars and getattr(scalars[0], "weak_type", False):
        raise ValueError("pmap requires at least one argument with a mapped axis.")
    if scalars:
        raise IndexError("tuple index out of range")
    for x, a in pairs:
        if not -np.ndim(x) <= a < np.ndim(x):
            raise IndexError(f"in_axes of pmap says axis {a} of an array of shape {np.shape(x)}")
    n = int(np.shape(pairs[0][0])[pairs[0][1]])
    mesh = Mesh(np.array(there[:n], dtype=object), (name,))
    n = min(n, len(there))
    for x, a in pairs:
        if np.shape(x)[a] != n and np.shape(x)[a] % n == 0:
            shape = tuple([size // n if d == a % np.ndim(x) else size for d, size in enumerate(np.shape(x))])
            refuse_longer(shape, a)
        if np.shape(x)[a] != n:
            raise IndivisibleError(
                f"Sharding {along(mesh, name, a)} implies that array axis {a} is partitioned {n} times, but the "
                f"dimension size is {np.shape(x)[a]} (full shape: {np.shape(x)}, per-dimension tiling factors: "
                f"{[n if d == a % np.ndim(x) else 1 for d in range(np.ndim(x))]} should evenly divide the shape)"
            )
    return n
