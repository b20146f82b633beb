"""Walks, the legality spec, graphs as text, the oracle."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from verify import GraphError, verify

import lazynp
from lazynp.backends.numpy.evaluate import evaluate
from lazynp.graph.node import ABSTRACT, KEPT, Node, leaf, number_of
from lazynp.graph.op import make, pick, results
from lazynp.graph.show import show
from lazynp.graph.walk import dependents, leaves, toposort, users
from lazynp.ops import creation, elementwise, joining, linalg, shape, transcendental
from lazynp.ops.elementwise import add, divide, multiply, negative
from lazynp.ops.tags import stop_gradient
from lazynp.ops.transcendental import sin
from lazynp.transforms.simplify import simplify
from lazynp.transforms.transpose import vjp

F64 = np.dtype(np.float64)


def constant(x: Any, trace: int = 0) -> Node:
    x = np.asarray(x)
    return leaf(x.shape, x.dtype, x, trace=trace)


def test_toposort_puts_inputs_first_and_each_node_once() -> None:
    x = constant([1.0, 2.0])
    a = sin(x)
    b = multiply(a, a)
    c = add(b, a)
    order = toposort([c, b])
    assert order == [x, a, b, c]
    assert toposort([c], stop={b})[0] is b
    assert leaves([c]) == [x]
    assert users(order)[a] == 3


def test_walks_prune_by_trace() -> None:
    x, t = constant([1.0]), leaf((1,), F64, trace=KEPT)
    hidden = sin(x)
    y = multiply(hidden, t)
    assert toposort([y], least=KEPT) == [t, y]
    assert dependents([y, hidden], [t]) == [y]
    assert dependents([y], []) == []


def test_graphs_of_200_000_nodes() -> None:
    x = leaf((2,), F64, trace=ABSTRACT)
    y = x
    for _ in range(200_000):
        y = add(y, 1.0)
    assert len(toposort([y])) == 400_001
    assert len(dependents([y], [x])) == 200_000
    np.testing.assert_array_equal(evaluate([y], {x: np.array([0.0, 1.0])})[0], [200_000.0, 200_001.0])


def test_show() -> None:
    x = leaf((3, 4), F64, trace=KEPT)
    y = shape.set_(x, 0.5, key=((0, 2, 1), (3, 4, -1)))
    z = shape.add_reduce(multiply(sin(y), np.float32(2)), axes=(1,), keepdims=False, dtype=np.dtype(np.float32))
    assert show([z]).splitlines() == [
        "%0 = leaf : float64[3,4]  # under differentiation",
        "%1 = set %0 0.5 key=[0:2,3::-1] : float64[3,4]  # under differentiation",
        "%2 = sin %1 : float64[3,4]  # under differentiation",
        "%3 = multiply %2 2.0:float32 : float64[3,4]  # under differentiation",
        "%4 = add.reduce %3 axes=(1,) keepdims=False dtype=float32 : float32[3]  # under differentiation",
        "return %4",
    ]
    w, v = results(linalg.eigh(constant(np.eye(2)), UPLO="L"))
    assert "%1 = eigh %0 UPLO='L' : (float64[2], float64[2,2])" in show([w, v])
    assert show([Node.of_scalar(3)]).splitlines() == ["%0 = 3 : int64[]*", "return %0"]


def test_show_leaves_out_the_middle() -> None:
    y = constant([1.0])
    for _ in range(100):
        y = sin(y)
    lines = show([y], limit=10).splitlines()
    assert len(lines) == 12
    assert lines[5] == "... 91 more ..."


def test_legal_graphs_pass() -> None:
    x = constant(np.arange(6.0).reshape(2, 3))
    y = joining.pad(shape.transpose(x, axes=(1, 0)), [(1, 1), (0, 2)])
    q, r = results(linalg.qr(y, mode="reduced"))
    assert verify([q, r, creation.full((2,), 3)]) > 5


def broken(op: Any, inputs: tuple[Node, ...], **changes: Any) -> Node:
    """A node that no op call would make."""
    params = changes.pop("params", {})
    node = Node(
        op,
        inputs,
        tuple([params[k] for k in op.static if k in params]),
        tuple([params[k] for k in op.moving if k in params]),
        (2, 3),
        F64,
        False,
    )
    for k, v in changes.items():
        setattr(node, k, v)
    return node


X = constant(np.zeros((2, 3)))
ILLEGAL = [
    ("dtype that no backend", leaf((), np.dtype("M8[s]"))),
    ("non-negative Python ints", leaf((np.int64(2),), F64)),
    ("leaf with inputs", Node(None, (X,), (), (), (), F64, False)),
    ("another number of results", broken(linalg.qr, (X,), params={"mode": "reduced"})),
    ("another number of parameters", broken(shape.add_reduce, (X,))),
    (
        "axes that are not normalized",
        broken(shape.add_reduce, (X,), params={"axes": (1, 0), "keepdims": False, "dtype": None}),
    ),
    ("axes that are not normalized", broken(shape.transpose, (X,), params={"axes": (0, 0)})),
    ("axes that are not normalized", broken(joining.concatenate, (X,), params={"axis": -1})),
    ("key that leaves its input", broken(shape.slice_, (X,), params={"key": ((0, 2, 1), (1, 3, 1))})),
    ("key that leaves its input", broken(shape.slice_, (X,), params={"key": ((0, 2, 1),)})),
    ("key that leaves its input", broken(shape.slice_, (X,), params={"key": ((0, 2, 1), (0, 3, 1), 4)})),
    ("changes the number of elements", broken(shape.reshape, (X,), params={"shape": (2, 4)}, shape=(2, 4))),
    ("does not fit", broken(shape.broadcast_to, (X,), params={"shape": (4, 3)}, shape=(4, 3))),
    ("another dtype", broken(shape.set_, (X, constant(np.int32(1))), params={"key": ((0, 2, 1), (0, 3, 1))})),
    ("without pick", broken(transcendental.sin, (linalg.qr(X, mode="reduced"),))),
    ("lower trace", broken(transcendental.sin, (leaf((2, 3), F64, trace=KEPT),))),
    ("rule does not give", broken(transcendental.sin, (X,), shape=(3, 2))),
    ("rule does not give", broken(transcendental.sin, (X,), dtype=np.dtype(np.float32))),
]


@pytest.mark.parametrize(("message", "node"), ILLEGAL, ids=[m for m, _ in ILLEGAL])
def test_illegal_graphs_are_found(message: str, node: Node) -> None:
    with pytest.raises(GraphError, match=message):
        verify([node])


def test_cycles_are_found() -> None:
    x = constant([1.0])
    a = sin(x)
    b = sin(a)
    a.inputs = (b,)
    with pytest.raises(GraphError, match="cycle"):
        verify([b])


def test_a_leaf_needs_a_value() -> None:
    x = leaf((2,), F64)
    with pytest.raises(ValueError, match="a leaf without a value"):
        evaluate([sin(x)])
    np.testing.assert_array_equal(evaluate([add(x, 1)], {x: np.zeros(2)})[0], 1.0)


def test_weak_values_yield() -> None:
    """A Python scalar, and what is made of Python scalars, takes the dtype of the array beside it."""
    weak = add(multiply(Node.of_scalar(2), 3), 1.0)
    assert (weak.weak, weak.dtype) == (True, F64)
    out = multiply(constant(np.ones(2, np.float32)), weak)
    assert out.dtype == np.float32
    np.testing.assert_array_equal(evaluate([out])[0], np.float32(7))
    array = leaf((2,), F64, weak=True)
    (value,) = evaluate([elementwise.less(constant(np.ones(2, np.float32)), array)], {array: np.array([0.5, 2.0])})
    np.testing.assert_array_equal(value, [False, True])


def test_weak_leaves_of_different_shapes_are_not_confused() -> None:
    a, b = leaf((2,), F64, weak=True), leaf((3,), F64, weak=True)
    assert (sin(a).shape, sin(b).shape) == ((2,), (3,))


def test_results_of_different_sources_are_not_confused() -> None:
    wide, tall = (results(linalg.qr(constant(np.ones(s)), mode="reduced")) for s in ((2, 3), (3, 2)))
    assert [n.shape for n in (*wide, *tall)] == [(2, 2), (2, 3), (3, 2), (2, 2)]
    assert make(pick, (wide[0].inputs[0],), (1,)).shape == (2, 3)


def test_simplify() -> None:
    x = leaf((2, 3), F64, trace=ABSTRACT)
    turned = shape.transpose(shape.transpose(x, axes=(1, 0)), axes=(1, 0))
    ones = shape.broadcast_to(np.float64(1), shape=(2, 3))
    assert simplify([multiply(negative(negative(turned)), ones)]) == [x]
    assert simplify([elementwise.cast(shape.reshape(shape.reshape(x, shape=(6,)), shape=(2, 3)), dtype=F64)]) == [x]
    assert simplify([shape.slice_(divide(x, 1), key=((0, 2, 1), (0, 3, 1)))]) == [x]
    assert simplify([elementwise.where(elementwise.less(x, 0), x, stop_gradient(x))]) == [x]
    inner = negative(x)  # what is behind a node that is kept is not looked at, not even a leaf
    (outer,) = simplify([negative(inner)], keep=[inner])
    assert outer is not x and outer.inputs == (inner,)
    a, b = simplify([sin(x), sin(turned)])
    assert a is b


def test_simplify_keeps_bits_and_dtypes() -> None:
    x = leaf((2,), np.dtype(np.float32), trace=ABSTRACT)
    wide = multiply(x, np.float64(1))
    zero = add(x, 0.0)
    outer = multiply(x, constant(np.ones((3, 1), np.float32)))
    grown = multiply(x, shape.broadcast_to(np.float32(1), shape=(3, 2)))
    assert simplify([wide, zero, outer, grown]) == [wide, zero, outer, grown]
    complex_ = multiply(leaf((2,), np.dtype(complex), trace=ABSTRACT), 1.0)
    assert simplify([complex_]) == [complex_]
    y = sin(x)
    assert simplify([multiply(y, 1.0)], keep=[y]) == [y]


def test_simplified_gradients_have_the_same_values() -> None:
    x = constant(np.random.default_rng(0).random((3, 4)), KEPT)
    y = shape.add_reduce(sin(shape.transpose(multiply(x, x), axes=(1, 0))), axes=(0, 1), keepdims=False, dtype=None)
    grads = vjp([y], [x], [Node.of_scalar(np.float64(1))])
    less = simplify(grads)
    verify(less)
    assert len(toposort(less)) < len(toposort(grads))
    np.testing.assert_array_equal(*evaluate([*grads, *less]))


def test_numbers_are_unique_across_threads() -> None:
    """Two abstract values that get their numbers at once must not share one: a node would take the other's dtype."""
    found: list[tuple[object, int]] = []

    def work(k: int) -> None:
        found.extend([((i, k), number_of(("test", i, k))) for i in range(2000)])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({n for _, n in found}) == len(found)


def test_placeholders_in_the_stream_are_passed_over() -> None:
    """A graph over a placeholder that has no value must not stand in the way of what is recorded after it."""
    x = leaf((3,), np.dtype(np.float64))
    waiting = [add(x, 1.0)]
    for _ in range(3):
        waiting.append(multiply(waiting[-1], 2.0))
    with lazynp.config(mode="graph", pending_nodes=4):
        a = lazynp.array([1.0, 2.0, 3.0])
        for _ in range(10):
            a = a * 2.0
        assert a.tolist() == [1024.0, 2048.0, 3072.0]


def test_long_and_long_long_are_told_apart() -> None:
    """They are equal dtypes; NumPy keeps them apart in the scalars it makes."""
    seen = {}
    for char in "qlqQLQ":
        with lazynp.config(mode="graph"):
            a = lazynp.array([7, 9], char)
            seen[char] = type((a % a)[0]), type((a + a).sum())
    for char, kinds in seen.items():
        a = np.array([7, 9], char)
        assert kinds == (type((a % a)[0]), type((a + a).sum())), char
