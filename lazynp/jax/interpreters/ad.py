"""`jax.interpreters.ad`: derivatives of primitives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..array import Array
from ..aval import ShapedArray
from ..bind import Primitive, UndefinedPrimal, Zero, instantiate_zeros, jvps, transposes
from ..derivatives import jvp, linearize
from ..numpy import add, zeros

__all__ = [
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "jvp",
    "linearize",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]


class OfDerivatives(type):
    """Whose instances are arrays, of which the graph says whether they are one."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Array) and hasattr(x, "_trace")


class JVPTracer(metaclass=OfDerivatives):
    """An array that depends on arguments which `find_top_trace` was asked about. It is none that could be made."""


primitive_jvps = jvps
primitive_transposes = transposes
Rule = Callable[..., Any]


def is_undefined_primal(x: Any) -> bool:
    """Whether a transpose rule got it for an argument that the primitive is linear in."""
    return isinstance(x, UndefinedPrimal)


def zeros_like_aval(aval: ShapedArray) -> Any:
    """An array of zeros."""
    return zeros(aval.shape, aval.dtype)


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents; a `Zero` yields to the other."""
    if isinstance(x, Zero):
        return y
    return x if isinstance(y, Zero) else add(x, y)


add_jaxvals = add_tangents


def sum_tangents(parts: list[Any], out: Any) -> Any:
    total: Any = Zero.from_primal_value(out)
    for t in parts:
        total = add_tangents(total, t)
    return total


def get_primitive_transpose(primitive: Primitive) -> Rule:
    """The transpose rule. Raises NotImplementedError where there is none."""
    if primitive not in transposes:
        raise NotImplementedError(
            f"Transpose rule (for reverse-mode differentiation) for '{primitive}' not implemented"
        )
    return transposes[primitive]


def defjvp(primitive: Primitive, *rules: Rule | None) -> None:
    """Set a rule for each argument: `(tangent, *primals, **params) -> tangent`; None where it is zero."""
    defjvp2(primitive, *[None if f is None else drop_result(f) for f in rules])


def drop_result(rule: Rule) -> Rule:
    return lambda t, out, *primals, **params: rule(t, *primals, **params)


def defjvp2(primitive: Primitive, *rules: Rule | None) -> None:
    """Set a rule for each argument: `(tangent, result, *primals, **params) -> tangent`; None where it is zero."""

    def along(primals: Any, tangents: Any, **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        parts = [
            f(t, out, *primals, **params) for f, t in zip(rules, tangents) if f is not None and not isinstance(t, Zero)
        ]
        return out, sum_tangents(parts, out)

    jvps[primitive] = along


def linear_jvp(primitive: Primitive, primals: Any, tangents: Any, **params: Any) -> Any:
    out = primitive.bind(*primals, **params)
    if all(isinstance(t, Zero) for t in tangents):
        if primitive.multiple_results:
            return out, [Zero.from_primal_value(x) for x in out]
        return out, Zero.from_primal_value(out)
    return out, primitive.bind(*map(instantiate_zeros, tangents), **params)


def deflinear2(primitive: Primitive, transpose_rule: Rule) -> None:
    """Say that it is linear in all arguments: `(ct, *args, **params)` -> their cotangents."""
    jvps[primitive] = partial(linear_jvp, primitive)
    transposes[primitive] = transpose_rule


def deflinear(primitive: Primitive, transpose_rule: Rule) -> None:
    """Say that it is linear in all arguments: `(ct, **params)` -> their cotangents."""

    def transpose(cts: Any, *args: Any, **params: Any) -> Any:
        given = cts if primitive.multiple_results else [cts]
        if all(isinstance(c, Zero) for c in given):
            return [Zero(a.aval if is_undefined_primal(a) else ShapedArray(a.shape, a.dtype)) for a in args]
        whole = [instantiate_zeros(c) for c in given]
        return transpose_rule(whole if primitive.multiple_results else whole[0], **params)

    deflinear2(primitive, transpose)


def defbilinear(primitive: Primitive, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """Say that it is linear in each of its two arguments: `(ct, x, y, **params)` -> the cotangent of one."""

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> Any:
        if is_undefined_primal(x) == is_undefined_primal(y):
            raise ValueError(f"{primitive} is linear in one argument at a time")
        if isinstance(ct, Zero):
            return [Zero(a.aval) if is_undefined_primal(a) else None for a in (x, y)]
        if is_undefined_primal(x):
            return lhs_rule(ct, x, y, **params), None
        return None, rhs_rule(ct, x, y, **params)

    defjvp(
        primitive,
        lambda t, x, y, **params: primitive.bind(t, y, **params),
        lambda t, x, y, **params: primitive.bind(x, t, **params),
    )
    transposes[primitive] = transpose
