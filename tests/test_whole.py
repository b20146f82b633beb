"""Calls on small arrays are NumPy's own as a whole: what they return shares memory as NumPy's result does, and what
they write into is written."""

from __future__ import annotations

import array
import collections
import gc
import io
import math
import random
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.config import config
from lazynp.numpy.array import HOST_VIEW
from lazynp.numpy.dispatch import NOT_WHOLE, WRITING, Dispatcher
from lazynp.speed import native

STEPS: list[tuple[str, Callable[[Any, Any, random.Random], Any]]] = [
    ("flip", lambda m, x, r: m.flip(x, r.randrange(x.ndim)) if x.ndim else x),
    ("flip all", lambda m, x, r: m.flip(x)),
    ("moveaxis", lambda m, x, r: m.moveaxis(x, r.randrange(x.ndim), r.randrange(x.ndim)) if x.ndim else x),
    ("swapaxes", lambda m, x, r: x.swapaxes(r.randrange(x.ndim), r.randrange(x.ndim)) if x.ndim else x),
    ("transpose", lambda m, x, r: m.transpose(x)),
    ("T", lambda m, x, r: x.T),
    ("permuted", lambda m, x, r: x.transpose(*r.sample(range(x.ndim), x.ndim))),
    ("expand_dims", lambda m, x, r: m.expand_dims(x, r.randint(0, x.ndim))),
    ("squeeze", lambda m, x, r: x.squeeze()),
    ("ravel", lambda m, x, r: m.ravel(x)),
    ("reshape", lambda m, x, r: x.reshape(r.choice([(-1,), (1, -1), (x.size, 1), (-1, x.shape[0] if x.ndim else 1)]))),
    ("split", lambda m, x, r: r.choice(m.array_split(x, 2)) if x.ndim else x),
    ("atleast_3d", lambda m, x, r: m.atleast_3d(x)),
    ("diagonal", lambda m, x, r: x.diagonal() if x.ndim > 1 else x),
    ("rot90", lambda m, x, r: m.rot90(x, r.randrange(4)) if x.ndim > 1 else x),
    ("real", lambda m, x, r: x.real),
    ("imag", lambda m, x, r: m.imag(x)),
    ("asarray", lambda m, x, r: m.asarray(x)),
    ("slice", lambda m, x, r: x[:: r.choice([1, 2, -1, -2])] if x.ndim else x),
    ("part", lambda m, x, r: x[..., r.randrange(x.shape[-1]) :] if x.ndim and x.size else x),
    ("row", lambda m, x, r: x[r.randrange(x.shape[0])] if x.ndim > 1 and x.shape[0] else x),
    ("broadcast_to", lambda m, x, r: m.broadcast_to(x, (2, *x.shape))),
]


def chain(module: Any, seed: int) -> tuple[Any, list[Any], list[str]]:
    """An array, and what steps make of it one after another; all of them."""
    r = random.Random(seed)
    shape = tuple([r.choice([1, 2, 3, 4]) for _ in range(r.randint(1, 3))])
    dtype = r.choice([float, int, complex, numpy.float32, bool])
    a = module.arange(int(numpy.prod(shape))).reshape(shape).astype(dtype)
    made, names = [a], []
    for _ in range(r.randint(1, 5)):
        name, step = r.choice(STEPS)
        names.append(name)
        try:
            x = step(module, made[-1], r)
        except ValueError:
            names[-1] += " fails"
            continue
        made.append(x)
    return a, made, names


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_views_made_by_functions(mode: str) -> None:
    """Views have NumPy's layout, and what is written to one is seen in all: NumPy's writes, and the graph's, which goes
    by the view that is worked out later."""
    for seed in range(1500):
        _, theirs, names = chain(numpy, seed)
        _, ours, other = chain(lazynp, seed)
        assert names == other, seed
        for i, (x, y) in enumerate(zip(theirs, ours, strict=True)):
            if not isinstance(x, numpy.ndarray):
                continue
            where = (seed, mode, names[:i])
            assert x.strides == y.strides or x.size < 2 or not y.flags.owndata or not y.ndim, where
            assert (x.base is None) == (y.base is None), where
            assert x.flags.writeable == y.flags.writeable, where
            assert numpy.array_equal(x, numpy.array(y._host_())), where
            if y._v_ is not HOST_VIEW and y._s_.buf is not None:
                view, whole = y._view_(), y._s_.buf
                shown = whole if view is None else view.of_buffer(whole)
                assert shown.shape == y._h_.shape, where
                assert shown.__array_interface__["data"] == y._h_.__array_interface__["data"] or not y.size, where
        last, mine = theirs[-1], ours[-1]
        if isinstance(last, numpy.ndarray) and last.flags.writeable and last.ndim:
            last[...] = 1
            with config(mode=mode):
                mine[...] = 1
        for i, (x, y) in enumerate(zip(theirs, ours, strict=True)):
            if isinstance(x, numpy.ndarray):
                assert numpy.array_equal(x, numpy.array(y._host_())), (seed, mode, names, i)


def functions() -> list[Any]:
    spaces = (lazynp, lazynp.linalg, lazynp.fft)
    return [f for m in spaces for f in {id(v): v for v in vars(m).values() if type(v) is Dispatcher}.values()]


