"""pyarrow: its functions, and the constructors from arrays of classes that cannot be changed: classes that derive from
them stand in the package's namespace."""

from __future__ import annotations

from typing import Any

from .patches import Patches, adapted

CLASSES = {
    "Tensor": ("from_numpy",),
    "SparseCOOTensor": ("from_dense_numpy", "from_numpy"),
    "SparseCSRMatrix": ("from_dense_numpy", "from_numpy"),
    "SparseCSCMatrix": ("from_dense_numpy", "from_numpy"),
    "SparseCSFTensor": ("from_dense_numpy", "from_numpy"),
}


class Standing(type):
    """The type of a class that stands for another: what is an instance of that one is an instance of it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__mro__[1])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__mro__[1])


def adapt(pyarrow: Any, patches: Patches) -> None:
    patches.functions(pyarrow)
    for name, constructors in CLASSES.items():
        real = getattr(pyarrow, name)
        members: dict[str, Any] = {c: staticmethod(adapted(getattr(real, c))) for c in constructors}
        members.update(__module__=real.__module__, __doc__=real.__doc__, __slots__=())
        patches.put(pyarrow, name, Standing(name, (real,), members))
