"""Causes of failure that NumPy's own tests showed: each a mechanism, with the smallest program that met it."""

import abc
import copy
import ctypes
import hashlib
import inspect
import pickle
import sys
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.config import config
from lazynp.speed import native


def signature(function: Any) -> str | None:
    """None where Python knows of none: NumPy's functions in C tell it from 2.4 on."""
    try:
        return str(inspect.signature(function))
    except ValueError:
        return None


def test_signatures_are_those_of_numpy() -> None:
    for name in ("array", "asarray", "arange", "zeros", "frombuffer", "from_dlpack", "nditer", "broadcast"):
        wanted = signature(getattr(numpy, name))
        assert wanted is None or signature(getattr(np, name)) == wanted, name
    for name in ("sum", "reshape", "astype", "__array_ufunc__", "__reduce__"):
        wanted = signature(getattr(numpy.ndarray, name))
        assert wanted is None or signature(getattr(np.ndarray, name)) == wanted, name
    wanted = getattr(numpy.array, "__text_signature__", None)
    assert wanted is None or np.array.__text_signature__ == wanted


BUFFERS = native is not None or sys.version_info >= (3, 12)


@pytest.mark.skipif(not BUFFERS, reason="before Python 3.12 only C code has the buffer protocol")
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


RENEWED = {
    "shape": (2, 2),
    "shape that does not fit": (3,),
    "shape of no kind": "a",
    "strides": (8,),
    "strides that do not fit": (80,),
    "dtype": "i8",
    "dtype that does not fit": "V7",
}


@pytest.mark.parametrize("case", RENEWED)
@pytest.mark.parametrize("kind", ["plain", "pending", "strided", "masked", "record", "matrix"])
def test_attributes_that_are_assigned(case: str, kind: str) -> None:
    """Values, errors and deprecations are those of the NumPy that runs, and the warnings name the user's line."""

    def done(np: Any) -> tuple[Any, ...]:
        kinds = {
            "plain": lambda: np.arange(4.0),
            "pending": lambda: np.arange(4.0) * 2,
            "strided": lambda: np.arange(8.0)[::2],
            "masked": lambda: np.ma.masked_array(np.arange(4.0), [0, 0, 1, 1]),
            "record": lambda: np.rec.fromarrays([np.arange(4.0)], names="x"),
            "matrix": lambda: np.asmatrix(np.ones((1, 4))),
        }
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            a = kinds[kind]()
            warnings.simplefilter("always")
            error = None
            try:
                setattr(a, case.split()[0], RENEWED[case])
            except Exception as e:
                error = type(e)
        ours = [w for w in caught if not w.filename.startswith(str(Path(np.__file__).parent))]
        assert np is numpy or len(ours) == len(caught), [w.filename for w in caught]
        said = [(w.category, str(w.message)) for w in caught]
        return error, a.shape, a.strides, str(a.dtype).replace("lazynp", "numpy"), a.tolist(), said

    with config(mode="graph" if kind == "pending" else "auto"):
        assert done(np) == done(numpy)


KEYS = {
    "": (),
    "none": ("_set_dtype",),
    "method": ("_set_dtype",),
    "property": ("dtype",),
    "both": ("_set_dtype", "dtype"),
}


@pytest.mark.parametrize("second", KEYS)
@pytest.mark.parametrize("first", KEYS)
def test_views_of_classes_that_set_their_dtype(first: str, second: str) -> None:
    """A class and its subclass may each have `_set_dtype`, a property, or neither: the nearest counts."""

    def done(np: Any) -> tuple[Any, ...]:
        seen: list[Any] = []

        def parts(name: str, kind: str) -> dict[str, Any]:
            method = lambda self, dtype: seen.append((name, "method", dtype))
            put = lambda self, value: seen.append((name, "set", value))
            own = {"_set_dtype": None if kind == "none" else method, "dtype": property(np.ndarray.dtype.__get__, put)}
            return {k: own[k] for k in KEYS[kind]}

        finalize = lambda self, obj: seen.append(("finalize", self.dtype, self.shape, type(obj).__name__))
        base = type("Base", (np.ndarray,), {**parts("Base", first), "__array_finalize__": finalize})
        cls = type("Derived", (base,), parts("Derived", second))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                out = np.arange(4.0).view(cls).view("i4")
                seen += [type(out).__name__, out.dtype, out.shape]
            except Exception as error:
                seen.append(type(error))
        return (*seen, *[str(w.message) for w in caught])

    assert done(np) == done(numpy)