VALUES: list[Callable[[], Any]] = [
    lambda: numpy.arange(6.0).reshape(2, 3),
    lambda: numpy.array([2.0, 1.0, 3.0]),
    lambda: numpy.array([1, 0]),
    lambda: numpy.array([True, False, True]),
    lambda: numpy.arange(9.0).reshape(3, 3) + numpy.eye(3),
    lambda: 1,
    lambda: 0.5,
    lambda: None,
]


@pytest.mark.skipif(native is None, reason="without the C module no call is NumPy's as a whole")
def test_only_what_is_known_to_write_writes() -> None:
    """A function that NumPy's own does as a whole does not write into its arguments by place, but where its entry says
    so: NumPy would refuse read-only arrays."""
    r, tried, called = random.Random(0), 0, 0
    for f in functions():
        if f.whole is None or f.__name__ in WRITING | NOT_WHOLE:
            continue
        for _ in range(60):
            args = [r.choice(VALUES)() for _ in range(r.randint(1, min(f.most, 4)))]
            for x in args:
                if isinstance(x, numpy.ndarray):
                    x.flags.writeable = False
            tried += 1
            with warnings.catch_warnings(), numpy.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    f.whole(*args)
                except (ValueError, RuntimeError) as error:
                    assert "read-only" not in str(error) and "not writeable" not in str(error), (f, args)
                    continue
                except Exception:
                    continue
            called += 1
    assert called > tried / 20


def test_what_writes_is_written() -> None:
    a = lazynp.zeros(4)
    b, c = a[1:], a.copy()
    lazynp.put(a, [0], 5.0)
    lazynp.putmask(b, numpy.array([True, False, False]), 2.0)
    lazynp.add.at(b, [1, 1], 1.0)
    lazynp.copyto(b[2:], 9.0)
    a[[0, 2]] += 1.0
    assert a.tolist() == [6.0, 2.0, 3.0, 9.0] and c.tolist() == [0.0] * 4
    x = lazynp.array([numpy.nan, 1.0])
    y = lazynp.nan_to_num(x)
    assert numpy.isnan(x[0]) and y[0] == 0.0
    lazynp.nan_to_num(x, copy=False)
    assert x[0] == 0.0
    m = lazynp.array([3.0, 1.0, 2.0])
    assert lazynp.median(m, overwrite_input=True) == 2.0
    out = lazynp.zeros(())
    assert lazynp.sum(m, None, None, out) is out and float(out) == 6.0
    out = lazynp.empty(3)
    assert lazynp.cumsum(m, out=out) is out and out[-1] == 6.0


def test_a_pending_copy_keeps_its_value() -> None:
    """What a pending operation reads is not written into, by whatever writes."""
    with config(small=4, mode="auto"):
        a = lazynp.arange(10.0)
        b = a * 2.0
        for write in (lambda: lazynp.put(a, [0], 7.0), lambda: a.fill(1.0), lambda: lazynp.add.at(a, [1], 1.0), a.sort):
            before = numpy.array(b._host_()) if b._s_.buf is not None else None
            write()
            assert before is None or numpy.array_equal(before, b._host_())
        assert b.tolist() == [2.0 * i for i in range(10)]


def test_arrays_of_objects_keep_their_elements() -> None:
    a, b = lazynp.arange(3), lazynp.arange(2)
    x = lazynp.array([a, b], dtype=object)
    assert x[0] is a and x[1] is b
    assert type(lazynp.array([a, None], dtype=object)[0]) is lazynp.ndarray


@pytest.mark.skipif(native is None, reason="without the C module no call is NumPy's as a whole")
def test_large_results_are_left_to_the_python_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments that are small, and a result that is not."""
    asked = []
    for f in (lazynp.outer, lazynp.kron):
        monkeypatch.setattr(f, "_implementation", lambda *args, name=f.__name__, **kwargs: asked.append(name))
    x = lazynp.arange(1000.0)
    lazynp.outer(x, x)
    lazynp.outer(x[:9], x[:9])
    lazynp.kron(x, x)
    assert asked == ["outer", "kron"]


def test_like_is_no_first_argument() -> None:
    """What a creation function calls for `like=` gets that in front of its own arguments."""
    like = lazynp.zeros(2)
    assert lazynp.full(3, 5.0, like=like).tolist() == [5.0] * 3
    assert lazynp.ones((1, 2), int, like=like).tolist() == [[1, 1]]
    assert lazynp.eye(2, like=like).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(TypeError, match="must be an array-like that implements"):
        lazynp.full(3, 5.0, like=1)


def test_a_list_that_was_given_comes_back() -> None:
    given = [1, 2]
    assert lazynp.diff(given, n=0) is given


class Sequence:
    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> int:
        return (2, 3)[i]


def reshaped(module: Any, shape: Any, order: str) -> Any:
    """What comes of it, or the error's type."""
    x = module.arange(6) * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return numpy.asarray(x.reshape(shape, order=order)).tolist()
        except Exception as error:
            return type(error)


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_shapes_of_all_kinds_of_sequences(mode: str, order: str) -> None:
    shapes = [range(2, 4), numpy.array([2, 3]), array.array("i", [2, 3]), collections.deque([2, 3]), Sequence()]
    shapes += [memoryview(bytes([2, 3])), [numpy.int8(2), -1], numpy.int64(6), numpy.array(6), None, (2, 3), -1, [4, 2]]
    shapes += ["ab", b"ab", {2, 3}, 2.0, numpy.array([2.0, 3.0]), True, ((2, 3),), ((2,), 3), range(0), range(7)]
    with config(mode=mode):
        for shape in shapes:
            assert reshaped(lazynp, shape, order) == reshaped(numpy, shape, order), shape
        assert reshaped(lazynp, lazynp.array([2, 3]), order) == reshaped(numpy, (2, 3), order)
        assert reshaped(lazynp, lazynp.array(6), order) == reshaped(numpy, 6, order)


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_ranges_are_plain_arguments(mode: str) -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda m: m.array(range(3)),
        lambda m: m.asarray(range(3), dtype="f4"),
        lambda m: m.asanyarray(range(5, 0, -2)) + m.arange(3),
        lambda m: m.array(range(0)),
        lambda m: m.array([range(2), range(2)]),
        lambda m: m.array(range(2**62, 2**64 + 1, 2**62)),  # of objects
        lambda m: m.array(range(200_000))[-2:],
        lambda m: m.zeros(range(2, 4)),
        lambda m: m.zeros(range(500, 502)).shape,
        lambda m: m.ones((2, 3, 4)).transpose(range(3)),
        lambda m: m.arange(6).reshape(range(2, 4)),
        lambda m: m.take(m.arange(6) * 2, range(1, 4)),
        lambda m: m.concatenate([m.arange(3), range(3)]),
        lambda m: (m.arange(6) * 2)[range(2)],
        lambda m: m.add(range(3), m.arange(3)),
        lambda m: m.sum(range(4)),
    ]
    with config(mode=mode):
        for k, call in enumerate(calls):
            want, got = call(numpy), call(lazynp)
            assert type(want) is type(got) or type(got) is lazynp.ndarray, k
            assert numpy.asarray(got).dtype == numpy.asarray(want).dtype, k
            numpy.testing.assert_array_equal(numpy.asarray(got), want)


