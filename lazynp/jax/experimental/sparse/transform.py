"""`sparsify`: a function of arrays as one of sparse arrays.

The function is traced for the dense arrays' shapes, and its graph is run equation by equation: those that have a sparse
operand by the rule of their primitive, the others as they are. Rules are found by the primitive's name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import lax
from ... import numpy as jnp
from ...array import Array
from ...custom_derivatives import custom_jvp
from ...jaxpr import ShapeDtypeStruct, eval_shape, make_jaxpr
from ...jaxpr_types import ClosedJaxpr, Jaxpr, Literal
from ...primitives import primitive_of
from ...specs import UNSPECIFIED
from ...tree_util import tree_flatten, tree_structure, tree_unflatten
from . import bcsr, layouts, products
from .api import tracing
from .base import JAXSparse, is_sparse
from .bcsr import BCSR
from .elements import BCOO, bcoo_sum_duplicates
from .layouts import bcoo_broadcast_in_dim
from .products import bcoo_multiply_dense, bcoo_multiply_sparse

__all__ = ["SparseTracer", "sparsify"]
Fun = Callable[..., Any]
Rule = Callable[..., Any]
LINEAR = ("conj", "copy", "imag", "neg", "real")
ZERO_AT_ZERO = (
    *("abs", "asin", "asinh", "atan", "atanh", "bessel_i1e", "convert_element_type", "expm1", "log1p", "sign", "sin"),
    *("sinh", "sqrt", "square", "tan", "tanh"),
)
RULES: dict[str, Rule] = {}
"""By a primitive's name: `(*values, **params)` -> the value, or a list of them; values are arrays or `BCOO`."""
ROW_RULES: dict[str, Rule] = {}
"""The same for `BCSR`."""
DENSE = frozenset(
    ("acos", "acosh", "bessel_i0e", "cos", "cosh", "eq", "exp", "ge", "gt", "le", "lt", "log", "ne", "xor")
)
"""Primitives that make something of zero."""


class SparseTracerMeta(type):
    """There is one class of traced arrays, and sparse ones are not traced as such."""

    def __instancecheck__(cls, instance: object) -> bool:
        return False


class SparseTracer(metaclass=SparseTracerMeta):
    """What sparse arrays are in JAX while `sparsify` traces: of no value here."""


def no_rule(name: str) -> NotImplementedError:
    """The error for a primitive that has no rule."""
    if name in DENSE:
        return NotImplementedError(
            f"sparse rule for {name} is not implemented because it would result in dense output. If this is your "
            "intent, use sparse.todense() to convert your arguments to dense matrices."
        )
    return NotImplementedError(f"sparse rule for {name} is not implemented.")


def sparsify(f: Fun, use_tracer: bool = False) -> Fun:
    """The function for sparse arguments, whose results are sparse where the rules make them so.

    Args:
        use_tracer: JAX's other way to the same results, which it may choose.
    Raises (when called): NotImplementedError for an operation that would make a sparse array dense, or has no rule.
    """

    @functools.wraps(f)
    def wrapped(*args: Any, **params: Any) -> Any:
        values, tree = tree_flatten(args, is_leaf=is_sparse)
        for x in values:
            if is_sparse(x) and not isinstance(x, (BCOO, BCSR)):
                raise NotImplementedError(f"sparsify of {type(x).__name__}: convert it to BCOO or BCSR")
        arrays = [x if is_sparse(x) else jnp.asarray(x) for x in values]
        types = [dense_type(x) for x in arrays]

        def flat(*dense: Any) -> Any:
            return f(*tree_unflatten(tree, dense), **params)

        tracing.depth += 1
        try:
            graph, out = make_jaxpr(flat, return_shape=True)(*types)
        finally:
            tracing.depth -= 1
        return tree_unflatten(tree_structure(out), evaluate(graph, arrays))

    return wrapped


def dense_type(x: Any) -> ShapeDtypeStruct:
    """Shape and dtype of the dense array."""
    return ShapeDtypeStruct(x.shape, x.dtype, weak_type=getattr(x, "weak_type", False))


