"""`Primitive`: an operation that users define: how it is computed, its types, its derivatives, its batches.

A call on known values runs `impl`. A call on traced ones leaves a `bound` node: its first inputs are what `impl` (or
the function that was registered as its lowering) makes of the arguments, so that what runs is that graph; the arguments
follow, and the transformations see only these, by the rules in the tables of `interpreters.ad` and
`interpreters.batching`. What `impl` does besides its results hangs on one result more, a token, which a rule for
batches replaces with the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api.trace import Apart, effect, stack, token_of
from ..doors import FLOAT0
from ..errors import ConcretizationTypeError, TracerArrayConversionError, TracerIntegerConversionError
from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import Node
from ..graph.op import LIBRARY, Op, pick, results
from ..graph.walk import toposort
from ..ops.callback import Call, callback
from ..ops.control import together
from ..ops.shape import Axes, batch_size
from ..ops.tags import renamed
from ..ops.tags import sequence as all_of
from .array import as_node, wrap, wrap_value
from .aval import ShapedArray

Fun = Callable[..., Any]
NEEDS_VALUES = (ConcretizationTypeError, TracerArrayConversionError, TracerIntegerConversionError)
ADVICE = (
    "Lowering rules in MLIR are not used: there is no XLA here. Give the primitive an implementation in JAX's "
    "functions, by `def_impl(f)` or `mlir.register_lowering(p, mlir.lower_fun(f))`."
)


class Primitive:
    """An operation.

    Attributes:
        name: of the operation. multiple_results: whether it returns a sequence.
        impl: from arrays to the result. abstract_eval: from abstract values to those of the result.
        lowering: what `impl` is for traced arrays, where that was registered. is_lowered: whether anything was.
    """

    multiple_results = False
    call_primitive = map_primitive = ref_primitive = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.impl: Fun = self._no_impl
        self.abstract_eval: Fun = self._no_abstract_eval
        self.lowering: Fun | None = None
        self.is_lowered = False

    def __repr__(self) -> str:
        return self.name

    def _no_impl(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"Evaluation rule for '{self.name}' not implemented. {ADVICE}")

    def _no_abstract_eval(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"Abstract evaluation for '{self.name}' not implemented")

    def def_impl(self, impl: Fun) -> Fun:
        """Set how it is computed: `impl(*arrays, **params)`."""
        self.impl = impl
        return impl

    def def_abstract_eval(self, abstract_eval: Fun) -> Fun:
        """Set the rule of types: `(*ShapedArrays, **params)` -> a `ShapedArray`, or a sequence of them."""
        self.abstract_eval = abstract_eval
        return abstract_eval

    def def_effectful_abstract_eval(self, rule: Fun) -> Fun:
        """Set the rule of types and effects: `(*ShapedArrays, **params)` -> what `def_abstract_eval` wants, effects."""
        self.abstract_eval = lambda *args, **params: rule(*args, **params)[0]
        return rule

    def check_types(self, nodes: Sequence[Node], params: dict[str, Any]) -> None:
        """Raise NotImplementedError where nothing says which type the result for these arguments has."""
        self.abstract_eval(*[ShapedArray(*n.aval) for n in nodes], **params)

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """An equation's parameters as `bind` takes them: of what has rules, these as `subfuns`."""
        return dict(params)

    def bind(self, *args: Any, **params: Any) -> Any:
        """The result for these arguments. Raises NotImplementedError where nothing says how it is computed."""
        nodes = [as_node(x) for x in args]
        if not any(n.trace for n in nodes):
            return self.impl(*args, **params)
        return bind_traced(self, nodes, params)


