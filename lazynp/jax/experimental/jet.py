"""`jax.experimental.jet`: Taylor series through a function.

A value that depends on the arguments is a power series, and its coefficients are made when they are asked for, each
once. Sums and other linear operations act on each coefficient, products and quotients have the formulas for series.
Of anything else the derivative is known: y' is an expression in the operands, their derivatives and y itself, the
coefficient k of y is that of y' at k - 1, divided by k, and needs no later coefficients than those.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api.trace import trace_function
from ...graph.node import ABSTRACT, Node, leaf
from ...graph.op import make, pick, untagged
from ...graph.walk import dependents
from ...ops.elementwise import add, cast, convert, divide, multiply, negative, scalar, subtract, weak_cast
from ...ops.promotion import is_inexact
from ...ops.shape import broadcast_to, zeros_of
from ...ops.tags import alias, custom, hidden_inputs
from ...tracebacks import bound_all as _bound_all
from ...transforms.jvp import node_jvp
from ...tree import flatten, unflatten
from ..array import as_node, door, wrap

__all__ = ["jet", "jet2"]
Term = Any  # a node; None for zero
Series = Callable[[int], Term]


def scaled(x: Node, factor: float) -> Node:
    return multiply(x, scalar(factor, x))


def total(terms: Sequence[Term]) -> Term:
    """The sum; None is zero."""
    found = [t for t in terms if t is not None]
    out = found[0] if found else None
    for t in found[1:]:
        out = add(out, t)
    return out


class Expansion:
    """The series of all values of one graph.

    Attributes:
        known: the coefficients that were made, by node and order. sources: the series that leaves stand for.
        slopes: for a node with a derivative, the expression for y'; of several results one for each.
    """

    def __init__(self, sources: dict[Node, Series]) -> None:
        self.sources = sources
        self.known: dict[tuple[Node, int], Term] = {}
        self.slopes: dict[Node, Any] = {}
        self.varying: dict[Node, bool] = {}

    def varies(self, node: Node) -> bool:
        """Whether a node depends on a leaf with a series, through what has derivatives."""
        stack = [node]
        while stack:
            n = stack[-1]
            if n in self.varying:
                stack.pop()
            elif n in self.sources:
                self.varying[n] = True
            elif n.op is None or n.trace < ABSTRACT or (n.dtype is not None and not is_inexact(n.dtype)):
                self.varying[n] = False
            else:
                inputs = n.inputs[: n.static[2]] if n.op is custom else n.inputs[hidden_inputs(n) :]
                waiting = [i for i in inputs if i not in self.varying]
                stack.extend(waiting)
                if not waiting:
                    self.varying[n] = any([self.varying[i] for i in inputs])
        return self.varying[node]

    def value(self, node: Node) -> Node:
        """The coefficient 0: the expression with the values of the leaves."""
        stack = [node]
        while stack:
            n = stack[-1]
            if (n, 0) in self.known:
                stack.pop()
            elif n in self.sources:
                self.known[n, 0] = self.sources[n](0)
            elif n.op is None or n.trace < ABSTRACT:
                self.known[n, 0] = n
            else:
                waiting = [i for i in n.inputs if (i, 0) not in self.known]
                stack.extend(waiting)
                if not waiting:
                    new = tuple([self.known[i, 0] for i in n.inputs])
                    same = all([a is b for a, b in zip(new, n.inputs)])
                    self.known[n, 0] = n if same else untagged(make(n.op, new, n.static, n.moving))
        found: Node = self.known[node, 0]
        return found

    def term(self, node: Node, k: int) -> Term:
        """The coefficient k of a node's series."""
        if k == 0:
            return self.value(node)
        if not self.varies(node):
            return None
        key = node, k
        if key not in self.known:
            self.known[key] = self.sources[node](k) if node in self.sources else self.made(node, k)
        return self.known[key]

    def made(self, node: Node, k: int) -> Term:
        op, inputs = node.op, node.inputs
        assert op is not None
        if op is add or op is subtract:
            a, b = (self.term(i, k) for i in inputs)
            return fitted(total([a, b if op is add or b is None else negative(b)]), node)
        if op is negative or op is alias or op is cast:
            t = self.term(inputs[0], k)
            return None if t is None else op(t, **op.params_of(node))
        if op is multiply:
            return fitted(self.product(inputs[0], inputs[1], k), node)
        if op is divide:
            done = [self.times(self.term(inputs[1], j), self.term(node, k - j)) for j in range(1, k + 1)]
            rest = total([self.term(inputs[0], k), *[None if t is None else negative(t) for t in done]])
            return None if rest is None else fitted(divide(rest, self.term(inputs[1], 0)), node)
        if op is custom:  # the rules of users are for derivatives of first order: the function itself is expanded
            return None
        if op is pick and inputs[0].op is custom:
            return self.term(inputs[0].inputs[node.static[0]], k)
        source, slope = (inputs[0], self.slope(inputs[0])) if op is pick else (node, self.slope(node))
        slope = slope[node.static[0]] if source is not node and slope is not None else slope
        found = None if slope is None else self.term(slope, k - 1)
        return None if found is None else scaled(found, 1 / k)

    @staticmethod
    def times(a: Term, b: Term) -> Term:
        return None if a is None or b is None else multiply(a, b)

    def product(self, a: Node, b: Node, k: int) -> Term:
        return total([self.times(self.term(a, j), self.term(b, k - j)) for j in range(k + 1)])

    def slope(self, node: Node) -> Any:
        """The expression for the derivative, in leaves for those of the operands."""
        if node not in self.slopes:
            tangents = [self.derivative(i) if self.varies(i) else None for i in node.inputs]
            self.slopes[node] = node_jvp(node, tangents)
        return self.slopes[node]

    def derivative(self, node: Node) -> Any:
        """A leaf whose series is that of a node's derivative; for a node of several results, one for each."""
        if node.dtype is None:
            return self.slope(node)
        found = leaf(node.shape, node.dtype, trace=ABSTRACT)

        def series(k: int) -> Term:
            t = self.term(node, k + 1)
            return zeros_of(node) if t is None else scaled(t, k + 1)

        self.sources[found] = series
        return found


