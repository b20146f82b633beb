"""`vmap` and what works along its named axes: against loops for every op, against JAX for all else."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from library_cases import LIBRARY_CASES
from op_cases import ELEMENT_CASES, Case

import lazynp.jax as lj
import lazynp.jax.numpy as ljnp
from lazynp.api.vmap import vmap as api_vmap
from lazynp.graph.node import Node
from lazynp.jax.array import Array, as_node, door, wrap

jax = pytest.importorskip("jax", reason="JAX is the oracle of these tests")
jnp = jax.numpy
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

CASES = [c for c in (*ELEMENT_CASES, *LIBRARY_CASES) if c.batch]
P, LP = jax.sharding.PartitionSpec, lj.sharding.PartitionSpec


@pytest.fixture
def x64() -> Iterator[None]:
    with lj.enable_x64(True):
        yield


def on_arrays(case: Case) -> Callable[..., list[Array]]:
    """A case's op as a function of arrays."""

    def f(*arrays: Any) -> list[Array]:
        out = case.build(*[as_node(a) for a in arrays])
        return [wrap(n) for n in ([out] if isinstance(out, Node) else out)]

    return f


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_nested_vmap_equals_two_loops(case: Case) -> None:
    """With the outer axis last and the inner one first, results with their axes last, and one argument not mapped."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    f = on_arrays(case)
    examples = [[case.make(rng) for _ in range(2)] for _ in range(3)]
    n = len(examples[0][0])
    fixed = zlib.crc32(case.name.encode()) % n if n > 1 else None
    for row in examples:  # what is not mapped is the same for all
        for k, args in enumerate(row):
            row[k] = tuple([examples[0][0][i] if i == fixed else np.asarray(a) for i, a in enumerate(args)])
    stacked = [
        examples[0][0][i]
        if i == fixed
        else np.stack([np.stack([row[k][i] for row in examples], axis=-1) for k in range(2)], axis=0)
        for i in range(n)
    ]
    inner = api_vmap(f, tuple([None if i == fixed else 0 for i in range(n)]), -1, door=door)
    outer = api_vmap(inner, tuple([None if i == fixed else -1 for i in range(n)]), -1, door=door)
    found = [np.asarray(a) for a in outer(*stacked)]
    for j in range(3):
        for k in range(2):
            for got, want in zip(found, f(*examples[j][k])):
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got[..., k, j], np.asarray(want), rtol=1e-10, atol=1e-12)


# --- Arguments, results, errors ---------------------------------------------------------------------------------------


def same(mine: Any, theirs: Any, **tolerance: Any) -> None:
    """Trees of the same structure, values, dtypes and weak types."""
    a, b = lj.tree.leaves(mine), jax.tree.leaves(theirs)
    assert str(lj.tree.structure(mine)) == str(jax.tree.structure(theirs))
    for x, y in zip(a, b):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6, **tolerance)


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
V = np.arange(3, dtype=np.float32)
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "axes of each kind": lambda j, n: j.vmap(lambda a, b: a + b, in_axes=(1, None), out_axes=-1)(n.asarray(X), 2.0),
    "pytrees": lambda j, n: j.vmap(
        lambda p, q: {"s": p["a"] * q, "t": (p["b"], q)}, in_axes=({"a": 0, "b": None}, 1), out_axes={"s": 1, "t": 0}
    )({"a": n.asarray(X), "b": n.asarray(V)}, n.asarray(X.transpose(1, 0, 2))),
    "keyword arguments": lambda j, n: j.vmap(lambda a, b: a * b)(n.asarray(V), b=n.asarray(V + 1)),
    "axis_size alone": lambda j, n: j.vmap(lambda: n.ones(2), axis_size=3)(),
    "not mapped, out_axes None": lambda j, n: j.vmap(lambda a: (a, n.ones(2)), out_axes=(0, None))(n.asarray(V)),
    "a result that is not batched": lambda j, n: j.vmap(lambda a: n.ones(2), out_axes=1)(n.asarray(V)),
    "nested": lambda j, n: j.vmap(j.vmap(lambda a, b: a @ b, (0, None)), (None, 1))(n.asarray(X[0]), n.asarray(X[0].T)),
    "of grad": lambda j, n: j.vmap(j.grad(lambda a: n.sum(n.sin(a) * a)))(n.asarray(X[0])),
    "grad of": lambda j, n: j.grad(lambda a: n.sum(j.vmap(lambda r: n.sum(r * r))(a)))(n.asarray(X[0])),
    "jacobians of a batch": lambda j, n: j.vmap(j.jacfwd(lambda a: n.outer(a, a)))(n.asarray(X[0])),
    "under jit, and of jit": lambda j, n: j.jit(j.vmap(j.jit(lambda a: a[::-1] * 2)))(n.asarray(X[0])),
    "an index that is batched": lambda j, n: j.vmap(lambda a, i: a[i])(n.asarray(X[0]), n.asarray([3, 0, 1])),
    "None in the arguments": lambda j, n: j.vmap(lambda a, b: a, in_axes=(0, None))(n.asarray(V), None),
    "a list of axes": lambda j, n: j.vmap(lambda a, b: a + b, in_axes=[0, 0])(n.asarray(V), n.asarray(V)),
    "an empty batch": lambda j, n: j.vmap(lambda a: n.sin(a))(n.zeros((0, 2))),
    "integers and where": lambda j, n: j.vmap(lambda a: n.where(a > 1, a, -a))(n.arange(6).reshape(2, 3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_as_jax(name: str) -> None:
    same(PROGRAMS[name](lj, ljnp), jax.jit(lambda: PROGRAMS[name](jax, jnp))())


def test_a_branch_on_a_value_that_is_not_mapped() -> None:
    f = lj.vmap(lambda a, s: a * 2 if s > 0 else a, in_axes=(0, None))
    assert np.array_equal(f(V, ljnp.float32(1)), 2 * V) and np.array_equal(f(V, -1), V)


ERRORS: dict[str, Callable[[Any, Any], Any]] = {
    "rank": lambda j, n: j.vmap(lambda a: a)(n.float32(1)),
    "axis out of range": lambda j, n: j.vmap(lambda a: a, in_axes=2)(n.ones(2)),
    "sizes": lambda j, n: j.vmap(lambda a, b: a)(n.ones(2), n.ones(3)),
    "axis_size": lambda j, n: j.vmap(lambda a: a, axis_size=4)(n.ones(3)),
    "number of axes": lambda j, n: j.vmap(lambda a, b: a, in_axes=(0,))(n.ones(2), n.ones(2)),
    "nothing mapped": lambda j, n: j.vmap(lambda a: a, in_axes=None)(n.ones(2)),
    "no arguments": lambda j, n: j.vmap(lambda: 1)(),
    "in_axes of text": lambda j, n: j.vmap(lambda a: a, in_axes="a")(n.ones(2)),
    "in_axes no prefix": lambda j, n: j.vmap(lambda a: a, in_axes=((0, 0),))(n.ones(2)),
    "out_axes None of a batch": lambda j, n: j.vmap(lambda a: a, out_axes=None)(n.ones(2)),
    "out_axes out of range": lambda j, n: j.vmap(lambda a: a, out_axes=3)(n.ones(2)),
    "out_axes no prefix": lambda j, n: j.vmap(lambda a: a, out_axes=(0, 1))(n.ones(2)),
    "result is text": lambda j, n: j.vmap(lambda a: "text")(n.ones(2)),
    "not a function": lambda j, n: j.vmap(3),
    "a branch on a mapped value": lambda j, n: j.vmap(lambda a: 1 if a > 0 else 2)(n.ones(2)),
    "unbound name": lambda j, n: j.vmap(lambda a: j.lax.psum(a, "i"))(n.ones(2)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_as_jax(name: str) -> None:
    with pytest.raises(Exception) as theirs:
        ERRORS[name](jax, jnp)
    with pytest.raises(Exception) as mine:
        ERRORS[name](lj, ljnp)
    assert mine.type.__name__ == theirs.type.__name__


# --- Collectives ------------------------------------------------------------------------------------------------------

COLLECTIVES: dict[str, Callable[[Any, Any], Callable[[Any], Any]]] = {
    "psum": lambda l, n: lambda a: l.psum(a, "i"),
    "psum of a constant": lambda l, n: lambda a: a + l.psum(1, "i"),
    "psum of what is not mapped": lambda l, n: lambda a: l.psum(n.ones(2), "i") + a[:2],
    "psum of bools": lambda l, n: lambda a: l.psum(a > 2, "i"),
    "psum of a tree": lambda l, n: lambda a: l.psum({"x": a, "y": (a * 2,)}, "i"),
    "pmean": lambda l, n: lambda a: a - l.pmean(a, "i"),
    "pmax, pmin": lambda l, n: lambda a: l.pmax(a, "i") - l.pmin(a, "i"),
    "axis_index": lambda l, n: lambda a: a * l.axis_index("i"),
    "axis_size": lambda l, n: lambda a: a * l.axis_size("i"),
    "all_gather": lambda l, n: lambda a: l.all_gather(a, "i"),
    "all_gather along 1": lambda l, n: lambda a: l.all_gather(a, "i", axis=1),
    "all_gather tiled": lambda l, n: lambda a: l.all_gather(a, "i", axis=0, tiled=True),
    "psum_scatter": lambda l, n: lambda a: l.psum_scatter(a, "i"),
    "psum_scatter tiled": lambda l, n: lambda a: l.psum_scatter(a, "i", tiled=True),
    "ppermute": lambda l, n: lambda a: l.ppermute(a, "i", [(0, 1), (1, 2), (2, 0)]),
    "pshuffle": lambda l, n: lambda a: l.pshuffle(a, "i", [2, 0, 1]),
    "all_to_all": lambda l, n: lambda a: l.all_to_all(a, "i", 0, 0),
    "all_to_all tiled": lambda l, n: lambda a: l.all_to_all(a, "i", 0, 0, tiled=True),
    "softmax over the batch": lambda l, n: lambda a: n.exp(a - l.pmax(a, "i")) / l.psum(n.exp(a - l.pmax(a, "i")), "i"),
}
NO_GRADIENT = ("axis_size", "pmax, pmin", "softmax over the batch", "psum of bools")  # pmax has none in JAX
B = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)


def totals(make: Any, j: Any, n: Any) -> Callable[[Any], Any]:
    """A collective's results, and the sum of their sines."""
    f = make(j.lax, n)
    return lambda a: sum([n.sum(n.sin(x)) for x in j.tree.leaves(f(a))])


