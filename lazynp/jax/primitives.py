"""JAX's names for operations and their parameters: what one of our nodes is in a jaxpr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..ops.elementwise import cast
from ..ops.shape import Key
from ..ops.tags import sums
from ..runtime.checks import names as names_in_errors
from .bind import Primitive, bound
from .dimension_numbers import ConvDimensionNumbers
from .jaxpr_places import COLLECTIVES, axis_of, collective_params, operand_of, said
from .primitive_names import NAMES


class Step(NamedTuple):
    """An operation on the result of the step before.

    Attributes:
        name, params: JAX's. aval: of the result; None: that of the node.
    """

    name: str
    params: dict[str, Any]
    aval: Aval | None = None


def slice_steps(node: Node, *, key: Key) -> list[Step]:
    """A basic index: `slice`, then `rev`, `squeeze` and `reshape` where it needs them."""
    source = node.inputs[0]
    start: list[int] = []
    limit: list[int] = []
    strides: list[int] = []
    reverse: list[int] = []
    dropped: list[int] = []
    for k in [k for k in key if k is not None]:
        first, count, step = (k, 1, 1) if type(k) is int else k
        if type(k) is int:
            dropped.append(len(start))
        if step < 0:
            first, step = first + (count - 1) * step, -step
            reverse.append(len(start))
        start.append(first)
        limit.append(first + (count - 1) * step + 1 if count else first)
        strides.append(step)
    counts = tuple([1 if type(k) is int else k[1] for k in key if k is not None])
    middle = Aval(counts, source.dtype, source.weak)
    steps = []
    if counts != source.shape:
        plain = None if all([s == 1 for s in strides]) else tuple(strides)
        params = {"limit_indices": tuple(limit), "start_indices": tuple(start), "strides": plain}
        steps.append(Step("slice", params, middle))
    if reverse:
        steps.append(Step("rev", {"dimensions": tuple(reverse)}, middle))
    if dropped:
        shape = tuple([n for i, n in enumerate(counts) if i not in dropped])
        steps.append(Step("squeeze", {"dimensions": tuple(dropped)}, Aval(shape, source.dtype, source.weak)))
    if None in key or not steps:
        before = steps[-1].aval.shape if steps else source.shape  # type: ignore[union-attr]
        steps += reshaped(before, node.shape)
    return steps


def reshape_steps(node: Node, *, shape: Sequence[int]) -> list[Step]:
    return reshaped(node.inputs[0].shape, tuple(shape))


def reshaped(before: tuple[int, ...], shape: tuple[int, ...]) -> list[Step]:
    """From one shape to another: by new axes of length 1, without some that there are, or in other ways."""
    new = expanded(before, shape)
    if new is not None:
        return [Step("broadcast_in_dim", {"broadcast_dimensions": new, "shape": shape, "sharding": None})]
    left = expanded(shape, before)
    if left is not None:
        gone = tuple([i for i in range(len(before)) if i not in left])
        return [Step("squeeze", {"dimensions": gone})]
    return [Step("reshape", {"dimensions": None, "new_sizes": shape, "sharding": None})]


def expanded(before: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where the axes of one shape are in another that has axes of length 1 besides them; None where it is another."""
    places, k = [], 0
    for i, n in enumerate(shape):
        if k < len(before) and n == before[k] and (n != 1 or len(before) - k == len(shape) - i):
            places.append(i)
            k += 1
        elif n != 1:
            return None
    return tuple(places) if k == len(before) < len(shape) else None


def source_of_spread(node: Node) -> tuple[Node, tuple[int, ...]]:
    """What an operation spreads over more elements, and where its axes are in the result: new axes of length 1 that an
    operation before has made are made by the same one in JAX."""
    source, ndim = node.inputs[0], node.ndim
    places = tuple(range(ndim - source.ndim, ndim))
    if source.op is not None and source.op.name == "reshape" and source.value is None:
        inner = source.inputs[0]
        found = () if not inner.ndim else expanded(inner.shape, source.shape)
        if found is not None:
            return inner, tuple([places[i] for i in found])
    return source, places


