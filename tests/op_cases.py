"""Each op in at least one small setting: how to build it, inputs, JAX's twin. For test_ops and test_rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazynp.ops import branches, creation, elementwise, joining, reductions, scans, shape, transcendental
from lazynp.ops.ufuncs import ufuncs

Arrays = tuple[Any, ...]
F64, F32, C128 = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.complex128)


@dataclass(frozen=True)
class Case:
    """`build(*nodes)` gives a node or several; `make(rng)` input arrays; `jax(jax, jnp, *arrays)` is JAX's twin."""

    name: str
    build: Callable[..., Any]
    make: Callable[[np.random.Generator], Arrays]
    jax: Callable[..., Any] | None = None
    order: int = 2  # to which derivatives are checked; 0: there is none
    batch: bool = True
    tolerance: float = 1e-5  # of the numerical check

    def __str__(self) -> str:
        return self.name


def reals(*shapes: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: tuple([rng.uniform(low, high, s) for s in shapes])


def complexes(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: tuple([rng.uniform(0.3, 1.5, s) * np.exp(1j * rng.uniform(-2.5, 2.5, s)) for s in shapes])


def ints(*shapes: tuple[int, ...], low: int = -5, high: int = 6) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: tuple([rng.integers(low, high, s) for s in shapes])


def positive(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], Arrays]:
    return reals(*shapes, low=0.2, high=2.5)


def mixed(*makers: Callable[[np.random.Generator], Arrays]) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: tuple([x for m in makers for x in m(rng)])


# Ufuncs.

INTEGER = (
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
    "invert",
    "bitwise_count",
    "gcd",
    "lcm",
)
POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "power", "float_power", "reciprocal")
UNIT = ("arcsin", "arccos", "arctanh")
PLAIN = ("add", "multiply", "equal", "less")
COMPLEX = (
    "absolute",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "conjugate",
    "cos",
    "cosh",
    "divide",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "multiply",
    "negative",
    "positive",
    "power",
    "reciprocal",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
)
# JAX's derivative is another one (arccosh is off by a sign on half of the plane, sign is held constant), or none.
NOT_AS_JAX = {"sign complex", "arccosh complex", "heaviside", "spacing", "nextafter", "bitwise_count"}


def ufunc_case(name: str, op: Any) -> Case:
    shapes = [(3, 1), (4,)][: getattr(np, name).nin] if getattr(np, name).nin == 2 else [(3,)]
    make = reals(*shapes)
    order = 2
    if name in INTEGER:
        make, order = ints(*shapes, low=0, high=9), 0
    elif name in ("nextafter", "spacing"):
        order = 0  # they have none, as in JAX
    elif name == "ldexp":
        make = mixed(reals((3, 1)), ints((4,)))
    elif name in POSITIVE:
        make = positive(*shapes)
    elif name in UNIT:
        make = reals(*shapes, low=-0.8, high=0.8)
    elif name == "arccosh":
        make = reals(*shapes, low=1.2, high=3.0)

    def twin(jax: Any, jnp: Any, *xs: Any) -> Any:
        return getattr(jnp, name)(*xs)

    return Case(name, op, make, None if name in NOT_AS_JAX else twin, order)


def complex_case(name: str) -> Case:
    shapes = [(3, 1), (4,)][: getattr(np, name).nin] if getattr(np, name).nin == 2 else [(3,)]

    def twin(jax: Any, jnp: Any, *xs: Any) -> Any:
        return getattr(jnp, name)(*xs)

    title = f"{name} complex"
    return Case(title, ufuncs[name], complexes(*shapes), None if title in NOT_AS_JAX else twin)


def part(name: str, i: int, nin: int) -> Case:
    """One result of divmod, modf, frexp."""
    op = {"divmod": elementwise.divmod_, "modf": elementwise.modf, "frexp": elementwise.frexp}[name]
    twin = None if name == "frexp" else lambda jax, jnp, *xs: getattr(jnp, name)(*xs)[i]
    return Case(f"{name} {i}", lambda *x: op(*x, i=i), reals(*[(3, 1), (4,)][:nin]), twin)


