"""Devices, meshes, shardings, `pmap`, `shard_map`, `device_put`: the same code under JAX and under lazynp, compared."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

SIDES = {"jax": jax, "lazynp": lazynp.jax}
Check = Callable[[Any], Any]


def plain(x: Any) -> Any:
    """What is compared: arrays as dtype and values, the library's own objects as text."""
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, (jax.Array, lazynp.jax.Array, np.ndarray)):
        return np.asarray(x).dtype.name, np.asarray(x).round(5).tolist()
    return x if isinstance(x, (bool, int, float, str, slice, type(None))) else repr(x)


def outcome(check: Check, side: Any) -> Any:
    try:
        return plain(check(side))
    except Exception as error:
        return "raises", next(c for c in type(error).__mro__ if c.__module__ == "builtins").__name__


def mesh(j: Any, **sizes: int) -> Any:
    names = tuple(sizes) or ("x",)
    return j.make_mesh(tuple(sizes.values()) or (1,), names, axis_types=(j.sharding.AxisType.Auto,) * len(names))


def named(j: Any, *spec: Any, **sizes: int) -> Any:
    return j.NamedSharding(mesh(j, **sizes), j.P(*spec))


def mapped(j: Any, f: Any, *args: Any, ins: Any = None, outs: Any = None, **sizes: int) -> Any:
    ins = j.P("x") if ins is None else ins
    return j.shard_map(f, mesh=mesh(j, **sizes), in_specs=ins, out_specs=j.P("x") if outs is None else outs)(*args)


