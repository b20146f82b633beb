"""Primitives of JAX's names, with its parameters: `lax.sin_p.bind(x)`. Each is computed by the function of `lax` that
stands for it, or by our operation of that name, with the parameters that jaxprs show for it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.function import Function
from ...graph.node import Node
from ...graph.op import registry, results
from ...ops.closure import close
from ...ops.elementwise import weak_cast
from ..array import as_node, wrap
from ..derivatives import stop_gradient
from ..jaxpr import function_of
from ..jaxpr_types import ClosedJaxpr, Jaxpr
from ..primitives import NAMES, Known, primitive_of
from . import contraction, elementwise, indexing, linalg, others, pieces, reductions, shapes
from .primitive_rules import RULES as STRUCTURED
from .rule_calls import bind_forward, bind_params, bind_reverse, checkpointed, inlined, jitted

Fun = Callable[..., Any]


def words(text: str) -> list[str]:
    return text.split()


IGNORED = frozenset({"accuracy", "sharding", "out_sharding"})
"""Parameters that steer only XLA."""
NEEDED = {"sharding_constraint": ("sharding",)}
"""Those that are what an operation does."""
MANY = frozenset(
    words(
        "approx_top_k call closed_call cond custom_jvp_call custom_linear_solve custom_vjp_call dce_sink device_put "
        "eig eigh hessenberg jit lu optimization_barrier qr reduce reduce_window remat remat2 rng_bit_generator scan "
        "schur sort split svd threefry2x32 top_k tridiagonal unstack while"
    )
)
"""Primitives of several results."""


def same_op(name: str) -> list[Any]:
    """Our operations that stand for a primitive."""
    return [op for key, op in registry.items() if NAMES.get(key, key) == name]


def as_parameter(value: Any) -> Any:
    """A parameter as our operations have it: a graph for a jaxpr."""
    if isinstance(value, (ClosedJaxpr, Jaxpr)):
        return function_of(value)
    if isinstance(value, tuple) and value and isinstance(value[0], (ClosedJaxpr, Jaxpr)):
        return tuple([function_of(v) for v in value])
    return value


def by_our_op(op: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The result of an operation of ours."""
    node = op(*[as_node(x) for x in args], **{k: as_parameter(v) for k, v in params.items()})
    return wrap(node) if op.n_out == 1 else [wrap(n) for n in results(node)]


def impl_of(primitive: Known) -> Fun:
    """How a primitive is computed: by a rule, by our operation with these parameters, by the function of that name.

    Raises: NotImplementedError where there is none.
    """
    name = primitive.name

    def impl(*args: Any, **params: Any) -> Any:
        left_out = {*IGNORED, *["out_dtype"] * (params.get("out_dtype") is None)} - {*NEEDED.get(name, ())}
        given = {k: v for k, v in params.items() if k not in left_out}
        ops = [op for op in same_op(name) if {*op.static, *op.moving} == set(given)]
        if name in RULES and (name == "cond" or not (ops and given)):
            return RULES[name](*args, **given)
        if ops:
            logical = all([as_node(x).dtype.kind == "b" for x in args])
            return by_our_op(min(ops, key=lambda op: op.name.startswith("logical") != logical), args, given)
        function = getattr(sys.modules[__package__], name, None)
        if function is None:
            raise NotImplementedError(f"'{name}' with the parameters {sorted(given)} is not there")
        return function(*args, **given)

    return impl


# --- Those whose parameters are not the arguments of a function -------------------------------------------------------


def convert(x: Any, *, new_dtype: Any, weak_type: bool = False) -> Any:
    node = as_node(shapes.convert_element_type(x, new_dtype))
    return wrap(weak_cast(node, dtype=node.dtype)) if weak_type and not node.weak else wrap(node)


def broadcast_in_dim(x: Any, *, shape: Any, broadcast_dimensions: Any) -> Any:
    return shapes.broadcast_in_dim(x, shape, broadcast_dimensions)


def reduced(name: str) -> Fun:
    function = getattr(reductions, name)
    return lambda x, *, axes: function(x, axes)


def best(name: str) -> Fun:
    def rule(x: Any, *, axes: Any, index_dtype: Any = np.int32) -> Any:
        return getattr(reductions, name)(x, axes[0], index_dtype)

    return rule


def closed(*jaxprs: Any) -> tuple[tuple[Function, ...], list[Node]]:
    """The graphs of jaxprs, with what they read besides their arguments as arguments in front; and these values."""
    functions, captured = close(*[function_of(j) for j in jaxprs])
    return tuple(functions), list(captured)


