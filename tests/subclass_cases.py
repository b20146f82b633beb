"""Expressions with arrays of NumPy's subclasses, `N` being numpy and `m` numpy or lazynp: each gives the same twice."""

# What is used in more than one of them. `masked`, `matrix`, `record`: arrays of m.
MADE = """
def masked(*values, mask=(0, 1, 0), dtype=float, **more):
    return m.ma.array(values or (1, 2, 3), mask=mask, dtype=dtype, **more)
def theirs(*values, mask=(0, 1, 0), dtype=float, **more):
    return N.ma.array(values or (1, 2, 3), mask=mask, dtype=dtype, **more)
def matrix(values=((1, 2), (3, 4.0))):
    return m.asmatrix(m.array(values))
def record():
    return m.rec.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i4"), ("b", "f4")])
def pair():
    return m.ma.array([(1, 2)], mask=[(0, 1)], dtype=[("a", "i4"), ("b", "i4")])
def after(x, *steps):
    for step in steps:
        step(x)
    return x
def mapped():
    made = m.memmap(path("map"), "f8", "w+", shape=(3,))
    made[:] = [1, 2, 3]
    return made
"""

# Ours, given to NumPy and its functions.
TO_NUMPY = """
N.asanyarray(masked())
N.asanyarray(masked()).mask
N.asanyarray(masked(fill_value=7)).fill_value
N.asanyarray(masked(mask=False)).mask
N.asanyarray(masked(), dtype="f4")
N.asanyarray(pair())
N.asanyarray(pair())[0]
N.asanyarray(pair()[0])
N.asanyarray(m.ma.masked)
N.asanyarray(m.ma.masked) is N.ma.masked
N.asanyarray(m.ma.array(5, mask=True))
N.asanyarray(masked().T.reshape(3, 1))
N.asanyarray(masked()[::-1])
N.asarray(masked())
type(N.asarray(masked())) is N.ndarray
type(N.asanyarray(masked())) is N.ma.MaskedArray
type(N.asanyarray(matrix())) is N.matrix
type(N.asanyarray(record())) is N.recarray
type(N.asanyarray(record())[0]) is N.record
type(N.asanyarray(m.char.array(["a"]))) is N.char.chararray
type(N.asanyarray(mapped())) is N.memmap
N.asanyarray(mapped()).mode
after(mapped(), lambda x: N.asanyarray(x).__setitem__(0, 9), lambda x: x.flush()) + N.fromfile(path("map"))
N.asanyarray(matrix()) * N.asanyarray(matrix())
N.asanyarray(record()).a
N.asanyarray(m.char.array(["a", "b"])).upper()
type(N.asanyarray(importlib.import_module(m.__name__ + ".ma.mrecords").fromarrays([m.arange(2)], names="a"))).__name__
N.array(masked(), subok=True)
N.array(masked(), subok=True, dtype="f4", copy=True)
N.array(masked(), subok=True, copy=False)
N.array(masked())
N.array(matrix(), subok=True, ndmin=3)
N.array([masked(), masked()])
N.copy(masked())
N.copy(masked(), subok=True)
N.require(masked(), requirements="C")
after(masked(), lambda x: N.asanyarray(x).__setitem__(0, 9))
after(masked(), lambda x: N.asanyarray(x).__setitem__(1, 9))
after(masked(), lambda x: N.asanyarray(x).__setitem__(0, N.ma.masked))
after(masked(), lambda x: N.asanyarray(x).mask.__setitem__(0, True))
after(N.array([1, 2, 3]), lambda x: x.__setitem__(slice(None), masked()))
after(theirs(), lambda x: x.__setitem__(slice(None), masked(5, 6, 7)))
after(theirs(), lambda x: x.__setitem__(0, m.ma.masked))
N.ma.asarray(masked())
N.ma.asanyarray(masked()).mask
N.ma.masked_array(masked())
N.ma.array(masked(), mask=[1, 0, 0])
N.ma.array(masked(), mask=[1, 0, 0], keep_mask=False)
N.ma.array(masked(fill_value=7)).fill_value
N.ma.array([masked(), masked()])
N.ma.getmask(masked())
N.ma.getmaskarray(masked())
N.ma.getdata(masked())
N.ma.is_masked(masked())
N.ma.filled(masked(), 9)
N.ma.compressed(masked())
N.ma.count(masked())
N.ma.sum(masked())
N.ma.mean(masked())
N.ma.var(masked())
N.ma.median(masked())
N.ma.average(masked())
N.ma.max(masked(mask=(0, 0, 1)))
N.ma.argmax(masked(mask=(0, 0, 1)))
N.ma.sort(masked(3, 1, 2))
N.ma.argsort(masked(3, 1, 2))
N.ma.cumsum(masked())
N.ma.concatenate([masked(), theirs()])
N.ma.vstack([masked(), masked()])
N.ma.stack([masked(), masked()])
N.ma.where(masked() > 1, 1, 0)
N.ma.log(masked(1, 0, -1, mask=(1, 0, 0)))
N.ma.sqrt(masked(1, 0, -1, mask=(1, 0, 0)))
N.ma.add(masked(), 1)
N.ma.add(theirs(mask=(1, 0, 0)), masked())
N.ma.divide(masked(), 0)
N.ma.power(masked(), 2)
N.ma.dot(masked(), [1, 2, 3])
N.ma.outer(masked(), masked())
N.ma.cov(masked())
N.ma.corrcoef(masked(), masked(3, 2, 2))
N.ma.polyfit([0, 1, 2], masked(mask=(0, 0, 1)), 1)
N.ma.allclose(masked(), [1, 9, 3])
N.ma.ones_like(masked())
N.ma.resize(masked(), (6,))
N.ma.fix_invalid(masked(1, float("nan"), 3, mask=(1, 0, 0)))
N.ma.masked_invalid(masked(1, 2, float("inf")))
N.ma.masked_where(m.array([True, False, False]), masked())
N.ma.masked_equal(masked(), 1)
N.ma.masked_greater(masked(), 2)
N.ma.clump_unmasked(masked())
N.ma.notmasked_edges(masked())
N.ma.compress_rowcols(masked().reshape(1, 3))
N.ma.apply_along_axis(N.sum, 0, masked())
N.ma.unique(masked())
N.sum(masked())
N.mean(masked())
N.median(masked())
N.max(masked(mask=(0, 0, 1)))
N.std(masked())
N.average(masked())
N.argmax(masked(mask=(0, 0, 1)))
N.sort(masked(3, 1, 2))
N.cumsum(masked())
N.diff(masked())
N.clip(masked(), 1, 2)
N.round(masked(1.26, 2, 3), 1)
N.transpose(masked().reshape(1, 3))
N.ravel(masked().reshape(1, 3))
N.squeeze(masked().reshape(1, 3))
N.atleast_2d(masked())
N.ones_like(masked())
N.full_like(matrix(), 3)
N.broadcast_arrays(masked(), 1, subok=True)
N.where(masked() > 1, 1, 0)
N.add(masked(), 1)
N.add(1, masked())
N.add(N.array([1, 2, 3]), masked())
N.sqrt(masked())
N.isnan(masked())
N.array([1, 2, 3]) + masked()
N.array([1, 2, 3]) * masked()
N.array([1, 2, 3]) < masked()
N.float64(3) * masked()
N.float64(3) * matrix()
N.array([[1, 2]]) * matrix()
theirs(mask=(1, 0, 0)) + masked()
theirs(mask=(1, 0, 0)) * masked()
theirs() + m.array([1, 2, 3])
N.asmatrix([[1, 2]]) * matrix()
N.asmatrix([[1, 2]]) * m.array([[1], [2]])
N.dot(matrix(), matrix())
N.linalg.inv(matrix())
N.sum(matrix(), axis=0)
N.matrix(matrix())
N.rec.array(record())
N.vectorize(lambda x: x + 1)(masked())
N.apply_along_axis(N.sum, 0, masked())
N.histogram(masked())
N.unique(masked())
N.allclose(masked(), theirs())
N.testing.assert_array_equal(masked(), theirs(1, 9, 3))
N.savetxt(path("text"), masked()) or open(path("text")).read()
N.nditer(masked())[0]
N.result_type(masked(), 1)
N.arange(3)[masked(1, 0, 1, dtype=bool)]
after(m.zeros(3), lambda z: N.arange(6.0).reshape(2, 3).mean(0, out=z))
after(m.zeros(3), lambda z: N.arange(6.0).reshape(2, 3).std(0, out=z))
after(m.zeros(3), lambda z: N.arange(6.0).reshape(2, 3).var(axis=0, out=z, ddof=1))
after(m.zeros(3), lambda z: N.arange(6.0).reshape(2, 3).sum(0, out=z))
after(m.zeros(3), lambda z: N.arange(6.0).reshape(2, 3).max(0, out=z))
after(m.zeros(()), lambda z: N.arange(6.0).mean(out=z))
N.arange(9).reshape(m.array([3, 3]))
N.ones(m.array([2, 3])).shape
memoryview(masked()).tolist()
memoryview(matrix()).tolist()
memoryview(mapped()).tolist()
bytes(matrix())
bytearray(mapped())
pickle.loads(pickle.dumps(masked())).mask
pickle.loads(pickle.dumps(masked(fill_value=7, hard_mask=True))).fill_value
pickle.loads(pickle.dumps(pair())).mask
pickle.loads(pickle.dumps(m.ma.masked)) is m.ma.masked
[pickle.loads(pickle.dumps(matrix(), p)) for p in range(6)]
[pickle.loads(pickle.dumps(masked(), p)) for p in range(6)]
[pickle.loads(pickle.dumps(record(), p)) for p in range(6)]
pickle.loads(pickle.dumps(m.char.array(["a", "b"])))
copy.deepcopy(masked())
copy.copy(matrix())
copy.deepcopy(m.ma.masked) is m.ma.masked
matrix().__array_interface__["shape"]
masked().__array_interface__["typestr"]
masked().__class__.__module__.replace("lazynp", "numpy")
type(masked()).__name__
masked().baseclass.__name__
"""