DEVICES: dict[str, Check] = {
    "devices": lambda j: [d.platform for d in j.devices()],
    "device": lambda j: j.devices()[0],
    "text": lambda j: str(j.devices()),
    "fields": lambda j: [getattr(j.devices()[0], k) for k in ("id", "process_index", "device_kind", "platform")],
    "local": lambda j: [len(j.local_devices()), j.local_device_count(), j.device_count()],
    "processes": lambda j: [j.process_index(), j.process_count(), list(j.process_indices())],
    "by platform": lambda j: len(j.devices("cpu")),
    "another platform": lambda j: j.devices("quantum"),
    "another process": lambda j: j.local_devices(process_index=3),
    "backend": lambda j: j.default_backend(),
    "default device": lambda j: use(j.default_device(j.devices()[0]), lambda: j.numpy.ones(2)),
    "equal": lambda j: j.devices()[0] == j.local_devices()[0],
    "hash": lambda j: len({*j.devices(), *j.devices()}),
}
SPECS: dict[str, Check] = {
    "none": lambda j: j.P(),
    "one": lambda j: j.P("x"),
    "several": lambda j: j.P("x", None, ("y", "z")),
    "equal": lambda j: [j.P("x") == j.P("x"), j.P("x") == j.P(None), j.P("x") == j.sharding.PartitionSpec("x")],
    "as a tuple": lambda j: [tuple(j.P("x", None)), len(j.P("x", None)), j.P("x", None)[0]],
    "hash": lambda j: len({j.P("x"), j.P("x"), j.P(None)}),
    "is no tree": lambda j: len(j.tree.leaves((j.P("x"), j.P()))),
    "pickle": lambda j: pickle.loads(pickle.dumps(j.P("x", None))) == j.P("x", None),
    "mesh": lambda j: mesh(j, x=1, y=1),
    "mesh shape": lambda j: dict(mesh(j, x=1, y=1).shape),
    "mesh fields": lambda j: [
        mesh(j, x=1).axis_names,
        mesh(j, x=1).size,
        mesh(j, x=1).empty,
        mesh(j, x=1).devices.shape,
        mesh(j, x=1, y=1).axis_sizes,
        mesh(j, x=1).is_multi_process,
    ],
    "mesh of devices": lambda j: j.sharding.Mesh(np.array(j.devices()), ("x",)).axis_names,
    "mesh of another rank": lambda j: j.sharding.Mesh(np.array(j.devices()), ("x", "y")),
    "mesh names twice": lambda j: j.sharding.Mesh(np.array(j.devices()).reshape(1, 1), ("x", "x")),
    "mesh too large": lambda j: j.make_mesh((2,), ("x",)),
    "mesh types": lambda j: [str(t) for t in j.make_mesh((1,), ("x",)).axis_types],
    "equal meshes": lambda j: [mesh(j) == mesh(j), mesh(j) == mesh(j, y=1), len({mesh(j), mesh(j)})],
    "mesh as a block": lambda j: use(mesh(j), lambda: j.numpy.ones(2)),
    "set mesh": lambda j: use(j.set_mesh(mesh(j)), lambda: j.sharding.get_mesh().axis_names),
    "no mesh": lambda j: [j.sharding.get_abstract_mesh().empty, j.sharding.get_abstract_mesh().axis_names],
    "abstract mesh": lambda j: [mesh(j).abstract_mesh.axis_names, mesh(j).abstract_mesh.axis_sizes],
    "named": lambda j: named(j, "x"),
    "named equal": lambda j: [named(j, "x") == named(j, "x"), named(j, "x") == named(j)],
    "named unknown axis": lambda j: named(j, "w"),
    "named axis twice": lambda j: named(j, "x", "x"),
    "named fields": lambda j: [named(j, "x").spec, named(j, "x").is_fully_replicated, named(j, "x").memory_kind],
    "named devices": lambda j: len(named(j, "x").device_set),
    "shard shape": lambda j: named(j, "x").shard_shape((4, 2)),
    "indices": lambda j: [list(i) for i in named(j, "x").devices_indices_map((4, 2)).values()],
    "equivalent": lambda j: named(j, "x").is_equivalent_to(named(j), 2),
    "single": lambda j: j.sharding.SingleDeviceSharding(j.devices()[0]),
}
ARRAYS: dict[str, Check] = {
    "devices": lambda j: [str(d) for d in j.numpy.ones(2).devices()],
    "device": lambda j: j.numpy.ones(2).device,
    "sharding": lambda j: j.numpy.ones(2).sharding,
    "put": lambda j: j.device_put(np.arange(3)),
    "put a scalar": lambda j: [j.device_put(2.5), j.device_put(2.5).weak_type, j.device_put(2).dtype.name],
    "put a tree": lambda j: j.device_put({"a": np.ones(2), "b": [1, 2.0]}),
    "put on a device": lambda j: j.device_put(np.ones(2, np.float32), j.devices()[0]),
    "put as sharded": lambda j: j.device_put(np.ones((4, 2)), named(j, "x")).sharding,
    "put a tree as sharded": lambda j: [x.sharding.spec for x in j.device_put([np.ones(2), np.ones(4)], named(j, "x"))],
    "put by a tree": lambda j: [
        x.sharding for x in j.device_put([np.ones(2), np.ones(4)], [named(j, "x"), j.devices()[0]])
    ],
    "put text": lambda j: j.device_put("text"),
    "put beyond the rank": lambda j: j.device_put(np.ones(2), named(j, None, "x")),
    "put where nothing is": lambda j: j.device_put(np.ones(2), 17),
    "put keeps": lambda j: j.device_put(j.numpy.arange(3), named(j, "x")) + 1,
    "shards": lambda j: [
        (s.index, s.replica_id, s.data) for s in j.device_put(np.ones((2, 2)), named(j, "x")).addressable_shards
    ],
    "fields": lambda j: [j.numpy.ones(2).is_fully_replicated, j.numpy.ones(2).is_fully_addressable],
    "data": lambda j: j.numpy.ones(2).addressable_data(0),
    "get": lambda j: [type(x).__name__ for x in j.device_get([j.numpy.ones(2), 2.0, j.numpy.ones(())])],
    "get values": lambda j: j.device_get({"a": j.numpy.arange(3), "b": 1}),
    "get is read-only": lambda j: j.device_get(j.numpy.ones(2)).flags.writeable,
    "ready": lambda j: j.block_until_ready({"a": j.numpy.ones(2), "b": 1}),
    "ready is the same": lambda j: (lambda x: x.block_until_ready() is x)(j.numpy.ones(2)),
    "in jit": lambda j: j.jit(lambda x: j.device_put(x, j.devices()[0]) * 2)(np.ones(2, np.float32)),
    "constraint": lambda j: j.jit(lambda x: j.lax.with_sharding_constraint(x, named(j, "x")) * 2)(np.ones(2, "f4")),
    "gradient": lambda j: j.grad(lambda x: (j.device_put(x) ** 2).sum())(j.numpy.arange(3.0)),
    "of a callback": lambda j: j.make_array_from_callback((2, 2), named(j, "x"), lambda i: np.eye(2, dtype="f4")[i]),
    "of a process": lambda j: j.make_array_from_process_local_data(named(j, "x"), np.arange(3)),
    "of devices": lambda j: j.make_array_from_single_device_arrays((3,), named(j, "x"), [j.numpy.arange(3)]),
    "jit with shardings": lambda j: j.jit(lambda x: x * 2, in_shardings=named(j, "x"), out_shardings=named(j, "x"))(
        j.numpy.arange(3)
    ),
    "copied": lambda j: copy.deepcopy(j.device_put(np.arange(3))),
}
PMAP: dict[str, Check] = {
    "plain": lambda j: j.pmap(lambda x: x * 2)(np.arange(3.0).reshape(1, 3)),
    "psum": lambda j: j.pmap(lambda x: j.lax.psum(x, "i"), axis_name="i")(np.arange(3.0).reshape(1, 3)),
    "index": lambda j: j.pmap(lambda x: x + j.lax.axis_index("i"), axis_name="i")(np.arange(3).reshape(1, 3)),
    "axes": lambda j: j.pmap(lambda x, y: x + y, in_axes=(0, None))(np.ones((1, 3)), 2.0),
    "out axes": lambda j: j.pmap(lambda x: x, out_axes=1)(np.ones((1, 3))),
    "tree": lambda j: j.pmap(lambda d: {"c": d["a"] + d["b"]})({"a": np.ones((1, 2)), "b": np.ones((1, 2))}),
    "static": lambda j: j.pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(np.ones((1, 2)), 3),
    "too many": lambda j: j.pmap(lambda x: x)(np.ones((2, 3))),
    "uneven": lambda j: j.pmap(lambda x, y: x)(np.ones((1, 3)), np.ones((2, 3))),
    "gradient": lambda j: j.grad(lambda x: j.pmap(lambda v: v**3)(x).sum())(np.ones((1, 2), np.float32)),
    "of jit": lambda j: j.pmap(j.jit(lambda x: x + 1))(np.ones((1, 2))),
    "no such name": lambda j: j.pmap(lambda x: j.lax.psum(x, "j"), axis_name="i")(np.ones((1, 3))),
}
SHARD_MAP: dict[str, Check] = {
    "plain": lambda j: mapped(j, lambda x: x * 2, j.numpy.arange(4.0)),
    "inside shapes": lambda j: mapped(j, lambda x: x + x.shape[0], j.numpy.arange(4)),
    "psum": lambda j: mapped(j, lambda x: j.lax.psum(x.sum(), "x"), j.numpy.arange(4.0), outs=j.P()),
    "two axes": lambda j: mapped(
        j, lambda x: x.T, j.numpy.ones((2, 4)), ins=j.P("x", "y"), outs=j.P("y", "x"), x=1, y=1
    ),
    "one of two axes": lambda j: mapped(
        j, lambda x: x * 2, j.numpy.ones((2, 4)), ins=j.P("x"), outs=j.P("x"), x=1, y=1
    ),
    "axes together": lambda j: mapped(
        j, lambda x: x * 2, j.numpy.arange(4), ins=j.P(("x", "y")), outs=j.P(("x", "y")), x=1, y=1
    ),
    "several": lambda j: mapped(
        j, lambda x, y: x @ y, j.numpy.ones((2, 3)), j.numpy.ones((3, 2)), ins=(j.P("x"), j.P()), outs=j.P("x")
    ),
    "tree": lambda j: mapped(j, lambda d: {"b": d["a"] + 1}, {"a": j.numpy.ones(2)}, ins=({"a": j.P("x")},)),
    "index": lambda j: mapped(j, lambda x: x + j.lax.axis_index("x"), j.numpy.arange(4)),
    "gather": lambda j: mapped(j, lambda x: j.lax.all_gather(x, "x", tiled=True), j.numpy.arange(4), outs=j.P("x")),
    "permute": lambda j: mapped(j, lambda x: j.lax.ppermute(x, "x", [(0, 0)]), j.numpy.arange(4)),
    "scatter": lambda j: mapped(j, lambda x: j.lax.psum_scatter(x, "x", tiled=True), j.numpy.arange(4)),
    "all to all": lambda j: mapped(j, lambda x: j.lax.all_to_all(x, "x", 0, 0, tiled=True), j.numpy.arange(4)),
    "gradient": lambda j: j.grad(lambda x: mapped(j, lambda v: j.numpy.sin(v), x).sum())(j.numpy.arange(4.0)),
    "jit": lambda j: j.jit(lambda x: mapped(j, lambda v: v * 2, x))(j.numpy.arange(4.0)),
    "vmap": lambda j: j.vmap(lambda x: mapped(j, lambda v: v * 2, x))(j.numpy.ones((3, 4))),
    "scan": lambda j: mapped(j, lambda x: j.lax.scan(lambda c, a: (c + a, c), 0.0 * x[0], x)[1], j.numpy.arange(4.0)),
    "rank": lambda j: mapped(j, lambda x: x, j.numpy.ones(()), ins=j.P("x")),
    "specs": lambda j: mapped(j, lambda x: x, j.numpy.ones(2), ins=(j.P("x"), j.P("x"))),
    "unknown axis": lambda j: mapped(j, lambda x: x, j.numpy.ones(2), ins=j.P("w")),
    "decorator": lambda j: j.shard_map(mesh=mesh(j), in_specs=j.P("x"), out_specs=j.P("x"))(lambda x: x + 1)(
        j.numpy.ones(2)
    ),
    "set mesh": lambda j: use(
        j.set_mesh(mesh(j)),
        lambda: j.shard_map(lambda x: x + 1, in_specs=j.P("x"), out_specs=j.P("x"))(j.numpy.ones(2)),
    ),
}


