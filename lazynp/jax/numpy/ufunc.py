"""`jnp.ufunc`: functions of scalars with reduce, accumulate, at, outer; `frompyfunc` makes one, `vectorize` maps."""

from __future__ import annotations

import functools
import operator
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import control
from ...api.vmap import vmap
from ...doors import through
from ...flags import flags
from ...graph.node import Node
from ...ops.elementwise import convert
from ...ops.reductions import reductions
from ...ops.scans import scans
from ...tracebacks import leave
from ..array import Array, check_arraylike, door
from ..at import update
from ..at_once import apply
from . import reductions as _reductions
from .axes import axes_of, axis_of
from .call import summary
from .creation import asarray, astype, full
from .elementwise import table, truth
from .joining import concatenate
from .reductions import sum_dtype, wide
from .select import take, where
from .shape import broadcast_shapes, broadcast_to, moveaxis, ravel, reshape, squeeze

SEGMENTS = {"add": "add", "subtract": "add", "multiply": "multiply"}
scan = through(control.scan, door)


class ufunc:
    """A function of `nin` scalars, broadcast over arrays.

    Attributes:
        nin, nout, nargs: how many arguments and results it has; identity: what changes nothing, or None.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        numpy_name: str | None = None,
        **_: Any,
    ) -> None:
        self._func, self.nin, self.nout, self.identity = func, operator.index(nin), operator.index(nout), identity
        self.nargs = self.nin if nargs is None else nargs
        self.__name__ = self.__qualname__ = name or func.__name__
        self.__doc__ = summary(self.__name__) if numpy_name else getattr(func, "__doc__", None)
        self._call = call or vectorize(func)
        self._numpy = numpy_name

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __hash__(self) -> int:
        return hash((self._func, self.__name__, self.nin, self.nout))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ufunc) and (self._func, self.__name__) == (other._func, other.__name__)

    def __call__(self, *args: Any, out: Any = None, where: Any = None) -> Any:
        try:
            if out is not None:
                raise NotImplementedError(f"out argument of {self}")
            if where is not None:
                raise NotImplementedError(f"where argument of {self}")
            return self._call(*args)
        except BaseException as error:
            leave(error)
            raise

    def _binary(self, method: str, out: Any) -> None:
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.{method}()")

    def _to(self, dtype: Any, *operands: Array) -> np.dtype[Any]:
        """The dtype that a method works in: the one asked for, or that of the function's results."""
        if dtype is not None:
            return np.dtype(dtype)
        found: np.dtype[Any] = asarray(self._call(*[full((), 1, x.dtype) for x in operands])).dtype
        return found

    def reduce(
        self,
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """The function of all elements along axes, one after another. Raises ValueError where there are none."""
        self._binary("reduce", out)
        check_arraylike(f"{self.__name__}.reduce", a, *[x for x in (initial,) if x is not None])
        x = asarray(a)
        if where is not None:
            if self.identity is None and initial is None:
                raise ValueError(
                    f"reduction operation {self.__name__!r} does not have an identity, so to use a where mask one "
                    "has to specify 'initial'."
                )
            where = asarray(where)
            if where.dtype != np.bool_:
                raise ValueError(f"where argument must have dtype=bool; got dtype={where.dtype}")
        axes = axes_of(axis, x.ndim)
        if isinstance(axis, tuple) and self._numpy in (None, "subtract"):
            raise NotImplementedError("tuple of axes")
        if self._numpy in reductions and (dtype is None or self._numpy in ("add", "multiply")):
            return self._native_reduce(x, axes, dtype, keepdims, initial, where)
        return self._general_reduce(x, axes, dtype, keepdims, initial, where)

    def _native_reduce(self, x: Array, axes: Any, dtype: Any, keepdims: bool, initial: Any, mask: Any) -> Any:
        run = {
            "add": "sum",
            "multiply": "prod",
            "maximum": "max",
            "minimum": "min",
            "logical_and": "all",
            "logical_or": "any_",
        }
        name = run.get(self._numpy or "")
        options: dict[str, Any] = {"axis": axes, "keepdims": keepdims, "where": mask}
        if name in ("sum", "prod", "max", "min"):
            options["initial"] = initial
        if dtype is not None:
            options["dtype"] = dtype
        if name is not None and (initial is None or "initial" in options):
            return getattr(_reductions, name)(x, **options)
        return self._general_reduce(x, axes, dtype, keepdims, initial, mask)

    def _general_reduce(self, x: Array, axes: Any, dtype: Any, keepdims: bool, initial: Any, mask: Any) -> Any:
        to = self._to(dtype, x, x)
        rest = [i for i in range(x.ndim) if i not in axes]
        kept = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
        rows = reshape(x.transpose((*axes, *rest)), (-1 if x.size else 0, *[x.shape[i] for i in rest]))
        masks = None if mask is None else reshape(broadcast_to(mask, x.shape).transpose((*axes, *rest)), rows.shape)
        start = self.identity if initial is None else initial
        if start is None:
            if rows.shape[0] == 0:
                raise ValueError(f"zero-size array to reduction operation {self.__name__} which has no identity")
            first, rows = astype(rows[0], to), rows[1:]
        else:
            first = broadcast_to(astype(asarray(start), to), rows.shape[1:])

        def step(y: Array, row: tuple[Array, Array | None]) -> tuple[Array, None]:
            value, chosen = row
            new = astype(self._call(y, astype(value, to)), to)
            return (new if chosen is None else where(chosen, new, y)), None

        out = scan(step, first, (rows, masks))[0]
        return reshape(out, kept) if keepdims else out

    def accumulate(self, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """The results after each element along an axis. Sums and products take all elements where axis is None."""
        self._binary("accumulate", out)
        check_arraylike(f"{self.__name__}.accumulate", a)
        x = asarray(a)
        if axis is None and self._numpy in ("add", "multiply"):
            x, axis = ravel(x), 0
        if axis is None:
            raise ValueError("accumulate does not allow multiple axes")
        axis = operator.index(axis)
        at = axis_of(axis, x.ndim)
        if self._numpy in scans:
            to = (
                (sum_dtype(x.dtype, False) if self._numpy in ("add", "multiply") else None)
                if dtype is None
                else np.dtype(dtype)
            )
            return apply(lambda n: scanned(n, self._numpy or "", at, to), x.node)
        kind = self._to(dtype, x, x)
        rows = moveaxis(astype(x, kind), at, 0)
        if x.size == 0:
            return astype(x, kind)

        def step(y: Array, row: Array) -> tuple[Array, Array]:
            new = astype(self._call(y, row), kind)
            return new, new

        later = scan(step, rows[0], rows[1:])[1]
        return moveaxis(concatenate([rows[:1], later], 0), 0, at)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """A copy of a with the function applied at indices, also at repeated ones. Raises NotImplementedError unless
        `inplace=False`."""
        if inplace:
            raise NotImplementedError(
                "Because JAX arrays are immutable, jnp.ufunc.at() cannot operate inplace like NumPy's: pass "
                "inplace=False, and use the result."
            )
        given: list[Any] = [] if b is None else [b]
        check_arraylike(f"{self.__name__}.at", a, *given)
        if len(given) + 1 != self.nin:
            raise TypeError(f"{self.__name__}.at takes {self.nin} operands, got {len(given) + 1}")
        x, places = asarray(a), indices if isinstance(indices, tuple) else (indices,)
        if any([isinstance(i, slice) for i in places]):
            raise TypeError(f"{self.__name__}.at takes whole numbers and arrays of them as indices, and no slices")
        how = SEGMENTS.get(self._numpy or "")
        if how is None:
            return self._at_each(x, places, [asarray(v) for v in given])
        value = given[0]
        if x.dtype == np.bool_:  # sums and products of truth values
            return astype(update(astype(x, np.int32), indices, astype(astype(value, bool), np.int32), how), bool)
        return update(x, indices, -asarray(value) if self._numpy == "subtract" else value, how)

    def _at_each(self, x: Array, places: Any, given: list[Array]) -> Array:
        """x with the function applied at one place after another: repeated places see one another's results."""
        to = self._to(None, x, *given)
        x, given = astype(x, to), [astype(v, to) for v in given]
        places = [asarray(i) for i in places]
        shape = np.broadcast_shapes(*[i.shape for i in places])
        if not shape:
            return update(x, tuple(places), self._call(x[tuple(places)], *given), "set")
        places = [ravel(broadcast_to(i, shape)) for i in places]
        values = [broadcast_to(v, (*shape, *v.shape[len(shape) :])) for v in given]
        values = [reshape(v, (places[0].size, *v.shape[len(shape) :])) for v in values]

        def step(y: Array, row: Any) -> tuple[Array, None]:
            at, operands = row
            return update(y, tuple(at), astype(self._call(y[tuple(at)], *operands), to), "set"), None

        out: Array = scan(step, x, (places, values))[0]
        return out

    def reduceat(self, a: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """The reductions of the spans that indices begin."""
        self._binary("reduceat", out)
        check_arraylike(f"{self.__name__}.reduceat", a, indices)
        x, index = asarray(a), asarray(indices)
        if x.ndim == 0:
            raise ValueError(f"reduceat: a must have 1 or more dimension, got a.shape={x.shape}")
        if index.ndim != 1:
            raise ValueError(f"reduceat: indices must be one-dimensional, got indices.shape={index.shape}")
        if axis is None or isinstance(axis, (tuple, list)):
            raise ValueError("reduceat requires a single integer axis.")
        at = axis_of(axis, x.ndim)
        rows = moveaxis(x if dtype is None else astype(x, dtype), at, 0)
        n = rows.shape[0]
        ends = concatenate([index[1:], full((1,), n, index.dtype)])
        shape = (-1,) + (1,) * (rows.ndim - 1)

        def step(y: Array, row: tuple[Array, Array]) -> tuple[Array, None]:
            k, value = row
            inside = reshape((k > index) & (k < ends), shape)
            return where(inside, self._call(y, value), y), None

        out = scan(step, take(rows, index, axis=0), (asarray(np.arange(n, dtype=index.dtype)), rows))[0]
        return moveaxis(out, 0, at)

    def outer(self, A: Any, B: Any, /) -> Any:
        """The function of all pairs."""
        self._binary("outer", None)
        check_arraylike(f"{self.__name__}.outer", A, B)
        a, b = asarray(A), asarray(B)
        return self._call(reshape(a, (*a.shape, *(1,) * b.ndim)), reshape(b, (*(1,) * a.ndim, *b.shape)))


def scanned(x: Node, name: str, axis: int, dtype: Any) -> Node:
    x = convert(x, dtype) if dtype is not None else x
    if name.startswith("logical"):
        return scans[name](truth(x), axis=axis, dtype=None)
    out = scans[name](convert(x, wide(x.dtype)), axis=axis, dtype=None if dtype is None else wide(dtype))
    return convert(out, x.dtype) if out.dtype != x.dtype and out.dtype.kind != "b" else out


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A ufunc of a function of scalars."""
    return ufunc(func, nin, nout, identity=identity)


IDENTITIES: dict[str, Any] = {
    "add": 0,
    "multiply": 1,
    "logical_and": True,
    "logical_or": False,
    "logical_xor": False,
    "bitwise_and": -1,
    "bitwise_or": 0,
    "bitwise_xor": 0,
    "logaddexp": -np.inf,
    "logaddexp2": -np.inf,
    "subtract": None,
    "maximum": None,
    "minimum": None,
    "negative": None,
}
ufuncs = {
    name: ufunc(
        table[name], 1 if name == "negative" else 2, 1, name=name, identity=identity, call=table[name], numpy_name=name
    )
    for name, identity in IDENTITIES.items()
}

# vectorize.

NAME = re.compile(r"[A-Za-z_]\w*")
GROUP = re.compile(r"\(([^()]*)\)")


def parse_signature(text: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """ "(m,n),(n)->(m)" as names. Raises ValueError."""
    sides = text.replace(" ", "").split("->")
    if len(sides) != 2:
        raise ValueError(f"not a valid gufunc signature: {text}")
    out = []
    for side in sides:
        groups = GROUP.findall(side)
        if not groups or ",".join([f"({g})" for g in groups]) != side:
            raise ValueError(f"not a valid gufunc signature: {text}")
        names = [tuple([n for n in g.split(",") if n]) for g in groups]
        if any([not NAME.fullmatch(n) and not n.isdigit() for g in names for n in g]):
            raise ValueError(f"not a valid gufunc signature: {text}")
        out.append(names)
    return out[0], out[1]


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Any = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """A function of scalars, or of arrays of the signature's core dimensions, broadcast over all others by vmap."""
    if any([not isinstance(x, (str, int)) for x in excluded]):
        raise TypeError(
            f"jax.numpy.vectorize can only exclude integer or string arguments, but excluded={set(excluded)!r}"
        )
    if any([isinstance(x, int) and x < 0 for x in excluded]):
        raise ValueError(f"excluded={set(excluded)!r} contains negative numbers")

    @functools.wraps(pyfunc)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        error = f"on vectorized function with excluded={excluded!r} and signature={signature!r}"
        fixed = {i: a for i, a in enumerate(args) if i in excluded or a is None}
        names = [k for k in kwargs if k not in excluded and kwargs[k] is not None]
        given = [asarray(a) for i, a in enumerate(args) if i not in fixed] + [asarray(kwargs[k]) for k in names]
        static = {k: v for k, v in kwargs.items() if k not in names}
        count = len(given)

        def core(*xs: Any) -> Any:
            it = iter(xs)
            positional = [fixed[i] if i in fixed else next(it) for i in range(len(args))]
            return pyfunc(*positional, **dict(zip(names, it)), **static)

        if signature is None:
            ins: list[tuple[str, ...]] = [()] * count
            outs: list[tuple[str, ...]] | None = None
        else:
            ins, outs = parse_signature(signature)
            empty = [i for i, a in enumerate([a for i, a in enumerate(args) if i not in excluded]) if a is None]
            if any([i < len(ins) and ins[i] for i in empty]):
                raise ValueError(f"Cannot pass None at locations {set(empty)} with signature={signature!r}")
            ins = [dims for i, dims in enumerate(ins) if i not in empty]
            if len(ins) != count:
                raise TypeError(f"wrong number of positional arguments: expected {len(ins)}, got {count} {error}")
        sizes: dict[str, int] = {}
        for x, dims in zip(given, ins):
            if x.ndim < len(dims):
                raise ValueError(
                    f"input with shape {x.shape} does not have enough dimensions for all core dimensions {dims} {error}"
                )
            for name, n in zip(dims, x.shape[x.ndim - len(dims) :]):
                if sizes.setdefault(name, n) != n:
                    raise ValueError(f"inconsistent size for core dimension {name!r}: {n} vs {sizes[name]} {error}")
        check_mapped_ranks(given, [len(d) for d in ins], signature)
        return broadcast_map(checked(core, outs, sizes, error), given, [len(d) for d in ins])

    return wrapped


def check_mapped_ranks(given: Sequence[Array], cores: Sequence[int], signature: str | None) -> None:
    """What jax_numpy_rank_promotion asks for where arrays, scalars aside, have different numbers of mapped axes.

    Raises: ValueError, or warns.
    """
    if flags.numpy_rank_promotion == "allow" or len({x.ndim - n for x, n in zip(given, cores) if x.ndim}) < 2:
        return
    text = (
        f"operands with shapes {[x.shape for x in given]} require rank promotion for jnp.vectorize function with "
        f"signature {signature}. Set the jax_numpy_rank_promotion config option to 'allow' to disable this message."
    )
    if flags.numpy_rank_promotion == "raise":
        raise ValueError(text)
    warnings.warn(text, stacklevel=3)


def checked(
    f: Callable[..., Any], outs: Sequence[tuple[str, ...]] | None, sizes: dict[str, int], error: str
) -> Callable[..., Any]:
    """f, whose results are checked against the signature."""

    def call(*xs: Any) -> Any:
        out = f(*xs)
        if outs is None:
            return out
        if len(outs) > 1 and not isinstance(out, tuple):
            raise TypeError(f"output must be a tuple when multiple outputs are expected, got: {out!r} {error}")
        results = [out] if not isinstance(out, tuple) else list(out)
        if len(results) != len(outs):
            raise TypeError(f"wrong number of output arguments: expected {len(outs)}, got {len(results)} {error}")
        for r, dims in zip(results, outs):
            shape = np.shape(r)
            if len(shape) != len(dims):
                raise ValueError(f"output shape {shape} does not match core dimensions {dims} {error}")
            for name, n in zip(dims, shape):
                if sizes.setdefault(name, n) != n:
                    raise ValueError(f"inconsistent size for core dimension {name!r}: {n} vs {sizes[name]} {error}")
        return out

    return call


def broadcast_map(f: Callable[..., Any], xs: Sequence[Array], cores: Sequence[int]) -> Any:
    """f mapped over the leading axes that the arrays have beyond their core axes, which broadcast."""
    leads = [x.shape[: x.ndim - c] for x, c in zip(xs, cores)]
    common = broadcast_shapes(*leads) if leads else ()
    ready, rows = [], []
    for x, lead in zip(xs, leads):
        padded = (1,) * (len(common) - len(lead)) + lead
        rows.append(padded)
        drop = tuple([i for i, n in enumerate(padded) if n == 1 and common[i] != 1 or i < len(common) - len(lead)])
        ready.append(squeeze(reshape(x, (*padded, *x.shape[len(lead) :])), drop) if drop else x)
    for i in reversed(range(len(common))):
        axes = tuple(
            [0 if row[i] == common[i] and not (i < len(common) - len(lead)) else None for row, lead in zip(rows, leads)]
        )
        f = vmap(f, axes, door=door) if any([a == 0 for a in axes]) else f
    return f(*ready)