@pytest.mark.skipif(native is None, reason="the calls are made by the C module")
def test_a_range_does_not_leave_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lazynp.numpy.creation.to_host", None)  # which `array` in Python begins with
    assert lazynp.array(range(3)).tolist() == [0, 1, 2]
    with pytest.raises(TypeError):
        lazynp.array(bytearray(b"abc"))


def in_c(m: Any) -> dict[str, Callable[[], Any]]:
    """Calls for which no Python code runs where arrays are at hand."""
    x, one, cube, flags = m.arange(10.0), m.array(3.0), m.ones((2, 3, 4)), m.arange(10) % 2 == 0
    mapped, shown = m.arange(6.0).view(type("Mapped", (m.ndarray,), {})), m.arange(3.0)
    shown.__dlpack__()
    draws = m.random.default_rng(2)
    masked = m.ma.array([1.0, 2.0], mask=[True, False])
    theirs, large, whole = numpy.arange(10.0) + 1, m.array(numpy.ones((600, 400))), m.array(7)
    narrow, bits = m.array(numpy.linspace(-3, 5, 250_000, dtype="f4")), m.array(numpy.arange(300_000) % 7 == 0)
    bits.any(), (narrow + narrow).shape  # whose values are there then
    return {
        "NumPy's array to the right": lambda: x * theirs,
        "NumPy's array to the left": lambda: theirs - x,
        "in place": lambda: x.copy().__iadd__(theirs),
        "compared with NumPy's array": lambda: x < theirs,
        "ufunc of both": lambda: m.maximum(x, theirs),
        "ufunc of NumPy's": lambda: m.sqrt(theirs),
        "ufunc of numbers": lambda: m.add(numpy.float64(1.5), 2),
        "ufunc of a list": lambda: m.add(x, [1.0] * 10),
        "ufunc where": lambda: m.add(x, 1.0, where=flags, out=m.zeros(10)),
        "ufunc of a dtype": lambda: m.multiply(x, 2, dtype="f4"),
        "two results": lambda: m.modf(x / 3),
        "two results of whole numbers": lambda: m.divmod(m.arange(9), 4),
        "reduce": lambda: m.add.reduce(cube),
        "reduce by an extreme": lambda: m.maximum.reduce(x),
        "truth": lambda: bool(one),
        "float": lambda: float(one),
        "int": lambda: int(one),
        "index": lambda: list(range(9))[whole],
        "flat": lambda: x.flat[3],
        "flat of a slice": lambda: cube.flat[2:9:3],
        "flat of a large one": lambda: large.flat[-1],
        "joined by the thousand": lambda: m.concatenate([[i] for i in range(400)] + [x] * 400),
        "broadcast": lambda: m.broadcast_to(large[0], (600, 400))[3, :4],
        "large and broadcast": lambda: m.atleast_2d(large).shape,
        "text": lambda: m.strings.find(["abc", "bca"], "a"),
        "polynomial": lambda: m.polynomial.polynomial.polyval(x, [1.0, 2.0, 3.0]),
        "conjugate of a masked array": lambda: masked.conjugate() is masked,
        "memory views": lambda: m.array([memoryview(theirs), memoryview(theirs)]),
        "a matrix of a long list": lambda: m.diagflat([1.0] * 70),
        "out by place": lambda: m.add(x, x, m.zeros(10)),
        "out in a tuple": lambda: m.add(one, one, out=(m.array(0.0),)),
        "out of a reduction by place": lambda: m.add.reduce(cube, 0, None, m.zeros((3, 4))),
        "out and more": lambda: m.add(one, 1, out=m.array(0.0), subok=True, where=True),
        "objects": lambda: m.asarray(x, dtype=object),
        "a part of a subclass": lambda: type(mapped[2:4]).__name__,
        "transposed": lambda: cube.transpose(),
        "one row": lambda: cube.ravel()[5:7],
        "reshaped": lambda: cube.reshape(4, -1),
        "into NumPy's array": lambda: m.cumsum(x, out=numpy.empty(10)),
        "a permutation": lambda: draws.permutation(5),
        "drawn between large numbers": lambda: draws.integers(0, 20_000, 200),
        "drawn around a large number": lambda: draws.normal(5000.0, 100, size=(3, 4)),
        "drawn by NumPy's old functions": lambda: (m.random.seed(5), m.random.randint(500, 20_000, 9))[1],
        "up to a large number": lambda: m.linspace(0, 100_000, 21),
        "from a large number": lambda: m.geomspace(1000, 10, num=20),
        "rows of a large one by a mask": lambda: large[m.arange(600) % 99 == 0],
        "places of a large one": lambda: large[m.array([1, 2]), m.array([3, -4])],
        "a list of a large one": lambda: large[:, [1, 2, -1]],
        "written at places of a large one": lambda: large.__setitem__((m.array([1]), m.array([2])), 1.0),
        "added at places of a large one": lambda: m.add.at(large, (m.array([1]), m.array([2])), 0.0),
        "taken of a large one": lambda: (m.take(large, [5, 6], 0), large.take(m.array([1, 9]), 1)),
        "shuffled": lambda: draws.shuffle(m.arange(5)),
        "text in a file": lambda: m.loadtxt(io.StringIO("1 2\n3 4"), unpack=True),
        "list of numbers": lambda: cube.tolist(),
        "DLPack": lambda: m.from_dlpack(shown)[1],
        "einsum": lambda: m.einsum("ij,jk->ik", cube[0], cube[0].T),
        "narrow elements": lambda: narrow * 2.5,
        "narrow elements compared": lambda: narrow > narrow[::-1][7],
        "narrow elements negated": lambda: -narrow,
        "narrow elements in place": lambda: narrow.__iadd__(1),
        "narrow elements into others": lambda: m.maximum(narrow, 1.5, out=narrow),
        "many bits": lambda: bits ^ bits,
        "all of many": lambda: bits.all(),
        "the largest of many": lambda: m.max(narrow),
        "where the largest of many is": lambda: narrow.argmax(),
        "a sum of many": lambda: m.sum(large, axis=0),
        "in Fortran's order": lambda: (cube.T + cube.T, m.asfortranarray(cube[0]), cube.copy("F")),
        "named results": lambda: tuple(m.linalg.eigh(m.eye(3))),
        "a view of itself": lambda: cube.view()[1:],
        "nothing found": lambda: m.nonzero(m.zeros(9, dtype=bool)),
        "nothing found in rows": lambda: m.zeros((3, 4), dtype=bool).nonzero(),
        "isinstance": lambda: [isinstance(v, m.ndarray) for v in (x, one, 1, "a", numpy.float64(1), None)],
    }


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("name", in_c(numpy))
def test_calls_that_stay_in_c(name: str, mode: str) -> None:
    with config(mode=mode):
        ours = in_c(lazynp)[name]
        want, got = in_c(numpy)[name](), ours()
        for a, b in zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]:
            assert type(b) is type(a) or type(b) is lazynp.ndarray
            assert numpy.asarray(b).dtype == numpy.asarray(a).dtype
            numpy.testing.assert_array_equal(numpy.asarray(b), a)
        if native is None or mode == "graph":
            return
        called: list[str] = []

        def note(frame: Any, event: str, _: Any) -> None:
            name = frame.f_globals.get("__name__", "")
            if event == "call" and "lazynp" in name and ".quick" not in name:  # which stands in for NumPy's
                called.append(frame.f_code.co_qualname)

        ours()
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            ours()
        finally:
            sys.setprofile(before)
        assert not called


