"""The NumPy door: creation, methods, attributes, views, handing out, pickling, printing, random, submodules."""

import contextlib
import copy
import io
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.graph.errors import NotConcreteError
from lazynp.numpy.array import NATIVE

MODES = ("auto", "graph", "eager")


@pytest.fixture(params=MODES)
def mode(request):
    with np.config(mode=request.param):
        yield request.param


def same(ours, theirs) -> None:
    """Equal in type, dtype, shape and value."""
    if isinstance(theirs, (tuple, list)):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b)
    elif isinstance(theirs, numpy.ndarray):
        assert type(ours) is np.ndarray
        numpy.testing.assert_array_equal(numpy.asarray(ours), theirs, strict=True)
    elif isinstance(theirs, numpy.generic):
        assert type(ours) is type(theirs)
        numpy.testing.assert_equal(ours, theirs)
    else:
        assert ours == theirs


X = numpy.arange(24.0).reshape(2, 3, 4) - 7
Y = numpy.array([3, 1, 2, 1, 5])
C = numpy.array([1 + 2j, 3 - 1j])

METHODS = {
    **{
        f"{name} {axis}": (lambda a, name=name, axis=axis: getattr(a, name)(axis=axis))
        for name in ("sum", "prod", "min", "max", "mean", "var", "std", "any", "all")
        for axis in (None, 0, -1, (0, 2))
    },
    **{
        f"{name} {axis}": (lambda a, name=name, axis=axis: getattr(a, name)(axis=axis))
        for name in ("argmin", "argmax", "cumsum", "cumprod")
        for axis in (None, 1)
    },
    "sum keepdims": lambda a: a.sum(axis=1, keepdims=True),
    "sum dtype": lambda a: a.sum(dtype="f4"),
    "sum initial": lambda a: a.sum(initial=3),
    "min initial": lambda a: a.min(axis=0, initial=-100),
    "std ddof": lambda a: a.std(ddof=1),
    "mean keepdims": lambda a: a.mean((0, 1), keepdims=True),
    "reshape": lambda a: a.reshape(4, -1),
    "reshape tuple": lambda a: a.reshape((2, 12)),
    "reshape F": lambda a: a.reshape(6, 4, order="F"),
    "reshape T": lambda a: a.T.reshape(-1),
    "ravel": lambda a: a.ravel(),
    "ravel T": lambda a: a.T.ravel(),
    "ravel F": lambda a: a.ravel("F"),
    "flatten": lambda a: a.flatten(),
    "flatten T": lambda a: a.T.flatten(),
    "T": lambda a: a.T,
    "mT": lambda a: a.mT,
    "transpose": lambda a: a.transpose(1, 2, 0),
    "transpose tuple": lambda a: a.transpose((2, 0, 1)),
    "swapaxes": lambda a: a.swapaxes(0, -1),
    "squeeze": lambda a: a[:, :1].squeeze(),
    "squeeze axis": lambda a: a[:1, :1].squeeze(0),
    "astype": lambda a: a.astype("i4"),
    "astype same": lambda a: a.astype(float),
    "copy": lambda a: a.copy(),
    "copy T": lambda a: a.T.copy(),
    "clip": lambda a: a.clip(-1, 3),
    "clip low": lambda a: a.clip(2),
    "round": lambda a: (a / 7).round(2),
    "round 0": lambda a: (a / 7).round(),
    "round -1": lambda a: a.round(-1),
    "take": lambda a: a.take([1, 5]),
    "take axis": lambda a: a.take([1, 0], axis=1),
    "repeat": lambda a: a.repeat(2),
    "repeat axis": lambda a: a.repeat(3, axis=0),
    "diagonal": lambda a: a.diagonal(),
    "trace": lambda a: a.trace(),
    "nonzero": lambda a: a.nonzero(),
    "argsort": lambda a: (-a).argsort(axis=0),
    "searchsorted": lambda a: a.ravel().searchsorted([0, 3]),
    "compress": lambda a: a.compress([True, False, True], axis=1),
    "choose": lambda a: (a > 0).astype(int).choose([10, 20]),
    "conj": lambda a: a.conj(),
    "dot": lambda a: a[0].dot(a[1].T),
    "tolist": lambda a: a.tolist(),
    "item": lambda a: a.item(3),
    "tobytes": lambda a: a.T.tobytes(),
    "partition": lambda a: numpy.sort(numpy.asarray(a.argpartition(2))) is None,
    "view": lambda a: a.view("i8"),
    "real": lambda a: a.real,
    "imag": lambda a: a.imag,
    "flat": lambda a: a.flat[3:7],
    "nbytes": lambda a: a.nbytes,
    "strides": lambda a: a[:, ::2].T.strides,
    "shape": lambda a: a[1:].shape,
    "size": lambda a: a.size,
    "itemsize": lambda a: a.itemsize,
    "ndim": lambda a: a.ndim,
    "iter": lambda a: list(a[0, 0]),
    "iter rows": lambda a: list(a),
    "contains": lambda a: 3.0 in a,
    "len": len,
    "divmod": lambda a: divmod(a, 2),
    "matmul": lambda a: a[0] @ a[1].T,
    "rmatmul": lambda a: [[1.0, 2.0, 3.0]] @ a[0],
    "repr": repr,
    "str": str,
    "format": lambda a: f"{a[0, 0, 0]:.2f}",
}


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str, mode: str) -> None:
    same(METHODS[name](np.array(X)), METHODS[name](X.copy()))
    same(METHODS[name](np.array(X) * 1.0), METHODS[name](X * 1.0))