def fitted(t: Term, like: Node) -> Term:
    """A coefficient in the shape of what it belongs to."""
    return t if t is None or t.shape == like.shape else broadcast_to(t, shape=like.shape)


def jet(fun: Callable[..., Any], primals: Any, series: Any, factorial_scaled: bool = True, **_: Any) -> Any:
    """`fun(*primals)`, and its Taylor series along the series of the arguments.

    Args:
        primals: arrays. series: for each of them a list of coefficients, from the first order on, all of one length.
        factorial_scaled: whether coefficients are derivatives (k! times those of the power of order k), in `series` and
            in the result.

    Returns: the value, and a list of coefficients in the place of each of its arrays.

    Raises: ValueError for lists of different lengths, and for arguments or coefficients that are no arrays; TypeError
        for any other keyword, of which JAX's takes no notice.
    """
    if _:
        raise TypeError(f"jet() got an unexpected keyword argument {next(iter(_))!r}")
    orders = {len(terms) for terms in series}
    if len(orders) != 1:
        raise ValueError("jet terms have inconsistent lengths for different arguments")
    (order,) = orders
    for i, (x, terms) in enumerate(zip(primals, series)):
        if not flatten(x)[1].is_leaf():
            raise ValueError(f"primal value at position {i} is not an array")
        for j, t in enumerate(terms):
            if not flatten(t)[1].is_leaf():
                raise ValueError(f"term {j} for argument {i} is not an array")
    nodes = [as_node(x) for x in primals]
    function, out_tree = trace_function(fun, [n.aval for n in nodes], flatten((tuple(primals), {}))[1], door, "jet")
    factors = [math.factorial(k + 1) if factorial_scaled else 1 for k in range(order)]
    sources: dict[Node, Series] = {}
    for source, n, terms in zip(function.inputs, nodes, series):
        given = [scaled(of_dtype(as_node(t), n), 1 / f) for t, f in zip(terms, factors)]
        sources[source] = functools.partial(listed, [n, *given])
    expansion = Expansion(sources)
    for node in dependents(function.outputs, function.inputs):  # inputs first, so that no recursion is deep
        if node.dtype is not None:
            for k in range(order + 1):
                expansion.term(node, k)
    values, found = [], []
    for n in function.outputs:
        terms = [expansion.term(n, k + 1) for k in range(order)]
        values.append(wrap(expansion.value(n)))
        scaled_terms = [zeros_of(n) if t is None else scaled(t, f) for t, f in zip(terms, factors)]
        found.append([wrap(weak_cast(t, dtype=t.dtype) if n.weak else t) for t in scaled_terms])
    return unflatten(out_tree, values), unflatten(out_tree, found)


def listed(terms: Sequence[Node], k: int) -> Term:
    return terms[k] if k < len(terms) else None


def of_dtype(t: Node, like: Node) -> Node:
    """A coefficient in the dtype of its argument, a floating one."""
    return convert(t, like.dtype if is_inexact(like.dtype) else np.dtype(np.float32))


def jet2(fun: Callable[..., Any], primals: Any, series: Any) -> Any:
    """`jet` with the coefficients of the powers themselves."""
    return jet(fun, primals, series, factorial_scaled=False)


_bound_all(globals())
