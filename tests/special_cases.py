"""Cases, as in `op_cases`, of what the JAX door adds: special functions, convolution, slices at computed places,
solvers that give NaN, control flow with closed bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from library_cases import many, size2, spd, well
from op_cases import E_, F32, F64, Arrays, Case, ints, mixed, positive, reals

from lazynp.api import control as _runs_bodies  # noqa: F401
from lazynp.graph.function import Function
from lazynp.graph.node import ABSTRACT, Node, leaf
from lazynp.graph.op import results
from lazynp.ops import (
    bits,
    branches,
    control,
    convolution,
    dynamic,
    factorizations,
    lapack,
    linalg,
    or_nan,
    shape,
    solves,
    special,
    transcendental,
)
from lazynp.ops.closure import interned


def function(name: str, make: Any, title: str = "", **how: Any) -> Case:
    """A special function, by JAX's name."""
    scipy = {"lgamma": "gammaln", "erf_inv": "erfinv", "igamma": "gammainc", "igammac": "gammaincc"}
    scipy |= {"bessel_i0e": "i0e", "bessel_i1e": "i1e"}

    def twin(jax: Any, jnp: Any, *xs: Any) -> Any:
        return getattr(jax.scipy.special, scipy.get(name, name))(*xs)

    return Case(f"{name} {title}".rstrip(), special.SPECIALS[name], make, how.pop("twin", twin), **how)


def constants(*values: Any) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: tuple([np.asarray(v) for v in values])


SPECIAL_CASES = [
    function("erf", reals((3,))),
    function("erfc", reals((3,))),
    function("erf_inv", reals((3,), low=-0.8, high=0.8)),
    function("lgamma", positive((3,))),
    function("digamma", positive((3,))),
    Case(
        "polygamma",
        lambda x: special.polygamma(np.float64(2), x),
        positive((3,)),
        lambda jax, jnp, x: jax.scipy.special.polygamma(2, x),
    ),
    Case(
        "zeta",
        lambda q: special.zeta(np.float64(2.5), q),
        positive((3,)),
        lambda jax, jnp, q: jax.scipy.special.zeta(2.5, q),
    ),
    function("igamma", positive((3, 1), (2,)), order=1),
    function("igammac", positive((3, 1), (2,)), order=1),
    Case("igamma along x", lambda x: special.igamma(np.float64(1.7), x), positive((3,))),
    function("igamma_grad_a", positive((3, 1), (2,)), order=0, twin=None),
    function("random_gamma_grad", positive((3,), (3,)), order=0, twin=None),
    Case(
        "betainc",
        lambda x: special.betainc(np.float64(1.5), np.float64(2.5), x),
        reals((3,), low=0.1, high=0.9),
        lambda jax, jnp, x: jax.scipy.special.betainc(1.5, 2.5, x),
    ),
    function("bessel_i0e", reals((3,))),
    function("bessel_i1e", reals((3,))),
]

# Casts and bits.

BITS_CASES = [
    Case("weak_cast", lambda x: E_.weak_cast(x, dtype=F64), reals((3,)), lambda jax, jnp, x: x),
    Case("weak_cast down", lambda x: E_.weak_cast(x, dtype=F32), reals((3,)), order=0),
    Case(
        "bitcast",
        lambda x: bits.bitcast(x, dtype=np.dtype(np.int32)),
        lambda rng: (rng.random((2, 3)).astype(np.float32),),
        lambda jax, jnp, x: jax.lax.bitcast_convert_type(x, "int32"),
        order=0,
    ),
    Case(
        "bitcast apart",
        lambda x: bits.bitcast(x, dtype=np.dtype(np.uint8)),
        ints((2, 3)),
        lambda jax, jnp, x: jax.lax.bitcast_convert_type(x, "uint8"),
        order=0,
    ),
    Case(
        "reduce_precision",
        lambda x: bits.reduce_precision(x, exponent=8, mantissa=7),
        reals((3,)),
        lambda jax, jnp, x: jax.lax.reduce_precision(x, 8, 7),
        order=0,  # a step function, of which the rounded tangent is no limit of differences
    ),
]

# Places that are computed, and convolution.