def test_views_share(mode: str) -> None:
    a = np.zeros((3, 4))
    for view in (a.T, a.reshape(12), a.ravel(), a[1:], a.swapaxes(0, 1), a.view(), a.squeeze(), a.real, a.diagonal):
        assert callable(view) or view.size
    a.T[0] = 1
    a.reshape(12)[-1] = 2
    a.flat[5] = 3
    a.ravel()[1] = 4
    assert a.tolist() == [[1, 4, 0, 0], [1, 3, 0, 0], [1, 0, 0, 2]]
    b = a.copy()
    b[...] = 0
    assert a[0, 0] == 1
    c = np.array(C)
    c.real[0] = 7
    c.imag = 1
    assert c.tolist() == [7 + 1j, 3 + 1j]


def test_writes(mode: str) -> None:
    a = np.array(Y)
    a.sort()
    assert a.tolist() == [1, 1, 2, 3, 5]
    a.fill(4)
    a.put([0, 1], [7, 8])
    assert a.tolist() == [7, 8, 4, 4, 4]
    a.partition(2)
    np.copyto(a, [1, 2, 3, 4, 5])
    np.putmask(a, a > 3, 0)
    np.place(a, a == 0, [9])
    assert a.tolist() == [1, 2, 3, 9, 9]
    a.resize((2, 2), refcheck=False)
    assert a.tolist() == [[1, 2], [3, 9]]
    a = a.reshape(4)
    assert a.shape == (4,)
    np.fill_diagonal(b := np.zeros((3, 3)), 1)
    assert b.trace() == 3


def test_handed_out_memory_is_shared(mode: str) -> None:
    a = np.arange(4.0) * 1
    h = numpy.asarray(a)
    h[0] = 10
    assert a[0] == 10
    a[1] = 11
    assert h[1] == 11
    b = a + 1
    h[2] = 50
    assert b.tolist() == [11, 12, 3, 4] and a[2] == 50
    assert numpy.array(a) is not h and numpy.from_dlpack(a)[0] == 10
    n = numpy.arange(3.0)
    c = np.asarray(n)
    c[0] = 5
    n[1] = 6
    assert n[0] == 5 and c[1] == 6
    d = np.array(n)
    n[2] = 99
    assert d[2] == 2


def test_python_conversions(mode: str) -> None:
    a = np.array([3])[0:1].reshape(())
    assert int(a) == 3 and float(a) == 3.0 and complex(a) == 3 and [1, 2, 3, 4][a] == 4 and bool(a)
    with pytest.raises(ValueError, match="truth value"):
        bool(np.arange(3))
    s = np.arange(3.0).sum()
    assert isinstance(s, float) and json.dumps(s) == "3.0" and hash(s) == hash(3.0) and f"{s:.1f}" == "3.0"
    assert isinstance(np.arange(3), np.ndarray)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int, mode: str) -> None:
    a = np.arange(6.0).reshape(2, 3).T + 1
    same(pickle.loads(pickle.dumps(a, protocol)), numpy.asarray(a))
    same(copy.deepcopy(a), numpy.asarray(a))
    same(copy.copy(a), numpy.asarray(a))
    m = np.matrix([[1, 2]])
    assert type(pickle.loads(pickle.dumps(m, protocol))) is np.matrix
    masked = np.ma.array([1, 2], mask=[0, 1])
    assert pickle.loads(pickle.dumps(masked, protocol)).tolist() == [1, None]
    assert pickle.loads(pickle.dumps(np.sum, protocol)) is np.sum


