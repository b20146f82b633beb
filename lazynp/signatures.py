"""Users' functions and what they are called with: names, places, arguments that are held fixed. Knows no graph."""

from __future__ import annotations

import inspect
import operator
import os
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import optree

from .bounded import Bounded

Fun = Callable[..., Any]
NAMESPACE = "lazynp"  # of the pytree nodes that are registered with optree
HOLE = ()
"""Stands for a static argument among the others: a tree without leaves."""


def callable_(fun: Any) -> Fun:
    """fun itself. Raises TypeError where it cannot be called."""
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {fun}")
    return fun


def name_of(f: Any) -> str:
    """The name of a function, of a partial's function, of a callable object's class."""
    while hasattr(f, "func"):
        f = f.func
    return getattr(f, "__name__", None) or type(f).__name__


def place_of(f: Any) -> str:
    """` at file:line` of a function's definition; empty for what has none."""
    try:
        f = inspect.unwrap(f)
        while hasattr(f, "func"):
            f = f.func
        code = getattr(f, "__code__", None) or type(f).__call__.__code__
    except (AttributeError, ValueError):
        return ""
    file = code.co_filename
    return f" at {os.path.relpath(file) if os.sep in file else file}:{code.co_firstlineno}"


def renamed(f: Any, name: str) -> Any:
    """The same plain function under another name, which is its own."""
    out = FunctionType(f.__code__, f.__globals__, name, f.__defaults__, f.__closure__)
    out.__kwdefaults__, out.__doc__, out.__module__ = f.__kwdefaults__, f.__doc__, f.__module__
    out.__qualname__ = name
    return out


