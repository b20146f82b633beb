"""Modules for eight devices, with collectives and shardings, run by XLA and by us: prints `same` for each."""

from __future__ import annotations

import numpy as np
import xla_modules

import lazynp.jax as jax
from lazynp.jax import lax
from lazynp.jax import numpy as jnp
from lazynp.jax.sharding import AxisType, NamedSharding
from lazynp.jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 8)
MESH = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
WHOLE, HALF = P("x", "y"), P(None, "y")
RING = [(k, (k + 1) % 4) for k in range(4)]
ROWS = jnp.arange(4.0)[:, None]


def mapped(function, out, inside=WHOLE, **options):
    return jax.shard_map(function, mesh=MESH, in_specs=inside, out_specs=out, **options)


CASES = {
    "psum": mapped(lambda v: lax.psum(v, "x"), HALF),
    "pmax": mapped(lambda v: lax.pmax(v, ("x", "y")), P()),
    "pmean": mapped(lambda v: lax.pmean(v, "x"), HALF),
    "groups": mapped(lambda v: lax.psum(v, "x", axis_index_groups=[[0, 1], [2, 3]]), WHOLE, check_vma=False),
    "all_gather": mapped(lambda v: lax.all_gather(v, "y"), P(None, "x", "y"), check_vma=False),
    "all_gather tiled": mapped(lambda v: lax.all_gather(v, "x", tiled=True), WHOLE),
    "ppermute": mapped(lambda v: lax.ppermute(v, "x", [(0, 1), (1, 2), (3, 0)]), WHOLE),
    "axis_index": mapped(lambda v: v + lax.axis_index("x") * 10 + lax.axis_index("y"), WHOLE),
    "axis_index of two": mapped(lambda v: v + lax.axis_index(("y", "x")), WHOLE),
    "all_to_all": mapped(lambda v: lax.all_to_all(v, "y", 1, 0), P(("x", "y")), check_vma=False),
    "all_to_all tiled": mapped(lambda v: lax.all_to_all(v, "y", 0, 1, tiled=True), WHOLE),
    "psum_scatter": mapped(lambda v: lax.psum_scatter(v, "y", scatter_dimension=0, tiled=True), WHOLE),
    "loop": mapped(lambda v: lax.fori_loop(0, 3, lambda i, c: lax.ppermute(c, "x", RING) * 2, v), WHOLE),
    "cond": mapped(lambda v: lax.cond(lax.axis_index("x") > 1, lambda a: a * 2, lambda a: a - 1, v), WHOLE),
    "product": mapped(lambda v: lax.psum(v @ v.T, "y"), P("x")),
    "constant": mapped(lambda v: v * ROWS, WHOLE),
    "gradient": jax.grad(lambda v: mapped(lambda a: lax.psum(a, "x") ** 2, HALF)(v).sum()),
    "constraint": lambda v: lax.with_sharding_constraint(v * 2, NamedSharding(MESH, P("y", "x"))).sum(0),
    "manual along one axis": mapped(lambda v: lax.psum(v, "x"), P(), P("x"), axis_names={"x"}),
}

if __name__ == "__main__":
    x = np.arange(64, dtype=np.float32).reshape(16, 4)
    for name, function in CASES.items():
        jitted = jax.jit(function)
        (got,) = xla_modules.run(jitted.lower(x).as_text(), x, devices=8)
        np.testing.assert_allclose(got, np.asarray(jitted(x)), 1e-6, err_msg=name)
        print("same", name)
