"""`jax.custom_derivatives`: functions with derivatives that a user wrote, and zeros that these rules can see."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..api import custom
from ..api.custom import Forward, Reverse, Rule, custom_gradient
from ..api.differentiate import tangent_node
from ..doors import FLOAT0, through
from ..errors import UnexpectedTracerError
from ..graph.node import Node
from ..ops.promotion import is_inexact
from ..ops.shape import zeros_of
from ..ops.tags import Nodes, Tangents
from ..signatures import held, name_of, others, positional
from ..tree import NAMESPACE, flatten, unflatten
from .array import Array, as_node, door, wrap
from .aval import ShapedArray
from .dtypes import canonical, check_dtype
from .linear_calls import linear_call
from .primitives import primitive_of
from .reference_loops import ruled_with_references
from .references import among
from .tree_util import tree_map

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]
closure_convert = through(custom.closure_convert, door)
custom_jvp_call_p = primitive_of("custom_jvp_call")
custom_vjp_call_p = primitive_of("custom_vjp_call")
Fun = Callable[..., Any]


class SymbolicZero:
    """A tangent or cotangent that is zero, of that type, without an array. Rules that ask for it get it."""

    symbolic = True

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.aval, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolicZero) and self.aval == other.aval

    def __hash__(self) -> int:
        return hash(self.aval)

    @staticmethod
    def from_primal_value(val: Any) -> SymbolicZero:
        """The zero tangent of a value."""
        return SymbolicZero(ShapedArray(*as_node(val).aval).to_tangent_aval())


def instantiated(zero: SymbolicZero) -> Any:
    """A symbolic zero as an array: NumPy's, where its dtype is float0."""
    aval = zero.aval
    return np.zeros(aval.shape, aval.dtype) if aval.dtype == FLOAT0 else wrap(zeros_of(aval))


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangents of a tree of values."""
    zeros = tree_map(SymbolicZero.from_primal_value, val)
    return zeros if symbolic_zeros else tree_map(instantiated, zeros)


@dataclasses.dataclass(frozen=True)
class CustomVJPPrimal:
    """An argument of a fwd rule that asks for symbolic zeros: its value, and whether a derivative is taken along it."""

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The tree with the values of the arguments in it."""
    return tree_map(lambda p: p.value, tree, is_leaf=lambda p: isinstance(p, CustomVJPPrimal))


def symbolic(found: Tangents, like: Nodes, structure: Any, wrap: Fun) -> Any:
    """Tangents or cotangents as a rule sees them that asked for symbolic zeros."""
    given = [
        wrap(t) if t is not None else SymbolicZero(ShapedArray(*n.aval).to_tangent_aval()) for n, t in zip(like, found)
    ]
    return unflatten(structure, given)


class SymbolicForward(Forward):
    """The rule of a `custom_jvp` that asks for symbolic zeros."""

    symbolic_zeros = True

    def along(self, found: Tangents, like: Nodes, structure: Any) -> Any:
        return symbolic(found, like, structure, self.door.wrap)


def without_zeros(rule: Fun) -> Fun:
    """A rule of a `custom_jvp` whose tangents are arrays throughout."""

    @functools.wraps(getattr(rule, "func", rule))
    def call(*args: Any) -> Any:
        pair = rule(*args)
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            return pair
        return pair[0], tree_map(
            lambda t: np.zeros(t.aval.shape, t.aval.dtype) if isinstance(t, SymbolicZero) else t, pair[1]
        )

    return call


def rule_setter(of: Any, name: str) -> Any:
    """What sets another kind of rule of the function that one of these stands around. Raises AttributeError for all
    else that it has not."""
    if name in ("def_vmap", "defjvp", "defjvps", "defvjp"):
        return getattr(of.fun, name)
    raise AttributeError(f"{type(of).__name__!r} object has no attribute {name!r}")


PLAIN = (Array, np.ndarray, np.generic, bool, int, float, complex)


def checked(x: Any) -> Any:
    """A leaf. Raises TypeError for what is no array."""
    if not isinstance(x, PLAIN):
        as_node(x)
    return x


def in_dtypes(x: Any) -> Any:
    """An argument as JAX gives it to the function: NumPy's in JAX's dtypes. Raises TypeError for what is no array."""
    return np.asarray(x, canonical(check_dtype(x.dtype))) if isinstance(x, (np.ndarray, np.generic)) else checked(x)


