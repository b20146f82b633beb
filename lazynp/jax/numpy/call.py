"""How a function of `jax.numpy` is called: the shortcut for small values, promotion, errors; then the graph.

A function is written once, on nodes whose dtypes are already those in which JAX computes. Where all operands are small
and at hand it is not even asked, if NumPy's own function does the same for those dtypes (`direct`).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...config import config
from ...flags import Flags, flags, watchers
from ...graph.node import Node
from ...ops.elementwise import convert
from ...ops.promotion import broadcast
from ...tracebacks import leave
from ..array import ERRORS, NDARRAY, SILENT, Array, as_dtype, as_node, cast_node, check_arraylike, new, typed
from ..at_once import apply, widened
from ..callers import written_by_user
from ..dtypes import INT32, KIND_OF, DType, float_dtype, inexact, is_extended, promotion, x64_enabled

Host = Callable[..., Any]
Impl = Callable[..., Any]
COMMON, NUMERIC, INEXACT = "common", "numeric", "inexact"
FLOATS, INTS = "fde", "bhilqBHIQ"  # by NumPy's dtype.char; uint64's, "L", is also that of ml_dtypes' float8_e4m3b11fnuz
NUMBERS = INTS + FLOATS + "FD"
ANY = "?" + NUMBERS


class Promotion:
    """Whether a thread has ever asked for promotion to be warned of or refused: then none takes a shortcut past it."""

    watched = False


def watch(changed: Any) -> None:
    if changed.numpy_dtype_promotion != "standard" or changed.numpy_rank_promotion != "allow":
        Promotion.watched = True


watchers.append(watch)
watch(Flags)


def check_ranks(name: str, nodes: Sequence[Any], depth: int = 0) -> None:
    """What jax_numpy_rank_promotion asks for where ranks differ, those of scalars aside: a warning, or a ValueError.
    `depth`: see `callers.written_by_user`."""
    if flags.numpy_rank_promotion == "allow" or len({n.ndim for n in nodes if n.shape}) < 2:
        return
    if not written_by_user(depth):
        return
    shapes = " ".join([str(n.shape) for n in nodes])
    more = "for more information, see https://docs.jax.dev/en/latest/rank_promotion_warning.html."
    if flags.numpy_rank_promotion == "raise":
        raise ValueError(
            f"Operands could not be broadcast together for {name} on shapes {shapes} and with the config option "
            f"jax_numpy_rank_promotion='raise'. {more.capitalize()}"
        )
    warnings.warn(
        f"Following NumPy automatic rank promotion for {name} on shapes {shapes}. Set the jax_numpy_rank_promotion "
        f"config option to 'allow' to disable this warning; {more}",
        stacklevel=2,
    )


def common_dtype(mode: str, *args: Any, depth: int = 1) -> tuple[DType, bool]:
    """The dtype in which a function computes, and whether the result is weak.

    COMMON: what the operands promote to; NUMERIC: the same, int32 for bool; INEXACT: floating or complex.
    """
    dtype, weak = promotion(x64_enabled(), *[typed(x) for x in args], depth=depth)
    if mode == INEXACT:
        dtype = inexact(dtype)
    elif mode == NUMERIC and dtype.kind == "b":
        dtype = INT32
    return dtype, weak


def check_extended(name: str, *args: Any) -> None:
    """Raises TypeError for keys beside what are none."""
    dtypes = [typed(x)[0] for x in args]
    if any(map(is_extended, dtypes)):
        name = "true_divide" if name == "divide" else name
        raise TypeError(f"{name} does not accept dtypes {', '.join(map(str, dtypes))}.")


def promoted(mode: str, *args: Any) -> list[Node]:
    """The operands as nodes of `common_dtype`."""
    dtype, weak = common_dtype(mode, *args)
    return [as_dtype(x, dtype, weak) for x in args]


Keeps = Callable[..., bool]


def never(*args: Any) -> bool:
    """The result of weak operands is not weak."""
    return False


def elementwise(name: str, impl: Impl, mode: str, accepts: str, keeps: Keeps | None = None) -> Callable[..., Any]:
    """`(*args) -> Array` past the shortcut. `accepts`: kinds of the dtype in which it computes. `keeps(*args)`: whether
    the result is weak where the operands are; always by default.

    Raises: TypeError for what is no array, for a dtype that is not accepted, and for shapes that do not broadcast.
    """
    impl = widened(impl)

    def weakened(*nodes: Node) -> Any:
        out = impl(*nodes)
        return (
            cast_node(out, out.dtype, True) if type(out) is Node else tuple([cast_node(n, n.dtype, True) for n in out])
        )

    def strengthened(*nodes: Node) -> Any:
        out = impl(*nodes)
        return convert(out, out.dtype) if type(out) is Node else tuple([convert(n, n.dtype) for n in out])

    def call(*args: Any) -> Any:
        check_arraylike(name, *args)
        try:
            dtype, weak = common_dtype(mode, *args, depth=0)
        except ValueError:
            check_extended(name, *args)
            raise
        kind = KIND_OF.get(dtype)
        if kind is None or kind not in accepts:
            at = " at position 0" if len(args) > 1 else ""
            if len({np.ndim(x) for x in args if np.ndim(x)}) > 1:
                check_broadcast(name, [as_node(x) for x in args])
            raise TypeError(
                f"{PRIMITIVES.get(name, name)} does not accept dtype {dtype}{at}. Accepted dtypes{at} are subtypes of "
                f"{', '.join(names(accepts))}."
            )
        nodes = [as_dtype(x, dtype, weak) for x in args]
        if Promotion.watched:
            check_ranks(name, nodes)
        try:
            return apply(impl if not weak else weakened if keeps is None or keeps(*args) else strengthened, *nodes)
        except ValueError:
            check_broadcast(name, nodes)
            raise

    return call


PRIMITIVES = {
    "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "bitwise_not": "not", "invert": "not",
    "bitwise_invert": "not", "left_shift": "shift_left", "bitwise_left_shift": "shift_left",
    "right_shift": "shift_right_arithmetic", "bitwise_right_shift": "shift_right_arithmetic", "remainder": "rem",
    "mod": "rem", "fmod": "rem", "arctan2": "atan2", "bitwise_count": "population_count", "multiply": "mul",
    "negative": "neg", "subtract": "sub", "absolute": "abs",
}  # fmt: skip
"""Functions whose errors speak of the operation of jax.lax that they stand for."""


def names(kinds: str) -> list[str]:
    """What errors call the kinds of dtypes, in JAX's order."""
    full = {"iu": "integer", "f": "floating", "c": "complexfloating", "b": "bool"}
    return [name for group, name in full.items() if set(group) & set(kinds)]


