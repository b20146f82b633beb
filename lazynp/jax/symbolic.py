"""Sizes with variables: `a`, `2*a + 1`, `floordiv(a, 2)`. Whole expressions in whole numbers from 1 on, which stand in
shapes where functions are traced for sizes that are not known (`jax.export`)."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import InconclusiveDimensionOperation
from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import LIBRARY, Op
from .array import wrap
from .dtypes import int_dtype
from .symbolic_text import Parser

INF = math.inf
MORE = (
    "\nThis error arises for comparison operations with shapes that are non-constant, and the result of the operation "
    "cannot be represented as a boolean value for all values of the symbolic dimensions involved."
)
DEEPEST = 3  # constraints that are combined to decide a comparison
FLOOR, MOD, MAX, MIN = "floordiv", "mod", "max", "min"


class Factor(NamedTuple):
    """A variable (no operands), or an operation that is no polynomial."""

    name: str
    operands: tuple[Any, ...] = ()

    def __str__(self) -> str:
        if not self.operands:
            return self.name
        shown = [f"- {-x}" if type(x) is int and x < 0 else str(x) for x in self.operands]
        return f"{self.name}({', '.join(shown)})"

    @property
    def order(self) -> tuple[Any, ...]:
        return (len(self.operands), str(self))


Term = tuple[tuple[Factor, int], ...]
"""Factors with their exponents; the empty one is that of the constant."""


def order(term: Term) -> tuple[Any, ...]:
    """Higher degrees stand first, then later names."""
    return (sum([n for _, n in term]), [(f.order, n) for f, n in term])


class SymbolicScope:
    """Variables that may stand in one shape, and what is known of them.

    Args:
        constraints_str: texts such as "a >= b", "a <= 8", "2*a == b".
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise ValueError("The symbolic constraints should be a sequence of strings. Got " + repr(constraints_str))
        self.texts = tuple(constraints_str)
        self.known: list[_DimExpr] = []  # all of them at least 0
        self.equal: dict[Term, Any] = {}
        self.checks: list[tuple[str, str, Any]] = []  # the text, its sign, and the left side less the right one
        for text in self.texts:
            self.add(text)

    def add(self, text: str) -> None:
        if not isinstance(text, str):
            raise ValueError(f"SymbolicScope constraint must be a string: got {text!r}")
        found = re.search("==|>=|<=", text)
        if found is None:
            raise ValueError("Constraint parsing error: must contain one of '==' or '>=' or '<='")
        (left,), (right,) = self._read(text[: found.start()]), self._read(text[found.end() :])
        difference = left - right
        self.checks.append((text, found[0], difference))
        if not isinstance(difference, _DimExpr):
            good = {"==": difference == 0, ">=": difference >= 0, "<=": difference <= 0}[found[0]]
            if not good:
                raise ValueError(f"Unsatisfiable explicit constraint: {text}")
            self.checks.pop()
            return
        if found[0] in ("==", ">="):
            self.known.append(difference)
        if found[0] in ("==", "<="):
            self.known.append(-difference)
        if found[0] == "==":
            if not isinstance(left, _DimExpr) or len(left.terms) != 1 or next(iter(left.terms.values())) != 1:
                raise ValueError(
                    f"Invalid equality constraint: {text}. The left-hand-side must be of the form 'term * coefficient'."
                )
            self.equal[next(iter(left.terms))] = right

    def _read(self, text: str, like: Sequence[int | None] | None = None) -> tuple[Any, ...]:
        """The sizes that a text says."""
        return Parser(text, lambda name: made({((Factor(name), 1),): 1}, self), OPERATIONS, like).whole()

    def __str__(self) -> str:
        return f"{id(self)} with constraints: {', '.join(self.texts)}" if self.texts else str(id(self))


def made(terms: Mapping[Term, int], scope: SymbolicScope) -> Any:
    """The expression of these terms, each times its number; an int where there is only a constant."""
    kept = {t: n for t, n in terms.items() if n}
    for term in [t for t in kept if t in scope.equal]:
        return made({**{t: n for t, n in kept.items() if t != term}}, scope) + scope.equal[term] * kept[term]
    if not kept or len(kept) == 1 and () in kept:
        return kept.get((), 0)
    return _DimExpr(dict(sorted(kept.items(), key=lambda item: order(item[0]), reverse=True)), scope)


def operation(name: str, a: Any, b: Any) -> Any:
    """An operation that is no polynomial, as small as may be."""
    scope = next(x.scope for x in (a, b) if isinstance(x, _DimExpr))
    if name in (MAX, MIN):
        low, high = bounds(a - b) if isinstance(a - b, _DimExpr) else (a - b, a - b)
        if low >= 0:
            return a if name == MAX else b
        if high <= 0:
            return b if name == MAX else a
    return made({((Factor(name, (a, b)), 1),): 1}, scope)