def called(of: Any, call: Fun, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a function with a rule. Raises TypeError for an argument or a result that is no array."""
    given = positional(of.fun, args, kwargs, type(of).__name__)
    free = others(of.nondiff_argnums, len(given))
    given = tuple([tree_map(in_dtypes, x) if i in free else x for i, x in enumerate(given)])
    return tree_map(checked, call(*given))


class custom_jvp(custom.custom_jvp):
    """A function with a forward rule of its own. `nondiff_argnums` as in `Custom`.

    With `defjvp(rule, symbolic_zeros=True)` the rule gets a `SymbolicZero` for each tangent that is zero.
    """

    def __getattr__(self, name: str) -> Any:
        return rule_setter(self, name)

    symbolic_zeros = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return called(self, super().__call__, args, kwargs)

    def defjvp(self, jvp: Fun, symbolic_zeros: bool = False) -> Fun:
        """Set the rule: `(*nondiff, primals, tangents) -> (primal_out, tangent_out)`, linear in the tangents."""
        self.symbolic_zeros = symbolic_zeros
        return super().defjvp(jvp)

    def rule(self, static: Sequence[Any], args: tuple[Any, ...], free: Sequence[int]) -> Rule | None:
        if self.jvp is None:
            return None
        call = without_zeros(functools.partial(self.jvp, *static))
        return (SymbolicForward if self.symbolic_zeros else Forward)(name_of(self.fun), call)


class Partial(Reverse):
    """The rule of a `custom_vjp`, whose cotangents may be None for whole subtrees of arguments. Raises TypeError for
    what fwd keeps that is no array or number."""

    def forward(self, args: Any) -> tuple[Any, list[Node], tuple[Any, list[Any], list[int]]]:
        found = super().forward(args)
        for i, x in enumerate(found[2][1]):
            if i not in found[2][2]:
                as_node(x)
        return found

    def checked(self, found: Any, inputs: Nodes) -> list[Node | None]:
        structures = self.structure.children()[0].children()  # type: ignore[attr-defined]
        given = tuple(found) if type(found) is list else found
        if not isinstance(given, tuple) or len(given) != len(structures):
            return super().checked(found, inputs)
        leaves: list[Any] = []
        for ct, structure in zip(given, structures):
            part = spread_none(ct, structure)
            if part is None:
                return super().checked(found, inputs)
            leaves += part
        nodes = [None if c is None else tangent_node(self.door, c) for c in leaves]
        for n, c in zip(inputs, nodes):
            if c is not None and is_inexact(n.dtype) and (c.shape, c.dtype) != (n.shape, n.dtype):
                return super().checked(found, inputs)
        return nodes


def spread_none(ct: Any, structure: Any) -> list[Any] | None:
    """A cotangent for each leaf of a structure; None stands for all below it. None where the tree is another."""
    if ct is None or isinstance(ct, SymbolicZero):
        return [None] * structure.num_leaves
    if structure.is_leaf():
        return [ct] if flatten(ct)[1].is_leaf() else None
    try:
        children, _, entries, _ = optree.tree_flatten_one_level(ct, namespace=NAMESPACE)
    except ValueError:
        return None
    parts = structure.children()
    if type(ct) is not structure.type or list(entries) != list(structure.entries()):
        return None
    found = [spread_none(c, s) for c, s in zip(children, parts)]
    return None if None in found else [x for part in found for x in part or ()]


class SymbolicReverse(Partial):
    """The rule of a `custom_vjp` that asks for symbolic zeros."""

    symbolic_zeros = True

    def arguments(self, nodes: Nodes) -> Any:
        leaves, structure = flatten(super().arguments(nodes))
        return unflatten(structure, [CustomVJPPrimal(x, live) for x, live in zip(leaves, self.live)])

    def along(self, found: Tangents, like: Nodes, structure: Any) -> Any:
        return symbolic(found, like, structure, self.door.wrap)

    def vjp(self, outs: Nodes, kept: Nodes, inputs: Nodes, cts: Tangents, live: Sequence[bool]) -> Tangents:
        if not self.done:
            self.live = live
        return super().vjp(outs, kept, inputs, cts, live)


class custom_vjp(custom.custom_vjp):
    """A function with a reverse rule of its own; forward mode through it raises TypeError. `nondiff_argnums` as in
    `Custom`.

    With `defvjp(fwd, bwd, symbolic_zeros=True)` fwd gets a `CustomVJPPrimal` for each array, and bwd a `SymbolicZero`
    for each cotangent that is zero.
    """

    def __getattr__(self, name: str) -> Any:
        return rule_setter(self, name)

    symbolic_zeros = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not among((args, kwargs)):
            return called(self, super().__call__, args, kwargs)
        return ruled_with_references(self, positional(self.fun, args, kwargs, "custom_vjp"))

    def defvjp(self, fwd: Fun, bwd: Fun, symbolic_zeros: bool = False, optimize_remat: bool = False) -> None:
        """Set the rules. fwd has the arguments of the function, bwd those of `nondiff_argnums` before its own two.

        Raises: NotImplementedError for `symbolic_zeros` with `optimize_remat`.
        """
        if symbolic_zeros and optimize_remat:
            raise NotImplementedError("remat optimization for custom_vjp does not support symbolic zeros")
        self.symbolic_zeros = symbolic_zeros
        super().defvjp(fwd, bwd)

    def rule(self, static: Sequence[Any], args: tuple[Any, ...], free: Sequence[int]) -> Rule | None:
        if self.rules is None:
            return None
        if custom.traced_level(static):
            raise UnexpectedTracerError(
                "Found a JAX Tracer object passed as an argument to a custom_vjp function in a position indicated by "
                "nondiff_argnums as non-differentiable. Its rule has no place for its cotangent: pass it as an "
                "argument that is differentiated along, and return None or zeros for it in the rule."
            )
        fwd, bwd = self.rules
        fun = held(fwd, args, {}, free)[0]
        return (SymbolicReverse if self.symbolic_zeros else Partial)(
            name_of(self.fun), fun, functools.partial(bwd, *static), self
        )