def test_results_in_fortrans_order_own_their_memory() -> None:
    for m in (numpy, lazynp):
        x = m.arange(12.0).reshape(3, 4)
        for y in (x.T * 2.0, x.copy("F"), m.asfortranarray(x), m.exp(x.T)):
            assert y.flags.f_contiguous and not y.flags.c_contiguous and y.base is None
            y[0, 1] = -1.0
            assert float(y.ravel("F")[y.shape[0]]) == -1.0


def test_parts_of_memory_that_nobody_sees() -> None:
    """NumPy's real eigenvalues are every other number of an array of complex ones, before version 2.5."""
    seen = []
    for m in (numpy, lazynp):
        found = m.linalg.eig(m.array([[2.0, 0.0], [0.0, 3.0]]))
        found = m.linalg.eig(m.array([[2.0, 0.0], [0.0, 3.0]]))
        found.eigenvalues[1:] *= 2
        assert found.eigenvalues.tolist() == [2.0, 6.0]
        seen.append((found.eigenvalues.dtype, found.eigenvalues.strides, found.eigenvalues.base is None))
    assert seen[0] == seen[1] and seen[0][1] == (16,)


@pytest.mark.parametrize("name", ["multiply", "sin", "maximum", "less"])
def test_ufuncs_on_subclasses(name: str) -> None:
    """Arrays of one class, beside plain ones and numbers."""

    def results(m: Any) -> list[Any]:
        x, f = m.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), getattr(m, name)
        kind = type("Own", (m.ndarray,), {})
        row = m.array([[1.0, 2.0, 3.0]]).view(kind)
        seconds: list[Any] = [x, m.ones(3), 2.0, numpy.float32(2)] if f.nin == 2 else [None]
        out = []
        for second in seconds:
            given = [second] if second is not None else []
            out += [f(x, *given), f(*given, x), f(row, *([row] if given else []))] if given else [f(x), f(row)]
        return out

    for want, got in zip(results(numpy), results(lazynp), strict=True):
        assert type(got).__name__ == type(want).__name__
        assert got.dtype == want.dtype
        assert got.tolist() == want.tolist()


