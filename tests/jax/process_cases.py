"""Expressions and programs over two or three processes: `process_cases.py WHICH RANK SIZE PORT DEVICES PART`.

WHICH is jax or lazynp; PART is `cases` (what JAX gives is compared) or `programs` (what one process gives is). Each
process writes what it found as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

SETUP = """
import copy, pickle
mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Auto,))
mesh2 = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
s, rep = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
full = np.arange(32.0, dtype=np.float32).reshape(8, 4)
row = np.arange(8.0, dtype=np.float32)
def G(a, m, p):
    return jax.make_array_from_callback(a.shape, NamedSharding(m, p), lambda i: a[i])
x, y, v = G(full, mesh, P("x")), G(full, mesh2, P("x", "y")), G(row, mesh, P("x"))
parts = [jax.device_put(row[d.index], d.device) for d in v.addressable_shards]
L = jax.lax
ring = [(i, (i + 1) % 4) for i in range(4)]
def F(o):
    return jax.tree.map(lambda l: (mu.process_allgather(l, tiled=True).tolist(), l.is_fully_replicated), o)
def S(a):
    return a.sharding.spec if hasattr(a.sharding, "spec") else a.sharding
def shards(a):
    return sorted([(d.device.id, str(d.index), d.replica_id, str(d.data)) for d in a.addressable_shards])
def sm(f, m, i, o, *a, **k):
    g = jax.shard_map(f, mesh=m, in_specs=i, out_specs=o, **k)
    return F(g(*a)), F(jax.jit(g)(*a))
