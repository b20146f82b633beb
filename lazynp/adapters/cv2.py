"""OpenCV: every function and class of its modules, since each checks for NumPy's type in C."""

from __future__ import annotations

import types
from typing import Any

from .patches import Patches, numpy_of


def adapt(cv2: Any, patches: Patches) -> None:
    modules = [m for m in vars(cv2).values() if isinstance(m, types.ModuleType) and m.__name__.startswith("cv2.")]
    for module in (cv2, *modules):
        patches.functions(module)
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__.split(".")[0] == "cv2":
                patches.methods(value)
                if "__init__" in vars(value):
                    patches.wrap(value, "__init__")
                for name, attribute in list(vars(value).items()):
                    if isinstance(attribute, types.GetSetDescriptorType) and not name.startswith("_"):
                        patches.put(value, name, converting(attribute))


def converting(attribute: Any) -> property:
    """An attribute of OpenCV's objects that may be set to an array of ours."""
    return property(
        attribute.__get__, lambda self, value: attribute.__set__(self, numpy_of(value)), None, attribute.__doc__
    )
