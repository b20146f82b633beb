"""Trees that are prefixes of others, and what is said of those that are not: JAX's words."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict, deque, namedtuple
from types import ModuleType
from typing import Any

import jax
import pytest

import lazynp.jax

Pair, Other = namedtuple("Pair", "x y"), namedtuple("Other", "x y")


class Node:
    """A class with children and something else, which both libraries know."""

    def __init__(self, children: Any, kept: Any) -> None:
        self.children, self.kept = children, kept

    def __repr__(self) -> str:
        return f"Node({self.kept})"


class Bad:
    """A class whose function gives what is no pair."""


class Worse:
    """A class whose function gives no children."""


for module in (jax, lazynp.jax):
    register = module.tree_util.register_pytree_node
    register(Node, lambda n: (n.children, n.kept), lambda kept, children: Node(children, kept))
    register(Bad, lambda n: (1,), lambda kept, children: Bad())
    register(Worse, lambda n: (1, None), lambda kept, children: Worse())

PAIRS: list[tuple[Any, Any]] = [
    ((1, 2), (3, [4])),
    ((1, 2), [1, 2]),
    ([1, 2], (1, 2)),
    ([1, 2], [1]),
    ((1, (2, 3)), (1, (2, 3, 4))),
    (None, 1),
    (None, ()),
    ({"a": 1}, [1]),
    ({"a": 1}, OrderedDict(a=1)),
    ({"a": 1, "b": 1}, {"a": 1, "c": 1}),
    ({"b": 1, "a": 2}, {"a": 3, "b": (4,)}),
    (Pair(1, 2), (1, 2)),
    (Pair(1, 2), Other(1, 2)),
    ((1, 2), Pair(1, 2)),
    (OrderedDict(a=1), {"a": 1}),
    (OrderedDict(a=1, b=2), OrderedDict(b=1, a=2)),
    (OrderedDict(a=1), OrderedDict(a=1, b=2)),
    (defaultdict(list, a=1), {"a": 1}),
    (defaultdict(list, a=1), defaultdict(int, a=1)),
    (defaultdict(list, a=1), defaultdict(list, b=1)),
    (Node([1], 2), 2),
    (Node([1], 2), Node([1, 2], 2)),
    (Node([1], 2), Node([1], 3)),
    (Node([1, (2, 3)], 2), Node([1, (2, [4])], 2)),
    (deque([1]), deque([1, 2])),
]


def said(call: Any, *args: Any) -> str:
    """What a call gives, or the class and the text of its error."""
    try:
        return repr(call(*args))
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def columns(j: ModuleType, a: Any, b: Any) -> list[str]:
    util = j.tree_util
    return [
        said(util.tree_structure(a).flatten_up_to, b).split("\n")[0].partition(" None is a tree")[0],
        said(util.tree_map, lambda x, y: (x, y), a, b),
        said(util.tree_map_with_path, lambda p, x, y: (util.keystr(p), x, y), a, b),
        said(util.tree_broadcast, a, b) if hasattr(util, "tree_broadcast") else "",
    ]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_prefixes(pair: tuple[Any, Any]) -> None:
    assert columns(lazynp.jax, *pair) == columns(jax, *pair)


@pytest.mark.parametrize("kind", [Bad, Worse])
def test_functions_that_give_no_children(kind: type) -> None:
    assert said(lazynp.jax.tree_util.tree_leaves, kind()) == said(jax.tree_util.tree_leaves, kind())


def test_deques_are_leaves() -> None:
    tree = {"a": deque([1, 2]), "b": [3]}
    for j in (jax, lazynp.jax):
        assert j.tree_util.tree_leaves(tree) == [deque([1, 2]), 3]
        assert j.tree_util.tree_structure(tree) == j.tree_util.tree_structure({"a": 1, "b": [2]})
        assert [j.tree_util.keystr(p) for p, _ in j.tree_util.tree_leaves_with_path(tree)] == ["['a']", "['b'][0]"]
        with pytest.raises(TypeError):
            j.jit(lambda x: x)(tree)


def test_partials_of_partials_keep_their_own_arguments() -> None:
    for j in (jax, lazynp.jax):
        for kind in (functools.partial, j.tree_util.Partial):
            nested = j.tree_util.Partial(kind(max, 5), 2)
            assert j.tree_util.tree_leaves(nested) == [2]
            assert j.tree_util.tree_map(lambda x: x * 4, nested)() == 8


def test_small_questions() -> None:
    found = []
    for j in (jax, lazynp.jax):
        structure = j.tree.structure(Pair(1, [2, {"a": 3}]))
        found.append([
            j.tree.reduce_associative(lambda a, b: f"({a}{b})", list("abcdefg")),
            structure.node_data(),
            structure.walk(lambda children, kept: (children, kept), lambda x: -x, [1, 2, 3]),
        ])  # fmt: skip
    assert found[0] == found[1]


def test_one_level_of_each_kind() -> None:
    trees = [[1, [2]], (1, 2), {"b": 1, "a": 2}, OrderedDict(b=1, a=2), defaultdict(int, b=1), Pair(1, 2), None]
    found = []
    for j in (jax, lazynp.jax):
        u = j.tree_util
        levels = [u.flatten_one_level(tree) for tree in trees]
        keys = [[(str(k), x) for k, x in u.flatten_one_level_with_keys(tree)[0]] for tree in trees[:5]]
        nodes = [u.is_tree_node(x) for x in (list, int, Pair, [1], 1)]
        found.append((levels, [type(children) for children, _ in levels], keys, nodes))
    assert found[0] == found[1]


def test_what_is_no_function_or_no_iterable_is_refused() -> None:
    for j in (jax, lazynp.jax):
        u, kind = j.tree_util, type("Kind", (), {})
        for functions in ((1, 2), (lambda x: ((), None), 2), (lambda x: ((), None), lambda a, c: 1, 3)):
            with pytest.raises(TypeError, match="register_node"):
                u.register_pytree_node(kind, *functions)
        u.register_pytree_with_keys(kind, lambda x: ([1, 2], None), lambda a, c: c)
        with pytest.raises(ValueError, match="to_iterable_with_keys"):
            u.flatten_one_level_with_keys(kind())
        structure = u.tree_structure([1, (2, {"a": 3}), None])
        assert structure.from_iterable_tree((7, [8, (9,)], ())) == [7, (8, {"a": 9}), None]
        with pytest.raises(ValueError, match="Arity"):
            structure.from_iterable_tree([7])
        with pytest.raises(TypeError):
            structure.from_iterable_tree(7)


def test_dataclasses_with_fields_that_are_no_arguments() -> None:
    for j in (jax, lazynp.jax):

        @dataclasses.dataclass
        class Doubled:
            a: int
            b: int = dataclasses.field(init=False)

        with pytest.raises(ValueError, match=r"Unexpected fields: \{'b'\}"):
            j.tree_util.register_dataclass(Doubled)
        j.tree_util.register_dataclass(Doubled, ["a"], [])
