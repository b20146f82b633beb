"""Generated calls of `jax.numpy`, `lax`, `nn` and `random`: what is called, with what, and how results compare.

A case is drawn from a seed: an entry of the table, shapes that go together (sizes 0 and 1 and broadcasting among them),
dtypes (weak scalars too), values, parameters. It can be run under JAX and under lazynp.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

SHAPES = ((), (1,), (3,), (0,), (2, 3), (1, 3), (2, 1), (2, 0), (2, 3, 4))
PAIRS = (
    *[(s, s) for s in SHAPES],
    ((2, 3), ()), ((), (3,)), ((2, 3), (3,)), ((2, 1), (3,)), ((2, 1), (1, 3)), ((0,), (1,)), ((2, 0), (1,)),
    ((3,), (2, 3)), ((2, 3), (2, 4)), ((2,), (3,)),
)  # fmt: skip
"""Of operands that broadcast; the last two do not."""
FLOATS = ("float32", "float32", "float32", "float16", "bfloat16")
INTS = ("int32", "int32", "int8", "uint8", "uint32", "int16")
REALS = (*FLOATS, *INTS, "bool")
ALL = (*REALS, "complex64", "complex64")
SCALARS: dict[str, Any] = {"bool": True, "int": 3, "float": 1.5, "complex": 1 + 2j}


class Argument(NamedTuple):
    """A NumPy array to make an array of; or a Python scalar, as it is or as a weak array."""

    value: Any
    kind: str = "array"  # "array", "scalar", "weak", "numpy"

    def made(self, lib: Any) -> Any:
        if self.kind in ("scalar", "numpy"):
            return self.value
        return lib.numpy.asarray(self.value)

    def __str__(self) -> str:
        if self.kind == "array" or self.kind == "numpy":
            return f"{self.kind}({self.value.tolist()!r}, {self.value.dtype.name})"
        return f"{self.kind}({self.value!r})"


class Case(NamedTuple):
    """A call: a path below the module, or one of `SPECIAL`; arguments; parameters."""

    path: str
    arguments: tuple[Argument, ...]
    parameters: dict[str, Any]

    def function(self, lib: Any) -> Callable[..., Any]:
        f = SPECIAL.get(self.path)
        if f is not None:
            return lambda *args, **kwargs: f(lib, *args, **kwargs)
        found = lib
        for name in self.path.split("."):
            found = getattr(found, name)
        return found

    def run(self, lib: Any) -> Any:
        return self.function(lib)(*[a.made(lib) for a in self.arguments], **self.parameters)

    def __str__(self) -> str:
        parts = [str(a) for a in self.arguments] + [f"{k}={v!r}" for k, v in self.parameters.items()]
        return f"{self.path}({', '.join(parts)})"


# --- Drawing ----------------------------------------------------------------------------------------------------------


def dtype_of(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def values(rng: random.Random, shape: tuple[int, ...], name: str, low: float = -4, high: float = 4) -> np.ndarray:
    """An array of that dtype: multiples of an eighth, at times with infinities, NaN, and negative zero."""
    draw = np.random.default_rng(rng.getrandbits(32))
    dtype = dtype_of(name)
    if name == "bool":
        return draw.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return draw.integers(max(int(low), 0) if dtype.kind == "u" else int(low), int(high) + 2, shape).astype(dtype)
    x = np.round(draw.uniform(low, high, shape) * 8) / 8
    if dtype.kind == "c":
        return (x + 1j * np.round(draw.uniform(low, high, shape) * 8) / 8).astype(dtype)
    if low < 0 and rng.random() < 0.15:
        special = draw.choice([np.inf, -np.inf, np.nan, -0.0, 0.0], shape)
        x = np.where(draw.random(shape) < 0.4, special, x)
    return np.asarray(x).astype(dtype)


def argument(rng: random.Random, shape: tuple[int, ...], dtypes: tuple[str, ...], **limits: float) -> Argument:
    name = rng.choice(dtypes)
    if shape == () and rng.random() < 0.5:
        kind = {"b": "bool", "i": "int", "u": "int", "c": "complex"}.get(dtype_of(name).kind, "float")
        value = SCALARS[kind]
        return Argument(value, rng.choice(("scalar", "weak")))
    return Argument(values(rng, shape, name, **limits), "numpy" if rng.random() < 0.1 else "array")


Maker = Callable[[random.Random], tuple[tuple[Argument, ...], dict[str, Any]]]


def unary(dtypes: tuple[str, ...] = ALL, shapes: tuple = SHAPES, **limits: float) -> Maker:
    return lambda rng: ((argument(rng, rng.choice(shapes), dtypes, **limits),), {})


def binary(dtypes: tuple[str, ...] = ALL, same: bool = False, **limits: float) -> Maker:
    """`same`: operands of one shape and one dtype, as `lax` wants them."""

    def make(rng: random.Random) -> Any:
        if same and rng.random() < 0.9:
            shape, kind = rng.choice(SHAPES), (rng.choice(dtypes),)
            pair = [Argument(values(rng, shape, kind[0], **limits)) for _ in range(2)]
        else:
            pair = [argument(rng, s, dtypes, **limits) for s in rng.choice(PAIRS)]
        return tuple(pair), {}

    return make


def axis_of(rng: random.Random, shape: tuple[int, ...], several: bool = False) -> Any:
    choices: list[Any] = [None, *range(-len(shape), len(shape))]
    if several and len(shape) > 1:
        choices += [(0, 1), (-1, 0)]
    if rng.random() < 0.03:
        return len(shape) + 1
    return rng.choice(choices)


def reduction(dtypes: tuple[str, ...] = ALL, several: bool = True, keepdims: bool = True, where: bool = False) -> Maker:
    def make(rng: random.Random) -> Any:
        x = argument(rng, rng.choice(SHAPES), dtypes)
        shape = np.shape(x.value)
        parameters = {"axis": axis_of(rng, shape, several)}
        if keepdims and rng.random() < 0.3:
            parameters["keepdims"] = True
        return (x,), parameters

    return make


def with_parameters(inner: Maker, **choices: tuple) -> Maker:
    """The arguments of `inner`, and parameters, each one of its choices, or left out."""

    def make(rng: random.Random) -> Any:
        arguments, parameters = inner(rng)
        drawn = {k: rng.choice(v) for k, v in choices.items() if rng.random() < 0.8}
        return arguments, {**parameters, **drawn}

    return make


def matrices(*shapes: tuple[tuple[int, ...], ...], dtypes: tuple[str, ...] = ALL) -> Maker:
    """Arguments of one of several combinations of shapes."""

    def make(rng: random.Random) -> Any:
        return tuple([argument(rng, s, dtypes) for s in rng.choice(shapes)]), {}

    return make


def nothing(*options: tuple[tuple, dict]) -> Maker:
    """Scalars and parameters as they stand."""

    def make(rng: random.Random) -> Any:
        args, parameters = rng.choice(options)
        return tuple([Argument(a, "scalar") for a in args]), dict(parameters)

    return make


Draw = Callable[[random.Random], Argument]


def an(*shapes: tuple[int, ...], of: tuple[str, ...] = ALL, **limits: float) -> Draw:
    """An argument of one of these shapes (all of them by default) and dtypes."""
    return lambda rng: argument(rng, rng.choice(shapes or SHAPES), of, **limits)


def plain(*shapes: tuple[int, ...], of: tuple[str, ...] = ("float32",), **limits: float) -> Draw:
    """The same, always an array."""
    return lambda rng: Argument(values(rng, rng.choice(shapes or SHAPES), rng.choice(of), **limits))


def tame(*shapes: tuple[int, ...]) -> Draw:
    """A float32 array without infinities and NaN."""
    return lambda rng: Argument(np.nan_to_num(values(rng, rng.choice(shapes), "float32").clip(-9, 9)))


def one(*choices: Any) -> Draw:
    """A scalar, or whatever else is passed as it stands."""
    return lambda rng: Argument(rng.choice(choices), "scalar")


def call(*draws: Draw, **choices: tuple) -> Maker:
    """Each argument drawn for itself; each parameter one of its choices."""
    return lambda rng: (tuple([d(rng) for d in draws]), {k: rng.choice(v) for k, v in choices.items()})


def any_of(*makers: Maker) -> Maker:
    return lambda rng: rng.choice(makers)(rng)


def spd(rng: random.Random) -> Any:
    n = rng.choice((1, 2, 3))
    x = np.random.default_rng(rng.getrandbits(32)).normal(size=(*rng.choice(((), (2,))), n, n))
    return (Argument((x @ np.swapaxes(x, -1, -2) + np.eye(n)).astype(np.float32)),), {}


def general(rng: random.Random) -> Any:
    n = rng.choice((1, 2, 3))
    x = np.random.default_rng(rng.getrandbits(32)).normal(size=(*rng.choice(((), (2,))), n, n)) + 2 * np.eye(n)
    return (Argument(x.astype(np.float32)),), {}


def system(rng: random.Random) -> Any:
    ((a,), _) = general(rng)
    shape = rng.choice((a.value.shape, (*a.value.shape[:-1], 2), a.value.shape[-1:]))
    return (a, Argument(values(rng, shape, "float32").clip(-9, 9))), {}


def keyed(*options: tuple[tuple, dict]) -> Maker:
    """A seed, then the sampler's arguments."""

    def make(rng: random.Random) -> Any:
        args, parameters = rng.choice(options)
        return (Argument(rng.randrange(1000), "scalar"), *[Argument(a, "scalar") for a in args]), dict(parameters)

    return make


