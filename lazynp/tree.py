"""Pytrees: nested tuples, lists, dicts, named tuples and registered classes, over optree. None is an empty tree, as in
JAX, dicts that are made have their keys in order, as there, and what optree knows beside (deques, tuples of C's with
named fields) are leaves."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import optree

from .bounded import Bounded

NAMESPACE = "lazynp"  # of what users register
ordered: Bounded[Any, Any] = Bounded(256)
"""For a structure the equal one whose dicts have their keys in order: those of the user's are in the order in which the
keys were put in, which is not compared."""


class NoNodeError(Exception):
    """A structure has a node that is none in JAX."""


def is_no_node(x: Any) -> bool:
    """Whether optree takes a value apart, and JAX does not."""
    return type(x) is deque or bool(optree.is_structseq(x))


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """The leaves of a tree, and its structure."""
    found, spec = optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    try:
        return found, spec if spec.is_leaf() else in_order(spec)
    except NoNodeError:
        stops = is_no_node if is_leaf is None else lambda x: is_no_node(x) or is_leaf(x)
        return flatten(tree, stops)


def in_order(spec: Any) -> Any:
    """The structure with the keys of dicts in order."""
    try:
        known = ordered.get(spec) or ordered.recall(spec)
        return known or ordered.keep(spec, spec.transform(node_in_order))
    except TypeError:  # what a class adds to its leaves has no hash
        return spec.transform(node_in_order)


def node_in_order(spec: Any) -> Any:
    """A structure of one level, with the keys of a dict in order. Raises NoNodeError for what is a leaf in JAX."""
    if spec.type is deque or spec.type is not None and optree.is_structseq_class(spec.type):
        raise NoNodeError
    if spec.type in (dict, defaultdict):
        try:
            sorted(spec.entries())
        except TypeError:
            raise ValueError("Comparator raised exception while sorting pytree dictionary keys.") from None
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
    return flatten(tree, is_leaf)[1]


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree."""
    return flatten(tree, is_leaf)[0]


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The tree with f of each leaf, and of the leaves at its place in `rest`, trees that have this one as a prefix."""
    found, spec = flatten(tree, is_leaf)
    columns = [found, *[flatten_up_to(spec, r) for r in rest]]
    return spec.unflatten([f(*xs) for xs in zip(*columns)])


def flatten_up_to(spec: Any, tree: Any) -> list[Any]:
    """The subtrees that stand where a structure has leaves.

    Raises: ValueError, in JAX's words, where the tree has not got the structure.
    """
    if spec.is_leaf():
        return [tree]
    found, other = flatten(tree)
    return found if other == spec else list(up_to(spec, tree))


def up_to(spec: Any, tree: Any) -> Iterator[Any]:
    """`flatten_up_to`, node by node: optree takes a dict for an OrderedDict, and has other words."""
    if spec.is_leaf():
        yield tree
        return
    kind, count = spec.type, spec.num_children
    named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    if kind in (tuple, list, dict, type(None)) and type(tree) is not kind:
        name = "None" if tree is not None and kind is type(None) else kind.__name__
        hint = " None is a tree without leaves, and stands for no other." if kind is type(None) else ""
        raise ValueError(f"Expected {name}, got {tree!r}.{hint}")
    if named and not (isinstance(tree, tuple) and hasattr(tree, "_fields")):
        raise ValueError(f"Expected named tuple, got {tree!r}.")
    if named and type(tree) is not kind:
        raise ValueError(f"Named tuple type mismatch: expected type: {kind}, tuple: {tree!r}.")
    if type(tree) is not kind:
        raise ValueError(f"Custom node type mismatch: expected type: {kind}, value: {tree!r}.")
    if kind is type(None):
        return
    if kind in (tuple, list):
        children: Any = tree
        if len(tree) != count:
            name = kind.__name__
            raise ValueError(f"{name.title()} arity mismatch: {len(tree)} != {count}; {name}: {tree!r}.")
    elif kind is dict:
        keys = spec.entries()
        if set(keys) != set(tree):
            raise ValueError(f"Dict key mismatch; expected keys: {keys}; present keys: {sorted(tree)}.")
        children = [tree[k] for k in keys]
    else:
        level = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)
        children, has, wants = level.children, kept_of(level.metadata, kind), metadata(spec)
        if has != wants:
            raise ValueError(f"Mismatch custom node data: {wants} != {has}; value: {tree!r}.")
        if len(children) != count:
            raise ValueError(f"Custom type arity mismatch: {len(children)} != {count}; value: {tree!r}.")
    for inner, child in zip(spec.children(), children):
        yield from up_to(inner, child)


# --- What tells structures apart --------------------------------------------------------------------------------------


def key_text(spec: Any, entry: Any) -> str:
    """How a child of a structure's root is reached: `[0]`, `['w']`, `.name`."""
    if isinstance(entry, int) and hasattr(spec.type, "_fields"):
        return f".{spec.type._fields[entry]}"
    return f".{entry.name}" if hasattr(entry, "name") else f"[{entry!r}]"


def paths_of(spec: Any, path: str = "") -> Iterator[str]:
    """How each leaf of a structure is reached."""
    if spec.is_leaf():
        yield path
    for entry, child in zip(spec.entries(), spec.children()):
        yield from paths_of(child, path + key_text(spec, entry))


def metadata(spec: Any) -> Any:
    """What the root of a structure keeps beside its children."""
    if spec.type in (dict, OrderedDict):
        return tuple(spec.entries())
    one = spec.one_level()
    return kept_of(one.walk([None] * one.num_leaves, lambda kind, data, children: data, lambda x: x), spec.type)


def kept_of(data: Any, kind: type) -> Any:
    """What a node keeps beside its children, with the keys of a dict as a tuple."""
    if kind is defaultdict:
        return data[0], tuple(data[1])
    return tuple(data) if kind in (dict, OrderedDict) else data


def differences(a: Any, b: Any, path: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Where two structures differ: the path to it, what is there in one and in the other, and what that means."""
    if a.is_leaf() and b.is_leaf():
        return
    if a.is_leaf() or b.is_leaf() or a.type is not b.type:
        kinds = ["pytree leaf" if s.is_leaf() else str(s.type) for s in (a, b)]
        yield path, kinds[0], kinds[1], "their Python types differ"
        return
    counts = [len(s.children()) for s in (a, b)]
    if counts[0] != counts[1]:
        if a.type in (tuple, list):
            of = f"{a.type.__name__} of length"
            yield path, f"{of} {counts[0]}", f"{of} {counts[1]}", "the lengths do not match"
            return
        keys = [set(s.entries()) for s in (a, b)] if a.type in (dict, OrderedDict, defaultdict) else [set(), set()]
        one, other = (f"{a.type} with {n} {'child' if n < 2 else 'children'}" for n in counts)
        only = f", with the symmetric difference of key sets: {keys[0] ^ keys[1]}" if keys[0] ^ keys[1] else ""
        yield path, one, other, f"the numbers of children do not match{only}"
        return
    kept = [metadata(s) for s in (a, b)]
    if kept[0] != kept[1]:
        one, other = (f"{a.type} with pytree metadata {k}" for k in kept)
        yield path, one, other, "the pytree node metadata does not match"
        return
    for entry, x, y in zip(a.entries(), a.children(), b.children()):
        yield from differences(x, y, path + key_text(a, entry))


def argument_at(path: str) -> str:
    """What stands at a path in the tree of positional and named arguments: `args[0]['w']`."""
    return {"[0]": "args", "[1]": "kwargs"}[path[:3]] + path[3:]
