"""What a compiled function is said to cost."""

from __future__ import annotations

from ..api.jit import Entry
from ..graph.op import MAP
from ..graph.walk import toposort
from ..ops.promotion import is_inexact
from .primitives import steps_of

FUNCTIONS = """
acos acosh asin asinh atan atan2 atanh cbrt cos cosh digamma erf erf_inv erfc exp exp2 expm1 lgamma log log1p logistic
pow rsqrt sin sinh sqrt tan tanh
"""
TRANSCENDENTAL = frozenset(FUNCTIONS.split())
"""What is counted apart from other floating-point operations, by JAX's names."""


def operations(entry: Entry) -> dict[str, float]:
    """How many floating-point operations a function consists of, and how many functions that are no such operations:
    of an elementwise one each element is one, of a sum each addition, of a product each product and each addition."""
    count = {"flops": 0.0, "transcendentals": 0.0}
    for n in toposort([*entry.function.outputs, *entry.function.effects], stop=set(entry.function.inputs)):
        if n.op is None or n.dtype is None or not is_inexact(n.dtype):
            continue
        name = steps_of(n)[0].name
        if name in TRANSCENDENTAL:
            count["transcendentals"] += n.aval.size
        elif name == "dot_general":
            count["flops"] += 2.0 * n.aval.size * n.inputs[0].shape[-1]
        elif n.op.name.endswith(".reduce"):
            count["flops"] += max(n.inputs[0].aval.size - n.aval.size, 0)
        elif n.op.kind == MAP and name not in ("convert_element_type", "select_n"):
            count["flops"] += n.aval.size
    return {k: v for k, v in count.items() if v or k == "flops"}


def costs(entry: Entry) -> dict[str, float]:
    """The operations, and bytes of arguments and results."""
    nodes = [n for n in entry.function.outputs if n.dtype is not None]
    moved = float(sum(n.aval.nbytes for n in (*nodes, *entry.function.inputs)))
    return {**operations(entry), "bytes accessed": moved}
