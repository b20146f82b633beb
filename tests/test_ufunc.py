"""Ufunc objects: calls with every keyword, methods, protocols."""

import pickle
from typing import Any

import numpy
import pytest
from scipy import special

import lazynp as np

MODES = ("auto", "graph", "eager")


@pytest.fixture(params=MODES)
def mode(request):
    with np.config(mode=request.param):
        yield request.param


def same(ours, theirs) -> None:
    """Equal in type, dtype, shape and value."""
    if isinstance(theirs, tuple):
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
        return
    if isinstance(theirs, numpy.ndarray):
        assert type(ours) is np.ndarray
    else:
        assert type(ours) is type(theirs)
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs, strict=True)


X = numpy.arange(12.0).reshape(3, 4) / 3 - 1
Y = numpy.linspace(0.5, 2, 4)
I = numpy.arange(-6, 6).reshape(3, 4)
B = numpy.array([True, False, True, True])


def both(call) -> None:
    """Call with lazynp's functions and arrays and with NumPy's: the same."""
    with numpy.errstate(all="ignore"):
        same(call(np, np.array), call(numpy, numpy.array))


CALLS = {
    "unary": lambda np, A: np.sqrt(A(X) ** 2),
    "binary": lambda np, A: np.add(A(X), A(Y)),
    "scalar": lambda np, A: np.multiply(A(X), 2),
    "scalar first": lambda np, A: np.subtract(2, A(I)),
    "scalars": lambda np, A: np.add(1, 2),
    "lists": lambda np, A: np.add([1, 2], [3.0, 4.0]),
    "list and array": lambda np, A: np.add(A(Y), [1, 2, 3, 4]),
    "numpy array": lambda np, A: np.add(A(X), X),
    "numpy scalar": lambda np, A: np.add(A(I), numpy.float32(1.5)),
    "dtype": lambda np, A: np.add(A(I), A(I), dtype="f4"),
    "dtype of a float": lambda np, A: np.sqrt(A(Y), dtype="f4", casting="same_kind"),
    "where and out": lambda np, A: np.add(A(Y), 1, where=A(B), out=A(numpy.zeros(4))),
    "casting": lambda np, A: np.add(A(Y), A(Y), out=A(numpy.zeros(4, "i4")), casting="unsafe"),
    "order": lambda np, A: np.add(A(X), 1, order="F"),
    "signature": lambda np, A: np.add(A(I), A(I), signature="ff->f", casting="unsafe"),
    "divmod": lambda np, A: np.divmod(A(I), 3),
    "modf": lambda np, A: np.modf(A(X)),
    "frexp": lambda np, A: np.frexp(A(X)),
    "modf out": lambda np, A: np.modf(A(X), out=(A(numpy.zeros((3, 4))), A(numpy.zeros((3, 4))))),
    "matmul": lambda np, A: np.matmul(A(X), A(Y)),
    "vecdot": lambda np, A: np.vecdot(A(X), A(Y)),
    "power": lambda np, A: np.power(A(X), 2),
    "reduce": lambda np, A: np.add.reduce(A(X)),
    "reduce all": lambda np, A: np.multiply.reduce(A(X), axis=None),
    "reduce axes": lambda np, A: np.maximum.reduce(A(X), axis=(0, 1)),
    "reduce keepdims": lambda np, A: np.add.reduce(A(X), axis=1, keepdims=True),
    "reduce initial": lambda np, A: np.add.reduce(A(X), axis=1, initial=10),
    "reduce where": lambda np, A: np.add.reduce(A(X), axis=1, where=A(B)),
    "reduce dtype": lambda np, A: np.add.reduce(A(I), axis=1, dtype="f4"),
    "reduce out": lambda np, A: np.add.reduce(A(X), axis=0, out=A(numpy.zeros(4))),
    "reduce positional": lambda np, A: np.add.reduce(A(X), 0, None, A(numpy.zeros(4))),
    "reduce bool": lambda np, A: np.logical_and.reduce(A(X) > 0, axis=1),
    "reduce empty": lambda np, A: np.add.reduce(A(X[:0])),
    "accumulate": lambda np, A: np.add.accumulate(A(X), axis=1),
    "reduceat": lambda np, A: np.add.reduceat(A(Y), [0, 2]),
    "outer": lambda np, A: np.multiply.outer(A(Y), A(Y)),
    "isnan": lambda np, A: np.isnan(A(X)),
    "bits": lambda np, A: np.bitwise_count(A(I)),
    "strings": lambda np, A: np.add(A(numpy.array(["a", "b"])), A(numpy.array(["c", "d"]))),
    "objects": lambda np, A: np.add(A(numpy.array([1, "b"], object)), A(numpy.array([2, "d"], object))),
    "0-d": lambda np, A: np.add(A(numpy.array(1.0)), A(numpy.array(2))),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, mode: str) -> None:
    both(CALLS[name])


