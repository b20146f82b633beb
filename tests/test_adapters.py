"""Libraries that check for NumPy's own type take our arrays, by the adapters, and are as they were without them."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import json
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap
import traceback
import weakref
from typing import Any, cast

import numpy
import pytest
from patience import PATIENCE

import lazynp as np
from lazynp import adapters
from lazynp.adapters.patches import Called, Patches, adapted, functions_of, native, numpy_of
from lazynp.config import config
from lazynp.speed import HandleBase as Handle

needs_c = pytest.mark.skipif(native is None, reason="in Python every wrapper is a frame")
ROOT = pathlib.Path(__file__).parents[1]
# Of the scripts in compat/libraries/uses those whose libraries are installed with the tests; `make libraries` runs all.
SCRIPTS = ("cv2", "dask", "files", "jax", "numba", "pandas", "polars", "science", "torch")


def python(code: str, folder: Any = ROOT, **env: str) -> str:
    """What a program prints, in a process of its own."""
    paths = os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": paths, **env},
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.parametrize("script", SCRIPTS)
def test_uses_of_libraries(script: str) -> None:
    """Each line gives what it gives with NumPy's arrays, in both modes, in a process where the library came first; and
    with the adapters off, the library is as it was."""
    code = f"import json; from compat import libraries; print(json.dumps(libraries.in_one_process('{script}_')))"
    found = json.loads(python(code, OPENBLAS_NUM_THREADS="1").splitlines()[-1])
    assert found == {"auto": {}, "graph": {}, "left behind": []}


UFUNCS = """
    import {} as np, pandas as pd
    frame = pd.DataFrame(dict(a=[1.0, 4.0], b=[2.0, 3.0]))
    m = np.asarray([3.0, 2.0])
    for x in (frame["a"], frame, pd.Index([1.0, 2.0])):
        for found in (np.hypot(m, x), np.hypot(x, m), np.maximum(m, x), np.add(x, 1), np.isnan(x), np.logaddexp(m, x)):
            print(type(found).__name__, found.to_numpy().tolist(), type(found.to_numpy()).__module__)
    summed = m
    summed += frame["a"]
    into = np.zeros(2)
    np.sin(frame["a"], out=into)
    print(type(summed).__name__, list(summed), into.tolist())
"""


OF_SCALARS = """
    import datetime, operator
    import {} as np, pandas as pd

    def show(f):
        try:
            found = f()
            print(type(found).__name__, found if not isinstance(found, np.ndarray) else (found.dtype, found.tolist()))
        except Exception as error:
            print(type(error).__name__, error)

    day, zoned = pd.Timestamp("2000-01-02"), pd.Timestamp("2000", tz="UTC")
    scalars = (day, zoned, pd.Timedelta("1D"), pd.NaT, pd.NA, pd.Period("2000", "D"), pd.Interval(0, 1))
    arrays = [np.array(["2000-01-01", "2000-01-02"], "M8[us]"), np.array([1, 2], "m8[D]"), np.arange(2), np.ones(2)]
    for s in scalars:
        for a in (*arrays, np.array([s, s], object), np.array([day, 3], object)):
            for op in (operator.eq, operator.ne, operator.lt, operator.ge, operator.add, operator.sub, operator.mul):
                show(lambda: op(a, s))
                show(lambda: op(s, a))
            show(lambda: np.add(a, s))
            show(lambda: np.less(s, a))

    class Own(pd.Index):
        def __new__(cls, data):
            made = object.__new__(cls)
            made._data, made._cache, made._name = np.array(data, dtype="O"), {{}}, None
            return made

    own = Own([3, 1, 2])
    for f in (own.copy, own.sort_values, own.max, lambda: own[1:], lambda: own.isin([1]), lambda: own.get_loc(2)):
        show(f)
    show(lambda: own.union(own).tolist())
    show(lambda: own.take([0, 1]).tolist())
"""


def test_operators_of_our_arrays_and_pandas_scalars() -> None:
    """Which ask for NumPy's type in C: a comparison with one was False, whatever it held."""
    pytest.importorskip("pandas", reason="it comes with lazynp[test]")
    assert python(OF_SCALARS.format("lazynp")) == python(OF_SCALARS.format("numpy"))