def leaf_names(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """`x`, `params['w']`: for each leaf of the arguments."""
    try:
        bound = inspect.signature(f).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {**{f"args[{i}]": a for i, a in enumerate(args)}, **kwargs}
    names = []
    for name, value in bound.items():
        paths = optree.tree_paths(value, namespace=NAMESPACE)
        names += [name + "".join(f"[{k!r}]" for k in path) for path in paths]
    return names


def labelled(new: Any, fun: Fun, what: str) -> Fun:
    """The new function with the user's name, and a docstring that says what it is."""
    new.__module__, new.__doc__ = getattr(fun, "__module__", ""), f"{what} of {name_of(fun)}."
    new.__name__ = new.__qualname__ = name_of(fun)
    new.__wrapped__ = fun
    return new


def pair_of(kind: str, rule: Fun, found: Any, name: str) -> Any:
    """What a user's rule ("JVP" or "VJP fwd") gave, which has to be a pair. Raises TypeError."""
    if isinstance(found, (list, tuple)) and len(found) == 2:
        return found
    own = name_of(rule)
    text = f"Custom {kind} rule {own} for function {name} must produce a pair (list or tuple of length two) "
    if kind == "JVP":
        raise TypeError(f"{text}representing primal and tangent outputs, but got {found}.")
    raise TypeError(
        f"{text}where the first element represents the primal output (equal to those of the custom_vjp-decorated "
        f"function {name}) and the second element represents residuals (i.e. values stored from the forward pass for "
        f"use on the backward pass), but instead of a pair the fwd rule {own} produced {found}."
    )


def check_primals(kind: str, rule: Fun, name: str, found: Any, wanted: Any) -> None:
    """Raise TypeError where the first of what a user's rule gave is not as the function's result.

    Args:
        found, wanted: the structures and the nodes of both; no nodes where only the structure is known.
    """
    (given, nodes), (structure, outs) = found, wanted
    types = [[str(n.aval) for n in side] for side in (nodes, outs or nodes)]
    if given == structure and types[0] == types[1]:
        return
    what = "shapes/dtypes of" if given == structure else "container/pytree structure"
    like = "with leaves of the same shape/dtype" if given == structure else "of the same container/pytree structure"
    decorated = f"custom_{kind[:3].lower()}-decorated function {name}"
    equal = f"(equal in value to the output of the {decorated}, and in particular {like})"
    if kind != "JVP":
        equal = (
            f"(equal to the output of the {decorated}) and the second element represents residuals (i.e. values stored "
            "from the forward pass for use on the backward pass)"
        )
    shown = [str(optree.tree_unflatten(t, (x + ["*"] * t.num_leaves)[: t.num_leaves])).replace("'", "")
             for t, x in zip((given, structure), types)]  # fmt: skip
    raise TypeError(
        f"Custom {kind} rule {name_of(rule)} for function {name} must produce a pair (list or tuple of length two) "
        f"where the first element represents the primal output {equal}, but instead the {kind.removeprefix('VJP ')} "
        f"rule output's first element had {what}:\n    {shown[0]}\nwhile the {decorated} had output {what}:\n    "
        f"{shown[1]}."
    )


# --- Arguments by place -----------------------------------------------------------------------------------------------


def tuple_of(x: Any) -> tuple[Any, ...]:
    """Of what is one place or name, several, or None."""
    return () if x is None else (x,) if isinstance(x, (int, str)) else tuple(x)


def check_places(argnums: Any, places: Sequence[int], count: int, error: type[Exception]) -> None:
    """Raise TypeError, or `error`, where there are not so many positional arguments; ValueError for what is before the
    first one."""
    most, least = max(places), min(places)
    if most >= count and error is TypeError:
        raise TypeError(
            f"differentiating with respect to {argnums=} requires at least {most + 1} positional arguments to be "
            f"passed by the caller, but got only {count} positional arguments."
        )
    if most >= count or least < -count:
        raise ValueError(
            "Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to "
            f"-len(args) and less than len(args), but got value {most if most >= count else least} for len(args) == "
            f"{count}."
        )


def held(fun: Fun, args: Sequence[Any], kwargs: dict[str, Any], free: Sequence[int]) -> tuple[Fun, tuple[Any, ...]]:
    """fun as a function of the arguments at the free places, the others held fixed; and these arguments."""

    fixed = [None if i in free else x for i, x in enumerate(args)]  # the others are not to live as long as the function

    def call(*new: Any, **named: Any) -> Any:
        full = list(fixed)
        for i, x in zip(free, new):
            full[i] = x
        return fun(*full, **{**kwargs, **named})

    return call, tuple([args[i] for i in free])


def others(places: Sequence[int], count: int) -> list[int]:
    """The places of `count` arguments that are not among these."""
    taken = {i % count for i in places} if count else set()
    return [i for i in range(count) if i not in taken]


def positional(fun: Fun, args: tuple[Any, ...], kwargs: dict[str, Any], kind: str) -> tuple[Any, ...]:
    """All arguments by place, defaults filled in. Raises TypeError where they cannot be."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        if not kwargs:
            return args
        raise
    if not kwargs and len(args) == len(signature.parameters):
        return args
    try:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError("keyword arguments could not be resolved to positions")
    except TypeError as error:
        raise TypeError(
            f"The input arguments to the {kind}-decorated function {name_of(fun)} could not be resolved to "
            f"positional-only arguments. Binding failed with the error:\n{error}"
        ) from error
    return bound.args


def argnums_of(argnums: Any) -> int | tuple[int, ...]:
    """Ints, from anything that is an index. Raises TypeError."""
    return operator.index(argnums) if hasattr(argnums, "__index__") else tuple([operator.index(i) for i in argnums])


def places_of(fun: Fun, nums: Sequence[int], names: Sequence[str]) -> tuple[int, ...]:
    """Places of arguments given by place or by name."""
    if not names:
        return tuple(nums)
    order = list(inspect.signature(fun).parameters)
    return (*nums, *[order.index(n) for n in names])


# --- Static and donated arguments -------------------------------------------------------------------------------------


class Static(NamedTuple):
    """Which arguments are static, and which are donated."""

    nums: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    donate_nums: tuple[int, ...] = ()
    donate_names: tuple[str, ...] = ()


def resolve(fun: Fun, static: Static) -> Static:
    """Static and donated arguments by place and by name alike, by the function's signature.

    Raises: ValueError for a place or a name that the function has not.
    """
    try:
        parameters = inspect.signature(fun).parameters
    except (TypeError, ValueError):
        return static
    P = inspect.Parameter
    names = [k for k, p in parameters.items() if p.kind in (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)]
    many = any(p.kind is P.VAR_POSITIONAL for p in parameters.values())
    keyed = any(p.kind is P.VAR_KEYWORD for p in parameters.values())

    def both(nums: tuple[int, ...], given: tuple[str, ...], what: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
        wrong = tuple([i for i in nums if not many and not -len(names) <= i < len(names)])
        if wrong:
            raise ValueError(
                f"Jitted function has {what}_argnums={wrong}, but only accepts {len(names)} positional arguments."
            )
        unknown = {k for k in given if k not in parameters} if not keyed else set()
        if unknown:
            raise ValueError(
                f"Jitted function has invalid argnames {unknown} in {what}_argnames. Function does not take these args."
            )
        if closed := {
            k for k in given if k in parameters and parameters[k].kind in (P.POSITIONAL_ONLY, P.VAR_POSITIONAL)
        }:
            raise ValueError(
                f"Jitted function has invalid argnames {closed} in {what}_argnames. These are positional-only"
            )
        if nums and not given:
            at = [names[i] for i in nums if -len(names) <= i < len(names)]
            given = tuple([k for k in at if parameters[k].kind is not P.POSITIONAL_ONLY])
        elif given and not nums:
            nums = tuple([names.index(k) for k in given if k in names])
        return nums, given

    return Static(*both(static.nums, static.names, "static"), *both(static.donate_nums, static.donate_names, "donate"))


def hashable(x: Any) -> Any:
    """A static argument, with its type, so that 1 and 1.0 and True are not taken for one another."""
    try:
        hash(x)
    except TypeError as error:
        raise ValueError(
            f"Non-hashable static arguments are not supported. An error occurred while trying to hash an object of "
            f"type {type(x)}, {x}. The error was:\nTypeError: {error}"
        ) from None
    return type(x), x


def entry_at(table: Bounded[Any, Any], key: Any, statics: tuple[Any, ...]) -> Any:
    """What a table has for the key of a call, or None. Raises JAX's ValueError where comparing static arguments did."""
    try:
        return table.get(key) or table.recall(key)
    except Exception as error:
        if not statics:
            raise
        kind = statics[-1][1][0]
        raise ValueError(
            "static arguments should be comparable using __eq__.The following error was raised when comparing two "
            f"objects of types {kind} and {kind}. The error was:\n{type(error).__name__}: {error}"
        ) from error


def without_statics(static: Static, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, tuple[Any, ...]]:
    """The arguments with holes for static ones, keyword arguments without them, and pairs of (place or name, value)."""
    places = {i % len(args) if -len(args) <= i < len(args) else i for i in static.nums}
    statics = (
        *[(i, hashable(args[i])) for i in sorted(places) if i < len(args)],
        *[(k, hashable(kwargs[k])) for k in sorted(kwargs) if k in static.names],
    )
    args = tuple([HOLE if i in places else a for i, a in enumerate(args)])
    return args, {k: a for k, a in kwargs.items() if k not in static.names}, statics


def with_statics(fun: Fun, statics: tuple[Any, ...]) -> Fun:
    """The function of the other arguments."""
    if not statics:
        return fun

    def call(*args: Any, **kwargs: Any) -> Any:
        full = list(args)
        for at, (_, value) in statics:
            if type(at) is int:
                full[at] = value
            else:
                kwargs[at] = value
        return fun(*full, **kwargs)

    return call


def donated_leaves(static: Static, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, ...]:
    """For each leaf of the arguments whether it is donated."""
    marks = [(a, i in static.donate_nums) for i, a in enumerate(args)]
    marks += [(kwargs[k], k in static.donate_names) for k in sorted(kwargs)]
    return tuple([given for a, given in marks for _ in optree.tree_leaves(a, namespace=NAMESPACE)])


# --- Mapped axes ------------------------------------------------------------------------------------------------------

UNMAPPED = object()  # an axis of None, as a leaf


def checked_axes(in_axes: Any, out_axes: Any) -> Any:
    """in_axes, where both can be axes of a mapped function. Raises JAX's TypeError."""
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, tuple) or hasattr(in_axes, "__index__")):
        raise TypeError(
            f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
            f"passed to the function, but got {in_axes}."
        )
    check_axes(in_axes, "vmap in_axes")
    check_axes(out_axes, "vmap out_axes")
    return in_axes