def test_match_statements() -> None:
    """Arrays match patterns of sequences from NumPy 2.5 on."""

    def done(np: Any) -> list[Any]:
        found: list[Any] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of matrices
            arrays = (
                np.arange(2),
                np.asmatrix([[1, 2], [3, 4]]),
                np.ma.masked_array([1, 2]),
                np.array(1),
                np.arange(3),
            )
        for x in arrays:
            try:
                match x:
                    case [a, b]:
                        found.append((a.tolist(), b.tolist()))
                    case _:
                        found.append(None)
            except TypeError as error:
                found.append(str(error))
        return found

    assert done(np) == done(numpy)


def test_shape_of_nothing() -> None:
    a = np.zeros((0,))
    a._set_shape((3, 0))
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
        np.zeros(2, int)[0:1][0] = np.ma.masked


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
    """A 0-d array from NumPy 2.3 on, and an error before."""

    def done(np: Any) -> list[Any]:
        out: list[Any] = []
        for call in (lambda: np.add(1, 2, ...), lambda: np.negative(1, out=(...,)), lambda: np.add(1, 2, out=...)):
            try:
                result = call()
                out.append((type(result) is np.ndarray, result.shape, result.dtype, int(result)))
            except TypeError as error:
                out.append(str(error))
        return out

    assert done(np) == done(numpy)


def test_override_is_given_signature() -> None:
    class Says:
        def __array_ufunc__(self, ufunc: object, method: str, *inputs: object, **kwargs: object) -> object:
            return kwargs

    assert np.add(Says(), [1], sig="ii->i") == {"signature": "ii->i"}


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_base_is_the_owner(mode: str) -> None:
    class Sub(np.ndarray):
        pass

    with np.config(mode=mode):
        a = np.arange(12).reshape(3, 4).copy()
        for view in (a[()], a[...], a[1:], a.T, a.view(), a.reshape(4, 3), a.reshape(4, 3).T, a[:2][:1], a.ravel()):
            assert view.base is a
            assert not view.flags.owndata
        assert a.base is None
        assert a.flags.owndata
        turned = np.ones((4, 3)).T + 1  # in Fortran's order, and its own
        assert turned.base is None
        assert turned.flags.owndata
        sub = a.view(Sub)
        assert sub.base is a
        assert sub[1:].base is sub
        assert sub[1:][1:].base is sub
        assert sub[1:].view(np.ndarray).base.base is sub
        fields = np.ones(3, dtype="i4,f4,u4")
        assert fields["f0"].base is fields
        assert fields[["f0", "f2"]].base is fields
        assert np.einsum("ii->i", np.eye(3)).base is not None


def test_memory_of_others_has_its_base() -> None:
    assert np.frombuffer(b"12345678").base == b"12345678"
    a = np.arange(4)
    assert np.frombuffer(a, dtype=a.dtype).base is a
    if BUFFERS:
        assert memoryview(a).obj is a
        assert np.array(memoryview(a), copy=False).base.obj is a


def test_what_makes_itself_an_array_of_ours() -> None:
    base = np.arange(10)

    class Makes:
        def __array__(self, dtype: object = None, copy: object = None) -> object:
            return base

    class Old:
        def __array__(self, dtype: object = None) -> object:
            return base

    assert np.array(Makes()) is base
    assert np.array(Makes(), copy=True) is base
    assert np.asarray(Makes()) is base
    with pytest.warns(DeprecationWarning, match="must implement 'dtype' and 'copy'"):
        assert np.array(Old(), copy=True) is not base
    assert np.arange(20.0)[Makes()].tolist() == list(range(10))


def test_objects_in_lists_are_kept() -> None:
    class Makes:
        def __init__(self, array: object) -> None:
            self.array = array

        def __array__(self, dtype: object = None, copy: object = None) -> object:
            return self.array

    for x in (np.array(0.0), np.arange(4), Makes(np.array(0.0)), Makes(np.arange(4))):
        one = np.arange(1, dtype=object)
        one[:] = [x]
        assert one[0] is x
        assert np.array([x, [x]], dtype=object)[0] is x
    inside: list[object] = []
    inside.append(inside)
    assert np.array([inside, inside], dtype=object).ndim == 64


