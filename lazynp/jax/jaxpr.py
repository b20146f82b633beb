"""`make_jaxpr`: a traced function's graph in jaxpr form, with JAX's names for the primitives.

The graph is ours: what nobody needs is not in it, operands broadcast without an equation of their own, and functions
that JAX jits inside (`sort`, `where`) stand as what they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api.execute import boundary
from ..api.jit import Jit, Static
from ..api.trace import stack
from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import pick, untagged
from ..graph.show import param_text
from ..graph.walk import toposort
from ..tree import unflatten
from .array import door, wrap
from .dtypes import canonical, is_extended

WIDTH = 80
SHORT = {
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "complex64": "c64",
    "complex128": "c128",
    **{f"int{n}": f"i{n}" for n in (2, 4, 8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (2, 4, 8, 16, 32, 64)},
}
NAMES = {
    "absolute": "abs",
    "add.accumulate": "cumsum",
    "add.reduce": "reduce_sum",
    "alias": "copy",
    "arange": "iota",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_and": "and",
    "bitwise_count": "population_count",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "broadcast_to": "broadcast_in_dim",
    "callback": "pure_callback",
    "cast": "convert_element_type",
    "clip": "clamp",
    "conjugate": "conj",
    "custom": "custom_jvp_call",
    "divide": "div",
    "equal": "eq",
    "fmod": "rem",
    "greater": "gt",
    "greater_equal": "ge",
    "iota": "iota",
    "invert": "not",
    "isfinite": "is_finite",
    "left_shift": "shift_left",
    "less": "lt",
    "less_equal": "le",
    "logical_and": "and",
    "logical_and.reduce": "reduce_and",
    "logical_not": "not",
    "logical_or": "or",
    "logical_or.reduce": "reduce_or",
    "logical_xor": "xor",
    "matmul": "dot_general",
    "maximum": "max",
    "maximum.accumulate": "cummax",
    "maximum.reduce": "reduce_max",
    "minimum": "min",
    "minimum.accumulate": "cummin",
    "minimum.reduce": "reduce_min",
    "multiply": "mul",
    "multiply.accumulate": "cumprod",
    "multiply.reduce": "reduce_prod",
    "negative": "neg",
    "not_equal": "ne",
    "power": "pow",
    "right_shift": "shift_right_arithmetic",
    "rint": "round",
    "set": "dynamic_update_slice",
    "solve": "triangular_solve",
    "subtract": "sub",
    "weak_cast": "convert_element_type",
    "where": "select_n",
}


class Primitive(NamedTuple):
    """An operation by JAX's name."""

    name: str

    def __str__(self) -> str:
        return self.name


def dtype_text(dtype: Any) -> str:
    return SHORT.get(dtype.name, dtype.name)


def aval_text(aval: Any) -> str:
    """`f32[2,3]`."""
    return f"{dtype_text(aval.dtype)}[{','.join(map(str, aval.shape))}]"


class Var:
    """A variable: the result of an equation, an argument or a constant."""

    __slots__ = ("aval", "name")

    def __init__(self, aval: Aval, name: str) -> None:
        self.aval, self.name = aval, name

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Var({self.name}:{aval_text(self.aval)})"


class Literal:
    """A scalar constant."""

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: Aval) -> None:
        self.val, self.aval = val, aval

    def __str__(self) -> str:
        value = self.val.item() if isinstance(self.val, np.generic) else self.val
        return f"{value}:{aval_text(self.aval)}"

    def __repr__(self) -> str:
        return f"Literal({self})"


@dataclasses.dataclass(frozen=True, repr=False)
class JaxprEqn:
    """One operation: `outvars = primitive[params] invars`."""

    primitive: Primitive
    invars: list[Any]
    outvars: list[Var]
    params: dict[str, Any]

    def lines(self) -> list[str]:
        """The equation as text; one line where it fits."""
        left = " ".join([f"{v}:{aval_text(v.aval)}" for v in self.outvars])
        right = " ".join(map(str, self.invars))
        params = [f"{k}={text(v)}" for k, v in sorted(self.params.items())]
        head = f"{left} = {self.primitive}" if left else str(self.primitive)
        line = head + (f"[{' '.join(params)}]" if params else "") + (f" {right}" if right else "")
        if len(line) <= WIDTH - 4 and "\n" not in line:
            return [line]
        inner = ["  " + row for p in params for row in p.split("\n")]
        return [head + "[", *inner, f"] {right}".rstrip()] if params else [line]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