class _DimExpr:
    """A polynomial of variables with whole coefficients, and of quotients, remainders, maxima and minima of such.

    Attributes:
        terms: from products of factors to their coefficients, the highest first. scope: of the variables.
    """

    symbolic = True
    __array_priority__ = 1000
    __slots__ = ("terms", "scope", "__weakref__")

    def __init__(self, terms: dict[Term, int], scope: SymbolicScope) -> None:
        self.terms, self.scope = terms, scope

    def __str__(self) -> str:
        out = ""
        for i, (term, n) in enumerate(self.terms.items()):
            text = "*".join([f"{f}^{e}" if e != 1 else str(f) for f, e in term])
            size = abs(n)
            shown = text if text and size == 1 else f"{size}*{text}" if text else str(size)
            sign = ("- " if n < 0 else "") if i == 0 else (" - " if n < 0 else " + ")
            out += sign + shown
        return out

    __repr__ = __str__

    def __hash__(self) -> int:
        return hash((tuple(self.terms.items()), id(self.scope)))

    def __deepcopy__(self, memo: Any) -> _DimExpr:
        return self

    # Arithmetic.

    def other(self, x: Any, when: str = "for linear combination") -> Any:
        """The terms of an operand; None for what is no size. Raises ValueError for a variable of another scope.
        `when`: what for, for that error."""
        if isinstance(x, _DimExpr):
            if x.scope is not self.scope:
                raise ValueError(
                    f"Invalid mixing of symbolic scopes {when}.\nExpected  scope {self.scope}\n"
                    f"and found for '{x}' (unknown) scope {x.scope}"
                )
            return x.terms
        try:
            return {(): operator.index(x)} if not isinstance(x, bool) else {(): int(x)}
        except TypeError:
            return None

    def __add__(self, x: Any) -> Any:
        terms = self.other(x)
        if terms is None:
            return as_array(self).__add__(x)
        return made({t: self.terms.get(t, 0) + terms.get(t, 0) for t in (*self.terms, *terms)}, self.scope)

    def __mul__(self, x: Any) -> Any:
        terms = self.other(x, "for operation mul")
        if terms is None:
            return as_array(self).__mul__(x)
        out: dict[Term, int] = {}
        for a, m in self.terms.items():
            for b, n in terms.items():
                powers = dict(a)
                for factor, e in b:
                    powers[factor] = powers.get(factor, 0) + e
                both = tuple(sorted(powers.items(), key=lambda item: item[0].order))
                out[both] = out.get(both, 0) + m * n
        return made(out, self.scope)

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __sub__(self, x: Any) -> Any:
        if self.other(x) is None:
            return as_array(self).__sub__(x)
        return self + (-x if isinstance(x, _DimExpr) else -operator.index(x))

    def __rsub__(self, x: Any) -> Any:
        return -self + x if self.other(x) is not None else as_array(self).__rsub__(x)

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, n: Any, modulo: Any = None) -> Any:
        if modulo is not None or self.other(n) is None or isinstance(n, _DimExpr) or n < 0:
            return as_array(self).__pow__(n)
        return functools.reduce(operator.mul, [self] * operator.index(n), 1)

    def __truediv__(self, x: Any) -> Any:
        return as_array(self) / (as_array(x) if isinstance(x, _DimExpr) else x)

    def __rtruediv__(self, x: Any) -> Any:
        return x / as_array(self)

    def __divmod__(self, x: Any) -> Any:
        if self.other(x, "for operation floordiv") is None:
            return divmod(as_array(self), x)
        return quotient(self, x)

    def __rdivmod__(self, x: Any) -> Any:
        return quotient(operator.index(x), self)

    def __floordiv__(self, x: Any) -> Any:
        return divmod(self, x)[0]

    def __rfloordiv__(self, x: Any) -> Any:
        return divmod(x, self)[0]

    def __mod__(self, x: Any) -> Any:
        return divmod(self, x)[1]

    def __rmod__(self, x: Any) -> Any:
        return divmod(x, self)[1]

    # What is known.

    def __eq__(self, x: Any) -> bool:
        if isinstance(x, _DimExpr) and x.scope is not self.scope:
            return False
        terms = self.other(x)
        return terms is not None and self.terms == terms  # where it depends: no

    def __ne__(self, x: Any) -> bool:
        return not self == x

    def compared(self, x: Any, sign: str) -> bool:
        """Whether `self sign x` for all values of the variables. Raises InconclusiveDimensionOperation where it
        depends."""
        if isinstance(x, _DimExpr) and x.scope is not self.scope:
            self.other(x, f"when comparing '{self}' {sign} '{x}'")
        difference = self - x
        low, high = bounds(difference) if isinstance(difference, _DimExpr) else (difference, difference)
        no, yes = {">=": (high < 0, low >= 0), ">": (high <= 0, low > 0)}.get(sign) or {
            "<=": (low > 0, high <= 0), "<": (low >= 0, high < 0)}[sign]  # fmt: skip
        if not yes and not no:
            raise InconclusiveDimensionOperation(
                f"Symbolic dimension comparison '{self}' {sign} '{x}' is inconclusive.{MORE}"
            )
        return bool(yes)

    def __ge__(self, x: Any) -> bool:
        return self.compared(x, ">=")

    def __gt__(self, x: Any) -> bool:
        return self.compared(x, ">")

    def __le__(self, x: Any) -> bool:
        return self.compared(x, "<=")

    def __lt__(self, x: Any) -> bool:
        return self.compared(x, "<")

    def __bool__(self) -> bool:
        low, high = bounds(self)
        if low > 0 or high < 0:
            return True
        raise InconclusiveDimensionOperation(f"Symbolic dimension '{self}' used where True or False is needed.{MORE}")

    def __int__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"Symbolic dimension '{self}' used in a context that requires a constant{MORE}"
        )

    __index__ = __float__ = __int__

    @property
    def node(self) -> Node:
        """The size as a number in a graph."""
        return dim_as_value(dim=self, dtype=int_dtype())

    _is_dimension = True

    def __jax_array__(self) -> Any:
        return wrap(self.node)

    # Values.

    def variables(self) -> set[str]:
        """The names of the variables in it."""
        found: set[str] = set()
        for term in self.terms:
            for factor, _ in term:
                if not factor.operands:
                    found.add(factor.name)
                for x in factor.operands:
                    found |= x.variables() if isinstance(x, _DimExpr) else set()
        return found

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The number that it is where variables have these values."""
        total = 0
        for term, n in self.terms.items():
            for factor, e in term:
                n *= factor_at(factor, values) ** e
            total += n
        return total


def factor_at(factor: Factor, values: Mapping[str, int]) -> int:
    if not factor.operands:
        return values[factor.name]
    return OPERATIONS[factor.name](*[evaluated(x, values) for x in factor.operands])


def evaluated(x: Any, values: Mapping[str, int]) -> Any:
    """A size, or a nest of tuples, slices and others with sizes in it, where variables have these values."""
    if isinstance(x, _DimExpr):
        return x.evaluate(values)
    if type(x) in (tuple, list):
        return type(x)([evaluated(v, values) for v in x])
    if type(x) is slice:
        return slice(*[evaluated(v, values) for v in (x.start, x.stop, x.step)])
    return x


def as_array(x: Any) -> Any:
    """A symbolic size as an array of no axes."""
    return wrap(x.node) if isinstance(x, _DimExpr) else x


dim_as_value = Op(
    "dim_as_value",
    LIBRARY,
    lambda *, dim, dtype: Aval((), dtype, True),
    lambda xp, *, dim, dtype: np.asarray(dim, dtype),
    static=("dim", "dtype"),
    doc="A size as a number.",
)


def quotient(a: Any, b: Any) -> tuple[Any, Any]:
    """Quotient and remainder, rounded down. Parts that can be divided are."""
    if not isinstance(b, _DimExpr):
        if b == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        whole = {t: n // b for t, n in a.terms.items()}
        rest = {t: n - whole[t] * b for t, n in a.terms.items()}
        if not any([n for t, n in rest.items() if t]):
            return made(whole, a.scope), rest.get((), 0)
        if all([n % b == 0 or n == rest[t] for t, n in a.terms.items()]):
            left = made(rest, a.scope)
            return made(whole, a.scope) + operation(FLOOR, left, b), operation(MOD, left, b)
        return operation(FLOOR, a, b), operation(MOD, a, b)
    exact = divided(a, b)
    if exact is not None:
        return exact, 0
    return operation(FLOOR, a, b), operation(MOD, a, b)


def divided(a: Any, b: _DimExpr) -> Any:
    """a / b where that is a polynomial; None where it is none."""
    out: Any = 0
    (lead, m), *_ = b.terms.items()
    while isinstance(a, _DimExpr):
        term, n = next(iter(a.terms.items()))
        powers, below = dict(term), dict(lead)
        if n % m or any([powers.get(f, 0) < e for f, e in below.items()]):
            return None
        left = {f: e - below.get(f, 0) for f, e in powers.items()}
        part = made({tuple([(f, e) for f, e in left.items() if e]): n // m}, b.scope)
        out, a = out + part, a - part * b
    return out if a == 0 else None


# --- Bounds -----------------------------------------------------------------------------------------------------------


def times(x: float, y: float) -> float:
    return 0 if x == 0 or y == 0 else x * y


def of_factor(factor: Factor, depth: int) -> tuple[float, float]:
    """The least and the largest value of a factor."""
    if not factor.operands:
        return 1, INF
    (a, b), (c, d) = [bounds(x, depth) if isinstance(x, _DimExpr) else (x, x) for x in factor.operands]
    if factor.name in (MAX, MIN):
        choose = max if factor.name == MAX else min
        return choose(a, c), choose(b, d)
    if c <= 0 <= d:
        return -INF, INF
    if factor.name == MOD:
        return (0, min(d - 1, b) if a >= 0 else d - 1) if c > 0 else (c + 1, 0)
    ends = [0 if abs(y) == INF and abs(x) != INF and x >= 0 else x / y if abs(y) != INF else (-1 if abs(x) != INF else
            math.copysign(INF, x * y)) for x in (a, b) for y in (c, d)]  # fmt: skip
    return min([math.floor(v) if abs(v) != INF else v for v in ends]), max(
        [math.floor(v) if abs(v) != INF else v for v in ends]
    )


def bounds(x: _DimExpr, depth: int = DEEPEST) -> tuple[float, float]:
    """Numbers that an expression is never below, and never above, for all values of its variables that are allowed."""
    low = high = float(x.terms.get((), 0))
    for term, n in x.terms.items():
        if not term:
            continue
        ends = (float(n), float(n))
        for factor, e in term:
            a, b = of_factor(factor, depth - 1) if depth else (-INF, INF) if factor.operands else (1, INF)
            powers = (a**e, b**e) if a >= 0 else (min(times(a, b), 0), max(a * a, b * b)) if e == 2 else (a, b)
            products = [times(p, q) for p in ends for q in powers]
            ends = (min(products), max(products))
        low, high = low + ends[0], high + ends[1]
    if depth and (low == -INF or high == INF):
        for known in x.scope.known:  # at least 0, and so are its multiples
            for term, n in known.terms.items():
                m = x.terms.get(term, 0)
                if not term or not m or m % n:
                    continue
                rest = x - known * (m // n)
                a, b = bounds(rest, depth - 1) if isinstance(rest, _DimExpr) else (rest, rest)
                low, high = (max(low, a), high) if m // n > 0 else (low, min(high, b))
    return low, high


def is_symbolic_dim(p: Any) -> bool:
    """Whether a size is an expression with variables."""
    return isinstance(p, _DimExpr)


def max_dim(d1: Any, d2: Any) -> Any:
    """The larger of two sizes."""
    return operation(MAX, d1, d2) if isinstance(d1, _DimExpr) or isinstance(d2, _DimExpr) else max(d1, d2)


def min_dim(d1: Any, d2: Any) -> Any:
    """The smaller of two sizes."""
    return operation(MIN, d1, d2) if isinstance(d1, _DimExpr) or isinstance(d2, _DimExpr) else min(d1, d2)


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    FLOOR: operator.floordiv,
    MOD: operator.mod,
    MAX: max_dim,
    MIN: min_dim,
}


def sizes(xs: Any) -> Iterator[_DimExpr]:
    """The expressions in a nest of tuples."""
    for x in xs:
        if isinstance(x, _DimExpr):
            yield x
        elif type(x) in (tuple, list):
            yield from sizes(x)


def varies(xs: Any) -> bool:
    """Whether there is an expression in a nest of tuples."""
    return next(sizes(xs), None) is not None


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[Any] | None = None,
) -> tuple[Any, ...]:
    """The shape that a text says, such as "a, 2*b, 4".

    Args:
        constraints: what is known of the variables, as for `SymbolicScope`; they may not stand beside a scope.
        scope: of the variables; a new one by default.
        like: a shape from which "_" and "..." take their sizes.

    Raises: ValueError for a text that is no shape, or does not fit `like`.
    """
    text = "..." if shape_spec is None else shape_spec
    if not isinstance(text, str):
        raise ValueError(f"polymorphic shape spec should be None or a string. Found {text!r}.")
    if constraints and scope is not None:
        raise ValueError("Cannot specify both a `scope` and `constraints`.")
    return (scope or SymbolicScope(constraints))._read(text, like)