class IncompatibleShapesError(TypeError, ValueError):
    """Shapes that do not broadcast: JAX raises now a TypeError, now a ValueError, depending on the function."""


def check_broadcast(name: str, nodes: list[Node]) -> None:
    """Raise IncompatibleShapesError where shapes do not broadcast."""
    shapes = [n.shape for n in nodes]
    try:
        broadcast(*shapes)
    except ValueError:
        if len({len(s) for s in shapes if s}) > 1:
            raise IncompatibleShapesError(f"Incompatible shapes for broadcasting: shapes={shapes}") from None
        text = ", ".join(map(str, shapes))
        raise IncompatibleShapesError(f"{name} got incompatible shapes for broadcasting: {text}.") from None


def unary(name: str, general: Callable[..., Any], host: Host, chars: str, weak: bool = True) -> Callable[[Any], Any]:
    """A function of one array. `chars`: the dtypes for which NumPy's `host` gives JAX's result. `weak`: whether the
    result of a weak one is weak in any case."""
    direct = frozenset(chars)

    def call(x: Any, /) -> Any:
        if type(x) is Array:
            h = x._host
            if h is not None and h.dtype.char in direct and h.size <= config.limit and (weak or not x._weak):
                token = ERRORS.set(SILENT)
                value = host(h)
                ERRORS.reset(token)
                out = new(Array)
                out._host = value if type(value) is NDARRAY else np.array(value)
                out._weak, out._graph = x._weak, None
                return out
        try:
            return general(x)
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


def at_once(host: Host, *operands: Any) -> Array | None:
    """What NumPy's function gives for these values; None where it raises, for the general way to say why."""
    token = ERRORS.set(SILENT)
    try:
        value = host(*operands)
    except (OverflowError, ValueError):
        return None
    finally:
        ERRORS.reset(token)
    out = new(Array)
    out._host = value if type(value) is NDARRAY else np.array(value)
    out._weak, out._graph = False, None
    return out


