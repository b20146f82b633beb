"""`jax.experimental.hijax`: types of values above arrays, and operations on them. They are not traced here: an
operation on known values runs, one on traced values raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...graph.node import ABSTRACT
from ..array import Array
from ..bind import OwnPrimitive, UndefinedPrimal, Zero, instantiate_zeros
from ..interpreters.ad import is_undefined_primal
from ..tree_util import tree_leaves

__all__ = [
    "AbstractValue",
    "AvalMutableQDD",
    "AvalQDD",
    "HiPrimitive",
    "HiType",
    "MutableHiType",
    "UndefinedPrimal",
    "Zero",
    "aval_method",
    "aval_property",
    "control_flow_allowed_effects",
    "instantiate_zeros",
    "is_undefined_primal",
    "register_hitype",
]


class AbstractValue:
    """The type of a value."""


class HiType(AbstractValue):
    """The type of a value that is made of arrays."""


class MutableHiType(HiType):
    """The type of a value that can be changed."""


class AvalQDD:
    """A type, and what is known of a value of it now."""

    def __init__(self, aval: Any, qdd: Any) -> None:
        self.aval, self.qdd = aval, qdd


class AvalMutableQDD:
    """A type, and what is known of a value of it now, which can change."""

    def __init__(self, aval: Any, mutable_qdd: Any) -> None:
        self.aval, self.mutable_qdd = aval, mutable_qdd


class HiPrimitive(OwnPrimitive):
    """An operation on such values; its rules are methods, `impl` that which computes it."""

    def __init__(self, name: str) -> None:
        self.name, self.lowering = name, None

    def bind(self, *args: Any, **params: Any) -> Any:
        """The result. Raises NotImplementedError for traced arrays."""
        for x in tree_leaves(args):
            if isinstance(x, Array) and x._graph is not None and x._graph.trace == ABSTRACT:
                raise NotImplementedError(f"'{self.name}': operations on values above arrays cannot be traced here")
        return self.impl(*args, **params)


class EffectTypes:
    """Types of effects that may stand in loops and branches."""

    def __init__(self) -> None:
        self.types: set[type] = set()

    def add_type(self, effect_type: type) -> None:
        """Allow one."""
        self.types.add(effect_type)


control_flow_allowed_effects = EffectTypes()
hitypes: dict[type, Callable[[Any], HiType]] = {}


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], HiType]) -> None:
    """Say what type values of a class have."""
    hitypes[val_cls] = typeof_fn


class aval_method:
    """A method that traced values of a type have."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun


class aval_property:
    """A property that traced values of a type have."""

    def __init__(self, fget: Callable[..., Any]) -> None:
        self.fget = fget
