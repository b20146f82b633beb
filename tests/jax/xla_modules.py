"""XLA as the reader of our StableHLO: a module is parsed, verified, compiled and run by JAX's own compiler.

Uses what JAX has no public names for; all of it is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax._src import xla_bridge
from jax._src.interpreters import mlir
from jax._src.lib import _jax, xla_client
from jax._src.sharding_impls import GSPMDSharding
from jax.extend.mlir import ir

CONTEXT = mlir.make_ir_context()


def parsed(text: str) -> Any:
    """The module, which its dialects' verifiers have looked at. Raises ValueError or MLIRError."""
    with CONTEXT:
        module = ir.Module.parse(text)
        module.operation.verify()
    return module


def run(text: str, *args: Any, devices: int = 1) -> list[np.ndarray[Any, Any]]:
    """The results of `main`, on so many devices."""
    with jax.enable_x64(True):
        return compiled_and_run(text, args, devices)


def compiled_and_run(text: str, args: Sequence[Any], devices: int) -> list[np.ndarray[Any, Any]]:
    backend = xla_bridge.get_backend("cpu")
    here = tuple(backend.local_devices()[:devices])
    options = xla_client.CompileOptions()
    if devices > 1:
        options.num_partitions = options.executable_build_options.num_partitions = devices
        options.executable_build_options.use_spmd_partitioning = True
        options.executable_build_options.use_shardy_partitioner = True
        options.device_assignment = xla_client.DeviceAssignment.create(np.arange(devices).reshape(1, devices))
    program = mlir.module_to_bytecode(parsed(text))
    executable = backend.compile_and_load(program, _jax.DeviceList(here), options)
    if devices == 1:
        return [np.asarray(x) for x in executable.execute([jax.device_put(a) for a in args])]
    places = [GSPMDSharding(here, s) for s in executable.get_parameter_shardings() or ()]
    given = [jax.device_put(a, place) for a, place in zip(args, places)]
    parts = executable.execute_sharded(given).disassemble_into_single_device_arrays()
    found = []
    for some, op in zip(parts, executable.get_output_shardings()):
        place = GSPMDSharding(here, op)
        shape = whole(place, some[0].shape)
        found.append(np.asarray(jax.make_array_from_single_device_arrays(shape, place, some)))
    return found


def whole(place: Any, part: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an array of which each device has a part of this shape."""
    tiles = place.shard_shape(tuple([64] * len(part)))
    return tuple([n * (64 // t) for n, t in zip(part, tiles)])
