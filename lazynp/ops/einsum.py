"""einsum as matmuls, along a path by opt_einsum. No op: views, sums, products and matmuls, whose rules do the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import opt_einsum

from ..graph.node import Node
from .contraction import dot_general
from .elementwise import multiply
from .promotion import numpy_error
from .shape import add_reduce, reshape, slice_, transpose, whole

Labels = tuple[str, ...]


def einsum(subscripts: str, *operands: Node, optimize: Any = "auto") -> Node:
    """numpy.einsum. `optimize` is False (from left to right), True, a strategy of opt_einsum, or a path.

    Raises: ValueError, NumPy's, for bad subscripts or shapes.
    """
    shapes = [x.shape for x in operands]
    try:
        inputs, output, _ = opt_einsum.parser.parse_einsum_input([subscripts, *shapes], shapes=True)
    except (ValueError, TypeError):
        raise numpy_error(bound(subscripts), *[x.aval for x in operands]) from None
    labels = [tuple(part) for part in inputs.split(",")]
    if len(labels) != len(operands) or any(len(s) != x.ndim for s, x in zip(labels, operands)):
        raise numpy_error(bound(subscripts), *[x.aval for x in operands])
    sizes = sizes_of(labels, shapes)
    if sizes is None:
        raise numpy_error(bound(subscripts), *[x.aval for x in operands])
    path = contraction_path(inputs, output, shapes, optimize)
    terms = [prepared(x, s, sizes) for x, s in zip(operands, labels)]
    for step in path:
        picked = [terms.pop(i) for i in sorted(step, reverse=True)][::-1]
        keep = set(output).union(*[s for _, s in terms])
        term = picked[0]
        for i, other in enumerate(picked[1:], 2):
            term = pair(term, other, keep.union(*[s for _, s in picked[i:]]))
        terms.append(summed(term, keep))
    x, found = terms[0]
    order = tuple([found.index(c) for c in output])
    return x if order == tuple(range(x.ndim)) else transpose(x, axes=order)


def bound(subscripts: str) -> Any:
    """numpy.einsum with these subscripts, for its error."""

    def call(*xs: Any) -> Any:
        return np.einsum(subscripts, *xs)

    call.__name__ = "einsum"
    return call


def sizes_of(labels: Sequence[Labels], shapes: Sequence[tuple[int, ...]]) -> dict[str, int] | None:
    """Each label's length, where 1 gives way; None where two lengths contradict each other."""
    sizes: dict[str, int] = {}
    for s, shape in zip(labels, shapes):
        for c, n in zip(s, shape):
            known = sizes.get(c, 1)
            if known != 1 and n not in (1, known):
                return None
            sizes[c] = n if known == 1 else known
    return sizes


def contraction_path(
    inputs: str, output: str, shapes: Sequence[tuple[int, ...]], optimize: Any
) -> list[tuple[int, ...]]:
    if len(shapes) <= 2:
        return [tuple(range(len(shapes)))]
    if optimize is False:
        return [(0, 1), *[(0, len(shapes) - 2 - i) for i in range(len(shapes) - 2)]]
    if isinstance(optimize, (list, tuple)) and optimize and optimize[0] == "einsum_path":
        return [tuple(step) for step in optimize[1:]]
    strategy = "auto" if optimize is True else optimize
    path, _ = opt_einsum.contract_path(f"{inputs}->{output}", *shapes, shapes=True, optimize=strategy)
    return [tuple(step) for step in path]


def prepared(x: Node, labels: Labels, sizes: dict[str, int]) -> tuple[Node, Labels]:
    """Axes of length 1 that broadcast are dropped, and a label that stands twice takes the diagonal."""
    kept = [i for i, c in enumerate(labels) if x.shape[i] == sizes[c]]
    if len(kept) < len(labels):
        x, labels = reshape(x, shape=tuple([x.shape[i] for i in kept])), tuple([labels[i] for i in kept])
    for c in dict.fromkeys(labels):
        while labels.count(c) > 1:
            i = labels.index(c)
            j = labels.index(c, i + 1)
            x = diagonal(x, i, j)
            labels = (*[d for k, d in enumerate(labels) if k not in (i, j)], c)
    return x, labels


def diagonal(x: Node, i: int, j: int) -> Node:
    """The diagonal of two axes of the same length, as the last axis: every (n + 1)-th element of both as one."""
    n = x.shape[i]
    rest = [k for k in range(x.ndim) if k not in (i, j)]
    flat = reshape(transpose(x, axes=(*rest, i, j)), shape=(*[x.shape[k] for k in rest], n * n))
    return slice_(flat, key=(*whole(flat.shape[:-1]), (0, n, n + 1)))


def summed(term: tuple[Node, Labels], keep: set[str]) -> tuple[Node, Labels]:
    x, labels = term
    axes = tuple([i for i, c in enumerate(labels) if c not in keep])
    if not axes:
        return term
    return add_reduce(x, axes=axes, keepdims=False, dtype=x.dtype), tuple([c for c in labels if c in keep])


def pair(left: tuple[Node, Labels], right: tuple[Node, Labels], keep: set[str]) -> tuple[Node, Labels]:
    """Two operands joined, with the labels summed that nobody needs any more."""
    a, la = summed(left, keep.union(right[1]))
    b, lb = summed(right, keep.union(la))
    common = [c for c in la if c in lb]
    contract, stack = [c for c in common if c not in keep], [c for c in common if c in keep]
    labels = (*stack, *[c for c in la if c not in common], *[c for c in lb if c not in common])
    if not contract:
        return multiply(spread(a, la, labels), spread(b, lb, labels)), labels
    out = dot_general(
        a,
        b,
        (tuple(map(la.index, contract)), tuple(map(lb.index, contract))),
        (tuple(map(la.index, stack)), tuple(map(lb.index, stack))),
    )
    return out, labels


def spread(x: Node, labels: Labels, onto: Labels) -> Node:
    """The axes in the order of `onto`, with length 1 where x has none."""
    order = tuple([labels.index(c) for c in onto if c in labels])
    x = x if order == tuple(range(x.ndim)) else transpose(x, axes=order)
    sizes = iter(x.shape)
    shape = tuple([next(sizes) if c in labels else 1 for c in onto])
    return x if shape == x.shape else reshape(x, shape=shape)
