"""`jax.api_util`: trees of arguments, as libraries take them apart."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..signatures import name_of, place_of
from .array import as_node
from .aval import ShapedArray
from .linear_util import WrappedFun, transformation2, transformation_with_aux2
from .tree_util import tree_flatten, tree_leaves, tree_map, tree_structure, tree_unflatten

__all__ = [
    "argnums_partial",
    "debug_info",
    "donation_vector",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "rebase_donate_argnums",
    "safe_map",
    "shaped_abstractify",
]


class DebugInfo(NamedTuple):
    """What traced a function, where the function is, the names of its arguments and of its results."""

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None
    result_paths: Any = None

    @property
    def func_name(self) -> str:
        return self.func_src_info.split(" ")[0]

    def with_unknown_names(self) -> DebugInfo:
        """The same, without names."""
        return self._replace(arg_names=None, result_paths=None)


def debug_info(
    traced_for: str,
    fun: Callable[..., Any],
    args: Any,
    kwargs: dict[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    result_paths_thunk: Any = None,
    sourceinfo: str | None = None,
    signature: inspect.Signature | None = None,
) -> DebugInfo:
    """Where a traced function comes from."""
    try:
        names: tuple[str, ...] | None = tuple((signature or inspect.signature(fun)).parameters)
    except (TypeError, ValueError):
        names = None
    return DebugInfo(traced_for, sourceinfo or f"{name_of(fun)}{place_of(fun)}", names, result_paths_thunk)


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """`list(map(f, *args))`. Raises AssertionError for sequences of several lengths."""
    rows = [list(a) for a in args]
    assert len({len(r) for r in rows}) == 1, f"length mismatch: {[len(r) for r in rows]}"
    return [f(*column) for column in zip(*rows)]


@transformation_with_aux2
def flatten_fun(f: Any, store: Any, in_tree: Any, *args_flat: Any) -> Any:
    """A function of flat arguments, `in_tree` being the structure of `(args, kwargs)`, with a flat result; its
    structure is stored."""
    args, kwargs = tree_unflatten(in_tree, args_flat)
    out, tree = tree_flatten(f(*args, **kwargs))
    store.store(tree)
    return out


@transformation_with_aux2
def flatten_fun_nokwargs(f: Any, store: Any, in_tree: Any, *args_flat: Any) -> Any:
    """The same, `in_tree` being the structure of the arguments by place."""
    out, tree = tree_flatten(f(*tree_unflatten(in_tree, args_flat)))
    store.store(tree)
    return out


@transformation2
def with_fixed(f: Any, places: tuple[int, ...], fixed: tuple[Any, ...], *dynamic: Any, **kwargs: Any) -> Any:
    """f with arguments at other places than these held fixed."""
    new, old = iter(dynamic), iter(fixed)
    return f(*[next(new) if i in places else next(old) for i in range(len(dynamic) + len(fixed))], **kwargs)


def argnums_partial(
    f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any], require_static_args_hashable: bool = True
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """f as a function of the arguments at these places, and these arguments.

    Raises: ValueError for others that cannot be hashed, if that is required.
    """
    places = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    places = tuple([p % len(args) for p in places])
    fixed = tuple([a for i, a in enumerate(args) if i not in places])
    for a in fixed if require_static_args_hashable else ():
        try:
            hash(a)
        except TypeError as error:
            raise ValueError(f"Non-hashable static arguments are used in a jax transformation: {a!r}") from error
    return with_fixed(f, places, fixed), tuple([args[i] for i in places])


def rebase_donate_argnums(donate_argnums: Sequence[int], static_argnums: Sequence[int]) -> tuple[int, ...]:
    """The places of donated arguments among those that are not static. Raises ValueError for one that is both."""
    if set(donate_argnums) & set(static_argnums):
        raise ValueError(f"static_argnums {static_argnums} and donate_argnums {donate_argnums} cannot intersect.")
    return tuple(sorted([i - sum([s < i for s in static_argnums]) for i in donate_argnums]))


def donation_vector(
    donate_argnums: Sequence[int], donate_argnames: Sequence[str], in_tree: Any, kws: bool = True
) -> tuple[bool, ...]:
    """For each leaf of `(args, kwargs)`, or of the arguments by place where `kws` is false, whether it is donated."""
    whole = tree_unflatten(in_tree, [None] * in_tree.num_leaves)
    args, kwargs = whole if kws else (whole, {})
    counts = [tree_structure(a, is_leaf=is_none).num_leaves for a in args]
    out = [i in donate_argnums for i, n in enumerate(counts) for _ in range(n)]
    for k in sorted(kwargs):
        out += [k in donate_argnames] * tree_structure(kwargs[k], is_leaf=is_none).num_leaves
    return tuple(out)


def is_none(x: Any) -> bool:
    return x is None


def flatten_axes(name: str, treedef: Any, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False) -> list[Any]:
    """For each leaf of a structure what a prefix of it says; None is a value. Raises ValueError for no prefix."""
    whole = tree_unflatten(treedef, [object()] * treedef.num_leaves)
    axes: list[Any] = []
    try:
        tree_map(lambda a, x: axes.extend([a] * len(tree_leaves(x))), axis_tree, whole, is_leaf=is_none)
    except ValueError as error:
        raise ValueError(
            f"{name} specification must be a tree prefix of the corresponding value, got specification {axis_tree} for "
            f"value tree {treedef}."
        ) from error
    return axes


def shaped_abstractify(x: Any) -> ShapedArray:
    """The abstract value of what has one. Raises TypeError for what is no array."""
    if hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(x, "__array__"):
        return ShapedArray(x.shape, x.dtype, getattr(x, "weak_type", False))
    return ShapedArray(*as_node(x).aval)
