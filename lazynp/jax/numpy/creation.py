"""Arrays from values, and from nothing: array, zeros, arange, linspace and their like."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backends.numpy.namespace import xp
from ...config import config
from ...errors import concretization_error
from ...flags import flags
from ...graph.node import ABSTRACT, Node, leaf
from ...once import reading
from ...ops import creation as c
from ...ops import elementwise as e
from ...ops.elementwise import convert
from ...ops.joining import concatenate
from ...ops.shape import broadcast_to, move_axis, reshape
from ...runtime.checks import check_values
from ...tree import map as tree_map
from .. import dlpack
from ..array import (
    Array,
    as_node,
    cast_node,
    check_arraylike,
    converted,
    has_form,
    is_arraylike,
    own_form,
    scalar_buffer,
    silently,
    typed,
    wrap,
    wrap_value,
)
from ..at_once import apply
from ..casts import astype_node
from ..dtypes import (
    FLOAT32,
    KIND_OF,
    SCALARS,
    canonical,
    check_dtype,
    check_real,
    dtype_and_weak,
    float_dtype,
    inexact,
    is_extended,
    promotion,
    requested,
    result_type,
    x64_enabled,
)
from ..symbolic import is_symbolic_dim, max_dim
from ..transfers import State as guarded
from ..transfers import to_device
from . import at_once
from .axes import axis_of, check_broadcast, check_sizes, shape_of, static_int
from .nested import flat_leaves, host_tree, joined, ragged

DTypeLike = Any


def astype(x: Any, dtype: DTypeLike, /, *, copy: bool = False, device: Any = None) -> Any:
    """x with that dtype; floats become integers as in XLA: the nearest limit where they do not fit, 0 for NaN."""
    check_arraylike("astype", x)
    x = x if type(x) is Array else asarray(x)
    to = float_dtype() if dtype is None else requested(dtype, "astype")
    h = x._host
    if h is not None and h.size <= config.limit:
        if h.dtype == to:
            return wrap_value(h.copy()) if copy or x._weak else x
        if h.dtype.kind in "biu" and to.kind in "biufc" or h.dtype.kind == "f" and to.kind in "fc":
            return wrap_value(silently(h.astype, to))
        value = at_once.astype(h, to)
        if value is not None:
            return wrap_value(value)
    node = x.node
    if node.dtype == to and not node.weak:
        return x
    return apply(lambda n: astype_node(n, to), node)


def array(
    object: Any,
    dtype: DTypeLike = None,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """An array from arrays, scalars, nested lists and tuples of them, or what has `__array__` or `__jax_array__`.

    Raises: TypeError for what is none; ValueError for None.
    """
    if order not in (None, "K"):
        raise NotImplementedError("Only implemented for order='K'")
    out = made(object, None if dtype is None else requested(dtype, "array"))
    if ndmin > out.ndim:
        out = apply(lambda x: reshape(x, shape=(*(1,) * (ndmin - x.ndim), *x.shape)), out.node)
    return wrap(out.node) if out is object and copy else out


def made(x: Any, dtype: Any) -> Array:
    """The array of anything, in which NaN and infinity are errors where the flags ask for that."""
    out = from_object(x, dtype)
    if type(x) is not Array and (flags.debug_nans or flags.debug_infs) and type(out._host) is np.ndarray:
        check_values([out._host], "stage")
    return out


def from_object(x: Any, dtype: Any) -> Array:
    """The array of anything."""
    if x is None:
        raise ValueError("None is not a valid value for jnp.array")
    kind = type(x)
    if kind is Array:
        return x if dtype is None else retyped(x, dtype)
    if guarded.on and not isinstance(x, Array):
        to_device(x)
    if kind in SCALARS:
        own = canonical(SCALARS[kind])
        if dtype is None:
            return wrap_value(silently(scalar_buffer, x, own), kind is not bool)
        if kind is int and KIND_OF[dtype] in "iu":
            return wrap_value(np.array(x, dtype))
        if kind is int:
            return wrap_value(converted(x, dtype))
        return wrap_value(silently(np.array, x, dtype))
    if isinstance(x, (np.ndarray, np.generic)):
        if x.dtype.kind in "mM" and isinstance(x, np.generic):
            raise no_numbers(x)
        reading.note(x)
        short = canonical(check_dtype(x.dtype, "array"))
        if dtype is None:
            return wrap_value(silently(np.array, x, short, order="C"))
        if x.dtype.kind in "fc" and KIND_OF[dtype] in "iu":
            return retyped(wrap_value(np.array(x, order="C")), dtype)
        x = x.real if x.dtype.kind == "c" and dtype.kind not in "cb" else x
        return wrap_value(silently(np.array, x, dtype, order="C"))
    if is_arraylike(x):
        out = wrap(as_node(own_form(x)))
        return out if dtype is None else retyped(out, dtype)
    if isinstance(x, (str, bytes)):
        if dtype is None:
            raise no_numbers(x)
        return wrap_value(np.array(x).astype(dtype))
    if isinstance(x, (list, tuple, range)):
        return from_sequence(list(x) if type(x) is range else x, dtype)
    if hasattr(x, "__array__") or hasattr(x, "__array_interface__") or has_buffer(x):
        return from_object(np.asarray(x), dtype)
    raise no_numbers(x)


def no_numbers(x: Any) -> TypeError:
    """For what is no number, or an array of other things."""
    return TypeError(
        f"Value '{x!s}' with dtype {np.array(x).dtype} is not a valid JAX array type. Only arrays of numeric types are "
        "supported by JAX."
    )


def has_buffer(x: Any) -> bool:
    """Whether it shows its memory by the buffer protocol."""
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def retyped(x: Array, dtype: np.dtype[Any]) -> Array:
    """x in another dtype. Raises ValueError for keys, and for other dtypes as keys."""
    if is_extended(x.dtype) != is_extended(dtype):
        raise ValueError(f"Cannot convert_element_type from {x.dtype} to {dtype}")
    return astype(x, dtype)


def from_sequence(x: Sequence[Any], dtype: Any) -> Array:
    """Of nested lists: at once where all values are at hand, else by joining."""
    leaves = flat_leaves(x)
    if any([leaf is None for leaf in leaves]):
        raise ValueError("None is not a valid value for jnp.array")
    for item in leaves:
        if type(item) is complex and dtype is not None:
            check_real(item, dtype)
        if not is_arraylike(item):
            if hasattr(item, "__array__"):
                return from_sequence(host_tree(x), dtype)
            raise no_numbers(item)
    if any(map(has_form, leaves)):
        return from_sequence(tree_map(own_form, x), dtype)
    if not leaves:
        return wrap_value(np.array(x, dtype or float_dtype()))
    keys = [item for item in leaves if isinstance(item, Array) and is_extended(item.dtype)]
    if keys and len(keys) == len(leaves) and dtype is None:
        other = next((k.dtype for k in keys if k.dtype != keys[0].dtype), None)
        if other is not None:
            raise ValueError(f"dtype={other} is not a valid dtype for JAX type promotion.")
        return joined(x, keys[0].node.dtype)
    python = all([type(item) in SCALARS for item in leaves])
    if dtype is None:
        dtype, weak = promotion(x64_enabled(), *{dtype_and_weak(item) for item in leaves})
        if weak:
            dtype = canonical(np.result_type(*{SCALARS[type(item)] for item in leaves})) if python else dtype
    if python and KIND_OF[dtype] in "iu":
        return wrap_value(np.array(x, dtype))
    arrays = [item for item in leaves if isinstance(item, Array)]
    if all([item._host is not None for item in arrays]):
        try:
            host = np.array(host_tree(x) if arrays else x)
        except ValueError:
            if not arrays:
                raise
            raise ragged(x) from None
        if host.dtype != object:
            return from_object(host, dtype)
        if not arrays:
            raise OverflowError("Python integer too large for the dtype")
    return joined(x, dtype)


def asarray(
    a: Any,
    dtype: DTypeLike = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The array of an object: itself, where it is one of that dtype. See `array`."""
    if order not in (None, "K"):
        raise NotImplementedError("Only implemented for order='K'")
    want = None if dtype is None else requested(dtype, "asarray")
    out = made(a, want)
    return wrap(out.node) if out is a and copy else out