def test_save_and_load(tmp_path, mode: str) -> None:
    a = np.arange(6.0).reshape(2, 3) * 2
    np.save(tmp_path / "a.npy", a)
    same(np.load(tmp_path / "a.npy"), numpy.asarray(a))
    np.savez(tmp_path / "b.npz", a=a)
    same(np.load(tmp_path / "b.npz")["a"], numpy.asarray(a))
    text = io.StringIO()
    np.savetxt(text, a)
    text.seek(0)
    same(np.loadtxt(text), numpy.asarray(a))
    m = np.memmap(tmp_path / "m", dtype=float, mode="w+", shape=(3,))
    m[:] = 5
    m.flush()
    assert np.fromfile(tmp_path / "m").tolist() == [5, 5, 5]


def test_printing(mode: str) -> None:
    for x in (
        X,
        Y,
        C,
        numpy.float32(X),
        X > 0,
        numpy.zeros((0, 3)),
        numpy.arange(2000),
        numpy.array(["a"]),
        numpy.array([None, 1]),
    ):
        assert repr(np.array(x)) == repr(x) and str(np.array(x)) == str(x)
    with np.printoptions(precision=2):
        assert str(np.array([1 / 3])) == "[0.33]"
    assert np.array2string(np.arange(3)) == "[0 1 2]"


def test_random_is_numpys(mode: str) -> None:
    ours, theirs = np.random.default_rng(3), numpy.random.default_rng(3)
    same(ours.normal(size=(2, 3)), theirs.normal(size=(2, 3)))
    same(ours.integers(0, 10, 5), theirs.integers(0, 10, 5))
    same(ours.permutation(np.arange(5)), theirs.permutation(numpy.arange(5)))
    a, b = np.arange(5), numpy.arange(5)
    ours.shuffle(a)
    theirs.shuffle(b)
    same(a, b)
    out = np.zeros(3)
    assert ours.random(out=out) is out
    np.random.seed(5)
    x = np.random.rand(3)
    numpy.random.seed(5)
    same(x, numpy.random.rand(3))
    g = pickle.loads(pickle.dumps(ours))
    assert type(g) is np.random.Generator and isinstance(g, numpy.random.Generator)
    same(g.random(2), numpy.asarray(ours.random(2)))
    r = np.random.RandomState(1)
    same(r.randn(2), numpy.random.RandomState(1).randn(2))


def test_submodules(mode: str) -> None:
    a = np.array(X[0] @ X[0].T + numpy.eye(3))
    h = numpy.asarray(a)
    same(np.linalg.inv(a), numpy.linalg.inv(h))
    same(np.linalg.svd(a)[1], numpy.linalg.svd(h)[1])
    same(np.linalg.norm(a), numpy.linalg.norm(h))
    same(np.fft.rfft(a), numpy.fft.rfft(h))
    same(np.einsum("ij,jk->ik", a, a), numpy.einsum("ij,jk->ik", h, h))
    same(np.unique(np.array(Y), return_counts=True)[1], numpy.unique(Y, return_counts=True)[1])
    same(np.lib.stride_tricks.sliding_window_view(np.array(Y), 2), numpy.lib.stride_tricks.sliding_window_view(Y, 2))
    same(np.polynomial.Polynomial([1, 2])(np.array(Y)), numpy.polynomial.Polynomial([1, 2])(Y))
    same(np.percentile(a, [10, 50]), numpy.percentile(h, [10, 50]))
    np.testing.assert_allclose(a, h)
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(a, h + 1)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.solve(np.zeros((2, 2)), np.ones(2))


def test_strict_and_counted() -> None:
    from lazynp.runtime.profile import profile

    with np.config(mode="graph"):
        before = sum(profile.host_calls.values())
        called = np.frompyfunc(abs, 1, 1)
        called(np.arange(4) * 1)
        assert sum(profile.host_calls.values()) == before + 1
        assert any(site.startswith(__file__) for _, site in profile.host_calls)
        with np.config(strict=True), pytest.raises(np.HostFallbackError, match="vectorized"):
            called(np.arange(4) * 1)
    with np.config(mode="auto"):
        before = sum(profile.host_calls.values())
        called(np.arange(4))
        assert sum(profile.host_calls.values()) == before