E_ = elementwise
UFUNC_CASES = [
    *[ufunc_case(n, op) for n, op in ufuncs.items()],
    *[complex_case(n) for n in COMPLEX],
    *[part(n, i, 2 if n == "divmod" else 1) for n in ("divmod", "modf", "frexp") for i in (0, 1)],
    Case("power of ints", lambda x: transcendental.power(x, 3), reals((3,)), lambda jax, jnp, x: x**3),
    Case("power two", lambda x: transcendental.power(x, 2), reals((3,)), lambda jax, jnp, x: x**2),
    Case("power of C", transcendental.c_power, positive((3, 1), (4,)), lambda jax, jnp, x, y: jnp.power(x, y)),
    Case("half power of C", lambda x: transcendental.c_power(x, 0.5), positive((3,)), lambda jax, jnp, x: x**0.5),
    Case(
        "maximum with ties",
        E_.maximum,
        lambda rng: (np.array([1.0, 2, 3]), np.array([1.0, 5, 2])),
        lambda jax, jnp, x, y: jnp.maximum(x, y),
        order=0,
    ),
    Case(
        "mixed precision",
        E_.multiply,
        lambda rng: (rng.random((2, 3)).astype(F32), rng.random(3)),
        lambda jax, jnp, x, y: x * y,
        order=0,
    ),
    Case("real times complex", E_.multiply, mixed(reals((3,)), complexes((2, 3))), lambda jax, jnp, x, y: x * y),
    Case("cast down", lambda x: E_.cast(x, dtype=F32), reals((3,)), lambda jax, jnp, x: x.astype("float32"), order=0),
    Case("cast up", lambda x: E_.cast(x, dtype=C128), reals((3,)), lambda jax, jnp, x: x.astype("complex128")),
    Case("cast to int", lambda x: E_.cast(x, dtype=np.dtype(np.int8)), reals((3,)), order=0),
    Case(
        "where",
        lambda c, x, y: E_.where(c, x, y),
        mixed(lambda rng: (rng.random((3, 4)) < 0.5,), reals((3, 1), (4,))),
        lambda jax, jnp, c, x, y: jnp.where(c, x, y),
    ),
    Case(  # where it is false derivatives are not those of the value: tests/jax/test_branches.py
        "taken",
        lambda x, c: branches.taken(x, c),
        mixed(reals((3, 4)), lambda rng: (np.ones((3, 1), bool),)),
        lambda jax, jnp, x, c: jnp.where(c, x, jax.lax.stop_gradient(x)),
    ),
    Case(
        "clip",
        E_.clip,
        mixed(reals((4, 3)), lambda rng: (np.array(-0.7), rng.uniform(0.5, 1, 3))),
        lambda jax, jnp, x, a, b: jnp.clip(x, a, b),
    ),
    Case(
        "clip ties",
        E_.clip,
        lambda rng: (np.array([-1.0, 0, 1, 2]), np.array(0.0), np.array([1.0, 1, 1, 2])),
        lambda jax, jnp, x, a, b: jnp.clip(x, a, b),
        order=0,
    ),
    Case("real", E_.real, complexes((3,)), lambda jax, jnp, x: jnp.real(x)),
    Case("imag", E_.imag, complexes((3,)), lambda jax, jnp, x: jnp.imag(x)),
    Case("make_complex", E_.make_complex, reals((3, 1), (4,)), lambda jax, jnp, x, y: x + 1j * y),
]

# Views, writes, joins.