def test_copy_may_be_anything_true() -> None:
    a = np.arange(4)
    for true in (True, 1, np.True_, np._CopyMode.ALWAYS):
        made = np.array(a, copy=true)
        made[0] = 7
        assert a[0] == 0
        assert made.flags.owndata
    for false in (False, 0, np.False_, np._CopyMode.NEVER):
        assert np.array(a, copy=false) is a
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            np.array(a, float, copy=false)
    nothing = np.zeros(4, dtype=[("x", "S0")])["x"]
    nothing.resize(9)
    assert nothing.shape == (9,)


def test_objects_of_the_users_are_not_copied() -> None:
    one, part = {"a": 1}, slice(1, 2)
    held = np.array([one, part, one], dtype=object)
    assert held[0] is one
    assert held[1] is part
    turned = copy.deepcopy(np.array([[one, None], [one, None]], order="F"))
    assert turned[0, 0] is turned[1, 0]
    assert turned[0, 0] is not one


def test_casting_implementations_take_our_arrays() -> None:
    cast = np._core._multiarray_umath._get_castingimpl(np.dtype("i4").__class__, np.dtype("f8").__class__)
    source, target = np.arange(3, dtype="i4"), np.zeros(3)
    cast._simple_strided_call((source, target))
    assert target.tolist() == [0, 1, 2]


def test_annotations_take_two_arguments_at_most() -> None:
    assert np.ndarray[int, float].__args__ == (int, float)
    for given in ((), (int, int, int)):
        with pytest.raises(TypeError, match="arguments for ndarray"):
            np.ndarray[given]


def test_dispatch_as_numpy_does_it() -> None:
    dispatch = np._core.overrides.array_function_dispatch
    with pytest.raises(RuntimeError):
        dispatch(lambda x: (x,))(lambda y: None)
    with pytest.raises(RuntimeError):
        dispatch()(lambda x: None)
    kinds = [type(f"A{i}", (), {"__array_function__": lambda *_: NotImplemented}) for i in range(65)]
    with pytest.raises(TypeError, match="maximum number"):
        dispatch(lambda *args: args)(lambda *args: None)(*[k() for k in kinds])
    one = np.array(1)
    assert np._core._multiarray_umath._get_implementing_args([one, one, 3]) == [one]
    with pytest.raises(TypeError, match="args must be a tuple"):
        one.__array_function__(np.sum, (np.ndarray,), one, {})
    assert np.frombuffer in np.testing.overrides.get_overridable_numpy_array_functions()


def test_like() -> None:
    class Sub(np.ndarray):
        def __array_function__(self, func: object, types: object, args: object, kwargs: object) -> object:
            return func.__name__

    like = np.ones(2).view(Sub)
    assert np.frombuffer(b"12345678", like=like) == "frombuffer"
    assert np.fromiter([1, 2], int, like=like) == "fromiter"
    assert np.fromiter([1, 2], int, like=np.ones(2)).tolist() == [1, 2]


def test_methods_of_what_overrides_ufuncs() -> None:
    class Says(np.ndarray):
        said: list[tuple[str, str]] = []  # noqa: RUF012

        def __array_ufunc__(self, ufunc: object, method: str, *inputs: object, **kwargs: object) -> object:
            Says.said.append((ufunc.__name__, method))
            return getattr(ufunc, method)(*[np.asarray(x) for x in inputs], **kwargs)

    a = np.arange(4.0).view(Says)
    assert (a.max(), a.sum(), a.any(), a.mean()) == (3, 6, True, 1.5)
    assert Says.said[:3] == [("maximum", "reduce"), ("add", "reduce"), ("logical_or", "reduce")]


