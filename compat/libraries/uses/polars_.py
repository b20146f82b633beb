"""polars."""

import numpy as np
import polars as pl
from describe import main


def x():
    return np.array([3.0, 1.0, 2.0, 5.0])


def s():
    return pl.Series("s", [1.0, 2.0, 3.0, 4.0])


def f():
    return pl.DataFrame({"a": [1, 2, 3, 4], "b": [5.0, 6.0, 7.0, 8.0]})


LINES = {
    "pl.Series(x)": lambda: pl.Series(x()).to_list(),
    "pl.Series(name, x)": lambda: pl.Series("a", x()).to_list(),
    "pl.Series(2-d x)": lambda: pl.Series("a", x().reshape(2, 2)).to_list(),
    "pl.DataFrame({name: x})": lambda: pl.DataFrame({"a": x()}).to_dict(as_series=False),
    "pl.DataFrame(2-d x)": lambda: pl.DataFrame(x().reshape(2, 2), schema=["a", "b"]).rows(),
    "pl.from_numpy(x)": lambda: pl.from_numpy(x().reshape(2, 2)).rows(),
    "pl.from_dict": lambda: pl.from_dict({"a": x()}).rows(),
    "series + x": lambda: (s() + x()).to_list(),
    "series > x": lambda: (s() > x()).to_list(),
    "x * series": lambda: np.asarray(x() * s()),
    "np.sqrt(series)": lambda: np.sqrt(s()).to_list(),
    "series.filter(mask)": lambda: s().filter(x() > 2).to_list(),
    "series[k]": lambda: s()[np.array([0, 2])].to_list(),
    "frame[k]": lambda: f()[np.array([0, 2])].rows(),
    "frame.filter(mask)": lambda: f().filter(x() > 2).rows(),
    "series.is_in(x)": lambda: s().is_in(x()).to_list(),
    "series.scatter(k, x)": lambda: s().scatter(np.array([0, 1]), np.array([9.0, 8.0])).to_list(),
    "pl.lit(x)": lambda: pl.select(pl.lit(x())).rows(),
    "with_columns(series of x)": lambda: f().with_columns(pl.Series("c", x())).rows(),
    "with_columns(c=x)": lambda: f().with_columns(c=x()).rows(),
    "hstack": lambda: f().hstack([pl.Series("c", x())]).rows(),
    "series.search_sorted(x)": lambda: s().search_sorted(x()).to_list(),
    "series.to_numpy() + x": lambda: s().to_numpy() + x(),
    "np.asarray(series)": lambda: np.asarray(s()),
}

if __name__ == "__main__":
    main(LINES)