def all_ways(make: Any, j: Any, n: Any, gradients: bool) -> Callable[..., Any]:
    """A collective under `vmap`, inside and outside of another one, and each example's gradient and that of all."""

    def run(b: Any, outer: Any, swapped: Any) -> Any:
        f = make(j.lax, n)
        named = j.vmap(f, axis_name="i")
        out = [named(b), j.vmap(named)(outer), j.vmap(j.vmap(f), axis_name="i")(swapped)]
        if gradients:
            total = totals(make, j, n)
            out.append(j.vmap(j.grad(total), axis_name="i")(b))
            out.append(j.grad(lambda a: n.sum(j.vmap(total, axis_name="i")(a)))(b))
        return out

    return run


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_as_jax(name: str) -> None:
    make, gradients, outer = COLLECTIVES[name], name not in NO_GRADIENT, np.stack([B, B * 2])
    args = (B, outer, outer.transpose(1, 0, 2))
    want = jax.jit(all_ways(make, jax, jnp, gradients))(*args)
    mine = all_ways(make, lj, ljnp, gradients)
    same(mine(*args), want)
    same(lj.jit(mine)(*args), want)


def test_ppermute_gives_zeros_where_nobody_sends() -> None:
    f = lj.vmap(lambda a: lj.lax.ppermute(a, "i", [(0, 2)]), axis_name="i")
    assert np.array_equal(f(B), np.stack([B[0] * 0, B[0] * 0, B[0]]))
    g = lj.vmap(lj.grad(lambda a: ljnp.sum(lj.lax.ppermute(a, "i", [(0, 2)]))), axis_name="i")
    assert np.array_equal(g(B), np.stack([B[0] * 0 + 1, B[0] * 0, B[0] * 0]))
    for perm, error in (([(0, 1), (1, 1)], ValueError), ([(0, 1), (0, 2)], ValueError), ([(0, 3)], IndexError)):
        with pytest.raises(error, match="ppermute"):
            lj.vmap(lambda a, p=perm: lj.lax.ppermute(a, "i", p), axis_name="i")(B)