def evaluate(graph: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """The results of a graph for arguments of which some are sparse."""
    return run(graph.jaxpr, graph.consts, args)


def run(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    known: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args)))

    def read(atom: Any) -> Any:
        return jnp.asarray(atom.val, atom.aval.dtype) if isinstance(atom, Literal) else known[atom]

    for e in jaxpr.eqns:
        values = [read(v) for v in e.invars]
        if any([isinstance(x, JAXSparse) for x in values]):
            rules = ROW_RULES if any([isinstance(x, BCSR) for x in values]) else RULES
            if e.primitive.name not in rules:
                raise no_rule(e.primitive.name)
            out = rules[e.primitive.name](*values, **e.params)
            out = out if isinstance(out, list) else [out]
        else:
            out = e.primitive.bind(*values, **e.params)
            out = out if e.primitive.multiple_results else [out]
        known.update(zip(e.outvars, out))
    return [read(v) for v in jaxpr.outvars]


# --- Rules ------------------------------------------------------------------------------------------------------------


def on_elements(name: str, linear: bool) -> Rule:
    """The rule of a function that is zero at zero; of one that is not linear equal places become one first."""
    primitive = primitive_of(name)

    def rule(x: Any, **params: Any) -> Any:
        if not linear and not x.unique_indices:
            x = x.sum_duplicates(nse=x.nse, remove_zeros=False)
        return x.like(primitive.bind(x.data, **params))

    return rule


for _name in LINEAR:
    RULES[_name] = ROW_RULES[_name] = on_elements(_name, True)
for _name in ZERO_AT_ZERO:
    RULES[_name] = ROW_RULES[_name] = on_elements(_name, False)


def integer_pow(x: Any, *, y: int) -> Any:
    if y <= 0:
        raise NotImplementedError(
            f"sparse rule for integer_pow with non-positive exponent {y} is not implemented because it would result in "
            "dense output. If this is your intent, use sparse.todense() to convert your argument to a dense array."
        )
    return on_elements("integer_pow", False)(x, y=y)


def as_sequence(rule: Rule) -> Rule:
    """A rule of several operands in a row as one of a sequence of them."""
    return lambda *xs, **params: rule(xs, **params)


def of_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """An operand of an elementwise function with as many axes as the other: equations do not broadcast in JAX."""
    if x.ndim == len(shape) or not isinstance(x, BCOO):
        return x
    new = len(shape) - x.ndim
    full = (*(1,) * new, *x.shape)
    return bcoo_broadcast_in_dim(x, shape=full, broadcast_dimensions=range(new, len(shape)))


def add(x: Any, y: Any) -> Any:
    shape = jnp.broadcast_shapes(x.shape, y.shape)
    if not (isinstance(x, BCOO) and isinstance(y, BCOO)):
        sparse, dense = (x, y) if isinstance(x, BCOO) else (y, x)
        if dense.shape != shape:
            raise NotImplementedError(
                "Addition between a sparse array X and a dense array Y is not implemented when the output shape is "
                "larger than Y.shape. This is to prevent silent densification of a large sparse array. If this is your "
                "intent, you can explicitly cast the sparse array to a dense matrix."
            )
        return sparse.todense() + dense
    if x.shape != y.shape:
        raise NotImplementedError("Addition between sparse matrices of different shapes.")
    if x.indices is y.indices:
        return x.like(x.data + y.data)
    if x.indices.ndim != y.indices.ndim or x.data.ndim != y.data.ndim:
        raise NotImplementedError("Addition between sparse matrices with different batch/dense dimensions.")
    axis = x.n_batch
    return BCOO((jnp.concatenate([x.data, y.data], axis), jnp.concatenate([x.indices, y.indices], axis)), shape=x.shape)


def sub(x: Any, y: Any) -> Any:
    if not (isinstance(x, BCOO) and isinstance(y, BCOO)):
        raise NotImplementedError("Subtraction between sparse and dense array.")
    return add(x, y.like(-y.data))


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    if out_dtype is not None:
        raise NotImplementedError(f"sparse rule for mul has no other dtype for the result, got out_dtype={out_dtype}")
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        if x.indices is y.indices and x.unique_indices:
            return x.like(x.data * y.data)
        shape = jnp.broadcast_shapes(x.shape, y.shape)
        return bcoo_multiply_sparse(of_shape(x, shape), of_shape(y, shape))
    sparse, dense = (x, y) if isinstance(x, BCOO) else (y, x)
    return sparse.like(bcoo_multiply_dense(sparse, dense))


