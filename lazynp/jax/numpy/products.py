"""Products of arrays: dot, matmul, tensordot, einsum and their like. Half precision is summed in single."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import opt_einsum

from ...graph.node import Node
from ...ops import contraction as c
from ...ops import elementwise as e
from ...ops.einsum import einsum as einsum_nodes
from ...ops.elementwise import convert
from ...ops.promotion import broadcast
from ...ops.shape import transpose
from ...tracebacks import leave
from ..array import as_dtype, cast_node, check_arraylike, own_form, typed
from ..at_once import apply
from ..dtypes import INT32, KIND_OF, DType, TypePromotionError, promotion, requested, x64_enabled
from ..precision import check_precision
from ..splits import RefusedError
from . import at_once
from .axes import axis_of, no_out
from .call import named
from .creation import asarray, astype
from .joining import stack
from .reductions import wide
from .shape import broadcast_shapes, ndim, ravel, shape


def typed_product(name: str, preferred: Any, *args: Any) -> tuple[DType, DType, bool]:
    """In which dtype a product is computed, that of its result, and whether it is weak. Where a dtype is asked for, the
    operands need no common one."""
    operands = [typed(a) for a in args]
    if preferred is None:
        dtype, weak = promotion(x64_enabled(), *operands)
        return dtype, dtype, weak
    result = requested(preferred, name)
    try:
        return promotion(x64_enabled(), *operands)[0], result, False
    except TypePromotionError:
        return wide(result), result, False


def contracted(
    name: str, impl: Callable[..., Node], a: Any, b: Any, preferred: Any = None, precision: Any = None, at: int = -2
) -> Any:
    """`impl(a, b)` in the common dtype. Raises TypeError for shapes that do not fit.

    Args:
        at: the axis of b that is contracted, if it has more than one.
    """
    check_arraylike(name, a, b)
    dtype, result, weak = typed_product(name, preferred, a, b)
    check_precision(precision)

    def run(x: Node, y: Node) -> Node:
        compute = wide(dtype) if dtype.kind != "b" else INT32
        out = impl(convert(x, compute), convert(y, compute))
        if result.kind == "b":
            out = e.not_equal(out, out.dtype.type(0))
        return cast_node(out, result, weak)

    nodes = [as_dtype(x, dtype) for x in (a, b)]
    try:
        return apply(run, *nodes)
    except RefusedError:
        raise
    except ValueError:
        check_contracted(*[[n.shape[-1 if i == 0 or n.ndim == 1 else at]] for i, n in enumerate(nodes) if n.ndim])
        raise


def check_contracted(*sizes: list[int]) -> None:
    """Raise JAX's TypeError for axes that do not fit."""
    if sizes[0] != sizes[1]:
        both = " and ".join([str(tuple(n)) for n in sizes])
        raise TypeError(f"dot_general requires contracting dimensions to have the same shape, got {both}.")


def simple(name: str, impl: Callable[..., Node], simple_case: bool) -> Callable[..., Any]:
    """A product of two arrays. `simple_case`: that of at most two axes is a matrix product."""

    def call(
        a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None
    ) -> Any:
        try:
            if simple_case and preferred_element_type is None and precision is None:
                found = at_once.product(a, b)
                if found is not None:
                    return found
            return contracted(name, impl, a, b, preferred_element_type, precision, -2 if simple_case else -1)
        except BaseException as error:
            leave(error)
            raise

    return named(call, name)


def matmul_node(a: Node, b: Node) -> Node:
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul input operand has ndim 0")
    return c.matmul(a, b)


dot = simple("dot", c.dot, True)
inner = simple("inner", c.inner, False)


def matmul(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None
) -> Any:
    """The matrix product. Raises ValueError for a scalar and for stacks that do not broadcast, TypeError for matrices
    that do not fit."""
    found = at_once.product(a, b) if preferred_element_type is None and precision is None else None
    if found is not None:
        return found
    check_arraylike("matmul", a, b)
    for i, x in enumerate((a, b)):
        if ndim(x) < 1:
            raise ValueError(f"matmul input operand {i} must have ndim at least 1, but it has ndim 0")
    stacks = [shape(x)[:-2] for x in (a, b)]
    if all(stacks):
        try:
            broadcast(*stacks)
        except ValueError:
            types = " and ".join([str(asarray(x).aval) for x in (a, b)])
            raise ValueError(f"Incompatible types for matmul arguments: {types}") from None
    return contracted("matmul", matmul_node, a, b, preferred_element_type, precision)