KEY = ((0, 2, 2), None, (3, 3, -1), 1)
SHAPE_CASES = [
    Case("slice", lambda x: shape.slice_(x, key=KEY), reals((3, 4, 2)), lambda jax, jnp, x: x[0:4:2, None, 3:0:-1, 1]),
    Case(
        "transpose",
        lambda x: shape.transpose(x, axes=(2, 0, 1)),
        reals((3, 4, 2)),
        lambda jax, jnp, x: x.transpose(2, 0, 1),
    ),
    Case("reshape", lambda x: shape.reshape(x, shape=(2, 6)), reals((3, 4)), lambda jax, jnp, x: x.reshape(2, 6)),
    Case(
        "broadcast_to",
        lambda x: shape.broadcast_to(x, shape=(2, 3, 4)),
        reals((3, 1)),
        lambda jax, jnp, x: jnp.broadcast_to(x, (2, 3, 4)),
    ),
    Case(
        "set",
        lambda x, y: shape.set_(x, y, key=((1, 2, 1), (3, 4, -1))),
        reals((3, 4), (4,)),
        lambda jax, jnp, x, y: x.at[1:3, ::-1].set(y),
    ),
    Case(
        "set scalar",
        lambda x, y: shape.set_(x, y, key=(1, (0, 2, 2))),
        reals((3, 4), ()),
        lambda jax, jnp, x, y: x.at[1, 0:4:2].set(y),
    ),
    Case(
        "concatenate",
        lambda x, y, z: joining.concatenate(x, y, z, axis=1),
        reals((2, 1), (2, 3), (2, 2)),
        lambda jax, jnp, *x: jnp.concatenate(x, axis=1),
    ),
    Case(
        "stack",
        lambda x, y: joining.stack(x, y, axis=1),
        reals((2, 3), (2, 3)),
        lambda jax, jnp, *x: jnp.stack(x, axis=1),
    ),
    Case("flip", lambda x: joining.flip(x, (0, 1)), reals((2, 3)), lambda jax, jnp, x: jnp.flip(x)),
    Case(
        "roll",
        lambda x: joining.roll(x, axes=(0, 2), shifts=(1, -2)),
        reals((2, 3, 4)),
        lambda jax, jnp, x: jnp.roll(x, (1, -2), (0, 2)),
    ),
    Case(
        "wrap around",
        lambda x: joining.wrap_around(x, widths=(2, 0, 3)),
        reals((2, 3, 4)),
        lambda jax, jnp, x: jnp.pad(x, ((2, 2), (0, 0), (3, 3)), mode="wrap"),
    ),
    Case(
        "pad",
        lambda x: joining.pad(x, [(1, 0), (-1, 2)], 5.0),
        reals((2, 3)),
        lambda jax, jnp, x: jax.lax.pad(x, 5.0, [(1, 0, 0), (-1, 2, 0)]),
    ),
    Case("repeat", lambda x: joining.repeat(x, 3, 0), reals((2, 3)), lambda jax, jnp, x: jnp.repeat(x, 3, 0)),
    Case("tile", lambda x: joining.tile(x, (2, 3)), reals((2, 3)), lambda jax, jnp, x: jnp.tile(x, (2, 3))),
    Case("tril", lambda x: creation.tril(x, 1), reals((2, 3, 4)), lambda jax, jnp, x: jnp.tril(x, 1)),
    Case("triu", lambda x: creation.triu(x, -1), reals((4, 3)), lambda jax, jnp, x: jnp.triu(x, -1)),
    Case(
        "eye", lambda x: E_.multiply(x, creation.eye(3, 4, 1)), reals((3, 4)), lambda jax, jnp, x: x * jnp.eye(3, 4, 1)
    ),
    Case(
        "arange",
        lambda x: E_.add(x, creation.arange(dtype=F64, start=1, step=0.5, n=3)),
        reals((3,)),
        lambda jax, jnp, x: x + jnp.arange(1, 2.5, 0.5),
    ),
]

# Reductions and scans.


def reduction(
    name: str, axes: tuple[int, ...], keepdims: bool, make: Any = None, twin: Any = None, order: int = 2
) -> Case:
    op = reductions.reductions[name]
    return Case(
        f"{name}.reduce {axes} {keepdims}",
        lambda x: op(x, axes=axes, keepdims=keepdims, dtype=None),
        make or reals((2, 3, 4)),
        twin and (lambda jax, jnp, x: getattr(jnp, twin)(x, axis=axes, keepdims=keepdims)),
        order,
    )


def scan(name: str, twin: str | None, make: Any = None, order: int = 2) -> Case:
    op = scans.scans[name]
    return Case(
        f"{name}.accumulate",
        lambda x: op(x, axis=1, dtype=None),
        make or reals((2, 5)),
        twin and (lambda jax, jnp, x: getattr(jnp, twin)(x, axis=1)),
        order,
    )


