"""Statements that numerical programs make beside calls, as text: what each leaves in `r` is compared with NumPy's.

Writes in place and through views, `out=`, ufunc methods, indices of all kinds, conversions to Python, files, draws,
polynomials and masked arrays. They read the arrays of `DATA`, which are computed in the graph, and pass in strict mode
but for those of `HOST`.
"""

from __future__ import annotations

import numpy

draw = numpy.random.default_rng(29)
holes = draw.standard_normal((4, 5))
holes[holes > 0.8] = numpy.nan
square = draw.standard_normal((4, 4))
DATA: dict[str, numpy.ndarray] = {
    "a": draw.standard_normal((4, 5)),
    "b": draw.standard_normal((4, 5)),
    "v": draw.standard_normal(9),
    "w": draw.standard_normal(9),
    "m": square,
    "s": square @ square.T + 4 * numpy.eye(4),
    "t": draw.standard_normal((2, 3, 4)),
    "i": draw.integers(0, 9, 9),
    "j": draw.integers(0, 9, 6),
    "k": draw.random((4, 5)) < 0.5,
    "z": draw.standard_normal(9) + 1j * draw.standard_normal(9),
    "n": holes,
    "f": draw.standard_normal((4, 5)).astype("f4"),
    "u": draw.integers(0, 250, 9).astype("u1"),
}
STATEMENTS = """
r = a.copy(); r[k] = 0
r = a.copy(); r[k] = -a[k]
r = a.copy(); r[k] *= 2
r = a.copy(); r[~k] += 1.5
r = a.copy(); r[k] = b[k] ** 2
r = t * 2; r[:, t[0] > 0] = 1.5; r[1, ..., t[0, 0] > 0] = np.float32(2.5); r[0, t[1] < 0] = np.inf
r = t * 2; r[..., t[0, 0] > 0] = True; r[::-1][:, None, t[1] > 0] = 3; r[:, ::2, t[0, 1] < 0] = -0.0
r = a.copy(); r[:, [0, 2]] = 1
r = a.copy(); r[[0, 1], [1, 1]] = [5.0, 6.0]
r = a.copy(); r[[0, 2]] = [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]
r = a.copy(); r[[2, 0]] = r[[0, 2]]
r = a.copy(); r[1:3, ::2] = v[:3]
r = a.copy(); r.T[0] = 7
r = a.copy(); r[..., -1] -= r[..., 0]
r = a.copy(); r[1:] += r[:-1]
r = a.copy(); r[:, 1:-1] = (r[:, 2:] + r[:, :-2]) / 2
r = a.copy(); r[np.abs(r) < 0.5] = np.nan
r = a.copy(); r[np.argmax(r, axis=0), np.arange(5)] = 0
r = a.copy(); r[a[:, 0] > 0] = 0
r = a.copy(); r[a[:, 0] > 0, 1] = 9
r = a.copy(); r[k[:, 0]] *= v[:5]
r = a.copy(); r[1, k[1]] = 4
r = v.copy(); r[i] = w
r = v.copy(); r[i % 3 == 0] = 1
r = v.copy(); r[::-1] = w
r = v.copy(); r[:] = r[::-1]
r = v.copy(); r[3:6] = 0; r[-1] = r[0]
r = v.copy(); r[np.flatnonzero(v > 0)] = 0
r = v.copy(); r[np.where(v > 0)] *= 3
r = m.copy(); r[np.diag_indices(4)] = 0
r = m.copy(); r[np.triu_indices(4, 1)] = 0
r = m.copy(); r[np.tril_indices(4)] = m[np.triu_indices(4)]
r = m.copy(); np.fill_diagonal(r, v[:4])
r = m.copy(); r[:, 0], r[:, 1] = m[:, 1], m[:, 0]
r = m.copy(); r.flat[::5] = 1
r = m.copy(); r.flat[3] = 1; r.flat[[1, 5]] = 2
r = m.copy(); r.ravel()[2] = 8
r = m.copy(); d = np.einsum("ii->i", r); e = d.sum(); r = r * e
r = m.copy(); r += r.T
r = m.copy(); r @= s
r = m.copy(); r -= r.mean(axis=0); r /= r.std(axis=0)
r = m.copy(); r **= 2; r //= 0.5; r %= 1.5
r = i.copy(); r <<= 2; r |= 1; r ^= 5; r &= 14; r >>= 1
r = k.copy(); r &= a > 0; r |= b > 1; r ^= k
r = v.copy(); r.sort()
r = v.copy(); r[::-1].sort()
r = a.copy(); r.sort(axis=0)
r = z.copy(); r.sort()
r = v.copy(); r.partition(4); r = r[4]
r = v.copy(); r.fill(2.5)
r = v.copy(); r.put([0, 3], [1.0, 2.0])
r = v.copy(); np.put(r, [0, 12], [5.0, 6.0], mode="wrap")
r = v.copy(); np.place(r, v > 0, [1.0, 2.0])
r = v.copy(); np.putmask(r, v > 0, w)
r = v.copy(); np.copyto(r, w, where=w > 0)
r = a.copy(); np.copyto(r, v[:5])
r = a.copy(); np.put_along_axis(r, np.argmin(a, axis=1)[:, None], 99.0, axis=1)
r = v.copy(); np.add.at(r, [0, 1, 1], 2.0)
r = v.copy(); np.subtract.at(r, i, w)
r = v.copy(); np.maximum.at(r, i, w)
r = np.zeros(5); np.add.at(r, i % 5, v)
r = np.zeros((5, 5)); np.add.at(r, (i % 5, i % 4), v)
r = a.copy(); np.multiply.at(r, ([0, 1], [2, 2]), 3.0)
r = z.copy(); r.real = v
r = z.copy(); r.imag = 0
r = z[:3].copy(); r.real = [1, 2, 3]; r.imag = (0.5, 1.5, 2.5)
r = np.empty(9, complex); r.real = v; r.imag = w
r = np.empty((4, 5)); np.add(a, b, out=r)
r = a.copy(); np.multiply(r, b, out=r)
r = np.zeros((4, 5)); np.exp(a, out=r, where=k)
r = np.zeros((4, 5)); np.divide(a, b, out=r, where=b != 0)
r = np.zeros(5); np.sum(a, axis=0, out=r)
r = np.zeros((4, 5)); np.cumsum(a, axis=1, out=r)
r = np.zeros((4, 4)); np.matmul(m, s, out=r)
r = np.zeros((4, 4)); np.dot(m, s, out=r)
r = np.zeros((9, 9)); np.outer(v, w, out=r)
r = np.zeros(4); np.max(a, axis=1, out=r)
r = np.zeros(4, int); np.argmax(a, axis=1, out=r)
r = np.zeros((4, 5)); np.clip(a, -1, 1, out=r)
r = np.zeros((2, 9)); np.stack([v, w], out=r)
r = np.zeros(18); np.concatenate([v, w], out=r)
r = np.zeros(5); np.take(v, [0, 2, 4, 6, 8], out=r)
r = np.zeros(9); np.round(v, 1, out=r)
r = np.zeros(4); np.linalg.norm(a, axis=1); np.mean(a, axis=1, out=r)
r = np.zeros((4, 5), bool); np.greater(a, b, out=r)
r = np.zeros((4, 4)); np.einsum("ij,kj->ik", a, b, out=r)
r = [np.zeros(9), np.zeros(9)]; np.modf(v, *r)
r = [np.zeros(9), np.zeros(9)]; np.divmod(v, 0.3, out=tuple(r))
r = v.round(2), i.round(-1), np.round(i, 1)
r = u > 300, u == -1, u <= 255, 256 > u
r = u + u, u * 2, u - 1, ~u, -u, u // 7
r = np.isin(u, [3, 400]), np.clip(u, 10, 200)
r = np.unique_values(i), np.unique_counts(i), np.unique_inverse(i), np.unique_all(i)
r = np.union1d(i, j), np.intersect1d(i, j), np.setdiff1d(i, j), np.setxor1d(i, j)
r = np.intersect1d(np.unique(i), np.unique(j), return_indices=True, assume_unique=True)
r = np.polydiv(v[:4], w[:2]), np.polymul(v[:3], w[:2]), np.polyadd(v[:3], w[:2]), np.polysub(v[:2], w[:3])
r = np.poly1d(v[:3])(w), np.poly1d([1.0, 2.0]).deriv()(v), np.roots([1.0, -3.0, 2.0])
r = np.polynomial.Polynomial.fit(v, w, 2).coef, np.polynomial.Polynomial([1.0, 2.0]).deriv()(v)
r = np.polynomial.polynomial.polyvander(v, 3), np.polynomial.polynomial.polyval2d(v, w, a)
r = np.polynomial.chebyshev.chebfit(v, w, 2), np.polynomial.chebyshev.chebgauss(5)
r = np.polynomial.Chebyshev.interpolate(np.sin, 5).coef, np.polynomial.chebyshev.chebval(v, [1.0, 2.0, 3.0])
r = np.polynomial.legendre.leggauss(5), np.polynomial.legendre.legval(v, [1.0, 2.0, 3.0])
r = np.polynomial.hermite.hermgauss(4), np.polynomial.laguerre.lagval(v, [1.0, 2.0, 3.0])
r = np.polynomial.polynomial.polymul(v[:2], w[:2]), np.polynomial.polynomial.polyder(v)
r = np.nancumprod(n), np.nancumsum(n, axis=0), np.nanargmin(n), np.nanargmax(n, axis=1)
r = np.nanmedian(n), np.nanmedian(n, axis=0), np.nanmedian(n, axis=1, keepdims=True)
r = np.nanpercentile(n, 40), np.nanpercentile(n, [10, 90], axis=1), np.nanquantile(n, 0.5, axis=0)
r = np.nanmean(n, axis=1, keepdims=True), np.nanstd(n, ddof=1), np.nanvar(n, axis=0)
r = np.hamming(7), np.blackman(7), np.kaiser(7, 3.0), np.bartlett(7)
r = np.unpackbits(u), np.packbits(k, axis=1), np.packbits(v > 0, bitorder="little"), np.bitwise_count(u)
r = np.unravel_index(i, (5, 6)), np.ravel_multi_index((i % 4, i % 5), (4, 5))
r = np.ravel_multi_index((i, i), (4, 5), mode="clip"), np.ravel_multi_index((i, i), (4, 5), mode="wrap")
r = np.unravel_index(7, (3, 4)), np.unravel_index(i.reshape(3, 3), (3, 3), order="F")
r = np.mgrid[0:3, 0:2], np.ogrid[0:3, 0:2:5j], np.r_[v, 1.0, w], np.c_[v, w], np.s_[1:3]
r = np.insert(v, [1, 1, 4], [5.0, 6.0, 7.0]), np.insert(a, [1, 3], 7.0, axis=1), np.insert(v, 2, [1, 2])
r = np.delete(v, v > 0), np.delete(a, [0, -1], axis=0), np.delete(v, slice(1, 6, 2))
r = np.trim_zeros(np.array([0.0, 0, 1, 2, 0])), np.trim_zeros(np.maximum(v, 0), "f")
r = np.corrcoef(a), np.corrcoef(v, w), np.corrcoef(a, rowvar=False), np.cov(v, w)
r = np.unstack(a), np.vsplit(a, 2), np.dsplit(t, 2), np.hsplit(a, [1, 3])
r = a.flatten("F"), a.reshape(5, 4, order="F"), a.T.copy(), np.ravel(a, "K"), a.T.ravel("A")
r = a.astype(int), f.astype(float), a.astype("f4"), z.astype("F"), k.astype(int), i.astype(bool), u.astype("i1")
r = z.real, z.imag, np.real(z), np.abs(z), np.angle(z), z.conj(), np.isreal(z)
r = a[..., None], a[::-1, ::2], a[1], a[-1, 2:], a[None, :, 0], a[1:1]
r = a[k], a[k[:, 0]], a[:, k[0]], a[[0, 2], 1:], a[[0, 2], [1, 3]], a[np.ix_([0, 2], [1, 3])]
r = t[:, [0, 1], :], t[1, ..., [0, 2]], t[[0, 1], :, [1, 2]], t[..., [[0, 1], [2, 3]]]
r = v[np.argsort(w)], v[i], v[i[:4]], v[v > v.mean()], v[np.abs(v).argsort()[::-1][:3]]
r = a.flat[3], a.flat[[1, 5, 7]], a.flat[2:8], list(a.flat)
r = a.item(3), a.tolist(), a.sum().item(), float(v.sum()), int(np.argmax(v)), bool((v < 9).all()), complex(z[0])
r = [float(x) for x in v], [x.sum() for x in a], sum(v), max(v), sorted(v), list(zip(v, w)), len(a)
r = list(np.ndenumerate(m)), list(np.ndindex(2, 2)), [float(x) for x in np.nditer(a)]
r = v[0] + 1, v[0] > 0, -v[1], abs(v[2]), round(v[0], 2), v[0] ** 2, divmod(v[0], 0.3)
r = repr(v), str(a), f"{v.mean():.3f}", np.array2string(v, precision=3), np.array_repr(a), "%.2f" % v[0]
r = np.random.default_rng(0).normal(size=5), np.random.default_rng(0).permutation(v)
r = np.random.default_rng(0).choice(v, 3), np.random.default_rng(0).integers(0, 5, 4)
r = v.copy(); np.random.default_rng(0).shuffle(r)
r = np.random.default_rng(0).multivariate_normal(np.zeros(2), np.eye(2), 3), np.random.RandomState(0).randn(3)
r = np.ma.masked_invalid(n).sum(axis=0), np.ma.array(a, mask=a > 0).compressed()
r = np.ma.masked_array(v, v > 0).mean(), np.ma.masked_where(v > 0, v).filled(0)
r = np.emath.sqrt(v), np.emath.log(v), np.emath.power(v, 0.5), np.emath.arccos(v)
r = np.result_type(a, i), np.can_cast(i.dtype, "f4"), np.promote_types("f4", "i8"), np.min_scalar_type(3)
r = np.shares_memory(a, a.T), np.may_share_memory(a, v), np.iscomplexobj(z), np.isrealobj(v), np.ndim(a), np.size(a, 1)
r = io.BytesIO(); np.save(r, a); r.seek(0); r = np.load(r)
r = io.BytesIO(); np.savez(r, a=a, v=v); r.seek(0); r = np.load(r)["v"]
r = io.StringIO(); np.savetxt(r, a); r = r.getvalue()
r = np.loadtxt(["1 2", "3 4"]), np.genfromtxt(["1,2", "3,4"], delimiter=",")
r = np.frombuffer(v.tobytes()), np.fromstring("1 2 3", sep=" "), a.tobytes(), a.nbytes
r = np.histogram(v, bins=5), np.histogram(v, bins="auto"), np.histogram(i, bins=range(10)), np.histogram2d(v, w, bins=4)
r = np.bincount(i, minlength=12), np.bincount(i, weights=v), np.digitize(v, [-1.0, 0.0, 1.0])
r = np.linalg.qr(a, mode="complete"), np.linalg.qr(a.T), np.linalg.svd(a)[1], np.linalg.eigvalsh(s)
r = np.linalg.solve(s, np.eye(4)), np.linalg.lstsq(a.T, v[:5], rcond=None)[0], np.linalg.matrix_rank(a)
r = np.apply_along_axis(np.sort, 1, a), np.apply_along_axis(lambda x: x.max() - x.min(), 0, a)
r = np.apply_over_axes(np.sum, t, (0, 2)), np.array_equiv(v, a), np.array_equal(a, a.copy()), np.allclose(a, b)
r = np.fromfunction(lambda x, y: x + y, (3, 4)), np.indices((2, 3)), np.mask_indices(3, np.triu)
r = np.lib.stride_tricks.sliding_window_view(v, 3).max(axis=1), np.broadcast_to(v, (2, 9)).sum(axis=0)
r = np.where(k, a, b), np.select([v < -0.5, v > 0.5], [v, v**2], 0.1), np.choose(i % 3, [v, w, v * w])
r = np.piecewise(v, [v < 0, v >= 0], [lambda x: -x, lambda x: x**2]), np.extract(v > 0, v)
r = np.testing.assert_allclose(v, v + 1e-9), np.testing.assert_array_equal(v, v), np.testing.assert_equal(v, v)
r = np.array([v, w]), np.array([[v[0], 1.0], [w[1], 2.0]]), np.array([x * 2 for x in v]), np.asarray(a, complex)
r = np.gcd.reduce(i), np.lcm(i, 6), np.hypot.reduce(v), np.logaddexp.reduce(v), np.bitwise_or.reduce(i)
r = np.add.reduceat(v, [0, 3, 5]), np.add.reduceat(a, [0, 2], axis=1), np.maximum.accumulate(v), np.subtract.outer(v, w)
r = np.einsum_path("ij,jk,kl->il", m, m, m)[0], np.einsum("ij,jk,kl->il", m, s, m, optimize=True)
with np.errstate(all="ignore"): r = np.log(v), v / 0, np.sqrt(v), np.arcsin(v * 3)
x = v * 0; x[0] = 1; r = np.fft.ifft(np.fft.fft(v) * np.fft.fft(x)).real
x = np.linspace(0, 1, 9); r = np.interp(0.3, x, v), np.trapezoid(v, x), np.gradient(v, x), np.polyfit(x, v, 3)
r = 0.0; exec("for x in v: r += x * x", d := dict(v=v, r=r)); r = d["r"]
r = np.zeros(9); exec("for q in range(1, 9): r[q] = 0.5 * r[q - 1] + v[q]")
r = a.copy(); exec("for row in r: row -= row.mean()")
r = a.copy(); exec("for row, x in zip(r, v): row[:] = x")
while np.linalg.norm(v) > 1: v = v / 2; r = v
r = np.polynomial.polynomial.polyroots([1.0, -3.0, 2.0])
r = z.copy(); r.real = v; r.imag = 2
r = z.copy(); r.imag[::2] = v[::2]; r.real += 1
r = np.reshape(a.copy(), (5, 4), order="F").T.reshape(-1)
r = m.copy(); r @= s; r @= r
it = a.flat; next(it); r = it.index, it.coords, list(it)
r = a.copy(); r.flat[r.ravel() > 0] = 0; r.flat[[1, 3]] = [7.0]; r.flat[...] = np.ravel(r.flat[()]) + np.arange(20)
r = a.copy(); r.flat[a.ravel() > 0] = v; r.flat[[-1, 2]] *= 2; r.T.flat = range(3)
r = a.copy(); r[[0, 1], :] = b[None, :2]; r[:, [0, 1]] = np.ones((1, 1, 4, 2))
r = a[:, [True, False, True, True, False]], a[type('Key', (tuple,), {})(([1], [2]))]
r = np.zeros(5, "f4"); a.sum(axis=0, out=r); r = r, np.add.reduce(u, out=np.zeros((), "i8"))
r = a.max(0, out=np.zeros(5, complex)), np.multiply.reduce(u, out=np.zeros((), "u2"))
r = (a > 0).all(axis=1, out=np.zeros(4)), np.sum(i, out=np.zeros((), "i2"))
"""
HOST: dict[str, str] = {
    'r = np.linalg.qr(a, mode="raw")': "LAPACK's own form of the factors, which only NumPy gives",
    "r = np.vectorize(lambda x: x * 2)(v)": "a Python function of each element",
    "r = np.unique(a, axis=0)": "rows are compared as structures",
}
"""With the reason."""