def convolved(title: str, image: tuple[int, ...], kernel: tuple[int, ...], **p: Any) -> Case:
    n = len(image) - 2
    how = {
        "strides": (1,) * n,
        "padding": ((0, 0),) * n,
        "lhs_dilation": (1,) * n,
        "rhs_dilation": (1,) * n,
        "groups": 1,
        "batch_groups": 1,
        **p,
    }

    def twin(jax: Any, jnp: Any, x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(
            x,
            w,
            how["strides"],
            how["padding"],
            how["lhs_dilation"],
            how["rhs_dilation"],
            feature_group_count=how["groups"],
            batch_group_count=how["batch_groups"],
        )

    return Case(f"conv {title}", lambda x, w: convolution.conv(x, w, **how), reals(image, kernel), twin)


PLACED_CASES = [
    Case(
        "dynamic_slice",
        lambda x, i, j: dynamic.dynamic_slice(x, i, j, sizes=(2, 3)),
        mixed(reals((4, 5)), lambda rng: (rng.integers(0, 4), rng.integers(0, 5))),
        lambda jax, jnp, x, i, j: jax.lax.dynamic_slice(x, (i, j), (2, 3)),
    ),
    Case(
        "dynamic_update_slice",
        dynamic.dynamic_update_slice,
        mixed(reals((4, 5), (2, 2)), lambda rng: (rng.integers(0, 4), rng.integers(0, 5))),
        lambda jax, jnp, x, v, i, j: jax.lax.dynamic_update_slice(x, v, (i, j)),
    ),
    convolved("plain", (2, 3, 6), (4, 3, 3)),
    convolved("strides", (1, 2, 5, 4), (2, 2, 2, 3), strides=(2, 1), padding=((1, 0), (1, 1))),
    convolved("dilated", (1, 2, 5), (2, 2, 2), lhs_dilation=(2,), rhs_dilation=(3,), padding=((2, 1),)),
    convolved("groups", (2, 4, 5), (4, 2, 2), groups=2),
    convolved("batch groups", (4, 2, 5), (4, 2, 2), batch_groups=2),
]

# Linear algebra without errors.


def matvec(n: int) -> Function:
    """A x, of a matrix and a vector of length n."""
    a, x = (leaf(s, F64, trace=ABSTRACT) for s in ((n, n), (n,)))
    return interned([a, x], [shape.add_reduce(E_.multiply(a, x), axes=(1,), keepdims=False, dtype=None)])


def vecmat(n: int) -> Function:
    """A.T x."""
    a, x = (leaf(s, F64, trace=ABSTRACT) for s in ((n, n), (n,)))
    product = E_.multiply(shape.transpose(a, axes=(1, 0)), x)
    return interned([a, x], [shape.add_reduce(product, axes=(1,), keepdims=False, dtype=None)])


def solved(n: int, turned: bool = False) -> Function:
    a, b = (leaf(s, F64, trace=ABSTRACT) for s in ((n, n), (n,)))
    system = shape.transpose(a, axes=(1, 0)) if turned else a
    x = factorizations.solve_or_nan(system, shape.reshape(b, shape=(n, 1)))
    return interned([a, b], [shape.reshape(x, shape=(n,))])


def lu_rows(a: Node) -> list[Node]:
    values, _, permutation = results(factorizations.lu(a))
    return [values, permutation]


def sizes(vectors: tuple[int, ...], out: Node) -> list[Node]:
    """The results, of the vectors what does not depend on their phase."""
    return [size2(x) if i in vectors else x for i, x in enumerate(results(out))]


SYSTEM = (matvec(3), solved(3), vecmat(3), solved(3, turned=True))
SOLVE_CASES = [
    Case("cholesky_or_nan", lambda a: factorizations.cholesky_or_nan(linalg.hermitian(a), upper=False), spd(3, (2,))),
    Case("solve_or_nan", factorizations.solve_or_nan, mixed(well(3, (2,)), reals((3, 2)))),
    *[
        Case(
            f"triangular_or_nan {low} {unit}",
            lambda a, b, low=low, unit=unit: factorizations.triangular_or_nan(a, b, lower=low, unit=unit),
            mixed(well(3), reals((3, 2))),
            lambda jax, jnp, a, b, low=low, unit=unit: jax.scipy.linalg.solve_triangular(
                a, b, lower=low, unit_diagonal=unit
            ),
        )
        for low in (False, True)
        for unit in (False, True)
    ],
    Case("svd_or_nan", lambda a: sizes((0, 2), or_nan.svd(a, full_matrices=False)), reals((3, 2))),
    Case("svdvals_or_nan", or_nan.svdvals, reals((2, 3, 2))),
    Case("eigh_or_nan", lambda a: sizes((1,), or_nan.eigh(linalg.hermitian(a), UPLO="L")), spd(3)),
    Case("eig_or_nan", lambda a: sizes((1,), or_nan.eig(a)), well(3)),
    Case("eigvals_or_nan", or_nan.eigvals, well(3, (2,))),
    Case("pinv_or_nan", lambda a: or_nan.pinv(a, hermitian=False, rcond=1e-12), reals((4, 2))),
    Case("lu", lu_rows, well(3, (2,)), lambda jax, jnp, a: tuple(jax.lax.linalg.lu(a)[::2])),
    Case("lu tall", many(factorizations.lu, 0), lambda rng: (np.vstack([*well(2)(rng), 0.1 * rng.random((1, 2))]),)),
    Case("lu wide", many(factorizations.lu, 0), lambda rng: (np.hstack([*well(2)(rng), rng.random((2, 1))]),)),
    *[
        Case(name, many(op, 0), well(3, (2,)), order=0)
        for name, op in (("schur", lapack.schur), ("hessenberg", lapack.hessenberg), ("reflectors", lapack.reflectors))
    ],
    Case("tridiagonal", many(lambda a: lapack.tridiagonal(linalg.hermitian(a), lower=True), 1), well(3, (2,)), order=0),
    Case("column_pivots", lapack.column_pivots, well(3, (2,)), order=0),
    Case("householder_product", lapack.householder_product, mixed(well(3, (2,)), reals((2, 2, 1))), order=0),
    Case(
        "ormqr",
        lambda a, t, c: lapack.ormqr(a, t, c, left=True, transpose=False),
        mixed(well(3, (2,)), reals((2, 2, 1)), reals((2, 3, 4))),
        order=0,
    ),
    Case("cholesky_update", lapack.cholesky_update, mixed(spd(3, (2,)), reals((2, 3, 1))), order=0),
    Case("parlett", many(lapack.parlett, 0), mixed(well(3, (2,)), well(3, (2,))), order=0),
    Case("triangular_root", lapack.triangular_root, spd(3, (2,)), order=0),
    Case(
        "triangular_sylvester",
        lapack.triangular_sylvester,
        lambda rng: (np.triu(spd(3, (2,))(rng)[0]), np.triu(spd(2, (2,))(rng)[0]), rng.random((2, 3, 2))),
        order=0,
    ),
    Case(
        "complex_schur",
        many(lapack.complex_schur, 0),
        lambda rng: (np.triu(rng.random((2, 3, 3)) + 0j, -1), rng.random((2, 3, 3)) + 0j),
        order=0,
    ),
    Case(
        "permutation_of",
        lambda p: factorizations.permutation_of(p, n=4),
        lambda rng: (np.array([2, 3, 3], np.int32),),
        lambda jax, jnp, p: jax.lax.linalg.lu_pivots_to_permutation(p, 4),
        order=0,
    ),
    Case(
        "linear_solve",
        lambda a, b: list(results(solves.linear_solve(a, b, functions=SYSTEM, n_consts=1))),
        mixed(well(3), reals((3,))),
        lambda jax, jnp, a, b: (jnp.linalg.solve(a, b),),
    ),
]

# Control flow. A body's inputs: what all steps read, the carry, the element of each step.


def body(build: Callable[..., list[Node]], *shapes: tuple[int, ...], dtype: Any = F64) -> Function:
    inputs = [leaf(s, np.dtype(dtype), trace=ABSTRACT) for s in shapes]
    return interned(inputs, build(*inputs))


def scanned(reverse: bool) -> Case:
    step = body(
        lambda w, c, x: [E_.add(E_.multiply(transcendental.sin(c), w), x), E_.multiply(c, E_.multiply(x, x))],
        (2,),
        (2,),
        (2,),
    )

    def build(w: Node, c: Node, xs: Node) -> list[Node]:
        return list(results(control.scan(w, c, xs, body=step, n_consts=1, n_carry=1, reverse=reverse, length=3)))

    def twin(jax: Any, jnp: Any, w: Any, c: Any, xs: Any) -> Any:
        return jax.lax.scan(lambda c, x: (jnp.sin(c) * w + x, c * x * x), c, xs, reverse=reverse)

    return Case(f"scan {'backwards' if reverse else 'forwards'}", build, reals((2,), (2,), (3, 2)), twin)


BRANCHES = (
    body(lambda x, y: [transcendental.sin(x), y], (3,), (3,)),
    body(lambda x, y: [E_.multiply(x, y), transcendental.exp(x)], (3,), (3,)),
)
CONTROL_CASES = [
    scanned(False),
    scanned(True),
    Case(
        "while",
        lambda limit, x: list(
            results(
                control.while_(
                    limit,
                    x,
                    cond=body(lambda limit, x: [E_.less(x, limit)], (), ()),
                    body=body(lambda x: [E_.multiply(x, np.float64(2))], ()),
                    n_cond=1,
                    n_body=0,
                )
            )
        ),
        lambda rng: (np.array(20.0), rng.uniform(1, 9, ())),
        order=0,  # in reverse it has no derivative, as in JAX; test_control.py has forward mode
    ),
    *[
        Case(
            f"cond {i}",
            lambda x, y, i=i: list(results(branches.cond(np.int32(i), x, y, branches=BRANCHES))),
            reals((3,), (3,)),
            lambda jax, jnp, x, y, i=i: (jnp.sin(x), y) if i == 0 else (x * y, jnp.exp(x)),
        )
        for i in (0, 1)
    ],
    Case(
        "cond of a batch",
        lambda i, x, y: list(results(branches.cond(i, x, y, branches=BRANCHES))),
        mixed(lambda rng: (rng.integers(0, 2, ()).astype(np.int32),), reals((3,), (3,))),
    ),
    Case(
        "together",
        lambda x, y: list(results(control.together(x, y))),
        reals((3,), (2,)),
        lambda jax, jnp, x, y: (x, y),
    ),
]
JAX_CASES = [*SPECIAL_CASES, *BITS_CASES, *PLACED_CASES, *SOLVE_CASES, *CONTROL_CASES]
