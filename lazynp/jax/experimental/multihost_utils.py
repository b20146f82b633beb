"""`jax.experimental.multihost_utils`: what the processes of a program do together. All of them call these functions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...spread import group
from ...tracebacks import bound_all as _bound_all
from ..array import Array
from ..assembling import from_local, local_part
from ..distributed import is_initialized
from ..dtypes import canonical
from ..placement import device_put, placed
from ..processes import agreed, laid, of_all, same_everywhere, spread_of
from ..sharding import NamedSharding, PartitionSpec
from ..tree_util import tree_leaves, tree_map

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "live_devices",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]


def local_value(x: Any) -> np.ndarray:
    """What this process has, in JAX's dtypes."""
    value = np.asarray(x)
    return value.astype(canonical(value.dtype), copy=False)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """What one process has, as NumPy's arrays: the first, or the one whose `is_source` is true.

    Raises: ValueError where not just one process is the source, or where shapes differ.
    """
    if group.size() == 1:
        return tree_map(np.asarray, in_tree)
    mine = group.rank() == 0 if is_source is None else bool(is_source)
    sources = [q for q, told in enumerate(of_all(np.array([mine]), "the source")) if told[0]]
    if len(sources) != 1:
        raise ValueError(f"broadcast_one_to_all: one process is to be the source, got {sources}")

    def one(x: Any) -> np.ndarray:
        value = local_value(x)
        if not same_everywhere(repr((value.shape, value.dtype)).encode()):
            raise ValueError(f"broadcast_one_to_all: processes have different shapes or dtypes; here {value.shape}")
        return group.group().broadcast(value, "broadcast_one_to_all", sources[0])

    return tree_map(one, in_tree)


def sync_global_devices(name: str) -> None:
    """Wait for all processes. Raises AssertionError where they call this with different names."""
    if group.size() > 1 and not same_everywhere(name.encode()):
        raise AssertionError(f"sync_global_devices name mismatch ('{name}').")


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """What all processes have, as NumPy's arrays: along a new first axis, or with `tiled` along the first one. Of
    arrays on devices of several processes, with `tiled`: the whole.

    Raises: ValueError for such an array without `tiled`, and where processes have different shapes or dtypes.
    """

    def one(x: Any) -> np.ndarray:
        spread = spread_of(x.node) if isinstance(x, Array) else None
        if spread is not None:
            if not tiled:
                raise ValueError("Gathering global non-fully-addressable arrays only supports tiled=True")
            return np.array(whole(x))
        if group.size() == 1:
            return np.array(x) if tiled else np.asarray(x)[None]
        value = local_value(x)
        return np.concatenate(of_all(value if tiled and value.ndim else value[None], "process_allgather"))

    return tree_map(one, in_tree)


def whole(x: Array) -> np.ndarray:
    """The value of an array on devices of several processes."""
    spread = spread_of(x.node)
    assert spread is not None
    if spread.readable:
        return spread.host()
    if isinstance(spread.sharding, NamedSharding):
        mesh = spread.sharding.mesh
        same = spread_of(laid(x.node, NamedSharding(mesh, PartitionSpec()), "process_allgather"))
        if same is not None and same.readable:
            return same.host()
    raise ValueError(f"process_allgather: this process has no device of {spread.sharding}")


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise AssertionError, in all processes, where they have different values."""
    if group.size() == 1:
        return
    values = [local_value(x) for x in tree_leaves(in_tree)]
    if same_everywhere(*[repr((v.shape, v.dtype)).encode() + v.tobytes() for v in values]):
        return
    if len(values) == 1 and values[0].ndim == 0:
        agreed(values[0], fail_message)
    expected = tree_map(lambda x: process_allgather(x, tiled=True), in_tree)
    raise AssertionError(f"{fail_message}. Expected: {expected}; got: {in_tree}.")


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether a machine is about to be taken away, and this is the step to stop at: nobody says so here. Raises
    RuntimeError where `jax.distributed` was not initialized."""
    if not is_initialized():
        raise RuntimeError("There is no coordination service: jax.distributed was not initialized.")
    return False


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """The arrays of this process as its parts of arrays over a mesh."""

    def one(x: Any, spec: Any) -> Any:
        if isinstance(x, Array) and spread_of(x.node) is not None:
            return x
        sharding = NamedSharding(global_mesh, spec)
        return from_local(sharding, x, None) if global_mesh.is_multi_process else device_put(x, sharding)

    return tree_map(one, local_inputs, spread(pspecs, local_inputs))


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """This process's part of arrays over a mesh, as arrays over its part of the mesh."""

    def one(x: Any, spec: Any) -> Any:
        sharding = NamedSharding(global_mesh, spec)
        if not isinstance(x, Array) or spread_of(x.node) is None:
            return x if isinstance(x, Array) and group.size() > 1 else device_put(x, sharding)
        return local_part(placed(x.node, sharding), NamedSharding(global_mesh.local_mesh, spec))

    return tree_map(one, global_inputs, spread(pspecs, global_inputs))


def spread(specs: Any, tree: Any) -> Any:
    """A spec for each array: one that is for all, or a tree of them."""
    return tree_map(lambda _: specs, tree) if isinstance(specs, PartitionSpec) else specs


@contextlib.contextmanager
def live_devices(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """The devices of processes that are still there. Raises RuntimeError where `jax.distributed` was not initialized,
    else NotImplementedError: a program ends when one of its processes does."""
    if is_initialized():
        raise NotImplementedError("live_devices: a program ends when one of its processes does")
    raise RuntimeError("Distributed JAX not initialized.")
    yield []


_bound_all(globals())
