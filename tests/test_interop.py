"""Libraries that know nothing of lazynp take its arrays, and give what they give for NumPy's."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.config import config

SIZE = 400_000  # beyond what is computed at once in mode auto


@pytest.fixture(params=["auto", "graph"], autouse=True)
def _mode(request: pytest.FixtureRequest) -> Iterator[None]:
    with config(mode=request.param), warnings.catch_warnings():
        warnings.simplefilter("default")  # what a library says of itself is not ours
        yield


def rosenbrock(np: Any, x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


RECORDS = {
    "raw bytes": "V8",
    "records": "i4,f8",
    "gaps": numpy.dtype({"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [3, 16], "itemsize": 40}),
    "overlapping fields": numpy.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 0]}),
    "arrays in records": numpy.dtype([("a", "f4", (2, 3)), ("b", "S3")]),
    "titles": numpy.dtype([(("title", "name"), "f8"), ("b", "V3")]),
    "aligned": numpy.dtype("i1,f8", align=True),
    "nested": numpy.dtype([("x", [("y", "i4"), ("z", ">f8")])]),
    "metadata": numpy.dtype("f8", metadata={"unit": "m"}),
    "empty strings": "S0",
    "other bytes": ">c16",
    "characters": "U3",
    "objects": object,
    "moments": "M8[s]",
}


@pytest.mark.parametrize("name", RECORDS)
def test_numpy_gets_the_array_whole(name: str) -> None:
    """The dtype with all that is in it, strides and flags: what a buffer does not say, `__array__` does."""
    dtype = RECORDS[name]
    forms = {
        "whole": lambda m: m.zeros(3, dtype),
        "column": lambda m: m.zeros((2, 3), dtype)[:, 1],
        "transposed": lambda m: m.zeros((2, 3), dtype).T,
        "empty": lambda m: m.zeros((0, 2), dtype).T,
        "empty part": lambda m: m.zeros((4, 2), dtype)[3:3, ::2],
        "0-d": lambda m: m.zeros((), dtype),
        "one for many": lambda m: m.broadcast_arrays(m.zeros((1, 3), dtype), m.zeros((2, 3)))[0],
        "part of that": lambda m: m.broadcast_arrays(m.zeros((1, 3), dtype), m.zeros((2, 3)))[0][:, ::2],
    }

    def seen(x: Any) -> Any:
        a = numpy.asarray(x)
        flags = (a.flags.c_contiguous, a.flags.f_contiguous, a.flags.writeable, a.flags.aligned)
        fields = (a.dtype.fields, a.dtype.metadata, a.dtype.isalignedstruct)
        return type(a), a.dtype, *fields, a.shape, a.strides, *flags

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, where `broadcast_arrays` gives what can be written to
        for form, make in forms.items():
            assert seen(make(np)) == seen(make(numpy)), form
            x = make(np)
            assert x.size == 0 or numpy.may_share_memory(numpy.asarray(x), x._host_()), form


def test_memory_that_one_element_is_many_times_can_be_written() -> None:
    """As NumPy allows, with a warning: through `asarray` of a view too."""
    for m in (numpy, np):
        b = m.arange(3.0)
        a = m.broadcast_arrays(b, m.zeros((2, 3)))[0]
        z = numpy.asarray(a[:, ::2])
        with pytest.warns(DeprecationWarning, match="broadcast_arrays"):
            z[0, 1] = 7
        assert b.tolist() == [0, 1, 7], m


@pytest.mark.parametrize("method", ["BFGS", "Nelder-Mead", "L-BFGS-B", "trust-constr"])
def test_scipy_minimize(method: str) -> None:
    optimize = pytest.importorskip("scipy.optimize", reason="it comes with lazynp[test]")
    start, options = [-1.2, 1.0, 0.7], {"maxiter": 60}
    ours = optimize.minimize(lambda x: rosenbrock(np, np.asarray(x)), np.array(start), method=method, options=options)
    theirs = optimize.minimize(lambda x: rosenbrock(numpy, x), numpy.array(start), method=method, options=options)
    numpy.testing.assert_allclose(ours.x, theirs.x, rtol=1e-4, atol=1e-5)


def test_scipy_minimize_with_our_gradient() -> None:
    optimize = pytest.importorskip("scipy.optimize", reason="it comes with lazynp[test]")

    def f(x: Any) -> Any:
        return rosenbrock(np, x)

    found = optimize.minimize(
        lambda x: f(np.asarray(x)), np.zeros(6), jac=lambda x: np.grad(f)(np.asarray(x)), method="BFGS"
    )
    numpy.testing.assert_allclose(found.x, numpy.ones(6), atol=1e-4)


@pytest.mark.parametrize("method", ["RK45", "BDF", "LSODA"])
def test_scipy_solve_ivp(method: str) -> None:
    integrate = pytest.importorskip("scipy.integrate", reason="it comes with lazynp[test]")

    def slope(np: Any, y: Any) -> Any:
        return np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]])

    ours = integrate.solve_ivp(lambda t, y: slope(np, np.asarray(y)), (0, 3), np.array([2.0, 0.0]), method=method)
    theirs = integrate.solve_ivp(lambda t, y: slope(numpy, y), (0, 3), numpy.array([2.0, 0.0]), method=method)
    numpy.testing.assert_allclose(ours.y, theirs.y, rtol=1e-12, atol=1e-12)


def test_scipy_linalg() -> None:
    linalg = pytest.importorskip("scipy.linalg", reason="it comes with lazynp[test]")
    rng = numpy.random.default_rng(0)
    a, b = rng.normal(size=(40, 40)), rng.normal(size=(40, 3))
    numpy.testing.assert_array_equal(linalg.solve(np.array(a), np.array(b)), linalg.solve(a, b))
    numpy.testing.assert_array_equal(linalg.solve(np.array(a).T, np.array(b) * 2), linalg.solve(a.T, b * 2))
    numpy.testing.assert_array_equal(linalg.expm(np.array(a) / 40), linalg.expm(a / 40))
    for ours, theirs in zip(linalg.lu_factor(np.array(a)), linalg.lu_factor(a)):
        numpy.testing.assert_array_equal(ours, theirs)


def test_scipy_ndimage() -> None:
    ndimage = pytest.importorskip("scipy.ndimage", reason="it comes with lazynp[test]")
    a = numpy.random.default_rng(0).normal(size=(50, 60))
    ours = np.array(a)
    numpy.testing.assert_array_equal(ndimage.gaussian_filter(ours, 1.5), ndimage.gaussian_filter(a, 1.5))
    numpy.testing.assert_array_equal(ndimage.label(ours > 0)[0], ndimage.label(a > 0)[0])
    out, wanted = np.zeros((50, 60)), numpy.zeros((50, 60))
    ndimage.uniform_filter(ours[::-1], 3, output=np.asarray(out)), ndimage.uniform_filter(a[::-1], 3, output=wanted)
    numpy.testing.assert_array_equal(ndimage.uniform_filter(ours[::-1], 3), wanted)


def test_scipy_others() -> None:
    special, stats, sparse, signal, interpolate, spatial = [
        pytest.importorskip(f"scipy.{n}", reason="it comes with lazynp[test]")
        for n in ("special", "stats", "sparse", "signal", "interpolate", "spatial")
    ]
    x = numpy.linspace(0.1, 3, 50)
    ours = np.array(x)
    numpy.testing.assert_array_equal(special.gammaln(ours), special.gammaln(x))
    numpy.testing.assert_array_equal(stats.norm.cdf(ours), stats.norm.cdf(x))
    assert stats.describe(ours).variance == stats.describe(x).variance
    a = numpy.diag(x)
    numpy.testing.assert_array_equal(sparse.csr_array(np.array(a)) @ ours, sparse.csr_array(a) @ x)
    numpy.testing.assert_array_equal(signal.fftconvolve(ours, ours), signal.fftconvolve(x, x))
    numpy.testing.assert_array_equal(
        interpolate.CubicSpline(ours, np.sin(ours))(ours + 0.01),
        interpolate.CubicSpline(x, numpy.sin(x))(x + 0.01),
    )
    points = numpy.random.default_rng(0).normal(size=(30, 2))
    numpy.testing.assert_array_equal(
        spatial.KDTree(np.array(points)).query(np.array(points[:5]), 2)[1],
        spatial.KDTree(points).query(points[:5], 2)[1],
    )


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas", reason="it comes with lazynp[test]")
    x = numpy.arange(12.0).reshape(4, 3)
    ours = np.array(x)
    frame, wanted = pandas.DataFrame(ours, columns=list("abc")), pandas.DataFrame(x, columns=list("abc"))
    pandas.testing.assert_frame_equal(frame, wanted)
    pandas.testing.assert_frame_equal(
        pandas.DataFrame({"a": ours[:, 0], "b": np.array([1, 2, 1, 2])}).groupby("b").mean(),
        pandas.DataFrame({"a": x[:, 0], "b": numpy.array([1, 2, 1, 2])}).groupby("b").mean(),
    )
    pandas.testing.assert_series_equal(frame["a"] + ours[:, 1], wanted["a"] + x[:, 1])
    mask = numpy.asarray(ours[:, 0] > 2)  # pandas takes for a mask only what is a numpy.ndarray, a list or its own
    pandas.testing.assert_frame_equal(frame[mask], wanted[x[:, 0] > 2])
    pandas.testing.assert_frame_equal(np.exp(frame), numpy.exp(wanted))
    frame["d"], wanted["d"] = np.sqrt(ours[:, 2]), numpy.sqrt(x[:, 2])
    frame.loc[np.array([0, 2]), "a"] = np.array([7.0, 8.0])
    wanted.loc[numpy.array([0, 2]), "a"] = numpy.array([7.0, 8.0])
    pandas.testing.assert_frame_equal(frame, wanted)
    numpy.testing.assert_array_equal(np.asarray(frame["d"].to_numpy()) * 2, wanted["d"].to_numpy() * 2)
    assert pandas.Series(np.arange(SIZE)).sum() == numpy.arange(SIZE).sum()


def test_matplotlib(tmp_path: pathlib.Path) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="it comes with lazynp[test]")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="it comes with lazynp[test]")

    def drawn(np: Any) -> numpy.ndarray:
        figure, axes = pyplot.subplots(2, 3, figsize=(6, 4), dpi=50)
        x = np.linspace(0, 6, 50)
        axes[0, 0].plot(x, np.sin(x), "r--")
        axes[0, 1].imshow(np.outer(np.sin(x), np.cos(x)))
        axes[0, 2].scatter(x, np.cos(x), c=x, s=np.abs(x))
        axes[1, 0].contourf(*np.meshgrid(x, x), np.outer(x, x))
        axes[1, 1].hist(np.sin(x), bins=np.linspace(-1, 1, 9))
        axes[1, 2].errorbar(x[::5], np.exp(-x[::5]), yerr=x[::5] / 10)
        axes[1, 2].fill_between(x, np.exp(-x), 0)
        axes[1, 2].set_xlim(x[0], x[-1])
        figure.canvas.draw()
        pixels = numpy.asarray(figure.canvas.buffer_rgba()).copy()
        figure.savefig(tmp_path / "drawn.svg")
        pyplot.close(figure)
        return pixels

    numpy.testing.assert_array_equal(drawn(np), drawn(numpy))


def test_scikit_learn() -> None:
    for name in ("linear_model", "ensemble", "cluster", "preprocessing", "pipeline", "model_selection", "neighbors"):
        pytest.importorskip(f"sklearn.{name}", reason="it comes with lazynp[test]")
    from sklearn import cluster, decomposition, ensemble, linear_model, neighbors, pipeline, preprocessing

    rng = numpy.random.default_rng(0)
    x = rng.normal(size=(120, 4))
    y, value = (x[:, 0] + x[:, 1] > 0).astype(int), x @ numpy.array([1.0, -2.0, 0.5, 0.0])
    ours_x, ours_y, ours_value = np.array(x), np.array(y), np.array(value)
    for made in (
        lambda: pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
        lambda: ensemble.RandomForestClassifier(10, random_state=0),
        lambda: neighbors.KNeighborsClassifier(3),
    ):
        ours, theirs = made().fit(ours_x, ours_y), made().fit(x, y)
        numpy.testing.assert_array_equal(ours.predict(ours_x), theirs.predict(x))
        assert ours.score(ours_x, ours_y) == theirs.score(x, y)
    numpy.testing.assert_array_equal(
        linear_model.Ridge().fit(ours_x, ours_value).predict(ours_x), linear_model.Ridge().fit(x, value).predict(x)
    )
    kmeans = cluster.KMeans(3, n_init=1, random_state=0)
    numpy.testing.assert_array_equal(kmeans.fit_predict(ours_x), kmeans.fit_predict(x))
    numpy.testing.assert_array_equal(decomposition.PCA(2).fit_transform(ours_x), decomposition.PCA(2).fit_transform(x))


def test_xarray() -> None:
    xarray = pytest.importorskip("xarray", reason="it comes with lazynp[test]")
    x = numpy.arange(12.0).reshape(3, 4)
    ours, theirs = [xarray.DataArray(a, dims=("time", "place"), coords={"time": [0, 1, 2]}) for a in (np.array(x), x)]
    for f in (
        lambda a: a.sum("time"),
        lambda a: a.mean(),
        lambda a: a.sel(time=1),
        lambda a: a.isel(place=slice(None, None, -1)) * 2 + 1,
        lambda a: a.where(a > 3),
        lambda a: a.transpose("place", "time"),
        lambda a: a.rolling(time=2).mean(),
        lambda a: a.groupby("time").max(),
        lambda a: (a - a.mean("time")) / a.std("time"),
        lambda a: xarray.concat([a, a], "time"),
        lambda a: a.interp(time=0.5),
    ):
        xarray.testing.assert_allclose(f(ours), f(theirs), rtol=1e-15)
    xarray.testing.assert_identical(xarray.Dataset({"a": ours}).load(), xarray.Dataset({"a": theirs}))