# NumPy's, given to our functions; what libraries return, netCDF4's masked arrays or SciPy's matrices.
FROM_NUMPY = """
m.asanyarray(theirs())
m.asanyarray(N.ma.masked) is m.ma.masked
m.asanyarray(N.asmatrix([[1, 2]]))
m.asanyarray(N.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])).b
m.asanyarray(N.char.array(["a"])).upper()
m.asarray(theirs())
m.array(theirs())
m.array(theirs(), subok=True)
m.array(theirs(), subok=True, dtype="f4")
m.array([theirs(), theirs()])
m.asmatrix(N.asmatrix([[1, 2]]))
m.matrix(N.asmatrix([[1, 2]]))
m.bmat([[N.asmatrix([[1, 2]])], [N.asmatrix([[1, 2]])]])
m.copy(theirs())
m.copy(theirs(), subok=True)
m.ones_like(theirs())
m.ma.asarray(theirs())
m.ma.asanyarray(theirs())
m.ma.array(theirs(fill_value=7)).fill_value
m.ma.array(theirs())
m.ma.masked_array(theirs(), mask=[1, 0, 0])
m.ma.array([theirs(), theirs()])
m.ma.getmask(theirs())
m.ma.getdata(theirs())
m.ma.is_masked(theirs())
m.ma.isMaskedArray(theirs())
isinstance(theirs(), m.ma.MaskedArray)
isinstance(N.asmatrix([[1]]), m.matrix)
isinstance(N.asmatrix([[1]]), m.ma.MaskedArray)
isinstance(N.array([1]), m.ma.MaskedArray)
isinstance(N.array([1]), m.ndarray)
isinstance(theirs(), m.ndarray)
isinstance(N.rec.array([(1,)], dtype=[("a", "i4")]), m.recarray)
m.ma.filled(theirs(), 9)
m.ma.compressed(theirs())
m.ma.sum(theirs())
m.ma.mean(theirs())
m.ma.median(theirs())
m.ma.sort(theirs(3, 1, 2))
m.ma.concatenate([theirs(), masked()])
m.ma.masked_invalid(theirs(1, 2, float("inf")))
m.ma.masked_where(N.array([True, False, False]), theirs())
m.ma.add(theirs(), 1)
m.ma.log(theirs(1, 0, 2))
m.ma.log(theirs(1, 0, 2)).mask
m.ma.where(theirs() > 1, 1, 0)
m.ma.allclose(theirs(), [1, 9, 3])
m.sum(theirs())
m.mean(theirs())
m.max(theirs())
m.std(theirs())
m.median(theirs())
m.sort(theirs(3, 1, 2))
m.sqrt(theirs())
m.add(theirs(), 1)
m.add(theirs(), m.array([1, 2, 3]))
m.isnan(theirs())
m.where(theirs() > 1, 1, 0)
m.concatenate([theirs(), theirs()])
m.multiply.outer(theirs(), [1, 2])
m.add.reduce(theirs())
m.array([1, 2, 3]) + theirs()
m.array([1, 2, 3]) - theirs()
m.array([1, 2, 3]) / theirs(1, 2, 0)
m.array([1, 2, 3]) ** theirs()
m.array([1, 2, 3]) < theirs()
m.array([1, 2, 3]) == theirs()
theirs() + m.array([1, 2, 3])
theirs() < m.array([1, 9, 9])
m.array([1, 2, 3]) + N.ma.masked
m.array([1, 2, 3]) - N.ma.masked
N.ma.masked + m.array([1, 2, 3])
masked(mask=(1, 0, 0)) + theirs()
masked(mask=(1, 0, 0)) * theirs()
masked(mask=(1, 0, 0)) == theirs()
matrix() * N.asmatrix([[1], [2]])
m.array([[1, 2], [3, 4]]) * N.asmatrix([[1], [2]])
m.array([[1, 2], [3, 4]]) @ N.asmatrix([[1], [2]])
N.asmatrix([[1, 2]]) @ m.array([[1], [2]])
m.dot(N.asmatrix([[1, 2]]), m.array([[1], [2]]))
m.linalg.inv(N.asmatrix([[1, 2], [3, 4.0]]))
m.array([1, 2, 3]).view(N.ma.MaskedArray)
m.array([1, 2, 3]).view(N.ndarray)
m.array([[1, 2]]).view(N.matrix) * 2
m.array([1, 2, 3]).view("i4", N.ma.MaskedArray).shape
after(masked(), lambda x: x.__setitem__(0, N.ma.masked))
after(masked(), lambda x: x.__setitem__(slice(None), theirs(5, 6, 7)))
after(m.array([1.0, 2, 3]), lambda x: x.__setitem__(slice(None), theirs(5, 6, 7)))
after(m.array([1.0, 2, 3]), lambda x: x.__iadd__(theirs()))
m.arange(3)[theirs(1, 0, 1, dtype=bool)]
m.vectorize(lambda x: x + 1)(theirs())
m.clip(theirs(), 1, 2)
m.reshape(theirs(), (3, 1))
m.testing.assert_array_equal(theirs(), masked(1, 9, 3))
m.ma.array([1, 2], mask=N.ma.nomask)
N.ma.nomask is m.ma.nomask
after(theirs(), lambda x: m.asanyarray(x).__setitem__(0, 9))
after(theirs(), lambda x: m.asanyarray(x).__setitem__(0, m.ma.masked))
"""