def test_ufuncs_of_our_arrays_and_pandas_objects() -> None:
    pytest.importorskip("pandas", reason="it comes with lazynp[test]")
    assert python(UFUNCS.format("lazynp")) == python(UFUNCS.format("numpy"))


LIBRARY = """
    import numpy
    count = 0

    def taken(x, *more, **named):
        '''What bottleneck might do.'''
        if not isinstance(x, numpy.ndarray):
            raise TypeError(f"expected numpy.ndarray, got {type(x).__module__}")
        return x[:]

    nanmean = taken
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Where a library stands that has an adapter, and is ours to look into."""
    (tmp_path / "bottleneck.py").write_text(textwrap.dedent(LIBRARY))
    return tmp_path


@pytest.mark.parametrize("first", ["lazynp as np, bottleneck", "bottleneck, lazynp as np"])
def test_whichever_is_loaded_first(folder: pathlib.Path, first: str) -> None:
    code = f"""
        import {first}
        x = np.arange(3.0)
        y = bottleneck.taken(x)
        y[0] = 5
        print(type(y).__module__, x[0], bottleneck.taken.__doc__, type(bottleneck.__spec__.loader).__name__)
    """
    assert python(code, folder) == "numpy 5.0 What bottleneck might do. SourceFileLoader"


def test_a_library_that_is_loaded_again(folder: pathlib.Path) -> None:
    code = """
        import importlib, lazynp as np, bottleneck
        importlib.reload(bottleneck)
        print(type(bottleneck.taken(np.arange(3.0))).__module__)
    """
    assert python(code, folder) == "numpy"


@pytest.mark.parametrize("setting", ["0", "numba, dask"])
def test_switched_off_by_the_environment(folder: pathlib.Path, setting: str) -> None:
    code = """
        import lazynp as np, bottleneck
        print(hasattr(bottleneck.taken, "__wrapped__"))
        with np.config(adapters="bottleneck"):
            print(type(bottleneck.taken(np.arange(3.0))).__module__)
        print(hasattr(bottleneck.taken, "__wrapped__"))
    """
    assert python(code, folder, LAZYNP_ADAPTERS=setting).split() == ["False", "numpy", "False"]


def test_a_library_that_loads_a_module_of_its_own_name(folder: pathlib.Path) -> None:
    """As cv2 does: its functions are wrapped once, and put back."""
    inside = folder / "inside"
    inside.mkdir()
    (folder / "bottleneck.py").rename(inside / "bottleneck.py")
    (folder / "bottleneck.py").write_text(
        "import importlib, sys\n"
        "own = sys.modules.pop(__name__)\n"
        f"sys.path.insert(0, {str(inside)!r})\n"
        "globals().update({k: v for k, v in vars(importlib.import_module(__name__)).items() if k[:2] != '__'})\n"
        "sys.modules[__name__] = own\n"
    )
    code = """
        import lazynp as np, bottleneck
        print(type(bottleneck.taken(np.arange(3.0))).__module__, type(bottleneck.taken).__name__ == "function")
        np.config.adapters = False
        print(hasattr(bottleneck.taken, "__wrapped__"), hasattr(bottleneck.nanmean, "__wrapped__"))
    """
    assert python(code, folder).split()[::2] == ["numpy", "False"]
    assert python(code, folder).split()[3] == "False"


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no adapter for nothing; there are: awkward, bottleneck, cv2, cvxpy"):
        config.adapters = "numba,nothing"
    with pytest.raises(ValueError, match="adapters"):
        config.adapters = 3  # type: ignore[assignment]


def test_a_library_that_has_changed_is_left_alone(tmp_path: pathlib.Path) -> None:
    """An adapter that does not find what it wraps says so, and the library works as it does without it."""
    (tmp_path / "netCDF4.py").write_text("class Variable: pass\nclass Dataset: pass\ndef stored(x): return x\n")
    code = """
        import warnings, lazynp as np
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            import netCDF4
        print(netCDF4.stored(3), hasattr(netCDF4.stored, "__wrapped__"), [str(w.message) for w in told])
        warnings.simplefilter("error")
        del __import__("sys").modules["netCDF4"]
        import netCDF4
    """
    shown = python(code, tmp_path)
    assert shown.startswith("3 False ['lazynp cannot adapt netCDF4 (AttributeError"), shown


