"""`make_jaxpr`: a traced function's graph in jaxpr form, with JAX's names for the primitives.

The graph is ours: what nobody needs is not in it, operands broadcast without an equation of their own, and functions
that JAX jits inside (`sort`, `where`) stand as what they are.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ..api.jit import Jit
from ..api.trace import Trace, inline, placeholder, stack
from ..away import on_host
from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import MAP, pick
from ..ops.callback import callback
from ..ops.elementwise import cast, weak_cast
from ..ops.promotion import is_inexact
from ..runtime.execute import boundary
from ..signatures import Static
from ..tree import flatten, unflatten
from .array import Array, door, wrap
from .aval import ShapedArray, on_explicit, shaped
from .beginning import Beginning
from .bind import Primitive, bound
from .devices import several
from .dtypes import canonical, shown
from .jaxpr_bodies import with_literals
from .primitives import operands_of, primitive_of, steps_of
from .shape_struct import ShapeDtypeStruct
from .sharding import NamedSharding, Sharding
from .source_info import SourceInfo
from .spreading import known
from .spreading import state as spreading

WIDTH = 80
PYTHON_NUMBERS = (int, float, complex)


def aval_text(aval: Any) -> str:
    """`f32[2,3]`."""
    return str(aval.str_short(short_dtypes=True))


def type_of(n: Node) -> Aval | ShapedArray:
    """The type of a node, with how it lies where that is known."""
    return shaped(n.aval, known.get(n)) if spreading.on else n.aval


def shaped_of(aval: Aval | ShapedArray) -> ShapedArray:
    """What users see of an abstract value."""
    return aval if isinstance(aval, ShapedArray) else ShapedArray(*aval)


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

    def __init__(self, aval: Aval | ShapedArray) -> None:
        self.aval, self.unused = shaped_of(aval), False

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval}"


class DropVarMeta(type):
    """Variables that nothing reads."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Var) and instance.unused


class DropVar(Var, metaclass=DropVarMeta):
    """What variables that nothing reads are instances of."""

    def __init__(self, aval: Aval | ShapedArray) -> None:
        super().__init__(aval)
        self.unused = True


class Literal:
    """A scalar constant."""

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: Aval | ShapedArray) -> None:
        self.val, self.aval = val, shaped_of(aval)

    def __str__(self) -> str:
        return f"{np.asarray(self.val).astype(self.aval.dtype).item()}:{aval_text(self.aval)}"

    def __repr__(self) -> str:
        return f"Literal({str(self).rpartition(':')[0]})"


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class JaxprEqn:
    """One operation: `outvars = primitive[params] invars`."""

    primitive: Primitive
    invars: list[Any]
    outvars: list[Var]
    params: dict[str, Any]
    effects: frozenset[Any] = frozenset()
    source_info: SourceInfo = dataclasses.field(default_factory=SourceInfo)

    def replace(self, **changes: Any) -> JaxprEqn:
        """With some of it replaced."""
        return dataclasses.replace(self, **changes)

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


def pretty(self: Any, **_: Any) -> str:
    """The text; how it is set is not to be chosen."""
    return str(self)


class Jaxpr:
    """A graph: constants, arguments, equations, results.

    Attributes:
        source: the function that it shows, and the nodes of its constants; None for one that was put together.
    """

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Any],
        eqns: Sequence[JaxprEqn],
        effects: frozenset[Any] = frozenset(),
        debug_info: Any = None,
        is_high: bool = False,
        source: tuple[Function, list[Node]] | None = None,
    ) -> None:
        self.constvars, self.invars = list(constvars), list(invars)
        self.outvars, self.eqns = list(outvars), list(eqns)
        self.effects, self.debug_info, self.is_high, self.source = effects, debug_info, is_high, source
        read = {v for e in eqns for v in e.invars if isinstance(v, Var)}
        read.update([v for v in outvars if isinstance(v, Var)])
        for v in [v for e in eqns for v in e.outvars]:
            v.unused = v not in read

    def replace(self, **changes: Any) -> Jaxpr:
        """With some of it replaced."""
        now = {k: getattr(self, k) for k in ("constvars", "invars", "outvars", "eqns", "effects", "debug_info")}
        return Jaxpr(**{**now, **changes})

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

    pretty_print = pretty

    def __str__(self) -> str:
        return self.text(Names())

    __repr__ = __str__


