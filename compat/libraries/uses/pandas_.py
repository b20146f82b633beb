"""pandas."""

import io

import numpy as np
import pandas as pd
from describe import main


def x():
    return np.array([3.0, 1.0, 2.0, 5.0, 4.0, 0.0])


def key():
    return np.array([0, 1, 0, 1, 0, 1])


def series():
    return pd.Series([10, 20, 30, 40, 50, 60])


def frame():
    return pd.DataFrame({"a": [1, 2, 3, 4, 5, 6], "b": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]})


def assigned():
    f = frame()
    f["c"] = x()
    f.loc[x() > 2, "a"] = 0
    f.iloc[np.array([0, 1]), 1] = np.array([7.0, 8.0])
    return f


def as_csv():
    out = io.StringIO()
    pd.DataFrame({"a": x(), "b": key()}).to_csv(out)
    return out.getvalue()


LINES = {
    "pd.Series(x)": lambda: pd.Series(x()),
    "pd.Series(x, index=k)": lambda: pd.Series(x(), index=key()),
    "pd.Series(dict, index=k)": lambda: pd.Series({0: 1.0, 1: 2.0}, index=key()),
    "pd.Series(1.0, index=k)": lambda: pd.Series(1.0, index=key()),
    "pd.DataFrame({name: x})": lambda: pd.DataFrame({"a": x(), "b": key()}),
    "pd.DataFrame(x, index=k)": lambda: pd.DataFrame(x().reshape(3, 2), index=np.arange(3) * 2, columns=["a", "b"]),
    "pd.Index(x)": lambda: pd.Index(x()),
    "pd.MultiIndex.from_arrays": lambda: pd.MultiIndex.from_arrays([key(), x()]).tolist(),
    "pd.Categorical(k)": lambda: pd.Categorical(key()).codes,
    "pd.array(k)": lambda: pd.array(key()).to_numpy(),
    "series.groupby(k)": lambda: series().groupby(key()).sum(),
    "frame.groupby([k, k])": lambda: frame().groupby([key(), x() > 2]).mean(),
    "frame.groupby(k).agg(np.sum)": lambda: frame().groupby(key()).agg("sum"),
    "series[k]": lambda: series()[key()],
    "series[mask]": lambda: series()[x() > 2],
    "frame[mask]": lambda: frame()[x() > 2],
    "frame.loc[mask]": lambda: frame().loc[x() > 2],
    "frame.loc[k, name]": lambda: frame().loc[key(), "b"],
    "frame.loc[function]": lambda: frame().loc[lambda f: np.asarray(f.a) > 2],
    "frame.assign(c=function)": lambda: frame().assign(c=lambda f: np.sqrt(np.asarray(f.b))),
    "frame.apply gives arrays": lambda: frame().apply(lambda c: np.cumsum(np.asarray(c))),
    "groupby.transform": lambda: frame().groupby(key()).transform(lambda v: np.asarray(v) - np.mean(np.asarray(v))),
    "groupby.agg({name: np.mean})": lambda: frame().groupby(key()).agg({"a": np.mean, "b": [np.min, np.max]}),
    "frame.index = x": lambda: (lambda f: (setattr(f, "index", x()), f)[1])(frame()),
    "frame[mask] = 0": lambda: (lambda f: (f.__setitem__(x() > 2, 0), f)[1])(frame()),
    "frame.iloc[k]": lambda: frame().iloc[key()],
    "assignment of x": assigned,
    "pd.cut(x, 3)": lambda: pd.cut(x(), 3).codes,
    "pd.cut(series, bins)": lambda: pd.cut(series(), np.array([0, 25, 45, 70])).cat.codes,
    "pd.qcut(x, 2)": lambda: pd.qcut(x(), 2).codes,
    "pd.unique(k)": lambda: pd.unique(key()),
    "pd.factorize(k)": lambda: pd.factorize(key()),
    "pd.isna(x)": lambda: pd.isna(np.array([1.0, np.nan])),
    "pd.api.types.is_scalar(x)": lambda: pd.api.types.is_scalar(x()),
    "pd.to_datetime(k)": lambda: pd.to_datetime(key() * 10**15).tolist(),
    "pd.to_numeric(x)": lambda: pd.to_numeric(x()),
    "pd.get_dummies(k)": lambda: pd.get_dummies(key()),
    "pd.crosstab(k, k)": lambda: pd.crosstab(key(), key()),
    "series.isin(k)": lambda: series().isin(key() * 10),
    "series.where(mask, x)": lambda: series().where(x() > 2, x()),
    "series.reindex(k)": lambda: series().reindex(np.arange(3)),
    "series.searchsorted(x)": lambda: series().searchsorted(x() * 10),
    "series.map / take": lambda: series().take(key()),
    "series + x, x + series": lambda: (series() + x(), x() * series()),
    "series @ x": lambda: series() @ x(),
    "frame.set_index(k)": lambda: frame().set_index(key()),
    "frame.insert(0, 'z', x)": lambda: (lambda f: (f.insert(0, "z", x()), f)[1])(frame()),
    "frame.assign(c=x)": lambda: frame().assign(c=x()),
    "frame.replace / clip": lambda: frame().clip(upper=x(), axis=0),
    "frame.apply(np.sqrt)": lambda: frame().apply(np.sqrt),
    "frame.sort_values(key=...)": lambda: frame().sort_values("a", key=lambda c: -c),
    "series.rolling(2).apply": lambda: series().rolling(2).apply(lambda w: np.max(w), raw=True),
    "pd.merge on x": lambda: pd.DataFrame({"k": key(), "v": x()}).merge(pd.DataFrame({"k": np.array([0, 1])}), on="k"),
    "np.exp(frame)": lambda: np.exp(frame()),
    "frame.to_numpy() + x": lambda: frame().to_numpy() + x()[:, None],
    "DataFrame.to_csv": as_csv,
    "x[series of indices]": lambda: x()[pd.Series([0, 2])],
}

if __name__ == "__main__":
    main(LINES)
