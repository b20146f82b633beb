"""`pmap`: a function of what each of some devices has, as a jitted `vmap` whose axis has a name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api.vmap import vmap
from ..signatures import Static, callable_, spread_axes
from ..tree import flatten, map, unflatten
from .array import Array, as_node, door, wrap
from .assembling import from_local, local_part
from .devices import check_backend, everything, process_index
from .mapping import fresh
from .placement import labelled
from .sharding import IndivisibleError, Mesh, NamedSharding, PartitionSpec
from .splits import each_device
from .spreading import constrain, sharding_at, state
from .stages import PjitFunction, check_apart

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
        if isinstance(in_axes, list) or len(axes) not in (len(args), len(given)):
            raise ValueError(
                f"pmap in_axes must be an int, None or a tree prefix of the tuple of positional arguments; got "
                f"{in_axes} for {len(args)} of them"
            )
        return given, tuple([axes[i] for i in given]) if len(axes) == len(args) else axes

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        given, over = axes_given(args)

        def dynamic(*parts: Any, **named: Any) -> Any:
            full = list(args)
            for i, x in zip(given, parts):
                full[i] = x
            return fun(*full, **named)

        dynamic.over_devices = True  # type: ignore[attr-defined]
        n = mapped_length([args[i] for i in given], over, kwargs, name, there)
        if axis_size not in (None, n):
            raise ValueError(f"Specified axis_size {axis_size} doesn't match received axis_size {n}.")
        mesh = Mesh(np.array(there[:n], dtype=object), (name,))
        args = spread_along(args, given, over, mesh, name)
        all_axes = map(lambda a: 0 if a is None else a, out_axes, is_leaf=lambda a: a is None)
        with each_device():
            out = vmap(dynamic, over, all_axes, name, n, door=door)(*[plain(args[i]) for i in given], **plain(kwargs))
            leaves, structure = flatten(out)
            where = spread_axes(out_axes, out, "pmap out_axes")
            leaves = [x[0] if a is None else x for x, a in zip(leaves, where)]  # None: the same on all devices
        if not state.on and len(there) < 2:
            return unflatten(structure, leaves)
        lies = [along(mesh, name, a if a is None else a % x.ndim) for x, a in zip(leaves, where)]
        return unflatten(structure, [labelled(fresh(x), at) for x, at in zip(leaves, lies)])

    del mapped.__wrapped__  # its signature is no more than this: how many arguments there are is seen at the call
    jitted = PjitFunction(mapped, door, Static(static, (), given_away))
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


def spread_along(args: tuple[Any, ...], given: list[int], axes: tuple[Any, ...], mesh: Mesh, name: Any) -> Any:
    """The arguments of a `pmap`, said to lie along its devices, so that their cotangents will.

    Raises: ValueError for one that was placed otherwise.
    """
    if not state.on:
        return args
    leaves, structure = flatten(tuple([args[i] for i in given]))
    where = spread_axes(axes, tuple([args[i] for i in given]), "pmap in_axes")
    placed_ = []
    for x, axis in zip(leaves, where):
        node = as_node(x)
        to, lies = along(mesh, name, axis if axis is None else axis % node.ndim), sharding_at(node)
        if lies is not None and not lies.is_equivalent_to(to, node.ndim):
            raise ValueError(
                "Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: "
                f"{to},\narg sharding: {lies} for arg type: {node.aval}"
            )
        placed_.append(wrap(constrain(node, sharding=to)) if node.trace else x)
    full = list(args)
    for i, x in zip(given, unflatten(structure, placed_)):
        full[i] = x
    return tuple(full)


def devices_of(devices: Sequence[Any] | None, backend: Any) -> list[Any]:
    """Those that are given, else all of a platform. Raises RuntimeError for one that is not there."""
    if backend is not None:
        check_backend(backend)
    if devices is not None and not len(devices):
        raise ValueError("'devices' argument to pmap must be non-empty, or None.")
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
    if not pairs or any([not np.ndim(x) for x, _ in pairs]):
        raise ValueError("pmap requires at least one argument with a mapped axis.")
    for x, a in pairs:
        if not -np.ndim(x) <= a < np.ndim(x):
            raise IndexError(f"in_axes of pmap says axis {a} of an array of shape {np.shape(x)}")
    n = int(np.shape(pairs[0][0])[pairs[0][1]])
    mesh = Mesh(np.array(there[:n], dtype=object), (name,))
    n = min(n, len(there))
    for x, a in pairs:
        if np.shape(x)[a] != n:
            raise IndivisibleError(
                f"Sharding {along(mesh, name, a)} implies that array axis {a} is partitioned {n} times, but the "
                f"dimension size is {np.shape(x)[a]} (full shape: {np.shape(x)}, per-dimension tiling factors: "
                f"{[n if d == a % np.ndim(x) else 1 for d in range(np.ndim(x))]} should evenly divide the shape)"
            )
    return n


def plain(tree: Any) -> Any:
    """The arrays of a tree without their shardings: inside of what is mapped they are each device's own."""
    return map(lambda x: wrap(fresh(x)) if isinstance(x, Array) else x, tree) if state.on else tree