def argument_axes(in_axes: Any, args: tuple[Any, ...]) -> list[int | None]:
    """The mapped axis of each leaf of the arguments. Raises JAX's ValueError where `in_axes` is not for so many."""
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
            f"passed to the function, but got len(in_axes)={len(in_axes)}, len(args)={len(args)}"
        )
    return spread_axes(in_axes, args, "vmap in_axes") if args else []


explanations: list[Callable[[Any, Any, str], list[str]]] = []
"""What says where a tree is no prefix of another, given both and what the first is called. A door puts it here."""


def spread_axes(axes: Any, tree: Any, what: str) -> list[int | None]:
    """For each leaf of a tree the axis that a prefix of the tree says. Raises ValueError where it is no prefix."""
    if axes is None or optree.tree_is_leaf(axes, namespace=NAMESPACE):
        return [axes] * len(optree.tree_leaves(tree, namespace=NAMESPACE))
    marked = optree.tree_map(
        lambda a: UNMAPPED if a is None else a, axes, is_leaf=lambda a: a is None, namespace=NAMESPACE
    )
    try:
        found = optree.broadcast_prefix(marked, tree, namespace=NAMESPACE)
    except ValueError as error:
        found = [text for explain in explanations for text in explain(axes, tree, what)] or [str(error)]
        raise ValueError(
            f"{what} specification must be a tree prefix of the corresponding value; \n  Mismatch details "
            f"({len(found)} found):\n  " + "\n  ".join(found)
        ) from None
    return [None if a is UNMAPPED else a for a in found]


