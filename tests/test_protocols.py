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

    def multiplied(values):
        x = m.ones(2)
        x @= values
        return x.tolist()

    return [
        *[lambda v=v: multiplied(v) for v in (range(2), memoryview(b"ab"), [1, 2], [[1, 2], [3, 4]])],
        lambda: m.zeros(2).fill(q),
        lambda: shown(list(m.array([q, q], dtype=object))),
        lambda: m.array([[q], [q]], dtype=complex).tolist(),
        lambda: m.array([q, 2.0]).tolist(),
        lambda: m.array([q, 2], dtype=int).tolist(),
        lambda: filled(q),
        lambda: filled(z),
        lambda: type(m.empty_like(prototype=q)).__name__,
    ]


def results(m: Any) -> list[Any]:
    class Tagged(m.ndarray):
        def __array_finalize__(self, other):
            self.tag = getattr(other, "tag", "none")

    class High(Tagged):
        __array_priority__ = 10.0

    class Low(Tagged):
        __array_priority__ = -10.0

    class Measure(Tagged):
        def __float__(self):
            raise TypeError("no float")

    class Undoing(m.ndarray):
        def __array_ufunc__(self, function, method, *inputs, **kwargs):
            inputs = [x.view(m.ndarray) if isinstance(x, Undoing) else x for x in inputs]
            return super().__array_ufunc__(function, method, *inputs, **kwargs)

    class Right(m.ndarray):
        def __radd__(self, other):
            return "radd"

        def __eq__(self, other):
            return "eq"

    def tagged(values, cls=Tagged):
        out = m.array(values).view(cls)
        out.tag = "t"
        return out

    def said(x):
        if type(x) in (list, tuple):
            return [said(v) for v in x]
        return type(x).__name__, str(x), getattr(x, "tag", None)

    x, q, v, z = m.arange(4.0).reshape(2, 2), tagged([[1.26, 2.34], [3, 4]]), tagged([1, 2]), tagged(1.0, Measure)
    whole, masked = tagged([[126, 234], [3, 4]]), m.ma.array([[1.0, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    high, low = tagged([[1.0, 2], [3, 4]], High), tagged([[1.0, 2], [3, 4]], Low)
    where, right = m.array([True, False]).view(Undoing), m.ones(2).view(Right)
    calls = [
        lambda: x.clip(0, q), lambda: x.clip(q, None), lambda: m.clip(x, 2, v), lambda: m.clip(x, masked, 9),
        lambda: x.clip(masked, masked, out=m.zeros((2, 2))), lambda: m.clip(x, [1, 2], 3),
        *[lambda a=a, d=d: a.round(d) for a in (q, whole) for d in (0, 1, -1)], lambda: m.round(q, 1),
        *[lambda f=f: f(x, high) for f in (m.dot, m.ndarray.dot, m.inner)], lambda: m.dot(high, x),
        *[lambda f=f: f([x, high]) for f in (m.concatenate, m.stack, m.hstack, m.block)], lambda: m.append(high, x),
        lambda: x.dot(low), lambda: low.dot(x), lambda: m.ma.concatenate([masked, x]),
        lambda: m.concatenate([masked, x]),
        lambda: q.trace(), lambda: m.trace(whole, dtype=complex), lambda: m.trace(q, 1),
        lambda: m.nditer([z, x]).operands, lambda: m.broadcast_arrays(z, m.ones(2), subok=True),
        lambda: m.broadcast_to(z, (2,), subok=True), lambda: m.nested_iters((q, x), [[0], [1]])[0].operands,
        lambda: m.add(x, x, where=where, out=x), lambda: m.add.reduce(x, where=where),
        lambda: m.sin.outer(v), lambda: m.sin.outer(1, 2), lambda: m.add.outer(v), lambda: m.add.outer(v, 1, 2),
        lambda: m.float64(1) + right, lambda: m.float64(1) == right, lambda: m.ones(2) + right, lambda: 1 + right,
        lambda: type("Made", (m.ndarray,), {}).__module__,
    ]  # fmt: skip
    return [lambda call=call: said(call()) for call in calls]


def containers(m: Any) -> list[Any]:
    class Table:
        def __len__(self):
            return 2

        def __getitem__(self, at):
            return [5, 6][at]

        def __array__(self, dtype=None, copy=None):
            if dtype is None:
                return m.arange(2.0)
            if dtype.kind != "O":
                return m.ones(2, dtype)
            out = m.array(None, dtype=object)
            out[()] = self
            return out

    def said(x):
        return x.dtype.str, x.shape, [type(v).__name__ for v in x.ravel()]

    t = Table()
    given = [[t], [t, t], (t, 1), [[t], [t]], [t, [1, 2]]]
    return [lambda x=x, kw=kw: said(m.array(x, **kw)) for x in given for kw in ({}, {"dtype": object}, {"dtype": "f4"})]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings("ignore:future versions will not create a writeable array:FutureWarning")
@pytest.mark.parametrize("cases", [operators, wrapping, numbers, results, containers])
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


def test_a_view_of_numpys_array_may_be_made_writeable() -> None:
    outside = numpy.ones(3)
    x = lazynp.asarray(outside)[:2]
    x.flags.writeable = False
    y = x.view()
    y.flags.writeable = True
    y[0] = 5
    assert outside[0] == 5


def test_iterators_show_their_operands() -> None:
    for m in (numpy, lazynp):
        x, y = m.arange(6.0).reshape(2, 3), m.arange(3.0)
        operands = m.nditer([x, y], [], [["readwrite"], ["readonly"]]).operands
        assert operands[0] is x and type(operands[1]) is m.ndarray
        for v, w in m.nditer([x, y], [], [["readwrite"], ["readonly"]]):
            assert m.shares_memory(v, x) and not m.shares_memory(v, y) and v.shape == ()
            v[...] = 2 * w
        assert x.tolist() == [[0.0, 2.0, 4.0]] * 2
        for v in m.nditer(x.T, flags=["external_loop", "buffered"], op_dtypes=["f4"], casting="same_kind"):
            assert v.dtype == "f4" and not m.shares_memory(v, x)
