"""NumPy programs of one line or a few, to be differentiated, batched and jitted: `cases(np)` for NumPy or lazynp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

rng = numpy.random.default_rng(1)
A = rng.standard_normal((3, 3))
M = rng.standard_normal((4, 3))
V = rng.standard_normal(4)
S = A @ A.T + 3 * numpy.eye(3)
Cases = dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]


def writing(np: Any) -> Cases:
    """Writes, views, and numbers that are updated."""

    def recurrence(x: Any) -> Any:
        out = np.zeros(4)
        for i in range(4):
            out[i] = x[i] * 2 + (out[i - 1] if i else 0)
        return (out**2).sum()

    def views(x: Any) -> Any:
        x = x.copy()
        x[1:3] *= 2
        x += x[::-1]
        half = x[2:]
        half[...] = half * x[0]
        return (x * x).sum()

    def accumulated(x: Any) -> Any:
        s = 0.0
        for i in range(len(x)):
            s += x[i] ** 2
        t = s
        t += 1
        return s * t

    def number_of_its_own(x: Any) -> Any:
        s = x[0]
        u = s
        s += x[1]
        return u * s + x[0]

    def rectified(x: Any) -> Any:
        y = x * 1.0
        y[y < 0] = 0
        return (y**3).sum()

    def leaky(x: Any) -> Any:
        y = x * 1.0
        y[y < 0] *= 0.1
        return (y**3).sum()

    def rows(a: Any) -> Any:
        b = a * 1
        b[a[:, 0] > 0] *= a[0]
        b[a[:, 1] < 0] = a[1] * 2
        b[a[:, 2] > 0] = 0.5
        b[b > 1] -= a[0, 0]
        return (b**3).sum()

    def complex_parts(x: Any) -> Any:
        z = x + 1j * x[::-1] ** 2
        z.imag[0] = x[2]
        z.real *= 2
        z.imag += z.real
        part = z.real
        z[1] = x[3]
        part[2] += x[0]
        return (abs(z) ** 2).sum() + (part**2 * np.arange(4)).sum()

    def diagonal_view(a: Any) -> Any:
        b = a * 1
        d = np.einsum("ii->i", b)
        d *= a[0]
        b[0, 0] += 1
        return (b**2).sum() + (d**3).sum()

    def strided_view(x: Any) -> Any:
        y = x * 1
        every = np.lib.stride_tricks.as_strided(y, (2,), (16,))
        every[0] = x[1]
        return (y**2 * np.arange(4)).sum() + every[1]

    def selected(x: Any) -> Any:
        y = np.zeros(4)
        y[x > 0] = x[x > 0] * 2
        return (y * x).sum()

    def scattered(x: Any) -> Any:
        y = np.zeros(5)
        y[[1, 3]] = x[:2]
        y[np.array([0])] = x[3]
        return (y**2).sum()

    def swapped(a: Any) -> Any:
        b = a.copy()
        b[[0, 1]] = b[[1, 0]]
        return (b * np.arange(9.0).reshape(3, 3)).sum()

    def diagonals(x: Any) -> Any:
        a = np.zeros((4, 4))
        np.fill_diagonal(a, x[0])
        a.flat[1] = x[1]
        a.T[2, 3] = x[2]
        return (a**2).sum() + (np.eye(4) * x).sum()

    def added_at(x: Any) -> Any:
        a = np.zeros(3)
        np.add.at(a, [0, 1, 1, 2], x)
        return (a**2).sum()

    def put(x: Any) -> Any:
        y = x * 2
        np.put(y, [0, 1], x[2:])
        np.copyto(y, x, where=[True, False, False, False])
        y.sort()
        return (y**2 * np.arange(4)).sum()

    def out(x: Any) -> Any:
        o, p = np.empty(4), np.empty((3, 3))
        np.multiply(x, x, out=o)
        np.add(o[::2], 1, out=o[::2])
        np.matmul(x[:3, None], x[None, 1:], out=p)
        return (o**2).sum() + (p**2).sum()

    def filled(x: Any) -> Any:
        a = np.empty((2, 2))
        a.fill(x[0])
        b = np.full((2, 2), x[1])
        b[:, 0] += a[0]
        return (a * b).sum() + (np.full_like(x, x[2]) * x).sum()

    return (
        {
            f.__name__: (f, (V,))
            for f in (
                recurrence,
                views,
                accumulated,
                number_of_its_own,
                rectified,
                leaky,
                selected,
                scattered,
                diagonals,
            )
        }
        | {f.__name__: (f, (V,)) for f in (added_at, put, out, filled)}
        | {f.__name__: (f, (V,)) for f in (complex_parts, strided_view)}
        | {f.__name__: (f, (A,)) for f in (swapped, rows, diagonal_view)}
    )


def elementary(np: Any) -> Cases:
    """Elementwise functions, reductions, indices."""
    f: dict[str, Callable[..., Any]] = {
        "sin": lambda x: np.sum(np.sin(x) * x),
        "operators": lambda x: ((x * 2 + 1) / (x**2 + 3) - x).sum() + (2.0**x).sum() + abs(-x).sum(),
        "items": lambda x: x[0] * x[1] + x[-1] ** 2 + x[1:].prod(),
        "branch": lambda x: x.sum() * 2 if x[0] > 0 else x.sum() * 3,
        "mask": lambda x: (x[x > 0] ** 2).sum(),
        "fancy": lambda x: (x[[0, 2, 2]] ** 2).sum() + (x[np.array([[0], [1]])] * x).sum(),
        "where": lambda x: np.where(x > 0, x, x**2).sum() + np.where(x > 0, [1.0, 2, 3, 4], x).sum(),
        "array": lambda x: (np.array([x[0], x[1] * x[2], 1.0]) ** 2).sum() + np.array([[x[0]], [2]]).sum(),
        "stack": lambda x: (np.stack([x, x * 2]) ** 2).sum() + (np.vstack([x, [1, 2, 3, 4]]) ** 2).sum(),
        "concatenate": lambda x: (np.concatenate([x, [1.0, 2.0], x * 2]) ** 2).sum(),
        "hstack": lambda x: (np.hstack([x, 1.0, x[0]]) ** 2).sum(),
        "cumulative": lambda x: (np.cumsum(x) ** 2).sum() + np.cumprod(x).sum() + (x.cumsum() ** 2).sum(),
        "sort": lambda x: (np.sort(x) * np.arange(4)).sum() + np.max(x) * np.min(x),
        "argsort": lambda x: (x[np.argsort(x)] * np.arange(4)).sum(),
        "extrema": lambda x: x[np.argmax(x)] * x[x.argmin()],
        "clip": lambda x: (np.clip(x, -0.5, 0.5) ** 2).sum() + (x.clip(0) ** 2).sum() + np.maximum(x, 0).sum(),
        "reductions": lambda x: np.sum(x, where=[True, False, True, True]) + np.max(x, initial=-9.0) + np.add.reduce(x),
        "ufunc methods": lambda x: np.maximum.accumulate(x).sum() + np.multiply.outer(x, x).sum(),
        "log-sum-exp": lambda x: np.log(np.sum(np.exp(x - np.max(x)))) + np.logaddexp.reduce(x),
        "nans": lambda x: np.nansum(x) + np.nanmean(x) + np.nanmax(x) + np.nanstd(x) + np.nan_to_num(x).sum(),
        "nan ranks": lambda x: np.nanmedian(x) + np.nanpercentile(x, [10, 45]).sum() + np.nanmin(x) * np.nanvar(x),
        "ranks": lambda x: np.quantile(x, 0.3) + np.percentile(x, [10, 50]).sum() + np.median(x),
        "parts": lambda x: np.modf(x * 3)[0].sum() + divmod(x, 0.3)[1].sum() + np.remainder(x, 0.7).sum(),
        "angles": lambda x: np.hypot(x, 2).sum() + np.arctan2(x, 1 + x * x).sum() + np.sinc(x).sum(),
        "steps": lambda x: np.sign(x).sum() + np.round(x).sum() + (np.floor(x) * x).sum(),
        "complex": lambda x: np.abs(np.exp(1j * x) * (1 + 2j)).sum() + ((x + 1j * x**2).imag ** 2).sum(),
        "angle": lambda x: np.angle(1 + 1j * x).sum() + ((1j * x + x).real ** 2).sum(),
        "iteration": lambda x: sum(e**2 for e in x) + sum(e * 2 for e in x.flat),
        "python": lambda x: max(x[0], x[1]) * sum(x) + (x[0] and x[1]),
        "average": lambda x: np.average(x, weights=x**2 + 1) + np.mean(x) ** 2 + np.var(x) + x.std(ddof=1),
        "cov": lambda x: np.cov(np.outer(x, x)).sum() + np.ptp(x),
        "cast": lambda x: (x.astype(np.float32).astype(float) ** 2).sum() * 0 + x.astype(complex).real.sum(),
        "searched": lambda x: (np.digitize(x, [0.0]) * x).sum() + (np.searchsorted([0.0, 1.0], x) * x).sum(),
        "unique": lambda x: (np.unique(x) ** 2).sum(),
        "counted": lambda x: np.count_nonzero(x > 0) * (x**2).sum(),
        "place": lambda x: (np.unravel_index(np.argmax(x), (2, 2))[1] * x).sum(),
        "small numbers": lambda x: np.where(np.arange(4, dtype="u1") < 300, x, 0).sum() + x[0],
    }
    moments = {
        f"{name} {axis}": (lambda x, n=name, a=axis: (getattr(np, n)(x, axis=a) ** 2).sum(), (M,))
        for name in ("mean", "std", "var", "prod", "max", "min", "ptp", "median", "sum")
        for axis in (None, 0)
    }
    return {k: (v, (V,)) for k, v in f.items()} | moments


def shapes(np: Any) -> Cases:
    """Views, joining, taking."""
    f: dict[str, Callable[..., Any]] = {
        "reshape": lambda x: (x.reshape(2, 2).T.ravel() * np.arange(4)).sum() + x.reshape(-1, 1)[0, 0],
        "Fortran": lambda x: (
            (x.reshape(2, 2, order="F")[0] ** 2).sum() + (x.reshape(2, 2).ravel("F") * np.arange(4)).sum()
        ),
        "roll": lambda x: (
            (np.roll(x, 1) * x).sum() + (np.flip(x) * x).sum() + (np.rot90(x.reshape(2, 2))[0] ** 2).sum()
        ),
        "repeat": lambda x: (
            (np.tile(x, 2) ** 2).sum() + (np.repeat(x, [1, 2, 1, 0]) ** 2).sum() + np.repeat(x, 2).sum()
        ),
        "pad": lambda x: (np.pad(x, 1) ** 2).sum() + (np.pad(x, 1, mode="edge") ** 2).sum(),
        "diff": lambda x: (
            (np.diff(x) ** 2).sum() + (np.gradient(x) ** 2).sum() + np.trapezoid(x * x) + np.ediff1d(x)[0]
        ),
        "broadcast": lambda x: (
            (np.broadcast_to(x, (3, 4)) ** 2).sum() + sum((b**2).sum() for b in np.broadcast_arrays(x, np.ones((2, 1))))
        ),
        "meshgrid": lambda x: (np.meshgrid(x, x)[0] * np.meshgrid(x, x)[1] ** 2).sum(),
        "take": lambda x: (np.take(x, [0, 1, 1]) ** 2).sum() + x.take(2) + (np.delete(x, 1) ** 2).sum(),
        "along": lambda x: (np.take_along_axis(x, np.argsort(x), 0) * np.arange(4)).sum(),
        "compress": lambda x: (np.compress([True, False, True, True], x) ** 2).sum(),
        "choose": lambda x: np.choose([0, 1, 0, 1], [x, x * x]).sum(),
        "select": lambda x: np.select([x > 0.5, x < 0], [x**2, x**3]).sum(),
        "squeeze": lambda x: (np.squeeze(np.expand_dims(x, 0)) ** 2).sum() + (np.atleast_2d(x) ** 2).sum(),
        "axes": lambda x: (
            (np.moveaxis(np.ones((2, 4)) * x, 0, 1) ** 2).sum() + np.swapaxes(np.ones((2, 4)) * x, 0, 1)[1].sum()
        ),
        "block": lambda x: (np.block([[x], [x * 2]]) ** 2).sum() + sum((p**2).sum() for p in np.split(x, 2)),
        "insert": lambda x: (
            (np.insert(x, 1, x[0]) ** 2).sum() + (np.append(x, x[1]) ** 2).sum() + np.resize(x, 6).sum()
        ),
        "windows": lambda x: (np.lib.stride_tricks.sliding_window_view(x, 2).prod(-1) ** 2).sum(),
        "linspace": lambda x: (np.linspace(x[0], x[1], 5) ** 2).sum(),
        "convolve": lambda x: (np.convolve(x, [1.0, 2.0, 3.0]) ** 2).sum() + (np.convolve(x, x, "same") ** 2).sum(),
        "correlate": lambda x: (np.correlate(x, x[:2]) ** 2).sum(),
        "interp": lambda x: (
            np.interp(x, [-2.0, 0.0, 2.0], [1.0, 3.0, -1.0]).sum()
            + np.interp([0.1, -0.3], [-2.0, 0.0, 2.0], x[:3]).sum()
        ),
        "bincount": lambda x: (np.bincount([0, 1, 1, 2], weights=x) ** 2).sum(),
        "fit": lambda x: (np.polyfit(np.arange(4), x, 2) ** 2).sum() + (np.polyfit([0, 1, 2], x[:3], 1) ** 2).sum(),
        "product of polynomials": lambda x: (np.polymul(x[:3], x[1:]) ** 2).sum(),
        "polynomial": lambda x: np.polyval(x, 2.0) + np.polyval([1.0, 2.0, 3.0], x).sum(),
        "piecewise": lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda z: -z, lambda z: z**2]).sum(),
        "vectorize": lambda x: np.vectorize(lambda a: a * a)(x).sum(),
        "unwrap": lambda x: np.unwrap(x).sum(),
    }
    rows = {"apply_along_axis": (lambda m: np.apply_along_axis(lambda r: (r**2).sum(), 0, m).sum(), (M,))}
    return {k: (v, (V,)) for k, v in f.items()} | rows


def algebra(np: Any) -> Cases:
    """Products, matrices, Fourier transforms."""
    la = np.linalg
    return {
        "dot": (lambda x, m: (x @ m @ m.T @ x) + np.dot(x, x) + np.dot(m.T, x).sum(), (V, M)),
        "einsum": (lambda m: np.einsum("ij,ik->jk", m, m).sum() + np.einsum("ij->", m * m), (M,)),
        "products": (
            lambda x: (
                np.outer(x, x * 2).sum() + np.inner(x, x) + np.vdot(x, x) + np.tensordot(x, x, 1) + np.kron(x, x)[1]
            ),
            (V,),
        ),
        "cross": (lambda x: (np.cross(x[:3], x[1:]) ** 2).sum(), (V,)),
        "diag": (
            lambda a: np.diag(a).sum() * np.trace(a) + (np.diag(np.diag(a)) ** 2).sum() + np.diagonal(a, 1).sum(),
            (A,),
        ),
        "triangles": (lambda a: (np.triu(a) ** 2).sum() + (np.tril(a, -1) ** 3).sum(), (A,)),
        "inv": (lambda a: (la.inv(a) ** 2).sum(), (S,)),
        "solve": (lambda a, b: (la.solve(a, b) ** 2).sum() + (la.solve(a, a @ a) ** 2).sum(), (S, V[:3])),
        "det": (lambda a: la.det(a) + la.slogdet(a)[1], (S,)),
        "cholesky": (lambda a: (la.cholesky((a + a.T) / 2) ** 2)[1].sum(), (S,)),
        "eigh": (lambda a: (la.eigh(a + a.T)[0] ** 3).sum() + (la.eigvalsh(a + a.T) ** 3).sum(), (S,)),
        "svd": (lambda a: (la.svd(a, compute_uv=False) ** 3).sum(), (S,)),
        "cond": (lambda a: la.cond(a) + la.cond(a, 1) + la.cond(a, "fro"), (S,)),
        "norm": (lambda a: la.norm(a) + la.norm(a[0]) + la.norm(a, 2) + la.norm(a, axis=1).sum(), (S,)),
        "pinv": (lambda a: (la.pinv(a) ** 2).sum(), (M,)),
        "qr": (lambda a: (la.qr(a)[1] ** 3).sum() + (la.qr(a)[0] ** 3).sum(), (M,)),
        "lstsq": (lambda a, b: (la.lstsq(a, b, rcond=None)[0] ** 3).sum(), (M, V)),
        "matrix_power": (lambda a: la.matrix_power(a, 3).sum(), (S,)),
        "fft": (lambda x: (np.abs(np.fft.fft(x)) ** 2).sum() + (np.fft.rfft(x).real ** 2).sum(), (V,)),
        "irfft": (
            lambda x: (np.fft.irfft(np.fft.rfft(x) * 2) ** 3).sum() + (np.fft.irfft(np.fft.rfft(x), 3) ** 3).sum(),
            (V,),
        ),
        "ifft": (
            lambda x: (np.fft.ifft(x).imag ** 2).sum() + (np.fft.fft2(np.outer(x, x)).real ** 2).sum() * 1e-2,
            (V[:3],),
        ),
    }


def cases(np: Any) -> Cases:
    return {**writing(np), **elementary(np), **shapes(np), **algebra(np)}
