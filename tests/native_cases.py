"""Calls of NumPy's that are operations of the engine behind the NumPy door: (call, shapes of its arguments), by name.

`EXACT`: the interpreter calls NumPy's own function, and the results are the same bits. `CLOSE`: sums are rounded
otherwise. A call takes the library and its arrays. What is in `ROUGH` has no derivative that is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = Callable[..., Any]
Case = tuple[Call, tuple[tuple[int, ...], ...]]
M, S = (4, 4), (2, 3, 3)


def symmetric(xp: Any, a: Any) -> Any:
    return a + xp.swapaxes(a, -1, -2)


def positive(xp: Any, a: Any) -> Any:
    return a @ xp.swapaxes(a, -1, -2) + 2 * xp.eye(a.shape[-1])


FFT: dict[str, Case] = {
    "fft": (lambda xp, a: xp.fft.fft(a), ((3, 5),)),
    "fft axis": (lambda xp, a: xp.fft.fft(a, axis=0), ((3, 5),)),
    "fft longer": (lambda xp, a: xp.fft.fft(a, 8, norm="ortho"), ((3, 5),)),
    "fft shorter": (lambda xp, a: xp.fft.fft(a, 4, norm="forward"), ((3, 5),)),
    "fft turned": (lambda xp, a: xp.fft.fft(a.T), ((3, 5),)),
    "ifft": (lambda xp, a: xp.fft.ifft(a, norm="ortho"), ((6,),)),
    "rfft": (lambda xp, a: xp.fft.rfft(a), ((2, 7),)),
    "rfft even": (lambda xp, a: xp.fft.rfft(a, 4, norm="ortho"), ((6,),)),
    "irfft": (lambda xp, a: xp.fft.irfft(xp.fft.rfft(a), norm="forward"), ((6,),)),
    "irfft odd": (lambda xp, a: xp.fft.irfft(xp.fft.rfft(a), 7), ((7,),)),
    "hfft": (lambda xp, a: xp.fft.hfft(a), ((5,),)),
    "ihfft": (lambda xp, a: xp.fft.ihfft(a), ((6,),)),
    "fft2": (lambda xp, a: xp.fft.fft2(a), ((3, 4),)),
    "ifft2": (lambda xp, a: xp.fft.ifft2(a, norm="forward"), ((3, 4),)),
    "rfft2": (lambda xp, a: xp.fft.rfft2(a, norm="ortho"), ((3, 4),)),
    "irfft2": (lambda xp, a: xp.fft.irfft2(xp.fft.rfft2(a)), ((3, 4),)),
    "fftn": (lambda xp, a: xp.fft.fftn(a), ((2, 3, 4),)),
    "fftn of axes": (lambda xp, a: xp.fft.fftn(a, axes=(0, 2)), ((2, 3, 4),)),
    "fftn to sizes": (lambda xp, a: xp.fft.fftn(a, s=(4, 2), axes=(0, 1)), ((2, 3, 4),)),
    "ifftn": (lambda xp, a: xp.fft.ifftn(a), ((2, 3, 4),)),
    "rfftn": (lambda xp, a: xp.fft.rfftn(a), ((2, 3, 4),)),
    "irfftn": (lambda xp, a: xp.fft.irfftn(a), ((2, 3, 4),)),
    "shifts": (lambda xp, a: xp.fft.ifftshift(xp.fft.fftshift(xp.fft.fft(a))), ((5,),)),
    "filter": (lambda xp, a: xp.fft.irfft(xp.fft.rfft(a) * xp.exp(-xp.fft.rfftfreq(8))), ((8,),)),
}  # fmt: skip
LINALG: dict[str, Case] = {
    "solve": (lambda xp, a, b: xp.linalg.solve(a, b), (M, (4, 2))),
    "solve a vector": (lambda xp, a, b: xp.linalg.solve(a, b), (M, (4,))),
    "solve a stack": (lambda xp, a, b: xp.linalg.solve(a, b), (S, (3, 2))),
    "inv": (lambda xp, a: xp.linalg.inv(a), (S,)),
    "det": (lambda xp, a: xp.linalg.det(a), (M,)),
    "dets": (lambda xp, a: xp.linalg.det(a), (S,)),
    "slogdet": (lambda xp, a: xp.linalg.slogdet(a)[1], (M,)),
    "cholesky": (lambda xp, a: xp.linalg.cholesky(positive(xp, a)), (S,)),
    "eigh": (lambda xp, a: xp.linalg.eigh(symmetric(xp, a))[0], (M,)),
    "eigenspaces": (lambda xp, a: abs(xp.linalg.eigh(symmetric(xp, a), "U")[1]) ** 2, (M,)),
    "eigvalsh": (lambda xp, a: xp.linalg.eigvalsh(symmetric(xp, a)), (S,)),
    "eig": (lambda xp, a: abs(xp.linalg.eig(a)[0]) ** 2, (M,)),
    "eigvals": (lambda xp, a: xp.linalg.eigvals(positive(xp, a)).real, (M,)),
    "svd": (lambda xp, a: xp.linalg.svd(a, full_matrices=False)[1], ((3, 4),)),
    "svdvals": (lambda xp, a: xp.linalg.svdvals(a), ((4, 3),)),
    "singular spaces": (lambda xp, a: abs(xp.linalg.svd(a, full_matrices=False)[0]) ** 2, ((4, 3),)),
    "qr": (lambda xp, a: abs(xp.linalg.qr(a)[0]) ** 2, ((4, 3),)),
    "qr r": (lambda xp, a: abs(xp.linalg.qr(a, "r")), (M,)),
    "pinv": (lambda xp, a: xp.linalg.pinv(a), ((4, 3),)),
    "norm": (lambda xp, a: xp.linalg.norm(a), (M,)),
    "norm of rows": (lambda xp, a: xp.linalg.norm(a, axis=1), (M,)),
    "norm 1": (lambda xp, a: xp.linalg.norm(a, 1), (M,)),
    "norm 2": (lambda xp, a: xp.linalg.norm(a, 2), (M,)),
    "norm inf": (lambda xp, a: xp.linalg.norm(a, xp.inf, axis=0), (M,)),
    "norm nuc": (lambda xp, a: xp.linalg.norm(a, "nuc"), (M,)),
    "norm 3": (lambda xp, a: xp.linalg.norm(a[0], 3), (M,)),
    "vector_norm": (lambda xp, a: xp.linalg.vector_norm(a, axis=(0, 1)), (M,)),
    "matrix_norm": (lambda xp, a: xp.linalg.matrix_norm(a), (S,)),
    "cond": (lambda xp, a: xp.linalg.cond(a), (M,)),
    "cond 1": (lambda xp, a: xp.linalg.cond(a, 1), (M,)),
    "matrix_power": (lambda xp, a: xp.linalg.matrix_power(a, 3), (M,)),
    "matrix_power -2": (lambda xp, a: xp.linalg.matrix_power(a, -2), (M,)),
    "multi_dot": (lambda xp, a, b: xp.linalg.multi_dot([a, a, b]), (M, (4, 2))),
    "tensorsolve": (lambda xp, a, b: xp.linalg.tensorsolve(a.reshape(4, 2, 2), b), (M, (4,))),
    "tensorinv": (lambda xp, a: xp.linalg.tensorinv(a.reshape(4, 2, 2), 1), (M,)),
    "trace": (lambda xp, a: xp.trace(a), (M,)),
    "trace of a stack": (lambda xp, a: xp.trace(a, 1, 1, 2), (S,)),
    "trace below": (lambda xp, a: a.trace(-2), (M,)),
    "vecdot": (lambda xp, a, b: xp.vecdot(a, b), ((3, 4), (4,))),
    "matvec": (lambda xp, a, b: xp.matvec(a, b), (S, (3,))),
    "vecmat": (lambda xp, a, b: xp.vecmat(b, a), (S, (3,))),
    "kron": (lambda xp, a, b: xp.kron(a, b), ((2, 3), (3, 2))),
    "outer": (lambda xp, a, b: xp.outer(a, b), ((3,), (4,))),
}  # fmt: skip
REDUCTIONS: dict[str, Case] = {
    "max initial": (lambda xp, a: xp.max(a, axis=0, initial=0.25), ((4, 5),)),
    "min initial": (lambda xp, a: a.min(initial=0.25), ((4, 5),)),
    "max where": (lambda xp, a: xp.max(a, axis=1, initial=-9.0, where=a < 0.5), ((4, 5),)),
    "sum where row": (lambda xp, a: xp.sum(a, axis=0, where=xp.arange(5) % 2 == 0), ((4, 5),)),
    "any where": (lambda xp, a: xp.any(a > 1, axis=0, where=a < 2), ((4, 5),)),
    "all where": (lambda xp, a: (a > 0).all(where=a > -1), ((4, 5),)),
}
CLOSE: dict[str, Case] = {
    "sum where": (lambda xp, a: xp.sum(a, axis=1, where=a > 0), ((4, 5),)),
    "sum initial": (lambda xp, a: xp.sum(a, initial=2.0, keepdims=True), ((4, 5),)),
    "prod where": (lambda xp, a: xp.prod(a, where=a > 0), ((4, 5),)),
    "add.reduce": (lambda xp, a: xp.add.reduce(a, (0, 1), initial=3, where=a != 0), ((4, 5),)),
    "inner": (lambda xp, a, b: xp.inner(a, b), ((2, 3), (4, 3))),
    "vdot": (lambda xp, a, b: xp.vdot(a, b), (M, M)),
    "tensordot": (lambda xp, a, b: xp.tensordot(a, b, ((1, 0), (0, 1))), (M, M)),
    "einsum product": (lambda xp, a, b: xp.einsum("ij,jk->ik", a, b), (M, (4, 2))),
    "einsum turned": (lambda xp, a, b: xp.einsum("ij,jk->ki", a, b), (M, (4, 2))),
    "einsum implicit": (lambda xp, a, b: xp.einsum("ij,jk", a, b), (M, (4, 2))),
    "einsum sum": (lambda xp, a: xp.einsum("ijk->j", a), ((2, 3, 4),)),
    "einsum trace": (lambda xp, a: xp.einsum("ii", a), (M,)),
    "einsum diagonals": (lambda xp, a, b: xp.einsum("ii,ij->ij", a, b), (M, M)),
    "einsum stack": (lambda xp, a, b: xp.einsum("...ij,...jk->...ik", a, b), (S, (3, 3))),
    "einsum outer": (lambda xp, a, b: xp.einsum("i,j->ij", a, b), ((3,), (4,))),
    "einsum three": (lambda xp, a, b: xp.einsum("ij,jk,ik->i", a, b, a), (M, M)),
    "einsum best": (lambda xp, a, b: xp.einsum("ij,jk,kl->il", a, b, a, optimize=True), (M, M)),
    "einsum lists": (lambda xp, a, b: xp.einsum(a, [0, 1], b, [1, 2], [0, 2]), (M, M)),
    "einsum scalar": (lambda xp, a: xp.einsum("..., ...", 3, a), (M,)),
    "einsum diagonal view": (lambda xp, a: xp.einsum("...ii->i...", a) * 1, ((2, 3, 3),)),
    "einsum turn": (lambda xp, a: xp.einsum("ij->ji", a) * 2, (M,)),
}  # fmt: skip
UFUNCS: dict[str, Case] = {
    "add.accumulate": (lambda xp, a: xp.add.accumulate(a), ((4, 5),)),
    "accumulate turned": (lambda xp, a: xp.multiply.accumulate(a.T, axis=1), ((4, 5),)),
    "maximum.accumulate": (lambda xp, a: xp.maximum.accumulate(a, -1), ((4, 5),)),
    "accumulate into": (lambda xp, a: xp.add.accumulate(a, 0, None, xp.zeros((4, 5))), ((4, 5),)),
    "cumsum into": (lambda xp, a: xp.cumsum(a, out=xp.zeros(20)), ((4, 5),)),
    "multiply.outer": (lambda xp, a, b: xp.multiply.outer(a, b), ((2, 3), (4,))),
    "hypot.outer": (lambda xp, a, b: xp.hypot.outer(a, b), ((3,), (4,))),
    "subtract.outer": (lambda xp, a: xp.subtract.outer(a, 2.0), ((3,),)),
    "divmod": (lambda xp, a, b: xp.divmod(a, b)[1], ((4, 5), (5,))),
    "divmod operator": (lambda xp, a: divmod(a.T, 0.75)[1], ((4, 5),)),
    "modf": (lambda xp, a: xp.modf(3 * a)[0], ((4, 5),)),
    "modf whole": (lambda xp, a: xp.modf(3 * a)[1], ((4, 5),)),
    "frexp": (lambda xp, a: xp.frexp(3 * a)[0], ((4, 5),)),
    "frexp exponent": (lambda xp, a: xp.frexp(3 * a)[1], ((4, 5),)),
    "i0": (lambda xp, a: xp.i0(9 * a), ((4, 5),)),
}  # fmt: skip


def written(xp: Any, a: Any, key: Any, value: Any) -> Any:
    b = a * 1
    b[key] = value
    return b


INDEXING: dict[str, Case] = {
    "rows": (lambda xp, a: a[[2, 0, 2]], ((4, 5),)),
    "columns": (lambda xp, a: a[:, xp.array([4, -1, 0])], ((4, 5),)),
    "a matrix of indices": (lambda xp, a: a[xp.array([[0, 1], [3, -2]])], ((4, 5),)),
    "turned rows": (lambda xp, a: xp.take_along_axis(a, xp.argsort(a, axis=1)[:, ::-1], axis=1), ((4, 5),)),
    "every other index": (lambda xp, a: a[xp.arange(8).reshape(2, 4)[::-1, ::2] % 4], ((4, 5),)),
    "a grid": (lambda xp, a: a[xp.ix_([0, 2], [1, 1, 4])], ((4, 5),)),
    "pairs": (lambda xp, a: a[[0, 1, 3], [4, 0, -1]], ((4, 5),)),
    "rows of a mask": (lambda xp, a: a[xp.array([True, False, True, True])], ((4, 5),)),
    "columns of a mask": (lambda xp, a: a[1:, xp.arange(5) > 2], ((4, 5),)),
    "a number and indices": (lambda xp, a: a[1, :, [0, 2]], ((2, 3, 4),)),
    "write rows": (lambda xp, a, b: written(xp, a, [2, 0], b), ((4, 5), (2, 5))),
    "write columns": (lambda xp, a, b: written(xp, a, (slice(None), xp.array([4, 0])), b), ((4, 5), (4, 1))),
    "write twice": (lambda xp, a, b: written(xp, a, [1, 1, 2], b), ((4, 5), (3, 5))),
    "write a number": (lambda xp, a: written(xp, a, ([0, 1, 3], [4, 0, -1]), 7), ((4, 5),)),
    "write columns of a mask": (lambda xp, a, b: written(xp, a, (slice(None), xp.arange(5) > 2), b), ((4, 5), (4, 1))),
    "count_nonzero": (lambda xp, a: xp.asarray(xp.count_nonzero(a > 0.5)) * 1, ((4, 5),)),
    "searchsorted": (lambda xp, a, b: xp.searchsorted(xp.sort(a), b, "right"), ((9,), (3, 4))),
}  # fmt: skip
EXACT = {**FFT, **LINALG, **REDUCTIONS, **UFUNCS, **INDEXING}
ROUGH = {"any where", "all where", "modf whole", "frexp exponent", "count_nonzero", "searchsorted"}
