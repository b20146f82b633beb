"""What Python asks of an array of one element: to be true or false, a number, an index, or text in a format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import bool_error, concretization_error, integer_error
from ..graph.node import ABSTRACT
from .dependence import differentiated
from .device_views import value_here
from .dtypes import KIND_OF

if TYPE_CHECKING:
    Base = Any  # what `Array` has: `_graph`, `_value`, `_absent`, `shape`, `dtype`
else:
    Base = object


class AsNumber(Base):
    """The part of `Array` that makes numbers of Python's of it. A traced array raises what says so in JAX's words."""

    __slots__ = ()

    def __bool__(self) -> bool:
        if self.size != 1:
            if self.size == 0:
                raise ValueError(
                    "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is "
                    "not empty."
                )
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        node = self._graph
        if node is not None and node.trace == ABSTRACT:
            if (value := value_here(node)) is not None:
                return bool(value)
            raise bool_error(node)
        return bool(self._value())

    def _scalar(self, what: str) -> Any:
        if self.shape:
            raise TypeError(f"Only scalar arrays can be converted to Python scalars; got arr.ndim={self.ndim}")
        node = self._graph
        if node is not None and (node.trace == ABSTRACT or what != "int" and differentiated(node)):
            raise concretization_error(
                node,
                f"The problem arose with the `{what}` function. To convert the dtype, try using `x.astype({what})` or "
                f"`jnp.array(x, {what})` instead.",
            )
        value = self._value()[()]
        return value.item() if value.dtype.kind == "c" else value  # Python's error where it wants a real number

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        node = self._graph
        value = None if node is None or node.trace != ABSTRACT else value_here(node)
        if value is None and node is not None and node.trace == ABSTRACT:
            raise integer_error(node)
        if self.shape or KIND_OF.get(self.dtype) not in ("i", "u"):
            raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
        return int((self._value() if value is None else value)[()])

    def __hex__(self) -> str:
        return hex(self.__index__())

    def __oct__(self) -> str:
        return oct(self.__index__())

    def __round__(self, ndigits: int | None = None) -> Any:
        out = self.round(ndigits or 0)
        return out if ndigits is not None else out.astype(int)

    def __format__(self, spec: str) -> str:
        node = self._graph
        if node is not None and node.trace == ABSTRACT or self._absent():
            if spec:
                raise TypeError(f"unsupported format string passed to a traced {type(self).__name__}.__format__")
            return format(repr(self), spec)
        value = self._value()
        return format(value if value.ndim else value[()], spec)