def test_two_names() -> None:
    def f(l: Any) -> Callable[[Any], Any]:
        return lambda a: (l.psum(a, ("i", "j")), l.psum(a, "j"), l.axis_index(("i", "j")), l.pmean(a, "i"))

    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    mine = lj.vmap(lj.vmap(f(lj.lax), axis_name="j"), axis_name="i")(a)
    same(mine, jax.jit(jax.vmap(jax.vmap(f(jax.lax), axis_name="j"), axis_name="i"))(a))


# --- Devices and meshes -----------------------------------------------------------------------------------------------


def test_pmap() -> None:
    x = np.arange(3, dtype=np.float32).reshape(1, 3)
    for f in (lambda l: lambda a: l.psum(a, "i"), lambda l: lambda a: a * 2 + l.axis_index("i")):
        same(lj.pmap(f(lj.lax), axis_name="i")(x), jax.pmap(f(jax.lax), axis_name="i")(x))
    same(
        lj.pmap(lambda a, n, b: a * n + b, in_axes=(0, None, None), static_broadcasted_argnums=1)(x, 3, 2.0),
        jax.pmap(lambda a, n, b: a * n + b, in_axes=(0, None, None), static_broadcasted_argnums=1)(x, 3, 2.0),
    )
    with pytest.raises(ValueError, match="squeeze out which has size not equal to one"):
        lj.pmap(lambda a: a)(np.ones((2, 3)))


