"""Arguments of functions that are written over `jax.numpy`: checked, promoted, as arrays."""

from __future__ import annotations

from typing import Any

from .array import Array, check_arraylike, wrap
from .dtypes import KIND_OF
from .numpy import asarray, reshape
from .numpy.call import INEXACT, check_ranks, promoted


def arraylike(name: str, *xs: Any) -> Any:
    """The arguments as arrays, a single one by itself; Python scalars stay weak. Raises JAX's TypeError for a list."""
    check_arraylike(name, *xs)
    out = [x if type(x) is Array else asarray(x) for x in xs]
    return out[0] if len(out) == 1 else out


def common(name: str, *xs: Any) -> list[Any]:
    """The arguments in their common floating point or complex dtype. Raises JAX's TypeError for a list."""
    check_arraylike(name, *xs)
    if len(xs) == 1 and type(xs[0]) is Array and KIND_OF.get(xs[0].dtype) in ("f", "c"):
        return [xs[0]]
    return [wrap(n) for n in promoted(INEXACT, *xs)]


def inexact(name: str, *xs: Any) -> list[Any]:
    """The same, and of one rank where they are no scalars."""
    out = common(name, *xs)
    check_ranks(name, out, depth=1)
    ndim = max(x.ndim for x in out)
    return [reshape(x, (1,) * (ndim - x.ndim) + x.shape) if 0 < x.ndim < ndim else x for x in out]


def real_inexact(name: str, *xs: Any) -> list[Any]:
    """The same; ValueError for complex numbers."""
    out = inexact(name, *xs)
    if out[0].dtype.kind == "c":
        raise ValueError(f"{name} does not support complex-valued inputs.")
    return out


def matrices(*xs: Any) -> list[Any]:
    """What may be lists too, as arrays of their common floating point or complex dtype."""
    return common("matrices", *[asarray(x) for x in xs])
