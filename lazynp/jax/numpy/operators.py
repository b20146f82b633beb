"""The operators of `Array`. Beside what is no array they return NotImplemented: adding a list is a TypeError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import Array, is_arraylike, own_form
from ..hot_calls import HotCall
from .call import COMMON, binary
from .elementwise import BINARY, HOSTS, power_, table, weak_beside

OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "divmod": "divmod",
}
SEVERAL = frozenset({"left_shift", "right_shift", "divmod"})
"""Functions that are made of several operations."""
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
CONTAINERS = (list, tuple, set, dict)
UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "** or pow()",
    "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
"""How an operator is written, by the name of its method."""


def deferring(f: Callable[[Any, Any], Any], sign: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """f of the array and the other operand, NotImplemented where the other is no array.

    Raises: TypeError for Python's containers, which would compare by identity otherwise.
    """

    def call(self: Any, other: Any) -> Any:
        if is_arraylike(other):
            other = own_form(other)
            return f(other, self) if swapped else f(self, other)
        if type(other) in CONTAINERS:
            pair = [repr(type(x).__name__) for x in ((other, self) if swapped else (self, other))]
            raise TypeError(f"unsupported operand type(s) for {sign}: {' and '.join(pair)}")
        return NotImplemented

    return call


def operator_of(short: str, name: str) -> Callable[[Any, Any], Any]:
    f = power_ if name == "power" else HotCall(table[name]) if name in SEVERAL else table[name]
    mode, _, _, chars = BINARY.get(name, (COMMON, "", None, ""))
    return binary(
        f"__{short}__",
        deferring(f, SIGNS.get(short, f"{short}()")),
        HOSTS.get(name) or getattr(np, name),
        chars,
        None,
        mode,
        weak_beside(name),
    )


def set_operators() -> None:
    """Give `Array` its operators."""
    for short, name in {**OPERATORS, **COMPARISONS}.items():
        setattr(Array, f"__{short}__", operator_of(short, name))
    for short, name in OPERATORS.items():
        reflected = deferring(table[name], SIGNS.get(short, f"{short}()"), swapped=True)
        reflected.__name__ = reflected.__qualname__ = f"__r{short}__"
        setattr(Array, f"__r{short}__", reflected)
    for short, name in UNARY.items():
        f = table[name]
        setattr(Array, f"__{short}__", lambda self, f=f: f(self))


set_operators()