def reduce_steps(node: Node, *, axes: Any, keepdims: bool, dtype: Any) -> list[Step]:
    assert node.op is not None
    name = NAMES.get(node.op.name, node.op.name)
    params = {"axes": tuple(axes), **({"out_sharding": None} if name == "reduce_sum" else {})}
    if not keepdims or not axes:
        return [Step(name, params)]
    shape = tuple([n for i, n in enumerate(node.inputs[0].shape) if i not in axes])
    return [Step(name, params, Aval(shape, node.dtype)), *reshaped(shape, node.shape)]


def accumulate_steps(node: Node, *, axis: int, **_: Any) -> list[Step]:
    assert node.op is not None
    return [Step(NAMES.get(node.op.name, node.op.name), {"axis": axis, "reverse": False})]


def cast_steps(node: Node, *, dtype: Any) -> list[Step]:
    return [Step("convert_element_type", {"new_dtype": dtype, "weak_type": node.weak, "sharding": None})]


def product_steps(node: Node) -> list[Step]:
    """Of matmul: stacks side by side, where both operands have them."""
    a, b = (i.ndim for i in node.inputs)
    stack = tuple(range(min(a, b) - 2)) if a == b > 2 else ()
    numbers = (((a - 1,), (max(b - 2, 0),)), (stack, stack))
    params = {"dimension_numbers": numbers, "precision": None, "preferred_element_type": node.dtype}
    return [Step("dot_general", {**params, "out_sharding": None})]


def arange_steps(node: Node, *, n: int, dtype: Any, start: Any = 0, step: Any = 1) -> list[Step]:
    if start != 0 or step != 1:
        return [Step("arange", {"dtype": node.dtype, "shape": (n,), "start": start, "step": step})]
    return [Step("iota", {"dimension": 0, "dtype": node.dtype, "shape": (n,), "sharding": None})]


def spread_steps(node: Node, *, shape: Sequence[int]) -> list[Step]:
    params = {"broadcast_dimensions": source_of_spread(node)[1], "shape": tuple(shape), "sharding": None}
    return [Step("broadcast_in_dim", params)]


def power_steps(node: Node) -> list[Step]:
    exponent: Any = node.inputs[1].value
    if isinstance(exponent, (int, float, np.integer, np.floating)) and exponent == int(exponent):
        return [Step("integer_pow", {"y": int(exponent)})]
    return [Step("pow", {})]


def scan_steps(node: Node, *, body: Any, n_consts: int, n_carry: int, reverse: bool, length: int) -> list[Step]:
    params = {"jaxpr": body, "length": length, "num_carry": n_carry, "num_consts": n_consts}
    return [Step("scan", {**params, "reverse": reverse, "unroll": 1})]


def while_steps(node: Node, *, cond: Any, body: Any, n_cond: int, n_body: int) -> list[Step]:
    params = {"body_jaxpr": body, "body_nconsts": n_body, "cond_jaxpr": cond, "cond_nconsts": n_cond}
    return [Step("while", params)]


def conv_steps(node: Node, **given: Any) -> list[Step]:
    places = tuple(range(node.ndim))
    params = {
        "batch_group_count": given["batch_groups"],
        "dimension_numbers": ConvDimensionNumbers(places, places, places),
        "feature_group_count": given["groups"],
        "lhs_dilation": given["lhs_dilation"],
        "out_sharding": None,
        "padding": given["padding"],
        "precision": None,
        "preferred_element_type": None,
        "rhs_dilation": given["rhs_dilation"],
        "window_strides": given["strides"],
    }
    return [Step("conv_general_dilated", params)]


def scatter_steps(node: Node, *, mode: str, **params: Any) -> list[Step]:
    name = {"set": "scatter", "multiply": "scatter-mul"}.get(mode, f"scatter-{mode}")
    return [Step(name, {"mode": mode, **params})]


