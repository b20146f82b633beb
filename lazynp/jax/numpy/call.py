"""How a function of `jax.numpy` is called: the shortcut for small values, promotion, errors; then the graph.

A function is written once, on nodes whose dtypes are already those in which JAX computes. Where all operands are small
and at hand it is not even asked, if NumPy's own function does the same for those dtypes (`direct`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ...config import config
from ...graph.node import Node
from ...ops.elementwise import convert
from ..array import ERRORS, NDARRAY, SILENT, Array, apply, as_dtype, cast_node, check_arraylike, new, typed
from ..dtypes import EXTENSIONS, FLOAT32, INT32, KIND_OF, DType, inexact, promotion, x64_enabled

Host = Callable[..., Any]
Impl = Callable[..., Any]
COMMON, NUMERIC, INEXACT = "common", "numeric", "inexact"
FLOATS, NUMBERS, ANY = "fde", "bhilqBHILQfdFDe", "?bhilqBHILQfdFDe"  # by NumPy's dtype.char


def common_dtype(mode: str, *args: Any) -> tuple[DType, bool]:
    """The dtype in which a function computes, and whether the result is weak.

    COMMON: what the operands promote to; NUMERIC: the same, int32 for bool; INEXACT: floating or complex.
    """
    dtype, weak = promotion(x64_enabled(), *[typed(x) for x in args])
    if mode == INEXACT:
        dtype = inexact(dtype)
    elif mode == NUMERIC and dtype.kind == "b":
        dtype = INT32
    return dtype, weak


def promoted(mode: str, *args: Any) -> list[Node]:
    """The operands as nodes of `common_dtype`."""
    dtype, weak = common_dtype(mode, *args)
    return [as_dtype(x, dtype, weak) for x in args]


def widened(impl: Impl) -> Impl:
    """The same for the small types of ml_dtypes: computed in float32 (integers in int32), and rounded after that."""

    def call(*nodes: Node, **params: Any) -> Any:
        dtype = nodes[0].dtype
        if dtype not in EXTENSIONS:
            return impl(*nodes, **params)
        wide = FLOAT32 if KIND_OF[dtype] == "f" else INT32
        out = impl(*[convert(n, wide) for n in nodes], **params)
        if isinstance(out, tuple):
            return tuple([convert(x, dtype) if x.dtype == wide else x for x in out])
        return convert(out, dtype) if out.dtype == wide else out

    return call


def elementwise(name: str, impl: Impl, mode: str, accepts: str) -> Callable[..., Any]:
    """`(*args) -> Array` past the shortcut. `accepts`: kinds of the dtype in which it computes.

    Raises: TypeError for what is no array, for a dtype that is not accepted, and for shapes that do not broadcast.
    """
    impl = widened(impl)

    def weakened(*nodes: Node) -> Any:
        out = impl(*nodes)
        return cast_node(out, out.dtype, True) if type(out) is Node else out

    def call(*args: Any) -> Any:
        check_arraylike(name, *args)
        dtype, weak = common_dtype(mode, *args)
        kind = KIND_OF.get(dtype)
        if kind is None or kind not in accepts:
            raise TypeError(
                f"{name} does not accept dtype {dtype}. Accepted dtypes are subtypes of {', '.join(names(accepts))}."
            )
        nodes = [as_dtype(x, dtype, weak) for x in args]
        try:
            return apply(weakened if weak else impl, *nodes)
        except ValueError:
            check_shapes(name, nodes)
            raise

    return call


def names(kinds: str) -> list[str]:
    full = {"b": "bool", "i": "signedinteger", "u": "unsignedinteger", "f": "floating", "c": "complexfloating"}
    return [full[k] for k in kinds]


def check_shapes(name: str, nodes: list[Node]) -> None:
    """Raise JAX's TypeError where shapes do not broadcast."""
    shapes = [n.shape for n in nodes]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        text = ", ".join(map(str, shapes))
        raise TypeError(f"{name} got incompatible shapes for broadcasting: {text}.") from None


def unary(name: str, general: Callable[..., Any], host: Host, chars: str) -> Callable[[Any], Any]:
    """A function of one array. `chars`: the dtypes for which NumPy's `host` gives JAX's result."""
    direct = frozenset(chars)

    def call(x: Any, /) -> Any:
        if type(x) is Array:
            h = x._host
            if h is not None and h.dtype.char in direct and h.size <= config.limit:
                token = ERRORS.set(SILENT)
                value = host(h)
                ERRORS.reset(token)
                out = new(Array)
                out._host = value if type(value) is NDARRAY else np.array(value)
                out._weak, out._graph = x._weak and out._host.dtype.kind != "b", None
                return out
        return general(x)

    return named(call, name)


def binary(
    name: str, general: Callable[..., Any], host: Host, chars: str, scalars: Host | None = None
) -> Callable[[Any, Any], Any]:
    """A function of two arrays. `chars`: the dtypes for which NumPy's `host` gives JAX's result for two arrays of that
    dtype, and `scalars` (default: host) for an array of them and a Python scalar of the same or a lower kind."""
    direct = frozenset(chars)
    whole = frozenset(chars) - {"?"}  # a bool beside a Python int becomes an int
    real = frozenset(chars) & frozenset("fdFDe")
    scalar_host = scalars or host

    def call(x: Any, y: Any, /) -> Any:
        if type(x) is Array:
            a = x._host
            if a is not None:
                limit = config.limit
                kind = type(y)
                if kind is Array:
                    b = y._host
                    if b is not None and a.dtype is b.dtype and a.dtype.char in direct and not x._weak:
                        if not y._weak and a.size <= limit and b.size <= limit:
                            token = ERRORS.set(SILENT)
                            try:
                                value = host(a, b)
                            except ValueError:
                                return general(x, y)
                            finally:
                                ERRORS.reset(token)
                            out = new(Array)
                            out._host = value if type(value) is NDARRAY else np.array(value)
                            out._weak, out._graph = False, None
                            return out
                elif (
                    (kind is float and a.dtype.char in real or kind is int and a.dtype.char in whole)
                    and not x._weak
                    and a.size <= limit
                ):
                    token = ERRORS.set(SILENT)
                    try:
                        value = scalar_host(a, y)
                    except (OverflowError, ValueError):
                        return general(x, y)
                    finally:
                        ERRORS.reset(token)
                    out = new(Array)
                    out._host = value if type(value) is NDARRAY else np.array(value)
                    out._weak, out._graph = False, None
                    return out
        elif type(y) is Array:
            b = y._host
            kind = type(x)
            if b is not None and not y._weak and b.size <= config.limit:
                if kind is float and b.dtype.char in real or kind is int and b.dtype.char in whole:
                    token = ERRORS.set(SILENT)
                    try:
                        value = host(x, b)
                    except (OverflowError, ValueError):
                        return general(x, y)
                    finally:
                        ERRORS.reset(token)
                    out = new(Array)
                    out._host = value if type(value) is NDARRAY else np.array(value)
                    out._weak, out._graph = False, None
                    return out
        return general(x, y)

    return named(call, name)


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
    text = inspect.getdoc(source) or name
    parts = [p for p in text.split("\n\n") if "(" not in p.split(" ")[0]]
    return f"{parts[0] if parts else name}\n\nAs NumPy's, on immutable arrays, with JAX's dtypes."
