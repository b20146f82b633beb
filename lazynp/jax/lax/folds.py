"""Reductions by a function of two elements for which it matters how few elements are grouped."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...graph.node import ABSTRACT, Node, leaf
from ...ops.joining import span
from ...runtime.execute import value_of

Combine = Callable[[list[Node], list[Node]], list[Node]]
TRIED = 16
ORDERED = 32  # elements up to which the order is kept; XLA, too, regroups more of them
GROUPABLE = {
    *("add", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("logical_and", "logical_or", "logical_xor", "logaddexp"),
}

answers: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], bool]] = weakref.WeakKeyDictionary()
"""What was found by trying, for each function while it lives, by dtypes."""


def is_groupable(function: Any, combine: Combine, name: str | None, dtypes: Sequence[Any]) -> bool:
    """Whether a function of two elements, `combine` as one of nodes, is associative: by its name, else tried on a few
    numbers, once. A function that reads what has no value yet cannot be tried, and is taken to be none."""
    if name is not None or any(d.names for d in dtypes):
        return name is None or name in GROUPABLE
    try:
        known = answers.setdefault(function, {})
    except TypeError:  # of a type without weak references, or without a hash
        known = {}
    if (answer := known.get(tuple(dtypes))) is None:
        answer = tried(combine, dtypes)
        if answer is not None:
            known[tuple(dtypes)] = answer
    return bool(answer)


def tried(combine: Combine, dtypes: Sequence[Any]) -> bool | None:
    """Whether a function groups a few numbers either way to the same; None where it cannot be tried."""
    random = np.random.RandomState(0)
    numbers = [random.uniform(1, 4, TRIED) for _ in range(3)]
    a, b, c = [[leaf((TRIED,), d, np.asarray(x).astype(d)) for d in dtypes] for x in numbers]
    left, right = combine(combine(a, b), c), combine(a, combine(b, c))
    if any(n.trace == ABSTRACT for n in (*left, *right)):
        return None
    values = [(np.asarray(value_of(n)) for n in pair) for pair in zip(left, right)]
    return all(is_close(x, y) for x, y in values)


def is_close(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays differ by no more than the rounding of a few operations in the narrowest dtypes."""
    if x.dtype.kind in "biu":
        return bool(np.array_equal(x, y))
    kind = "complex128" if x.dtype.kind == "c" else "float64"
    return bool(np.allclose(x.astype(kind), y.astype(kind), rtol=0.05, equal_nan=True))


def rows_one_by_one(combine: Combine, rows: list[Node]) -> list[Node]:
    """The rows along axis 0 combined from the first one on, into one row."""
    return functools.reduce(combine, [[span(x, 0, i, 1) for x in rows] for i in range(rows[0].shape[0])])
