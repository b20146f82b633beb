"""Pytrees: nested tuples, lists, dicts, named tuples and registered classes, over optree. None is an empty tree, as in
JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import optree

NAMESPACE = "lazynp"  # of what users register


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """The leaves of a tree, and its structure."""
    return optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """The tree of that structure with these leaves. Raises ValueError where their number is wrong."""
    return optree.tree_unflatten(structure, leaves)


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The structure of a tree."""
    return optree.tree_structure(tree, is_leaf, namespace=NAMESPACE)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree."""
    return optree.tree_leaves(tree, is_leaf, namespace=NAMESPACE)


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The tree with f of each leaf, and of the leaves at its place in `rest`, trees that have this one as a prefix."""
    return optree.tree_map(f, tree, *rest, is_leaf=is_leaf, namespace=NAMESPACE)
