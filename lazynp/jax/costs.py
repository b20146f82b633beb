"""What a compiled function is said to cost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..api.jit import Entry
from ..graph.node import Node
from ..graph.op import MAP
from ..graph.walk import toposort
from ..ops.promotion import is_inexact
from .primitives import steps_of
from .sharding import Sharding

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


Placed = tuple[Node, Sharding | None]


@dataclass(frozen=True)
class CompiledMemoryStats:
    """Bytes of memory of a compiled function, on each of its devices: of arguments and results, of arguments whose
    memory results may take, and at most. What it holds on the way, and its code, are not known before it runs, and are
    counted as none; the host's memory is that of its devices."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    peak_memory_in_bytes: int
    temp_size_in_bytes: int = 0
    generated_code_size_in_bytes: int = 0
    host_argument_size_in_bytes: int = 0
    host_output_size_in_bytes: int = 0
    host_alias_size_in_bytes: int = 0
    host_temp_size_in_bytes: int = 0
    host_generated_code_size_in_bytes: int = 0


def memory_of(arguments: Iterable[Placed], results: Iterable[Placed], donated: Iterable[Placed]) -> CompiledMemoryStats:
    """Of nodes and how each lies. Several results are a tuple, with an address for each of them."""
    results = list(results)
    taken, given = size(arguments), size(results) + 8 * len(results) * (len(results) > 1)
    shared = min(size(donated), given)
    return CompiledMemoryStats(taken, given, shared, taken + given - shared)


def size(nodes: Iterable[Placed]) -> int:
    """The bytes that one device has of arrays; those that lie nowhere are not used."""
    return sum([math.prod(s.shard_shape(n.shape)) * n.dtype.itemsize for n, s in nodes if n.dtype is not None and s])
