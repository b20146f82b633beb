"""Programs for `test_snippets`, one a paragraph: `np` is NumPy or lazynp, `log(...)` logs, `e(f)` what f raises."""

SNIPPETS = r"""
# resize keeps the flag of an array that must not be written
for make in (lambda: np.zeros(3).imag, lambda: np.arange(3.0)):
    for n in (3, 5, 2, 0):
        y = make()
        y.resize(n, refcheck=False)
        log(y.flags.writeable, y.flags.owndata, y.shape)
        e(y.__setitem__, ..., 4)
        log(y[:3])
x = np.arange(4.0)
x.flags.writeable = False
x.resize(6, refcheck=False)
e(x.__iadd__, 1)
e(x.setflags, True)
x.resize(2, refcheck=False)
log(x)

# a read-only view of a writeable base follows it
a = np.arange(6.0)
v = a[::2]
v.flags.writeable = False
a += 1
log(v, v.flags.writeable)
e(v.__setitem__, 0, 1)
w = v[1:]
log(w.flags.writeable)
e(w.setflags, True)
v.flags.writeable = True
v[0] = 9
log(a, w)

# broadcast views and writes through them
a = np.arange(3.0)
b = np.broadcast_to(a, (2, 3))
a[1] = 7
log(b, b.strides, b.flags.writeable, b.base is None)
e(b.__setitem__, 0, 1)
log(b.copy().strides, b.ravel(), b.T.ravel(), (b + 1).flags.c_contiguous)
x, y = np.broadcast_arrays(a, np.ones((2, 1)))
log(x, y, x.shape)

# a structured array's fields are views
r = np.zeros(3, [("a", "i4"), ("b", "f8", (2,))])
r["a"] = [1, 2, 3]
f = r["b"]
f[1] = 5
r[0] = (7, (1, 2))
log(r, f, r[["b", "a"]], r["b"][:, 1].strides, r[0].item())
e(r.__getitem__, "c")
r[["a"]] = np.array([(9,)] * 3, [("z", "i4")])
log(r, r == r, r.dtype.names)

# views of another dtype
a = np.arange(4, dtype="<i4")
b = a.view("u1")
b[0] = 255
log(a, b[:5], a.view("<i2"), a.view(">i4"))
e(a[::2].view, "i8")
e(a[1:].view, "i8")
log(a.reshape(2, 2).view("i8"), a.view([("x", "i4")])["x"])
c = np.ones((2, 3), "f4").T
e(c.view, "f8")
log(c.view("i4").strides)

# arrays beside Python's texts
s = np.zeros(2, [("a", "i4"), ("b", "U2")])
for x in (np.array(["a", "b", ""]), np.array([b"a", b"b"]), np.arange(3), np.array(["a", None], "O"), np.array("a"),
    np.array(["2020", "2021"], "M8[Y]"), np.array(["ab", "a"]).T[::-1], np.ones((2, 0)), np.zeros(3, "?"), s):
    for t in ("a", b"a", "", "2020", "\0"):
        e(lambda: (x == t, x != t, t == x))
        e(lambda: x < t)
        e(lambda: t >= x)
e(np.array(["a"]).__eq__, "a")
e(np.arange(2).__lt__, "a")

# repeated indices in writes
a = np.zeros(4)
a[[0, 0, 1]] += 1
np.add.at(a, [2, 2], 1)
a[[3, 3]] = [5, 6]
log(a)
m = np.zeros((2, 2))
m[[0, 0], [1, 1]] -= 3
m[:, [1, 1, 0]] = [[1, 2, 3], [4, 5, 6]]
log(m)
e(a.__setitem__, [0, 1], [1, 2, 3])
e(a.__setitem__, [9], 1)
e(a.__getitem__, [0.5])

# masks of the wrong shape
a = np.arange(6.0).reshape(2, 3)
e(a.__getitem__, np.array([True, False, True]))
e(a.__getitem__, np.ones((3, 2), bool))
e(a.__setitem__, a > 2, [1, 2])
e(a.__setitem__, np.ones((2, 3), bool), np.ones((2, 3)))
log(a[:, np.array([True, False, True])], a[np.array([False, True])], a[True].shape, a[False].shape)
a[a > 2] = np.array(8)
a[:, [True, False, True]] = -1
log(a)

# overlapping writes
a = np.arange(8)
a[1:] = a[:-1]
log(a)
a[:-1] += a[1:]
a[::-1][:3] = a[:3]
log(a)
b = np.arange(9).reshape(3, 3)
b += b.T
b[:2] = b[1:]
b[:, 1:] = b[:, :-1]
log(b)
np.multiply(a[:-2], 2, out=a[2:])
log(a)

# assignments between dtypes
for d in ("?", "i1", "u2", "i8", "f2", "f4", "c8", "U3", "S2", "M8[D]", "m8[s]", "O"):
    x = np.zeros(2, d)
    for v in (1, -1, 2.5, True, 1 + 2j, "7", b"3", None, [1, 2], np.float32(3), np.array([300, 4])):
        e(lambda: (x.__setitem__(slice(None), v), x)[1])

# arithmetic in place keeps the dtype or says why not
for d in ("?", "i1", "u1", "i8", "f2", "f4", "f8", "c8", "M8[s]", "m8[s]", "O", "U2"):
    for op in ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__ipow__", "__iand__",
        "__ilshift__", "__imatmul__"):
        x = np.array([1, 2], "i8").astype(d)
        for v in (2, 2.5, True, np.int64(3), np.array([1, 2], "u1"), 1j):
            if (d, op) != ("U2", "__imul__") or np.__version__ >= "2.3":  # NumPy 2.2 writes beyond the array's end
                e(lambda: getattr(x, op)(v))

# comparisons of what cannot be compared
a = np.arange(3)
for v in ("a", None, "1", [1, 2, 3], [1, 2], {}, object, b"a", 2**70, -(2**70), 1e400, np.datetime64("2020")):
    for op in ("__eq__", "__ne__", "__lt__"):
        e(lambda: repr(getattr(a, op)(v)))
        e(lambda: repr(getattr(a.astype("u1"), op)(v)))

# zero-dimensional arrays
z = np.array(5.0)
v = z[...]
v[()] = 7
log(z, z[()], type(z[()]).__name__, z[None], z.T, z.ravel(), z.reshape(1, 1), +z, z + 1, type(z + 1).__name__)
z += 1
log(z, v, z.item(), z.tolist(), z.shape, z.strides, z.flags.owndata, v.base is z)
e(z.__getitem__, 0)
e(len, z)
e(iter, z)
e(z.__setitem__, 0, 1)
log(z[np.newaxis, ...].shape, z[True], z[False], z[np.array(True)], np.add(z, 1, out=z), z)

# empty arrays
a = np.empty((0, 3))
log(a.sum(), a.sum(0), a.sum(1), a.prod(0), a.any(), a.all(), a.mean(1), a.T.shape, a.ravel(), a + np.ones(3),
    a @ np.ones((3, 2)))
e(a.max)
e(a.argmin)
e(a.max, 0)
e(a.max, 1)
e(a.__getitem__, 0)
log(a.max(initial=2.0), np.concatenate([a, a]).shape, a[:, :0].shape, a.reshape(3, 0).shape, a.reshape(-1, 3).shape)
e(a.reshape, (-1, 0))
a[...] = 5
a[:, 0] += 1
log(np.median(np.ones(0)), np.cumsum(a), np.sort(a, 0).shape, np.unique(a), np.where(a > 1))

# reshape, ravel and copies: views or not
a = np.arange(12).reshape(3, 4)
for f in (lambda x: x.reshape(4, 3), lambda x: x.T.reshape(12), lambda x: x[:, ::2].reshape(-1),
    lambda x: x.ravel("F"), lambda x: x.T.ravel("F"),
          lambda x: x.ravel("K"), lambda x: x[::-1].ravel("K"), lambda x: x.flatten(), lambda x: x.squeeze(),
          lambda x: x[:, None].squeeze(1),
          lambda x: x.swapaxes(0, 1), lambda x: np.moveaxis(x, 0, 1), lambda x: np.rot90(x),
          lambda x: np.flip(x), lambda x: np.roll(x, 1), lambda x: x.repeat(1),
          lambda x: x.diagonal(), lambda x: np.diag(x[:3, :3]), lambda x: np.asarray(x),
          lambda x: np.array(x, copy=False), lambda x: x.astype(int), lambda x: x.astype(int, copy=False),
          lambda x: np.ascontiguousarray(x), lambda x: np.asfortranarray(x),
          lambda x: np.require(x, requirements="F"), lambda x: np.atleast_3d(x), lambda x: np.expand_dims(x, 1),
          lambda x: np.split(x, 2, 1)[1], lambda x: x[[0, 1]], lambda x: x[x > 3], lambda x: x.take([1]),
          lambda x: x.real, lambda x: x.imag, lambda x: x.view(), lambda x: x.byteswap(),
          lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 1),
          lambda x: np.ndarray.__getitem__(x, ...), lambda x: np.squeeze(x[None]), lambda x: x.T[1:].T,
          lambda x: np.nditer(x).operands[0], lambda x: np.copy(x, order="K")):
    b = a.copy()
    try:
        y = f(b)
        log(np.shares_memory(b, y), y.flags.owndata, y.flags.c_contiguous, y.flags.f_contiguous, y.strides,
            y.flags.writeable, y.shape)
        y[...] = -1
        log(b)
    except Exception as error:
        log(type(error).__name__, str(error))

# errors of functions keep NumPy's words
for f in (lambda: np.zeros((2, 3)) + np.zeros((3, 2)), lambda: np.zeros((2, 3)) @ np.zeros((2, 3)),
    lambda: np.concatenate([np.zeros((2, 3)), np.zeros((3, 2))]),
          lambda: np.zeros(3).reshape(2), lambda: np.zeros(3)[1, 2], lambda: np.zeros(3)[5],
          lambda: np.zeros((2, 2))[:, 4], lambda: np.zeros(3).sum(1), lambda: np.zeros(3).transpose(1, 0),
          lambda: np.stack([np.zeros(2), np.zeros(3)]), lambda: np.linalg.inv(np.zeros((2, 2))),
          lambda: np.linalg.inv(np.zeros((2, 3))), lambda: np.linalg.cholesky(-np.eye(2)),
          lambda: np.arange(3).astype("q9"),
          lambda: np.zeros(-1), lambda: np.arange(0, 1, 0), lambda: np.linspace(0, 1, -1),
          lambda: np.full((2,), [1, 2, 3]), lambda: np.where([True], [1, 2, 3], [1, 2]),
          lambda: np.einsum("ij,jk", np.eye(2), np.ones(3)),
          lambda: np.dot(np.ones(3), np.ones(2)), lambda: np.cross(np.ones(4), np.ones(4)),
          lambda: np.interp(1, [1, 2], [1]), lambda: np.clip(np.ones(2)), lambda: np.array([[1, 2], [3]]),
          lambda: np.array([1, 2], ndmin=99),
          lambda: np.broadcast_to(np.ones(3), (2, 2)), lambda: np.moveaxis(np.ones((2, 2)), 5, 0),
          lambda: np.take(np.ones(3), 7), lambda: np.put(np.ones(3), 9, 1), lambda: np.choose([5], [[1]]),
          lambda: np.repeat([1, 2], [1, 2, 3]),
          lambda: np.split(np.ones(5), 2), lambda: np.percentile([1, 2], 101), lambda: np.bincount([-1]),
          lambda: np.searchsorted(np.eye(2), 1), lambda: np.histogram([1], bins=-1),
          lambda: np.unravel_index(9, (2, 2)),
          lambda: np.ravel_multi_index((3, 3), (2, 2)), lambda: np.fromstring("a", sep=" "),
          lambda: np.frombuffer(b"abc", "i4"), lambda: np.load("/nowhere"),
          lambda: np.random.default_rng(-1), lambda: np.random.default_rng(0).choice([], 1), lambda: np.float64("x"),
          lambda: np.int8(300), lambda: np.array([300]).astype("i1"), lambda: np.array([1], "i1") + 300,
          lambda: np.uint8(1) - 2, lambda: np.array(["a"]) + 1, lambda: np.array(["a"]) < 1,
          lambda: -np.array([True]), lambda: np.isnan(np.array(["a"])),
          lambda: np.sum(np.ones(2), axis="a"), lambda: np.ones(2).sum(axis=(0, 0)),
          lambda: np.ones(2).sum(foo=1), lambda: np.add(1), lambda: np.add(1, 2, 3, 4),
          lambda: np.add(np.ones(2), 1, out=np.ones(3)), lambda: np.add(np.ones(2), 1, out=np.ones(2, int)),
          lambda: np.exp(np.ones(2), dtype=int), lambda: np.left_shift(1.0, 2),
          lambda: np.add.reduce(np.ones((2, 2)), axis=(0, 1, 0)),
          lambda: np.subtract.reduce(np.ones((2, 2)), axis=(0, 1)), lambda: np.sort(np.ones(2), kind="z"),
          lambda: np.ones(2).argsort(3)):
    e(f)

# a subclass with a unit through views, ufuncs, reductions and functions
class U(np.ndarray):
    def __new__(cls, x, unit="m"):
        self = np.asarray(x, float).view(cls)
        self.unit = unit
        return self
    def __array_finalize__(self, obj):
        self.unit = getattr(obj, "unit", None)
        seen.append((type(self).__name__, type(obj).__name__, self.shape))
seen = []
x = U(np.arange(6.0).reshape(2, 3))
for f in (lambda: x[0], lambda: x.T, lambda: x + 1, lambda: 1 + x, lambda: x.sum(), lambda: x.sum(0),
    lambda: np.sqrt(x), lambda: x.copy(), lambda: x.astype(int), lambda: x.reshape(3, 2), lambda: x.ravel(),
          lambda: np.concatenate([x, x]), lambda: np.where(x > 1, x, 0), lambda: x[x > 2], lambda: x.mean(0),
          lambda: np.mean(x), lambda: np.sort(x), lambda: np.cumsum(x), lambda: x.view(np.ndarray),
          lambda: np.asarray(x), lambda: np.asanyarray(x),
          lambda: np.array(x), lambda: np.array(x, subok=True), lambda: np.zeros_like(x),
          lambda: np.full_like(x, 2), lambda: np.empty_like(x, subok=False).shape, lambda: np.dot(x, x.T),
          lambda: x @ x.T, lambda: np.outer(x, x).shape, lambda: np.add.outer(x[0], x[0]),
          lambda: np.add.reduce(x), lambda: np.add.accumulate(x), lambda: np.clip(x, 1, 2),
          lambda: x.clip(1, 2), lambda: np.round(x), lambda: x.round(), lambda: np.take(x, [0]),
          lambda: x.take([0]), lambda: np.repeat(x, 2), lambda: np.tile(x, 2),
          lambda: np.broadcast_to(x, (2, 2, 3)), lambda: np.broadcast_to(x, (2, 2, 3), subok=True),
          lambda: np.modf(x), lambda: np.divmod(x, 2), lambda: np.linalg.norm(x),
          lambda: np.linalg.inv(x[:, :2] + np.eye(2)), lambda: np.fft.fft(x), lambda: np.median(x, 0),
          lambda: np.std(x), lambda: np.argmax(x), lambda: np.unique(x), lambda: np.diff(x),
          lambda: np.flip(x), lambda: np.stack([x, x]), lambda: np.nan_to_num(x), lambda: np.einsum("ij->i", x),
          lambda: x[..., None], lambda: x[0, 0], lambda: x[()], lambda: x.item(1), lambda: x.flat[2],
          lambda: x.flat[1:3], lambda: x.diagonal(), lambda: x.squeeze(), lambda: x.swapaxes(0, 1),
          lambda: -x, lambda: abs(x), lambda: x == x, lambda: ~(x > 1), lambda: x.any(), lambda: x.all(0),
          lambda: x.max(1), lambda: x.ptp() if hasattr(x, "ptp") else 0):
    seen.clear()
    try:
        y = f()
        log(type(y).__name__, getattr(y, "unit", "-"), y)
    except Exception as error:
        log(type(error).__name__, str(error))

# an array with its own __array_ufunc__
class L(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        calls.append((ufunc.__name__, method, [type(i).__name__ for i in inputs], out is not None, sorted(kwargs)))
        args = [i.view(np.ndarray) if isinstance(i, L) else i for i in inputs]
        if out:
            kwargs["out"] = tuple(o.view(np.ndarray) if isinstance(o, L) else o for o in out)
        r = getattr(ufunc, method)(*args, **kwargs)
        return r.view(L) if isinstance(r, np.ndarray) and not out else out[0] if out else r
calls = []
x = np.arange(4.0).view(L)
y = np.ones(4)
for f in (lambda: x + y, lambda: y + x, lambda: x.sum(), lambda: np.sum(x, 0), lambda: x.mean(),
    lambda: x.__iadd__(1), lambda: y.__iadd__(x), lambda: np.add(x, 1, out=y), lambda: np.add(y, 1, out=x),
        lambda: np.add(y, 1, x), lambda: np.add.at(x, [0], 1), lambda: np.multiply.outer(x, y),
            lambda: x > 1, lambda: x @ x, lambda: np.clip(x, 0, 1), lambda: x.clip(0, 1), lambda: x.std(),
          lambda: np.max(x), lambda: np.prod(x, axis=0), lambda: x ** 2, lambda: 2 ** x,
          lambda: divmod(x, 2), lambda: np.modf(x), lambda: x.cumsum(), lambda: np.cumsum(x),
          lambda: x.any(), lambda: np.isclose(x, y), lambda: np.linalg.norm(x), lambda: abs(x),
          lambda: x.dot(y), lambda: np.where(x, 1, 2), lambda: np.add.reduceat(x, [0, 2]),
          lambda: np.sqrt(x, where=y > 0), lambda: x.conj(), lambda: np.exp(x, dtype="f4"),
          lambda: np.var(x, ddof=1), lambda: np.allclose(x, x)):
    calls.clear()
    try:
        r = f()
        log(type(r).__name__, r, list(calls))
    except Exception as error:
        log(type(error).__name__, str(error), list(calls))

# __array_function__, __array__, __array_priority__ of foreign classes
class F:
    def __array_function__(self, func, types, args, kwargs):
        return func.__name__, sorted(t.__name__ for t in types), len(args), sorted(kwargs)
for f in (np.sum, np.mean, np.sort, np.concatenate, np.dot, np.where, np.linalg.norm, np.fft.fft, np.reshape,
    np.zeros_like, np.clip, np.einsum):
    if f is not np.concatenate:
        e(f, F())
e(np.concatenate, [F(), np.ones(2)])
e(np.add, F(), 1)
class A:
    def __init__(self, x): self.x = x
    def __array__(self, dtype=None, copy=None): return np.asarray(self.x, dtype)
a = A([1.0, 2.0])
log(np.add(a, 1), np.sum(a), np.asarray(a), np.array([a, a]), np.ones(2) + a, np.concatenate([a, [3]]), np.dot(a,
    a), np.ones(2) == a)
class P:
    __array_priority__ = 100
    def __radd__(self, o): return "radd"
    def __rmul__(self, o): return "rmul"
    def __eq__(self, o): return "eq"
    def __rmatmul__(self, o): return "rmatmul"
log(np.ones(2) + P(), np.float64(1) * P(), np.ones(2) == P(), np.ones(2) @ P())
class N:
    __array_ufunc__ = None
    def __radd__(self, o): return type(o).__name__
log(np.ones(2) + N())
e(np.add, np.ones(2), N())
e(np.ones(2).__add__, N())
e(np.ones(2).__iadd__, N())

# masked arrays in place, with hard masks, shared masks and fill values
x = np.ma.array([1.0, 2, 3, 4], mask=[0, 1, 0, 0])
y = x[1:]
y[0] = 9
log(x, y, x.mask, y.mask)
x += 1
x[2] = np.ma.masked
log(x, x.data, x.sum(), x.mean(), x.count(), x.filled(0), x.compressed(), (x > 2), x.argmax(), x.max(), x.std())
h = np.ma.array([1, 2, 3], mask=[0, 1, 0], hard_mask=True)
h[:] = 7
log(h, h.data, h.soften_mask() is h)
e(x.__setitem__, 9, 1)
log(np.ma.masked_where(np.arange(3) > 1, np.arange(3)), np.ma.masked_invalid([1, np.nan]), np.ma.concatenate([x,
    x]), np.ma.dot(x, x), np.ma.median(x), x.T, x.reshape(2, 2), x[:, None] * x, np.sqrt(x), x / 0, 1 / x, x ** 2,
        x @ x)
log(x.view(np.ndarray), x.tolist(), x.fill_value, x.dtype, x.shape, repr(x[1]), x[0], x.astype(int), x.copy().mask,
    np.ma.getmaskarray(x[0]), x.nonzero(), x.sort(), x, x.argsort())
x.mask = False
log(x, x.mask)
x.harden_mask()
x[0] = np.ma.masked
x[0] = 3
log(x, x.sharedmask, x.unshare_mask().mask)

# matrices
import warnings
m = np.matrix([[1, 2], [3, 4]])
log(m * m, m ** 2, m[0], m[:, 0], m.T, m.A1, m.I, m.sum(), m.sum(0), m.mean(1), m.ravel(), m.flatten(), m.tolist(),
    m[0, 0], m[m > 1], m.A, np.multiply(m, m), m @ [1, 2], m.max(1), m.argmax(1), m.std(0), m + 1, m == m, m.H,
        m.diagonal(), np.trace(m), np.asarray(m).ndim, m[[1, 0]], m.reshape(1, 4))
m[0] = 9
m *= 2
m += np.ones(2, int)
log(m, m.dtype, np.vstack([m, m]), np.bmat([[m, m]]), np.linalg.inv(m), np.outer(m, m).shape, m.squeeze(), m.any(),
    m.all(0), m.take([0]), m.cumsum(), m.repeat(2, 0), m.swapaxes(0, 1), m.astype(float), m.copy(),
        m.view(np.ndarray))
e(m.__mul__, np.ones(3))
e(np.matrix, np.ones((2, 2, 2)))
e(m.reshape, 1, 1, 4)

# record arrays
import importlib
r = np.rec.array([(1, 2.0, "a"), (3, 4.0, "bc")], dtype=[("x", "i4"), ("y", "f8"), ("s", "U2")])
r.x = [5, 6]
r.y[0] = 9
r[1].x = 7
log(r, r.x, r["y"], r[0], r[0].x, type(r[0]).__name__, r.s, type(r.s).__name__, type(r.x).__name__, r.dtype,
    r.field("x"), r[["x", "y"]], type(r[["x", "y"]]).__name__, r[:1].x, r.tolist(), r == r, r.copy().x,
        r.view(np.ndarray)["x"])
e(getattr, r, "nothing")
e(setattr, r, "x", [1, 2, 3])
log(np.rec.fromarrays([[1, 2], [3.0, 4]], names="a,b"), np.rec.fromrecords([(1, "a")]),
    importlib.import_module(np.__name__ + ".lib.recfunctions").append_fields(r, "z", [1, 2], usemask=False).dtype.names)

# datetimes
t = np.array(["2020-01-01", "2020-02-29", "NaT"], "M8[D]")
d = t - t[0]
log(t + np.timedelta64(1, "D"), d, d / np.timedelta64(1, "h"), t.astype("M8[M]"), t.astype("i8"), np.isnat(t),
    t == t, t > t[0], np.sort(t), t.max(), np.diff(t), d.sum(), d * 2, d // 2, -d, abs(d), d % np.timedelta64(2,
        "D"), t.astype(str), np.datetime_as_string(t), np.busday_count("2020-01-01", "2020-02-01"),
            np.arange("2020-01", "2020-03", dtype="M8[M]"), t.view("i8"), np.unique(t), np.where(np.isnat(t), t[0],
          t))
t[1:] += np.timedelta64(3, "D")
d *= 2
d[0] = 5
t[0] = "2021"
log(t, d)
e(t.__add__, t)
e(t.__iadd__, np.timedelta64(1, "s"))
e(t.__setitem__, 0, "x")
e(t.astype, "f8")
e(d.__mul__, d)
e(t.sum)
e(t.mean)
log(d.mean(), np.median(d))

# strings and objects
s = np.array(["a", "bcd", ""])
s[0] = "longer"
log(s, s == "bcd", s + "x" if hasattr(np, "strings") else "", np.char.upper(s), np.strings.str_len(s),
    s.astype("S"), s.astype(object) + "y", np.sort(s), s.max() if hasattr(s, "max") and False else "", s.argsort(),
        np.unique(s), s.tolist(), s.nonzero(), s.astype("U1"), np.char.add(s, "z"), s[[1, 0]],
            s.view("U1").reshape(3, -1).shape, np.concatenate([s, ["longest one"]]).dtype, "a" in s, s.item(1),
          s.astype("T") if hasattr(np.dtypes, "StringDType") else "")
e(s.sum)
e(s.astype, int)
o = np.array([1, "a", None, [1, 2], np.arange(2)], object)
o[0] += 5
o[3].append(3)
o[4][0] = 9
log(o, o[3], o[[0, 1]], o == "a", o.copy()[3] is o[3], o.tolist()[4] is o[4], o.astype(str)[:2], np.array([1, 2.5,
    3], object).sum(), np.array([1, 2], object) * 2, np.array([True, 0], object).any(), np.array([3, 1],
        object).max(), -np.array([1, 2], object), np.array([1, 2], object).dtype, np.sqrt(np.array([4.0, 9.0],
            object).astype(float)))
e(np.sqrt, np.array([4.0], object))
e(o.sum)
e(o.sort)
q = np.empty(2, object)
q[:] = [[1, 2], [3]]
q[0] = np.arange(3)
log(q, q[0].sum(), q.shape, np.array([q, q]).shape)

# iterators that write
a = np.arange(6.0).reshape(2, 3)
for row in a:
    row *= 2
for i, v in np.ndenumerate(a):
    a[i] = v + 1
for x in np.nditer(a, op_flags=["readwrite"]):
    x[...] = x * 2
log(a)
it = np.nditer([a, None], op_flags=[["readonly"], ["writeonly", "allocate"]])
with it:
    for x, y in it:
        y[...] = x + 1
    log(it.operands[1])
rows = np.nditer([np.ones((2, 3)), None], flags=["reduce_ok"], op_axes=[[0, 1], [0, -1]],
    op_flags=[["readonly"], ["readwrite", "allocate"]])
with rows:  # an operand that NumPy has allocated is written through a handle that nobody keeps
    rows.operands[1][...] = 5
    for x, y in rows:
        y[...] += x
    log(rows.operands[1])
with np.nditer(a.astype(int), op_flags=["readwrite"], op_dtypes=["f8"], flags=["buffered"],
    casting="same_kind") as it:
    pass
f = a.flat
f[2] = -1
f[[0, 1]] = 7
a.flat = [1, 2]
log(a, a.flat[3], a.flat.base is a, list(a.flat)[:2], a.flat.copy(), len(a.flat),
    a.flat[a.flat > 1] if hasattr(a.flat, "__gt__") else "", next(a.flat), a.flat.index, a.flat.coords)
for k in np.ndindex(2, 2):
    a[k] = sum(k)
log(a, [x.tolist() for x in np.nditer(a, flags=["external_loop"], order="F")], np.broadcast(a, a[0]).shape)
b = np.arange(4)
for v in b:
    b[:] = 9
    log(v)

# base, ownership and what a view keeps
a = np.arange(10)
b = a[2:]
c = b[::2]
log(b.base is a, c.base is a, a.base, a.T.base is a, a.reshape(2, 5).base is a, a.copy().base, a.view().base is a,
    b.copy().base, a[[1]].base, np.asarray(a) is a, np.array(a).base, a[...].base is a, a.flags.owndata,
        b.flags.owndata, a[0:0].base is a, np.atleast_1d(a) is a, np.ravel(a) is a, np.ravel(a).base is a,
            np.squeeze(a) is a)
del a, b
c[0] = 77
log(c, c.base[2], np.may_share_memory(c, c.base), np.shares_memory(c, c[::-1]))

# pickles and copies of views
import pickle, copy
a = np.arange(12.0).reshape(3, 4)
for v in (a, a.T, a[::2, 1:], a[::-1], np.asfortranarray(a), a[0, 0], a[None], np.float32(2), a > 3, np.array(3),
    a.astype("f2"), a.astype(">f4"), a.view("i8"), np.ma.array(a, mask=a > 3), np.zeros(2, "i4,f8")):
    for p in (0, 2, 5):
        w = pickle.loads(pickle.dumps(v, p))
        log(w, w.strides if hasattr(w, "strides") else "", getattr(w, "dtype", 0), type(w).__name__)
    for w in (copy.copy(v), copy.deepcopy(v)):
        log(w, w.strides, type(w).__name__, w.flags.writeable)

# large arrays: views, copies and writes beside each other
n = 300000
a = np.arange(float(n))
b = a.copy()
v = a[::3]
a[1:-1] = 0.5 * (a[2:] + a[:-2])
v *= 2
c = a.reshape(3, -1)
c[1] = c[0] + c[2]
d = a[a > 5]
d[:] = 0
a[a > 1e5] -= 1
np.add(a, 1, a)
np.multiply(b, 2, out=b[:])
log(a[:5], a[-5:], a.sum(), b[:3], b.sum(), v[:3], v.sum(), c.sum(1), d.sum(), a.base, c.base is a)
w = a.view("i8")
w[0] = 1
log(a[0], w[:2])
x = a.astype("f4")
x **= 2
x[::-1][:10] = np.arange(10)
log(x[-10:], x.dtype, (x > 3).sum(), x.argmax(), x.cumsum(dtype="f8")[-1], np.sort(x)[:3])
for i in range(40):
    a[1:] -= a[:-1] * 0.1
    b += a * 0.01
    if a[5] > 1e6:
        break
log(a[:4], b[:4])

# large integer and boolean arrays with wrap-around
n = 200000
for d in ("i1", "u1", "i2", "u4", "i8", "u8"):
    x = (np.arange(n) * 7).astype(d)
    y = x[::-1]
    z = x * y + x - y
    x //= 3
    m = (z > 10) ^ (x < 20)
    log(z[:5], z.sum(), x.sum(), m.sum(), (z % 5).sum(), (z >> 2).sum(), (~z)[:3], z.min(), z.max(), np.where(m, x,
        y).sum(), (x & y).sum(), abs(z).sum(), (-z)[1:3], (z / 3).sum(), z.mean(),
            np.bincount((z % 5).astype(int) % 5))
    e(lambda: (x ** -1).sum())
    e(lambda: (x + 2**70).dtype)
    e(lambda: (x + 300).sum())
    x[m] = 1
    x[~m] += 1
    log(x.sum(), np.count_nonzero(m), m.argmax(), m.any(0), m.all())

# escapes: NumPy's array of ours, written on both sides
import numpy as real
a = np.arange(200000.0)
h = real.asarray(a)
b = a * 2
h[0] = 50
log(a[0], b[0], (a + 1)[0])
a[1] = 60
log(h[1])
a *= 2
log(h[:3], a.sum() == h.sum())
v = a[10:20]
h[10] = -1
log(v[0], (v + 0)[0], v.sum())
m = memoryview(a)
m[2] = 7.0
log(a[:4], a.copy()[2])
a[...] = 1
log(h.sum(), m[5], b[:2])
r = real.add(a, h)
r[0] = 0
log(a[0], type(r).__name__, r[:2])
f = real.frombuffer(a.data, "f8")
f.flags.writeable and f.__setitem__(3, 44)
log(a[3], h[3])
a.resize(100, refcheck=False) if False else None
del h, m, f, r
a += 1
log(a[:4])

# exceptions in the middle of things leave values
a = np.arange(200000.0)
b = a + 1
try:
    a[:] = np.ones(5)
except ValueError as error:
    log(str(error))
try:
    a += np.ones(5)
except ValueError as error:
    log(str(error))
try:
    a.astype(int).__iadd__(0.5)
except Exception as error:
    log(type(error).__name__, str(error))
try:
    np.add(a, 1, out=np.ones(3))
except ValueError as error:
    log(str(error))
try:
    a[[0, 10**9]] = 3
except IndexError as error:
    log(str(error))
try:
    a[200000] = 3
except IndexError as error:
    log(str(error))
log(a.sum(), b.sum(), a[:3])
with np.errstate(all="raise"):
    e(lambda: np.ones(200000) / np.zeros(200000))
    e(lambda: np.exp(np.full(200000, 1000.0)).sum())
    e(lambda: np.sqrt(np.full(3, -1.0)))
    e(lambda: np.array([1], "i1") // 0)
    e(lambda: np.float32(1e38) * np.float32(1e38))

# mixed dtypes: promotion with Python numbers and NumPy scalars
vals = [np.zeros(2, d) for d in ("?", "i1", "u1", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")]
for x in vals:
    for y in (True, 1, -1, 1.5, 1j, np.int8(1), np.uint64(1), np.float32(1), np.float16(1), np.bool_(True),
        np.array(1, "i2"), np.complex64(1)):
        for op in ("__add__", "__truediv__", "__floordiv__", "__pow__", "__and__", "__rsub__"):
            try:
                log(getattr(x + 1, op)(y).dtype)
            except Exception as error:
                log(type(error).__name__)
for x in vals:
    log(x.sum().dtype, x.cumsum().dtype, x.mean().dtype, x.prod().dtype, np.sqrt(x).dtype, x.max().dtype,
        (x + x).dtype, np.abs(x).dtype, x.var().dtype, np.dot(x, x).dtype, (x > 0).dtype,
            np.median(x).dtype if x.dtype != bool else 0, np.round(x).dtype, np.exp(x).dtype, np.angle(x).dtype,
          np.sign(x).dtype if x.dtype != bool else 0, x.argmax().dtype,
          np.floor(x).dtype if x.dtype.kind != "c" else 0)

# where= and out= together with dtypes and broadcasting
a = np.arange(6.0).reshape(2, 3)
o = np.full((2, 3), -1.0)
m = np.array([True, False, True])
log(np.add(a, 1, out=o, where=m) is o, o, np.sum(a, where=m), a.mean(1, where=m), np.max(a, where=m, initial=-5),
    np.any(a, where=~m), a.sum(0, where=[[True], [False]]), np.std(a, where=m), np.sqrt(a, where=m, out=o),
        np.divide(1, a, where=a > 0, out=np.zeros_like(a)))
i = np.zeros((2, 3), int)
e(lambda: np.add(a, 1, out=i))
log(np.add(a, 1, out=i, casting="unsafe"), np.multiply(a, 2, dtype="f4").dtype, np.add(a, 1, out=np.zeros((4, 2,
    3)))[3], np.add.reduce(a, out=np.zeros(3), dtype="f4"), np.negative(a, a)[0], a, np.copyto(a, 9, where=m), a,
        np.exp2(a, order="F").flags.f_contiguous, np.add(a.T, 1).flags.f_contiguous, np.add(a, a.T[:1].T).strides)
e(lambda: np.add(a, 1, out=(o, o)))
e(lambda: np.modf(a, out=o))
e(lambda: np.add(a, 1, out="x"))
e(lambda: np.add(a, np.ones((5, 1, 1)), out=o))
log(np.modf(a, out=(o, None))[1], np.frexp(a)[1].dtype, np.divmod(a, 2, out=(o, np.zeros((2, 3))))[0] is o,
    np.matmul(a, a.T, out=np.zeros((2, 2))), np.sum(a, 0, out=o[0]), o, np.cumsum(a, 1, out=o), np.clip(a, 1, 2,
        out=a), a, np.round(a, out=o) is o, np.take(a, [0, 1], out=np.zeros(2)), np.mean(a, 0, out=o[1]),
            np.argmax(a, 0, out=np.zeros(3, int)))

# advanced indices mixed with slices and new axes
a = np.arange(120).reshape(2, 3, 4, 5)
i, j = np.array([0, 1]), np.array([[2], [1]])
for k in ((i, slice(None), j), (slice(None), i, slice(1, 3), j), (..., i, None, j), (i, ..., i), (0, slice(None),
    i), (slice(None), 0, i), (None, i, None), (i[:, None], j.T), (a > 50,), (a[:, 0, 0, 0] > 3, slice(None), 1),
        (slice(None), np.array([True, False, True]), i[:1]), np.ix_([0, 1], [0, 2], [1]), (np.array(1),
            slice(None), i), (np.array([], int),), ([], []), (slice(None, None, -1), i), (True, i), (i, True),
          ([[0, 1]], Ellipsis, [0])):
    try:
        x = a[k]
        b = a.copy()
        b[k] = -1
        c = a.copy()
        c[k] += 1
        d = a.copy()
        d[k] = x[::-1] if x.ndim else 0
        log(x.shape, x.strides, x.flags.f_contiguous, x.sum(), b.sum(), c.sum(), d.sum(), x.ravel("K")[:4])
    except Exception as error:
        log(type(error).__name__, str(error))

# writes through every kind of view of one array
a = np.zeros((4, 6))
views = [a.T, a[::-1], a[:, ::2], a.reshape(6, 4), a[1:3, None], a.swapaxes(0, 1)[1:], a.ravel(), a.diagonal(),
    a.view("i8"), np.broadcast_to(a, (2, 4, 6)), a[..., np.newaxis], a.reshape(2, 2, 2, 3).transpose(3, 1, 0, 2),
        a.real, np.lib.stride_tricks.as_strided(a, (3, 3), (48, 16))]
for n, v in enumerate(views):
    try:
        v[...] = n
        v[1:] += 1
        v[-1] *= 2
    except Exception as error:
        log(type(error).__name__, str(error))
    log(a, a.sum())
log([v.shape for v in views], [float(v.sum()) for v in views])

# real and imaginary parts
z = np.arange(4) + 1j * np.arange(4)[::-1]
r, m = z.real, z.imag
r += 1
m[::2] = 9
z[1] = 5 - 5j
log(z, r, m, z.conj(), abs(z), z.real.base is z, np.angle(z), z.view("f8"), z.T.real)
z.imag = [1, 2, 3, 4]
z.real *= 2
log(z, r)
x = np.arange(3.0)
e(x.imag.__setitem__, 0, 1)
e(setattr, x, "imag", 2)
x.real = 7
log(x, x.real is x, x.imag)
e(np.arange(3).imag.__iadd__, 1)
log(np.array(1 + 2j).imag, np.complex64(1 + 2j).real, np.real_if_close(z), np.array(["a"]).real, np.array([1, 2j],
    object).imag)

# half precision and integer division
h = np.array([1, 2, 65504, np.inf, np.nan, 6e-8], "f2")
log(h + 1, h * 2, h / 3, h.sum(), h[:3].mean(), h // 2, h % 2, np.sqrt(h), h.astype("i2")[:2], h == h, np.sort(h),
    h.max(), h[:2].cumsum(), h[:2] @ h[:2], h.view("u2"), h.astype("f4"), np.exp(h), h > np.float32(1), np.add(h,
        h, dtype="f4"), h ** 2, np.minimum(h, 1), np.round(h[:2] / 3, 2))
i = np.array([-7, 7, -128, 0], "i1")
log(i // 2, i % 3, i // -2, divmod(i, -3), i >> 1, i << 1, abs(i), -i, i ** 2, np.sign(i), i / 2, i * i,
    np.square(i), i // 0, i % 0, np.fmod(i, 3), np.gcd(i, 3), ~i, i & 3, i ^ 1, np.floor_divide(i, np.int8(-1)),
        np.left_shift(i, 9), np.right_shift(i, 9), np.clip(i, -5, 5), i.clip(max=3), np.bitwise_count(i))
e(lambda: np.clip(i, -500, 5))
e(lambda: i.clip(300))

# files: save, load, memory maps, text
import tempfile, os, io
d = tempfile.mkdtemp()
p = os.path.join(d, "a.npy")
a = np.arange(12.0).reshape(3, 4)
np.save(p, a.T)
m = np.load(p, mmap_mode="r+")
m[0, 0] = 99
m[1:] += 1
m.flush()
log(type(m).__name__, np.load(p), m.mode, m.flags.f_contiguous, (m + 1).__class__.__name__, m.sum(),
    type(m[0]).__name__, type(m.sum(0)).__name__)
r = np.load(p, mmap_mode="r")
e(r.__setitem__, 0, 1)
c = np.load(p, mmap_mode="c")
c[0] = 5
log(c[0], np.load(p)[0])
a.tofile(p)
log(np.fromfile(p), np.memmap(p, "f8", "r", 8, (2, 2)), np.fromfile(p, "i4", 3))
b = io.BytesIO()
np.savez(b, a, k=a > 3, o=np.array([None, 1], object))
b.seek(0)
f = np.load(b, allow_pickle=True)
log(f.files, f["arr_0"], f["k"], f["o"])
t = io.StringIO()
np.savetxt(t, a, fmt="%.1f", delimiter=",", header="h")
log(t.getvalue())
t.seek(0)
log(np.loadtxt(t, delimiter=","), np.genfromtxt(["1,2", "3,"], delimiter=","), a.tobytes("F")[:16], a.dumps()[:2],
    a.tostring() if hasattr(a, "tostring") else "")
del m, r, c
for n in os.listdir(d):
    os.remove(os.path.join(d, n))
os.rmdir(d)

# functions that call back
log(np.vectorize(lambda x, y=2: x + y)([1, 2, 3]), np.vectorize(len, otypes=[int])(["a", "bb"]),
    np.apply_along_axis(lambda v: v[::-1], 0, np.arange(6).reshape(3, 2)), np.apply_over_axes(np.sum, np.ones((2,
        3)), [0, 1]), np.fromfunction(lambda i, j: i * j, (2, 3)), np.frompyfunc(lambda a, b: a + b, 2,
            1)(np.arange(3), 1), np.piecewise(np.arange(5.0), [np.arange(5) < 2], [lambda x: -x, 7]),
          np.vectorize(np.sum, signature="(n)->()")(np.ones((2, 3))), np.fromiter((x * x for x in range(4)),
          float), np.frompyfunc(lambda x: x * 2, 1, 1).accumulate if False else "", np.apply_along_axis(np.sort, 1,
          np.array([[3, 1], [2, 1]])), np.select([np.arange(4) > 2, np.arange(4) > 1], [1, 2], 9), np.choose([0, 1,
          1], [np.arange(3), -np.arange(3)]), np.block([[np.ones((1, 2)), 3 * np.ones((1, 1))]]))
def f(v):
    v[0] = -1
    return v.sum()
a = np.arange(6.0).reshape(2, 3)
log(np.apply_along_axis(f, 1, a), a)
class Bad:
    def __float__(self): raise RuntimeError("no")
    def __index__(self): raise RuntimeError("index")
e(lambda: np.zeros(2).__setitem__(0, Bad()))
e(lambda: np.zeros(2)[Bad()])
e(lambda: np.zeros(Bad()))
e(lambda: np.array([Bad()], float))
e(lambda: np.zeros((2, 2)).sum(Bad()))
e(lambda: np.zeros(2).reshape(Bad()))
e(lambda: np.vectorize(lambda x: 1 / x)([0]))

# histograms, sorting, searching, sets
a = np.array([3, 1, 2, 3, 1, 9, -4])
log(np.histogram(a, 3), np.histogram(a, [0, 2, 4], weights=a), np.bincount([1, 1, 3], minlength=6), np.digitize(a,
    [0, 2]), np.searchsorted(np.sort(a), [0, 3], "right"), np.argsort(a, kind="stable"), np.lexsort((a, -a)),
        np.partition(a, 2)[2], np.argpartition(a, 1)[:1], np.unique(a, return_index=True, return_inverse=True,
            return_counts=True), np.isin(a, [1, 9]), np.setdiff1d(a, [1]), np.union1d(a, [7]), np.intersect1d(a,
          [1, 3], return_indices=True), np.flatnonzero(a > 1), np.argwhere(a > 2), np.count_nonzero(a),
          np.nanargmax([1, np.nan, 3]), np.percentile(a, [10, 50]), np.quantile(a, 0.3, method="nearest"),
          np.median(a), np.cov(a, a[::-1]), np.corrcoef(a, a[::-1]), np.average(a, weights=abs(a)), np.ptp(a),
          np.gradient(a), np.diff(a, 2, prepend=0), np.ediff1d(a), np.trapezoid(a), np.interp([0.5, 2], [0, 1, 3],
          [1, 2, 3]), np.convolve(a, [1, 2], "same"), np.correlate(a, [1, 2]), np.unwrap([0, 4, 8]),
          np.cumprod(a[:3]), np.nancumsum([1, np.nan]), np.trim_zeros([0, 1, 0]), np.histogram2d(a, a, 2)[0],
          np.polyfit([0, 1, 2], [1, 3, 5], 1).round(6), np.roots([1, -3, 2]), np.poly1d([1, 2])(3), np.vander([1,
          2, 3], 2), np.tril(np.ones((2, 2))), np.kron([1, 2], [1, 1]), np.meshgrid([1, 2], [3, 4], indexing="ij"),
          np.mgrid[0:2, 0:2], np.ogrid[0:2], np.r_[1:3, 5], np.c_[[1, 2], [3, 4]], np.s_[1:2])
a.sort()
b = a[::-1]
b.sort()
log(a, b, a.searchsorted(3), np.sort(np.array([[3, 1], [2, 0]]), None), np.sort(["b", "a"]), np.sort(np.array([2,
    1 + 1j])), np.sort_complex([2, 1]), np.array([np.nan, 1, -np.inf]).argsort())

# printing
np.set_printoptions(precision=3, suppress=True, threshold=6)
a = np.arange(10) / 3
log(a, a.astype("f4"), a.reshape(2, 5), str(a), a > 1, a + 1j, np.array([1e10, 1e-10]), np.zeros((0, 3)),
    np.array(3.0), np.float64(1 / 3), np.ma.array(a, mask=a > 2), np.array([None]), np.zeros(2, "i4,f8"),
        np.array2string(a, separator=",", threshold=100), np.array_repr(a), np.format_float_positional(1 / 3, 3),
            f"{a[1]:.2f}", "%s" % a[:2], np.array(["a'b"]), np.array([b"a"]), np.array(["2020"], "M8"), [a[:2]],
          {"k": a[:1]})
with np.printoptions(precision=1, linewidth=20, sign="+"):
    log(a, repr(a[:3]))
np.set_printoptions(precision=8, suppress=False, threshold=1000)

# buffers and DLPack in both directions
import array, ctypes
src = array.array("d", [1, 2, 3])
a = np.frombuffer(src)
a[0] = 9
src[1] = 8
log(a, src, a.flags.owndata, a.flags.writeable, np.asarray(src)[1], np.array(src).flags.owndata)
e(src.append, 1)
ro = np.frombuffer(b"12345678")
e(ro.__setitem__, 0, 1)
e(ro.setflags, True)
log(ro.base, np.from_dlpack(a), np.from_dlpack(a).flags.writeable, type(a.__dlpack__()).__name__)
p = a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
p[2] = 33
log(a, a.ctypes.shape[0], a.ctypes.strides[0], np.ctypeslib.as_array((ctypes.c_int * 3)(1, 2, 3)),
    np.ctypeslib.as_array(p, (2,)))
n = np.ndarray((2,), "f8", a, 8)
n[0] = 77
log(a, n.base is a, n)
b = bytearray(16)
v = np.ndarray((2,), "f8", b)
v += 1
log(b[:8], v)
o = type("O", (), {"__array_interface__": a.__array_interface__})()
w = np.asarray(o)
w[0] = -3
log(a, w)

x = np.arange(6).reshape(2, 3).T
log(x.reshape(None), np.reshape(x, None), x.reshape((None,)[0]))
e(lambda: x.reshape(None, 2))
e(lambda: x.reshape())

x = np.arange(3)
log(x.view(None), x.view(dtype=None), x.view(), (x + 1j).view(None))

# a selection by a mask, and an int that does not fit its dtype
x = np.arange(-4, 5, dtype="i1")
b = x[x < 3]
for f in (lambda: 128 - b, lambda: b + 200, lambda: (b < b) % (200 - b), lambda: np.add(b, 300), lambda: b < 500):
    e(f)
e(b.__iadd__, 1000)
log(b, b + 1)

# where a fraction is wanted of dates, texts and whole numbers
d = np.array(["2020-01-01", "2020-02-29"], "M8[D]")
e(np.linspace, d[0], d[1], 3)
e(np.linspace, 0, np.timedelta64(5, "s"), 3)
e(np.linspace, "a", 3)
e(np.linspace, np.float32(1), 2, 3)
e(np.interp, d, [0, 1], [0, 1])
e(np.percentile, d, 50)
e(np.median, ["a", "b"])
log(np.linspace(1, np.float32(2), 2).dtype, np.linspace(np.int8(1), True, 2).dtype)
log(np.linspace(np.ones(2, "f2"), 2, 2).dtype)

# what cannot be written says so before the key is looked at
x = np.arange(49.0).reshape(7, 7)
d = x.diagonal()
for key in ((slice(1, -1), slice(1, -1)), 9, "x", (0, 0, 0), [100], (slice(None), [0])):
    e(d.__setitem__, key, 0)

# einsum of no axes is a number
x = np.array(3.0)
log(np.einsum("...->...", x), np.einsum("...", x[...]), np.einsum("i->i", np.ones(2)), np.einsum(",->", x, x))

# reductions with where= and initial= of no axes
x, t, f = np.array(5), np.array(True), np.array(False)
log(np.sum(x, where=t), np.sum(x, where=f), np.prod(x, where=t), np.max(x, where=t, initial=2), np.min(x, initial=2))
log(np.any(x, where=f), np.all(x, where=t), x.sum(where=t), np.add.reduce(x, where=f, initial=3, axis=()))

# what calls do the second time, and what they warn of
def told(function, *args, **kwargs):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        e(function, *args, **kwargs)
    log(sorted({str(x.message) for x in w}))
x, big = np.array([1, 1 + 2e-16] * 10), np.array([[1e200, np.nan], [1e10, 1e250]])
for _ in range(2):
    told(np.histogram, x, bins=10)
    told(np.histogram, x, 10, (1, 1 + 2e-15))
    told(np.maximum, np.ones(1), np.zeros(1), np.empty(1))
    told(np.minimum, np.ones((2, 1)), 3.0, np.empty((2, 1)))
    told(np.linalg.det, big)
    told(lambda: big @ big)
    told(np.var, np.ones(0, "c16"), ddof=1)
    told(np.var, np.arange(3) + 1j)
    told(np.corrcoef, np.array([[1, 2j, 3], [1, 5, 2]]))
    told(np.nanmedian, np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 7.0]]))

# a place for a number
d = np.array(0)
log(np.dot([1, 2], [3, 4], out=d), d, np.array([1, 2]).dot(np.array([3, 4]), out=d).shape, d)
log(np.vdot([1, 2], [3, 4]), np.einsum("i,i", [1, 2], [3, 4], out=d), d)

# elements without a byte are resized as NumPy does
for z in (np.zeros(10, [("x", "S0")])["x"], np.zeros(10, [("x", "U0")])["x"], np.zeros(10, ("V", 0))):
    for shape in (25, (10, 10), 0, 5):
        log(z.resize(shape), z.shape, z.dtype)

# texts and dates of arrays that stand in arrays of objects
x = np.array([None])
x[0] = np.array(1.5)
log(np.array([x], dtype="S"), np.array(x, dtype="S"), x.astype("S"), x.astype("U5"), np.asarray(x, "U"))
log(x[0], x.astype(float), x.astype("M8[s]"))

# classes of dtypes
for c in (np.dtypes.Float32DType, np.dtypes.StrDType, np.dtypes.StringDType, np.dtypes.Int8DType):
    log(np.empty_like(np.ones(3), dtype=c).dtype, np.zeros_like(np.ones(3), dtype=c), np.ones(2, "f8").astype(c))

# lists that are too deep, and places beyond the last number
for depth in (62, 63, 64):
    nested = np.ones((1, 1))
    for _ in range(depth):
        nested = [nested]
    e(lambda: np.array(nested, dtype=float).ndim)
e(np.histogramdd, np.ones((1, 10)), 2**10)
e(np.ravel_multi_index, [np.array([1])] * 10, (2**10,) * 10)

# the array interface of what no protocol names, for who asks for it
for x in (np.array(["ab", "c"], np.dtypes.StringDType()), np.array([None, 1]), np.array(["ab"]), np.zeros(2, "i4,f4")):
    log(x.__array_interface__["typestr"], x.__array_interface__["shape"], hasattr(x, "__array_struct__"))
    log(numpy.asarray(x).dtype, numpy.array([x]).tolist(), numpy.array(x).tolist())
"""

