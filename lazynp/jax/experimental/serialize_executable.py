"""`jax.experimental.serialize_executable`: compiled functions as bytes, and back."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from ...signatures import Static
from ...tree import flatten, unflatten
from ..array import door
from ..devices import Device, check_backend
from ..export import How, default_export_platform, deserialize, of_stage
from ..shape_struct import ShapeDtypeStruct
from ..stages import Compiled, PjitFunction
from ..tree_util import PyTreeDef

__all__ = ["deserialize_and_load", "serialize"]


def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """A compiled function as bytes, and the structures of its arguments (without those that are static) and results.

    The bytes are its graph, and how the arguments lie. Kernels stay in the cache of kernels, or are compiled again.

    Raises: NotImplementedError for a function that calls back.
    """
    statics = {at for at, _ in compiled._call.statics}
    args, kwargs = unflatten(compiled._call.structure, compiled._flat_inputs())
    places = tuple([a for i, a in enumerate(args) if i not in statics]), kwargs
    leaves, in_tree = flatten(places, is_leaf=lambda s: s is None)
    exported = of_stage(compiled, PyTreeDef(in_tree), How((default_export_platform(),), ()))
    on_mesh = [s if s is not None and s.num_devices > 1 else None for s in leaves]
    return pickle.dumps((bytes(exported.serialize()), on_mesh)), PyTreeDef(in_tree), compiled.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: str | None = None,
    execution_devices: Sequence[Device] | None = None,
) -> Compiled:
    """The compiled function that `serialize` has written. The bytes have to come from somebody who is trusted: reading
    them may run any code.

    Args:
        execution_devices: those on which it was compiled. Others are not there.

    Raises: RuntimeError for an unknown backend, ValueError for other structures, or a number of devices that it was not
        compiled for.
    """
    if backend is not None:
        check_backend(backend)
    blob, places = pickle.loads(serialized)
    exported = deserialize(blob)
    if (exported.in_tree, exported.out_tree) != (in_tree, out_tree):
        raise ValueError(
            f"the function has the trees {exported.in_tree} and {exported.out_tree}, not {in_tree} and {out_tree}"
        )
    if execution_devices is not None and len(execution_devices) != exported.nr_devices:
        raise ValueError(f"the function is for {exported.nr_devices} devices, not {len(execution_devices)}")
    types = [
        ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type, sharding=s) for a, s in zip(exported.in_avals, places)
    ]
    args, kwargs = unflatten(in_tree.spec, types)
    return PjitFunction(exported.call, door, Static()).lower(*args, **kwargs).compile()