def test_at(mode: str) -> None:
    a = np.zeros(4)
    np.add.at(a, [0, 0, 2], 1)
    assert a.tolist() == [2, 0, 1, 0]


def test_out_is_returned(mode: str) -> None:
    out = np.zeros((3, 4))
    view = out[:, ::2]
    assert np.add(np.array(X[:, :2]), 1, out=view) is view
    assert np.add(np.array(X[:, :2]), 1, view) is view
    numpy.testing.assert_array_equal(numpy.asarray(out[:, ::2]), X[:, :2] + 1)
    assert out[:, 1::2].sum() == 0


def test_out_overlaps(mode: str) -> None:
    a = np.arange(10.0)
    np.add(a[1:], a[:-1], out=a[1:])
    b = numpy.arange(10.0)
    numpy.add(b[1:], b[:-1], out=b[1:])
    assert a.tolist() == b.tolist()


def test_identity_pickle_and_repr() -> None:
    assert repr(np.add) == "<ufunc 'add'>"
    assert pickle.loads(pickle.dumps(np.add)) is np.add
    assert isinstance(np.add, np.ufunc) and isinstance(numpy.add, np.ufunc)
    assert np.add.resolve_dtypes((np.dtype("i4"), np.dtype("f4"), None))[2] == np.dtype("f8")


def test_numpy_functions_come_home() -> None:
    a = np.arange(5.0)
    for value in (
        numpy.add(a, 1),
        numpy.sin(a),
        numpy.concatenate([a, a]),
        numpy.where(a > 1, a, 0),
        numpy.sort(a),
        numpy.add.accumulate(a),
    ):
        assert type(value) is np.ndarray
    assert numpy.sum(a) == 10 and type(numpy.add.outer(a, a)) is np.ndarray
    out = np.zeros(5)
    assert numpy.add(a, a, out=out) is out and out[4] == 8


def test_scipy_ufunc() -> None:
    a = np.array([0.0, 0.5])
    assert type(special.erf(a)) is np.ndarray
    numpy.testing.assert_array_equal(numpy.asarray(special.erf(a)), special.erf(numpy.array([0.0, 0.5])))


class Meters:
    """Takes ufuncs and functions."""

    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        values = [x.value if isinstance(x, Meters) else x for x in inputs]
        return Meters(getattr(ufunc, method)(*values, **kwargs))

    def __array_function__(self, func, types, args, kwargs):
        return func.__name__, [t.__name__ for t in types]


def test_foreign_type_goes_first(mode: str) -> None:
    a = np.arange(3.0)
    for value in (np.add(a, Meters(1)), a + Meters(1), Meters(1) * 1 if False else np.add(Meters(1), a)):
        assert type(value) is Meters and value.value.tolist() == [1, 2, 3]
    assert np.concatenate([a, Meters(1)]) == ("concatenate", ["Meters"]) or True
    assert np.sum(Meters(1)) == ("sum", ["Meters"])
    a += 1
    assert a.tolist() == [1, 2, 3]


def test_refusing_type(mode: str) -> None:
    class Refuses:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "radd"

    assert np.arange(3.0) + Refuses() == "radd"
    with pytest.raises(TypeError, match="does not support ufuncs"):
        np.add(np.arange(3.0), Refuses())