def inputs_of(name: str) -> Callable[[np.random.Generator], Arrays]:
    """Comparisons reduce truth values only; a shift must not be negative, a divisor not zero."""
    if name in COMPARISONS:
        return lambda rng: (rng.random((2, 3)) < 0.5,)
    return ints((2, 3), low=0, high=2) if name in INTEGER else ints((2, 3), low=1, high=3)


COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
KNOWN = {"add", "multiply", "maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2", "hypot"}
REDUCTION_CASES = [
    *[reduction("add", a, k, None, "sum") for a in ((), (1,), (0, 2), (0, 1, 2)) for k in (False, True)],
    Case(
        "add.reduce complex",
        lambda x: shape.add_reduce(x, axes=(0,), keepdims=False, dtype=None),
        complexes((3, 2)),
        lambda jax, jnp, x: x.sum(0),
    ),
    reduction("multiply", (1,), False, None, "prod"),
    reduction("multiply", (0, 2), True, None, "prod"),
    Case(
        "product with zeros",
        lambda x: reductions.multiply_reduce(x, axes=(0,), keepdims=False, dtype=None),
        lambda rng: (np.array([[2.0, 0, 0], [3, 4, 0], [5, 6, 7]]),),
        lambda jax, jnp, x: x.prod(0),
    ),
    *[
        reduction(n, a, k, None, t)
        for n, t in (("maximum", "max"), ("minimum", "min"))
        for a, k in (((1,), False), ((0, 2), True))
    ],
    Case(
        "maximum.reduce ties",
        lambda x: reductions.maximum_reduce(x, axes=(0,), keepdims=False, dtype=None),
        lambda rng: (np.array([[2.0, 1], [2, 3]]),),
        lambda jax, jnp, x: x.max(0),
        order=0,
    ),
    reduction("logaddexp", (1,), False),
    reduction("logaddexp2", (1,), False),
    reduction("hypot", (0,), False),
    reduction("fmax", (1,), False),
    reduction("fmin", (1,), True),
    *[reduction(n, (0,), False, inputs_of(n), order=0) for n in reductions.reductions if n not in KNOWN],
    scan("add", "cumsum"),
    scan("multiply", "cumprod"),
    scan("maximum", None),
    scan("minimum", None),
    scan("fmax", None),
    scan("fmin", None),
    scan("logaddexp", None),
    scan("logaddexp2", None),
    scan("hypot", None),
    Case(
        "cumprod with zeros",
        lambda x: scans.multiply_accumulate(x, axis=0, dtype=None),
        lambda rng: (np.array([2.0, 0, 3, 0, 5]),),
        lambda jax, jnp, x: jnp.cumprod(x),
    ),
    *[scan(n, None, inputs_of(n), 0) for n in scans.scans if n not in KNOWN and n != "ldexp"],
    Case("mean", lambda x: reductions.mean(x, (0, 2)), reals((2, 3, 4)), lambda jax, jnp, x: x.mean((0, 2))),
    Case("var", lambda x: reductions.var(x, (1,), ddof=1), reals((2, 3)), lambda jax, jnp, x: x.var(1, ddof=1)),
    Case("var complex", lambda x: reductions.var(x, (1,)), complexes((2, 3)), lambda jax, jnp, x: x.var(1)),
    Case("std", lambda x: reductions.std(x, (0,), True), reals((3, 2)), lambda jax, jnp, x: x.std(0, keepdims=True)),
    *[
        Case(
            f"{n} {k}",
            lambda x, n=n, k=k: getattr(reductions, n)(x, axis=1, keepdims=k),
            reals((2, 3)),
            lambda jax, jnp, x, n=n, k=k: getattr(jnp, n)(x, axis=1, keepdims=k),
            order=0,
        )
        for n in ("argmin", "argmax")
        for k in (False, True)
    ],
]

ELEMENT_CASES = [*UFUNC_CASES, *SHAPE_CASES, *REDUCTION_CASES]