def scan(*args: Any, jaxpr: Any, length: int, num_carry: int, num_consts: int, reverse: bool, **_: Any) -> Any:
    (body,), captured = closed(jaxpr)
    node = registry["scan"](
        *captured,
        *[as_node(x) for x in args],
        body=body,
        n_consts=len(captured) + num_consts,
        n_carry=num_carry,
        reverse=reverse,
        length=length,
    )
    return [wrap(n) for n in results(node)]


def while_(*args: Any, body_jaxpr: Any, body_nconsts: int, cond_jaxpr: Any, cond_nconsts: int) -> Any:
    nodes = [as_node(x) for x in args]
    (cond,), of_cond = closed(cond_jaxpr)
    (body,), of_body = closed(body_jaxpr)
    node = registry["while"](
        *of_cond,
        *nodes[:cond_nconsts],
        *of_body,
        *nodes[cond_nconsts:],
        cond=cond,
        body=body,
        n_cond=len(of_cond) + cond_nconsts,
        n_body=len(of_body) + body_nconsts,
    )
    return [wrap(n) for n in results(node)]


def cond(index: Any, *operands: Any, branches: Any, **_: Any) -> Any:
    functions, captured = closed(*branches)
    nodes = [as_node(index), *captured, *[as_node(x) for x in operands]]
    return [wrap(n) for n in results(registry["cond"](*nodes, branches=functions))]


def sort(*operands: Any, dimension: int, is_stable: bool = True, num_keys: int = 1) -> Any:
    out = reductions.sort(operands, dimension, is_stable, num_keys)
    return list(out)


def dot_general(x: Any, y: Any, *, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any) -> Any:
    numbers = tuple([tuple([tuple(part) for part in pair]) for pair in dimension_numbers])
    return contraction.dot_general(x, y, numbers, precision, preferred_element_type)


def integer_pow(x: Any, *, y: int) -> Any:
    return elementwise.integer_pow(x, y)


def rule(function: Fun, *given: str) -> Fun:
    """A function of one array whose parameters stand in this order."""
    return lambda x, **params: function(x, *[params[k] for k in given])


def factorization(name: str, order: tuple[int, ...] = (), **at_first: Any) -> Fun:
    """A function of `lax.linalg`, with those of the parameters that it has; how matrices are factored on a machine is
    not ours to say.

    Args:
        order: of the primitive's results among the function's.
        at_first: defaults that are the primitive's, where the function has others.
    """
    function = getattr(linalg, name)
    own = set(inspect.signature(function).parameters)

    def rule(*args: Any, **params: Any) -> Any:
        given = {k: v for k, v in {**at_first, **params}.items() if k in own and v is not None}
        out = function(*args, **given)
        if not isinstance(out, (tuple, list)):
            return [out] if name in MANY else out
        return [out[i] for i in order] if len(order) == len(out) else list(out)

    return rule


