"""`jax.tree_util`: pytrees over optree, with JAX's names, paths, registration, and treedefs that print as JAX's.

None is an empty tree. Tuples, lists, dicts (keys in sorted order), named tuples, OrderedDict and defaultdict are nodes;
a class becomes one by registration.
"""

from __future__ import annotations

import difflib
import functools
import textwrap
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import optree

from ..signatures import explanations
from ..tree import NAMESPACE, flatten_up_to, is_no_node, kept_of
from ..tree import flatten as flatten_raw
from ..tree import map as map_raw
from ..tree import metadata as metadata_raw
from .tree_keys import DictKey, FlattenedIndexKey, GetAttrKey, KeyPath, SequenceKey, keystr
from .tree_keys import KeyEntry as KeyEntry
from .tree_nodes import T, WithKeys, is_tree_node, keys_of, register_dataclass, register_pytree_node, with_keys
from .tree_nodes import register_pytree_node_class as register_pytree_node_class
from .tree_nodes import register_pytree_with_keys as register_pytree_with_keys
from .tree_nodes import register_pytree_with_keys_class as register_pytree_with_keys_class
from .tree_nodes import register_static as register_static

IsLeaf = Callable[[Any], bool] | None
UNSPECIFIED = object()


class PyTreeDef:
    """The structure of a tree."""

    __slots__ = ("spec",)

    def __init__(self, spec: Any) -> None:
        self.spec = spec.spec if isinstance(spec, PyTreeDef) else spec

    def __repr__(self) -> str:
        return f"PyTreeDef({self.spec.walk(['*'] * self.spec.num_leaves, node_text, str)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PyTreeDef) and bool(self.spec == other.spec)

    def __hash__(self) -> int:
        return hash(self.spec)

    @property
    def num_leaves(self) -> int:
        """How many leaves a tree of this structure has."""
        return int(self.spec.num_leaves)

    @property
    def num_nodes(self) -> int:
        """How many nodes, leaves included."""
        return int(self.spec.num_nodes)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves. Raises ValueError where their number is wrong."""
        leaves = list(leaves)
        n = self.num_leaves
        if len(leaves) != n:
            what = "Too few" if len(leaves) < n else "Too many"
            raise ValueError(f"{what} leaves for PyTreeDef; expected {n}, got {len(leaves)}")
        return self.spec.unflatten(leaves)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees that stand where this structure has leaves. Raises ValueError where the tree has not got it."""
        return flatten_up_to(self.spec, tree)

    def children(self) -> list[PyTreeDef]:
        """The structures of the root's children."""
        return [PyTreeDef(s) for s in self.spec.children()]

    def node_data(self) -> tuple[type, Any] | None:
        """The root's type and what it keeps beside its children; None for a leaf."""
        if self.spec.is_leaf():
            return None
        kind = self.spec.type
        one = self.spec.one_level()
        data = one.walk([None] * one.num_leaves, lambda t, d, c: d, lambda x: x)
        return kind, None if data is kind else keys_fixed(kind, data)  # of a named tuple, the type is all

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """This structure with `inner` in the place of each leaf."""
        return PyTreeDef(self.spec.compose(inner.spec))

    def from_iterable_tree(self, tree: Any) -> Any:
        """The tree of this structure whose nodes have the children of these iterables. Raises ValueError where their
        number is wrong, TypeError for what is no iterable."""
        if self.spec.is_leaf():
            return tree
        given, parts = list(tree), self.children()
        if len(given) != len(parts):
            raise ValueError("Arity mismatch between trees")
        one = self.spec.one_level()
        return one.unflatten([part.from_iterable_tree(x) for part, x in zip(parts, given)])

    def walk(self, f_node: Callable[..., Any] | None, f_leaf: Callable[..., Any] | None, leaves: Iterable[Any]) -> Any:
        """`f_node(children, data)` from the leaves up, with what a node keeps beside its children."""
        node = None if f_node is None else lambda kind, data, part: f_node(tuple(part), keys_fixed(kind, data))
        return self.spec.walk(list(leaves), node, f_leaf)


def node_text(kind: type, data: Any, children: Sequence[str]) -> str:
    """A node as JAX prints it."""
    if kind is type(None):
        return "None"
    parts = ", ".join(children)
    if kind is tuple:
        return f"({parts},)" if len(children) == 1 else f"({parts})"
    if kind is list:
        return f"[{parts}]"
    if kind is dict:
        return "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(data, children)) + "}"
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return f"CustomNode(namedtuple[{kind.__name__}], [{parts}])"
    return f"CustomNode({kind.__name__}[{keys_fixed(kind, data)}], [{parts}])"


