"""Arrays of which each device has a summand, along explicit axes of a mesh: `P("x", unreduced={"y"})`, and those whose
cotangents are such (`reduced`). The buffer has the sum; what is kept here is which operations may see summands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.node import Node
from .sharding import NamedSharding, PartitionSpec, Sharding, axes_of
from .splits import NoRuleError, primitive, shown, split_of, unclear

Axes = frozenset[Any]
NOTHING: Axes = frozenset()
LINEAR = frozenset(
    (
        *("reshape", "transpose", "broadcast_to", "slice", "concatenate", "alias", "pick", "pad", "dynamic_slice"),
        *("convert_element_type", "sharding_constraint", "weak_cast", "reduce_sum"),
    )
)
"""Operations that give the sum of what they give for the summands."""


def pending(lies: Sharding | None) -> tuple[Axes, Axes]:
    """Along which axes devices have summands of an array, and along which they have those of its cotangent."""
    return (lies.spec.unreduced, lies.spec.reduced) if isinstance(lies, NamedSharding) else (NOTHING, NOTHING)


def with_pending(lies: NamedSharding, unreduced: Axes, reduced: Axes) -> NamedSharding:
    """A sharding that says so."""
    spec: PartitionSpec = PartitionSpec(*lies.spec.partitions, unreduced=unreduced, reduced=reduced)
    return lies.update(spec=spec)


def typed(a: Node, lies: Sharding | None) -> str:
    """`float32[8@x]{U:y}`."""
    return shown(a, split_of(lies, a.ndim)) + suffix(*pending(lies))


def suffix(unreduced: Axes, reduced: Axes, varying: Sequence[Any] = ()) -> str:
    """What a type says of how values differ between devices: `{V:x, U:y}`."""
    parts = [f"V:{text(varying)}"] if varying else []
    parts += [f"{k}:{text(sorted(axes, key=str))}" for k, axes in (("U", unreduced), ("R", reduced)) if axes]
    return f"{{{', '.join(parts)}}}" if parts else ""


def text(axes: Sequence[Any]) -> str:
    names = list(map(str, axes))
    return names[0] if len(names) == 1 else f"({','.join(names)})"


def of_result(node: Node, found: Sequence[Sharding | None]) -> tuple[Axes, Axes]:
    """Along which axes devices have summands of a result, and those of its cotangent.

    Raises: ShardingTypeError for operands that do not go together, NotImplementedError for what is not linear.
    """
    arrays = [(a, s) for a, s in zip(node.inputs, found) if a.dtype is not None]
    sums = [pending(s)[0] for _, s in arrays]
    name = primitive(node)
    reduced = NOTHING if name == "dot_general" else agreed_reduced(arrays)
    if not any(sums):
        return NOTHING, reduced
    if name == "add":
        return sums_added(sums), reduced
    if name == "mul":
        return sums_multiplied(arrays, sums)
    if name == "dot_general":
        unclear(
            "lhs or rhs passed to dot_general cannot be unreduced. Got "
            f"{' and '.join([f'{k}=ShapedArray({typed(a, s)})' for k, (a, s) in zip(('lhs', 'rhs'), arrays)])}"
        )
    if node.op.name not in LINEAR and name not in LINEAR:  # type: ignore[union-attr]
        raise NoRuleError(
            f"unreduced rule for {name} is not implemented. Please file an issue at "
            "https://github.com/jax-ml/jax/issues"
        )
    different = {s for s in sums if s}
    if len(different) > 1:
        unclear(f"All operands should be unreduced along the same mesh axes. Got unreduced specs: {different}")
    return next(iter(different)), reduced


def agreed_reduced(arrays: Sequence[tuple[Node, Sharding | None]]) -> Axes:
    """Along which axes the operands' cotangents are summands."""
    different = {pending(s)[1] for _, s in arrays if pending(s)[1]}
    if len(different) > 1:
        unclear(f"All inputs should be reduced across the same mesh axes. Got specs: {different}")
    axes = next(iter(different), NOTHING)
    for a, s in arrays if axes else ():
        if isinstance(s, NamedSharding) and axes & {n for part in s.spec.partitions for n in axes_of(part)}:
            unclear(
                "Inputs cannot be sharded/varying on the same axes that another input is reduced on. Reshard the input "
                "which is reduced to be sharded on the mesh axes it is reduced on via `jax.sharding.reshard(inp, "
                f"jax.P(...))`. Got input type: {typed(a, s)} and reduced spec: {axes}"
            )
    return axes


def sums_added(sums: Sequence[Axes]) -> Axes:
    one, other = sums
    if one and other and one != other:
        unclear(f"lhs and rhs to `add` must be unreduced along the same mesh axes. Got lhs={one}, rhs={other}")
    if not (one and other):
        names = ("lhs", "rhs") if one else ("rhs", "lhs")
        unclear(
            f"{names[0]} is unreduced while {names[1]} is not. `add` operation does not allow this because there will "
            f"be implicit communication. Please reduce {names[0]} via `reshard` before calling `add`."
        )
    return one or other


def sums_multiplied(arrays: Sequence[tuple[Node, Sharding | None]], sums: Sequence[Axes]) -> tuple[Axes, Axes]:
    one, other = sums
    if one and other:
        unclear(f"lhs and rhs to `mul` cannot be unreduced since mul is bilinear. Got lhs={one}, rhs={other}")
    i = 0 if one else 1
    if sums[i] != pending(arrays[1 - i][1])[1]:
        names = ("LHS", "RHS")
        lhs, rhs = [typed(a, s) for a, s in arrays]
        unclear(
            f"{names[1 - i]} should be reduced along the same axes {names[i]} is unreduced on. Got lhs={lhs} and "
            f"rhs={rhs}"
        )
    return sums[i], NOTHING