def test_overrides_are_given_names() -> None:
    class Says:
        def __array_ufunc__(self, ufunc: object, method: str, *inputs: object, **kwargs: object) -> object:
            return kwargs

    assert np.add.reduce(Says(), 0, None, None, False) == {"axis": 0, "dtype": None, "keepdims": False}
    assert np.add.accumulate(Says(), 1, None, "out") == {"axis": 1, "dtype": None, "out": ("out",)}
    with pytest.raises(TypeError, match="unexpected keyword"):
        np.add(1, Says(), foo=3)
    with pytest.raises(TypeError, match="positional"):
        np.add(Says())


def test_array_wrap_with_fewer_arguments() -> None:
    class Old:
        def __array__(self, dtype: object = None, copy: object = None) -> object:
            return np.arange(4)

        def __array_wrap__(self, array: object) -> str:
            return "wrapped"

    with pytest.warns(DeprecationWarning, match="must accept context and return_scalar") as said:
        assert np.negative(Old()) == "wrapped"
    assert said[0].filename == __file__


def test_matrices_of_one_number() -> None:
    m = np.array([[1.0, 2], [3, 4]]).view(np.matrix)
    assert m.argmax() == 3
    assert isinstance(m.trace(), np.matrix)
    assert m.trace().tolist() == [[5]]
    assert type(np.arange(3).__array_wrap__(m)) is np.ndarray


def test_broadcast_shows_our_arrays() -> None:
    a, b = np.ones((2, 1)), np.ones(3)
    both = np.broadcast(np.broadcast(a), b)
    assert (both.shape, both.numiter, len(list(both))) == ((2, 3), 2, 6)
    assert both.iters[0].base is a
    both.reset()
    assert both.index == 0


def test_iterators_as_numpys() -> None:
    with pytest.raises(TypeError):
        del np.ones(3).flat[1]
    with pytest.raises(RuntimeError, match="32 dimensions"):
        _ = np.ones((1,) * 64).flat
    assert np.ndarray((2, 2), int, np.arange(4), strides=np.array([8, 8])).tolist() == [[0, 1], [1, 2]]
    assert np.array([[np.array(1)]] * 2, dtype=object).shape == (2, 1)


def test_shuffling_warns_of_the_users_line() -> None:
    for random in (np.random, np.random.RandomState(), np.random.default_rng()):
        with pytest.warns(UserWarning, match="you are shuffling a 'dict'") as said:
            random.shuffle({0: 0, 1: 1, 2: 2})
        assert said[0].filename == __file__

    class Refuses(np.ndarray):
        def __float__(self) -> float:
            raise TypeError("no")

    with pytest.raises(TypeError, match="no"):
        np.random.uniform(np.array(1.0).view(Refuses), 2)


def test_pickles_out_of_band_share_memory() -> None:
    a, buffers = np.arange(10), []
    text = pickle.dumps(a, protocol=5, buffer_callback=buffers.append)
    b = pickle.loads(text, buffers=buffers)
    a[0] = -1
    assert b[0] == -1
    c = pickle.loads(pickle.dumps(a, protocol=5))
    c[0] = 7
    assert a[0] == -1


def test_copies_keep_the_order() -> None:
    a = np.empty((2, 3), order="F")
    assert copy.copy(a).flags.f_contiguous
    assert copy.deepcopy(a).flags.f_contiguous


def test_views_of_one_masked_record() -> None:
    a = np.ma.array([(1, 2), (3, 4)], dtype=[("a", float), ("b", float)], mask=[(1, 0), (0, 0)])
    one = a[0].view((float, 2))
    assert one.mask.tolist() == [True, False]
    assert a[0].view([("A", float), ("B", float)])["A"] is np.ma.masked
    assert one[1] == 2


def test_writes_into_what_a_subclass_shows() -> None:
    m = np.zeros((3, 2)).view(np.matrix)
    m[:, 1] = np.array([[0.8], [0.2], [0.3]]) > 0.5
    assert m.tolist() == [[0, 1], [0, 0], [0, 0]]
    one, other = [], []
    one.append(other)
    other.append(one)
    held = np.array([None])
    held[0] = one
    with pytest.raises(ValueError, match=r"object|nested|sequence"):
        held.astype("M8")


def test_resize_of_what_is_known_elsewhere() -> None:
    a = np.ones(4)
    known = weakref.ref(a)
    with pytest.raises(ValueError, match="references or is referenced"):
        a.resize(9)
    assert known() is a
