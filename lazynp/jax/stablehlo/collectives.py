"""How collective operations are written in StableHLO, in a region that runs once on each device of a mesh."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..jaxpr_types import JaxprEqn
from .builder import Builder, Rules, Value, form, matrix

RULES = Rules()
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def axes_of(name: Any) -> tuple[str, ...]:
    return tuple(name) if isinstance(name, (tuple, list)) else (name,)


def grid(b: Any) -> tuple[np.ndarray[Any, Any], list[str]]:
    """The number of each device of the mesh, and the names of its axes."""
    mesh = b.module.mesh
    if mesh is None:
        raise NotImplementedError("a collective operation outside of a mesh")
    sizes = dict(mesh.shape)
    return np.arange(math.prod(sizes.values())).reshape(list(sizes.values())), list(sizes)


def groups(b: Any, axes: Sequence[str], within: Any = None) -> np.ndarray[Any, Any]:
    """A row for each set of devices that work together."""
    devices, names = grid(b)
    kept = [i for i, name in enumerate(names) if name not in axes]
    along = [names.index(axis) for axis in axes]
    rows = devices.transpose([*kept, *along]).reshape(-1, math.prod([devices.shape[i] for i in along]))
    return rows if within is None else np.concatenate([rows[:, list(g)] for g in within])


def said(rows: np.ndarray[Any, Any]) -> str:
    return f"replica_groups = {matrix(rows.tolist(), rows.shape[1])}"


def together(b: Any, x: Value, word: str, axes: Sequence[str], within: Any = None) -> Value:
    """The sum, or another reduction, over devices."""
    region = b.region([x.dtype] * 2, lambda v, w: [b.binary(word, v, w)])
    attributes = f"{CHANNEL}, {said(groups(b, axes, within))}, use_global_device_ids"
    return b.general("stablehlo.all_reduce", [x], [(x.shape, x.dtype)], attributes, [region])[0]


@RULES("psum", "psum_invariant", "unreduced_psum", "pmax", "pmin")
def over_devices(b: Builder, eqn: JaxprEqn, *xs: Value) -> list[Value]:
    word = {"pmax": "maximum", "pmin": "minimum"}.get(eqn.primitive.name, "add")
    axes, within = axes_of(eqn.params["axes"]), eqn.params.get("axis_index_groups")
    return [together(b, x, word, axes, within) for x in xs]


@RULES("pvary", "pcast")
def unchanged(b: Builder, eqn: JaxprEqn, *xs: Value) -> list[Value]:
    return list(xs)


@RULES("axis_index")
def place_along(b: Builder, eqn: JaxprEqn) -> Value:
    devices, names = grid(b)
    _, dtype = form(eqn.outvars[0].aval)
    at = names.index(axes_of(eqn.params["axis_name"])[0])
    inner, size = math.prod(devices.shape[at + 1 :]), devices.shape[at]
    x = b.line("stablehlo.partition_id", "tensor<ui32>", (), np.uint32)
    x = b.binary("divide", x, b.constant(inner, np.uint32))
    return b.convert(b.binary("remainder", x, b.constant(size, np.uint32)), dtype)


@RULES("all_gather", "all_gather_invariant")
def gathered(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    p = eqn.params
    axis = int(p["all_gather_dimension"])
    rows = groups(b, axes_of(p["axis_name"]), p.get("axis_index_groups"))
    if not p["tiled"]:
        dims = [a + (a >= axis) for a in range(x.ndim)]
        x = b.broadcast(x, (*x.shape[:axis], 1, *x.shape[axis:]), dims)
    shape = (*x.shape[:axis], x.shape[axis] * rows.shape[1], *x.shape[axis + 1 :])
    attributes = f"all_gather_dim = {axis} : i64, {CHANNEL}, {said(rows)}, use_global_device_ids"
    return b.general("stablehlo.all_gather", [x], [(shape, x.dtype)], attributes)[0]


@RULES("reduce_scatter")
def scattered(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    p = eqn.params
    axis = int(p["scatter_dimension"])
    rows = groups(b, axes_of(p["axis_name"]), p.get("axis_index_groups"))
    shape = (*x.shape[:axis], x.shape[axis] // rows.shape[1], *x.shape[axis + 1 :])
    region = b.region([x.dtype] * 2, lambda v, w: [b.binary("add", v, w)])
    attributes = f"{CHANNEL}, {said(rows)}, scatter_dimension = {axis} : i64, use_global_device_ids"
    (out,) = b.general("stablehlo.reduce_scatter", [x], [(shape, x.dtype)], attributes, [region])
    return b.reshape(out, form(eqn.outvars[0].aval)[0])


@RULES("ppermute")
def permuted(b: Builder, eqn: JaxprEqn, *xs: Value) -> list[Value]:
    rows = groups(b, axes_of(eqn.params["axis_name"]))
    pairs = [(row[a], row[z]) for row in rows.tolist() for a, z in eqn.params["perm"]]
    attributes = f"{CHANNEL}, source_target_pairs = {matrix(pairs)}"
    return [b.general("stablehlo.collective_permute", [x], [(x.shape, x.dtype)], attributes)[0] for x in xs]


@RULES("all_to_all")
def exchanged(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    p = eqn.params
    split, joint = int(p["split_axis"]), int(p["concat_axis"])
    rows = groups(b, axes_of(p["axis_name"]), p.get("axis_index_groups"))
    count = rows.shape[1]
    if not p["tiled"]:  # the axis that is split becomes one of length 1, and one of the devices stands at `joint`
        split += joint <= split
        dims = [a + (a >= joint) for a in range(x.ndim)]
        x = b.broadcast(x, (*x.shape[:joint], 1, *x.shape[joint:]), dims)
    shape = list(x.shape)
    shape[split] //= count
    shape[joint] *= count
    attributes = (
        f"{CHANNEL}, concat_dimension = {joint} : i64, {said(rows)}, split_count = {count} : i64, "
        f"split_dimension = {split} : i64"
    )
    (out,) = b.general("stablehlo.all_to_all", [x], [(shape, x.dtype)], attributes)
    return b.reshape(out, form(eqn.outvars[0].aval)[0])