def test_nothing_of_an_adapter_is_loaded_without_its_library() -> None:
    code = "import sys, lazynp; print([m for m in sys.modules if m.startswith('lazynp.adapters')])"
    assert python(code) == "['lazynp.adapters']"


# --- the wrapper ---


def test_arguments_that_hold_no_array_are_the_same_objects() -> None:
    for x in ([1, 2], (1, "a"), {"a": 1}, [[1.0], (2,)], {}, [], "text", numpy.arange(3), slice(1, 2), object()):
        assert numpy_of(x) is x


def test_arrays_in_containers_share_their_memory() -> None:
    x = np.arange(4.0)
    found = numpy_of({"a": [x, (x[1:], 1)], "b": x})
    assert type(found["a"][0]) is numpy.ndarray and type(found["a"][1][0]) is numpy.ndarray
    found["a"][1][0][0] = 9
    found["b"][0] = 7
    assert x.tolist() == [7, 9, 2, 3] and (x + 1).tolist() == [8, 10, 3, 4]


def test_a_pending_array_is_computed_and_shared() -> None:
    with config(mode="graph"):
        x = np.arange(1000.0) * 2
        adapted(lambda a: a.__setitem__(0, 5))(x)
        assert (x + 1)[0] == 6 and x.sum() == 1000 * 999 + 5


def test_methods_of_all_kinds_are_wrapped_and_put_back() -> None:
    class Base:
        __module__ = "library.base"

        def inherited(self, a: Any) -> Any:
            return type(a)

    class Real(Base):
        __module__ = "library.main"

        def __init__(self, a: Any = None) -> None:
            self.a = a

        def __getitem__(self, key: Any) -> Any:
            return type(key)

        @classmethod
        def of(cls, a: Any) -> Any:
            return cls(a)

        @staticmethod
        def stat(a: Any, *, b: Any = None) -> Any:
            return type(a), type(b)

        def nothing(self) -> Any:
            return 1

        def _private(self, a: Any) -> Any:
            return type(a)

    before = {**vars(Real), **vars(Base)}
    patches, x = Patches(), np.arange(3)
    patches.methods(Real, skip=("skipped",))
    real = Real.of(x)
    assert type(real.a) is numpy.ndarray and real[x] is numpy.ndarray and real[x, 1:] is tuple
    assert real.inherited(x) is numpy.ndarray and Real.stat(x, b=x) == (numpy.ndarray, numpy.ndarray)
    assert vars(Real)["nothing"] is before["nothing"] and real._private(x) is np.ndarray
    patches.methods(Real)  # once more: nothing is wrapped twice
    assert not hasattr(Real.stat.__wrapped__, "__wrapped__")  # type: ignore[attr-defined]
    patches.undo()
    assert {**vars(Real), **vars(Base)} == before


def test_a_wrapped_function_is_what_it_wraps_to_all_who_ask() -> None:
    inner = textwrap.dedent
    made: Any = adapted(inner)
    assert inspect.isfunction(made) and inspect.signature(made) == inspect.signature(inner)
    assert (made.__name__, made.__module__, made.__doc__) == (inner.__name__, inner.__module__, inner.__doc__)
    assert made.__wrapped__ is inner and made.__code__.co_argcount >= 0
    assert copy.copy(made) is made and copy.deepcopy([made])[0] is made and weakref.ref(made)() is made
    made.note = 1
    assert made.note == 1 and not hasattr(inner, "note")
    patches = Patches()
    patches.wrap(textwrap, "dedent")
    assert textwrap.dedent is not inner and pickle.loads(pickle.dumps(textwrap.dedent)) is textwrap.dedent
    patches.undo()
    with pytest.raises(AttributeError):
        made.nothing  # noqa: B018
    assert list(map(made, [" a", "b"])) == ["a", "b"] and functools.partial(made, text="  a")() == "a"
    with pytest.raises(TypeError):
        made()