def use(manager: Any, run: Callable[[], Any]) -> Any:
    with manager:
        return run()


TABLES = {"devices": DEVICES, "specs": SPECS, "arrays": ARRAYS, "pmap": PMAP, "shard_map": SHARD_MAP}
CASES = [pytest.param(check, id=f"{t}-{name}") for t, table in TABLES.items() for name, check in table.items()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("check", CASES)
def test_as_in_jax(check: Check) -> None:
    assert outcome(check, lazynp.jax) == outcome(check, jax)


def test_shard_map_over_a_mesh_with_more_places_than_devices() -> None:
    """A mesh may repeat the one device: then its places are computed side by side."""
    j, jnp = lazynp.jax, lazynp.jax.numpy
    places = j.sharding.Mesh(np.array([j.devices()[0]] * 4).reshape(2, 2), ("x", "y"))

    def body(a: Any, b: Any) -> Any:
        assert (a.shape, b.shape) == ((4, 4), (4, 2))
        return j.lax.psum(a @ b, "y")

    f = j.shard_map(body, mesh=places, in_specs=(j.P("x", "y"), j.P("y")), out_specs=j.P("x"))
    a, b = jnp.arange(64.0).reshape(8, 8), jnp.arange(16.0).reshape(8, 2)
    assert np.array_equal(f(a, b), a @ b)
    assert np.array_equal(j.jit(f)(a, b), a @ b)
    assert np.allclose(j.grad(lambda a: f(a, b).sum())(a), j.grad(lambda a: (a @ b).sum())(a))
    index = j.shard_map(
        lambda x: x + 10 * j.lax.axis_index("x") + j.lax.axis_index("y"), mesh=places, in_specs=j.P(("x", "y")),
        out_specs=j.P(("x", "y")),
    )  # fmt: skip
    assert index(jnp.zeros(4, int)).tolist() == [0, 1, 10, 11]
    ring = j.shard_map(
        lambda x: j.lax.ppermute(x, "x", [(0, 1), (1, 0)]), mesh=places, in_specs=j.P("x"), out_specs=j.P("x")
    )
    assert ring(jnp.arange(4)).tolist() == [2, 3, 0, 1]
    with pytest.raises(ValueError, match="divi"):
        f(jnp.ones((7, 8)), b)


def test_sharding_goes_with_its_array() -> None:
    j = lazynp.jax
    s = j.NamedSharding(j.make_mesh((1,), ("x",)), j.P("x"))
    x = j.device_put(j.numpy.arange(4), s)
    assert x.sharding == (x + 1).sharding == j.jit(j.numpy.sin)(x).sharding == x[1:3].sharding == s
    assert x[0].sharding == x.sum().sharding == j.NamedSharding(s.mesh, j.P())
    assert j.shard_map(lambda y: 2 * y, mesh=s.mesh, in_specs=j.P("x"), out_specs=j.P("x"))(x).sharding == s
    assert j.numpy.arange(4).sharding == j.sharding.SingleDeviceSharding(j.devices()[0])
