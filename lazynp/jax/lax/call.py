"""How a function of `jax.lax` is called: operands as they are, no promotion, JAX's errors where they do not fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops.elementwise import convert, weak_cast
from ...ops.promotion import Shape
from ...ops.shape import broadcast_to, expand_dims
from ...tracebacks import leave
from ..array import Array, as_node
from ..at_once import apply, widened
from ..dtypes import KIND_OF, is_extended, requested, shown
from ..symbolic import _DimExpr

KINDS = {
    **{"i": "integer", "f": "floating", "c": "complexfloating", "b": "bool"},
    **{"s": "signedinteger", "w": "float32, float64"},
}
Impl = Callable[..., Any]


def argument(name: str, x: Any, i: int = 0) -> Node:
    """The node of an operand. Raises JAX's TypeError for what is no array."""
    try:
        return as_node(x)
    except (TypeError, OverflowError) as error:
        if isinstance(error, OverflowError):
            raise
        raise TypeError(
            f"Error interpreting argument to {name} as a JAX value. The problematic value is of type {type(x)} and was "
            f"passed to {name} at position {i}."
        ) from None


def arguments(name: str, *xs: Any) -> list[Node]:
    return [argument(name, x, i) for i, x in enumerate(xs)]


def kind_of(x: Node) -> str:
    """ "i" for integers of either kind, else "b", "f", "c"."""
    kind = KIND_OF.get(x.dtype, "?")
    return "i" if kind == "u" else kind


def check_kinds(name: str, nodes: Sequence[Node], accepts: Sequence[str], position: bool = False) -> None:
    """Raises JAX's TypeError for a dtype that a function does not take. `position`: says which argument it is, even
    of one."""
    for i, (n, kinds) in enumerate(zip(nodes, accepts)):
        signed, wide = "s" in kinds and KIND_OF.get(n.dtype) == "i", "w" in kinds and n.dtype.str[1:] in ("f4", "f8")
        if kind_of(n) not in kinds and not signed and not wide:
            at = f" at position {i}" if len(nodes) > 1 or position else ""
            names = ", ".join([KINDS[k] for k in kinds])
            raise TypeError(
                f"{name} does not accept dtype {shown(n.dtype).name}{at}. Accepted dtypes{at} are subtypes of {names}."
            )


def check_same_dtypes(name: str, nodes: Sequence[Node], hint: str = "") -> None:
    """Raises JAX's TypeError where dtypes differ: lax does not promote."""
    if len({n.dtype for n in nodes}) > 1:
        text = ", ".join([n.dtype.name for n in nodes])
        tip = f" (Tip: jnp.{hint} is a similar function that does automatic type promotion on inputs)" if hint else ""
        raise TypeError(f"lax.{name} requires arguments to have the same dtypes, got {text}.{tip}{'.' if tip else ''}")


def check_shapes(name: str, nodes: Sequence[Node]) -> None:
    """Raises JAX's TypeError where shapes differ in more than axes of length 1. Scalars go with everything."""
    shapes = [n.shape for n in nodes if n.shape]
    if len({len(s) for s in shapes}) > 1:
        ranks = ", ".join(map(str, sorted({len(s) for s in shapes})))
        raise TypeError(f"{name}: arrays must have the same number of dimensions, got {{{ranks}}}")
    for sizes in zip(*shapes):
        if len(set(sizes) - {1}) > 1:
            raise TypeError(
                f"{name} got incompatible shapes for broadcasting: {', '.join(str(n.shape) for n in nodes)}."
            )


def weak_if_all(impl: Impl) -> Impl:
    """The same, the result weak where all operands are."""

    def call(*nodes: Node, **params: Any) -> Any:
        out = impl(*nodes, **params)
        if all([n.weak for n in nodes]) and not out.weak:
            return weak_cast(out, dtype=out.dtype)
        return convert(out, out.dtype) if out.weak and not all([n.weak for n in nodes]) else out

    return call


def with_axes(name: str, operand: Any) -> Node:
    """The node of an operand that is asked for its axes: a Python scalar has none, which is an AttributeError."""
    operand.ndim  # noqa: B018
    return argument(name, operand)


def nary(
    name: str,
    impl: Impl,
    *accepts: str,
    hint: str = "",
    same: bool = True,
    public_name: str | None = None,
    names: str = "xyz",
    accuracy: bool = False,
) -> Callable[..., Array]:
    """An elementwise function.

    Args:
        name: what errors call it. accepts: for each operand the kinds of its dtype, of "ifcb", "s" for signed integers.
        same: whether all have one dtype. hint: the name of the function of jax.numpy that promotes.
        public_name: what users call it, where that is another. names: of the parameters, a letter each or parted by
            blanks. accuracy: whether it has that parameter, by which XLA may compute less accurately than we do.
    """
    run, compares = weak_if_all(widened(impl)), name in ("eq", "ne")
    own = tuple(names.split() if " " in names else names)[: len(accepts)]

    signature = inspect.Signature(
        [inspect.Parameter(k, inspect.Parameter.POSITIONAL_OR_KEYWORD) for k in own]
        + ([inspect.Parameter("accuracy", inspect.Parameter.KEYWORD_ONLY, default=None)] if accuracy else [])
    )

    def call(*args: Any, **kwargs: Any) -> Array:
        try:
            if kwargs or len(args) != len(accepts):
                bound = signature.bind(*args, **kwargs)
                bound.arguments.pop("accuracy", None)  # our functions have the best there is in any mode
                args = tuple(bound.arguments.values())
            if compares and all([is_extended(getattr(a, "dtype", None)) for a in args]):
                return args[0] == args[1] if name == "eq" else args[0] != args[1]  # keys compare themselves
            nodes = arguments(name, *args)
            if len(nodes) > 1:
                check_shapes(name, nodes)
                check_kinds(name, nodes, accepts)
                if same:
                    check_same_dtypes(name, nodes, hint)
            else:
                check_kinds(name, nodes, accepts)
            return apply(run, *nodes)
        except BaseException as error:
            leave(error)
            raise

    call.__name__ = call.__qualname__ = public_name or name
    call.__module__ = "jax.lax"
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def public(f: Any) -> Any:
    """Mark a function as one of jax.lax: `__all__` of its module lists it."""
    f.__module__ = "jax.lax"
    return f


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """The dtype for one that a user asked for."""
    return requested(dtype)


def axis_of(axis: int, ndim: int) -> int:
    """Counted from the front. Raises ValueError, JAX's, for one that is not there."""
    axis = axis.__index__()
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def sizes_of(shape: Any, unknown: bool = False) -> Any:
    """A shape as plain ints, and sizes with variables. Raises TypeError for what is none. unknown: a size may be
    negative, which stands for one that nobody knows yet (a batch of -1)."""
    if isinstance(shape, _DimExpr):
        return (shape,)
    if hasattr(shape, "__index__"):
        return (shape.__index__(),)
    try:
        out = tuple([n if isinstance(n, _DimExpr) else n.__index__() for n in shape])
    except (AttributeError, TypeError):
        raise TypeError(f"Shapes must be 1D sequences of concrete values of integer type, got {shape}.") from None
    if not unknown and any(n < 0 for n in out):
        raise TypeError(f"shape must have every element be nonnegative, got {out}.")
    return out


def lead(x: Node, n: int) -> Node:
    """n axes of length 1 put in front."""
    return expand_dims(x, *range(n)) if n else x


def spread(x: Node, shape: Shape) -> Node:
    return x if x.shape == shape else broadcast_to(x, shape=shape)


def shapes_of(nodes: Sequence[Node]) -> str:
    return ", ".join([str(n.shape) for n in nodes])