class OwnPrimitive(Primitive):
    """A primitive whose implementation is traced, which says what types its results have and what runs inside `jit`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.is_lowered = True

    def check_types(self, nodes: Sequence[Node], params: dict[str, Any]) -> None:
        pass


def sequence(primitive: Primitive, out: Any) -> list[Any]:
    """The results of a primitive as a list."""
    return list(out) if primitive.multiple_results else [out]


class Bound:
    """A primitive with parameters: equal where both are, so that equal calls share what is planned for them. `acts`:
    whether the last result is a token of effects."""

    __slots__ = ("primitive", "params", "acts", "key")

    def __init__(self, primitive: Primitive, params: dict[str, Any], acts: bool = False) -> None:
        self.primitive, self.params, self.acts = primitive, params, acts
        key: Any = (primitive, acts, tuple(sorted(params.items(), key=lambda pair: pair[0])))
        try:
            hash(key)
        except TypeError:
            key = object()
        self.key = key

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bound) and self.key == other.key


# --- Rules that users write -------------------------------------------------------------------------------------------


class Zero:
    """A tangent or cotangent that is zero, of that abstract value, without an array."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval})"

    @staticmethod
    def from_primal_value(x: Any) -> Zero:
        """The zero tangent of a value."""
        return Zero(ShapedArray(*as_node(x).aval).to_tangent_aval())

    def instantiate(self) -> Any:
        """An array of zeros: NumPy's, where the dtype is float0."""
        zeros = np.zeros(self.aval.shape, self.aval.dtype)
        return zeros if zeros.dtype == FLOAT0 else wrap_value(zeros)