def div(x: Any, y: Any) -> Any:
    if isinstance(y, BCOO):
        raise NotImplementedError(
            "Division by a sparse array is not implemented because it would result in dense output. If this is your "
            "intent, use sparse.todense() to convert your arguments to a dense array."
        )
    return x.like(bcoo_multiply_dense(x, 1.0 / y).astype(x.dtype))


def reduce_sum(x: BCOO, *, axes: Sequence[int], out_sharding: Any = None) -> Any:
    out = layouts.bcoo_reduce_sum(x, axes=axes)
    return out if out.shape else out.data.sum()


def gather(x: Any, *places: Any, axes: Sequence[int], at: int, bounds: str) -> Any:
    """Elements at places along axes, which become the axes from `at` on. Raises NotImplementedError for dense ones, and
    where what is out of bounds is filled."""
    if not isinstance(x, BCOO) or any([is_sparse(p) for p in places]):
        raise NotImplementedError("sparse rule for gather of a dense array at sparse places")
    if bounds == "zero":
        raise NotImplementedError("sparse rule for gather: mode='fill' is not supported")
    index = jnp.stack(jnp.broadcast_arrays(*places), -1).astype(x.indices.dtype)
    within, ndim = range(at, at + index.ndim - 1), x.ndim - len(axes) + index.ndim - 1
    numbers = lax.GatherDimensionNumbers(tuple([d for d in range(ndim) if d not in within]), tuple(axes), tuple(axes))
    return layouts.bcoo_gather(x, index, numbers, tuple([1 if d in axes else n for d, n in enumerate(x.shape)]))


def dynamic_slice(x: BCOO, *starts: Any, slice_sizes: Sequence[int]) -> BCOO:
    return layouts.bcoo_dynamic_slice(x, starts, slice_sizes)


def unplaced(rule: Rule) -> Rule:
    """A rule of an equation that may say how its result lies on devices. Raises NotImplementedError where it does."""

    def call(*xs: Any, out_sharding: Any = None, **params: Any) -> Any:
        if out_sharding is not None:
            raise NotImplementedError(f"sparse arrays lie on one device, got out_sharding={out_sharding}")
        return rule(*xs, **params)

    return call


def called(*xs: Any, jaxpr: Any, donated_invars: Sequence[bool], in_shardings: Sequence[Any],
           out_shardings: Sequence[Any], **compiling: Any) -> list[Any]:  # fmt: skip
    """A call of a jitted function: its graph. `compiling` is its name, its mesh and how it is compiled.

    Raises: NotImplementedError where arguments are donated, or lie on several devices.
    """
    if any(donated_invars):
        raise NotImplementedError("sparse xla_call with donated_invars")
    for where in (*in_shardings, *out_shardings):
        if where is not UNSPECIFIED and where.num_devices > 1:
            raise NotImplementedError(f"sparse arrays lie on one device, got {where}")
    return evaluate(jaxpr, xs)