# Ours, in the hands of libraries.
LIBRARIES = """
matplotlib.colors.Normalize()(masked())
matplotlib.colors.LogNorm()(masked())
matplotlib.cm.ScalarMappable(cmap="viridis").to_rgba(masked())
matplotlib.colors.ListedColormap(["r", "g"])(masked(0, 1, 1, dtype=int))
matplotlib.cbook.safe_masked_invalid(masked())
matplotlib.cbook.delete_masked_points(masked(), m.arange(3.0))
scipy.stats.mstats.gmean(masked())
scipy.stats.mstats.linregress(masked(1, 2, 3, 7, mask=(0, 1, 0, 0)), m.arange(4.0)).slope
scipy.stats.trim_mean(masked(), 0.1)
scipy.ndimage.label(masked(1, 0, 3, dtype=int))
scipy.sparse.csr_matrix(matrix()).todense() * m.array([[1], [2]])
scipy.linalg.inv(matrix())
m.array([[1, 2], [3, 4]]) * scipy.sparse.csr_matrix(matrix()).todense()
scipy.sparse.csr_matrix(matrix()) * matrix()
pandas.Series(masked()).tolist()
pandas.DataFrame(masked().reshape(1, 3)).values
pandas.DataFrame({"a": masked()}).to_dict()
"""
