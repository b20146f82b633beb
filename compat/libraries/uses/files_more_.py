"""PyTables, zarr, imageio."""

import os
import tempfile

import imageio.v3 as iio
import numpy as np
import tables
import zarr
from describe import main

KEPT = tempfile.TemporaryDirectory()
FOLDER = KEPT.name
N = iter(range(1000))


def path(suffix):
    return os.path.join(FOLDER, f"{next(N)}{suffix}")


def x():
    return np.arange(12.0).reshape(3, 4)


def in_tables(use):
    def line():
        with tables.open_file(path(".h5"), "w") as f:
            return use(f)

    return line


def tb_array(f):
    a = f.create_array("/", "a", x())
    b = f.create_array(f.root, "b", obj=x()[0])
    a[1] = x()[0]
    return a.read(), b[:], a[1:]


def tb_extendable(f):
    c = f.create_carray("/", "c", obj=x())
    e = f.create_earray("/", "e", obj=x())
    e.append(x()[:1])
    v = f.create_vlarray("/", "v", tables.Float64Atom())
    v.append(x()[0])
    return c.read(), e.read(), v.read()


def tb_table(f):
    rows = np.array([(1, 2.0), (3, 4.0)], [("a", "i4"), ("b", "f8")])
    t = f.create_table("/", "t", obj=rows)
    t.append(rows)
    return t.read()["b"], t.read_where("a > 1")["b"], t.col("a")


def tb_attribute(f):
    f.root._v_attrs.x = x()
    return f.root._v_attrs.x


def zarr_array():
    z = zarr.create_array(store=path(".zarr"), shape=(3, 4), chunks=(2, 2), dtype="f8")
    z[:] = x()
    z[1, :] = x()[0]
    return z[:], z.oindex[np.array([0, 2])], z.vindex[np.array([0, 1]), np.array([1, 1])]


def image():
    name = path(".png")
    iio.imwrite(name, np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
    return iio.imread(name)


LINES = {
    "tables: create_array": in_tables(tb_array),
    "tables: carray, earray, vlarray": in_tables(tb_extendable),
    "tables: table": in_tables(tb_table),
    "tables: attributes": in_tables(tb_attribute),
    "zarr: array": zarr_array,
    "zarr: zarr.array(x)": lambda: zarr.array(x())[:],
    "imageio: imwrite, imread": image,
}

if __name__ == "__main__":
    main(LINES)
