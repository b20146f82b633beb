"""`ShapeDtypeStruct`: the type of an array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import Array, as_node
from .dtypes import is_extended, shown
from .layouts import Format, place_of
from .sharding import NamedSharding, PartitionSpec, Sharding, default_mesh


class ShapeDtypeStruct:
    """Shape and dtype of an array, without a value. `eval_shape` returns them, `lower` and `make_jaxpr` take them."""

    __slots__ = ("shape", "dtype", "sharding", "weak_type", "manual_axis_type", "_layout")
    _layout: Any  # where that was said

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        manual_axis_type: Any = None,
        is_ref: bool = False,
    ) -> None:
        if is_ref:
            raise NotImplementedError("ShapeDtypeStruct(is_ref=True): give what is traced the reference itself.")
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        if isinstance(sharding, PartitionSpec):
            if default_mesh().empty:
                raise TypeError(
                    "When specifying PartitionSpec to `ShapeDtypeStruct`, the context mesh cannot be empty. Please use "
                    "`jax.set_mesh` to set the mesh context."
                )
            sharding = NamedSharding(default_mesh(), sharding)
        if not (sharding is None or isinstance(sharding, Sharding) or hasattr(sharding, "layout")):
            raise ValueError(
                "sharding should be an instance of `jax.sharding.Sharding`, `jax.sharding.PartitionSpec` or "
                f"`jax.experimental.layout.Format`. Got {sharding} of type {type(sharding)}."
            )
        self.shape = tuple([n if hasattr(n, "symbolic") else int(n) for n in shape])
        if isinstance(sharding, NamedSharding):
            sharding.check_compatible_aval(self.shape)
        self.dtype = dtype if is_extended(dtype) else np.dtype(dtype)
        self._layout = sharding.layout if isinstance(sharding, Format) else None
        self.sharding, self.weak_type, self.manual_axis_type = place_of(sharding), weak_type, manual_axis_type

    @staticmethod
    def like(x: Any) -> ShapeDtypeStruct:
        """The type of an array or a number: shape, dtype, weak type; and how it lies, where somebody has placed it.

        Raises: TypeError for what is no array.
        """
        node = as_node(x)
        lies = x.format if isinstance(x, Array) and not node.trace and x.committed else None
        return ShapeDtypeStruct(node.shape, shown(node.dtype), weak_type=node.weak, sharding=lies)

    @property
    def format(self) -> Format:
        """How it lies in memory, of which nothing is said, and on devices."""
        return Format(self._layout, self.sharding)

    @property
    def is_ref(self) -> bool:
        """Whether it is the type of a mutable reference: it never is."""
        return False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, name) and getattr(self, name) != value:
            raise RuntimeError(f"Cannot reassign attributes ({name}) of immutable ShapeDtypeStruct objects")
        super().__setattr__(name, value)

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """With some attributes replaced."""
        now = {name: getattr(self, name) for name in self.__slots__ if name != "_layout"}
        if self._layout is not None:
            now["sharding"] = self.format
        return ShapeDtypeStruct(**{**now, **changes})

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        where = f", sharding={self.sharding}" if self.sharding is not None else ""
        axes = f", manual_axis_type={self.manual_axis_type}" if self.manual_axis_type is not None else ""
        order = f", format={self._layout}" if self._layout is not None else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{where}{order}{weak}{axes})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and all(
            [getattr(self, k) == getattr(other, k) for k in self.__slots__]
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))
