"""Cases, as in `op_cases`, of ops that are one library call: indexing, order, contraction, linear algebra, Fourier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from op_cases import E_, Arrays, Case, complexes, ints, mixed, reals

from lazynp.graph.node import Node, leaf
from lazynp.graph.op import results
from lazynp.ops import contraction, fft, indexing, linalg, signals, sorting
from lazynp.ops.einsum import einsum

# Indexing and order.


def indices(shape_: tuple[int, ...], n: int) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: (rng.integers(-n, n, shape_),)


def scattered(mode: str, repeated: bool, twin: str | None = None) -> Case:
    def build(x: Any, v: Any, i: Any) -> Any:
        return indexing.scatter(x, v, i, axes=(1,), at=1, bounds="raise", mode=mode)

    def index(rng: np.random.Generator) -> Arrays:
        return (np.array([2, 0, 2, 2]) if repeated else np.array([3, 0, -1, 1]),)

    return Case(
        f"scatter {mode} {'repeated' if repeated else 'distinct'}",
        build,
        mixed(reals((2, 5), (2, 4)), index),
        twin
        and (lambda jax, jnp, x, v, i: getattr(x.at[:, i], twin)(v, **({} if repeated else {"unique_indices": True}))),
    )


def starts() -> Node:
    return leaf((3,), np.dtype(np.intp), np.array([1, 2, 5]))


TAKEN = {"axes": (0, 2), "at": 0, "bounds": "raise"}
INDEXING_CASES = [
    Case(
        "gather one axis",
        lambda x, i: indexing.take(x, i, 1),
        mixed(reals((2, 3, 2)), indices((2, 2), 3)),
        lambda jax, jnp, x, i: x[:, i],
    ),
    Case(
        "gather apart",
        lambda x, i, j: indexing.gather(x, i, j, **TAKEN),
        mixed(reals((3, 2, 4)), indices((2, 1), 3), indices((3,), 4)),
        lambda jax, jnp, x, i, j: x[i, :, j],
    ),
    Case(
        "gather at 1",
        lambda x, i, j: indexing.gather(x, i, j, axes=(1, 2), at=1, bounds="raise"),
        mixed(reals((3, 2, 4)), indices((2,), 2), indices((), 4)),
        lambda jax, jnp, x, i, j: x[:, i, j],
    ),
    Case(
        "gather in place of the second",
        lambda x, i: indexing.gather(x, i, axes=(0,), at=1, bounds="raise"),
        mixed(reals((3, 2)), indices((2, 2), 3)),
        lambda jax, jnp, x, i: jnp.moveaxis(x[i], 2, 0),
    ),
    *[
        Case(
            f"gather {b}",
            lambda x, i, b=b: indexing.take(x, i, 0, b),
            lambda rng: (rng.random((3, 2)), np.array([1, 7, -9, -1])),
            lambda jax, jnp, x, i, m=m: (
                jnp.take(x, i, 0, mode=m, **({"fill_value": 0.0} if m == "fill" else {})) if m else None
            ),
        )
        for b, m in (("wrap", "wrap"), ("zero", "fill"))
    ],
    Case(
        "gather clip",
        lambda x, i: indexing.take(x, i, 0, "clip"),
        lambda rng: (rng.random((3, 2)), np.array([1, 7, -9])),
    ),
    Case(
        "take_along_axis",
        lambda x, i: indexing.take_along_axis(x, i, 1),
        mixed(reals((3, 4)), indices((3, 2), 4)),
        lambda jax, jnp, x, i: jnp.take_along_axis(x, i, 1),
    ),
    Case(
        "put_along_axis",
        lambda x, i, v: indexing.put_along_axis(x, i, v, 1),
        mixed(reals((3, 4)), indices((3, 1), 4), reals((3, 1))),
        lambda jax, jnp, x, i, v: jnp.put_along_axis(x, i, v, 1, inplace=False),
    ),
    Case(
        "put",
        lambda x, i, v: indexing.put(x, i, v),
        mixed(reals((2, 3)), lambda rng: (np.array([4, 0]),), reals((2,))),
        lambda jax, jnp, x, i, v: x.ravel().at[i].set(v).reshape(2, 3),
    ),
    scattered("set", False, "set"),
    scattered("set", True),
    scattered("add", False, "add"),
    scattered("add", True, "add"),
    scattered("multiply", False, "multiply"),
    scattered("multiply", True),
    scattered("min", False, "min"),
    scattered("max", True, "max"),
    Case(
        "scatter apart",
        lambda x, v, i, j: indexing.scatter(x, v, i, j, **TAKEN, mode="add"),
        mixed(reals((3, 2, 4), (3, 2)), indices((3,), 3), indices((), 4)),
        lambda jax, jnp, x, v, i, j: x.at[i, :, j].add(v),
    ),
    Case(
        "scatter drop",
        lambda x, v, i: indexing.scatter(x, v, i, axes=(0,), at=0, bounds="drop", mode="set"),
        lambda rng: (rng.random((3, 2)), rng.random((3, 2)), np.array([1, 9, 0])),
        lambda jax, jnp, x, v, i: x.at[i].set(v, mode="drop"),
    ),
    Case(
        "scatter drop add",
        lambda x, v, i: indexing.scatter(x, v, i, axes=(1,), at=1, bounds="drop", mode="add"),
        lambda rng: (rng.random((2, 3)), rng.random((2, 3)), np.array([1, 9, 1])),
        lambda jax, jnp, x, v, i: x.at[:, i].add(v, mode="drop"),
    ),
    Case(
        "scatter scalar",
        lambda x, v, i: indexing.scatter(x, v, i, axes=(0,), at=0, bounds="raise", mode="set"),
        mixed(reals((3, 2), ()), indices((), 3)),
        lambda jax, jnp, x, v, i: x.at[i].set(v),
    ),
    Case("sort", lambda x: sorting.sort(x, axis=0, kind=None), reals((4, 2)), lambda jax, jnp, x: jnp.sort(x, axis=0)),
    Case(
        "argsort",
        lambda x: sorting.argsort(x, axis=1, kind="stable"),
        reals((2, 4)),
        lambda jax, jnp, x: jnp.argsort(x, 1),
        order=0,
    ),
    Case(
        "arglargest",
        lambda x: sorting.arglargest(x, axis=1, k=2),
        reals((2, 4)),
        lambda jax, jnp, x: jax.lax.top_k(x, 2)[1],
        order=0,
    ),
    Case("partition", lambda x: sorting.partition(x, axis=1, kth=(2,)), reals((2, 5))),
    Case("argpartition", lambda x: sorting.argpartition(x, axis=1, kth=(1,)), reals((2, 5)), order=0),
    Case(
        "searchsorted",
        lambda a, v: sorting.searchsorted(a, v, side="right", stack=0),
        lambda rng: (np.sort(rng.random(5)), rng.random((2, 3))),
        order=0,
    ),
    Case(
        "interp",
        signals.interp,
        lambda rng: (rng.uniform(-0.2, 1.4, (2, 3)), np.sort(rng.random(5)) + np.arange(5) / 20, rng.random(5)),
        lambda jax, jnp, x, grid, values: jnp.interp(x, grid, values),
    ),
    Case(
        "interp complex",
        signals.interp,
        lambda rng: (
            rng.uniform(-0.2, 1.4, (2, 3)),
            np.sort(rng.random(5)) + np.arange(5) / 20,
            rng.random(5) + 1j * rng.random(5),
        ),
        lambda jax, jnp, x, grid, values: jnp.interp(x, grid, values),
    ),
    *[
        Case(
            f"correlate {mode}",
            lambda a, v, mode=mode: signals.correlate(a, v, mode=mode),
            reals((7,), (3,)),
            lambda jax, jnp, a, v, mode=mode: jnp.correlate(a, v, mode),
        )
        for mode in ("valid", "same", "full")
    ],
    Case("correlate even", lambda a, v: signals.correlate(a, v, mode="same"), complexes((6,), (4,))),
    Case(
        "bincount",
        lambda x, w: signals.bincount(x, w, n=6),
        mixed(ints((8,), low=0), reals((8,))),
        lambda jax, jnp, x, w: jnp.bincount(x, w, length=6),
    ),
    Case(
        "tally",
        lambda e, x: signals.tally(sorting.sort(e, axis=0, kind=None), x, even=False),
        reals((6,), (8,)),
        lambda jax, jnp, e, x: jnp.histogram(x, jnp.sort(e))[0],
        order=0,
    ),
    Case("counts", lambda x: signals.counts(x, n=7), ints((8,), low=0), order=0),
    *[
        Case(
            f"reduceat {name}",
            lambda x, name=name: signals.reduceat(x, starts(), name=name, axis=1),
            reals((2, 7), low=0.5),
        )
        for name in ("add", "multiply", "maximum", "minimum")
    ],
    Case("packbits", lambda x: signals.packbits(x, axis=1, order="big"), ints((2, 11), low=0, high=2), order=0),
    Case(
        "unpackbits",
        lambda x: signals.unpackbits(x, axis=0, order="little", n=13),
        lambda rng: (rng.integers(0, 256, (2, 3)).astype(np.uint8),),
        order=0,
    ),
    Case("lexsort", lambda a, b: sorting.lexsort([a, b], 0), ints((6,), (6,), low=0, high=3), order=0),
]

# Contractions.


def product(name: str, *shapes: tuple[int, ...], complex_: bool = False) -> Case:
    return Case(
        f"{name} {shapes}{' complex' * complex_}",
        getattr(contraction, name),
        (complexes if complex_ else reals)(*shapes),
        lambda jax, jnp, a, b: getattr(jnp, name)(a, b),
    )


def sums(text: str, *shapes: tuple[int, ...]) -> Case:
    return Case(
        f"einsum {text}", lambda *x: einsum(text, *x), reals(*shapes), lambda jax, jnp, *x: jnp.einsum(text, *x)
    )


CONTRACTION_CASES = [
    product("matmul", (2, 3), (3, 4)),
    product("matmul", (3,), (3,)),
    product("matmul", (3,), (3, 2)),
    product("matmul", (2, 3), (3,)),
    product("matmul", (2, 1, 2, 3), (4, 3, 2)),
    product("matmul", (2, 2, 3), (3,)),
    product("matmul", (3,), (2, 3, 2)),
    product("matmul", (2, 3), (3, 2), complex_=True),
    product("vecdot", (2, 1, 3), (4, 3)),
    product("vecdot", (2, 3), (3,), complex_=True),
    Case("inner1d", contraction.inner1d, reals((2, 1, 3), (4, 3)), lambda jax, jnp, a, b: jnp.vecdot(a, b)),
    product("matvec", (2, 3, 4), (4,)),
    product("matvec", (3, 4), (2, 4), complex_=True),
    product("vecmat", (3,), (2, 3, 4)),
    product("vecmat", (2, 3), (3, 2), complex_=True),
    product("dot", (2, 3), (4, 3, 2)),
    product("inner", (2, 3), (4, 3)),
    product("outer", (2, 3), (2,)),
    product("vdot", (2, 3), (2, 3), complex_=True),
    Case(
        "tensordot",
        lambda a, b: contraction.tensordot(a, b, (0, 2), (1, 0)),
        reals((2, 3, 4), (4, 2, 3)),
        lambda jax, jnp, a, b: jnp.tensordot(a, b, ((0, 2), (1, 0))),
    ),
    Case(
        "dot_general",
        lambda a, b: contraction.dot_general(a, b, ((1,), (2,)), ((0,), (0,))),
        reals((2, 3, 4), (2, 2, 3)),
        lambda jax, jnp, a, b: jax.lax.dot_general(a, b, (((1,), (2,)), ((0,), (0,)))),
    ),
    sums("ij,jk->ik", (2, 3), (3, 4)),
    sums("ii->i", (3, 3)),
    sums("ijj->i", (2, 3, 3)),
    sums("ij->", (2, 3)),
    sums("ij->ji", (2, 3)),
    sums("i,j", (2,), (3,)),
    sums("bij,bjk,kl->bil", (2, 2, 3), (2, 3, 2), (2, 3)),
    sums("...i,...i->...", (2, 3), (4, 1, 3)),
    sums("ij,ij->ij", (2, 3), (2, 3)),
    sums("ij,ij->", (2, 3), (2, 3)),
    sums("ijk,k,j->i", (2, 3, 2), (2,), (3,)),
]

# Linear algebra and Fourier transforms.


def well(n: int, stack: tuple[int, ...] = (), complex_: bool = False) -> Callable[[np.random.Generator], Arrays]:
    """Matrices far from singular, with eigenvalues and singular values apart."""

    def make(rng: np.random.Generator) -> Arrays:
        a = rng.uniform(-0.4, 0.4, (*stack, n, n)) + np.diag(np.arange(1, n + 1) * 1.5)
        return (a + 1j * rng.uniform(-0.3, 0.3, a.shape) if complex_ else a,)

    return make


def spd(n: int, stack: tuple[int, ...] = (), complex_: bool = False) -> Callable[[np.random.Generator], Arrays]:
    """Symmetric (Hermitian) and positive definite."""

    def make(rng: np.random.Generator) -> Arrays:
        (a,) = well(n, stack, complex_)(rng)
        return (a @ np.conj(np.swapaxes(a, -1, -2)),)

    return make


def lower_only(x: Any) -> Any:
    """The symmetric matrix of the lower triangle: what NumPy reads."""
    return linalg.hermitian(x)


def many(build: Callable[..., Any], *which: int) -> Callable[..., Any]:
    return lambda *x: [results(build(*x))[i] for i in which]


def sym(jnp: Any, a: Any) -> Any:
    return jnp.tril(a) + jnp.conj(jnp.swapaxes(jnp.tril(a, -1), -1, -2))


def plain(name: str, make: Any, title: str = "") -> Case:
    return Case(f"{name} {title}", getattr(linalg, name), make, lambda jax, jnp, *x: getattr(jnp.linalg, name)(*x))


def size2(x: Any) -> Any:
    """|x|²: of eigenvectors and singular vectors what does not depend on their phase."""
    return E_.add(E_.square(E_.real(x)), E_.square(E_.imag(x))) if x.dtype.kind == "c" else E_.square(x)


def svd_sizes(a: Any, full: bool) -> list[Any]:
    u, s, vh = results(linalg.svd(a, full_matrices=full))
    return [size2(u), s, size2(vh)]


LINALG_CASES = [
    plain("solve", mixed(well(3), reals((3,))), "vector"),
    plain("solve", mixed(well(3, (2,)), reals((3, 2))), "stack"),
    plain("solve", mixed(well(2, (), True), complexes((2, 2))), "complex"),
    plain("inv", well(3, (2,))),
    plain("inv", well(2, (), True), "complex"),
    plain("det", well(3)),
    plain("det", well(2, (2,), True), "complex"),
    plain("det", well(4), "of four rows"),
    Case("cofactors", linalg.cofactors_op, well(4, (2,))),
    Case("slogdet", many(linalg.slogdet, 0, 1), well(3), lambda jax, jnp, a: tuple(jnp.linalg.slogdet(a))),
    Case(
        "slogdet complex",
        many(linalg.slogdet, 0, 1),
        well(2, (), True),
        lambda jax, jnp, a: tuple(jnp.linalg.slogdet(a)),
    ),
    Case(
        "cholesky",
        lambda a: linalg.cholesky(a, upper=False),
        spd(3, (2,)),
        lambda jax, jnp, a: jnp.linalg.cholesky(sym(jnp, a)),
    ),
    Case(
        "cholesky upper",
        lambda a: linalg.cholesky(lower_only(a), upper=True),
        spd(3),
        lambda jax, jnp, a: jnp.linalg.cholesky(sym(jnp, a), upper=True),
    ),
    Case(
        "cholesky complex",
        lambda a: linalg.cholesky(lower_only(a), upper=False),
        spd(2, (), True),
        lambda jax, jnp, a: jnp.linalg.cholesky(sym(jnp, a)),
    ),
    *[
        Case(
            f"triangular_solve {low} {unit}",
            lambda a, b, low=low, unit=unit: linalg.triangular_solve(a, b, lower=low, unit=unit),
            mixed(well(3), reals((3, 2))),
            lambda jax, jnp, a, b, low=low, unit=unit: jax.scipy.linalg.solve_triangular(
                a, b, lower=low, unit_diagonal=unit
            ),
        )
        for low in (False, True)
        for unit in (False, True)
    ],
    Case(
        "qr tall",
        many(lambda a: linalg.qr(a, mode="reduced"), 0, 1),
        reals((4, 2)),
        lambda jax, jnp, a: tuple(jnp.linalg.qr(a)),
    ),
    Case(
        "qr wide",
        many(lambda a: linalg.qr(a, mode="reduced"), 0, 1),
        mixed(lambda rng: (np.hstack([*well(2)(rng), rng.random((2, 1))]),)),
    ),
    Case("qr complete", many(lambda a: linalg.qr(a, mode="complete"), 0, 1), well(3)),
    Case(
        "qr complex",
        many(lambda a: linalg.qr(a, mode="reduced"), 0, 1),
        well(2, (2,), True),
        lambda jax, jnp, a: tuple(jnp.linalg.qr(a)),
    ),
    Case(
        "eigh",
        many(lambda a: linalg.eigh(lower_only(a), UPLO="L"), 0),
        spd(3, (2,)),
        lambda jax, jnp, a: jnp.linalg.eigh(sym(jnp, a))[0],
    ),
    Case(
        "eigh vectors",
        lambda a: size2(results(linalg.eigh(a, UPLO="L"))[1]),
        spd(3),
        lambda jax, jnp, a: jnp.abs(jnp.linalg.eigh(sym(jnp, a))[1]) ** 2,
    ),
    Case("eigh upper", lambda a: results(linalg.eigh(a, UPLO="U"))[0], spd(3)),
    Case(
        "eigh complex",
        lambda a: [f(r) for f, r in zip((lambda w: w, size2), results(linalg.eigh(lower_only(a), UPLO="L")))],
        spd(2, (), True),
        lambda jax, jnp, a: (jnp.linalg.eigh(sym(jnp, a))[0], jnp.abs(jnp.linalg.eigh(sym(jnp, a))[1]) ** 2),
    ),
    Case(
        "eigvalsh", lambda a: linalg.eigvalsh(a, UPLO="L"), spd(3), lambda jax, jnp, a: jnp.linalg.eigvalsh(sym(jnp, a))
    ),
    Case("eig", lambda a: [f(r) for f, r in zip((lambda w: w, size2), results(linalg.eig(a)))], well(3)),
    Case("eigvals", linalg.eigvals, well(3, (2,))),
    Case("eigvals complex", linalg.eigvals, well(2, (), True)),
    Case(
        "svd",
        lambda a: svd_sizes(a, False),
        mixed(lambda rng: (np.vstack([*well(2)(rng), rng.random((1, 2))]),)),
        lambda jax, jnp, a: tuple(
            [f(x) for f, x in zip((jnp.square, lambda s: s, jnp.square), jnp.linalg.svd(a, full_matrices=False))]
        ),
    ),
    Case(
        "svd wide", lambda a: svd_sizes(a, False), mixed(lambda rng: (np.hstack([*well(2)(rng), rng.random((2, 1))]),))
    ),
    Case("svd square", lambda a: svd_sizes(a, True), well(3, (2,))),
    Case("svd complex", lambda a: svd_sizes(a, False), well(2, (), True)),
    Case("svdvals", linalg.svdvals, reals((3, 2)), lambda jax, jnp, a: jnp.linalg.svdvals(a)),
    Case("pinv tall", linalg.pinv, reals((4, 2)), lambda jax, jnp, a: jnp.linalg.pinv(a)),
    Case("pinv wide", linalg.pinv, reals((2, 2, 3)), lambda jax, jnp, a: jnp.linalg.pinv(a)),
    Case(
        "lstsq",
        many(lambda a, b: linalg.lstsq(a, b, rcond=None), 0, 2),
        reals((4, 2), (4, 3)),
        lambda jax, jnp, a, b: (jnp.linalg.lstsq(a, b)[0], jnp.linalg.lstsq(a, b)[3]),
    ),
    Case("lstsq wide", many(lambda a, b: linalg.lstsq(a, b, rcond=None), 0), reals((2, 4), (2, 1)), batch=False),
]


def transform(name: str, n: int, m: int, norm: str, complex_: bool) -> Case:
    op = getattr(fft, name)
    return Case(
        f"{name} {n} of {m} {norm}",
        lambda x: op(x, axis=1, norm=norm, n=n),
        (complexes if complex_ else reals)((2, m)),
        lambda jax, jnp, x: getattr(jnp.fft, name)(x, n=n, axis=1, norm=norm),
    )


FFT_CASES = [
    *[
        transform(name, n, m, norm, name != "rfft")
        for name in ("fft", "ifft", "rfft")
        for n, m in ((4, 4), (5, 4), (3, 5))
        for norm in ("backward", "ortho")
    ],
    *[
        transform("irfft", n, m, norm, True)
        for n, m in ((6, 4), (5, 3), (4, 4), (7, 3), (1, 2), (2, 2))
        for norm in ("backward", "forward")
    ],
    transform("fft", 4, 4, "forward", False),
    Case(
        "fftn",
        lambda x: fft.fftn(x, (3, 2), (0, 1), "backward"),
        complexes((3, 2)),
        lambda jax, jnp, x: jnp.fft.fftn(x),
    ),
]

LIBRARY_CASES = [*INDEXING_CASES, *CONTRACTION_CASES, *LINALG_CASES, *FFT_CASES]