MATRIX_WORDS = words(
    "cholesky cholesky_update eig eigh hessenberg householder_product lu lu_pivots_to_permutation ormqr qr schur svd "
    "symmetric_product triangular_solve tridiagonal tridiagonal_solve"
)
"""The primitives that have a name of their own in `lax.linalg`."""
RULES: dict[str, Fun] = {
    **STRUCTURED,
    **{name: factorization(name) for name in MATRIX_WORDS},
    "cholesky": factorization("cholesky", symmetrize_input=False),
    "eigh": factorization("eigh", symmetrize_input=False),
    "svd": factorization("svd", (1, 0, 2)),
    "argmax": best("argmax"),
    "argmin": best("argmin"),
    "bitcast_convert_type": rule(shapes.bitcast_convert_type, "new_dtype"),
    "broadcast_in_dim": broadcast_in_dim,
    "call": inlined,
    "clamp": elementwise.clamp,
    "closed_call": inlined,
    "concatenate": lambda *xs, dimension: pieces.concatenate(xs, dimension),
    "cond": cond,
    "convert_element_type": convert,
    "copy": lambda x: wrap(as_node(x)),
    "dot_general": dot_general,
    "dynamic_slice": lambda x, *at, slice_sizes: indexing.dynamic_slice(x, at, slice_sizes),
    "dynamic_update_slice": lambda x, update, *at: indexing.dynamic_update_slice(x, update, at),
    "fft": lambda x, *, fft_type, fft_lengths: others.fft(x, fft_type, fft_lengths),
    "integer_pow": integer_pow,
    "custom_jvp_call": bind_forward,
    "custom_vjp_call": bind_reverse,
    "jit": jitted,
    "pad": lambda x, value, *, padding_config: pieces.pad(x, value, padding_config),
    "reduce_precision": lambda x, *, exponent_bits, mantissa_bits: elementwise.reduce_precision(
        x, exponent_bits, mantissa_bits
    ),
    "remat": checkpointed,
    "remat2": checkpointed,
    "reshape": lambda x, *, new_sizes, dimensions=None: shapes.reshape(x, new_sizes, dimensions),
    "rev": rule(shapes.rev, "dimensions"),
    "scan": scan,
    "select_n": lambda which, *cases: select(which, *cases),
    "slice": rule(pieces.slice, "start_indices", "limit_indices", "strides"),
    "sort": sort,
    "split": lambda x, *, sizes, axis: list(pieces.split(x, sizes, axis)),
    "stop_gradient": stop_gradient,
    "squeeze": rule(shapes.squeeze, "dimensions"),
    "top_k": lambda x, *, k, axis=-1: list(reductions.top_k(x, k, axis=axis)),
    "transpose": rule(shapes.transpose, "permutation"),
    "while": while_,
    **{f"reduce_{k}": reduced(f"reduce_{k}") for k in ("sum", "prod", "max", "min", "and", "or", "xor")},
    **{
        f"cum{k}": (lambda f: lambda x, *, axis, reverse=False: f(x, axis, reverse))(getattr(reductions, f"cum{k}"))
        for k in ("sum", "prod", "max", "min", "logsumexp")
    },
}


def select(which: Any, *cases: Any) -> Any:
    """Our selection, of cases that may have fewer axes than the selector."""
    if len(cases) == 2 and as_node(which).dtype.kind == "b":
        return wrap(registry["where"](*[as_node(x) for x in (which, cases[1], cases[0])]))
    return shapes.select_n(which, *cases)


WORDS = words(
    "abs acos acosh add after_all all_gather all_to_all and approx_top_k argmax argmin asin asinh atan "
    "atan2 atanh axis_index bessel_i0e bessel_i1e bitcast_convert_type broadcast_in_dim cbrt ceil clamp "
    "clz complex concatenate cond conj conv_general_dilated convert_element_type copy cos cosh "
    "create_token cumlogsumexp cummax cummin cumprod cumsum dce_sink device_put digamma div dot_general "
    "dynamic_slice dynamic_update_slice eq eq_to erf erf_inv erfc exp exp2 expm1 fft floor gather ge gt "
    "igamma igamma_grad_a igammac imag integer_pow iota is_finite le le_to lgamma linear_solve log log1p "
    "logistic lt lt_to max min mul mulhi ne neg nextafter not optimization_barrier or pad pmax pmin "
    "polygamma population_count pow ppermute psum ragged_all_to_all real reduce reduce_and reduce_max "
    "reduce_min reduce_or reduce_precision reduce_prod reduce_sum reduce_window reduce_window_max "
    "reduce_window_min reduce_window_sum reduce_xor regularized_incomplete_beta rem reshape rev "
    "rng_bit_generator rng_uniform round rsqrt scan scatter scatter_add scatter_max scatter_min "
    "scatter_mul scatter_sub select_and_gather_add select_and_scatter select_and_scatter_add select_n "
    "sharding_constraint shift_left shift_right_arithmetic shift_right_logical sign sin sinh slice sort "
    "split sqrt square squeeze stack stage stop_gradient sub tan tanh tile top_k transpose unstack while "
    "xor zeta"
)
"""The primitives that have a name of their own in `lax`."""
CALLS = words("call closed_call custom_jvp_call custom_vjp_call jit remat2")
NAMED = {
    "linear_solve": "custom_linear_solve",
    **{f"scatter_{how}": f"scatter-{how}" for how in ("add", "max", "min", "mul", "sub")},
}
"""Those that are called otherwise themselves."""
Known.maker, Known.given = impl_of, bind_params
for word in (*WORDS, *MATRIX_WORDS, *CALLS):
    primitive = primitive_of(NAMED.get(word, word))
    primitive.multiple_results = primitive.name in MANY
    if word in MATRIX_WORDS:
        setattr(linalg, f"{word}_p", primitive)
    if word in WORDS:
        globals()[f"{word}_p"] = primitive
__all__ = [f"{word}_p" for word in WORDS]