# Calls that write into what they are given, mostly by place.
WRITES = """
np.add(a, 1, o)
np.multiply(a, b, o)
np.negative(a, o)
np.modf(a, o, p)
np.divmod(a, 2.0, o, p)
np.frexp(a, o, q)
np.matmul(a, b, o)
np.sum(a, 0, None, r)
np.prod(a, 0, None, r)
np.max(a, 0, r)
np.min(a, 0, r)
np.amax(a, 0, r)
np.mean(a, 0, None, r)
np.std(a, 0, None, r)
np.var(a, 0, None, r)
np.median(a, 0, r)
np.percentile(a, 30, 0, r)
np.quantile(a, .3, 0, r)
np.nanmedian(a, 0, r)
np.nansum(a, 0, None, r)
np.nanmax(a, 0, r)
np.cumsum(a, 0, None, o)
np.cumprod(a, 0, None, o)
np.nancumsum(a, 0, None, o)
np.clip(a, 1, 5, o)
np.round(a, 1, o)
np.around(a, 1, o)
np.fix(a, o)
np.isposinf(a, m)
np.isneginf(a, m)
np.take(a, [2, 1, 0], 0, o)
np.compress([True, True, True], a, 0, o)
np.choose(k, [a, b], o)
np.dot(a, b, o)
np.outer(a[0], b[0], o)
np.trace(a, 0, 0, 1, None, r[0:1].reshape(()))
np.argmax(a, 0, k)
np.argmin(a, 0, k)
np.concatenate((a[:1], b[:2]), 0, o)
np.any(a, 0, n)
np.all(a, 0, n)
np.ptp(a, 0, r)
np.add.reduce(a, 0, None, r)
np.add.accumulate(a, 0, None, o)
np.add.reduceat(a, [0, 1, 2], 0, None, o)
np.add.at(o, [0, 0], 1)
np.copyto(o, a)
np.put(o, [0, 1], 7.0)
np.place(o, o < 4, [9.0])
np.putmask(o, o < 4, 9.0)
np.fill_diagonal(o, 8)
np.put_along_axis(o, k[None], 5.0, 0)
np.nan_to_num(o, False)
np.real(o).__setitem__(0, 3)
o.sort(0)
o.partition(1, 0)
o.fill(3)
o.put([1], 4)
o.resize((9,), refcheck=False)
o.byteswap(True)
o.setfield(1.0, 'f8')
a.sum(0, None, r)
a.cumsum(0, None, o)
a.clip(1, 5, o)
a.round(1, o)
a.take([2, 1, 0], 0, o)
a.dot(b, o)
a.mean(0, None, r)
a.max(0, r)
a.argmax(0, k)
a.any(0, n)
a.all(0, n)
a.compress([True, True, True], 0, o)
k.choose([a, b], o)
a.trace(0, 0, 1, None, r[0:1].reshape(()))
a.std(0, None, r)
a.prod(0, None, r)
np.random.default_rng(3).random(9, float, o.reshape(-1))
np.random.default_rng(3).standard_normal(out=o)
np.random.default_rng(3).shuffle(o)
np.random.default_rng(3).permuted(a, axis=0, out=o)
np.random.seed(4) or np.random.shuffle(o)
np.fft.fft(a, 3, 0, None, c)
np.fft.ifft(a, 3, 0, None, c)
np.einsum('ij,jk->ik', a, b, out=o)
np.ma.array(o, copy=False).__setitem__(0, 5)
np.lib.stride_tricks.as_strided(o, (3, 3), (24, 8)).__setitem__(0, 5)
o.flat.__setitem__(0, 3)
o.flat.__setitem__(slice(2), 3)
np.ndarray.__setitem__(o, 0, 4)
o.T.__setitem__(0, 4)
o.view('i8').__setitem__(0, 4)
numpy.asarray(o).__setitem__(0, 4)
numpy.add(a, 1, o)
numpy.add(a, 1, out=o)
numpy.multiply.at(o, 0, 3.0)
numpy.copyto(o, a)
numpy.sum(a, 0, None, r)
numpy.putmask(o, o < 4, 9.0)
numpy.add.reduce(a, 0, None, r)
numpy.clip(a, 1, 5, o)
numpy.take(a, [2, 1, 0], 0, o)
numpy.dot(a, b, o)
setattr(o, 'real', 4)
setattr(o, 'flat', 4)
exec("o **= 2")
exec("o @= b")
exec("o[k > 0] += 1")
exec("o[[0, 0]] += 1")
exec("o[..., 0], o[..., 1] = o[..., 1].copy(), o[..., 0].copy()")
np.random.default_rng(3).standard_normal((3, 3), float, o)
np.random.default_rng(3).standard_exponential((3, 3), float, 'zig', o)
np.random.default_rng(3).standard_gamma(2.0, (3, 3), float, o)
a.any(0, None, n)
a.all(0, None, n)
a.all(0, None, n, False)

# columns first: what is written through the result is in nobody else's memory
a = np.arange(20.0).reshape(4, 5)
r = a.reshape(2, 10, order="F")
r[0, 1] = 9
log(r, a, r.base.shape, r.strides, r.ravel("K"), np.reshape(a, (5, 4), order="F").T.reshape(-1))
r.base[1, 1] = -3
log(r, r.base.flags.f_contiguous, r.flags.owndata, r.base.base is None)

# flat iterators by positions, lists, arrays, masks, and one after the other
a = np.arange(20.0).reshape(4, 5)
i, k = np.array([2, 0, 3, 1, 1, 2]), np.arange(20) % 3 == 0
log(a.flat[i], a.flat[[1, 4]], a.flat[k], [x for x in a.T.flat], list(a.flat) == a.ravel().tolist())
a.flat[i] = 2
a.flat[[1, 4]] = 3.5
a.flat[k] = -1
log(a)
it = a.flat
log(next(it), it.index, next(it), it.coords, it[[3, 4]], len(list(it)))
e(next, it)
e(a.flat.__getitem__, [20])
e(a.flat.__setitem__, [-21], 1)
e(a.flat.__setitem__, [1, 20, 3], 8)
e(a.flat.__setitem__, np.array([2, -30]), np.array([5.0, 6.0]))
log(a)

# functions of Python over arrays, and what they are asked
f = np.frompyfunc(lambda x, y: x + y, 2, 1)
log(f(np.arange(3), 2), f.reduce(np.arange(4)), f.nin, f.__name__[:1])
log(np.vectorize(lambda x, y: x + y)(np.arange(3), 0.5))

# keys with integers of NumPy's beside slices and new axes
a, i = np.arange(12.0).reshape(3, 4), np.array([1, 7, 2], "u1")
for k in (i[0], (i[0], slice(None)), (slice(None), i[2]), (np.int8(-1), None), (np.int64(1), ...), (i[2], i[0])):
    log(a[k], np.shares_memory(a, a[k]))
    a[k] = i[1]
    log(a)
for k in (i[1], (i[1], slice(None)), np.uint64(2**63 + 1), (np.uint64(2**63 + 1), slice(None)), (i[0], i[0], i[0])):
    e(a.__getitem__, k)
    e(a.__setitem__, k, 0)
for k in (np.timedelta64(1), (np.timedelta64(1), slice(None)), (np.float64(1), slice(None))):
    e(a.__getitem__, k)
log(a[np.bool_(True), :].shape, a)
a = np.array([5, 2, 1, 3, 4])
for k in ([0, 1, 2, 3], [0, 1, 2, 3, 4, 0], [-1, 0, 1, 2, 3], [0, 1, 2, 3, 5], [1.5, 0, 1, 2, 3], [[0, 1, 2, 3, 4]]):
    e(np.searchsorted, a, 4, sorter=np.array(k))
log(np.searchsorted(a, [4, 0, 9], sorter=np.argsort(a)), a.searchsorted(3, sorter=[2, 1, 3, 4, 0]))

# attributes that cannot be written or deleted
a = np.zeros((2, 3))
fixed = "T", "mT", "size", "ndim", "nbytes", "itemsize", "base", "flags", "ctypes", "__array_interface__"
for name in (*fixed, "shape", "dtype", "strides", "flat", "real", "data"):
    e(delattr, a, name)
for name in fixed:
    e(setattr, a, name, 3)
log(np.ndarray.T, np.ndarray.shape)

# strides that do not fit: the warning that they may not be set comes first
a = np.arange(6.0)
for strides in ((8, 8), (80,), "x", (16,)):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        e(setattr, a, "strides", strides)
    log(len(said), a.strides)

# what an object's __array__ gives is written into parts of arrays
class A:
    def __init__(self, x): self.x = x
    def __array__(self, dtype=None, copy=None): return self.x
a = np.zeros((3, 3))
a[:] = A(np.arange(3))
a[1] = A(np.arange(3.0) * 2)
a[:, 2] = A(np.ones(3))
a[a > 3] = A(np.array(7))
a[[0, 2]] = A(np.full((2, 3), 4.5))
log(a)
e(a.__setitem__, 0, A(np.ones(4)))
e(a.__setitem__, (0, 0), A(np.array(3)))
e(a.fill, A(np.array(3)))
e(np.zeros(3, "c16").__setitem__, 0, A(np.array(3)))

# an array that is referred to is not resized
a = np.arange(4)
view = a[1:]
e(a.resize, 9)
e(view.resize, 9)

# what an iterator over several operands gives are views of them, lists and subclasses among them
a, o = np.arange(6.0).reshape(2, 3), np.zeros((2, 3))
for operands in ([a, o], [o, [1, 2, 3], a], [a, np.matrix(a), o], [np.float64(2), o], (o,), o):
    alone = operands is o or len(operands) == 1
    flags = [["readwrite" if x is o else "readonly"] for x in ([o] if alone else operands)]
    with np.nditer(operands, op_flags=flags) as it:
        for step in it:
            parts = step if type(step) is tuple else (step,)
            log([(type(x).__name__, np.shares_memory(x, o), x.flags.writeable) for x in parts])
            parts[1 if len(parts) == 2 else 0][...] += parts[-1] + 1
    log(o)
with np.nditer([a, None]) as it:
    for x, y in it:
        y[...] = x * x
    log(it.operands[1])
log([x + 1 for x in np.nditer(3.5)], next(iter(np.nditer(a.T))).base is a)
"""