class ClosedJaxpr:
    """A graph with the values of its constants."""

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any]) -> None:
        self.jaxpr, self.consts = jaxpr, list(consts)

    def replace(self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None) -> ClosedJaxpr:
        """With some of it replaced."""
        return ClosedJaxpr(jaxpr or self.jaxpr, self.consts if consts is None else consts)

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """With what f makes of the graph."""
        return ClosedJaxpr(f(self.jaxpr), self.consts)

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

    pretty_print = pretty

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
        n = behind(n, self.known)
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
            self.eqns.append(JaxprEqn(primitive_of(step.name), operands, [var], step.params))
            operands = [var]
        last = steps[-1]
        given = last.params
        if last.name in ("scan", "while", "cond") and any([isinstance(v, Literal) for v in operands]):
            given, operands = with_literals(last.name, given, operands, is_scalar, closed_over)
        params = {k: inner(v) for k, v in given.items()}
        ordered = n.op is callback and n.static[0].ordered
        avals = (type_of(n),) if n.dtype is not None else n.outs[: len(n.static[0].outs)] if ordered else n.outs
        results = [Var(a) for a in avals]
        if n.dtype is None:
            self.parts[n] = [*results, *[None] * (len(n.outs) - len(results))]
        else:
            self.known[n] = results[0]
        primitive = n.static[0].primitive if n.op is bound else primitive_of(last.name)
        self.eqns.append(JaxprEqn(primitive, operands, results, params))


def typed_alike(operands: list[Any]) -> list[Any]:
    """Python scalars among an elementwise operation's operands in the dtype of the arrays beside them."""
    found = [v.aval.plain.dtype for v in operands if isinstance(v, Var)]
    dtype = next((d for d in found if d.kind != "b"), None)
    return [
        Literal(v.val, Aval((), dtype, v.aval.weak_type))
        if dtype is not None and isinstance(v, Literal) and type(v.val) in PYTHON_NUMBERS
        else v
        for v in operands
    ]


def is_scalar(atom: Any) -> bool:
    """Whether it is a Python scalar."""
    return isinstance(atom, Literal) and bool(atom.aval.weak_type)


def closed_over(function: Function, literals: dict[int, Any]) -> ClosedJaxpr:
    """The graph of a body, with literals for some of its arguments."""
    if not literals:
        return closed(function, 1 << 62)
    jaxpr, constants = jaxpr_of(function, 1 << 62, literals)
    return ClosedJaxpr(jaxpr, [wrap(n) for n in constants])


def inner(value: Any) -> Any:
    """A parameter, with functions in jaxpr form."""
    if isinstance(value, Function):
        return closed(value, 1 << 62)
    if isinstance(value, tuple) and value and all([isinstance(v, Function) for v in value]):
        return tuple([closed(v, 1 << 62) for v in value])
    return value


def behind(n: Node, stop: Collection[Node]) -> Node:
    """The node that a tag stands for, where no transformation is to see it any more; at most as far as `stop`."""
    while n.op is not None and n.inputs and n not in stop:
        source = n.inputs[0]
        if n.op.tag and n.dtype is not None:
            n = source
        elif n.op is pick and is_tag(source) and source.inputs:
            n = source.inputs[n.static[0]]
        else:
            break
    return n


def is_tag(n: Node) -> bool:
    """Whether a jaxpr does without it."""
    return n.op is not None and bool(n.op.tag) and n.op is not bound


def in_order(results: Sequence[Node], stop: Collection[Node]) -> list[Node]:
    """What the results depend on, as a jaxpr has it: operands before what reads them, without what stands behind a
    primitive's result."""
    order: list[Node] = []
    done: set[Node] = set()
    entered: set[Node] = set()
    stack = list(reversed(results))
    while stack:
        node = behind(stack[-1], stop)
        if node in done or node in entered or node.op is None or node in stop:
            stack.pop()
            if node not in done:
                done.add(node)
                order.append(node)
            continue
        entered.add(node)
        reads = node.inputs if node.op is pick or is_tag(node) else operands_of(node)
        stack.extend([n for n in reversed(reads) if behind(n, stop) not in done])
    return order