def test_a_cycle_through_a_view_of_a_subclass_is_collected() -> None:
    """The collector of garbage sees no handle that only C has written to, but those that may be in a cycle."""
    x = lazynp.ma.array([1.0, 2.0])
    x.plain = x.view(lazynp.ndarray)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


def test_a_handle_that_nobody_asks_is_brought_up_to_date() -> None:
    """Functions that read no elements are C's once the value is there, whoever had it computed."""
    x = lazynp.ones((1000, 1000)) + 1.0
    row = x[3, :10]
    assert float(x[5, 5]) == 2.0
    for _ in range(2):  # a function goes to Python when it is called first
        assert lazynp.empty_like(row).shape == (10,)
    assert native is None or row._b_ is x._s_.buf


def test_a_view_made_in_c_says_its_steps() -> None:
    """The handle keeps the step in parts, and makes what Python sees of it when somebody looks."""
    x = lazynp.arange(24.0).reshape(4, 6)
    for view, want in (
        (x[1:3], (2, 6)),
        (x.T, (6, 4)),
        (x.ravel(), (24,)),
        (x[1:].T[2:], (4, 3)),
        (x.swapaxes(0, 1)[1], (4,)),
    ):
        seen = view._view_()
        assert view.shape == want == (view._s_.shape if seen is None else seen.shape)
        view += 1.0
    want_all = numpy.arange(24.0).reshape(4, 6)
    for part in (want_all[1:3], want_all.T, want_all.ravel(), want_all[1:].T[2:], want_all.swapaxes(0, 1)[1]):
        part += 1.0
    numpy.testing.assert_array_equal(numpy.asarray(x), want_all)