HOST_WORK: dict[str, Callable[[Any], Any]] = {  # on three objects, which only NumPy computes with
    "ndarray.__getitem__": lambda x: x[[0, 2]],
    "ndarray.__setitem__": lambda x: x.__setitem__([0, 2], 1),
    "flatiter.__getitem__": lambda x: x.flat[1:],
    "flatiter.__setitem__": lambda x: x.flat.__setitem__(slice(1, 3), 0),
    "ndarray.flat": lambda x: setattr(x, "flat", 1),
    "ndarray.astype": lambda x: x.astype(float),
    "ndarray.fill": lambda x: x.fill(2),
    "ndarray.repeat": lambda x: x.repeat(2),
    "ndarray.put": lambda x: x.put([0, 1], 3),
    "ndarray.__contains__": lambda x: 2 in x,
    "add": lambda x: x + x,
    "multiply": lambda x: x.__imul__(2),
    "subtract.outer": lambda x: np.subtract.outer(x, x),
    "array": lambda x: np.array([x, x]),
    "nditer": lambda x: np.nditer(x, ["refs_ok"], [["readwrite"]]),
}
NO_WORK: dict[str, Callable[[Any], Any]] = {
    "views": lambda x: (x[::-1], x.reshape(3, 1).T, x.flat, x[None], x.view()),
    "elements": lambda x: (x[1], x.flat[1], x[:1] + x[:1], x.item(2), x.__setitem__(1, 4), x.flat.__setitem__(1, 3)),
    "what is handed out": lambda x: (x.tolist(), str(x), numpy.asarray(x), list(x), x.tobytes()),
    "what is moved": lambda x: (x.copy(), x.flatten(), np.concatenate([x, x]), x.__setitem__(slice(1, 3), x[:1])),
    "elements in turn": lambda x: list(np.nditer(x, ["refs_ok"])),
}


@pytest.mark.parametrize("name", [*HOST_WORK, *NO_WORK])
def test_what_host_work_is(name: str) -> None:
    from lazynp.runtime.profile import profile

    call, wanted = (HOST_WORK[name], 1) if name in HOST_WORK else (NO_WORK[name], 0)
    with np.config(mode="graph"):
        x = np.array([1, 2, 3], dtype=object)
        before = profile.host_calls.copy()
        call(x)
        assert sum((profile.host_calls - before).values()) == wanted
        assert not wanted or {found for found, _ in profile.host_calls - before} == {name}
        x = np.array([1, 2, 3], dtype=object)
        with np.config(strict=True), pytest.raises(np.HostFallbackError) if wanted else contextlib.nullcontext():
            call(x)
    with np.config(mode="auto"):
        before = profile.host_calls.copy()
        call(np.array([1, 2, 3], dtype=object))
        assert profile.host_calls == before  # small arrays


def test_draws_are_counted_apart() -> None:
    from lazynp.runtime.profile import profile

    with np.config(mode="graph", strict=True):
        before = profile.draws.copy()
        np.random.default_rng(0).normal(size=3), np.random.RandomState(0).poisson(3.0, (2, 2))
        assert profile.draws - before == {"normal": 1, "poisson": 1}
        assert "draws of random numbers" in str(np.profile())


def test_import_is_light() -> None:
    code = "import sys, lazynp; print(any(m.split('.')[0] in ('torch', 'jax') for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False"


def test_version_is_numpys() -> None:
    assert np.__version__ == numpy.__version__ and np.lazynp_version


@pytest.mark.parametrize("fill", [3.0, 3.5])
@pytest.mark.parametrize("size", [(), 10, 250_000])
@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_casts_that_must_keep_values(mode: str, size: Any, fill: float) -> None:
    """NumPy knows `same_value` from 2.4 on, and in `astype` alone; the values decide."""
    with np.config(mode=mode):
        want = outcome(lambda: numpy.full(size, fill).astype("i4", casting="same_value"))
        assert outcome(lambda: np.full(size, fill).astype("i4", casting="same_value")) == want
        assert outcome(lambda: (np.full(size, fill) * 1).astype("i4", casting="same_value")) == want


@pytest.mark.skipif(numpy.lib.NumpyVersion(numpy.__version__) < "2.4.0", reason="NumPy has no such casting")
def test_a_cast_that_must_keep_values_has_to_know_them() -> None:
    with pytest.raises(NotConcreteError, match="cast to int32"):
        np.jit(lambda x: x.astype("i4", casting="same_value"))(np.ones(3))


def outcome(f: Callable[[], Any]) -> Any:
    """The values that a call gives, or its error."""
    try:
        return numpy.asarray(f()).tolist()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("dtype", sorted(NATIVE))