def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The inner product of two arrays as vectors, the first conjugated."""
    check_arraylike("vdot", a, b)
    x = ravel(a)
    if KIND_OF[x.dtype] == "c":
        x = x.conj()
    return dot(x, ravel(b), precision=precision, preferred_element_type=preferred_element_type)


def along(x: Node, axis: int) -> Node:
    """With that axis last."""
    at = axis_of(axis, x.ndim)
    return transpose(x, axes=(*[i for i in range(x.ndim) if i != at], at))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The inner products of vectors along an axis, the first conjugated."""
    check_arraylike("vecdot", x1, x2)
    if ndim(x1) < 1 or ndim(x2) < 1:
        raise IndexError("tuple index out of range")
    if shape(x1)[axis] != shape(x2)[axis]:
        raise ValueError(f"axes must match; got shapes {shape(x1)} and {shape(x2)} with axis={axis}")
    rest = [[n for i, n in enumerate(shape(x)) if i != axis % ndim(x)] for x in (x1, x2)]
    check_cores("(n),(n)->()", *[(*r, shape(x1)[axis]) for r in rest])

    def impl(a: Node, b: Node) -> Node:
        return c.vecdot(along(a, axis), along(b, axis))

    return contracted("vecdot", impl, x1, x2, preferred_element_type, precision)


def check_cores(signature: str, *shapes: tuple[int, ...]) -> None:
    """Raise ValueError for shapes that a signature of core dimensions does not fit."""
    cores = [part.strip("()").split(",") for part in signature.split("->")[0].split("),(")]
    where = f"on vectorized function with excluded=frozenset() and signature='{signature}'"
    sizes: dict[str, int] = {}
    for full, core in zip(shapes, cores):
        if len(full) < len(core):
            raise ValueError(
                f"input with shape {full} does not have enough dimensions for all core dimensions {tuple(core)} {where}"
            )
        for name, n in zip(core, full[len(full) - len(core) :]):
            if sizes.setdefault(name, n) != n:
                raise ValueError(f"inconsistent size for core dimension '{name}': {n} vs {sizes[name]} {where}")
    broadcast_shapes(*[full[: len(full) - len(core)] for full, core in zip(shapes, cores)])


def matvec(x1: Any, x2: Any, /) -> Any:
    """The products of matrices and vectors."""
    check_arraylike("matvec", x1, x2)
    check_cores("(n,m),(m)->(n)", shape(x1), shape(x2))
    return contracted("matvec", c.matvec, x1, x2)


def vecmat(x1: Any, x2: Any, /) -> Any:
    """The products of vectors, conjugated, and matrices."""
    check_arraylike("vecmat", x1, x2)
    check_cores("(n),(n,m)->(m)", shape(x1), shape(x2))
    return contracted("vecmat", c.vecmat, x1, x2)


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """All products of an element of one and an element of the other."""
    found = at_once.outer(a, b) if out is None else None
    if found is not None:
        return found
    no_out("outer", out)
    check_arraylike("outer", a, b)
    promotion(x64_enabled(), typed(a), typed(b))  # which the user may have refused
    return ravel(a)[:, None] * ravel(b)[None, :]


