"""torch: what makes tensors of arrays, and indexing by them."""

from __future__ import annotations

from typing import Any

from .patches import Patches

LEGACY = ("Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")


def adapt(torch: Any, patches: Patches) -> None:
    patches.wrap(torch, "from_numpy", "tensor", "as_tensor", "asarray", "scalar_tensor", "frombuffer")
    patches.wrap(torch.Tensor, "__new__", "__getitem__", "__setitem__", "new_tensor", "new")