def test_flat_that_is_only_indexed_leaves_the_array_where_it_is() -> None:
    x = lazynp.arange(6.0)
    row = x.flat
    row[2:4] = 7.0
    row[0] = row[2] + row[[1, 3]].sum()
    assert x.tolist() == [15.0, 1.0, 7.0, 7.0, 4.0, 5.0]
    assert x._s_.details is None
    assert [next(row), next(row)] == [15.0, 1.0]
    assert row.index == 2 and x._s_.details.pin
    row[5] = 1.0  # an index begins anew, as in NumPy
    assert row.index == 0 and next(row) == 15.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments_norms_and_new_arrays_have_all_of_numpys_bits(dtype: str) -> None:
    """And its types, its errors, and what it does with what is not finite."""
    random = numpy.random.default_rng(3)
    for k in range(300):
        shape = tuple(random.integers(1, 40, random.integers(1, 4)))
        a = (random.standard_normal(shape) * 10.0 ** random.integers(-3, 4) + random.integers(-5, 5)).astype(dtype)
        if k % 20 == 0:
            a.flat[0] = [numpy.inf, numpy.nan, -0.0][k // 20 % 3]
        x, ddof = lazynp.array(a), int(random.integers(0, 4))

        def results(np: Any, x: Any, ddof: int = ddof) -> list[Any]:
            flat = x.ravel()
            found = [x.std(), x.var(ddof=ddof), np.std(x, ddof=ddof), np.var(x), flat[::2].std(), np.var(x.T, ddof=1)]
            found += [np.linalg.norm(flat), np.linalg.norm(x), np.linalg.norm(flat[::-1])] if x.ndim < 3 else []
            found += [np.full_like(x, 0.1), np.zeros_like(x, dtype=int), np.ones(x.shape, dtype), np.copy(x)]
            return [*found, np.dot(x, x.T), x.T.dot(x)] if x.ndim == 2 else found

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for want, got in zip(results(numpy, a), results(lazynp, x), strict=True):
                assert type(got) is (lazynp.ndarray if isinstance(want, numpy.ndarray) else type(want))
                assert numpy.array_equal(numpy.asarray(want), numpy.asarray(got), equal_nan=True)
                assert want.dtype == got.dtype and want.shape == got.shape
    for np in (numpy, lazynp):
        with pytest.warns(RuntimeWarning, match="Degrees of freedom"), numpy.errstate(all="ignore"):
            np.ones(2).var(ddof=2)
        with pytest.raises(TypeError):
            np.ones(3).std(ddof="1")
        with pytest.warns(RuntimeWarning, match="overflow encountered in (multiply|square)") as seen:
            (np.arange(40.0) * 1e200).std()
        assert seen[0].filename == __file__ or np is numpy or native is None


@pytest.mark.skipif(native is None, reason="only C code is told when a buffer is given back")
def test_a_buffer_that_is_given_back_pins_nothing() -> None:
    x = lazynp.ones(300) * 2

    def pinned() -> bool:
        return x._s_.details.pin and x._s_.details.shared

    first, second = numpy.asarray(x), memoryview(x)
    part = numpy.asarray(x)[::2]
    assert pinned()
    del first, second
    x += 1
    assert pinned() and part[0] == 3.0  # another array of NumPy's has the memory
    part[0] = 7.0
    assert x[0] == 7.0
    del part
    assert not pinned()
    x += 1
    assert x[0] == 8.0 and numpy.asarray(x)[0] == 8.0
    shown = numpy.asarray(x)
    address = x.ctypes.data  # which nobody gives back
    del shown
    assert pinned() and numpy.asarray(x).ctypes.data == address


def test_instances() -> None:
    """`isinstance` of what is no array, of NumPy's arrays, and of masked ones."""

    class Pretends:
        __class__ = lazynp.ndarray  # type: ignore[assignment]

    masked = lazynp.ma.array([1.0])
    assert isinstance(Pretends(), lazynp.ndarray) and not isinstance(Pretends(), lazynp.ma.MaskedArray)
    assert isinstance(numpy.zeros(1), lazynp.ndarray) and not isinstance(numpy.zeros(1), lazynp.ma.MaskedArray)
    assert isinstance(numpy.ma.array([1.0]), lazynp.ma.MaskedArray) and isinstance(masked, lazynp.ndarray)
    assert not isinstance(masked, lazynp.matrix) and not isinstance(lazynp.zeros(1), lazynp.matrix)
    for value in (1, 1.0, 1j, True, "a", b"a", None, ..., (), [], {}, slice(1), numpy.float64(1), numpy.void(b"a")):
        assert not isinstance(value, lazynp.ndarray)


@pytest.mark.parametrize("dtype", ["f8", "i1", "c16", "M8[s]", ">f8", "O"])
@pytest.mark.parametrize("shape", [(5,), (1,), (3, 4), (2, 3, 4), (0, 3), ()], ids=str)
def test_roll(shape: tuple[int, ...], dtype: str) -> None:
    """By whatever NumPy takes, or refuses, of arrays however they lie."""
    host = numpy.arange(math.prod(shape)).reshape(shape).astype(dtype)
    ours = lazynp.array(host)
    shifts: list[Any] = [0, 1, -1, 7, -100, 10**30, True, 2.0, (1, 2), (-1, 0, 2), (3,), (), numpy.int64(2)]
    axes: list[Any] = [None, 0, -1, 1, -4, (0,), (0, 1), (-1, 0), (0, 0), (1, 0, -1), (0, 5), (), True]
    calls = [((s,), {}) for s in shifts] + [((s, a), {}) for s in shifts for a in axes]
    calls += [((s,), {"axis": a}) for s in shifts for a in axes]
    for x, y in ((ours, host), (ours.T, host.T), (ours[::-1] if shape else ours, host[::-1] if shape else host)):
        for args, named in calls:
            results: list[Any] = []
            for module, given in ((lazynp, x), (numpy, y)):
                try:
                    results.append(module.roll(given, *args, **named))
                except Exception as error:
                    results.append(type(error))
            got, wanted = results
            if isinstance(wanted, type):
                assert got is wanted, (args, named)
            else:
                assert got.dtype == wanted.dtype and got.strides == wanted.strides and got.tolist() == wanted.tolist()
                owns = [(z.flags.owndata, z.base is None) for z in results]
                assert owns[0] == owns[1], (args, named)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", "c16", "g", "O", "M8[s]", "U3", ">f8"])
@pytest.mark.filterwarnings("default")
def test_astype(dtype: str) -> None:
    """To whatever NumPy takes, or refuses, with its warnings."""
    to: list[Any] = [
        int,
        float,
        bool,
        complex,
        str,
        object,
        "f4",
        "i1",
        "c8",
        "f2",
        ">f8",
        "S3",
        "i4,i4",
        "nonsense",
        3,
    ]
    to += [None, numpy.float32, numpy.int8, numpy.longdouble, numpy.str_, numpy.dtype(">i4"), type("X", (float,), {})]
    for shape in ((5,), (2, 3), (), (0,)):
        host = numpy.arange(math.prod(shape)).reshape(shape).astype(dtype)
        if host.dtype.kind in "fc" and host.size:
            host.flat[1:3] = numpy.nan, 6e4
        ours = lazynp.array(host)
        for x, y in ((ours, host), (ours.T, host.T)):
            for t in to:
                results: list[Any] = []
                for given in (x, y):
                    with warnings.catch_warnings(record=True) as told:
                        warnings.simplefilter("always")
                        try:
                            results.append(given.astype(t))
                        except Exception as error:
                            results.append(type(error))
                    results.append([(w.category, str(w.message)) for w in told])
                got, told_by_us, wanted, told_by_numpy = results
                assert told_by_us == told_by_numpy, t
                if isinstance(wanted, type):
                    assert got is wanted, t
                else:
                    assert got.dtype == wanted.dtype and got.strides == wanted.strides, t
                    values = [numpy.asarray(got), wanted]
                    if wanted.dtype.char in "gG":  # whose padding is anything
                        numpy.testing.assert_array_equal(*values)
                    else:
                        assert wanted.dtype.hasobject or values[0].tobytes() == values[1].tobytes(), t


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", "c16", "O", "M8[s]", "U3", ">f8"])
@pytest.mark.filterwarnings("default")
def test_diff(dtype: str) -> None:
    for shape in ((5,), (1,), (2, 3), (3, 1), (), (0,), (2, 0), (2, 3, 4)):
        host = numpy.arange(math.prod(shape))[::-1].reshape(shape).astype(dtype)
        if host.dtype.kind in "fc" and host.size:
            host.flat[1:3] = numpy.inf
        ours = lazynp.array(host)
        for x, y in ((ours, host), (ours.T, host.T), (host.tolist(), host.tolist())):
            for named in ({}, {"n": 2}, {"axis": 0}, {"n": 0}, {"prepend": 1}):
                results: list[Any] = []
                for module, given in ((lazynp, x), (numpy, y)):
                    with warnings.catch_warnings(record=True) as told:
                        warnings.simplefilter("always")
                        try:
                            results.append(module.diff(given, **named))
                        except Exception as error:
                            results.append(type(error))
                    results.append([(w.category, str(w.message)) for w in told])
                got, told_by_us, wanted, told_by_numpy = results
                assert told_by_us == told_by_numpy, named
                if not isinstance(wanted, numpy.ndarray):
                    assert got is wanted or got == wanted, named
                else:
                    assert got.dtype == wanted.dtype, named
                    long = [k for k, n in enumerate(wanted.shape) if n > 1]  # any stride does for an axis of one
                    assert got.size == 0 or all(got.strides[k] == wanted.strides[k] for k in long), named
                    numpy.testing.assert_array_equal(numpy.asarray(got), wanted)


FILLED: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("ones", (3,), {}),
    ("ones", ((2, 3), int), {}),
    ("ones", ((2, 3),), {"dtype": "complex64"}),
    ("ones", (4,), {"dtype": ">f8"}),
    ("ones", (4, bool), {}),
    ("ones", (0,), {}),
    ("ones", ((),), {}),
    ("ones", (-1,), {}),
    ("ones", (2.5,), {}),
    ("ones", ((2, 2), float, "F"), {}),
    ("ones", (3,), {"dtype": "no dtype"}),
    ("full", (3, 5), {}),
    ("full", (3, 2.5), {}),
    ("full", ((2, 2), numpy.float32(1.5)), {}),
    ("full", ((2, 2), numpy.int16(7), "int16"), {}),
    ("full", (2, 3), {"dtype": float}),
    ("full", (2, 300), {"dtype": numpy.uint8}),
    ("full", (2, -1), {"dtype": numpy.uint8}),
    ("full", (2, 2.5), {"dtype": int}),
    ("full", (2, 10**30), {}),
    ("full", (2, 10**30), {"dtype": float}),
    ("full", (2, True), {}),
    ("full", (2, numpy.nan), {}),
    ("full", (2, numpy.nan), {"dtype": numpy.float32}),
    ("full", ((2, 2), [1, 2]), {}),
    ("full", (3,), {}),
    ("full", (2, 1j), {}),
    ("full", (2, "text"), {}),
]


