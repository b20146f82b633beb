"""xarray, numexpr, bottleneck."""

import os
import tempfile

import bottleneck as bn
import numexpr as ne
import numpy as np
import pandas as pd
import xarray as xr
from describe import main

KEPT = tempfile.TemporaryDirectory()
FOLDER = KEPT.name


def x():
    return np.linspace(0.1, 3, 12)


def a():
    return x().reshape(3, 4)


def da():
    return xr.DataArray(a(), dims=("t", "x"), coords={"t": np.arange(3), "x": np.array(list("abcd"))})


def stored():
    name = os.path.join(FOLDER, "a.nc")
    xr.Dataset({"a": da()}).to_netcdf(name, engine="netcdf4")
    with xr.open_dataset(name) as found:
        return found.load()["a"].values


def expression():
    u, v = x(), x() * 2
    return ne.evaluate("u * v + 1"), ne.evaluate("sum(u)"), ne.re_evaluate(), u is not v


def queried():
    limit, f = x()[3], pd.DataFrame({"a": x(), "b": x()[::-1].copy()})
    return f.query("a > @limit"), f.eval("a + b"), pd.eval("limit * 2")


LINES = {
    "pandas: query, eval": queried,
    "xarray: reductions": lambda: (da().sum("t").values, da().mean().item()),
    "xarray: to_netcdf": stored,
    "xarray: sel, isel": lambda: (da().sel(t=np.array([0, 2])).values, da().isel(x=np.array([1, 3])).values),
    "xarray: where": lambda: da().where(da() > 1).values,
    "xarray: groupby, rolling": lambda: (da().groupby("t").max().values, da().rolling(t=2).mean().values),
    "xarray: interp": lambda: da().interp(t=np.array([0.5, 1.5])).values,
    "xarray: apply_ufunc": lambda: xr.apply_ufunc(np.sqrt, da()).values,
    "xarray: chunk": lambda: (da().chunk({"t": 1}) + 1).compute().values,
    "xarray: to_dataframe": lambda: da().to_dataframe("v").to_numpy(),
    "xarray: x * DataArray": lambda: (a() * da()).values,
    "numexpr: evaluate": expression,
    "numexpr: into out": lambda: (lambda out: (ne.evaluate("u + 1", {"u": x()}, out=out), out)[1])(np.zeros(12)),
    "bottleneck: nanmean, move_mean": lambda: (bn.nanmean(x()), bn.move_mean(x(), 3), bn.nansum(a(), axis=0)),
    "bottleneck: replace in place": lambda: (lambda v: (bn.replace(v, 3.0, 7.0), v)[1])(x()),
    "bottleneck: rankdata, median": lambda: (bn.rankdata(x()), bn.median(a(), axis=1), bn.argpartition(x(), 3)[:3]),
}

if __name__ == "__main__":
    main(LINES)
