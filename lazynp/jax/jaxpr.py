"""`make_jaxpr`: a traced function's graph in jaxpr form, with JAX's names for the primitives.

The graph is ours: what nobody needs is not in it, operands broadcast without an equation of their own, and functions
that JAX jits inside (`sort`, `where`) stand as what they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api.jit import Jit
from ..api.trace import stack
from ..away import on_host
from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import MAP, pick
from ..graph.walk import toposort
from ..ops.callback import callback
from ..ops.elementwise import cast, weak_cast
from ..runtime.execute import boundary
from ..signatures import Static
from ..tree import unflatten
from .array import door, wrap
from .aval import ShapedArray
from .dtypes import canonical, is_extended
from .primitives import operands_of, steps_of

WIDTH = 80
PYTHON_NUMBERS = (int, float, complex)
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


class Names:
    """Names of variables in one text, given in the order in which they are met: a, b, ..., z, ba, bb, ..."""

    def __init__(self) -> None:
        self.known: dict[Any, str] = {}

    def __call__(self, atom: Any) -> str:
        if not isinstance(atom, Var):
            return str(atom)
        if atom.unused:
            return "_"
        name = self.known.get(atom)
        if name is None:
            name, k = "", len(self.known)
            while True:
                name, k = chr(ord("a") + k % 26) + name, k // 26
                if not k:
                    break
            self.known[atom] = name
        return name

    def typed(self, atom: Any) -> str:
        return f"{self(atom)}:{aval_text(atom.aval)}"


class Var:
    """A variable: the result of an equation, an argument or a constant. `unused`: nothing reads it."""

    __slots__ = ("aval", "unused")

    def __init__(self, aval: Aval) -> None:
        self.aval, self.unused = ShapedArray(*aval), False

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval}"


class Literal:
    """A scalar constant."""

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: Aval) -> None:
        self.val, self.aval = val, ShapedArray(*aval)

    def __str__(self) -> str:
        return f"{np.asarray(self.val).astype(self.aval.dtype).item()}:{aval_text(self.aval)}"

    def __repr__(self) -> str:
        return f"Literal({self})"


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class JaxprEqn:
    """One operation: `outvars = primitive[params] invars`."""

    primitive: Primitive
    invars: list[Any]
    outvars: list[Var]
    params: dict[str, Any]

    def lines(self, names: Names, indent: int = 0) -> list[str]:
        """The equation as text; one line where it fits."""
        left = " ".join([names.typed(v) for v in self.outvars])
        head = f"{left} = {self.primitive}" if left else str(self.primitive)
        params = [(k, text(v, names, indent + 2)) for k, v in sorted(self.params.items())]
        right = " ".join(map(names, self.invars))
        pairs = " ".join([f"{k}={v}" for k, v in params])
        line = head + (f"[{pairs}]" if params else "")
        if not params or len(line) + indent <= WIDTH and "\n" not in line:
            return [f"{line} {right}".rstrip()]
        inner = ["  " + row for k, v in params for row in f"{k}={v}".split("\n")]
        return [head + "[", *inner, f"] {right}".rstrip()]

    def __str__(self) -> str:
        return "\n".join(self.lines(Names()))

    __repr__ = __str__


class Jaxpr:
    """A graph: constants, arguments, equations, results.

    Attributes:
        source: the function that it shows, and the nodes of its constants.
    """

    def __init__(
        self,
        constvars: list[Var],
        invars: list[Var],
        outvars: list[Any],
        eqns: list[JaxprEqn],
        source: tuple[Function, list[Node]],
    ) -> None:
        self.constvars, self.invars, self.outvars, self.eqns = constvars, invars, outvars, eqns
        self.source = source
        self.effects: frozenset[Any] = frozenset()
        read = {v for e in eqns for v in e.invars if isinstance(v, Var)}
        read.update([v for v in outvars if isinstance(v, Var)])
        for v in [v for e in eqns for v in e.outvars]:
            v.unused = v not in read

    def text(self, names: Names, indent: int = 0) -> str:
        """The whole, in one line where it fits; `indent` columns are taken."""
        constants = "".join([f" {names.typed(v)}" for v in self.constvars])
        arguments = "".join([f" {names.typed(v)}" for v in self.invars])
        head = f"{{ lambda{constants or ' '};{arguments or ' '}. let"
        rows = [row for e in self.eqns for row in e.lines(names, indent + 4)]
        results = ", ".join(map(names, self.outvars))
        tail = f"in ({results}{',' if len(self.outvars) == 1 else ''}) }}"
        line = f"{head} {'; '.join(rows)} {tail}"
        if len(line) + indent <= WIDTH and len(rows) == len(self.eqns):
            return line
        return "\n".join([head, *["    " + row for row in rows], "  " + tail])

    def __str__(self) -> str:
        return self.text(Names())

    __repr__ = __str__


class ClosedJaxpr:
    """A graph with the values of its constants."""

    def __init__(self, jaxpr: Jaxpr, consts: list[Any]) -> None:
        self.jaxpr, self.consts = jaxpr, consts

    @property
    def eqns(self) -> list[JaxprEqn]:
        return self.jaxpr.eqns

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
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


def text(value: Any, names: Names, indent: int) -> str:
    """A parameter."""
    if isinstance(value, ClosedJaxpr):
        return value.jaxpr.text(names, indent)
    if isinstance(value, tuple) and value and all(isinstance(v, ClosedJaxpr) for v in value):
        rows = [row for v in value for row in v.jaxpr.text(names, indent + 2).split("\n")]
        return "(\n" + "\n".join(["  " + row for row in rows]) + "\n)"
    if isinstance(value, (np.dtype, type)):
        return np.dtype(value).name
    return value if isinstance(value, str) else repr(value)


class Writer:
    """Makes the equations of a graph, node by node."""

    def __init__(self, known: dict[Node, Any]) -> None:
        self.known, self.parts = known, dict[Node, list[Any]]()
        self.eqns: list[JaxprEqn] = []

    def atom(self, n: Node) -> Any:
        """The variable or the constant for a node."""
        n = behind(n)
        if n in self.known:
            return self.known[n]
        if n.op is pick:
            return self.parts[n.inputs[0]][n.static[0]]
        return Literal(n.value, Aval((), canonical(n.dtype), n.weak))

    def write(self, n: Node) -> None:
        """The equations for a node."""
        operands = [self.atom(i) for i in operands_of(n)]
        steps = steps_of(n)
        if n.op is weak_cast and n.inputs[0].dtype == n.dtype:  # of JAX's operations the result is weak by itself
            self.known[n] = operands[0]
            return
        if n.op in (cast, weak_cast) and isinstance(operands[0], Literal):
            self.known[n] = Literal(operands[0].val, n.aval)
            return
        if n.op is not None and n.op.kind == MAP:
            operands = typed_alike(operands)
        for step in steps[:-1]:
            assert step.aval is not None
            var = Var(step.aval)
            self.eqns.append(JaxprEqn(Primitive(step.name), operands, [var], step.params))
            operands = [var]
        last = steps[-1]
        params = {k: inner(v) for k, v in last.params.items()}
        ordered = n.op is callback and n.static[0].ordered
        avals = (n.aval,) if n.dtype is not None else n.outs[: len(n.static[0].outs)] if ordered else n.outs
        results = [Var(a) for a in avals]
        if n.dtype is None:
            self.parts[n] = [*results, *[None] * (len(n.outs) - len(results))]
        else:
            self.known[n] = results[0]
        self.eqns.append(JaxprEqn(Primitive(last.name), operands, results, params))


def typed_alike(operands: list[Any]) -> list[Any]:
    """Python scalars among an elementwise operation's operands in the dtype of the arrays beside them."""
    dtype = next((v.aval.dtype for v in operands if isinstance(v, Var) and v.aval.dtype.kind != "b"), None)
    return [
        Literal(v.val, Aval((), dtype, v.aval.weak))
        if dtype is not None and isinstance(v, Literal) and type(v.val) in PYTHON_NUMBERS
        else v
        for v in operands
    ]