class Jaxpr:
    """A graph: constants, arguments, equations, results."""

    def __init__(self, constvars: list[Var], invars: list[Var], outvars: list[Any], eqns: list[JaxprEqn]) -> None:
        self.constvars, self.invars, self.outvars, self.eqns = constvars, invars, outvars, eqns
        self.effects: frozenset[Any] = frozenset()

    def __str__(self) -> str:
        constants = "".join([f" {v}:{aval_text(v.aval)}" for v in self.constvars])
        arguments = "".join([f" {v}:{aval_text(v.aval)}" for v in self.invars])
        head = f"{{ lambda{constants or ' '};{arguments or ' '}. let"
        results = ", ".join(map(str, self.outvars))
        tail = f"in ({results}{',' if len(self.outvars) == 1 else ''}) }}"
        rows = [row for e in self.eqns for row in e.lines()]
        line = f"{head} {'; '.join(rows)} {tail}"
        if len(line) <= WIDTH and all("\n" not in row for row in rows) and len(rows) == len(self.eqns):
            return line
        return "\n".join([head, *["    " + row for row in rows], "  " + tail])

    __repr__ = __str__


class ClosedJaxpr:
    """A graph with the values of its constants."""

    def __init__(self, jaxpr: Jaxpr, consts: list[Any], function: Function) -> None:
        self.jaxpr, self.consts, self._function = jaxpr, consts, function

    @property
    def eqns(self) -> list[JaxprEqn]:
        return self.jaxpr.eqns

    @property
    def in_avals(self) -> list[Aval]:
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self) -> list[Aval]:
        return [v.aval for v in self.jaxpr.outvars]

    @property
    def literals(self) -> list[Any]:
        return self.consts

    @property
    def effects(self) -> frozenset[Any]:
        return self.jaxpr.effects

    def __str__(self) -> str:
        return str(self.jaxpr)

    __repr__ = __str__


def text(value: Any) -> str:
    """A parameter."""
    if isinstance(value, Function):
        return str(jaxpr_of(value)[0])
    if isinstance(value, tuple) and value and all(isinstance(v, Function) for v in value):
        return "(\n" + "\n".join(["  " + row for v in value for row in text(v).split("\n")]) + "\n)"
    if isinstance(value, str):
        return value
    return param_text(value)


def variable_names() -> Iterator[str]:
    """a, b, ..., z, ba, bb, ... as JAX counts."""
    n = 0
    while True:
        digits, k = "", n
        while True:
            digits, k = chr(ord("a") + k % 26) + digits, k // 26
            if not k:
                break
        yield digits
        n += 1


def params_of(node: Node) -> tuple[str, dict[str, Any]]:
    """JAX's name of a node's operation, and its parameters."""
    op = node.op
    assert op is not None
    params = op.params_of(node)
    name = NAMES.get(op.name, op.name)
    if op.name in ("cast", "weak_cast"):
        params = {"new_dtype": params["dtype"], "weak_type": op.name == "weak_cast"}
    elif op.kind == "reduce":
        params = {"axes": params["axes"]}
    elif op.name == "transpose":
        params = {"permutation": params["axes"]}
    elif op.name == "reshape":
        params = {"dimensions": None, "new_sizes": params["shape"]}
    elif op.name == "concatenate":
        params = {"dimension": params["axis"]}
    elif op.name == "callback":
        call = params["call"]
        name, params = ("debug_callback" if call.differentiable else call.name), {}
    elif (
        op.name == "power" and node.inputs[1].value is not None and isinstance(node.inputs[1].value, (int, np.integer))
    ):
        name, params = "integer_pow", {"y": int(node.inputs[1].value)}
    return name, params


