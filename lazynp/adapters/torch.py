"""torch: what makes tensors of arrays, indexing by them, and `==`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .patches import Patches, is_adapted


def adapt(torch: Any, patches: Patches) -> None:
    # torch's modes of a default device compare with the functions that stand in its namespace when they are first used.
    importlib.import_module("torch.utils._device")._device_constructors()
    patches.wrap(torch, "from_numpy", "tensor", "as_tensor", "asarray")
    patches.wrap(torch.Tensor, "__new__", "__getitem__", "__setitem__", "__eq__", "new_tensor")
    for name in ("torch.jit._builtins", "torch.jit._recursive"):  # know the functions of TorchScript by their addresses
        module = importlib.import_module(name)
        patches.put(module, "_find_builtin", of_wrapped(module._find_builtin))


def of_wrapped(find: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A search for a function of torch's, which finds a wrapped one as what it wraps."""
    return lambda function: find(function.__wrapped__ if is_adapted(function) else function)
