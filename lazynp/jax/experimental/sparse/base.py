"""`JAXSparse`: what sparse arrays of all formats have."""

from __future__ import annotations

import abc
import math
import operator
from collections.abc import Sequence
from typing import Any

from ...array import Array


class JAXSparse(abc.ABC):
    """A sparse array: its elements, where they are, and the shape of the whole.

    Attributes:
        data: the elements that are kept. whole: the shape that it was made with.
    """

    data: Any
    whole: tuple[int, ...]
    __hash__: Any = None
    __array_priority__ = 100

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]) -> None:
        self.whole = tuple(map(operator.index, shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the dense array."""
        return self.whole

    @property
    @abc.abstractmethod
    def dtype(self) -> Any:
        """Of the elements."""

    @property
    @abc.abstractmethod
    def nse(self) -> int:
        """How many elements are kept (of each batch)."""

    @abc.abstractmethod
    def tree_flatten(self) -> Any:
        """The arrays that it consists of, and the rest."""

    @classmethod
    @abc.abstractmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> Any:
        """The array for the two."""

    @abc.abstractmethod
    def transpose(self, axes: Any = None) -> Any:
        """The axes in another order."""

    @abc.abstractmethod
    def todense(self) -> Array:
        """The dense array."""

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        """How many elements it has, those that are not kept too."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def T(self) -> Any:
        """The axes in reverse order."""
        return self.transpose()

    def block_until_ready(self) -> Any:
        """The array, with its values computed."""
        for part in self.tree_flatten()[0]:
            part.block_until_ready()
        return self

    def like(self, data: Any) -> Any:
        """With other elements at the same places, where the format has that."""
        raise self._refused("like")

    def _described(self) -> str:
        """Dtype, shape and layout, as `repr` shows them."""
        name = getattr(self.dtype, "name", self.dtype)
        parts = [f"nse={self.nse}"]
        parts += [f"{k}={n}" for k in ("n_batch", "n_dense") if (n := getattr(self, k, 0))]
        return f"{name}{list(self.shape)}, {', '.join(parts)}"

    def __repr__(self) -> str:
        try:
            return f"{type(self).__name__}({self._described()})"
        except (AttributeError, IndexError, TypeError, ValueError):  # what tree functions put in place of arrays
            return f"{type(self).__name__}(<invalid>)"

    def _refused(self, operation: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self)}.{operation}")

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """The sum along axes, where the format has it."""
        raise self._refused("sum")

    def __neg__(self) -> Any:
        raise self._refused("__neg__")

    def __pos__(self) -> Any:
        raise self._refused("__pos__")

    def __matmul__(self, other: Any) -> Any:
        raise self._refused("__matmul__")

    def __rmatmul__(self, other: Any) -> Any:
        raise self._refused("__rmatmul__")

    def __mul__(self, other: Any) -> Any:
        raise self._refused("__mul__")

    def __rmul__(self, other: Any) -> Any:
        raise self._refused("__rmul__")

    def __add__(self, other: Any) -> Any:
        raise self._refused("__add__")

    def __radd__(self, other: Any) -> Any:
        raise self._refused("__radd__")

    def __sub__(self, other: Any) -> Any:
        raise self._refused("__sub__")

    def __rsub__(self, other: Any) -> Any:
        raise self._refused("__rsub__")

    def __getitem__(self, item: Any) -> Any:
        raise self._refused("__getitem__")


def is_sparse(x: Any) -> bool:
    """Whether it is a sparse array."""
    return isinstance(x, JAXSparse)