"""

# What processes are, and arrays that lie on several of them.
CASES = """
jax.devices()
jax.local_devices()
[(d.id, d.process_index, d.local_hardware_id, str(d)) for d in jax.devices()]
jax.process_index(), jax.process_count(), jax.process_indices()
jax.local_devices(process_index=1)
jax.local_devices(process_index=7)
jax.device_count(), jax.local_device_count()
jax.distributed.is_initialized()
jax.distributed.initialize()
mesh.is_multi_process, mesh.local_mesh, mesh.local_devices
s.is_fully_addressable, sorted([d.id for d in s.addressable_devices])
s.addressable_devices_indices_map((8,))
s.devices_indices_map((8,))
x
str(x), f'{x}'
x.shape, x.dtype, x.nbytes, x.committed, x.is_fully_addressable, x.is_fully_replicated
x.sharding
shards(x)
sorted([(d.device.id, str(d.data)) for d in v.global_shards])
np.asarray(x)
x.tolist()
x.item()
x.tobytes()
jax.device_get([x, 1])
pickle.dumps(x)
x.__dlpack__()
x.addressable_data(1)
x.addressable_data(3)
copy.copy(x)
x.block_until_ready()
sorted([d.id for d in x.devices()])
jnp.ones(3).devices(), jnp.ones(3).is_fully_addressable
shards(jax.device_put(full, s))
jax.device_put(row + pid, s)
jax.device_put(v, rep)
jax.device_put(full, jax.devices()[-1])
jax.device_put(jnp.ones(2), jax.devices()[0])
shards(G(row, mesh, P('x')))
shards(jax.make_array_from_single_device_arrays((8,), s, parts))
shards(jax.make_array_from_process_local_data(s, row, (8,)))
shards(jax.make_array_from_process_local_data(s, row[4 * pid : 4 * pid + 4]))
shards(jax.make_array_from_process_local_data(NamedSharding(mesh2, P('y', 'x')), full[:, :2] + pid))
jax.make_array_from_process_local_data(s, row[:3])
jax.make_array_from_process_local_data(s, row, (4,))
shards(jax.make_array_from_process_local_data(rep, row))
mu.process_allgather(v)
mu.process_allgather(v, tiled=True)
mu.process_allgather(np.arange(3) + pid)
mu.process_allgather(np.arange(3) + pid, tiled=True)
mu.process_allgather({'a': np.ones(2) * pid, 'b': pid})
mu.process_allgather(jnp.arange(2) + pid)
mu.broadcast_one_to_all(np.arange(3) + pid)
mu.broadcast_one_to_all(np.arange(3) + pid, is_source=pid == 1)
mu.sync_global_devices('here')
mu.assert_equal(3), mu.assert_equal({'a': np.ones(3)})
mu.assert_equal(np.arange(3) + pid, 'no')
shards(mu.host_local_array_to_global_array(row[:4] + pid, mesh, P('x')))
shards(mu.host_local_array_to_global_array(row[:4], mesh, P(None)))
mu.global_array_to_host_local_array(v, mesh, P('x'))
mu.global_array_to_host_local_array(v, mesh, P()).shape
mu.reached_preemption_sync_point(3)
v + 1
F(v + 1)
v[0], float(v[0]), v[2:4], v.sum(), bool(v.any()), float(jnp.linalg.norm(x))
shards(jnp.sum(v))
F(v + row), F(v + jnp.ones(8)), F(np.ones((8, 4)) * x), np.sum(x)
np.add(x, 1)
jax.jit(lambda a: a * 2)(v)
jax.jit(lambda a: a * 2, out_shardings=rep)(v)
np.asarray(jax.jit(lambda a: a, out_shardings=rep)(v))
jax.jit(lambda: v + 1)()
jax.jit(lambda a: a, in_shardings=s)(row)
S(x + y), S(x.T), S(x @ x.T), S(x.sum(0)), S(x.sum(1)), S(x[1:]), S(x[:, 1]), S(x.reshape(-1))
S(jnp.sort(x, 0)), S(jnp.cumsum(x, 0)), S(jnp.zeros_like(x)), S(jnp.where(x > 3, x, 0)), S(jnp.stack([x, x]))
S(jax.grad(lambda w: (x @ w).sum())(jnp.ones(4))), jax.grad(lambda w: (x @ w).sum())(jnp.ones(4))
F(jax.jit(lambda: jnp.arange(8.0), out_shardings=s)())
F(jax.jit(lambda a: L.with_sharding_constraint(a * 2, rep))(full))
F(jax.jit(lambda a: L.with_sharding_constraint(a.T, s))(x))
F(jax.jit(lambda a: a, out_shardings=NamedSharding(mesh2, P('y', 'x')))(x))
F(jax.jit(lambda a, n: a * n, static_argnums=1)(x, 3)), F(jax.jit(lambda a: {'p': a.sum(), 'q': a[:2]})(x))
F(jax.jit(jax.grad(lambda w, x: ((x @ w) ** 2).mean()))(np.ones((4, 2), np.float32), x))
F(jax.jit(lambda k: jax.random.normal(k, (8, 4)) > 0, out_shardings=s)(jax.random.key(0)))
F(jnp.ones((8, 4), device=s)), F(jnp.arange(8, device=s))
F(jax.jit(lambda a: a * 2).lower(x).compile()(x)), jax.eval_shape(lambda a: a @ a.T, x), jax.typeof(x)
F(x.astype('int32')), F(-x), F(x[jnp.array([1, 5])]), F(x == x), F(L.map(lambda r: r.sum(), x))
F(L.fori_loop(0, 3, lambda i, c: c * 2, x)), F(L.cond(x.sum() > 0, lambda c: c, lambda c: -c, x))
L.scan(lambda c, r: (c + r.sum(), r * 2), 0.0, x)[0]
sm(lambda a: a * 2, mesh, P('x'), P('x'), x)
sm(lambda a: L.psum(a, 'x'), mesh, P('x'), P(), x)
sm(lambda a: L.pmax(a, 'x') + L.pmean(a, 'x'), mesh, P('x'), P(), x)
sm(lambda a: a + L.axis_index('x'), mesh, P('x'), P('x'), x)
sm(lambda a: L.ppermute(a, 'x', ring), mesh, P('x'), P('x'), x)
sm(lambda a: L.ppermute(a, 'x', [(0, 1), (2, 3)]), mesh, P('x'), P('x'), x)
sm(lambda a: L.all_gather(a, 'x', tiled=True), mesh, P('x'), P(None, 'x'), x)
sm(lambda a: L.psum_scatter(a, 'x', scatter_dimension=1, tiled=True), mesh, P('x'), P(None, 'x'), x)
sm(lambda a: L.all_to_all(a, 'x', 1, 0, tiled=True), mesh, P('x'), P('x'), x)
sm(lambda a: L.psum(a, 'x'), mesh2, P('x', 'y'), P(None, 'y'), y)
sm(lambda a: L.psum(a, ('x', 'y')), mesh2, P('x', 'y'), P(), y)
sm(lambda a: L.ppermute(a, 'y', [(0, 1), (1, 0)]), mesh2, P('x', 'y'), P('x', 'y'), y)
sm(lambda a, w: a @ w.T, mesh, (P('x'), P()), P('x'), x, full)
sm(lambda a: L.fori_loop(0, 3, lambda i, c: L.ppermute(c, 'x', ring) + 1, a), mesh, P('x'), P('x'), x)
sm(lambda a: jax.grad(lambda q: (q**2).sum())(a), mesh, P('x'), P('x'), x)
sm(lambda a: L.psum(a, 'x'), mesh2, P('x'), P(None, 'y'), y, axis_names={'x'})
sm(lambda a: L.cond(L.axis_index('x') > 1, lambda q: q * 2, lambda q: q, a), mesh, P('x'), P('x'), x)
F(jax.pmap(lambda a: a * L.psum(a, 'i'), axis_name='i')(full[:2, :2] + pid))
F(jax.pmap(lambda a, b: a + b, in_axes=(0, None))(row[:2] + pid, np.float32(3)))
F(jax.pmap(lambda a: L.ppermute(a, 'i', ring), axis_name='i')(row[:2] + 10 * pid))
F(jax.pmap(lambda a: L.psum(a, 'i'), axis_name='i', out_axes=None)(row[:2] + 10 * pid))
F(jax.pmap(lambda a: a * 2, devices=jax.local_devices())(row[:2]))
jax.jit(lambda k: jax.random.split(k, 4), out_shardings=s)(jax.random.key(0))
shards(G(row, Mesh(np.array(jax.devices())[[0, 2]], 'x'), P('x'))[1:] * 2)
jax.device_put(row, NamedSharding(Mesh(np.array(jax.devices())[1:2], 'x'), P('x'))) + 1
jax.distributed.shutdown(), jax.distributed.is_initialized()
""".strip().splitlines()

# Functions, and for each which arrays of DATA it takes.
PROGRAMS = {
    "lambda a, b: a + b.T": "AB",
    "lambda a, v: jnp.sin(a) * v[:, None] + v[:4]": "AV",
    "lambda a: (a.sum(), a.sum(0), a.sum(1), a.max(1), a.min(), a.prod(0), a.mean(), a.std(0), a.any())": "A",
    "lambda a: a - a.mean(1, keepdims=True) + a.sum(0, keepdims=True)": "A",
    "lambda a, b: (a @ b, b @ a, a.T @ a, a @ a.T)": "AB",
    "lambda a, b, v: (b @ v, v @ a, v @ v, a @ b @ v)": "ABV",
    "lambda t, w: (t @ w, jnp.einsum('bij,kj->bik', t, w), jnp.tensordot(t, t, ((0, 2), (0, 2))))": "TW",
    "lambda a: (a.reshape(-1), a.reshape(2, 4, 4), a.reshape(4, 8), a.reshape(8, 2, 2), a.ravel()[::3])": "A",
    "lambda t: (t.T, t.transpose(1, 0, 2), jnp.moveaxis(t, 0, 1))": "T",
    "lambda a: (a[0], a[2:6], a[::2], a[::-1], a[:, 1], a[-1, -1], a[1:, :2], a[3:1:-1, ::2], a[None, :, None])": "A",
    "lambda v: v.at[1:-1].set(0.5 * (v[2:] + v[:-2]))": "V",
    "lambda a: (a.at[0].set(1.0), a.at[:, 2].add(3.0), a.at[2:5, 1:3].mul(2.0), a.at[::3].set(0.0))": "A",
    "lambda a, v: (jnp.concatenate([a, a]), jnp.concatenate([a, a], 1), jnp.stack([v, v], 1))": "AV",
    "lambda a: (jnp.pad(a, 1), jnp.pad(a, ((2, 2), (0, 0)), mode='edge'), jnp.roll(a, 1, 0))": "A",
    "lambda a: (jnp.sort(a, 0), jnp.argsort(a, 0), jnp.argmax(a, 0), jnp.argmin(a), jnp.cumsum(a, 0))": "A",
    "lambda a, i: (a[i[:, 0]], jnp.take_along_axis(a, i % 4, 1), a[i % 8, i % 4])": "AI",
    "lambda a: (jnp.where(a > 0, a, 0.0), jax.nn.softmax(a, 1), jax.nn.softmax(a, 0), jax.nn.logsumexp(a))": "A",
    "lambda a: (a.astype(jnp.bfloat16), a.astype(int), (a > 0).sum(0), a.astype(jnp.float16).sum(0))": "A",
    "lambda a: (jnp.fft.fft(a, axis=0), jnp.abs(a + 1j))": "A",
    "lambda a: L.scan(lambda c, r: (c * 0.5 + r, c.sum()), jnp.zeros(4), a)": "A",
    "lambda a, v: L.scan(lambda c, _: (jnp.tanh(c + v[:, None]), c.sum()), a, None, length=3)": "AV",
    "lambda a: L.while_loop(lambda q: q.sum() < 100, lambda q: jnp.abs(q) * 2, a)": "A",
    "lambda a: L.cond(a.sum() > 0, lambda q: q + 1, lambda q: q - 1, a)": "A",
    "lambda a: (L.dynamic_slice(a, (1, 1), (4, 2)), L.dynamic_update_slice(a, jnp.ones((2, 2)), (3, 1)))": "A",
    "lambda a: (jax.vmap(lambda r: r @ r)(a), jax.vmap(jnp.sort, 1, 1)(a))": "A",
    "lambda a, w: jax.value_and_grad(lambda a, w: (jax.nn.relu(a @ w) ** 2).mean(), (0, 1))(a, w)": "AW",
    "lambda v: jax.hessian(lambda q: (q**3).sum())(v)": "V",
    "lambda t: L.conv_general_dilated(t[:, None], jnp.ones((2, 1, 3, 3)), (1, 1), 'SAME')": "T",
    "lambda w: (jnp.linalg.inv(w + 5 * jnp.eye(4)), jnp.trace(w), jnp.outer(w[0], w[1]))": "W",
    "lambda v: jax.grad(lambda q: jax.nn.silu(q).sum() + (jnp.cumsum(q) ** 2).sum())(v)": "V",
    "lambda v, i: (jax.ops.segment_sum(v, i[:, 0], 8), jax.nn.one_hot(i[:, 0], 8), L.top_k(v, 3))": "VI",
    "lambda e: (e.sum(0), e.T @ e, (e * 2).sum())": "E",
}


def setup(which: str, rank: int, size: int, port: str, devices: int) -> dict[str, Any]:
    if which == "lazynp":
        import lazynp.jax

        lazynp.jax.install()
    import jax

    if which == "jax":
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.config.update("jax_num_cpu_devices", devices)
    if port:
        jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=size, process_id=rank)
    else:  # as torchrun says
        jax.distributed.initialize()
    names: dict[str, Any] = {"jax": jax, "pid": rank}
    exec("import numpy as np, jax.numpy as jnp\nfrom jax.sharding import *\nP = PartitionSpec", names)
    exec("from jax.experimental import multihost_utils as mu", names)
    return names


def cases(names: dict[str, Any]) -> list[tuple[str, str]]:
    exec(SETUP, names)
    out = []
    for case in CASES:
        try:
            out.append((case, repr(eval(case, names))))
        except Exception as error:
            out.append((case, f"raises {type(error).__name__}: {error}"))
    return out


def programs(names: dict[str, Any]) -> list[tuple[str, str]]:
    """What differs from one process, for arrays that lie in different ways, eagerly and jitted."""
    exec(SETUP, names)
    np, jax, jnp, mesh, mesh2, P, G = (names[k] for k in ("np", "jax", "jnp", "mesh", "mesh2", "P", "G"))
    rng = np.random.default_rng(0)
    data = {k: rng.normal(size=n).astype(np.float32) for k, n in zip("ABVWT", [(8, 4), (4, 8), 8, (4, 4), (4, 8, 4)])}
    data["I"] = rng.integers(0, 8, (8, 4)).astype(np.int32)
    data["E"] = rng.normal(size=(512, 160)).astype(np.float32)  # large enough for sums in parts
    ways = {
        1: [(mesh, P("x")), (mesh2, P("y")), (mesh2, P(("x", "y"))), (mesh2, P())],
        2: [(mesh, P("x")), (mesh2, P("x", "y")), (mesh, P(None, "x")), (mesh2, P(("y", "x")))],
        3: [(mesh, P("x")), (mesh2, P("y", "x")), (mesh2, P(None, "x", "y")), (mesh, P(None, None, "x"))],
    }

    def whole(tree: Any) -> list[Any]:
        gather = names["mu"].process_allgather
        leaves = jax.tree.leaves(tree)
        return [np.asarray(x if x.is_fully_addressable else gather(x, tiled=True)) for x in leaves]

    out = []
    for text, which in PROGRAMS.items():
        f = eval(text, names)
        args = [data[k] for k in which]
        wanted = whole(f(*[jnp.asarray(a) for a in args]))
        for k in range(4):
            given = [G(a, *ways[a.ndim][(k + j) % 4]) for j, a in enumerate(args)]
            for g in (f, jax.jit(f))[k % 2 :: 2]:
                for i, (w, x) in enumerate(zip(wanted, whole(g(*given)), strict=True)):
                    near = 2e-3 if w.dtype.itemsize < 4 else 1e-4
                    same = (w.dtype, w.shape) == (x.dtype, x.shape)
                    if not same or not np.allclose(w.astype(complex), x.astype(complex), rtol=near, atol=near):
                        out.append((f"{text}, way {k}, result {i}", f"{w.dtype}{w.shape} {x.dtype}{x.shape}"))
    return out


if __name__ == "__main__":
    which, rank, size, port, devices, part = sys.argv[1:]
    with contextlib.redirect_stdout(io.StringIO()):
        names = setup(which, int(rank), int(size), port, int(devices))
        found = cases(names) if part == "cases" else programs(names)
    print("\n" + json.dumps(found))