STEPS: dict[str, Callable[..., list[Step]]] = {
    "arange": arange_steps,
    "iota": arange_steps,
    "bitcast": lambda n, *, dtype: [Step("bitcast_convert_type", {"new_dtype": n.dtype})],
    "broadcast_to": spread_steps,
    "callback": lambda n, *, call: [Step("debug_callback" if call.differentiable else call.name, {})],
    "cast": cast_steps,
    "conv": conv_steps,
    "dynamic_slice": lambda n, *, sizes: [Step("dynamic_slice", {"slice_sizes": tuple(sizes)})],
    "concatenate": lambda n, *, axis: [Step("concatenate", {"dimension": axis})],
    "matmul": product_steps,
    "isnan": lambda n: [Step("ne", {})],
    "power": power_steps,
    "reshape": reshape_steps,
    "rint": lambda n: [Step("round", {"rounding_method": TO_NEAREST_EVEN})],
    "scan": scan_steps,
    "scatter": scatter_steps,
    "slice": slice_steps,
    "sort": lambda n, *, axis, kind: [Step("sort", {"dimension": axis, "is_stable": True, "num_keys": 1})],
    "transpose": lambda n, *, axes: [Step("transpose", {"permutation": tuple(axes)})],
    "weak_cast": cast_steps,
    "while": while_steps,
}
TO_NEAREST_EVEN = 1  # `lax.RoundingMethod`
ROUNDED = ["cbrt", "cos", "exp", "exp2", "expm1", "log", "log1p", "logistic", "rsqrt", "sin", "sqrt", "tan", "tanh"]
USUAL: dict[str, dict[str, Any]] = {
    **{name: {"accuracy": None} for name in ROUNDED},
    "mul": {"out_dtype": None},
}
"""Parameters of JAX's that our operations have not, with the value that says nothing."""
ORDER = {"where": (0, 2, 1), "clip": (1, 0, 2)}
"""Operations whose operands stand in another order in JAX."""


def steps_of(node: Node) -> list[Step]:
    """What a node's operation is in JAX: one operation, or a few in a row."""
    op = node.op
    assert op is not None
    if node in said:
        return [Step(*said[node])]
    if node in sums.nodes:
        return [Step("add_any", {})]
    if op is bound:
        return [Step(node.static[0].primitive.name, node.static[0].params)]
    params = op.params_of(node)
    if op.name in COLLECTIVES and node.inputs[1] in axis_of:
        return [Step(*collective_params(node))]
    steps = STEPS.get(op.name)
    if steps is not None:
        return steps(node, **params)
    if "keepdims" in params and "axes" in params:
        return reduce_steps(node, **params)
    if op.name.endswith(".accumulate") and "axis" in params:
        return accumulate_steps(node, **params)
    name = NAMES.get(op.name, op.name)
    return [Step(name, {**params, **USUAL.get(name, {})})]


def operands_of(node: Node) -> list[Node]:
    """A node's inputs in JAX's order, without what only our form of the operation has."""
    assert node.op is not None
    inputs = list(node.inputs)
    if node.op.name in COLLECTIVES and inputs[1] in axis_of:
        return [operand_of(node)]
    if node.op.name in ORDER:
        return [inputs[i] for i in ORDER[node.op.name]]
    if node.op is bound:
        return inputs[node.static[1] :]
    if node.op.name == "callback" and node.static[0].ordered:
        return inputs[1:]
    if node.op.name == "isnan":
        return inputs * 2
    if node.op.name == "broadcast_to":
        return [source_of_spread(node)[0]]
    if node.op.name == "power" and steps_of(node)[0].name == "integer_pow":
        x = inputs[0]
        strong = x.op is cast and x.inputs[0].dtype == x.dtype  # of a weak one, whose power is weak by itself
        return [x.inputs[0] if strong else x]
    return inputs


names_in_errors.update(NAMES)


# --- Primitives -------------------------------------------------------------------------------------------------------


class Known(Primitive):
    """A primitive of JAX's, or an operation of ours that JAX has no name for. `lax.primitives` says how it is
    computed."""

    maker: Callable[[Known], Callable[..., Any]]
    given: Callable[[str, dict[str, Any]], dict[str, Any]]

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.impl = lambda *args, **params: Known.maker(self)(*args, **params)

    def bind(self, *args: Any, **params: Any) -> Any:
        return self.impl(*args, **params)

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return Known.given(self.name, params)


known: dict[str, Any] = {}


def primitive_of(name: str) -> Any:
    """JAX's primitive of that name: always the same object."""
    found = known.get(name)
    if found is None:
        found = known[name] = Known(name)
    return found
