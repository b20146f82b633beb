"""Causes of failure that NumPy's own tests showed: each a mechanism, with the smallest program that met it."""

import abc
import ctypes
import hashlib
import inspect
import pickle
import warnings

import numpy
import pytest

import lazynp as np


def test_signatures_are_those_of_numpy() -> None:
    for name in ("array", "asarray", "arange", "zeros", "frombuffer", "from_dlpack", "nditer", "broadcast"):
        assert str(inspect.signature(getattr(np, name))) == str(inspect.signature(getattr(numpy, name))), name
    for name in ("sum", "reshape", "astype", "__array_ufunc__", "__reduce__"):
        assert str(inspect.signature(getattr(np.ndarray, name))) == str(inspect.signature(getattr(numpy.ndarray, name)))
    assert np.array.__text_signature__ == numpy.array.__text_signature__


def test_buffer_protocol() -> None:
    a = np.arange(12.0).reshape(3, 4)
    view = memoryview(a.T)
    assert (view.format, view.shape, view.strides) == ("d", (4, 3), (8, 32))
    assert hashlib.sha256(np.arange(4)).digest() == hashlib.sha256(numpy.arange(4)).digest()
    assert bytes(np.arange(3, dtype="u1")) == b"\0\1\2"
    memoryview(a)[1, 2] = 50.0
    assert a[1, 2] == 50
    a.flags.writeable = False
    assert memoryview(a).readonly
    with pytest.raises((ValueError, BufferError)):
        memoryview(np.zeros(2, "M8[s]"))
    kept = memoryview(np.arange(1000))  # the array dies, its memory does not
    junk = [np.ones(1000) for _ in range(20)]
    assert kept[999] == 999
    del junk


def test_arrays_of_numpy_are_instances() -> None:
    class Ours(np.ndarray, abc.ABC):
        pass

    assert isinstance(numpy.ones(2), np.ndarray)
    assert isinstance(np.ones(2).view(Ours), Ours)
    assert not isinstance(numpy.ones(2), Ours)
    assert not isinstance(np.float64(1), np.ndarray)
    np.testing.assert_equal(numpy.arange(3), numpy.arange(3))


def test_resize() -> None:
    a = np.arange(4)
    a.resize(6)
    assert a.tolist() == [0, 1, 2, 3, 0, 0]
    view = a[1:]
    with pytest.raises(ValueError, match="cannot resize an array that references or is referenced"):
        a.resize(20)
    a.resize(3, 2)  # as many elements: no memory moves
    assert a.shape == (3, 2)
    assert view.tolist() == [1, 2, 3, 0, 0]
    a.resize(7, refcheck=False)
    assert view.tolist() == [1, 2, 3, 0, 0]
    empty = np.zeros((10, 0))[...]
    empty.resize((0, 100))
    assert empty.shape == (0, 100)
    with pytest.raises(TypeError):
        np.eye(3).resize(3, refcheck="hi")


def test_shape_of_nothing() -> None:
    a = np.zeros((0,))
    a.shape = (3, 0)
    assert a.shape == (3, 0)
    assert np.linalg.tensorsolve(np.ones((0, 3, 3, 0)), np.ones((0, 3))).shape == (3, 0)
    field = np.zeros(10, dtype=[("x", "S0")])["x"]
    assert field.itemsize == 0


def test_operands_that_want_the_operation() -> None:
    class Wants:
        __array_priority__ = 1

        def __radd__(self, other: object) -> str:
            return "mine"

    class Odd:
        __array_priority__ = None

        def __radd__(self, other: object) -> str:
            return "each"

    class Low(np.ndarray):
        __array_priority__ = -2e6

    assert np.ones(2) + Wants() == "mine"
    assert (np.ones(2) + Odd()).tolist() == ["each", "each"]
    assert np.ones(2).view(Low) + Wants() == "mine"
    assert np.ones(2).__radd__(1).tolist() == [2, 2]


