"""The short programs of `sharding_blocks.txt`, run under JAX and under lazynp with eight devices: values, types, how
results lie, and errors with their messages. `test_many_devices.py` compares.

Programs stand between lines of `--`; the value of the last line is compared. `mesh` has explicit axes of 4 by 2
devices, `amesh` Auto ones, `mixed` one of each, `line` and `eline` one axis of 8. `put(value, mesh, *spec)` places an
array, `f32(8, 2)` is NumPy's `arange` in that shape, `ty` a value's type as text, `spec` how the arrays of a tree lie,
`shards` the parts of an array, `module` a module of the library, `err` what a call gives or raises.
"""

from __future__ import annotations

import ast
import functools
import importlib
import json
import math
import pathlib
import re
import sys
import warnings
from typing import Any

import numpy as np

BLOCKS = pathlib.Path(__file__).with_suffix(".txt").read_text().strip("\n").split("\n--\n")


def names_of(j: Any) -> dict[str, Any]:
    """What the programs may name, of one library."""
    kinds = j.sharding.AxisType
    auto, explicit = kinds.Auto, kinds.Explicit

    def grid(*types: Any) -> Any:
        return j.make_mesh((4, 2), ("x", "y"), axis_types=types)

    def put(value: Any, mesh: Any, *spec: Any) -> Any:
        return j.device_put(value, j.NamedSharding(mesh, j.P(*spec)))

    def spec(tree: Any) -> Any:
        return j.tree.map(lambda x: getattr(x.sharding, "spec", x.sharding), tree)

    def module(name: str) -> Any:
        return importlib.import_module(f"{j.__name__}.{name}")

    def err(f: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except Exception as error:
            return raised(error)

    def shards(x: Any) -> Any:
        return [(s.device.id, s.index, s.replica_id, np.asarray(s.data).tolist()) for s in x.addressable_shards]

    return {
        **{name: getattr(j, name) for name in ("lax", "P", "NamedSharding", "sharding", "shard_map", "reshard")},
        **{name: getattr(j.sharding, name) for name in ("Mesh", "AbstractMesh", "AxisType", "SingleDeviceSharding")},
        "jax": j,
        "jnp": j.numpy,
        "np": np,
        "partial": functools.partial,
        "Auto": auto,
        "Explicit": explicit,
        "Manual": kinds.Manual,
        "mesh": grid(explicit, explicit),
        "amesh": grid(auto, auto),
        "mixed": grid(explicit, auto),
        "line": j.make_mesh((8,), ("x",), axis_types=(auto,)),
        "eline": j.make_mesh((8,), ("x",), axis_types=(explicit,)),
        "ring": [(i, (i + 1) % 8) for i in range(8)],
        "put": put,
        "spec": spec,
        "shards": shards,
        "module": module,
        "err": err,
        "A": np.arange,
        "f32": lambda *s: np.arange(math.prod(s), dtype=np.float32).reshape(s),
        "ty": lambda x: str(j.typeof(x)),
        "warnings": warnings,
    }


def shown(x: Any, j: Any) -> str:
    """A result as text: of an array its type, values and sharding."""
    if isinstance(x, dict):
        return "{" + ", ".join([f"{k!r}: {shown(v, j)}" for k, v in x.items()]) + "}"
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return f"{type(x).__name__}[{', '.join([shown(v, j) for v in x])}]"
    if isinstance(x, (set, frozenset)):
        return str(sorted(map(repr, x)))
    if isinstance(x, j.Array):
        keys = j.dtypes.issubdtype(x.dtype, j.dtypes.prng_key)
        value = np.asarray(j.random.key_data(x) if keys else x)
        value = value.astype(complex if value.dtype.kind == "c" else float).round(4).tolist()
        return f"Array({j.typeof(x)}, {value}, {x.sharding!r}, committed={x.committed})"
    return re.sub(r"0x[0-9a-f]+", "0x", repr(x))


def outcome(j: Any, text: str) -> str:
    """What the last line of a program is, or which error it raises."""
    space = names_of(j)
    *rest, last = ast.parse(text).body
    try:
        exec(compile(ast.Module(rest, []), "<block>", "exec"), space)
        if not isinstance(last, ast.Expr):
            exec(compile(ast.Module([last], []), "<block>", "exec"), space)
            return "None"
        return shown(eval(compile(ast.Expression(last.value), "<block>", "eval"), space), j)
    except Exception as error:
        return raised(error)


def raised(error: Exception) -> str:
    """The class of an error, or the one of Python's that it is, and its message."""
    kind = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
    return f"raises {kind.__name__}: {in_order(str(error))}"


def in_order(text: str) -> str:
    """Sets of words are printed in an order that differs from process to process."""
    return re.sub(r"\{('\w+'(?:, '\w+')+)\}", lambda found: f"{{{', '.join(sorted(found[1].split(', ')))}}}", text)


def main() -> None:
    """Write a list of [JAX's outcome, lazynp's] as JSON."""
    import jax
    import jax.numpy

    import lazynp.jax
    import lazynp.jax.numpy

    warnings.simplefilter("ignore")
    json.dump([[outcome(j, text) for j in (jax, lazynp.jax)] for text in BLOCKS], sys.stdout)


if __name__ == "__main__":
    main()