def check_axes(axes: Any, what: str) -> None:
    for a in optree.tree_leaves(axes, namespace=NAMESPACE):
        if isinstance(a, bool) or not hasattr(a, "__index__"):
            kinds = "an int, None, or (nested) container with those types as leaves"
            raise TypeError(f"{what} must be {kinds}, but got {a}.")


def axis_in(axis: Any, shape: tuple[int, ...]) -> int:
    """A mapped axis of an argument, counted from the front. Raises JAX's ValueError where there is none such."""
    axis, n = axis.__index__(), len(shape)
    if -n <= axis < n:
        return axis % n
    least = axis + 1 if axis >= 0 else -axis
    raise ValueError(
        f"vmap was requested to map its argument along axis {axis}, which implies that its rank should be at least "
        f"{least}, but is only {n} (its shape is {shape})"
    )


def mapped_size(avals: Sequence[Any], axes: Sequence[int | None], given: int | None, names: Callable[[], Any]) -> int:
    """The length of the mapped axes. Raises JAX's ValueError where there is none, or more than one."""
    sizes: dict[int, list[int]] = {}
    for i, (aval, a) in enumerate(zip(avals, axes)):
        if a is not None:
            sizes.setdefault(aval.shape[a], []).append(i)
    if given is not None and set(sizes) <= {given}:
        return given
    if len(sizes) == 1 and given is None:
        return next(iter(sizes))
    if not sizes:
        raise ValueError("vmap must have at least one non-None value in in_axes or axis_size must be specified")
    shown = list(names())
    lines = [f"  * the `axis_size` argument was {given}"] if given is not None else []
    most = max(map(len, sizes.values()))
    for size, which in sorted(sizes.items(), key=lambda pair: -len(pair[1])):
        first, many = which[0], len(which)
        name = str(shown[first] if first < len(shown) else first)
        name = name if name.startswith(("args[", "kwargs[")) else f"argument {name}"
        how = "most" if many == most and list(map(len, sizes.values())).count(most) == 1 else "some"
        head = f"one axis had size {size}:" if many == 1 else f"{how} axes ({many} of them) had size {size}, e.g."
        lines.append(f"  * {head} axis {axes[first]} of {name} of type {avals[first]}")
    raise ValueError("vmap got inconsistent sizes for array axes to be mapped:\n" + ";\n".join(lines))
