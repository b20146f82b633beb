"""`jnp.ufunc`: functions of scalars with reduce, accumulate, at, outer; `frompyfunc` makes one, `vectorize` maps."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api.vmap import vmap
from ...graph.node import Node
from ...ops.elementwise import convert
from ...ops.reductions import reductions
from ...ops.scans import scans
from ...tracebacks import leave
from ..array import Array, check_arraylike, door, is_arraylike
from ..at import IndexUpdateRef, update
from ..at_once import apply
from . import reductions as _reductions
from .axes import axes_of, axis_of, no_out
from .call import summary
from .creation import asarray, astype, full
from .elementwise import table, truth
from .joining import concatenate
from .reductions import sum_dtype, wide
from .select import take, where
from .shape import broadcast_to, expand_dims, moveaxis, ravel, reshape, squeeze

SEGMENTS = {"add": "add", "multiply": "multiply", "minimum": "min", "maximum": "max"}


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
        self.__name__ = self.__qualname__ = name or getattr(func, "__name__", "ufunc")
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

    def _binary(self, method: str) -> None:
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")

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
        self._binary("reduce")
        no_out(f"{self.__name__}.reduce", out)
        check_arraylike(f"{self.__name__}.reduce", a)
        x = asarray(a)
        if where is not None and self.identity is None and initial is None:
            raise ValueError(
                f"reduction operation {self.__name__!r} does not have an identity, so to use a where mask one "
                "has to specify 'initial'."
            )
        axes = axes_of(axis, x.ndim)
        if self._numpy in reductions and (dtype is None or self._numpy in ("add", "multiply")):
            return self._native_reduce(x, axes, dtype, keepdims, initial, where)
        if len(axes) > 1 and axis is not None:
            raise ValueError(
                f"reduction operation {self.__name__!r} is not reorderable, so at most one axis may be specified"
            )
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
        if dtype is not None:
            x = astype(x, dtype)
        rest = [i for i in range(x.ndim) if i not in axes]
        kept = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
        rows = reshape(x.transpose((*axes, *rest)), (-1 if x.size else 0, *[x.shape[i] for i in rest]))
        masks = None
        if mask is not None:
            m = broadcast_to(mask, x.shape)
            masks = reshape(m.transpose((*axes, *rest)), rows.shape)
        start = self.identity if initial is None else initial
        if rows.shape[0] == 0 and start is None:
            raise ValueError(f"zero-size array to reduction operation {self.__name__!r} which has no identity")
        out: Any = None if start is None else full(rows.shape[1:], start, x.dtype if initial is None else None)
        for k in range(rows.shape[0]):
            step = rows[k] if out is None else self._call(out, rows[k])
            out = step if masks is None or out is None else where(masks[k], step, out)
        return reshape(out, kept) if keepdims else out

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The results after each element along an axis."""
        self._binary("accumulate")
        no_out(f"{self.__name__}.accumulate", out)
        check_arraylike(f"{self.__name__}.accumulate", a)
        x = asarray(a)
        if x.ndim == 0:
            raise ValueError("cannot accumulate on a scalar")
        if axis is None:
            if x.ndim > 1:
                raise ValueError("accumulate does not allow multiple axes")
            axis = 0
        at = axis_of(axis, x.ndim)
        if self._numpy in scans:
            to = (
                (sum_dtype(x.dtype, False) if self._numpy in ("add", "multiply") else None)
                if dtype is None
                else np.dtype(dtype)
            )
            return apply(lambda n: scanned(n, self._numpy or "", at, to), x.node)
        x = x if dtype is None else astype(x, dtype)
        rows = moveaxis(x, at, 0)
        parts = [rows[0]] if rows.shape[0] else []
        for k in range(1, rows.shape[0]):
            parts.append(self._call(parts[-1], rows[k]))
        return moveaxis(concatenate([expand_dims(p, 0) for p in parts], 0), 0, at) if parts else x

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """A copy of a with the function applied at indices, also at repeated ones. Raises NotImplementedError unless
        `inplace=False`."""
        if inplace:
            raise NotImplementedError("JAX ufunc.at does not support inplace=True. Use inplace=False.")
        x = asarray(a)
        if self.nin == 1:
            return IndexUpdateRef(x, indices).apply(self._call)
        if b is None:
            raise ValueError("ufunc.at: second operand is needed for a function of two arguments")
        how = SEGMENTS.get(self._numpy or "")
        if how is not None:
            return update(x, indices, b, how)
        if self._numpy == "subtract":
            return update(x, indices, -asarray(b), "add")
        return at_one_by_one(self._call, x, indices, asarray(b))

    def reduceat(self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The reductions of the spans that indices begin."""
        self._binary("reduceat")
        no_out(f"{self.__name__}.reduceat", out)
        check_arraylike(f"{self.__name__}.reduceat", a, indices)
        x, index = asarray(a), asarray(indices)
        if index.ndim != 1:
            raise NotImplementedError("reduceat for indices.ndim != 1")
        at = axis_of(axis, x.ndim)
        rows = moveaxis(x if dtype is None else astype(x, dtype), at, 0)
        n = rows.shape[0]
        running: Any = take(rows, index, axis=0, mode="clip")
        ends = concatenate([index[1:], full((1,), n, index.dtype)])
        shape = (-1,) + (1,) * (rows.ndim - 1)
        for k in range(n):
            inside = reshape((k > index) & (k < ends), shape)
            running = where(inside, self._call(running, rows[k]), running)
        return moveaxis(running, 0, at)

    def outer(self, A: Any, B: Any, /) -> Any:
        """The function of all pairs."""
        if self.nin != 2:
            raise ValueError("outer only supported for binary ufuncs")
        check_arraylike(f"{self.__name__}.outer", A, B)
        a, b = asarray(A), asarray(B)
        return self._call(reshape(a, (*a.shape, *(1,) * b.ndim)), b)


def scanned(x: Node, name: str, axis: int, dtype: Any) -> Node:
    x = convert(x, dtype) if dtype is not None else x
    if name.startswith("logical"):
        return scans[name](truth(x), axis=axis, dtype=None)
    out = scans[name](convert(x, wide(x.dtype)), axis=axis, dtype=None if dtype is None else wide(dtype))
    return convert(out, x.dtype) if out.dtype != x.dtype and out.dtype.kind != "b" else out


def at_one_by_one(f: Callable[..., Any], x: Array, indices: Any, b: Array) -> Any:
    """Repeated indices see one another's results: the k-th repetition of all indices at a time."""
    picked = x[indices]
    b = broadcast_to(b, picked.shape)
    places = np.asarray(
        np.arange(x.size).reshape(x.shape)[
            tuple(np.asarray(i) if is_arraylike(i) else i for i in indices)
            if isinstance(indices, tuple)
            else (np.asarray(indices) if is_arraylike(indices) else indices)
        ]
    ).reshape(-1)
    flat, values = ravel(x), ravel(b)
    rank = np.zeros(len(places), np.int64)
    seen: dict[int, int] = {}
    for i, p in enumerate(places):
        rank[i] = seen[p] = seen.get(p, -1) + 1
    for k in range(rank.max(initial=-1) + 1):
        now = np.nonzero(rank == k)[0]
        at = places[now]
        flat = update(flat, at, astype(f(flat[at], values[now]), x.dtype), "set")
    return reshape(flat, x.shape)


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
        if ",".join([f"({g})" for g in groups]) != side:
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
        error = f"on vectorized function with excluded={set(excluded)!r} and signature={signature!r}"
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
            if len(ins) != count:
                raise TypeError(f"wrong number of positional arguments: expected {len(ins)}, got {count} {error}")
        sizes: dict[str, int] = {}
        for x, dims in zip(given, ins):
            if x.ndim < len(dims):
                raise ValueError(
                    f"input with shape {x.shape} does not have enough dimensions for all core dimensions {dims} {error}"
                )
            for name, n in zip(dims, x.shape[x.ndim - len(dims) :]):
                if sizes.setdefault(name, int(name) if name.isdigit() else n) != n:
                    raise ValueError(f"inconsistent size for core dimension {name!r}: {n} vs {sizes[name]} {error}")
        return broadcast_map(checked(core, outs, sizes, error), given, [len(d) for d in ins])

    return wrapped


def checked(
    f: Callable[..., Any], outs: Sequence[tuple[str, ...]] | None, sizes: dict[str, int], error: str
) -> Callable[..., Any]:
    """f, whose results are checked against the signature."""

    def call(*xs: Any) -> Any:
        out = f(*xs)
        if outs is None:
            return out
        results = [out] if len(outs) == 1 and not isinstance(out, tuple) else list(out)
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
    common = np.broadcast_shapes(*leads) if leads else ()
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
