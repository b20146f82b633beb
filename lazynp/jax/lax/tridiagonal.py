"""`jax.lax.linalg.tridiagonal_solve`, made of two scans."""

from __future__ import annotations

from typing import Any

from ..array import wrap
from .call import check_same_dtypes
from .control import scan
from .lapack import operand
from .shapes import full_like


def moved_front(x: Any, axis: int) -> Any:
    """The array with an axis in front."""
    return x.transpose((axis, *[i for i in range(x.ndim) if i != axis]))


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """x with a x = b, for matrices with d on the diagonal, dl below and du above it, by elimination without pivoting.
    The first element of dl and the last of du are not read.

    Raises: TypeError for shapes and dtypes that do not fit, NotImplementedError for `perturb_singular`.
    """
    nodes = [operand("tridiagonal_solve", v, i, 2 if i == 3 else 1) for i, v in enumerate((dl, d, du, b))]
    check_same_dtypes("tridiagonal_solve", nodes)
    if len({n.shape for n in nodes[:3]}) > 1:
        raise TypeError("tridiagonal_solve requires that all diagonal arguments have the same shape.")
    if nodes[1].shape != nodes[3].shape[:-1]:
        raise TypeError(
            "tridiagonal_solve requires that the leading ndim-1 dimensions of b equal the dimensions of the diagonal "
            f"arguments, got {nodes[1].shape} and {nodes[3].shape}"
        )
    if perturb_singular:
        raise NotImplementedError("perturb_singular=True is only supported on GPU")
    axis = nodes[1].ndim - 1
    if not nodes[1].shape[axis]:
        return wrap(nodes[3])
    below, middle, above, right = (moved_front(wrap(n), axis) for n in nodes)

    def eliminate(carry: Any, row: Any) -> Any:
        ratio, value = carry
        low, mid, up, r = row
        pivot = mid - low * ratio
        carry = up / pivot, (r - low[..., None] * value) / pivot[..., None]
        return carry, carry

    def substitute(x: Any, row: Any) -> Any:
        ratio, value = row
        x = value - ratio[..., None] * x
        return x, x

    start = full_like(above[0], 0), full_like(right[0], 0)
    _, rows = scan(eliminate, start, (below, middle, above, right))
    _, out = scan(substitute, start[1], rows, reverse=True)
    return out.transpose((*range(1, axis + 1), 0, axis + 1))