def jaxpr_of(function: Function, since: int = 1 << 62) -> tuple[Jaxpr, list[Node]]:
    """The graph of a function, and its constants."""
    constants = boundary(function, since)
    stop = {*function.inputs, *constants}
    names = variable_names()
    seen: dict[Node, Any] = {}
    for n in (*constants, *function.inputs):
        if n not in seen:
            seen[n] = Var(n.aval, next(names))
    parts: dict[Node, list[Any]] = {}

    def atom(n: Node) -> Any:
        n = untagged(n)
        if n.value is not None and n not in seen:
            return Literal(n.value, n.aval)
        if n.op is pick and n not in seen:
            return parts[n.inputs[0]][n.static[0]]
        return seen[n]

    eqns = []
    order = toposort([untagged(n) for n in (*function.outputs, *function.effects)], stop=stop)
    for n in order:
        if n in stop or n.op is None or n.op is pick or n.op.tag:
            continue
        name, params = params_of(n)
        inputs = list(n.inputs)
        if n.op.name == "where":
            inputs = [inputs[0], inputs[2], inputs[1]]
        elif n.op.name == "callback" and n.static[0].ordered:
            inputs = inputs[1:]
        elif name == "integer_pow":
            inputs = inputs[:1]
        operands = [atom(i) for i in inputs]
        outs = n.outs[: len(n.static[0].outs)] if n.op.name == "callback" else n.outs
        results = [Var(a, next(names)) for a in (outs if n.dtype is None else (n.aval,))]
        if n.dtype is None:
            parts[n] = [*results, *[None] * (len(n.outs) - len(results))]
        else:
            seen[n] = results[0]
        eqns.append(JaxprEqn(Primitive(name), operands, results, params))
    arguments = [seen[n] for n in function.inputs]
    return Jaxpr([seen[n] for n in constants], arguments, [atom(n) for n in function.outputs], eqns), constants


def closed(function: Function, since: int) -> ClosedJaxpr:
    """The graph with its constants' values."""
    jaxpr, constants = jaxpr_of(function, since)
    return ClosedJaxpr(jaxpr, [wrap(n) for n in constants], function)


class ShapeDtypeStruct:
    """Shape and dtype of an array, without a value. `eval_shape` returns them, `lower` and `make_jaxpr` take them."""

    __slots__ = ("shape", "dtype", "sharding", "weak_type")

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        vma: Any = None,
        is_ref: bool = False,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        self.shape = tuple([int(n) for n in shape])
        self.dtype = dtype if is_extended(dtype) else np.dtype(dtype)
        self.sharding, self.weak_type = sharding, weak_type

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """With some attributes replaced."""
        now = {"shape": self.shape, "dtype": self.dtype, "sharding": self.sharding, "weak_type": self.weak_type}
        return ShapeDtypeStruct(**{**now, **changes})

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        where = f", sharding={self.sharding}" if self.sharding is not None else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{where}{weak})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and all(
            [getattr(self, k) == getattr(other, k) for k in self.__slots__]
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))


def node_of(x: Any) -> Node:
    """A leaf without a value for what has a shape and a dtype; the node of an array."""
    if isinstance(x, ShapeDtypeStruct) or (hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(x, "__array__")):
        return leaf(tuple(x.shape), canonical(x.dtype), weak=getattr(x, "weak_type", False), trace=ABSTRACT)
    return door.as_node(x)


def structs(structure: Any, nodes: Sequence[Node]) -> Any:
    """The tree of that structure with the types of these nodes."""
    return unflatten(structure, [ShapeDtypeStruct(n.shape, n.dtype, weak_type=n.weak) for n in nodes])


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
    abstracted_axes: Any = None,
) -> Callable[..., Any]:
    """A function of the same arguments (arrays or `ShapeDtypeStruct`s) that returns the graph of `fun`.

    With `return_shape` also the types of the result.
    """
    nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    traced = Jit(getattr(fun, "_fun", fun), door, Static(nums))

    def make(*args: Any, **kwargs: Any) -> Any:
        before = stack.axes
        if axis_env:
            stack.axes = {**before, **{k: (n, leaf((), np.dtype(np.int32), trace=ABSTRACT)) for k, n in axis_env}}
        try:
            entry = traced._trace(traced._take_apart(args, kwargs, node_of))
        finally:
            stack.axes = before
        found = closed(entry.function, entry.since)
        return (found, structs(entry.out, entry.function.outputs)) if return_shape else found

    make.__name__ = f"make_jaxpr({getattr(fun, '__name__', fun)})"
    return make


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The types of `fun(*args, **kwargs)` as `ShapeDtypeStruct`s. Nothing is computed."""
    traced = Jit(getattr(fun, "_fun", fun), door, Static())
    entry = traced._trace(traced._take_apart(args, kwargs, node_of))
    return structs(entry.out, entry.function.outputs)