def inner(value: Any) -> Any:
    """A parameter, with functions in jaxpr form."""
    if isinstance(value, Function):
        return closed(value, 1 << 62)
    if isinstance(value, tuple) and value and all([isinstance(v, Function) for v in value]):
        return tuple([closed(v, 1 << 62) for v in value])
    return value


def behind(n: Node) -> Node:
    """The node that a tag stands for: no transformation is to see it any more."""
    while n.op is not None and n.inputs:
        source = n.inputs[0]
        if n.op.tag and n.dtype is not None:
            n = source
        elif n.op is pick and source.op is not None and source.op.tag and source.inputs:
            n = source.inputs[n.static[0]]
        else:
            break
    return n


def is_literal(n: Node) -> bool:
    """Whether a constant stands where it is used: a Python scalar."""
    return n.weak and not n.shape and n.buffer is not None


def jaxpr_of(function: Function, since: int = 1 << 62) -> tuple[Jaxpr, list[Node]]:
    """The graph of a function, and its constants."""
    found = boundary(function, since)
    constants = list(dict.fromkeys([n for n in found if not is_literal(n)]))
    writer = Writer({n: Literal(on_host(n.buffer), n.aval) for n in found if is_literal(n)})
    for n in (*constants, *function.inputs):
        writer.known.setdefault(n, Var(n.aval))
    results = [behind(n) for n in (*function.outputs, *function.effects)]
    stop = set(writer.known)
    for n in toposort(results, stop=stop):
        if n not in stop and n.op is not None and n.op is not pick and not n.op.tag:
            writer.write(n)
    arguments, variables = ([writer.known[n] for n in nodes] for nodes in (function.inputs, constants))
    outputs = [writer.atom(n) for n in function.outputs]
    return Jaxpr(variables, arguments, outputs, writer.eqns, (function, constants)), constants


def closed(function: Function, since: int) -> ClosedJaxpr:
    """The graph with its constants' values."""
    jaxpr, constants = jaxpr_of(function, since)
    return ClosedJaxpr(jaxpr, [wrap(n) for n in constants])


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