def called_with_rule(*xs: Any, call_jaxpr: Any, **derivative: Any) -> Any:
    """A call of a function with a derivative of its own: its graph. `derivative` says what that is for dense arrays.

    Raises (when differentiated): NotImplementedError, since the graph's derivative may be another than the function's.
    """

    @custom_jvp
    def call(*xs: Any) -> list[Any]:
        return evaluate(call_jaxpr, xs)

    @call.defjvp
    def refuse(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        raise NotImplementedError("a sparsified function with a derivative of its own has none: use it dense")

    return call(*xs)


RULES |= {
    "add": add,
    "broadcast_in_dim": layouts.bcoo_broadcast_in_dim,
    "concatenate": as_sequence(layouts.bcoo_concatenate),
    "conv_general_dilated": unplaced(products.bcoo_conv_general_dilated),
    "custom_jvp_call": called_with_rule,
    "div": div,
    "dot_general": unplaced(products.bcoo_dot_general),
    "dynamic_slice": dynamic_slice,
    "gather": gather,
    "integer_pow": integer_pow,
    "jit": called,
    "mul": mul,
    "reduce_sum": reduce_sum,
    "reshape": layouts.bcoo_reshape,
    "rev": layouts.bcoo_rev,
    "slice": layouts.bcoo_slice,
    "squeeze": layouts.bcoo_squeeze,
    "sub": sub,
    "todense": lambda x: x.todense(),
    "transpose": lambda x, permutation: x.transpose(permutation),
}
ROW_RULES |= {
    "broadcast_in_dim": bcsr.bcsr_broadcast_in_dim,
    "concatenate": as_sequence(bcsr.bcsr_concatenate),
    "custom_jvp_call": called_with_rule,
    "dot_general": unplaced(bcsr.bcsr_dot_general),
    "integer_pow": integer_pow,
    "jit": called,
    "todense": lambda x: x.todense(),
}


# --- Loops and branches -----------------------------------------------------------------------------------------------


def closed(graph: Any) -> ClosedJaxpr:
    return graph if isinstance(graph, ClosedJaxpr) else ClosedJaxpr(graph, [])


def flagged(xs: Sequence[Any], likes: Sequence[Sequence[Any]]) -> list[Any]:
    """Arrays of which no more is known than of each of those in their places."""

    def one(i: int, x: Any) -> Any:
        if not isinstance(x, BCOO):
            return x
        found = [like[i] for like in likes]
        return BCOO(
            x._bufs,
            shape=x.shape,
            indices_sorted=all([y.indices_sorted for y in found]),
            unique_indices=all([y.unique_indices for y in found]),
        )

    return [one(i, x) for i, x in enumerate(xs)]


def as_invariant(loop: Callable[[list[Any], list[list[Any]]], list[Any]], start: Sequence[Any]) -> list[Any]:
    """A loop over arrays, where what is known of their indices at the start is known after each step too.

    Args:
        loop: from the start to the end; it adds what a step returned to the list.
    """
    begin = list(start)
    while True:
        seen: list[list[Any]] = []
        out = loop(begin, seen)
        known = flagged(begin, [begin, *seen])
        if all([getattr(a, "_info", None) == getattr(b, "_info", None) for a, b in zip(known, begin)]):
            return out
        begin = known


def while_rule(*values: Any, cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int) -> list[Any]:
    n, m = cond_nconsts, cond_nconsts + body_nconsts
    tests, bodies = values[:n], values[n:m]

    def loop(start: list[Any], seen: list[list[Any]]) -> list[Any]:
        def body(xs: list[Any]) -> list[Any]:
            seen.append(evaluate(closed(body_jaxpr), [*bodies, *xs]))
            return flagged(seen[-1], [start])

        out: list[Any] = lax.while_loop(lambda xs: evaluate(closed(cond_jaxpr), [*tests, *xs])[0], body, start)
        return out

    return as_invariant(loop, values[m:])


def cond_rule(pred: Any, *operands: Any, branches: Sequence[Any], **params: Any) -> list[Any]:
    found: list[list[Any]] = []
    for graph in branches:  # what is known of a result is known in each branch
        eval_shape(lambda xs, graph=graph: found.append(evaluate(closed(graph), xs)), list(operands))

    def branch(graph: Any) -> Fun:
        return lambda *xs: flagged(evaluate(closed(graph), xs), found)

    out: list[Any] = lax.switch(pred, [branch(b) for b in branches], *operands)
    return out


def scan_rule(*values: Any, jaxpr: Any, num_consts: int, num_carry: int, length: int, reverse: bool,
              **params: Any) -> list[Any]:  # fmt: skip
    if len(values) > num_consts + num_carry:
        raise NotImplementedError("sparse rule for scan with x values.")
    consts = values[:num_consts]

    def loop(start: list[Any], seen: list[list[Any]]) -> list[Any]:
        def body(carry: list[Any], _: Any) -> Any:
            out = evaluate(closed(jaxpr), [*consts, *carry])
            seen.append(out[:num_carry])
            return flagged(out[:num_carry], [start]), out[num_carry:]

        carry, ys = lax.scan(body, start, None, length, reverse)
        return [*carry, *ys]

    return as_invariant(loop, values[num_consts:])


RULES |= {"while": while_rule, "cond": cond_rule, "scan": scan_rule}


# --- Methods ----------------------------------------------------------------------------------------------------------


def operands(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands, of their common dtype."""
    if not isinstance(y, (JAXSparse, Array)):
        y = jnp.asarray(y)
    types = [v.data if isinstance(v, JAXSparse) else v for v in (x, y)]
    dtype = jnp.result_type(*types)

    def cast(v: Any) -> Any:
        return v if v.dtype == dtype else v.like(v.data.astype(dtype)) if isinstance(v, JAXSparse) else v.astype(dtype)

    return cast(x), cast(y)


def supported(*xs: Any) -> bool:
    return not any([isinstance(x, JAXSparse) and not isinstance(x, BCOO) for x in xs])


def binary(rule: Rule, swapped: bool = False) -> Rule:
    """A method of one operand, by a rule."""

    def method(self: BCOO, other: Any) -> Any:
        if not supported(other):
            raise NotImplementedError(f"{type(self).__name__} with {type(other).__name__}")
        x, y = operands(self, other)
        return rule(y, x) if swapped else rule(x, y)

    return method


def true_div(x: Any, y: Any) -> Any:
    if isinstance(y, BCOO):
        return div(x, y)
    dtype = jnp.result_type(x.dtype, jnp.true_divide(jnp.zeros((), x.dtype), jnp.ones((), y.dtype)).dtype)
    return div(x.like(x.data.astype(dtype)), y.astype(dtype))


def by_sparsify(f: Fun, swapped: bool = False) -> Rule:
    """A method that the function is for sparse arrays."""
    of_sparse = sparsify(f)
    return (lambda self, other: of_sparse(other, self)) if swapped else lambda self, *other: of_sparse(self, *other)


def take(self: Any, item: Any) -> Any:
    """Elements at places that are whole numbers, slices, None and ..."""
    out = sparsify(lambda x: x[item])(self)
    return out if isinstance(out, JAXSparse) or out.size or isinstance(self, BCSR) else BCOO.fromdense(out)


def with_options(name: str) -> Rule:
    """A method of arrays with its options."""

    def method(self: BCOO, *args: Any, **kwargs: Any) -> Any:
        return sparsify(lambda x: getattr(x, name)(*args, **kwargs))(self)

    return method


def cast(self: BCOO, dtype: Any) -> BCOO:
    """With elements of another dtype."""
    x = self if self.unique_indices else bcoo_sum_duplicates(self, self.nse)
    return x.like(x.data.astype(dtype))


def total(self: BCOO, axis: Any = None, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The sum along axes: sparse, or an array of no axes."""
    x = self if dtype is None else cast(self, dtype)
    return sparsify(lambda x: x.sum(axis, None, *args, **kwargs))(x)


METHODS: dict[str, Rule] = {
    "astype": cast,
    "reshape": with_options("reshape"),
    "sum": total,
    "update_layout": layouts.bcoo_update_layout,
    "__abs__": by_sparsify(jnp.abs),
    "__neg__": lambda self: self.like(-self.data),
    "__pos__": lambda self: self.like(+self.data),
    "__matmul__": by_sparsify(jnp.matmul),
    "__rmatmul__": by_sparsify(jnp.matmul, True),
    "__mul__": by_sparsify(jnp.multiply),
    "__rmul__": by_sparsify(jnp.multiply, True),
    "__truediv__": binary(true_div),
    "__rtruediv__": binary(true_div, True),
    "__add__": binary(add),
    "__radd__": binary(add, True),
    "__sub__": binary(sub),
    "__rsub__": binary(sub, True),
    "__pow__": lambda self, y: sparsify(lambda x: jnp.power(x, y))(self),
    "__rpow__": by_sparsify(jnp.power, True),
    "__getitem__": take,
    "__iter__": lambda self: iter([self[i] for i in range(self.shape[0])]),
    "__gt__": by_sparsify(jnp.greater),
    "__ge__": by_sparsify(jnp.greater_equal),
    "__lt__": by_sparsify(jnp.less),
    "__le__": by_sparsify(jnp.less_equal),
    "__eq__": by_sparsify(jnp.equal),
    "__ne__": by_sparsify(jnp.not_equal),
}
for _method, _rule in METHODS.items():
    setattr(BCOO, _method, _rule)
BCSR.__matmul__ = by_sparsify(jnp.matmul)  # type: ignore[method-assign]
BCSR.__rmatmul__ = by_sparsify(jnp.matmul, True)  # type: ignore[method-assign]
BCSR.__getitem__ = take  # type: ignore[method-assign]