class UndefinedPrimal:
    """Stands in a transpose rule for an argument that the primitive is linear in."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


class AxisData(NamedTuple):
    """A mapped axis."""

    name: Any
    size: int
    spmd_name: Any = None
    explicit_mesh_axis: Any = None


jvps: dict[Primitive, Fun] = {}
transposes: dict[Primitive, Fun] = {}
batchers: dict[Primitive, Fun] = {}
"""The rules: `(primals, tangents, **params)` -> result and tangent, with `Zero`s; `(ct, *args, **params)` -> cotangents
of the arguments, with `UndefinedPrimal`s; `(axis_data, args, axes, **params)` -> result and its axis."""


def rule_of(table: dict[Primitive, Fun], primitive: Primitive, text: str) -> Fun:
    found = table.get(primitive)
    if found is None:
        raise NotImplementedError(f"{text} '{primitive.name}' not implemented")
    return found


def node_or_none(x: Any) -> Node | None:
    """The node of a tangent or cotangent; None for zero and for what belongs to whole numbers."""
    if x is None or isinstance(x, Zero) or x is Zero or getattr(x, "symbolic", False):
        return None
    return None if getattr(x, "dtype", None) == FLOAT0 else as_node(x)


def tangent_of(t: Node | None, like: Any) -> Any:
    return Zero(ShapedArray(*like).to_tangent_aval()) if t is None else wrap(t)


def bound_jvp(
    tangents: Sequence[Node | None], out: Node, *inputs: Node, rule: Bound, hidden: int
) -> list[Node | None] | None:
    args, along = inputs[hidden:], tangents[hidden:]
    if all(t is None for t in along):
        return None
    f = rule_of(jvps, rule.primitive, "Differentiation rule for")
    given = tuple([tangent_of(t, n.aval) for t, n in zip(along, args)])
    _, found = f(tuple([wrap(n) for n in args]), given, **rule.params)
    return [*[node_or_none(t) for t in sequence(rule.primitive, found)], *[None] * rule.acts]


def bound_transpose(cts: Sequence[Node | None], *inputs: Any, rule: Bound, hidden: int) -> list[Node | None]:
    f = rule_of(transposes, rule.primitive, "Transpose rule (for reverse-mode differentiation) for")
    outs = [n.aval if type(n) is Node else n for n in inputs[: hidden - rule.acts]]
    given = [tangent_of(c, a) for c, a in zip(cts, outs)]
    args = [wrap(x) if type(x) is Node else UndefinedPrimal(ShapedArray(*x)) for x in inputs[hidden:]]
    found = f(given if rule.primitive.multiple_results else given[0], *args, **rule.params)
    none: list[Node | None] = [None] * len(inputs)
    if found is None or found is Zero or isinstance(found, Zero):
        return none
    return [*none[:hidden], *[node_or_none(x) for x in found]]


def bound_batch(inputs: Sequence[Node], axes: Axes, *, rule: Bound, hidden: int) -> tuple[Node, Any]:
    primitive, args, dims = rule.primitive, inputs[hidden:], list(axes[hidden:])
    f = rule_of(batchers, primitive, "Batching rule for")
    axis = AxisData(None, batch_size(inputs, axes))
    out, at = f(axis, tuple([wrap(n) for n in args]), tuple(dims), **rule.params)
    outs = [as_node(x) for x in sequence(primitive, out)]
    places = list(at) if primitive.multiple_results and isinstance(at, (list, tuple)) else [at] * len(outs)
    if rule.acts:  # those of the rule are in its place
        outs, places = [*outs, Node.of_scalar(False)], [*places, None]
    return together(*outs), tuple(places)


bound = Op(
    "bound",
    LIBRARY,
    lambda *avals, rule, hidden: avals[:hidden],
    lambda xp, *inputs, rule, hidden: inputs[:hidden],
    static=("rule", "hidden"),
    jvp=bound_jvp,
    transpose=bound_transpose,
    batch=bound_batch,
    hidden=1,
    tag=True,
    n_out=0,
    doc="The first inputs, which a primitive computed from the others; derivatives and batches are the primitive's.",
)
bound.blind = True  # what an implementation is made of may have no rule


# --- Calls ------------------------------------------------------------------------------------------------------------


def bind_traced(primitive: Primitive, nodes: Sequence[Node], params: dict[str, Any]) -> Any:
    """The result of a primitive for traced arguments. Raises NotImplementedError in a function that is traced for
    types, where nothing says which type it has."""
    if any([t.kind != "vmap" for t in stack.active]):
        primitive.check_types(nodes, params)
    inner = [renamed(n) for n in nodes]
    given = [wrap(n) for n in inner]
    with Apart() as apart:
        if primitive.lowering is not None:
            outs = sequence(primitive, primitive.lowering(*given, **params))
        else:
            try:
                outs = sequence(primitive, primitive.impl(*given, **params))
            except (*NEEDS_VALUES, NotImplementedError):
                outs = on_values(primitive, inner, params)
    made, acts = [as_node(x) for x in outs], bool(apart.effects)
    if not made:
        for e in apart.effects:
            effect(e)
        return []
    n = len(made)
    if acts:
        made.append(all_of(*map(token_of, apart.effects)))
    node = bound(*made, *nodes, rule=Bound(primitive, params, acts), hidden=len(made))
    if acts:
        effect(pick(node, i=n))
    found = [wrap(x) for x in results(node)[:n]]
    return found if primitive.multiple_results else found[0]


def check_lowered(function: Function) -> None:
    """Raise NotImplementedError for a primitive that is to run inside `jit`, for which no lowering was registered."""
    for n in toposort([*function.outputs, *function.effects]):
        if n.op is bound and not n.static[0].primitive.is_lowered:
            raise NotImplementedError(
                f"MLIR translation rule for primitive '{n.static[0].primitive}' not found for platform cpu. {ADVICE}"
            )


def on_values(primitive: Primitive, nodes: Sequence[Node], params: dict[str, Any]) -> list[Any]:
    """The results of an implementation that needs values: it is called when the graph runs."""
    avals = sequence(primitive, primitive.abstract_eval(*[ShapedArray(*n.aval) for n in nodes], **params))
    outs = tuple([Aval(tuple(a.shape), np.dtype(a.dtype)) for a in avals])

    def function(*values: np.ndarray) -> list[np.ndarray]:
        found = sequence(primitive, primitive.impl(*[wrap_value(np.array(v, order="C")) for v in values], **params))
        return [np.array(x, a.dtype, order="C") for x, a in zip(found, outs)]

    call = Call(function, outs, ordered=False, differentiable=True, method="sequential", name=primitive.name)
    node = callback(*nodes, call=call)
    if not outs:
        effect(node)
    return [wrap(n) for n in results(node)]


def instantiate_zeros(tangent: Any) -> Any:
    """An array of zeros for a `Zero`; anything else itself."""
    return tangent.instantiate() if isinstance(tangent, Zero) else tangent
