"""dask."""

import dask
import dask.array as da
import numpy as np
from describe import main


def x():
    return np.arange(12.0).reshape(3, 4)


def d():
    return da.arange(12.0, chunks=5).reshape(3, 4)


LINES = {
    "da.from_array(x)": lambda: da.from_array(x(), chunks=2),
    "da.from_array(x).sum()": lambda: da.from_array(x(), chunks=2).sum(axis=0),
    "da.asarray(x) @ x": lambda: da.asarray(x()) @ x().T,
    "x * dask_array": lambda: x() * d(),
    "dask_array * x": lambda: d() * x(),
    "np.ones(4) * dask_array": lambda: np.ones(4) * d(),
    "dask_array[k]": lambda: d()[np.array([0, 2])],
    "dask_array[mask]": lambda: d()[x() > 4],
    "np.sum(dask_array)": lambda: np.sum(d(), axis=1),
    "np.sin(dask_array)": lambda: np.sin(d()),
    "np.concatenate([dask, dask])": lambda: np.concatenate([d(), d()]),
    "da.concatenate([dask, x])": lambda: da.concatenate([d(), da.from_array(x(), chunks=2)]),
    "da.where(mask, x, dask_array)": lambda: da.where(x() > 4, x(), d()),
    "map_blocks(np.cumsum)": lambda: d().map_blocks(lambda b: np.cumsum(b, axis=1)),
    "map_blocks gives ours": lambda: d().map_blocks(lambda b: np.array(b) + 1),
    "da.percentile / std": lambda: da.from_array(x(), chunks=2).std(),
    "da.percentile(x)": lambda: da.percentile(da.from_array(x().ravel(), chunks=5), [50]),
    "da.from_array(masked)": lambda: da.from_array(np.ma.masked_greater(x(), 5), chunks=2).sum(),
    "dask_array[mask] = 0": lambda: (lambda a: (a.__setitem__(np.arange(12) > 4, 0), a)[1])(da.arange(12.0, chunks=5)),
    "dask_array.store(x)": lambda: (lambda out: (d().store(out), out)[1])(np.zeros((3, 4))),
    "da.tensordot(dask, x)": lambda: da.tensordot(d(), da.from_array(x().T, chunks=2), 1),
    "delayed(np.sum)(x)": lambda: dask.delayed(np.sum)(x()).compute(),
    "da.from_delayed": lambda: da.from_delayed(dask.delayed(x)(), (3, 4), float) + 1,
    "tokens of equal arrays": lambda: dask.base.tokenize(x()) == dask.base.tokenize(x()),
    "np.asarray(dask_array)": lambda: np.asarray(d()) + x(),
}

if __name__ == "__main__":
    main(LINES)