def is_literal(n: Node) -> bool:
    """Whether a constant stands where it is used: a Python scalar, and none that a derivative is taken along."""
    return n.weak and not n.shape and n.buffer is not None and not n.trace


def jaxpr_of(
    function: Function, since: int | Beginning = 1 << 62, literals: dict[int, Any] | None = None
) -> tuple[Jaxpr, list[Node]]:
    """The graph of a function, and its constants, also those that only the rules of users' derivatives read. Arguments
    for which there are literals are none."""
    found = since.constants(function) if isinstance(since, Beginning) else boundary(function, since)
    stop = {*found, *function.inputs}
    order = in_order([*function.outputs, *function.effects], stop)
    reached = set(order)
    constants = [n for n in found if not is_literal(n) and (n in reached or n.trace and is_inexact(n.dtype))]
    writer = Writer({n: Literal(on_host(n.buffer), n.aval) for n in found if is_literal(n)})
    gone = {function.inputs[i]: v for i, v in (literals or {}).items()}
    writer.known.update(gone)
    for n in (*constants, *function.inputs):
        writer.known.setdefault(n, Var(type_of(n)))
    for n in order:
        if n not in stop and n.op is not None and n.op is not pick and not is_tag(n):
            writer.write(n)
    left = [n for n in function.inputs if n not in gone]
    arguments, variables = ([writer.known[n] for n in nodes] for nodes in (left, constants))
    outputs = [writer.atom(n) for n in function.outputs]
    source = None if gone else (function, constants)
    return Jaxpr(variables, arguments, outputs, writer.eqns, source=source), constants


def closed(function: Function, since: int | Beginning) -> ClosedJaxpr:
    """The graph with its constants' values."""
    jaxpr, constants = jaxpr_of(function, since)
    return ClosedJaxpr(jaxpr, [wrap(n) for n in constants])


def node_of(x: Any) -> Node:
    """A leaf without a value for what has a shape and a dtype, and for a deleted array; the node of an array."""
    gone = isinstance(x, Array) and x.is_deleted()
    if (
        gone
        or isinstance(x, ShapeDtypeStruct)
        or (hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(x, "__array__"))
    ):
        node = leaf(tuple(x.shape), canonical(x.dtype), weak=getattr(x, "weak_type", False), trace=ABSTRACT)
        lies = getattr(x, "sharding", None)
        if several() and isinstance(lies, Sharding):
            spreading.on = True
            known[node] = lies
        return node
    return door.as_node(x)


def structs(structure: Any, nodes: Sequence[Node], shardings: Sequence[Any] = ()) -> Any:
    """The tree of that structure with the types of these nodes, and with shardings: those on explicit axes, or others
    that are given."""
    found = shardings or [sharding_of_type(known.get(n), n.ndim) for n in nodes]
    infos = [ShapeDtypeStruct(n.shape, shown(n.dtype), weak_type=n.weak, sharding=s) for n, s in zip(nodes, found)]
    return unflatten(structure, infos)


def sharding_of_type(lies: Any, ndim: int) -> NamedSharding | None:
    """What a type says of how its array lies, on explicit axes of a mesh."""
    if not isinstance(lies, NamedSharding) or not lies.mesh.explicit_axes:
        return None
    return on_explicit(lies, ndim)


def lying_as(fun: Callable[..., Any], shardings: Sequence[Any]) -> Callable[..., Any]:
    """The function, whose traced arguments are said to lie so."""

    @functools.wraps(fun)
    def placed_arguments(*args: Any, **kwargs: Any) -> Any:
        traced = [x for x in flatten((args, kwargs))[0] if isinstance(x, Array)]
        for x, sharding in zip(traced, shardings):
            known[x.node] = sharding
        return fun(*args, **kwargs)

    return placed_arguments


def entry_for(fun: Callable[..., Any], static: Static, args: Any, kwargs: Any) -> Any:
    """What is known of a function that was traced for these arguments, arrays or `ShapeDtypeStruct`s."""
    fun = getattr(fun, "_fun", fun)
    call = Jit(fun, door, static)._take_apart(args, kwargs, node_of)
    if several():
        fun = lying_as(fun, [known.get(n) for n in call.nodes])
    return Jit(typed(fun), door, static)._trace(call)


