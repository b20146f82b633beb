"""`jax.interpreters.mlir`: how a primitive is computed inside `jit`, as far as it is said by JAX's functions.

There is no MLIR here. A lowering that `lower_fun` makes of a function is that function; one that writes MLIR is kept
out: where a primitive has no implementation besides, calling it says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..bind import Primitive

__all__ = ["LoweringRule", "lower_fun", "register_lowering"]
LoweringRule = Callable[..., Any]


class Lowered:
    """A lowering that is a function of arrays."""

    def __init__(self, fun: Callable[..., Any], multiple_results: bool) -> None:
        self.fun, self.multiple_results = fun, multiple_results

    def __call__(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError("Lowering rules are not called by hand: there is no MLIR here.")


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True, **_: Any) -> Lowered:
    """The lowering that a function of arrays is."""
    return Lowered(fun, multiple_results)


def register_lowering(
    prim: Primitive, rule: LoweringRule, platform: str | None = None, inline: bool = True, cacheable: bool = True
) -> LoweringRule:
    """Say how a primitive is computed for traced arguments: by the function of a rule that `lower_fun` made.

    A rule in MLIR is not read: the implementation (`def_impl`) is used, and a primitive without one raises
    NotImplementedError, with advice, when it is bound. One for which no rule was given does not run inside `jit`.
    """
    prim.is_lowered |= platform in (None, "cpu")
    if isinstance(rule, Lowered) and platform in (None, "cpu"):
        many, fun = rule.multiple_results, rule.fun
        if many and not prim.multiple_results:
            prim.lowering = lambda *args, **params: fun(*args, **params)[0]
        else:
            prim.lowering = fun
    return rule