LIMITS = {c: (int(np.iinfo(c).min), int(np.iinfo(c).max)) for c in INTS}


def fits(scalar: int, char: str) -> bool:
    """Whether a Python int is one of the dtype, and of int32. Of others JAX says OverflowError, or wraps them, where
    NumPy compares with what they are."""
    if 0 <= scalar < 128:
        return True
    low, high = LIMITS.get(char, LIMITS["i"])
    return low <= scalar <= high and -0x80000000 <= scalar < 0x80000000


def binary(
    name: str,
    general: Callable[..., Any],
    host: Host,
    chars: str,
    scalars: Host | None = None,
    mode: str = COMMON,
    weak: tuple[bool, bool] | None = (True, True),
) -> Callable[[Any, Any], Any]:
    """A function of two arrays. `chars`: the dtypes for which NumPy's `host` gives JAX's result for two arrays of that
    dtype, and `scalars` (default: host) for an array of them and a Python scalar of the same or a lower kind. `weak`:
    whether the result of integers beside a Python float is weak, the array first or second; None where that depends."""
    direct = frozenset(chars)
    whole = direct - {"?"}  # a bool beside a Python int becomes an int
    real = direct & frozenset("fdFDe")
    narrow = frozenset(INTS) if "f" in direct else frozenset()  # become floats beside one, or where mode says so
    inexact_too = narrow if mode == INEXACT else frozenset()
    beside_float = narrow if weak is not None else frozenset()
    weak_first, weak_second = weak or (False, False)
    beside = scalars or host
    any_int = name == "power"  # a known exponent is not converted to the dtype

    def call(x: Any, y: Any, /) -> Any:
        out = None
        if type(x) is Array and not Promotion.watched:
            a = x._host
            if a is not None and not x._weak and a.size <= config.limit:
                kind, char = type(y), a.dtype.char
                if kind is Array:
                    b = y._host
                    if b is not None and a.dtype is b.dtype and not y._weak and b.size <= config.limit:
                        if char in direct:
                            out = at_once(host, a, b)
                        elif char in inexact_too:
                            to = inexact(a.dtype)
                            out = at_once(host, a.astype(to), b.astype(to))
                elif kind is float and char in real or kind is int and char in whole and (any_int or fits(y, char)):
                    out = at_once(beside, a, y)
                elif kind is float and char in beside_float:
                    out = weakened(at_once(beside, a.astype(float_dtype()), y), weak_first)
                elif kind is int and char in inexact_too and fits(y, char):
                    out = at_once(beside, a.astype(inexact(a.dtype)), y)
        elif type(y) is Array and not Promotion.watched:
            b, kind = y._host, type(x)
            if b is not None and not y._weak and b.size <= config.limit:
                char = b.dtype.char
                if kind is float and char in real or kind is int and char in whole and (any_int or fits(x, char)):
                    out = at_once(host, x, b)
                elif kind is float and char in beside_float:
                    out = weakened(at_once(host, x, b.astype(float_dtype())), weak_second)
                elif kind is int and char in inexact_too and fits(x, char):
                    out = at_once(host, x, b.astype(inexact(b.dtype)))
        if out is not None:
            return out
        try:
            return general(x, y)
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


def weakened(out: Array | None, weak: bool) -> Array | None:
    """An integer array beside a Python float makes a weak result, mostly."""
    if out is not None:
        out._weak = weak
    return out


def named(f: Any, name: str, doc: str | None = None) -> Any:
    """f under a public name, with the summary of NumPy's docstring."""
    f.__name__ = f.__qualname__ = name
    f.__module__ = "jax.numpy"
    f.__doc__ = doc or summary(name)
    return f


@functools.cache
def summary(name: str) -> str:
    """The first paragraph of NumPy's docstring of that name."""
    source = getattr(np, name, None) or getattr(np.linalg, name, None) or getattr(np.fft, name, None)
    parts = [" ".join(p.split()) for p in (getattr(source, "__doc__", None) or "").split("\n\n", 3)[:3]]
    found = next((p for p in parts if p and "(" not in p.split(" ")[0]), name)
    return f"{found}\n\nAs NumPy's, on immutable arrays, with JAX's dtypes."