def keys_fixed(kind: type, data: Any) -> Any:
    """What a node keeps beside its children, the keys of an OrderedDict and a defaultdict in a tuple, as in JAX."""
    if kind is OrderedDict:
        return tuple(data)
    return (data[0], tuple(data[1])) if kind is defaultdict else data


def child_keys(tree: Any, entries: Sequence[Any]) -> list[Any]:
    """The keys of a node's children."""
    kind = type(tree)
    if kind in (list, tuple):
        return [SequenceKey(i) for i in range(len(tree))]
    if kind in (dict, OrderedDict, defaultdict):
        return [DictKey(k) for k in entries]
    if kind in with_keys:
        return keys_of(tree)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [GetAttrKey(name) for name in tree._fields]
    return [FlattenedIndexKey(i) for i in range(len(entries))]


def one_level(tree: Any) -> Any:
    """optree's one-level flattening: children, metadata, entries. Raises ValueError for a leaf."""
    if is_leaf_type(tree):
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    return optree.tree_flatten_one_level(tree, namespace=NAMESPACE)


def is_leaf_type(tree: Any) -> bool:
    return tree is not None and (is_no_node(tree) or bool(optree.tree_is_leaf(tree, namespace=NAMESPACE)))


# --- Functions on trees -----------------------------------------------------------------------------------------------


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, and its structure."""
    leaves, spec = flatten_raw(tree, is_leaf)
    return leaves, PyTreeDef(spec)


def tree_unflatten(treedef: Any, leaves: Iterable[Any]) -> Any:
    """The tree of that structure with these leaves. Raises ValueError where their number is wrong."""
    return PyTreeDef(treedef).unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree. Raises ValueError for a dict whose keys have no order."""
    return flatten_raw(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree with f of each leaf and of what stands at its place in `rest`.

    Raises: ValueError where one of `rest` has not got this tree's structure.
    """
    if not rest:
        return map_raw(f, tree, is_leaf=is_leaf)
    leaves, spec = flatten_raw(tree, is_leaf)
    columns = [leaves, *[parts_of(tree, spec, r, is_leaf, "tree_map tree") for r in rest]]
    return spec.unflatten([f(*xs) for xs in zip(*columns)])


def parts_of(tree: Any, spec: Any, full: Any, is_leaf: IsLeaf, name: str) -> list[Any]:
    """The subtrees of a tree that stand where another one, of that structure, has leaves.

    Raises: ValueError, which calls that one by name, where it is no prefix.
    """
    try:
        return flatten_up_to(spec, full)
    except ValueError:
        for error in prefix_errors(tree, full, is_leaf):
            raise error(name) from None
        raise


def prefix_errors(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Callable[[str], ValueError]]:
    """Where the first tree is no prefix of the second, from the root down: for each place a function from what the
    first tree is called to the error."""
    return list(mismatches((), prefix_tree, full_tree, is_leaf))


def is_axis(x: Any) -> bool:
    """Whether it stands for a subtree in a prefix that says axes or places: None does, and what is no container."""
    return x is None or is_leaf_type(x)


explanations.append(lambda axes, tree, what: [str(f(what)) for f in prefix_errors(axes, tree, is_axis)])


def children_of(tree: Any) -> tuple[list[tuple[KeyPath, Any]], Any]:
    """The children of a tree with their keys, and its structure."""
    return tree_flatten_with_path(tree, is_leaf=lambda x: x is not tree)


def mismatches(path: KeyPath, prefix: Any, full: Any, is_leaf: IsLeaf = None) -> Iterator[Callable[[str], ValueError]]:
    """`prefix_errors` of the subtrees at a path."""
    leaves = tree_leaves(prefix, is_leaf)
    if len(leaves) == 1 and leaves[0] is prefix:
        return

    def error(what: str, prefix_has: str, full_has: str) -> Callable[[str], ValueError]:
        return lambda name: ValueError(
            f"pytree structure error: different {what} at key path\n    {name}{keystr(path)}\n"
            f"At that key path, the prefix pytree {name} has a subtree of type{prefix_has}{full_has}"
        )

    same, kind = "but at the same key path the full pytree has a subtree of the same type but with", type(prefix)
    if kind is not type(full):
        other_kind = f"\nbut at the same key path the full pytree has a subtree of different type\n    {type(full)}."
        yield error("types", f"\n    {kind}", other_kind)
        return
    (children, structure), (others, other) = children_of(prefix), children_of(full)
    if isinstance(prefix, (list, tuple)) and len(children) != len(others):
        more = f", but the full pytree has a subtree of the same type but of length {len(others)}."
        yield error(f"lengths of {kind.__name__}", f" {kind.__name__} of length {len(children)}", more)
    elif len(children) != len(others):
        names = [[str(key_text(key)) for key, _ in c] for c in (children, others)]
        more = (
            f"\n{same} {len(others)} child keys\n    {' '.join(names[1])}\nso the symmetric difference on key sets is"
        )
        more += "\n    " + " ".join(sorted(set(names[0]) ^ set(names[1])))
        few = f"\n    {kind}\nwith {len(children)} child keys\n    {' '.join(names[0])}"
        yield error("numbers of pytree children", few, more)
    elif structure != other:
        metas = [str(metadata(tree)) for tree in (prefix, full)]
        lines = "\n".join(difflib.ndiff(metas[0].splitlines(), metas[1].splitlines()))
        more = f"\n{same} metadata\n    {metas[1]}\nso the diff in the metadata at these pytree nodes is\n"
        yield error(
            "pytree metadata", f"\n    {kind}\nwith metadata\n    {metas[0]}", more + textwrap.indent(lines, "    ")
        )
    else:
        for (key, a), (_, b) in zip(children, others):
            yield from mismatches((*path, *key), a, b, is_leaf)


def key_text(path: KeyPath) -> Any:
    """What the last key of a path looks up."""
    key = path[-1]
    return next((getattr(key, name) for name in ("key", "idx", "name") if hasattr(key, name)), key)


def metadata(tree: Any) -> Any:
    """What is kept of a node beside its children: of a dict its keys."""
    return metadata_raw(children_of(tree)[1].spec)


def tree_reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = UNSPECIFIED, is_leaf: IsLeaf = None
) -> Any:
    """functools.reduce over the leaves."""
    leaves = tree_leaves(tree, is_leaf)
    return (
        functools.reduce(function, leaves)
        if initializer is UNSPECIFIED
        else functools.reduce(function, leaves, initializer)
    )


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = UNSPECIFIED, is_leaf: IsLeaf = None
) -> Any:
    """The leaves combined half by half, in a tree of least depth. Raises TypeError for none without an identity."""
    leaves = tree_leaves(tree, is_leaf)
    if not leaves and identity is UNSPECIFIED:
        raise TypeError("Must specify identity for parallel reduction of empty sequence.")

    def combined(part: list[Any]) -> Any:
        half = len(part) // 2
        return operation(combined(part[:half]), combined(part[half:])) if half else part[0]

    return combined(leaves) if leaves else identity


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true."""
    return all(tree_leaves(tree, is_leaf))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether each of these is a leaf."""
    return all([is_leaf_type(x) or is_leaf is not None and is_leaf(x) for x in iterable])


def tree_transpose(outer_treedef: Any, inner_treedef: Any, pytree_to_transpose: Any) -> Any:
    """A tree of trees inside out. Without an inner structure, that of the first leaf.

    Raises: TypeError where the tree has another number of leaves than one that is made of the two.
    """
    outer = PyTreeDef(outer_treedef)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer.flatten_up_to(pytree_to_transpose)[0])
    inner = PyTreeDef(inner_treedef)
    leaves, treedef = tree_flatten(pytree_to_transpose)
    n, m = outer.num_leaves, inner.num_leaves
    if len(leaves) != n * m:
        raise TypeError(f"Mismatch\n{treedef}\n != \n{outer.compose(inner)}")
    rows = [leaves[i * m : (i + 1) * m] for i in range(n)]
    return inner.unflatten([outer.unflatten(column) for column in zip(*rows)])


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """The prefix's leaves in the structure of the full tree. Raises ValueError where it is no prefix."""
    return broadcast(prefix_tree, full_tree, is_leaf, "broadcast_prefix prefix_tree")


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf, name: str) -> Any:
    """`tree_broadcast`, whose error calls the prefix by name."""
    leaves, spec = flatten_raw(prefix_tree, is_leaf)
    parts = parts_of(prefix_tree, spec, full_tree, is_leaf, name)
    return spec.unflatten([map_raw(lambda _, x=x: x, part) for x, part in zip(leaves, parts)])


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """The leaves with their paths, and the structure."""
    found: list[tuple[KeyPath, Any]] = []
    marks: list[Any] = []

    def visit(x: Any, path: KeyPath) -> None:
        stop = is_leaf is not None and (is_leaf(path, x) if is_leaf_takes_path else is_leaf(x))
        if stop or is_leaf_type(x):
            found.append((path, x))
            marks.append(x)
            return
        level = optree.tree_flatten_one_level(x, namespace=NAMESPACE)
        for key, child in zip(child_keys(x, level.entries), level.children):
            visit(child, (*path, key))

    visit(tree, ())
    stopped = {id(x) for x in marks}
    return found, tree_structure(tree, None if is_leaf is None else lambda x: id(x) in stopped)


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The leaves with their paths."""
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """tree_map of a function that gets the path first."""
    found, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    stops = None if is_leaf_takes_path else is_leaf
    columns = [parts_of(tree, treedef.spec, r, stops, "tree_map_with_path tree") for r in rest]
    columns = [[p for p, _ in found], [x for _, x in found], *columns]
    return treedef.unflatten([f(*xs) for xs in zip(*columns)])


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """A node's children and what else it keeps. Raises ValueError for a leaf."""
    level = one_level(tree)
    kind = type(tree)
    named = isinstance(tree, tuple) and kind is not tuple
    children: Any = list if named or kind in (list, OrderedDict, defaultdict) or kind in with_keys else tuple
    return children(level.children), kept_of(level.metadata, kind)


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """A node's children with their keys, and what else it keeps. Raises ValueError for a leaf."""
    level = one_level(tree)
    children, data = flatten_one_level(tree)
    pairs = zip(child_keys(tree, level.entries), children)
    return tuple(pairs) if type(tree) in (list, tuple, dict, type(None)) else list(pairs), data


