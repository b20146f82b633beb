"""`jax.tree` and `jax.tree_util`: the same trees, structures, paths and errors as JAX's."""

from __future__ import annotations

import collections
import dataclasses
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import lazynp.jax as lj
import lazynp.jax.numpy as ljnp

jax = pytest.importorskip("jax", reason="JAX is the oracle of these tests")


class Point(NamedTuple):
    x: Any
    y: Any


class Node:
    """Registered with both, without keys."""

    def __init__(self, left: Any, right: Any, tag: Any) -> None:
        self.left, self.right, self.tag = left, right, tag

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class Keyed(Node):
    """Registered with both, with keys."""


@dataclasses.dataclass
class Data:
    w: Any
    b: Any
    name: str = dataclasses.field(default="d", metadata={"static": True})


class Constant:
    """Registered with both as static."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant)

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "Constant()"


for j in (jax, lj):
    u = j.tree_util
    u.register_pytree_node(Node, lambda n: ((n.left, n.right), n.tag), lambda tag, c: Node(*c, tag))
    u.register_pytree_with_keys(
        Keyed,
        lambda n, u=u: (((u.GetAttrKey("left"), n.left), (u.DictKey("r"), n.right)), n.tag),
        lambda tag, c: Keyed(*c, tag),
    )
    u.register_dataclass(Data)
    u.register_static(Constant)

TREES: list[Any] = [
    1,
    None,
    (),
    [],
    {},
    (1,),
    [1, 2, (3, [4])],
    {"b": 1, "a": {"c": None, "d": (2, 3)}},
    Point(1, [2, 3]),
    collections.OrderedDict([("z", 1), ("a", 2)]),
    collections.defaultdict(list, {"k": [1, 2]}),
    Node(1, (2, 3), "tag"),
    Keyed([1], {"q": 2}, 7),
    Data(1, {"v": 2}),
    (Constant(), 5),
    {"deep": [Point((1, Node(2, None, ("a", 1))), None), {3: 4, 1: 5}]},
]


@pytest.mark.parametrize("tree", TREES, ids=[f"{i}-{type(t).__name__}" for i, t in enumerate(TREES)])
def test_structure_and_leaves(tree: Any) -> None:
    mine, theirs = lj.tree.structure(tree), jax.tree.structure(tree)
    assert str(mine) == repr(mine) == str(theirs)
    assert (mine.num_leaves, mine.num_nodes) == (theirs.num_leaves, theirs.num_nodes)
    assert lj.tree.leaves(tree) == jax.tree.leaves(tree)
    leaves, treedef = lj.tree.flatten(tree)
    assert treedef == mine and hash(treedef) == hash(mine)
    assert lj.tree.unflatten(treedef, leaves) == jax.tree.unflatten(theirs, leaves)
    assert [str(c) for c in mine.children()] == [str(c) for c in theirs.children()]
    doubled = lj.tree.map(lambda x: x * 2, tree)
    assert doubled == jax.tree.map(lambda x: x * 2, tree) and type(doubled) is type(jax.tree.map(lambda x: x, tree))


@pytest.mark.parametrize("tree", TREES, ids=[f"{i}-{type(t).__name__}" for i, t in enumerate(TREES)])
def test_paths(tree: Any) -> None:
    for how in ({}, {"simple": True, "separator": "/"}):
        mine = [(lj.tree_util.keystr(p, **how), x) for p, x in lj.tree.leaves_with_path(tree)]
        assert mine == [(jax.tree_util.keystr(p, **how), x) for p, x in jax.tree.leaves_with_path(tree)]
    mine = [(repr(p), x) for p, x in lj.tree.flatten_with_path(tree)[0]]
    assert mine == [(repr(p), x) for p, x in jax.tree.flatten_with_path(tree)[0]]
    named = lj.tree.map_with_path(lambda p, x, y: (lj.tree_util.keystr(p), x, y), tree, tree)
    assert named == jax.tree.map_with_path(lambda p, x, y: (jax.tree_util.keystr(p), x, y), tree, tree)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "map over several": lambda j: j.tree.map(lambda a, b: (a, b), {"a": 1, "b": [2]}, {"a": [1, 2], "b": [(3,)]}),
    "is_leaf": lambda j: j.tree.map(len, [(1, 2), [3]], is_leaf=lambda x: isinstance(x, tuple)),
    "is_leaf with paths": lambda j: [
        x for _, x in j.tree.leaves_with_path([(1, 2), {"a": (3,)}], is_leaf=lambda x: isinstance(x, tuple))
    ],
    "None as a leaf": lambda j: j.tree.leaves([None, 1], is_leaf=lambda x: x is None),
    "reduce": lambda j: j.tree.reduce(operator.add, [1, (2, {"a": 3})]),
    "reduce from a start": lambda j: j.tree.reduce(operator.add, [], 7),
    "reduce in a tree": lambda j: j.tree.reduce_associative(operator.add, [1, 2, 3, 4, 5]),
    "all": lambda j: (j.tree.all([True, ()]), j.tree.all({"a": 0})),
    "transpose": lambda j: j.tree.transpose(j.tree.structure([0, 0]), j.tree.structure({"a": 0}), [{"a": 1}, {"a": 2}]),
    "transpose, inner found": lambda j: j.tree.transpose(j.tree.structure([0, 0]), None, [(1, 2), (3, 4)]),
    "broadcast": lambda j: j.tree.broadcast((1, {"a": 2}), ([3, 4], {"a": (5, 6)})),
    "compose": lambda j: str(j.tree.structure([0, (1,)]).compose(j.tree.structure({"a": 0}))),
    "flatten_up_to": lambda j: j.tree.structure([0, (0,)]).flatten_up_to([(1, 2), ([3],)]),
    "one level": lambda j: (lambda c, d: (list(c), d))(*j.tree_util.flatten_one_level({"b": (1, 2), "a": 3})),
    "is_tree_node": lambda j: [j.tree_util.is_tree_node(t) for t in (int, tuple, dict, Node, str, type(None))],
    "all_leaves": lambda j: [j.tree_util.all_leaves(x) for x in ([1, 2], [1, ()], [])],
    "treedef_tuple": lambda j: str(j.tree_util.treedef_tuple([j.tree.structure(0), j.tree.structure([0])])),
    "treedef_children": lambda j: [str(t) for t in j.tree_util.treedef_children(j.tree.structure([0, (0,)]))],
    "treedef_is_leaf": lambda j: [j.tree_util.treedef_is_leaf(j.tree.structure(t)) for t in (0, (), [0])],
    "node_data": lambda j: [j.tree.structure(t).node_data() for t in (0, (0,), {"b": 1, "a": 2})],
    "Partial": lambda j: j.tree.leaves(j.tree_util.Partial(max, 1, key=2)),
    "keys": lambda j: [
        (repr(k), str(k)) for k in (j.tree_util.SequenceKey(1), j.tree_util.DictKey("a"), j.tree_util.GetAttrKey("x"))
    ],
    "too few leaves": lambda j: j.tree.unflatten(j.tree.structure([0, 0]), [1]),
    "too many leaves": lambda j: j.tree.unflatten(j.tree.structure([0, 0]), [1, 2, 3]),
    "another length": lambda j: j.tree.map(operator.add, [1, 2], [1]),
    "another type": lambda j: j.tree.map(operator.add, [1, 2], (1, 2)),
    "other keys": lambda j: j.tree.map(operator.add, {"a": 1}, {"b": 1}),
    "nothing to reduce": lambda j: j.tree.reduce(operator.add, []),
    "transposed otherwise": lambda j: j.tree.transpose(j.tree.structure([0]), j.tree.structure((0, 0)), [(1,)]),
    "one level of a leaf": lambda j: j.tree_util.flatten_one_level(3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_as_jax(name: str) -> None:
    try:
        want = FUNCTIONS[name](jax)
    except Exception as error:
        with pytest.raises(type(error)):
            FUNCTIONS[name](lj)
    else:
        assert FUNCTIONS[name](lj) == want


def test_registration_errors() -> None:
    with pytest.raises(ValueError, match="Duplicate custom PyTreeDef type registration"):
        lj.tree_util.register_pytree_node(Node, lambda n: ((), None), lambda a, c: None)

    @dataclasses.dataclass
    class Other:
        a: int
        b: int

    with pytest.raises(ValueError, match="Missing fields"):
        lj.tree_util.register_dataclass(Other, ["a"], [])
    with pytest.raises(ValueError, match="Unexpected fields"):
        lj.tree_util.register_dataclass(Other, ["a", "b", "c"], [])
    with pytest.raises(TypeError, match="both be specified"):
        lj.tree_util.register_dataclass(Other, ["a"])


def test_registered_classes_decorated() -> None:
    @lj.tree_util.register_pytree_node_class
    class A:
        def __init__(self, x: Any) -> None:
            self.x = x

        def tree_flatten(self) -> Any:
            return (self.x,), None

        @classmethod
        def tree_unflatten(cls, aux: Any, children: Any) -> A:
            return cls(*children)

    assert lj.tree.map(lambda v: v + 1, A(1)).x == 2
    assert float(lj.jit(lambda a: A(a.x * 2))(A(3.0)).x) == 6
    assert float(lj.grad(lambda a: a.x**2)(A(3.0)).x) == 6

    @lj.tree_util.register_dataclass
    @dataclasses.dataclass
    class D:
        x: Any
        how: str = lj.tree.static(default="add")

    d = lj.jit(lambda d: D(d.x + 1, d.how))(D(1.0))
    assert d.how == "add" and float(d.x) == 2 and lj.tree.leaves(d) == [d.x]


def test_transformations_of_trees() -> None:
    params = {"layers": [Point(ljnp.ones((2, 3)), ljnp.zeros(3))], "scale": 2.0}

    def loss(p: Any, x: Any) -> Any:
        for layer in p["layers"]:
            x = x @ layer.x + layer.y
        return ljnp.sum(x * p["scale"])

    grads = lj.jit(lj.grad(loss))(params, ljnp.ones((4, 2)))
    assert str(lj.tree.structure(grads)) == str(jax.tree.structure(params, is_leaf=lambda x: hasattr(x, "node")))
    assert np.array_equal(grads["layers"][0].y, [8, 8, 8])
    stacked = lj.tree.map(lambda *xs: ljnp.stack(xs), params["layers"][0], Point(ljnp.zeros((2, 3)), ljnp.ones(3)))
    out = lj.vmap(lambda p: p.x.sum() + p.y.sum())(stacked)
    assert np.array_equal(out, [6, 3])


def keys_of(j: Any) -> Any:
    """The order of the keys in dicts that functions make, whose keys were put in in another order."""
    d, k = {"b": 1.0, "a": 2.0}, j.numpy.ones(2)
    made = [
        j.tree.map(lambda x: x, d),
        j.tree.map(lambda x, y: x, d, {"a": 3.0, "b": 4.0}),
        j.tree.map(lambda x: x, collections.defaultdict(int, d)),
        j.tree.map(lambda x: x, collections.OrderedDict(d)),
        j.tree.unflatten(j.tree.structure(d), [1, 2]),
        j.jit(lambda x: x)(d),
        j.jit(lambda x: {"z": x, "a": x})(1.0),
        j.vmap(lambda x: {"z": x, "a": x})(k),
        j.grad(lambda x: x["a"] * x["b"])(d),
        j.lax.scan(lambda c, x: (c, {"z": x, "b": c}), 0.0, k)[1],
        j.lax.cond(True, lambda: d, lambda: d),
        j.device_put(d),
        j.eval_shape(lambda x: x, d),
        j.jvp(lambda x: x, (d,), (d,))[0],
        j.tree.map(lambda x: x, {"c": [d], "b": (d, {})})["c"][0],
        j.tree_util.tree_map_with_path(lambda p, x: x, d),
    ]
    return [list(m) for m in made], j.tree.leaves(d)


def test_keys_are_in_order() -> None:
    assert keys_of(lj) == keys_of(jax)
