"""pandas' extension arrays with our arrays: operators, ufuncs, indexing, methods, and NumPy's functions of them; what
objects of the user's give pandas."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from outcomes import outcomes

import lazynp

pandas = pytest.importorskip("pandas", reason="it comes with lazynp[test]")

DAYS = numpy.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[ns]")
MADE: dict[str, Callable[[], Any]] = {
    "Int64": lambda: pandas.array([1, 2, None], dtype="Int64"),
    "Float64": lambda: pandas.array([1.5, None, 2], dtype="Float64"),
    "boolean": lambda: pandas.array([True, None, False], dtype="boolean"),
    "string": lambda: pandas.array(["a", None, "c"], dtype="string"),
    "categories": lambda: pandas.Categorical(["a", "b", "a"]),
    "periods": lambda: pandas.period_range("2020", periods=3, freq="D").array,
    "dates": lambda: pandas.DatetimeIndex(DAYS).array,
    "zoned": lambda: pandas.DatetimeIndex(DAYS, tz="UTC").array,
    "spans": lambda: pandas.TimedeltaIndex(DAYS - DAYS[0]).array,
    "sparse": lambda: pandas.arrays.SparseArray([0, 1, 2]),
    "intervals": lambda: pandas.interval_range(0, 3).array,
    "numpy": lambda: pandas.arrays.NumpyExtensionArray(numpy.arange(3)),
}
OTHERS = {
    "int": numpy.arange(3),
    "float": numpy.array([0.5, 1, 2]),
    "bool": numpy.array([True, False, True]),
    "object": numpy.array(["a", "b", "c"], dtype=object),
    "dates": DAYS,
}
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "lt", "ge", "and_", "or_", "xor")
UFUNCS = ("add", "maximum", "hypot", "equal")


def written(a: Any, key: Any, value: Any) -> Any:
    a[key] = value
    return a


def uses(m: Any, made: Callable[[], Any], other: Any) -> list[tuple[Any, ...]]:
    x, kind = m.array(other), type(made())
    calls: dict[str, Callable[[], Any]] = {}
    for name in OPERATORS:
        function = getattr(operator, name)
        calls[name] = lambda f=function: f(made(), x)
        calls[f"r{name}"] = lambda f=function: f(x, made())
    for name in UFUNCS:
        calls[f"np.{name}"] = lambda name=name: getattr(m, name)(x, made())
        calls[f"np.{name} reflected"] = lambda name=name: getattr(m, name)(made(), x)
    calls |= {
        "isin": lambda: made().isin(x),
        "get": lambda: made()[x],
        "take": lambda: made().take(x),
        "set": lambda: written(made(), x, made()[0]),
        "fill": lambda: written(made(), slice(None), x),
        "fillna": lambda: made().fillna(x),
        "searchsorted": lambda: made().searchsorted(x),
        "repeat": lambda: made().repeat(x),
        "contains": lambda: x in made(),
        "made of": lambda: kind._from_sequence(x),
        "in place": lambda: operator.iadd(m.array(other), made()),
        "sqrt": lambda: m.sqrt(made()),
        "out": lambda: m.add(made(), 1, out=made()),
        "accumulate": lambda: m.add.accumulate(made()),
        "product": lambda: made() @ x,
        "product reflected": lambda: x @ made(),
        "where": lambda: m.where(x == x, made(), made()),
        "interp": lambda: m.interp(made(), x, x),
        "dot": lambda: m.dot(made(), x),
    }
    return outcomes(calls, lambda value: (type(value).__name__, str(getattr(value, "dtype", "")), repr(value)))


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("made", MADE)
def test_extension_arrays(made: str, other: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = uses(numpy, MADE[made], OTHERS[other])
        assert uses(lazynp, MADE[made], OTHERS[other]) == wanted


def test_indexers_of_the_user_s() -> None:
    class Forward(pandas.api.indexers.BaseIndexer):
        def get_window_bounds(
            self, num_values: int = 0, min_periods: Any = None, center: Any = None, closed: Any = None, step: Any = None
        ) -> Any:
            begin = m.arange(num_values, dtype=m.int64)
            return begin, m.minimum(begin + self.window_size, num_values)

    series, shown = pandas.Series([1.0, 2, 3, 4]), {}
    for m in (numpy, lazynp):
        windows = series.rolling(Forward(window_size=2), min_periods=1)
        groups = series.groupby([0, 1, 0, 1]).rolling(Forward(window_size=2), min_periods=1)
        shown[m] = repr([windows.sum(), windows.max(), windows.apply(m.mean, raw=True), groups.mean()])
    assert shown[lazynp] == shown[numpy]


def test_cells_that_are_arrays() -> None:
    table = pandas.DataFrame({"g": [0, 1, 0], "x": [1.0, 2, 3]}).groupby("g")["x"]
    assert repr(table.agg(lambda _: lazynp.array([1, 2]))) == repr(table.agg(lambda _: numpy.array([1, 2])))