def test_shard_map_on_one_device() -> None:
    mesh, theirs = (
        lj.make_mesh((1, 1), ("a", "b"), (lj.sharding.AxisType.Auto,) * 2),
        jax.make_mesh((1, 1), ("a", "b"), (jax.sharding.AxisType.Auto,) * 2),
    )
    x = np.arange(12, dtype=np.float32).reshape(4, 3)

    def f(l: Any) -> Callable[[Any], Any]:
        return lambda v: l.psum(v * 2, "a") + l.axis_index("b")

    mine = lj.shard_map(f(lj.lax), mesh=mesh, in_specs=LP("a", "b"), out_specs=LP(None, "b"))(x)
    same(mine, jax.jit(jax.shard_map(f(jax.lax), mesh=theirs, in_specs=P("a", "b"), out_specs=P(None, "b")))(x))
    for l, m, p in ((lj, mesh, LP), (jax, theirs, P)):
        with pytest.raises(ValueError, match="can't be statically inferred"):
            l.shard_map(f(l.lax), mesh=m, in_specs=p("a"), out_specs=p())(x)
    g = lj.shard_map(f(lj.lax), mesh=mesh, in_specs=LP("a"), out_specs=LP("b"))
    assert np.array_equal(lj.grad(lambda v: ljnp.sum(g(v)))(x), np.full_like(x, 2))


def test_shard_map_over_an_abstract_mesh() -> None:
    """What has no devices needs an argument that lies on some: JAX refuses others in the same words."""
    mesh = lj.sharding.AbstractMesh((1, 1), ("a", "b"))
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    mapped = lj.shard_map(lambda v: lj.lax.psum(v * 2, "a"), mesh=mesh, in_specs=LP("a", "b"), out_specs=LP(None, "b"))
    with pytest.raises(ValueError, match="when passing `AbstractMesh`"):
        mapped(x)
    devices = lj.make_mesh((1, 1), ("a", "b"))
    placed = lj.device_put(x, lj.NamedSharding(devices, LP("a", "b")))
    assert np.array_equal(mapped(placed), 2 * x)


def test_devices_and_shardings() -> None:
    mesh = lj.make_mesh((1,), ("i",))
    s = lj.NamedSharding(mesh, LP("i"))
    x = lj.device_put(ljnp.arange(4.0), s)
    assert x.sharding == s and len(x.devices()) == 1 and lj.local_device_count() == lj.device_count() == 1
    assert ljnp.arange(3).sharding == lj.sharding.SingleDeviceSharding(lj.devices()[0])
    assert repr(lj.devices()) == "[CpuDevice(id=0)]" and s.shard_shape((4,)) == (4,)
    assert repr(LP("i", None)) == "P('i', None)" and LP("i") == LP("i") != LP(None)
    assert repr(mesh) == repr(jax.make_mesh((1,), ("i",)))
    assert repr(s) == repr(jax.NamedSharding(jax.make_mesh((1,), ("i",)), P("i")))
    with pytest.raises(ValueError, match="Number of devices 1 must be >="):
        lj.make_mesh((2,), ("i",))
    with pytest.raises(ValueError, match="not found in mesh"):
        lj.NamedSharding(mesh, LP("k"))
    with pytest.raises(RuntimeError, match="backend"):
        lj.devices("gpu")
    got = lj.device_get({"a": x})
    assert type(got["a"]) is np.ndarray