@pytest.mark.parametrize(("name", "args", "more"), FILLED)
def test_ones_and_full(name: str, args: tuple[Any, ...], more: dict[str, Any]) -> None:
    try:
        want: Any = getattr(numpy, name)(*args, **more)
    except Exception as error:
        with pytest.raises(type(error)) as caught:
            getattr(lazynp, name)(*args, **more)
        assert str(caught.value) == str(error)
        return
    got = getattr(lazynp, name)(*args, **more)
    assert type(got) is lazynp.ndarray and got.dtype == want.dtype and got.shape == want.shape
    assert got.flags.writeable and got.strides == want.strides
    assert numpy.array_equal(got, want, equal_nan=want.dtype.kind == "f")


KEYS = [0, -1, 4, -6, True, (2,), (0, 1), (-2, -3), (1, 9), (), numpy.int64(1), (numpy.int64(1), 0), None, ...]
PUT = [7, 2.5, True, -1, 2**70, 1e300, 1j, "3", numpy.float32(1.5), numpy.int16(3), numpy.float64(0.1), None]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint8", "bool", "complex64", ">f8", "O", "S3"])
def test_elements_are_written_as_by_numpy(dtype: str) -> None:
    for shape in ((5,), (3, 4), ()):
        for key in KEYS:
            for value in PUT:
                arrays = [m.zeros(shape, dtype) for m in (numpy, lazynp)]
                said = []
                for a in arrays:
                    with warnings.catch_warnings(record=True) as warned:
                        warnings.simplefilter("always")
                        try:
                            a[key] = value
                            said.append([str(w.message) for w in warned])
                        except Exception as error:
                            said.append([type(error).__name__, str(error)])
                assert said[0] == said[1], (shape, key, value)
                assert arrays[0].tobytes() == numpy.asarray(arrays[1]).tobytes() or dtype == "O", (shape, key, value)


def test_an_element_of_what_is_read_only() -> None:
    a = lazynp.zeros(3)
    a.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        a[1] = 2.0
    b = lazynp.zeros((3, 4))[:, ::-2]
    b[2, 1] = 5.0
    assert b.base[2, 1] == 5.0
    a = lazynp.zeros((2, 3))
    a.flat[4] = 6.0
    assert a[1, 1] == 6.0