def copy(a: Any, order: str | None = None) -> Any:
    """A copy."""
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)


# Filled.


def small_shape(shape: tuple[int, ...]) -> bool:
    return not any(map(is_symbolic_dim, shape)) and math.prod(shape) <= config.limit


def keys(shape: tuple[int, ...], value: Any, dtype: Any) -> Any:
    """Random keys, each word of them this value. Raises TypeError for a value that is no integer."""
    if type(value) not in (bool, int):
        raise TypeError(f"words of keys are integers, not {value!r}")
    words = np.zeros(shape, dtype.words)
    for name in words.dtype.names:
        words[name] = value
    return wrap(leaf(shape, words.dtype, words))


def filled(shape: tuple[int, ...], value: Any, dtype: np.dtype[Any], weak: bool = False) -> Any:
    """An array of one value, without memory where it is large."""
    if any([n < 0 for n in shape]):
        raise TypeError(f"broadcast_in_dim shape must have every element be nonnegative, got {shape}.")
    if is_extended(dtype):
        return keys(shape, value, dtype)
    if guarded.on:
        to_device(value)
    if small_shape(shape):
        return wrap_value(np.full(shape, value, dtype), weak)
    scalar = Node.of_scalar(np.asarray(value).astype(dtype)[()])
    return wrap(cast_node(broadcast_to(scalar, shape=shape), dtype, weak))


