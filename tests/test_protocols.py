"""Classes of users that derive from `ndarray`: what they override is called as NumPy calls it, with what NumPy gives
it, and attributes of any name are theirs."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.config import config

MODES = ("auto", "graph")


def outcomes(m: Any, cases: Callable[[Any], list[Any]]) -> list[Any]:
    out = []
    for case in cases(m):
        try:
            out.append(case())
        except Exception as error:
            out.append((type(error).__name__, str(error)))
    return out


def same(cases: Callable[[Any], list[Any]], mode: str) -> None:
    wanted = outcomes(numpy, cases)
    with config(mode=mode):
        assert outcomes(lazynp, cases) == wanted


def shown(x: Any) -> Any:
    return [shown(v) for v in x] if type(x) in (list, tuple) else (type(x).__name__, str(x))


def operators(m: Any) -> list[Any]:
    class Told(m.ndarray):
        def __array_ufunc__(self, function, method, *inputs, **kwargs):
            return function.__name__, method, shown(inputs), sorted((k, shown(v)) for k, v in kwargs.items())

    p, square = m.arange(2.0).view(Told), m.eye(2).view(Told)
    binary = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "lt", "eq"]
    inplace = ["iadd", "imul", "ifloordiv", "ipow", "iand", "imatmul"]
    cases = [lambda f=f, v=v: getattr(operator, f)(p, v) for f in binary for v in ((1, 2), [1, 2], 2, 0.5)]
    cases += [lambda f=f, v=v: getattr(operator, f)(v, p) for f in binary for v in ((1, 2), [1, 2], 2)]
    cases += [lambda f=f, v=v: getattr(operator, f)(p, v) for f in inplace for v in ((1, 2), 2, 0.5, m.eye(2))]
    return [*cases, lambda: operator.imatmul(square, m.eye(2)), lambda: operator.imatmul(square, [[1, 2], [3, 4]])]


def wrapping(m: Any) -> list[Any]:
    class Wrapped(m.ndarray):
        tag = None

        def __array_wrap__(self, array, context=None, return_scalar=False):
            out = m.asarray(array).view(type(self))
            out.tag = self.tag, type(array).__name__, return_scalar
            return out

    class Other(Wrapped):
        pass

    def tagged(cls, tag, values):
        out = m.array(values).view(cls)
        out.tag = tag
        return out

    q, r, d = tagged(Wrapped, "q", [1.0, 2]), tagged(Wrapped, "r", [3.0, 4]), tagged(Other, "d", [1.0, 2])
    zero = tagged(Wrapped, "zero", 1.0)
    converter = importlib.import_module(f"{m.__name__}._core.function_base")._array_converter
    inputs = ((q, r), (r, d), (d, q), (1, q), (zero,), (1, 2), (m.ones(2),))
    results = (q, d, m.ones(3), zero, m.array(1.0), m.float64(1), [1, 2])
    return [
        lambda i=i, x=x, kw=kw: (type(w := converter(*i).wrap(x, **kw)).__name__, getattr(w, "tag", None), w is x)
        for i in inputs
        for x in results
        for kw in ({}, {"to_scalar": True}, {"to_scalar": False})
    ]


def numbers(m: Any) -> list[Any]:
    class Number(m.ndarray):
        def __float__(self):
            raise TypeError("no float")

        def __int__(self):
            raise TypeError("no int")

    q, z, out = m.array(1.5).view(Number), m.array(1.5), m.zeros(2, object)

    def filled(value):
        out.fill(value)
        return [type(v).__name__ for v in out], out[0] is value

    return [
        lambda: shown(list(m.array([q, q], dtype=object))),
        lambda: m.array([[q], [q]], dtype=complex).tolist(),
        lambda: m.array([q, 2.0]).tolist(),
        lambda: m.array([q, 2], dtype=int).tolist(),
        lambda: filled(q),
        lambda: filled(z),
        lambda: type(m.empty_like(prototype=q)).__name__,
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cases", [operators, wrapping, numbers])
def test_protocols(cases: Callable[[Any], list[Any]], mode: str) -> None:
    same(cases, mode)


PRIVATE = [n for n in dir(lazynp.ndarray) if n[:2] != "__"]
SHORT = ["_s", "_b", "_h", "_v", "_base", "_meta", "_host", "_view", "_node", "_pin", "_derived", "_writable"]


def attributes(m: Any, name: str, base: Any) -> list[Any]:
    class Named(base):
        def __array_finalize__(self, other):
            super().__array_finalize__(other)
            setattr(self, name, getattr(other, name, "none"))

    in_class = type("InClass", (base,), {name: "class"})

    def used(cls):
        x = m.arange(6.0).view(cls)
        first = getattr(x, name)
        if cls is Named:
            setattr(x, name, "mine")
        y = m.sort((x + 1)[1:].reshape(5, 1).copy(), axis=0).sum(0)
        x[2:] *= 2
        return first, y.tolist(), getattr(y, name), x.T.tolist(), hasattr(m.ones(2), name), repr(x)

    return [lambda: used(Named), lambda: used(in_class)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SHORT)
def test_names_of_attributes_are_the_users(name: str, mode: str) -> None:
    same(lambda m: attributes(m, name, m.ndarray), mode)
    same(lambda m: attributes(m, name, m.ma.MaskedArray), mode)


def test_all_private_names_are_unlikely() -> None:
    known = set(dir(numpy.ndarray)) | {"block_until_ready", "_set_shape", "_set_dtype", "_abc_impl"}
    assert all(n in known or n[0] == n[-1] == "_" for n in PRIVATE), PRIVATE