def test_arrays_in_arrays_of_objects_are_kept() -> None:
    inner = np.eye(2)
    outer = np.array([None, None])
    outer[0] = inner
    assert outer[0] is inner
    ragged = np.array([np.ones(2), np.ones(3)], dtype=object)
    assert type(ragged[0]) is np.ndarray
    first = np.ones(2)
    held = np.array([first, np.ones(3)], dtype=object)
    first += 1
    assert held[0].tolist() == [2, 2]
    pair = (1, [2])
    outer[1] = pair
    assert outer[1] is pair


def test_masked_constant_is_no_number() -> None:
    with pytest.warns(UserWarning, match="converting a masked element to nan"):
        assert numpy.isnan(np.array([3.0, np.ma.masked])[1])
    a = np.zeros(2)
    with pytest.warns(UserWarning, match="converting a masked element to nan"):
        a[1] = np.ma.masked
    assert numpy.isnan(a[1])
    with pytest.raises(np.ma.MaskError):
        np.zeros(2, int)[0:1][0] = np.ma.masked  # noqa: B018


def test_views_of_masked_arrays() -> None:
    a = np.ma.array([(1.0, 2.0), (3.0, 4.0)], mask=[(0, 1), (0, 0)], dtype=[("a", float), ("b", float)])
    plain = a.view(float)
    assert plain.tolist() == [1, None, 3, 4]
    assert format(np.ma.array([0, 1], mask=[0, 1])) == "[0 --]"
    assert np.ma.array(1.15, mask=True).round(1) is np.ma.masked
    b = np.ma.array([(1, 2)], mask=[(1, 0)], dtype=[("a", int), ("b", int)])
    assert b.flat[0]["a"] is np.ma.masked


@pytest.mark.parametrize("kind", ["default_rng", "RandomState"])
def test_shuffle_of_masked_arrays(kind: str) -> None:
    for shape in ((20,), (5, 4)):
        ours = np.ma.masked_values(np.arange(20).reshape(shape) % 3 - 1, -1)
        theirs = numpy.ma.masked_values(numpy.arange(20).reshape(shape) % 3 - 1, -1)
        getattr(np.random, kind)(3).shuffle(ours)
        getattr(numpy.random, kind)(3).shuffle(theirs)
        assert ours.tolist() == theirs.tolist()


def test_random_scalars_and_pickles() -> None:
    rng = np.random.default_rng(0)
    assert isinstance(rng.choice(2), int)
    again = pickle.loads(pickle.dumps(rng))
    assert type(again) is type(rng)
    assert again.random() == rng.random()

    class Refuses(np.ndarray):
        def __float__(self) -> float:
            raise TypeError("no")

    with pytest.raises(TypeError, match="no"):
        rng.uniform(np.array(1.0).view(Refuses), 2)


def test_ctypes_keep_the_array() -> None:
    pointer = np.arange(5.0).ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    junk = [np.ones(5) for _ in range(20)]
    assert pointer[4] == 4
    del junk


def test_attributes_that_cannot_be_set() -> None:
    with pytest.raises(AttributeError, match="attribute 'device' of 'ndarray' objects is not writable"):
        np.ones(2).device = "cpu"


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_errstate_raises_at_the_call(mode: str) -> None:
    with np.config(mode=mode):
        x = np.array([1e308, 0.0])
        with np.errstate(all="raise"):
            for call in (lambda: x / 0, lambda: x * 10, lambda: (x + 1e308).sum(), lambda: np.log(-x)):
                with pytest.raises(FloatingPointError):
                    call()
        said = []
        with np.errstate(divide="call", invalid="ignore", call=lambda kind, flag: said.append(kind)):
            _ = x / 0
        assert said == ["divide by zero"]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            assert (x / 0)[0] == numpy.inf


def test_out_ellipsis() -> None:
    with pytest.raises(TypeError, match=r"out=\.\.\. is only allowed as a keyword"):
        np.add(1, 2, ...)
    with pytest.raises(TypeError, match="per-operand"):
        np.negative(1, out=(...,))
    assert type(np.add(1, 2, out=...)) is np.ndarray


def test_override_is_given_signature() -> None:
    class Says:
        def __array_ufunc__(self, ufunc: object, method: str, *inputs: object, **kwargs: object) -> object:
            return kwargs

    assert np.add(Says(), [1], sig="ii->i") == {"signature": "ii->i"}