@pytest.mark.skipif(native is None, reason="in Python every wrapper is a function, which binds")
def test_a_builtin_function_in_a_class_is_not_bound() -> None:
    class Uses:
        make = adapted(len)
        bound = adapted(lambda self, x: type(x))
        special = staticmethod(adapted(lambda x: type(x)))

    assert Uses().make([1, 2]) == 2 and Uses().special(np.arange(2)) is numpy.ndarray
    assert Uses().bound(np.arange(2)) is numpy.ndarray and Uses.bound(0, np.arange(2)) is numpy.ndarray


def test_what_a_wrapped_function_is_called_with() -> None:
    made, x = adapted(lambda *args, **kwargs: (args, kwargs)), np.arange(3.0)
    plain = ([1, [2]], {"a": (1,)}, [0] * 100)
    (a, b, c), named = made(*plain, key=plain[0])
    assert a is plain[0] and b is plain[1] and c is plain[2] and named["key"] is plain[0]
    for given in ([x], [1, {"k": (x,)}], {"k": x}, (0, [[x]]), [x] * 100):
        (found,), named = made(given, key=given)
        assert type(found) is type(given) and "lazynp" not in repr(found) and named["key"] is not given
        assert found is not given and not any(isinstance(v, Handle) for v in leaves_of([found, named]))
    (kept,), _ = made([1.5] * 100 + [x])  # a long list that begins with a number
    assert kept[-1] is x
    round_ = [1]
    round_.append(round_)  # type: ignore[arg-type]
    with pytest.raises(RecursionError):
        made(round_)


def leaves_of(x: Any) -> list[Any]:
    if isinstance(x, dict):
        x = list(x.values())
    return [y for v in x for y in leaves_of(v)] if isinstance(x, (list, tuple)) else [x]


# --- what needs no adapter ---


class Ufunc:
    """A library's own ufunc: asks `__array_ufunc__` of what is no NumPy array, as numba's do."""

    __name__ = "plus"

    def __call__(self, a: Any, b: Any, out: Any = None) -> Any:
        for x in (a, b, out):
            if not isinstance(x, (numpy.ndarray, float)) and hasattr(x, "__array_ufunc__"):
                return x.__array_ufunc__(self, "__call__", a, b, **({} if out is None else {"out": out}))
        assert type(a) is numpy.ndarray
        return numpy.add(a, b, out=out)


def test_a_ufunc_of_a_library_is_given_numpy_arrays() -> None:
    x, out = np.arange(3.0), np.zeros(3)
    plus: Any = Ufunc()
    # The real ones check in C, where an array of ours is none; the metaclass says so here.
    value = type(x).__array_ufunc__(x, plus, "__call__", x, 1.0)
    assert type(value) is np.ndarray and value.tolist() == [1, 2, 3]
    assert type(x).__array_ufunc__(x, plus, "__call__", x, 1.0, out=out) is out
    assert out.tolist() == [1, 2, 3]


