"""Which classes are nodes of pytrees, and how others become such."""

from __future__ import annotations

import dataclasses
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import optree

from ..tree import NAMESPACE
from .tree_keys import GetAttrKey

T = TypeVar("T")
WithKeys = Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]]
FLATTENS = "function for a custom PyTree node should return a"
KEYED = f"The to_iterable_with_keys {FLATTENS} (key_leaf_pairs, aux_data) tuple"
with_keys: dict[type, WithKeys] = {}
"""Registered classes whose children have keys."""
node_types: set[type] = {type(None), tuple, list, dict, OrderedDict, defaultdict}


def is_tree_node(typ: type) -> bool:
    """Whether instances of a type are nodes rather than leaves."""
    if not isinstance(typ, type):
        return False
    return typ in node_types or issubclass(typ, tuple) and hasattr(typ, "_fields")


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: WithKeys | None = None,
) -> None:
    """Make a class a node: `flatten_func(x) -> (children, aux)`, `unflatten_func(aux, children) -> x`.

    Raises: ValueError where it is one already, TypeError for functions that are none.
    """
    functions = (flatten_func, unflatten_func, *([] if flatten_with_keys_func is None else [flatten_with_keys_func]))
    if not all(map(callable, functions)):
        raise TypeError(f"register_node(): functions are expected that take nodes apart and make them, got {functions}")

    def flatten(x: T) -> tuple[tuple[Any, ...], Any]:
        made = flatten_func(x)
        if not isinstance(made, tuple) or len(made) != 2:
            raise ValueError(f"The to_iterable {FLATTENS} (children, aux_data) tuple, got {made!r}")
        if not isinstance(made[0], Iterable):
            what = "where 'children' is iterable"
            raise ValueError(f"The to_iterable {FLATTENS} (children, aux_data) tuple {what}, got {made!r}")
        return tuple(made[0]), made[1]

    if nodetype in node_types:
        raise ValueError(f"Duplicate custom PyTreeDef type registration for {nodetype}.")
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of a subclass of a `namedtuple`
        optree.register_pytree_node(
            nodetype, flatten, lambda data, children: unflatten_func(data, tuple(children)), namespace=NAMESPACE
        )
    node_types.add(nodetype)
    if flatten_with_keys_func is not None:
        with_keys[nodetype] = flatten_with_keys_func


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: WithKeys,
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make a class a node whose children have keys: `flatten_with_keys(x) -> (pairs of key and child, aux)`."""

    def flatten(x: T) -> tuple[Iterable[Any], Any]:
        pairs, data = pairs_of(flatten_with_keys, x)
        return [child for _, child in pairs], data

    register_pytree_node(nodetype, flatten_func or flatten, unflatten_func, flatten_with_keys)


def keys_of(tree: Any) -> list[Any]:
    """The keys of a node whose class was registered with some."""
    return [key for key, _ in pairs_of(with_keys[type(tree)], tree)[0]]


def pairs_of(flatten_with_keys: WithKeys, tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """A node's children with their keys, and what else it keeps. Raises ValueError where the function gives no such."""
    made = flatten_with_keys(tree)
    if not isinstance(made, tuple) or len(made) != 2:
        raise ValueError(f"{KEYED}, got {made!r}")
    if not isinstance(made[0], Iterable):
        raise ValueError(f"{KEYED} where 'key_leaf_pairs' is iterable, got {made!r}")
    pairs = list(made[0])
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(f"{KEYED} where each child is a pair of a key and a leaf, got {pair!r}")
    return pairs, made[1]


def register_pytree_node_class(cls: type[T]) -> type[T]:
    """Decorator: a class with `tree_flatten(self)` and the class method `tree_unflatten(aux, children)` is a node."""
    made: Any = cls
    register_pytree_node(cls, lambda x: made.tree_flatten(x), made.tree_unflatten)
    return cls


def register_pytree_with_keys_class(cls: type[T]) -> type[T]:
    """Decorator: the same with `tree_flatten_with_keys(self)`, and `tree_flatten` if it has one."""
    made: Any = cls
    plain = (lambda x: made.tree_flatten(x)) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda x: made.tree_flatten_with_keys(x), made.tree_unflatten, plain)
    return cls


def register_dataclass(
    nodetype: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type[T]:
    """Make a dataclass a node: `data_fields` are children, `meta_fields` belong to the structure.

    Without these, fields with `metadata=dict(static=True)` are meta fields. Raises: ValueError where one is left out.
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be specified when either is specified. Got "
            f"{data_fields=} {meta_fields=}."
        )
    fields = dataclasses.fields(nodetype) if dataclasses.is_dataclass(nodetype) else ()
    if data_fields is None or meta_fields is None:
        if not dataclasses.is_dataclass(nodetype):
            raise TypeError(
                "register_dataclass: data_fields and meta_fields are required when nodetype is not a dataclass. Got "
                f"{nodetype=}."
            )
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
        data_fields = [name for name in data_fields if name not in drop_fields]
    data, meta = tuple(data_fields), tuple(meta_fields)
    if both := {*data} & {*meta}:
        raise ValueError(f"data_fields and meta_fields must not overlap. Overlapping fields: {both}.")
    if fields:
        need = {f.name for f in fields if f.init} - set(drop_fields)
        if {*data, *meta} != need:
            missing, extra = need - {*data, *meta}, {*data, *meta} - need
            raise ValueError(
                "data_fields and meta_fields must include all dataclass fields with ``init=True`` and only them."
                + (f" Missing fields: {missing}. Add them to drop_fields to suppress this error." if missing else "")
                + (f" Unexpected fields: {extra}." if extra else "")
            )

    def flatten(x: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
        return [(GetAttrKey(k), getattr(x, k)) for k in data], tuple([getattr(x, k) for k in meta])

    def unflatten(kept: Any, children: Any) -> T:
        return nodetype(**dict(zip(meta, kept)), **dict(zip(data, children)))

    register_pytree_with_keys(
        nodetype, flatten, unflatten, lambda x: ([getattr(x, k) for k in data], tuple([getattr(x, k) for k in meta]))
    )
    return nodetype


def register_static(cls: type[T]) -> type[T]:
    """Decorator: instances are nodes without children, part of the structure. They hash and compare."""
    register_pytree_node(cls, lambda x: ((), x), lambda x, _: x)
    return cls
