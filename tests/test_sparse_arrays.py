"""SciPy's sparse arrays and matrices with our arrays: operators in both orders, methods, indexing, and constructors."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from outcomes import outcomes

import lazynp

sparse = pytest.importorskip("scipy.sparse", reason="it comes with lazynp[test]")

DENSE = numpy.array([[1.0, 0, 2], [0, 0, 3], [4, 0, 0]])
KINDS = ("csr_array", "csc_matrix", "coo_array", "lil_array", "dok_array", "dia_array", "bsr_array", "csr_matrix")
OPERATORS = ("add", "sub", "mul", "truediv", "matmul", "pow", "eq", "ne", "lt", "ge")
OTHERS: dict[str, Callable[[Any], Any]] = {
    "vector": lambda m: m.array([1.0, 2, 3]),
    "table": lambda m: m.arange(9.0).reshape(3, 3),
    "places": lambda m: m.array([0, 2, 1]),
    "mask": lambda m: m.array([True, False, True]),
    "masks": lambda m: m.eye(3) > 0,
    "column": lambda m: m.array([[1.0], [2], [3]]),
    "number": lambda m: m.array(2.0),
    "matrix": lambda m: m.asmatrix(m.eye(3)),
}


def shown(m: Any, value: Any) -> Any:
    if sparse.issparse(value):
        return type(value).__name__, str(value.dtype), repr(value.toarray().tolist())
    if isinstance(value, (m.ndarray, numpy.ndarray)):
        return type(value).__name__, str(value.dtype), value.shape, repr(value.tolist())
    return type(value).__name__, repr(value)


def written(a: Any, key: Any, value: Any) -> Any:
    a[key] = value
    return a


def uses(m: Any, kind: str, other: Callable[[Any], Any]) -> list[Any]:
    def made() -> Any:
        return getattr(sparse, kind)(DENSE)

    x = other(m)
    calls: dict[str, Callable[[], Any]] = {}
    for name in OPERATORS:
        function = getattr(operator, name)
        calls[name] = lambda f=function: f(made(), x)
        calls[f"r{name}"] = lambda f=function: f(x, made())
    for name in ("iadd", "isub", "imul", "imatmul"):
        function = getattr(operator, name)
        calls[name] = lambda f=function: f(m.array(x, float), made())
        calls[f"{name} of it"] = lambda f=function: f(made(), x)
    for name in ("dot", "multiply", "maximum", "minimum"):
        calls[f".{name}"] = lambda name=name: getattr(made(), name)(x)
    calls |= {
        "get": lambda: made()[x],
        "get places": lambda: made()[x, x],
        "get columns": lambda: made()[:, x],
        "set": lambda: written(made(), x, 5),
        "set row": lambda: written(made(), 0, x),
        "np.add": lambda: m.add(x, made()),
        "np.multiply": lambda: m.multiply(made(), x),
        "dot": lambda: m.dot(x, made()),
        "of it": lambda: getattr(sparse, kind)(x),
    }
    return outcomes(calls, lambda value: shown(m, value))


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_arrays(kind: str, other: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert uses(lazynp, kind, OTHERS[other]) == uses(numpy, kind, OTHERS[other])


def test_constructors_and_functions() -> None:
    def cases(m: Any) -> list[Any]:
        d, r, c = m.array([1.0, 2]), m.array([0, 1]), m.array([1, 0])
        made = [
            sparse.csr_array((d, (r, c)), shape=(2, 2)), sparse.csc_array((d, r, m.array([0, 1, 2])), shape=(2, 2)),
            sparse.diags([m.arange(3.0)], [0]), sparse.kron(m.eye(2), m.eye(2)), sparse.tril(m.ones((2, 2))),
            sparse.vstack([sparse.csr_array(m.eye(2)), m.ones((1, 2))]), sparse.block_diag([m.eye(2), m.ones((1, 1))]),
        ]  # fmt: skip
        return [shown(m, value) for value in made]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # SciPy's, of what it will give some day for dense arrays
        assert cases(lazynp) == cases(numpy)


def test_interpolative_decompositions() -> None:
    interpolative = pytest.importorskip("scipy.linalg.interpolative", reason="it comes with lazynp[test]")
    a = numpy.arange(16.0).reshape(4, 4) + 5 * numpy.eye(4)
    for m in (numpy, lazynp):
        value = interpolative.svd(m.asarray(a), 2)[1]
        assert numpy.allclose(value, numpy.linalg.svd(a)[1][:2], rtol=1e-2)
