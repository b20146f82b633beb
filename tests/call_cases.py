"""Calls that numerical programs make, as text: each is evaluated over NumPy and over lazynp, on the arrays of `DATA`.

They were written down before it was looked at which of them are operations of the engine. `HOST` has those that only
NumPy can do, with the reason; all others pass in strict mode.
"""

from __future__ import annotations

import numpy

draw = numpy.random.default_rng(11)
DATA: dict[str, numpy.ndarray] = {
    "a": draw.standard_normal((4, 5)),
    "b": draw.standard_normal((4, 5)),
    "v": draw.standard_normal(7),
    "w": draw.standard_normal(7),
    "u": draw.standard_normal(16),
    "m": draw.standard_normal((4, 4)) + 4 * numpy.eye(4),
    "s": (lambda x: x @ x.T + numpy.eye(4))(draw.standard_normal((4, 4))),
    "t": draw.standard_normal((3, 4, 4)) + 4 * numpy.eye(4),
    "c": draw.standard_normal((2, 3, 4)),
    "z": draw.standard_normal(6) + 1j * draw.standard_normal(6),
    "h": draw.standard_normal((3, 2)),
    "p": numpy.sort(draw.random(7)) + numpy.arange(7) * 0.01,
}
CONSTANTS: dict[str, numpy.ndarray] = {
    "i": numpy.array([2, 0, 3, 1, 1, 2]),
    "j": numpy.array([0, 2, 4]),
    "k": draw.random((4, 5)) > 0.4,
    "l": numpy.array([True, False, True, True]),
    "n": draw.integers(0, 9, (4, 5)),
    "q": draw.integers(0, 255, 11).astype("u1"),
    "f": numpy.where(draw.random((4, 5)) > 0.7, numpy.nan, draw.standard_normal((4, 5))),
}
CALLS = """
np.fft.fft(v)
np.fft.rfft(u) * 2
np.fft.irfft(np.fft.rfft(u) * np.exp(-0.1 * np.arange(9)))
np.fft.fft2(a).real
np.abs(np.fft.fftshift(np.fft.fft2(m))) ** 2
np.fft.ifft(z * np.fft.fftfreq(6))
np.fft.fftn(c, axes=(0, 2))
np.fft.hfft(z)
np.linalg.solve(m, a)
np.linalg.solve(t, a)
np.linalg.inv(m) @ a
np.linalg.det(t)
np.linalg.slogdet(s)[1]
np.linalg.cholesky(s)
np.linalg.qr(a.T)[1] ** 2
np.linalg.svd(a, full_matrices=False)[1]
np.linalg.svd(a, compute_uv=False)
np.linalg.eigh(s)[0]
np.linalg.eigvalsh(s)
np.abs(np.linalg.eigh(s)[1])
np.sort(np.abs(np.linalg.eigvals(m)))
np.linalg.lstsq(a.T, v[:5], rcond=None)[0]
np.linalg.lstsq(a.T, b.T)[0]
np.linalg.lstsq(a.T, b.T)[1]
np.linalg.lstsq(a, v[:4], rcond=1e-10)[0]
np.linalg.pinv(a)
np.linalg.pinv(s, hermitian=True)
np.linalg.matrix_rank(a)
np.linalg.matrix_power(m, 5)
np.linalg.norm(a, axis=1)
np.linalg.norm(a, 'fro')
np.linalg.norm(m, ord=2)
np.linalg.norm(v, ord=1)
np.linalg.norm(v, np.inf)
np.linalg.norm(t, axis=(1, 2))
np.linalg.cond(m)
np.linalg.cond(m, 'fro')
np.linalg.multi_dot([a.T, m, a])
np.linalg.tensorinv(m.reshape(4, 2, 2), ind=1)
np.linalg.cross(h.T[:, :3], c[:, :, 0])
np.linalg.outer(v, w)
np.linalg.trace(t)
np.linalg.diagonal(t)
np.linalg.vector_norm(v, ord=3)
np.linalg.matrix_norm(t, ord='nuc')
np.einsum('ij,ij->i', a, b)
np.einsum('ij,kj->ik', a, b)
np.einsum('bij,jk->bik', t, a)
np.einsum('ijk->kij', c)
np.einsum('ii->i', m) + 1
np.einsum('i,j,k->ijk', v, w, v)
np.einsum('bij,bjk,bkl->il', t, t, t, optimize='greedy')
np.tensordot(c, a, axes=([2], [0]))
np.tensordot(a, b, axes=2)
np.inner(a, b)
np.outer(v, w)
np.kron(m[:2, :2], a)
np.cross(c[:, :, 0], c[:, :, 1])
np.vdot(z, z).real
np.dot(a.T, b)
np.matmul(t, a)
np.trace(m, offset=1)
np.union1d(i, j)
np.intersect1d(i, j)
np.setdiff1d(i, j)
np.setxor1d(i, j)
np.isin(n, j)
np.unique(i)
np.unique(i, return_counts=True)[1]
np.unique(i, return_inverse=True)[1]
np.unique(i, return_index=True)[1]
np.unique(n, axis=0)
np.unique(v)
np.sort(a, axis=0)
np.sort(a, axis=None)
np.argsort(a, axis=1)
np.argsort(v, kind='stable')
a[np.arange(4)[:, None], np.argsort(a, axis=1)]
np.take_along_axis(a, np.argsort(a, axis=0), axis=0)
np.lexsort((v, w))
np.lexsort(a)
np.partition(v, 3)[3]
np.argpartition(v, 2)[:2] * 0
np.sort_complex(z)
np.median(a, axis=0)
np.median(a)
np.percentile(a, [10, 50, 90], axis=1)
np.percentile(a, 30, method='nearest')
np.percentile(v, 30, method='lower')
np.quantile(a, 0.3, axis=0, method='hazen')
np.quantile(v, [0.1, 0.9], method='median_unbiased')
np.quantile(v, 0.25, weights=np.abs(w), method='inverted_cdf')
np.searchsorted(p, v)
np.searchsorted(p, v, side='right', sorter=np.arange(7))
np.digitize(v, p)
np.digitize(v, [-1.0, 0.0, 1.0], right=True)
np.bincount(i)
np.bincount(i, minlength=9)
np.bincount(i, weights=v[:6])
np.histogram(v, bins=4)[0]
np.histogram(v, bins=4)[1]
np.histogram(v, bins=[-2.0, -0.5, 0.5, 2.0], weights=w)[0]
np.histogram(v, bins=5, range=(-2, 2), density=True)[0]
np.histogram(v, bins='auto')[0]
np.histogram2d(v, w, bins=3)[0]
np.histogram2d(v, w, bins=[4, 2], weights=p)[0]
np.histogramdd(c.reshape(6, 4)[:, :2], bins=(2, 3))[0]
np.histogram_bin_edges(v, bins=4)
np.count_nonzero(k, axis=0)
np.count_nonzero(a)
np.interp(v, p, w)
np.interp(v, p, w, left=0.0, right=1.0)
np.interp(v, p, w, period=2.0)
np.interp(v, p, w + 1j * p, right=1j)
np.interp(a, p, w)
np.convolve(v, w[:3])
np.convolve(v, w, mode='same')
np.convolve(v, w[:3], mode='valid')
np.correlate(v, w[:3], mode='full')
np.correlate(z, z[:2], mode='same')
np.gradient(v)
np.gradient(a, axis=0)
np.gradient(v, p)
np.gradient(v, 0.5, edge_order=2)
np.trapezoid(a, axis=0)
np.trapezoid(v, p)
np.diff(a, n=2, axis=1)
np.diff(v, prepend=0.0)
np.ediff1d(v, to_begin=1.0)
np.polyval(w, v)
np.polyfit(p, v, 2)
np.poly1d(w[:3])(v)
np.polynomial.polynomial.polyval(v, w)
np.polynomial.polynomial.polyfit(p, v, 2)
np.polynomial.chebyshev.chebval(v, w)
np.polynomial.Polynomial(w)(v)
np.polynomial.hermite.hermval(v, w[:3])
np.polynomial.legendre.legvander(v, 3)
np.polynomial.polynomial.polyder(w)
np.polymul(v, w[:3])
np.polyadd(v, w)
np.polyder(w)
np.polyint(w)
np.roots(w[:4])
np.poly(v[:3])
np.vander(v, 3)
np.pad(a, 1)
np.pad(a, ((1, 2), (0, 1)), mode='edge')
np.pad(v, 2, mode='reflect')
np.pad(a, 1, mode='wrap')
np.pad(a, (1, 2), mode='symmetric')
np.pad(v, 3, mode='linear_ramp', end_values=1.0)
np.pad(a, 1, mode='mean')
np.pad(a, 1, mode='maximum')
np.pad(v, 2, mode='median')
np.pad(v, 2, constant_values=(1.0, 2.0))
a[k]
a[k].sum()
a[a > 0]
a[l]
a[:, j]
a[[0, 2]][:, [1, 3]]
a[np.ix_([0, 2], [1, 3])]
a[..., None, j]
c[:, j[:2], ::2]
c[0, [0, 1], 1:]
a[l, 1]
a[np.array([0, 1]), np.array([2, -1])]
a[[True, False, True, True], 1:3]
a.flat[3]
a.flat[[1, 4]]
a[::-1, ::2]
a[-1]
m[np.diag_indices(4)]
m[np.triu_indices(4)]
m[np.tril_indices(4, -1)]
a.ravel()[np.flatnonzero(k)]
np.argwhere(k)
np.nonzero(k)[0]
np.flatnonzero(k)
np.where(k)[1]
np.where(k, a, b)
np.where(a > 0, a, 0.1 * a)
np.select([a > 1, a > 0], [a, 2 * a], default=-a)
np.piecewise(v, [v < 0, v >= 0], [lambda x: -x, lambda x: x ** 2])
np.choose(i[:4] % 3, [m[0], m[1], m[2]])
np.choose(n % 2, (a, b))
np.choose(n, (a, b), mode='wrap')
np.compress(l, a, axis=0)
np.extract(k, a)
np.take(a, j, axis=1)
np.take(v, [1, 9], mode='wrap')
np.take(v, i)
np.take(a, j, axis=1, out=np.zeros((4, 3)))
(x := a * 1, np.put(x, [0, 7], [5.0, 6.0]), x)[2]
(x := a * 1, np.put(x, i, v), x)[2]
(x := a * 1, np.putmask(x, k, b), x)[2]
(x := a * 1, np.place(x, k, v), x)[2]
(x := a * 1, np.copyto(x, b, where=k), x)[2]
(x := a * 1, np.put_along_axis(x, np.argmax(b, axis=1)[:, None], 9.0, axis=1), x)[2]
(x := m * 1, np.fill_diagonal(x, v[0]), x)[2]
(x := a * 1, x.__setitem__(k, 0.0), x)[2]
(x := a * 1, x.__setitem__((slice(None), j), b[:, :3]), x)[2]
(x := a * 1, x.__setitem__(l, b[:3]), x)[2]
(x := a * 1, x.__setitem__(x > 0, x[x > 0] * 2), x)[2]
(x := a * 1, x.__setitem__((k, ), v[0]), x)[2]
(x := a * 1, x.flat.__setitem__(slice(None, None, 2), 3.0), x)[2]
(x := a * 1, x.flat.__setitem__([1, 3], v[:2]), x)[2]
(x := a * 1, x.__iadd__(b), x)[2]
(x := np.zeros(5), np.add.at(x, i, v[:6]), x)[2]
(x := a * 1, np.add.at(x, (i[:4], j[0]), v[:4]), x)[2]
(x := a * 1, np.subtract.at(x, i, 1.0), x)[2]
(x := a * 1, np.maximum.at(x, (slice(None), j), 0.5), x)[2]
(x := v * 1, np.multiply.at(x, i, w[:6]), x)[2]
(x := v * 1, np.negative.at(x, [0, 2]), x)[2]
(x := a * 1, x.sort(axis=0), x)[2]
(x := a * 1, x.fill(2.0), x)[2]
np.add.accumulate(a, axis=1)
np.maximum.accumulate(v)
np.logaddexp.accumulate(v)
np.subtract.accumulate(v)
np.add.reduceat(v, [0, 3, 5])
np.add.reduceat(a, [0, 2], axis=1)
np.maximum.reduceat(v, [0, 3, 1])
np.multiply.reduceat(v, np.array([0, 2, 2]))
np.add.outer(v, w)
np.subtract.outer(v, w) ** 2
np.multiply.reduce(a, axis=1)
np.add.reduce(c, axis=(0, 2))
np.logaddexp.reduce(a, axis=1)
np.hypot.reduce(a, axis=0)
np.logical_and.reduce(k, axis=0)
np.minimum.reduce(a, axis=1, initial=0.0)
np.add(a, b, out=np.zeros((4, 5)))
np.add(a, b, where=k, out=np.ones((4, 5)))
np.divide(a, b, out=np.zeros_like(a), where=b > 0)
np.modf(a)[0]
np.frexp(a)[0]
np.divmod(a, 0.7)[1]
np.ldexp(a, n % 3)
np.nansum(f, axis=0)
np.nanmean(f, axis=1)
np.nanmean(f)
np.nanstd(f, axis=0)
np.nanvar(f)
np.nanmax(f, axis=1)
np.nanmin(f)
np.nanargmax(f, axis=1)
np.nanmedian(f)
np.nanmedian(f, axis=0)
np.nanpercentile(f, 40)
np.nanquantile(f, [0.2, 0.7], axis=1)
np.nancumsum(f)
np.nanprod(f, axis=0)
np.nan_to_num(f)
np.nanmean(np.where(k, a, np.nan), axis=0)
np.nanmedian(np.where(k, a, np.nan), axis=1)
np.nanvar(np.where(k, a, np.nan), axis=0, ddof=0.5)
np.nanmax(np.where(k, a, np.nan), axis=1, keepdims=True)
np.nanpercentile(np.where(k, a, np.nan), 40, axis=0)
np.sum(a, where=k)
np.sum(a, axis=0, keepdims=True)
np.sum(a, axis=1, initial=10.0)
np.sum(a, axis=0, out=np.zeros(5))
np.sum(a, dtype=np.float32)
np.prod(a, axis=0, where=k)
np.max(a, axis=1, where=k, initial=-5.0)
np.min(a, initial=0.1)
np.mean(a, where=k)
np.mean(a, axis=0, where=k)
np.mean(a, axis=1, keepdims=True)
np.mean(a, axis=1, out=np.zeros(4))
np.var(a, where=k)
np.var(a, axis=1, ddof=1)
np.std(a, axis=0, where=k)
np.std(a, axis=0, keepdims=True)
np.std(a, mean=np.mean(a))
np.var(z)
np.std(a, axis=1, correction=1)
np.any(k, axis=0, keepdims=True)
np.all(k, axis=1, where=a > 0)
np.average(a, axis=0)
np.average(a, axis=1, weights=p[:5])
np.average(v, weights=p, returned=True)[1]
np.cov(a)
np.cov(v, w)
np.corrcoef(a)
np.corrcoef(v, w)[0, 1]
np.ptp(a, axis=0)
np.argmax(a, axis=1)
np.argmin(a)
np.argmax(a, axis=0, keepdims=True)
np.cumsum(a, axis=0)
np.cumprod(v)
np.cumulative_sum(v, include_initial=True)
np.cumsum(a, axis=1, out=np.zeros((4, 5)))
a.flatten()
a.flatten('F')
a.T.flatten('K')
a.ravel('F')
a.reshape(2, -1, order='F')
np.ravel(a.T, order='A')
np.array([a, b])
np.array([v[0], v[1], 2.0])
np.array([[v[0], 0.0], [0.0, v[1]]])
np.array([a[0], b[0]]).sum(0)
np.asarray([v, w])
np.array((v, w, v)).T
np.array([np.sum(a), np.max(b)])
np.stack([a, b], axis=-1)
np.vstack([a, b])
np.hstack([v, w])
np.dstack([a, b])
np.column_stack([v, w])
np.block([[m, a], [a.T, np.zeros((5, 5))]])
np.concatenate([a, b], axis=1)
np.concatenate([v, w], out=np.zeros(14))
np.concatenate([a, b], axis=None)
np.append(v, 3.0)
np.insert(v, 2, 9.0)
np.insert(a, [1, 3], 0.0, axis=1)
np.delete(v, 3)
np.delete(a, [0, 2], axis=1)
np.resize(a, (3, 8))
np.trim_zeros(np.where(v > 0, v, 0))
np.split(u, 4)[1]
np.array_split(v, 3)[2]
np.hsplit(a, [2, 3])[0]
np.repeat(a, 2, axis=0)
np.repeat(v, i[:1].tolist() * 7)
np.tile(a, (2, 1))
np.roll(a, 2)
np.roll(a, (1, -1), axis=(0, 1))
np.rot90(a)
np.flip(a, 0)
np.fliplr(a)
np.moveaxis(c, 0, -1)
np.rollaxis(c, 2)
np.swapaxes(c, 0, 1)
np.expand_dims(a, 1)
np.squeeze(a[:1])
np.broadcast_to(v, (3, 7)) * 2
np.broadcast_arrays(v[:, None], w)[1] + 0
np.meshgrid(v, w)[0]
np.meshgrid(v, w, indexing='ij')[1]
np.diag(v)
np.diag(m)
np.diagflat(v[:3])
np.diagonal(m, 1)
np.tril(m)
np.triu(m, 1)
np.clip(a, -0.5, 0.5)
np.clip(a, None, b)
np.round(a, 2)
np.around(a)
np.trunc(a)
np.sign(a)
np.heaviside(a, 0.5)
np.sinc(a)
np.i0(a)
np.unwrap(v)
np.angle(z)
np.real(z)
np.conj(z)
np.abs(z)
np.real_if_close(z)
np.cbrt(a)
np.exp2(a)
np.expm1(a)
np.log1p(np.abs(a))
np.logaddexp(a, b)
np.arctan2(a, b)
np.hypot(a, b)
np.copysign(a, b)
np.fmod(a, b)
np.mod(a, b)
np.float_power(np.abs(a), 1.5)
np.power(np.abs(a), b)
np.square(a)
np.reciprocal(m)
np.deg2rad(a)
np.maximum(a, b)
np.fmax(a, b)
np.nextafter(a, b)
np.spacing(a)
np.isclose(a, b)
np.allclose(a, a)
np.array_equal(a, b)
np.isnan(f)
np.isfinite(f)
np.iscomplex(z)
np.bitwise_and(n, 3)
np.left_shift(n, 2)
np.bitwise_count(n)
np.gcd(n, 6)
np.lcm(n + 1, 6)
np.packbits(k)
np.packbits(q & 1, bitorder='little')
np.unpackbits(q)
np.unpackbits(q, count=20)
np.hanning(8) * u[:8]
np.kaiser(7, 5.0) * v
np.bartlett(7) * v
np.linspace(v[0], v[1], 5)
np.linspace(0.0, 1.0, 7) * v
np.logspace(0, 1, 7) * v
np.geomspace(1.0, 8.0, 7) * v
np.arange(7.0) * v
np.full_like(a, 3.0) * a
np.full((4, 5), v[0])
np.eye(4) * m
np.identity(4) @ m
np.ones_like(a) + a
np.indices((4, 5))[0] * a
np.tri(4) * m
np.apply_along_axis(np.sort, 0, a)
np.apply_along_axis(lambda x: x * x.sum(), 1, a)
np.apply_over_axes(np.sum, c, [0, 2])
np.vectorize(lambda x: x * 2 + 1)(v)
np.vectorize(np.linalg.norm, signature='(n)->()')(a)
np.lib.stride_tricks.sliding_window_view(v, 3).mean(-1)
np.lib.stride_tricks.sliding_window_view(a, (2, 2)).max((-1, -2))
np.lib.stride_tricks.as_strided(v, (3, 3), (8, 8)).sum(1)
np.ma.masked_array(a, k).sum()
np.ma.masked_array(a, k).mean(axis=0).filled(0.0)
np.ma.masked_where(a > 0, a).filled(0.0)
np.matrix_transpose(t)
np.linalg.eig(s)[0].real
np.linalg.tensorsolve(m.reshape(4, 2, 2), v[:4])
np.nanargmin(f)
np.polynomial.polynomial.polyroots(w[:3]) + 0j
a.astype(np.float32)
a.astype(int)
n.astype(float) * a
z.view(float)
np.astype(a, np.complex128)
a.copy('F')
np.ascontiguousarray(a.T)
np.asfortranarray(a)
a.T.copy()
a.item(3)
a.take([0, 3])
a.dot(v[:5])
a.repeat(2)
a.round(1)
a.clip(0)
a.argsort()
a.trace()
a.var()
a.std(axis=0)
a.mean(axis=(0, 1))
a.prod(0)
a.compress(l, axis=0)
a.swapaxes(0, 1)
a.diagonal()
abs(a)
divmod(a, 0.7)[0]
a @ b.T
-a ** 2
a // 0.5
(a > 0) & k
~k
sum(v)
max(v)
np.bitwise_or.reduce(n, axis=0)
np.logical_or.accumulate(k, axis=0)
np.cumprod(a, axis=1)
np.outer(v, w, out=np.zeros((7, 7)))
np.matmul(a, b.T, out=np.zeros((4, 4)))
np.dot(a, b.T, out=np.zeros((4, 4)))
np.einsum('ij,jk', a, b.T, out=np.zeros((4, 4)))
np.maximum(a, 0, out=np.zeros((4, 5)))
np.exp(a, where=k, out=np.zeros((4, 5)))
np.clip(a, 0, 1, out=np.zeros((4, 5)))
np.round(a, 1, out=np.zeros((4, 5)))
np.compress(l, a, axis=0, out=np.zeros((3, 5)))
np.choose(n % 2, (a, b), out=np.zeros((4, 5)))
np.argmax(a, axis=0, out=np.zeros(5, int))
np.cumprod(v, out=np.zeros(7))
np.var(a, axis=0, out=np.zeros(5))
np.median(a, axis=1, out=np.zeros(4))
np.percentile(a, 25, axis=0, out=np.zeros(5))
np.stack([a, b], out=np.zeros((2, 4, 5)))
np.nansum(f, axis=0, out=np.zeros(5))
np.trace(m, out=np.zeros(()))
np.array(2.5 in a) | np.array(4 in n) | np.array(a[0] in a)
np.add.reduce(a, axis=0, out=np.zeros(5), where=k)
np.cov(a, rowvar=False)
np.corrcoef(z, z.conj())
np.average(a, axis=0, weights=np.abs(b[:, 0]))
np.linalg.cond(m, 1)
np.linalg.vector_norm(a, axis=1, ord=3)
np.cross(a[:, :3], b[:, :3])
np.interp(v, p, w, left=-1.0, right=1.0)
np.unwrap(np.cumsum(v) * 3)
np.where([1, 0, 1, 1, 0, 0, 1], v, w)
np.where(np.isnan(f), 0.0, f).sum(axis=1)
np.nan_to_num(f, nan=-1.0)
np.nanquantile(f, [0.25, 0.75], axis=1)
np.nanpercentile(f, 40, method='nearest')
np.nancumprod(f, axis=1)
np.searchsorted(p, v, side='right')
np.argsort(a, axis=0, kind='stable')[:2]
np.take_along_axis(a, np.argsort(b, axis=1), axis=1)
np.partition(a, 2, axis=0)[2]
np.lexsort((v, np.round(w)))
np.roll(a, (1, -2), axis=(0, 1))
np.rot90(a, 3)
np.block([[m, a[:, :4]], [b[:, :4], m]])
np.concatenate([a, n], casting='same_kind')
np.concatenate([a, b], axis=None, dtype='f4', casting='unsafe').sum()
np.pad(a, ((1, 2), (0, 1)), mode='symmetric')
np.fft.irfft2(np.fft.rfft2(a), s=a.shape)
np.fft.ihfft(u)
np.convolve(v, np.hanning(5), mode='same')
np.tensordot(c, c, axes=([0, 2], [0, 2]))
np.einsum('bij,bjk->bik', t, t)
np.ldexp(v, np.array([1, 2, 3, -1, 0, 1, 2]))
np.hypot(v, w) + np.arctan2(v, w)
np.heaviside(v, 0.5) * np.copysign(w, v)
np.select([v < -0.5, v > 0.5], [-v, v ** 2], default=0.0)
np.add.reduceat(v, [0, 2, 5])
np.multiply.outer(v, w)[2:5].sum(axis=0)
a.astype(np.longdouble).sum(axis=1).astype(float)
np.cumsum(v.astype('g') * 3)[-1:].astype(float)
z.real.ravel() * z.imag
z.real[[0, 2, 1]]
np.asmatrix(m) * np.asmatrix(m)
np.asmatrix(a).sum(axis=0)
a.flatten('f') + a.copy('f').ravel('k')
np.ma.masked_invalid(f).filled(0.0)
np.ma.masked_array(a, k).astype(np.float32).filled(0.0)
np.divmod(n, 3)[1] * a
np.frexp(v)[0] * np.ldexp(1.0, np.frexp(v)[1])
(x := v * 1, np.divide.at(x, [0, 2, 2, -1], w[:4]), x)[2]
(x := np.abs(a), np.hypot.at(x, ([0, 1, 1], slice(1, 3)), b[:3, :2]), x)[2]
(x := n * 1, np.bitwise_xor.at(x, (0, [1, 1, 2]), [3, 5, 6]), x)[2]
(x := v * 1, np.square.at(x, v > 0), np.exp.at(x, []), x)[3]
np.einsum(a, [0, 1], [1])
np.einsum(a, np.array([0, 1]), np.array([1]))
np.einsum('i,i->', z, z)
np.einsum('i,i->i', z, z)
np.einsum('ij,jk->ik', m, a, order='F') + np.einsum('ij->ij', m, order='C') @ a
np.einsum('ij,ij->j', n.astype('e'), n.astype('e'))
(x := np.zeros(4), np.einsum('ii->i', m, out=x), x)[2]
np.dot(t, m) + np.dot(m, t).transpose(1, 0, 2) + np.dot(2.0, t)
np.dot(v, [1, 2, 3, 4, 5, 6, 7.0])
np.dot(a, b.T, out=np.zeros((4, 4)))
np.inner(c, c[0]) + np.inner(c, m.T[:3])
np.vdot(a.T, b.T) + np.vdot([1.0, 2.0], v[::4])
n.clip(-2**70, 5) + n.clip(2, 2**70)
np.clip(n, 2, 5, out=np.zeros((4, 5)))
np.clip(a, -0.5, 0.5, where=k, out=a * 1)
np.clip(z, -1, 1 + 1j)
n.astype('u8') * 0x9E3779B97F4A7C15 ^ 2**63
(n < 2**70) & (-2**70 < n)
v * 2**70
np.piecewise(v, [v < -0.5, v < 0.5], [lambda x: -x, 0.5, lambda x: x**2])
np.piecewise(v, v > 0, [np.exp, 1.0])
np.polyfit(p, np.stack([v, w], axis=1), 3, w=np.abs(w))
np.polynomial.chebyshev.chebfit(p, v, 2, w=np.abs(w))
np.concatenate(c, axis=1) + np.hstack(c)
np.concatenate(c.T) - np.vstack(c.T)
np.concatenate(c, axis=None)
np.concatenate((v, (1.0, 2.0), [3.0]), axis=None)
""".strip().splitlines()
HOST: dict[str, str] = {
    "np.unique(n, axis=0)": "rows are compared as records",
    "a[..., None, j]": "how a new axis among indices lies in memory is NumPy's to say",
    "np.vectorize(lambda x: x * 2 + 1)(v)": "a Python function of single elements",
}
NEEDS_VALUES = """
np.unique(v)
np.histogram(v, bins='auto')[0]
a[a > 0]
np.trim_zeros(np.where(v > 0, v, 0))
np.real_if_close(z)
np.ma.masked_array(a, k).sum()
np.ma.masked_array(a, k).mean(axis=0).filled(0.0)
np.ma.masked_where(a > 0, a).filled(0.0)
np.ma.masked_array(a, k).astype(np.float32).filled(0.0)
np.asmatrix(m) * np.asmatrix(m)
np.asmatrix(a).sum(axis=0)
z.view(float)
a.item(3)
np.array(2.5 in a) | np.array(4 in n) | np.array(a[0] in a)
max(v)
""".strip().splitlines()
"""What `jit` and `vmap` cannot go through, since NumPy's text asks for values: an error that says so."""
NO_SLOPE: dict[str, str] = {
    "np.polymul(v, w[:3])": "zeros are trimmed off: values",
    "np.sum(a, dtype=np.float32)": "too coarse for the difference of two values",
    "a.astype(np.float32)": "the same",
    "np.std(a, axis=0, where=k)": "the deviation of one number is 0, where the root has no derivative",
    "np.nextafter(a, b)": "no derivative",
    "np.spacing(a)": "no derivative",
    "np.ma.masked_array(a, k).sum()": "masked arrays",
    "np.ma.masked_array(a, k).astype(np.float32).filled(0.0)": "the same",
    "np.asmatrix(m) * np.asmatrix(m)": "a subclass, whose memory lies still",
    "np.asmatrix(a).sum(axis=0)": "the same",
    "np.ma.masked_array(a, k).mean(axis=0).filled(0.0)": "masked arrays",
    "np.ma.masked_where(a > 0, a).filled(0.0)": "masked arrays",
    "a.item(3)": "Python's number",
}