def treedef_children(treedef: Any) -> list[PyTreeDef]:
    """The structures of the root's children."""
    return PyTreeDef(treedef).children()


def treedef_is_leaf(treedef: Any) -> bool:
    """Whether it is that of a leaf, or of a tree without children."""
    return PyTreeDef(treedef).num_nodes == 1


def treedef_tuple(treedefs: Iterable[Any]) -> PyTreeDef:
    """The structure of a tuple of trees of these structures."""
    return PyTreeDef(optree.treespec_tuple([PyTreeDef(t).spec for t in treedefs], namespace=NAMESPACE))


class Whole:
    """A function that `Partial` leaves as it is: functools.partial would take one of its own kind apart.

    It hashes and compares as the function does.
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.fun)

    def __eq__(self, other: object) -> bool:
        return bool(self.fun == (other.fun if isinstance(other, Whole) else other))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fun!r})"


class Partial(functools.partial):
    """functools.partial as a node: its arguments are children, its function belongs to the structure."""

    def __new__(cls, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Partial:
        if isinstance(func, functools.partial):
            func = Whole(func)
        return super().__new__(cls, func, *args, **kwargs)


register_pytree_node(
    Partial, lambda p: ((p.args, p.keywords), p.func), lambda func, children: Partial(func, *children[0], **children[1])
)


class PyTreeRegistry:
    """The methods that libraries call on `default_registry`. There is one registry, and the functions above use it."""

    def flatten(self, tree: Any, leaf_predicate: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
        return tree_flatten(tree, leaf_predicate)

    def flatten_with_path(
        self, tree: Any, leaf_predicate: Callable[[KeyPath, Any], bool] | None = None
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
        return tree_flatten_with_path(tree, leaf_predicate, is_leaf_takes_path=True)

    def flatten_one_level(self, tree: Any) -> tuple[Iterable[Any], Any] | None:
        """As the function of that name, and None for a leaf."""
        return None if is_leaf_type(tree) else flatten_one_level(tree)

    def flatten_one_level_with_keys(self, tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any] | None:
        """As the function of that name, and None for a leaf."""
        return None if is_leaf_type(tree) else flatten_one_level_with_keys(tree)

    def is_node(self, type: type) -> bool:
        return is_tree_node(type)

    def register_node(
        self,
        type: type[T],
        to_iterable: Callable[[T], tuple[Iterable[Any], Any]],
        from_iterable: Callable[[Any, Any], T],
        to_iterable_with_keys: WithKeys | None = None,
    ) -> None:
        register_pytree_node(type, to_iterable, from_iterable, to_iterable_with_keys)

    def register_dataclass_node(self, type: type, data_fields: Sequence[str], meta_fields: Sequence[str]) -> None:
        register_dataclass(type, data_fields, meta_fields)


default_registry = PyTreeRegistry()