def constant(name: str, value: Any) -> Callable[..., Any]:
    """zeros, ones, empty."""

    def call(shape: Any, dtype: DTypeLike = None, *, device: Any = None, out_sharding: Any = None) -> Any:
        if isinstance(shape, float):
            raise TypeError(f"Shapes must be 1D sequences of concrete values of integer type, got {shape}.")
        to = float_dtype() if dtype is None else requested(dtype, name)
        return filled(shape_of(shape), value, to)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"An array of that shape, filled with {value}; float32 unless a dtype is given."
    return call


zeros, ones, empty = constant("zeros", 0), constant("ones", 1), constant("empty", 0)


def scalar_as(x: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """A scalar's value in a dtype that was asked for; for one of keys as it is."""
    if is_extended(dtype):
        return x
    if type(x) is complex:
        check_real(x, dtype)
    return converted(x, dtype) if type(x) is int else retyped(from_object(x, None), dtype)._value()


def full(shape: Any, fill_value: Any, dtype: DTypeLike = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of that shape, filled with a value, or with an array that broadcasts."""
    shape = shape_of(shape)
    check_arraylike("full", fill_value)
    if is_arraylike(fill_value) and not is_symbolic_dim(fill_value):
        found, weak = typed(fill_value)
    else:
        fill_value = asarray(fill_value)
        found, weak = fill_value.dtype, fill_value.weak_type
    to, weak = (found, weak) if dtype is None else (requested(dtype, "full"), False)
    if not isinstance(fill_value, Array) and np.ndim(fill_value) == 0:
        return filled(shape, scalar_as(fill_value, to), to, weak)
    node = as_node(fill_value)
    check_broadcast(node, shape)
    if is_extended(found) or is_extended(to):
        if found != to:
            raise ValueError(f"Cannot convert_element_type from {found} to {to}")
        return apply(lambda x: broadcast_to(x, shape=shape), node)
    return apply(lambda x: cast_node(broadcast_to(astype_node(x, to), shape=shape), to, weak), node)


def duck(x: Any) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """Shape, dtype and weakness of an array or of what has a shape and a dtype."""
    if not is_arraylike(x) and hasattr(x, "shape") and hasattr(x, "dtype"):
        return tuple(x.shape), x.dtype, bool(getattr(x, "weak_type", False))
    check_arraylike("full_like", x)
    dtype, weak = typed(x)
    return np.shape(x) if not isinstance(x, Array) else x.shape, dtype, weak


def full_like(
    a: Any, fill_value: Any, dtype: DTypeLike = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Like a, filled with a value."""
    own, found, weak = duck(a)
    to, weak = (found, weak) if dtype is None else (requested(dtype, "full_like"), False)
    size = own if shape is None else shape_of(shape)
    if not isinstance(fill_value, Array) and np.ndim(fill_value) == 0:
        check_arraylike("full_like", fill_value)
        if isinstance(fill_value, complex) and KIND_OF[to] in "iuf":
            if not weak:
                check_real(fill_value, to)
            fill_value = fill_value.real
        return filled(size, scalar_as(fill_value, to), to, weak)
    out = full(size, fill_value, to)
    return apply(lambda x: cast_node(x, to, True), out.node) if weak and not np.ndim(fill_value) else out


def like(name: str, value: Any) -> Callable[..., Any]:
    """zeros_like, ones_like, empty_like."""

    def call(
        a: Any, dtype: DTypeLike = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
    ) -> Any:
        if not (hasattr(a, "shape") and hasattr(a, "dtype")):
            check_arraylike(name, a)
        own, found, weak = duck(a)
        to, weak = (found, weak) if dtype is None else (requested(dtype, name), False)
        return filled(own if shape is None else shape_of(shape), value, to, weak)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Like a, filled with {value}."
    return call


zeros_like, ones_like = like("zeros_like", 0), like("ones_like", 1)


def empty_like(prototype: Any, dtype: DTypeLike = None, shape: Any = None, *, device: Any = None) -> Any:
    """zeros_like: no array of this door shows what lay in memory."""
    return zeros_like(prototype, dtype, shape)


# Ranges and matrices.


def concrete(name: str, x: Any) -> Any:
    """A Python or NumPy number. Raises ConcretizationTypeError for a traced one."""
    if isinstance(x, Array):
        node = x._graph
        if node is not None and node.trace == ABSTRACT:
            raise concretization_error(node, f"It is an argument of {name}.")
        return x._value()[()]
    return x


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: DTypeLike = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Numbers from start (0) up to stop, exclusive, by step (1). Raises ConcretizationTypeError for traced bounds."""
    found = at_once.arange(start) if stop is None and step is None and dtype is None else None
    if found is not None:
        return found
    to = None if dtype is None else requested(dtype, "arange")
    if start is None and stop is None:
        raise TypeError("must be real number, not NoneType")
    given = [x for x in (start, stop, step) if x is not None]
    check_arraylike("arange", *given)
    numbers: list[Any] = [None if x is None else concrete("arange", x) for x in (start, stop, step)]
    if any([np.ndim(x) != 0 for x in numbers if x is not None]):
        raise ValueError("jax.numpy.arange: arguments must be scalars; got arrays of more than one element")
    if to is None:
        to = result_type(*[0 if is_symbolic_dim(x) else x for x in given])
    if any([np.iscomplexobj(x) for x in numbers]):
        text = "Passing complex start/stop/step to jnp.arange is no longer supported starting in JAX v0.10.0."
        raise ValueError(text)
    if KIND_OF[to] == "b":
        raise TypeError(
            "iota does not accept dtype bool. Accepted dtypes are subtypes of integer, floating, complexfloating."
        )
    low, high, by = numbers
    if high is None:
        low, high = 0, low
    by = 1 if by is None else by
    if by == 0:
        raise ZeroDivisionError("arange: step must not be 0")
    if any(map(is_symbolic_dim, (low, high, by))):
        places = wrap(convert(c.iota(max_dim(-((low - high) // by), 0), to), to))
        return places if (low, by) == (0, 1) else places * by + low
    if is_whole(low, high, by):
        n = max(0, -((int(low) - int(high)) // int(by)))
    else:
        n = max(0, math.ceil((float(high) - float(low)) / float(by)))
    compute = FLOAT32 if KIND_OF[to] == "f" and to.itemsize < 4 else to
    low, by = (np.asarray(x).item() for x in (low, by))
    if n <= config.limit:
        return wrap_value(xp.arange_n(low, by, n, compute).astype(to, copy=False))
    return wrap(convert(c.arange(dtype=compute, start=low, step=by, n=n), to))


def is_whole(*xs: Any) -> bool:
    return all([isinstance(x, (int, np.integer, np.bool_)) for x in xs])


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """num evenly spaced numbers from start to stop, along a new axis."""
    n = static_int(num, "It stands for `num` of linspace.")
    if n < 0:
        raise ValueError(f"Number of samples, {n}, must be non-negative.")
    check_arraylike("linspace", start, stop)
    to = inexact(result_type(start, stop)) if dtype is None else requested(dtype, "linspace")
    if dtype is None and x64_enabled() is False:
        to = canonical(to)
    compute = canonical(to if dtype is None else inexact(result_type(start, stop, to)))
    if endpoint and not retstep and axis == 0 and to is compute:
        found = at_once.linspace(start, stop, n, compute) if to.char in "fd" else None
        if found is not None:
            return found

    def impl(a: Node, b: Node) -> Any:
        a, b = convert(a, compute), convert(b, compute)
        shape = np.broadcast_shapes(a.shape, b.shape)
        a, b = broadcast_to(a, shape=shape), broadcast_to(b, shape=shape)
        count = n - 1 if endpoint else n
        real = np.dtype(compute.char.lower()) if compute.kind == "c" else compute
        step = e.divide(e.subtract(b, a), Node.of_scalar(compute.type(count))) if count else full_nan(a)
        if n == 0:
            out = broadcast_to(compute.type(0), shape=(0, *shape))
        elif n == 1:
            out = reshape(a, shape=(1, *shape))
        else:
            t = e.divide(convert(c.iota(count), real), Node.of_scalar(real.type(count)))
            t = convert(reshape(t, shape=(count, *(1,) * len(shape))), compute)
            one = Node.of_scalar(compute.type(1))
            low = reshape(a, shape=(1, *shape))
            high = reshape(b, shape=(1, *shape))
            out = e.add(e.multiply(low, e.subtract(one, t)), e.multiply(high, t))
            if endpoint:
                out = concatenate(out, high, axis=0)
        if KIND_OF[to] in "iu" and KIND_OF[compute] == "f":
            out = e.floor(out)
        return astype_node(out, to), step

    out, step = apply(impl, as_node(start), as_node(stop))
    if axis != 0 and n > 1 or axis in range(-out.ndim, out.ndim):
        at = axis_of(axis, out.ndim)
        out = apply(lambda x: move_axis(x, 0, at), out.node)
    return (out, step) if retstep else out


def full_nan(like: Node) -> Node:
    return broadcast_to(like.dtype.type(np.nan), shape=like.shape)


def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Any:
    """base to the power of evenly spaced numbers."""
    check_arraylike("logspace", start, stop)
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    out = power_of(base, exponents)
    return out if dtype is None else astype(out, dtype)


def power_of(base: Any, exponents: Array) -> Any:
    return exponents.__rpow__(base)


def eye(N: Any, M: Any = None, k: Any = 0, dtype: DTypeLike = None, *, device: Any = None) -> Any:
    """Ones on the k-th diagonal of an N by M matrix."""
    n = static_int(N, "It stands for `N` of eye.")
    m = n if M is None else static_int(M, "It stands for `M` of eye.")
    if n < 0 or m < 0:
        raise ValueError(f"negative dimensions are not allowed, got {n if n < 0 else m}")
    to = float_dtype() if dtype is None else requested(dtype, "eye")
    if isinstance(k, Array) and k._host is None:
        return apply(lambda k: diagonal_mask(n, m, k, to), k.node)
    if small_shape((n, m)):
        return wrap_value(np.eye(n, m, operator.index(k), dtype=to))
    return wrap(c.eye(n, m, operator.index(k), to))


def diagonal_mask(n: int, m: int, k: Node, dtype: np.dtype[Any]) -> Node:
    rows, columns = reshape(c.iota(n), shape=(n, 1)), reshape(c.iota(m), shape=(1, m))
    return convert(e.equal(e.add(rows, k), columns), dtype)


def weak_as(given: Any, x: Array) -> Array:
    """x, weak where what was given is."""
    return apply(lambda n: cast_node(n, n.dtype, True), x.node) if typed(given)[1] else x


def identity(n: Any, dtype: DTypeLike = None) -> Any:
    """The identity matrix."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = None) -> Any:
    """Ones at and below the k-th diagonal."""
    n, m = static_int(N), static_int(N if M is None else M)
    check_sizes("iota", (n, m))
    to = float_dtype() if dtype is None else requested(dtype, "tri")
    if isinstance(k, Array) and k.node.trace == ABSTRACT:
        return (arange(n)[:, None] + k >= arange(m)[None, :]).astype(to)
    if small_shape((n, m)):
        return wrap_value(np.tri(n, m, k, dtype=to))
    return wrap(c.tri(n, m, k, to))


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Any:
    """An array from bytes."""
    return array(np.frombuffer(buffer, dtype=requested(dtype, "frombuffer"), count=count, offset=offset))


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Any:
    """An array from text."""
    return array(np.fromstring(string, dtype=requested(dtype, "fromstring"), count=count, sep=sep))


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """Not implemented, as in JAX: it consumes its argument, which a traced function must not."""
    raise NotImplementedError(
        "jnp.fromiter() is not implemented because it may be non-pure and thus unsafe for use with JIT and other JAX "
        "transformations. Consider using jnp.asarray(np.fromiter(...)) instead, although care should be taken if "
        "np.fromiter is used within jax transformations because of its potential side-effect of consuming the "
        "iterable object."
    )


def fromfile(*args: Any, **kwargs: Any) -> Any:
    """Not implemented, as in JAX: what a file holds may change."""
    raise NotImplementedError(
        "jnp.fromfile() is not implemented because it may be non-pure and thus unsafe for use with JIT and other JAX "
        "transformations. Consider using jnp.asarray(np.fromfile(...)) instead."
    )


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The array that another library's array shows by `__dlpack__`: see `jax.dlpack.from_dlpack`."""
    return dlpack.from_dlpack(x, device, copy)