def test_sorting_and_masked_writes_are_recorded(dtype: str) -> None:
    """No fallback to NumPy in any of them: `np.sort` passes `stable=None` on, which used to lead there."""
    rng = numpy.random.default_rng(0)
    x = (rng.random((7, 9)) * 200).astype(dtype)
    mask = rng.random((7, 9)) < 0.5
    cases = {
        **{f"sort {kind} {axis}": lambda xp, a, m, kind=kind, axis=axis: xp.sort(a, axis=axis, kind=kind)
           for kind in (None, "quicksort", "stable", "heapsort") for axis in (0, -1)},
        "sort stable": lambda xp, a, m: xp.sort(a, stable=True),
        "argsort": lambda xp, a, m: xp.argsort(a, axis=0, kind="stable"),
        "argsort stable": lambda xp, a, m: a.argsort(stable=True),
        "partition": lambda xp, a, m: xp.partition(a, 3, axis=1),
        "partition at some": lambda xp, a, m: xp.partition(a, (1, -2), axis=0),
        "partition at NumPy's": lambda xp, a, m: xp.partition(a, numpy.array([2, 5]), axis=1),
        "partition at an array": lambda xp, a, m: xp.partition(a, xp.array([2, -1]), axis=1),
        "sort by letters": lambda xp, a, m: xp.sort(a, kind="quick") - xp.sort(a, kind="Heap")
        if a.dtype != bool
        else a,
        "argpartition": lambda xp, a, m: xp.argpartition(a, -1, axis=1),
        "copyto": lambda xp, a, m: xp.copyto(a, a[::-1].copy(), where=m) or a,
        "copyto a view": lambda xp, a, m: xp.copyto(a[::2], a.dtype == bool or 1, where=m[0]) or a,
    }  # fmt: skip
    with np.config(mode="graph", strict=True):
        for name, case in cases.items():
            got = numpy.asarray(case(np, np.array(x), np.array(mask)))
            wanted = case(numpy, x.copy(), mask)
            assert got.dtype == wanted.dtype, name
            if dtype in "gG":  # whose elements have bytes that say nothing
                assert numpy.array_equal(got, wanted), name
            else:
                assert got.tobytes() == wanted.tobytes(), name


SORTING_ERRORS = {
    "kind and stable": lambda xp, a: a.sort(kind="stable", stable=True),
    "kind of sort": lambda xp, a: xp.sort(a, kind="fast"),
    "kind of argsort": lambda xp, a: a.argsort(kind="fast"),
    "kind of partition": lambda xp, a: a.partition(1, kind="fast"),
    "axis": lambda xp, a: xp.sort(a, axis=5),
    "axis of argpartition": lambda xp, a: a.argpartition(1, axis=-3),
    "order": lambda xp, a: xp.sort(a, order="a"),
    "kth": lambda xp, a: a.partition(99),
    "kth of some": lambda xp, a: a.argpartition((1, 99), axis=0),
    "kth, a float": lambda xp, a: xp.partition(a, 1.5),
}


@pytest.mark.parametrize("name", SORTING_ERRORS)
def test_sorting_errors_are_numpy_s(name: str) -> None:
    wrong = SORTING_ERRORS[name]
    with pytest.raises(Exception) as wanted:
        wrong(numpy, numpy.ones((3, 4)))
    with np.config(mode="graph"), pytest.raises(type(wanted.value)) as got:
        wrong(np, np.ones((3, 4)))
    assert str(got.value) == str(wanted.value)

    def traced(x: Any) -> Any:
        y = x * 2
        wrong(np, y)
        return y.sum()

    with pytest.raises(type(wanted.value)) as got:
        np.grad(traced)(np.ones((3, 4)))
    assert str(got.value) == str(wanted.value)


@pytest.mark.parametrize("axis", [numpy.int64(0), numpy.uint8(1), True])
def test_axes_of_sorts_are_any_ints(axis: Any) -> None:
    x = numpy.random.default_rng(1).random((4, 5))
    for name, args in {"sort": (), "argsort": (), "partition": (2,), "argpartition": (2,)}.items():
        try:
            wanted = getattr(numpy, name)(x, *args, axis=axis)
        except TypeError:
            with pytest.raises(TypeError):
                getattr(np, name)(np.array(x), *args, axis=axis)
        else:
            with np.config(mode="graph", strict=type(axis) is not bool):
                got = getattr(np, name)(np.array(x), *args, axis=axis)
                assert numpy.array_equal(numpy.asarray(got), wanted), name


@pytest.mark.parametrize("name", ["argsort", "argpartition"])
def test_places_in_the_flat_array_are_recorded(name: str) -> None:
    x = numpy.random.default_rng(1).random((4, 5))
    args = (7,) if name == "argpartition" else ()
    with np.config(mode="graph", strict=True):
        got = getattr(np, name)(np.array(x), *args, axis=None)
        assert numpy.array_equal(numpy.asarray(got), getattr(numpy, name)(x, *args, axis=None))
