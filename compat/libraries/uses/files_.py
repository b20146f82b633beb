"""h5py and netCDF4."""

import os
import tempfile

import h5py
import netCDF4
import numpy as np
from describe import main

KEPT = tempfile.TemporaryDirectory()
FOLDER = KEPT.name
N = iter(range(1000))


def path(suffix):
    return os.path.join(FOLDER, f"{next(N)}{suffix}")


def x():
    return np.arange(12.0).reshape(3, 4)


def in_h5(use):
    def line():
        with h5py.File(path(".h5"), "w") as f:
            f["a"] = np.zeros((3, 4))
            return use(f)

    return line


def read_direct(f):
    f["a"][...] = x()
    out, part = np.empty((3, 4)), np.zeros(4)
    f["a"].read_direct(out)
    f["a"].read_direct(part, np.s_[1, :2], np.s_[2:])
    return out, part


def write_direct(f):
    f["a"].write_direct(x())
    return f["a"][()]


def h5_index(f):
    f["a"][...] = x()
    return f["a"][np.array([0, 2])], f["a"][x() > 4], f["a"][:, np.array([True, False, True, False])]


def h5_attributes(f):
    f.attrs["x"] = x()
    f["a"].attrs.create("y", x()[0])
    return f.attrs["x"], f["a"].attrs["y"]


def h5_create(f):
    f.create_dataset("b", data=x(), compression="gzip", chunks=(1, 4))
    f.require_dataset("c", (3, 4), "f4")[:, 1] = x()[:, 0]
    f["a"][1] += x()[1]
    return f["b"][()], f["c"][()], f["a"][()]


def h5_text(f):
    f["t"] = np.array([b"ab", b"cde"])
    return f["t"][()]


def in_nc(use):
    def line():
        with netCDF4.Dataset(path(".nc"), "w") as f:
            f.createDimension("y", 3), f.createDimension("x", 4)
            return use(f, f.createVariable("v", "f8", ("y", "x"), fill_value=-1.0))

    return line


def nc_write(f, v):
    v[:] = x()
    v[0] = x()[1]
    return v[:]


def nc_part(f, v):
    v[:] = 0
    v[np.array([0, 2]), 1:3] = x()[:2, :2]
    return v[:], v[np.array([0, 2])], v[:, x()[0] > 1]


def nc_masked(f, v):
    v[:] = np.ma.masked_greater(x(), 5)
    return v[:]


def nc_attribute(f, v):
    v.levels = x()[0]
    f.setncattr("n", np.arange(3))
    return v.levels, f.getncattr("n")


LINES = {
    "h5py: write_direct": in_h5(write_direct),
    "h5py: read_direct": in_h5(read_direct),
    "h5py: dataset[k], [mask]": in_h5(h5_index),
    "h5py: attributes": in_h5(h5_attributes),
    "h5py: create_dataset(data=x)": in_h5(h5_create),
    "h5py: strings": in_h5(h5_text),
    "netCDF4: variable[:] = x": in_nc(nc_write),
    "netCDF4: parts by index": in_nc(nc_part),
    "netCDF4: masked": in_nc(nc_masked),
    "netCDF4: attributes": in_nc(nc_attribute),
}

if __name__ == "__main__":
    main(LINES)