class Indices:
    """An array of somebody's, which is no index as a whole."""

    def __init__(self, values: Any) -> None:
        self.values = numpy.array(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> numpy.ndarray:
        return self.values

    def __index__(self) -> int:
        return int(operator_index(self.values))


def operator_index(values: numpy.ndarray) -> int:
    if values.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(values[0])


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize(
    "key", [Indices([1, 3]), (Indices([1, 0]), 1), Indices([2]), Indices([True, False, True, True])]
)
def test_an_array_of_somebody_is_an_index(mode: str, key: Any) -> None:
    theirs = numpy.arange(12.0).reshape(4, 3)
    with config(mode=mode):
        ours = np.array(theirs) + 0
        assert ours[key].tolist() == theirs[key].tolist()
        ours[key], theirs[key] = -1, -1
        assert ours.tolist() == theirs.tolist()


# --- functions that a library calls ---


class Distance:
    """An object that is called, and has a method that is."""

    def __init__(self, m: Any, to: Any = 1.0) -> None:
        self.m, self.to = m, to

    def __call__(self, x: Any) -> Any:
        return ((self.m.asarray(x) - self.to) ** 2).sum()

    def slope(self, x: Any) -> Any:
        return 2 * (self.m.asarray(x) - self.to)

    def both(self, x: Any) -> Any:
        return self(x), self.slope(x)


CALLED: dict[str, Any] = {
    **{
        f"minimize, {method}": lambda m, o, method=method: (
            o.minimize(Distance(m), m.zeros(3), jac=Distance(m).slope, method=method).x
        )
        for method in ("L-BFGS-B", "SLSQP", "BFGS", "TNC", "trust-constr")
    },
    "minimize, value and gradient": lambda m, o: o.minimize(Distance(m).both, m.zeros(3), jac=True, method="SLSQP").x,
    "minimize, by position": lambda m, o: (
        o.minimize(Distance(m), m.array([0.2, 0.3]), (), "L-BFGS-B", Distance(m).slope).x
    ),
    "minimize, constraints": lambda m, o: (
        o.minimize(
            Distance(m),
            m.zeros(2),
            method="SLSQP",
            constraints=({"type": "eq", "fun": lambda x: m.array([x[0] - 2.0]), "jac": lambda x: m.array([1.0, 0])},),
        ).x
    ),
    "minimize, a function among the arguments": lambda m, o: (
        o.minimize(lambda x, f: f(x).sum(), m.zeros(2), args=(lambda x: (m.asarray(x) - 3) ** 2,)).x
    ),
    "fmin_l_bfgs_b": lambda m, o: o.fmin_l_bfgs_b(Distance(m), m.zeros(2), fprime=Distance(m).slope)[0],
    "fmin_slsqp": lambda m, o: o.fmin_slsqp(
        Distance(m), m.zeros(2), f_eqcons=lambda x: m.array([x.sum() - 1.0]), iprint=0
    ),
    "basinhopping": lambda m, o: (
        o.basinhopping(Distance(m), m.zeros(2), 2, minimizer_kwargs={"jac": Distance(m).slope, "method": "L-BFGS-B"}).x
    ),
    **{
        f"least_squares, {method}": lambda m, o, method=method: (
            o.least_squares(Distance(m).slope, m.zeros(2), jac=lambda x: 2 * m.eye(2), method=method).x
        )
        for method in ("trf", "dogbox", "lm")
    },
    "curve_fit": lambda m, o: o.curve_fit(lambda x, a, b: a * x + b, m.arange(5.0), m.arange(5.0) * 2 + 1)[0],
    "root_scalar": lambda m, o: o.root_scalar(lambda x: m.asarray(x) ** 2 - 2, bracket=m.array([0.0, 2.0])).root,
    "a polynomial": lambda m, o: o.brentq(m.poly1d([1, 0, -2]), 0, 2),
}


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("name", CALLED)
def test_functions_that_scipy_calls_may_give_our_arrays(name: str, mode: str) -> None:
    optimize = importlib.import_module("scipy.optimize")
    theirs = CALLED[name](numpy, optimize)
    with config(mode=mode):
        ours = CALLED[name](np, optimize)
    assert numpy.allclose(numpy.asarray(ours), theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("function", [lambda x: np.exp(np.asarray(x)), lambda x: np.array(x) ** 2])
def test_a_function_of_a_matrix(function: Any, mode: str) -> None:
    linalg = importlib.import_module("scipy.linalg")
    a = numpy.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
    wanted = linalg.funm(a, lambda x: numpy.asarray(function(x)))
    with config(mode=mode):
        for given in (a, np.array(a)):
            found = linalg.funm(given, function)
            assert type(found) is numpy.ndarray and numpy.allclose(found, wanted)


@needs_c
def test_warnings_of_an_adapted_library_name_the_users_line() -> None:
    """They count frames, and the call goes through none of ours: whether functions are given or not."""
    optimize, linalg = importlib.import_module("scipy.optimize"), importlib.import_module("scipy.linalg")
    line = sys._getframe().f_lineno + 2
    with pytest.warns(RuntimeWarning, match="good progress") as found:
        optimize.fsolve(lambda x: np.array([x[0] * 0 + 1]), np.ones(1))
    assert (found[0].filename, found[0].lineno) == (__file__, line)
    with pytest.raises(ValueError, match="square") as raised:
        linalg.funm(np.ones((2, 3)), func=np.exp)
    assert not [t for t in traceback.extract_tb(raised.tb) if t.filename == inspect.getsourcefile(Patches)]


def test_what_scipy_asks_of_functions() -> None:
    """Their parameters, an exception that ends the search, and that they can be sent to another process."""
    optimize = importlib.import_module("scipy.optimize")
    seen: list[Any] = []
    optimize.minimize(Distance(np), np.zeros(2), callback=lambda intermediate_result: seen.append(intermediate_result))
    assert all(isinstance(x, optimize.OptimizeResult) for x in seen) and seen

    def stop(xk: Any) -> None:
        raise StopIteration

    assert optimize.minimize(Distance(np, np.arange(2.0)), np.ones(2), callback=stop).nit == 1
    assert pickle.loads(pickle.dumps(Called(numpy_of)))([np.ones(2)])[0].tolist() == [1, 1]
    assert Called(numpy_of).__name__ == "numpy_of" and Called(numpy_of).__wrapped__ is numpy_of
    with config(adapters=False):
        assert not hasattr(optimize.minimize, "__wrapped__")


def test_what_stands_for_a_dense_matrix() -> None:
    linalg = importlib.import_module("scipy.sparse.linalg")
    a, b = np.diag(np.arange(1.0, 9)), np.ones(8)
    for solve in (lambda a, b: linalg.gmres(a, b)[0], lambda a, b: linalg.cg(a, b, M=a)[0]):
        assert numpy.allclose(solve(a, b), solve(numpy.asarray(a), numpy.asarray(b)))
    assert numpy.allclose(linalg.svds(a, 2, v0=b)[1], [7, 8])
    assert linalg.aslinearoperator(a).matvec(b).tolist() == list(range(1, 9))


def test_grids_of_parameters() -> None:
    search = pytest.importorskip("sklearn.model_selection", reason="it comes with lazynp[test]")
    model = pytest.importorskip("sklearn.linear_model", reason="it comes with lazynp[test]")
    found = list(search.ParameterGrid([{"a": np.array([1.0, 2.0]), "b": ["x"]}, {"a": np.arange(1)}]))
    assert found == [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "x"}, {"a": 0}]
    given = {"alpha": np.logspace(-1, 1, 3)}
    for kind in (search.GridSearchCV, functools.partial(search.RandomizedSearchCV, n_iter=2, random_state=0)):
        best = kind(model.Ridge(), given, cv=2).fit(np.eye(6), np.arange(6.0)).best_params_["alpha"]
        assert type(best) is numpy.float64 and best in given["alpha"]


def test_parameters_of_estimators_and_functions() -> None:
    """For which scikit-learn asks NumPy's own type."""
    x = np.random.RandomState(0).randn(30, 4)
    y = (x[:, 0] > 0).astype(int)
    linear_model = pytest.importorskip("sklearn.linear_model", reason="it comes with lazynp[test]")
    neighbors, base = importlib.import_module("sklearn.neighbors"), importlib.import_module("sklearn.base")
    weights = importlib.import_module("sklearn.utils.class_weight")
    process = importlib.import_module("sklearn.gaussian_process")

    def found(m: Any, x: Any, y: Any) -> list[Any]:
        model = neighbors.NeighborhoodComponentsAnalysis(2, init=m.eye(2, 4), max_iter=2)
        copied = base.clone(base.clone(model).fit(x, y)).fit(x, y)
        return [
            copied.components_,
            process.GaussianProcessRegressor(alpha=m.full(30, 0.1)).fit(x, y).predict(x[:2]),
            linear_model.Lasso(0.01, precompute=x.T @ x, fit_intercept=False).fit(x, y).coef_,
            linear_model.orthogonal_mp(x, x[:, 0], n_nonzero_coefs=1),
            weights.compute_class_weight("balanced", classes=m.unique(y), y=y),
        ]

    for ours, theirs in zip(found(np, x, y), found(numpy, numpy.asarray(x), numpy.asarray(y))):
        assert numpy.allclose(ours, theirs)


def test_documented() -> None:
    """Each adapter has its line in the docs, and its setting a name there."""
    page = (ROOT / "docs" / "libraries.md").read_text()
    for library in adapters.ADAPTERS:
        assert f"`{library}`" in page, library
        assert importlib.util.find_spec(f"lazynp.adapters.{adapters.ADAPTERS[library]}"), library


@pytest.mark.parametrize("c", [True, False])
def test_a_list_that_a_library_changes(c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets a list of NumPy's arrays, and what it does to that the user's list has, too."""
    if not c:
        monkeypatch.setattr("lazynp.adapters.patches.native", None)
    elif native is None:
        pytest.skip("there is no C module")

    def change(values: list[Any], *, fail: bool = False) -> Any:
        assert all(type(v) is numpy.ndarray for v in values)
        values.append(values.pop(0))
        values.append(7)
        if fail:
            raise KeyError("late")
        return values

    a, b = np.arange(3.0), np.ones(2)
    for fail in (False, True):
        given = [a, b]
        if fail:
            with pytest.raises(KeyError, match="late"):
                adapted(change)(given, fail=True)
        else:
            assert adapted(change)(given) is given
        assert given[0] is b and given[1] is a and given[2] == 7 and len(given) == 3
    inner = {"x": a, "y": 1}

    def change_inside(found: list[Any]) -> None:
        found[0]["z"] = found[0].pop("x")
        found[1][0] += 1
        found.append(found[0])

    given = [inner, b]
    adapted(change_inside)(given)
    assert given[0] is inner and given[1] is b and given[2] is inner and inner.keys() == {"y", "z"} and inner["z"] is a
    assert b.tolist() == [2, 1]
    alike = [a, b]
    adapted(len)(alike)
    assert alike[0] is a and alike[1] is b
    assert adapted(lambda x, out: out)(a, out=b) is b


@pytest.mark.parametrize("c", [True, False])
def test_containers_without_arrays_and_functions_are_the_same_objects(c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where functions are looked for, too: a minimizer of the user's own gets the bounds that the user gave."""
    if not c:
        monkeypatch.setattr("lazynp.adapters.patches.native", None)
    elif native is None:
        pytest.skip("there is no C module")
    bounds, options, functions = [(0, 1)], {"a": [1, (2,)]}, [len, {"f": len}]
    call: Any = adapted(lambda *args, **kwargs: (args, kwargs), functions_of)
    args, kwargs = call(bounds, options, functions, bounds=bounds, options=options)
    assert args[0] is kwargs["bounds"] is bounds and args[1] is kwargs["options"] is options
    assert type(args[2][0]) is type(args[2][1]["f"]) is Called and functions[0] is len

    def change(found: list[Any], *, more: Any = None) -> Any:
        found.reverse()
        return more

    assert adapted(change, functions_of)(functions, more=len) is len
    assert functions[1] is len and functions[0] == {"f": len}
    optimize = importlib.import_module("scipy.optimize")
    seen = []

    def own(fun: Any, x0: Any, bounds: Any, **rest: Any) -> Any:
        seen.append(bounds)
        return optimize.OptimizeResult(x=x0, fun=fun(x0), success=True)

    optimize.minimize(lambda x: (np.asarray(x) ** 2).sum(), np.ones(2), method=own, bounds=bounds)
    assert seen[0] is bounds


@needs_c
def test_a_function_that_is_several() -> None:
    """Cython's fused functions, one of which a key chooses."""

    class Fused:
        """For two types."""

        __name__ = "fused"

        def __call__(self, x: Any) -> Any:
            return type(x)

        def __getitem__(self, key: str) -> Any:
            return {"double": lambda x, *more: (type(x), *more)}[key]

    fused: Any = adapted(Fused())
    assert fused(np.ones(2)) is numpy.ndarray and fused["double"](np.ones(2), 3) == (numpy.ndarray, 3)
    with pytest.raises(KeyError):
        fused["long"]
    with pytest.raises(TypeError, match="not subscriptable"):
        cast(Any, adapted(len))[0]