EINSUMS = [
    ("ij->", [(40, 30)]),
    ("ij,j", [(40, 30), (30,)]),
    ("ij,ij->i", [(40, 30), (40, 30)]),
    ("i...,->...", [(20, 3, 2), ()]),
    ("..., ...", [(3, 4), (2, 3, 4)]),
    ("ij,jk", [(6, 7), (7, 8)]),
    ("i,j", [(6,), (7,)]),
    ("ii->i", [(6, 6)]),
    ("ij,k", [(6, 6)]),
    ("ijk", [(6, 6)]),
    ("i,", [(6,), ()]),
    ("i,i", [(6,), (5,)]),
]


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(("text", "shapes"), EINSUMS)
def test_einsum_that_goes_through_its_operands_once(text: str, shapes: list[tuple[int, ...]], small: bool) -> None:
    given = [numpy.arange(float(math.prod(s))).reshape(s) for s in shapes]
    with lazynp.config(small=2**17 if small else 512, compile=False):
        try:
            want = numpy.einsum(text, *given)
        except ValueError:
            with pytest.raises(ValueError):
                lazynp.einsum(text, *[lazynp.array(x) for x in given])
            return
        got = lazynp.einsum(text, *[lazynp.array(x) for x in given])
        assert got.shape == want.shape and numpy.allclose(got, want, rtol=1e-12)


@pytest.mark.skipif(native is None, reason="without the C module the Python functions do it")
def test_einsum_of_a_mid_size_array_is_numpys() -> None:
    with lazynp.config(mode="auto", small=512):
        a, b = lazynp.ones((40, 30)), lazynp.ones(30)
        numpy.asarray(a)
        assert lazynp.einsum("ij,j", a, b)._s_.buf is not None
        assert lazynp.einsum("ij,kj", a, a)._s_.buf is None


def test_classes_take_numpys_masked_arrays() -> None:
    theirs = numpy.ma.array([1, 2, 3], mask=[0, 1, 0])
    for made in (lazynp.ma.MaskedArray(theirs), lazynp.ma.MaskedArray([4, 5, 6], theirs.mask)):
        assert made.mask.tolist() == [False, True, False] and type(made) is lazynp.ma.MaskedArray
    assert lazynp.ma.MaskedArray([1, 2], mask=numpy.array([True, False])).tolist() == [None, 2]

    class Mine(lazynp.ma.MaskedArray):  # type: ignore[misc, name-defined]
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return super().__new__(cls, *args, **kwargs)

    assert type(Mine([1, 2], mask=[1, 0])) is Mine


def test_rows_in_turn_are_views() -> None:
    a = lazynp.arange(12).reshape(3, 4)
    rows = list(a)
    assert [r.tolist() for r in rows] == a.tolist() and all(r.base is a.base for r in rows)
    rows[1][2] = 99
    assert a[1, 2] == 99
    assert [type(x) for x in lazynp.arange(3.0)] == [numpy.float64] * 3
    assert a.dot(rows[0]).tolist() == numpy.asarray(a).dot(numpy.asarray(rows[0])).tolist()
    with pytest.raises(ValueError, match="not aligned"):
        a.dot(lazynp.ones(5))


@pytest.mark.parametrize(
    "given", ["a", "a.T", "a[:, ::2]", "a[::-1]", "a[1]", "a[:, None]", "a[0, 0, ...]", "a.astype(object)"]
)
def test_a_copy_lies_as_what_it_is_of(given: str) -> None:
    mine, theirs = [eval(given, {"a": m.arange(12.0).reshape(3, 4)}) for m in (lazynp, numpy)]
    got, want = lazynp.array(mine), numpy.array(theirs)
    assert got.strides == want.strides and got.tolist() == want.tolist() and got.base is None and got.flags.writeable
    assert not numpy.shares_memory(numpy.asarray(got), numpy.asarray(mine))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_arrays_of_any_size_have_numpys_bits(dtype: str) -> None:
    """Where little is made of what is at hand, NumPy's function is called at once."""
    random = numpy.random.default_rng(0)
    base, matrix = random.random(200_000).astype(dtype), random.random((400, 500)).astype(dtype)
    np = lazynp
    for call in (np.dot, np.inner, np.vdot):
        call(np.ones(3), np.ones(3))  # the first call of a function is Python's
    with lazynp.profile() as seen:
        for a, texts in (
            (base, ["np.dot(a, a)", "a @ a[::-1]", "np.inner(a[::2], a[::2])", "np.vdot(a, a)", "a.dot(a[::-1])"]),
            (matrix, ["a @ a[0]", "np.dot(a[:, 0], a)", "a.dot(a.T)", "np.dot(a[::2], a[0])", "np.inner(a[0], a[1])"]),
            (matrix, ["a[:, ::-1] @ a[0, ::-1]", "a.T @ a[:3].T[0:400, 0]", "np.vdot(a, a)", "np.inner(a, a)"]),
        ):
            ours = lazynp.array(a)
            for text in texts:
                want, got = [_result(text, np=np, a=x) for np, x in ((numpy, a), (lazynp, ours))]
                if isinstance(want, type):
                    assert got is want
                    continue
                assert type(got) is (lazynp.ndarray if isinstance(want, numpy.ndarray) else type(want)), text
                found = numpy.asarray(got)
                assert found.dtype == want.dtype and found.shape == want.shape, text
                assert numpy.allclose(found, want, rtol=1e-5) if want.size > 90_000 else (found == want).all(), text
    assert seen.library <= 3  # the two products of whole matrices


def _result(text: str, **names: Any) -> Any:
    try:
        return eval(text, names)
    except Exception as error:
        return type(error)