def typed(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with an abstract array for each `ShapeDtypeStruct` that it returns."""

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(fun(*args, **kwargs))
        return unflatten(structure, [wrap(node_of(x)) if isinstance(x, ShapeDtypeStruct) else x for x in leaves])

    return call


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
    if not callable(fun):
        raise TypeError(f"the first argument must be callable, got {fun}")
    nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    def make(*args: Any, **kwargs: Any) -> Any:
        before = stack.axes
        if axis_env:
            stack.axes = {**before, **{k: (n, leaf((), np.dtype(np.int32), trace=ABSTRACT)) for k, n in axis_env}}
        beginning = Beginning()
        try:
            entry = entry_for(fun, Static(nums), args, kwargs)
        finally:
            stack.axes = before
        found = closed(entry.function, beginning)
        return (found, structs(entry.out, entry.function.outputs)) if return_shape else found

    make.__name__ = f"make_jaxpr({getattr(fun, '__name__', fun)})"
    return make


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The types of `fun(*args, **kwargs)` as `ShapeDtypeStruct`s. Nothing is computed."""
    if getattr(fun, "_out", None) is not None:
        return fun.eval_shape(*args, **kwargs)  # type: ignore[attr-defined]
    entry = entry_for(fun, Static(), args, kwargs)
    return structs(entry.out, entry.function.outputs)


# --- To run one -------------------------------------------------------------------------------------------------------


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True) -> list[Any]:
    """The results of a graph for values of its constants and arguments.

    Raises: TypeError where their number is wrong.
    """
    if len(consts) != len(jaxpr.constvars) or len(args) != len(jaxpr.invars):
        raise TypeError(
            f"eval_jaxpr takes {len(jaxpr.constvars)} constants and {len(jaxpr.invars)} arguments, got {len(consts)} "
            f"and {len(args)}"
        )
    if jaxpr.source is None:
        return run_equations(jaxpr, consts, args)
    function, constants = jaxpr.source
    whole = Function((*constants, *function.inputs), function.outputs, function.effects, function.token)
    return [wrap(n) for n in inline(whole, [door.as_node(x) for x in (*consts, *args)])]


def run_equations(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """The results, one equation after the other."""
    known: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args)))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else known[atom]

    for e in jaxpr.eqns:
        out = e.primitive.bind(*[read(v) for v in e.invars], **e.params)
        known.update(zip(e.outvars, out if e.primitive.multiple_results else [out]))
    return [read(v) for v in jaxpr.outvars]


def jaxpr_as_fun(jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The function that a graph with its constants is: from arrays to a list of arrays."""
    return lambda *args: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)


def function_of(jaxpr: ClosedJaxpr | Jaxpr) -> Function:
    """The graph that a jaxpr shows, traced anew where it was put together by hand."""
    given = jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, [])
    source = given.jaxpr.source
    if source is not None and all([door.as_node(x) is n for x, n in zip(given.consts, source[1])]):
        return source[0]
    with Trace(given, "jaxpr") as trace:
        inputs = [placeholder(a.plain, trace, i) for i, a in enumerate(given.in_avals)]
        outs = eval_jaxpr(given.jaxpr, given.consts, *[wrap(n) for n in inputs])
        return Function(inputs, [door.as_node(x) for x in outs], trace.effects, trace.first)


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """The graph with the used outputs only and what they need; and which arguments it still has.

    With `instantiate` arguments stay where nothing reads them.
    """
    keep = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else list(instantiate)
    outvars = [v for v, used in zip(jaxpr.outvars, used_outputs) if used]
    live = {v for v in outvars if isinstance(v, Var)}
    eqns = []
    for e in reversed(jaxpr.eqns):
        if e.effects or not live.isdisjoint(e.outvars):
            eqns.append(e)
            live.update([v for v in e.invars if isinstance(v, Var)])
    used = [v in live or k for v, k in zip(jaxpr.invars, keep)]
    invars = [v for v, u in zip(jaxpr.invars, used) if u]
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=eqns[::-1]), used