def tensordot(
    a: Any,
    b: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The sum of products over axes: a number of them, or one list for each array.

    Raises: TypeError where the axes do not fit.
    """
    check_arraylike("tensordot", a, b)
    typed_product("tensordot", preferred_element_type, a, b)
    m, n = ndim(a), ndim(b)
    if isinstance(axes, (int, np.integer)):
        if axes > min(m, n):
            raise TypeError(f"Number of tensordot axes (axes {axes}) exceeds input ranks ({shape(a)} and {shape(b)})")
        first, second = list(range(m - axes, m)), list(range(axes))
    elif isinstance(axes, (tuple, list)) and len(axes) == 2:
        if any([isinstance(x, str) for x in axes]):
            both = " and ".join([str(x) for x in axes])
            raise TypeError(f"tensordot requires both axes lists to be either ints, tuples or lists, got {both}")
        if len({len(x) if isinstance(x, (tuple, list)) else 1 for x in axes}) > 1:
            raise TypeError(f"tensordot requires axes lists to have equal length, got {axes[0]} and {axes[1]}.")
        first, second = [
            [axis_of(i, nd) for i in (x if isinstance(x, (tuple, list)) else (x,))] for x, nd in zip(axes, (m, n))
        ]
    else:
        raise TypeError(
            f"tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples of ints, got {axes!r}"
        )

    check_contracted([shape(a)[i] for i in first], [shape(b)[i] for i in second])

    def impl(x: Node, y: Node) -> Node:
        return c.tensordot(x, y, tuple(first), tuple(second))

    return contracted("tensordot", impl, a, b, preferred_element_type, precision)


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: Any = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The sum over products of elements that the subscripts say; operands and lists of axes may stand in turns."""
    no_out("einsum", out)
    text, arrays = einsum_arguments(subscripts, operands)
    terms = text.partition("->")[0].split(",")
    if len(terms) != len(arrays):
        raise ValueError(
            f"Number of einsum subscripts, {len(terms)}, must be equal to the number of operands, {len(arrays)}."
        )
    check_arraylike("einsum", *arrays)
    arrays = [own_form(a) for a in arrays]
    dtype, result, weak = typed_product("einsum", preferred_element_type, *arrays)
    check_precision(precision)
    strategy = {"optimal": "optimal"}.get(optimize, optimize) if isinstance(optimize, str) else optimize

    def impl(*nodes: Node) -> Node:
        compute = wide(dtype) if dtype.kind != "b" else INT32
        found = einsum_nodes(text, *[convert(n, compute) for n in nodes], optimize=strategy)
        return cast_node(found, result, weak)

    try:
        return apply(impl, *[as_dtype(a, dtype) for a in arrays])
    except RefusedError:
        raise
    except ValueError:
        opt_einsum.contract_path(text, *[shape(a) for a in arrays], shapes=True)  # which raises in JAX's words
        raise


def einsum_arguments(subscripts: Any, operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """The subscripts as text, and the arrays: of `einsum(a, [0, 1], b, [1, 2], [0, 2])` too."""
    if isinstance(subscripts, str):
        return subscripts, list(operands)
    text, arrays = opt_einsum.parser.convert_interleaved_input([subscripts, *operands])
    return text, list(arrays)


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> Any:
    """In which order einsum joins its operands, a list of places, and a description."""
    text, arrays = einsum_arguments(subscripts, operands)
    shapes = [np.broadcast_to(np.zeros((), np.float32), shape(a)) for a in arrays]
    if optimize in ("auto", True):
        optimize = "optimal" if len(arrays) < 5 else "greedy"
    path, description = np.einsum_path(text, *shapes, optimize=optimize)
    return list(path[1:]), description  # NumPy's list begins with a word, JAX's does not


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product."""
    check_arraylike("kron", a, b)
    promotion(x64_enabled(), typed(a), typed(b))
    a, b = asarray(a), asarray(b)
    nd = max(a.ndim, b.ndim)
    p, q = (1,) * (nd - a.ndim) + a.shape, (1,) * (nd - b.ndim) + b.shape
    wide_a = a.reshape(tuple([m for n in p for m in (n, 1)]))
    wide_b = b.reshape(tuple([m for n in q for m in (1, n)]))
    return (wide_a * wide_b).reshape(tuple([m * n for m, n in zip(p, q)]))


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """The cross product of vectors of 3, or of 2, elements. Raises ValueError for others."""
    check_arraylike("cross", a, b)
    promotion(x64_enabled(), typed(a), typed(b))
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = asarray(a), asarray(b)
    a, b = (
        x.transpose((*[i for i in range(x.ndim) if i != k], k))
        for x, k in ((a, axis_of(axisa, a.ndim)), (b, axis_of(axisb, b.ndim)))
    )
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError("Dimension must be either 2 or 3 for cross product")
    if a.shape[-1] == b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    parts = [[x[..., i] if i < x.shape[-1] else x[..., 0] * 0 for i in range(3)] for x in (a, b)]
    (a0, a1, a2), (b0, b1, b2) = parts
    rows = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    out = stack(rows, axis=axisc)
    return astype(out, out.dtype)