# --- Calls that are no function of one name ---------------------------------------------------------------------------

INDICES: tuple[Any, ...] = (
    0, -1, 5, slice(None), slice(1, None), slice(None, None, -1), slice(0, 2), Ellipsis, None, (Ellipsis, 0), (0, None),
    (slice(None), None), (0, 0), (slice(None), 1), np.array([0, 1, 1]), np.array([[0], [1]]), (np.array([0, 1]), 0),
    (0, np.array([0, 2])), (np.array([0, 1]), np.array([1, 0])), (slice(None), np.array([0, 0, 1])), np.array(0),
    np.array([-1, 7]), (Ellipsis, np.array([1, 0])), (None, np.array([0])), [0], True, 1.5, "a",
)  # fmt: skip
UPDATES = ("set", "add", "multiply", "min", "max", "subtract", "divide", "power")
MODES = (None, "clip", "drop", "wrap", "fill", "promise_in_bounds")


def getitem(lib: Any, x: Any, index: int) -> Any:
    return x[INDICES[index]]


def at_get(lib: Any, x: Any, index: int, mode: str | None) -> Any:
    return x.at[INDICES[index]].get(mode=mode)


def at_update(lib: Any, x: Any, value: Any, index: int, how: str, mode: str | None) -> Any:
    return getattr(x.at[INDICES[index]], how)(value, mode=mode)