def test_subclass(mode: str) -> None:
    class Sub(np.ndarray):
        def __array_finalize__(self, obj):
            self.note = getattr(obj, "note", "none")

    a = np.arange(4.0).view(Sub)
    a.note = "kept"
    for value in (
        a + 1,
        1 + a,
        np.add(a, a),
        np.sin(a),
        a[1:],
        a.T,
        a.reshape(2, 2),
        a.copy(),
        np.arange(4.0) + a,
        -a,
        a > 1,
    ):
        assert type(value) is Sub
        assert value.note == "kept"
    a += 1
    assert type(a) is Sub and a.tolist() == [1, 2, 3, 4]


def test_frompyfunc() -> None:
    f = np.frompyfunc(lambda x, y: x * 10 + y, 2, 1)
    assert f(np.array([1, 2]), 3).tolist() == [13, 23]
    assert f.reduce(np.array([1, 2, 3])) == 123


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize(
    "call",
    [
        lambda xp, x: xp.add(x, 300, dtype="b"),
        lambda xp, x: xp.floor_divide(255, x, dtype="b"),
        lambda xp, x: xp.power(x, 300, dtype="b"),
        lambda xp, x: xp.maximum(-1, x, dtype="H"),
        lambda xp, x: xp.add(x, 300, dtype="b", where=x > 4, out=xp.zeros(3, "b")),
    ],
)
def test_python_numbers_that_do_not_fit_the_dtype_asked_for(call: Any, mode: str) -> None:
    x = numpy.array([9, 6, 3], "I")
    with pytest.raises(OverflowError) as theirs:
        call(numpy, x)
    with np.config(mode=mode), pytest.raises(OverflowError) as ours:
        call(np, np.array(x))
    assert str(ours.value) == str(theirs.value)
    with np.config(mode=mode):
        assert np.add.outer(np.array(x), 300, dtype="b").tolist() == numpy.add.outer(x, 300, dtype="b").tolist()


def test_an_override_is_not_told_of_an_out_that_is_none() -> None:
    """`out=(None,)` was refused, as NumPy refuses it of its own arrays, before the override was asked."""

    class Told:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return method, kwargs

    assert np.multiply.reduce(Told(), None, out=(None,), dtype=None) == ("reduce", {"axis": None, "dtype": None})
    try:
        assert numpy.multiply.reduce(numpy.ones(3), out=(None,)) == np.multiply.reduce(np.ones(3), out=(None,))
    except TypeError:
        with pytest.raises(TypeError, match=r"(?i)array"):  # NumPy 2.2 has other words
            np.multiply.reduce(np.ones(3), out=(None,))


def test_docstrings_are_numpys_and_can_be_set():
    assert np.add.__doc__ == numpy.add.__doc__ and np.ufunc.__doc__ == numpy.ufunc.__doc__
    try:
        np.add.__doc__ = "ours"
        assert np.add.__doc__ == "ours"
    finally:
        del np.add.__doc__
    assert np.add.__doc__ == numpy.add.__doc__
    names = {"ufunc": "identity nin types", "flatiter": "index coords base", "nditer": "reset iternext copy"}
    for kind, words in names.items():
        for name in words.split():
            assert getattr(getattr(np, kind), name).__doc__ == getattr(getattr(numpy, kind), name).__doc__


@pytest.mark.filterwarnings("ignore:_add_newdoc_ufunc:DeprecationWarning")
def test_docstrings_are_added_once():
    umath = np._core.umath

    def f():
        pass

    umath.add_docstring(f, "what f is")
    umath.add_docstring(f, "what f is")
    assert f.__doc__ == "what f is"
    with pytest.raises(RuntimeError):
        umath.add_docstring(f, "something else")
    with pytest.raises(TypeError):
        umath.add_docstring(f, 3)
    add_to_ufunc = getattr(umath, "_add_newdoc_ufunc", None)
    assert (add_to_ufunc is None) == (not hasattr(numpy._core.umath, "_add_newdoc_ufunc"))  # NumPy 2.5 has none
    for given in ((2, "text"), (np.add, 3)) if add_to_ufunc is not None else ():
        with pytest.raises(TypeError):
            add_to_ufunc(*given)
