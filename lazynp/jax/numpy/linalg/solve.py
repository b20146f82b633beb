"""Systems of equations, inverses, determinants."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....graph.node import Node
from ....graph.op import results
from ....ops import elementwise as e
from ....ops import factorizations, linalg, or_nan
from ....ops.creation import eye
from ....ops.elementwise import convert, is_complex
from ....ops.shape import broadcast_to, slice_, whole
from ....ops.shape import reshape as reshape_node
from ...array import check_arraylike
from ...at_once import apply_like
from ...dtypes import FLOAT32
from ..creation import asarray
from ..products import dot
from ..select import where
from ..shape import moveaxis, ndim, reshape, shape
from .factor import matrices, single, svd, symmetrized


class SlogdetResult(NamedTuple):
    sign: Any
    logabsdet: Any


def solve(a: Any, b: Any) -> Any:
    """x with a x = b; a vector b is one right-hand side. Raises ValueError for shapes that do not fit."""
    if ndim(a) < 2:
        raise ValueError(f"left hand array must be at least two dimensional; got a.shape={shape(a)}")
    left, right = matrices("solve", a, b, square=True)
    vector = right.ndim == 1
    if right.ndim == 0:
        raise ValueError(
            f"The arguments to solve must have shapes a=[..., m, m] and b=[..., m, k] or b=[..., m]; got "
            f"a={left.shape} and b={right.shape}"
        )
    m, rows = left.shape[-1], right.shape[0 if vector else -2]
    if rows != m and left.ndim == right.ndim + 1 and right.ndim > 1 and right.shape[-1] == m:
        raise ValueError(
            f"Invalid shapes for solve: {left.shape}, {right.shape}. Prior to JAX v0.5.0, this would have been treated "
            "as a batched 1-dimensional solve. To recover this behavior, use solve(a, b[..., None]).squeeze(-1)."
        )
    if rows != m:
        raise ValueError(
            f"inconsistent size for core dimension 'm': {rows} vs {m} on vectorized function with excluded=frozenset() "
            f"and signature='(m,m),{'(m)->(m)' if vector else '(m,n)->(m,n)'}'"
        )

    def impl(a: Node, b: Node) -> Node:
        out = factorizations.solve_or_nan(a, linalg.column(b) if vector else b)
        return reshape_node(out, shape=out.shape[:-1]) if vector else out

    return apply_like(single(impl), left, right)


def inverse(a: Node) -> Node:
    return factorizations.solve_or_nan(a, eye(a.shape[-1], dtype=a.dtype))


def inv(a: Any) -> Any:
    """The inverses."""
    (node,) = matrices("inv", a, square=True)
    return apply_like(single(inverse), node, weak=False)


def entry(a: Node, i: int, k: int) -> Node:
    return slice_(a, key=(*whole(a.shape[:-2]), i, k))


def small_det(a: Node) -> Node:
    """Of at most three rows, by the rule of Sarrus: right in its derivatives where it is 0."""
    n = a.shape[-1]
    if n == 0:
        return broadcast_to(a.dtype.type(1), shape=a.shape[:-2])
    if n == 1:
        return entry(a, 0, 0)

    def two(i: int, j: int, k: int, m: int) -> Node:
        return e.subtract(e.multiply(entry(a, i, k), entry(a, j, m)), e.multiply(entry(a, i, m), entry(a, j, k)))

    if n == 2:
        return two(0, 1, 0, 1)
    parts = [e.multiply(entry(a, 0, k), two(1, 2, *[m for m in range(3) if m != k])) for k in range(3)]
    return e.add(e.subtract(parts[0], parts[1]), parts[2])


def det(a: Any) -> Any:
    """The determinants."""
    (node,) = matrices("det", a, square=True)
    return apply_like(single(lambda a: small_det(a) if a.shape[-1] <= 3 else linalg.det(a)), node)


def slogdet(a: Any, *, method: str | None = None) -> Any:
    """Sign and logarithm of the size of the determinants."""
    (node,) = matrices("slogdet", a, square=True)
    if method not in (None, "lu", "qr"):
        raise ValueError(f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'.")
    if method == "qr" and is_complex(node):
        raise NotImplementedError("slogdet method='qr' not implemented for complex inputs")
    return SlogdetResult(*apply_like(single(lambda a: results(linalg.slogdet(a))), node))


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """The pseudo-inverses; singular values below `rtol` times the largest count as 0."""
    (node,) = matrices("pinv", a)
    if rtol is not None and rcond is not None:
        raise ValueError("pinv: only one of rtol and rcond may be specified.")
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = 10.0 * max(node.shape[-2:]) * float(np.finfo(node.dtype if node.dtype.kind != "V" else FLOAT32).eps)
    if np.ndim(rtol) == 0 and not hasattr(rtol, "_graph"):
        cut = float(rtol)

        def impl(a: Node) -> Node:
            return or_nan.pinv(symmetrized(a) if hermitian else a, hermitian=hermitian, rcond=cut)

        return apply_like(single(impl), node, weak=False)
    u, s, vh = svd(a, full_matrices=False)
    limit = asarray(rtol)[..., None] * s[..., :1]
    inverse_s = where(s > limit, 1 / where(s > limit, s, 1), 0)
    return (vh.conj().mT * inverse_s[..., None, :].astype(vh.dtype)) @ u.conj().mT


def lstsq(a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False) -> Any:
    """x that comes closest to a x = b, the squared distances, the rank, the singular values."""
    left, right = [convert(n, n.dtype) for n in matrices("lstsq", a, b)]
    if not right.ndim:
        raise IndexError("tuple index out of range")
    if left.shape[0] != right.shape[0]:
        raise ValueError("Leading dimensions of input arrays must match")
    for x in (left, right):
        if x.ndim not in (1, 2):
            raise TypeError(f"{x.ndim}-dimensional array given. Array must be one or two-dimensional")
    if left.ndim != 2:
        raise TypeError(f"{left.ndim}-dimensional array given. Array must be two-dimensional")
    m, n = left.shape
    x, y = asarray(a).astype(left.dtype), asarray(b).astype(left.dtype)
    vector = y.ndim == 1
    y = y[:, None] if vector else y
    if m == 0 or n == 0:
        s = asarray(np.zeros(0, left.dtype))
        zero = asarray(np.zeros((n, *right.shape[1:]), left.dtype))
        return zero, (abs(y) ** 2).sum(axis=0), asarray(np.int32(0)), s
    u, s, vh = svd(x, full_matrices=False)
    eps = float(np.finfo(s.dtype).eps)
    cut = eps * max(n, m) if rcond is None else eps if rcond < 0 else rcond
    mask = s >= cut * s[0]
    rank = mask.sum()
    safe = where(mask, s, 1)
    inverse_s = where(mask, 1 / safe, 0)[:, None].astype(u.dtype)
    out = dot(vh.conj().T, inverse_s * dot(u.conj().T, y))
    distance = abs(y - dot(x, out)) ** 2
    residual = distance.sum(axis=0)
    if numpy_resid and int(rank) < n or m <= n and numpy_resid:
        residual = asarray(np.zeros(0, s.dtype))
    return (out[:, 0] if vector else out), residual, rank, s


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """x with tensordot(a, x, x.ndim) = b."""
    check_arraylike("tensorsolve", a, b)
    x, y = asarray(a), asarray(b)
    if axes is not None:
        x = moveaxis(x, tuple(axes), tuple(range(x.ndim - len(axes), x.ndim)))
    out = x.shape[y.ndim :]
    if x.shape[: y.ndim] != y.shape:
        raise ValueError("After moving axes to end, leading shape of a must match shape of b.")
    if x.size != math.prod(out) ** 2:
        raise ValueError("Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:])")
    n = math.prod(out)
    return reshape(solve(reshape(x, (n, n)), reshape(y, (n,))), out)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of tensordot(a, ., ind)."""
    check_arraylike("tensorinv", a)
    full = shape(a)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got ind={ind}")
    first, rest = full[:ind], full[ind:]
    if math.prod(first) != math.prod(rest):
        raise ValueError(
            "tensorinv is only possible when the product of the first `ind` dimensions equals that of the remaining "
            f"dimensions. got arr.shape={full} with ind={ind}."
        )
    n = math.prod(first)
    return reshape(inv(reshape(a, (n, n))), (*rest, *first))