def joined(name: str) -> Callable[..., Any]:
    return lambda lib, *xs, **parameters: getattr(lib.numpy, name)(xs, **parameters)


def sampler(name: str) -> Callable[..., Any]:
    return lambda lib, seed, *args, **parameters: getattr(lib.random, name)(lib.random.key(seed), *args, **parameters)


def key_function(lib: Any, seed: Any, how: str, impl: str | None) -> Any:
    key = (lib.random.key if how != "raw" else lib.random.PRNGKey)(seed, impl=impl)
    if how == "fold":
        key = lib.random.fold_in(key, 7)
    if how == "split":
        key = lib.random.split(key, (2, 3))
    return key if how == "raw" else lib.random.key_data(key)


def operator_of(name: str) -> Callable[..., Any]:
    return lambda lib, x, y: getattr(lib.numpy.asarray(x), name)(lib.numpy.asarray(y))


def astype(lib: Any, x: Any, dtype: str) -> Any:
    return lib.numpy.asarray(x).astype(dtype_of(dtype))


def method(lib: Any, x: Any, name: str) -> Any:
    return getattr(lib.numpy.asarray(x), name)()


def einsum(lib: Any, *xs: Any, subscripts: str) -> Any:
    return lib.numpy.einsum(subscripts, *xs)


SPECIAL: dict[str, Callable[..., Any]] = {
    "getitem": getitem,
    "at.get": at_get,
    "at.update": at_update,
    "key": key_function,
    "astype": astype,
    "method": method,
    "einsum": einsum,
    **{f"joined.{n}": joined(n) for n in ("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack")},
}


def indexed(rng: random.Random) -> Any:
    x = Argument(values(rng, rng.choice(SHAPES[1:]), rng.choice(("float32", "int32"))))
    return (x,), {"index": rng.randrange(len(INDICES))}


def updated(rng: random.Random) -> Any:
    dtype = rng.choice(("float32", "float32", "int32"))
    x = Argument(values(rng, rng.choice(SHAPES[1:]), dtype))
    value = argument(rng, rng.choice(((), (), (3,))), (dtype, "int32", "float32"), low=0.5)
    parameters = {"index": rng.randrange(len(INDICES) - 3), "how": rng.choice(UPDATES), "mode": rng.choice(MODES)}
    return (x, value), parameters


def join(rng: random.Random) -> Any:
    shapes = rng.choice((((3,), (3,)), ((2, 3), (2, 3)), ((2, 3), (1, 3)), ((0,), (3,)), ((), ()), ((2, 3), (2, 1))))
    parameters = {"axis": rng.choice((0, 1, -1))} if rng.random() < 0.5 else {}
    return tuple([argument(rng, s, ALL) for s in shapes]), parameters


def join_only(rng: random.Random) -> Any:
    return join(rng)[0], {}
