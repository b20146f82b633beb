"""Pytrees: nested tuples, lists, dicts, named tuples and registered classes, over optree. None is an empty tree, as in
JAX, and dicts that are made have their keys in order, as there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import optree

from .bounded import Bounded

NAMESPACE = "lazynp"  # of what users register
ordered: Bounded[Any, Any] = Bounded(256)
"""For a structure the equal one whose dicts have their keys in order: those of the user's are in the order in which the
keys were put in, which is not compared."""


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """The leaves of a tree, and its structure."""
    found, spec = optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    return found, spec if spec.is_leaf() else in_order(spec)


def in_order(spec: Any) -> Any:
    """The structure with the keys of dicts in order."""
    try:
        known = ordered.get(spec) or ordered.recall(spec)
        return known or ordered.keep(spec, spec.transform(node_in_order))
    except TypeError:  # what a class adds to its leaves has no hash
        return spec.transform(node_in_order)


def node_in_order(spec: Any) -> Any:
    """A structure of one level, with the keys of a dict in order."""
    if spec.type is dict:
        return optree.treespec_dict(dict(zip(spec.entries(), spec.children())), namespace=NAMESPACE)
    if spec.type is defaultdict:
        factory = spec.unflatten([None] * spec.num_leaves).default_factory
        return optree.treespec_defaultdict(factory, dict(zip(spec.entries(), spec.children())), namespace=NAMESPACE)
    return spec


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """The tree of that structure with these leaves. Raises ValueError where their number is wrong."""
    return optree.tree_unflatten(structure, leaves)


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The structure of a tree."""
    return in_order(optree.tree_structure(tree, is_leaf, namespace=NAMESPACE))


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree."""
    return optree.tree_leaves(tree, is_leaf, namespace=NAMESPACE)


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The tree with f of each leaf, and of the leaves at its place in `rest`, trees that have this one as a prefix."""
    found, spec = flatten(tree, is_leaf)
    columns = [found, *[spec.flatten_up_to(r) for r in rest]]
    return spec.unflatten([f(*xs) for xs in zip(*columns)])
