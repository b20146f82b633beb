"""What an operation knows of itself: one object per op, everything about it in that object.

Arrays are positional, static metadata is keyword-only. Parameters come in two kinds: `static` ones decide what code is
made, and are part of a graph's structure; `moving` ones (slice bounds, sizes, seeds) may be others each time round a
loop, and are not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..bounded import Bounded
from .aval import Aval
from .errors import MissingRuleError
from .node import Node, numbers

MAP, REDUCE, VIEW, SET, LIBRARY = "map", "reduce", "view", "set", "library"
THROUGH, DEFINITE, FORWARD, BACKWARD, MIXED, LOOP = "through", "definite", "forward", "backward", "mixed", "loop"
registry: dict[str, Op] = {}
Rule = Callable[..., Any]


class Op:
    """An operation.

    Attributes:
        name: unique; for a NumPy ufunc its name.
        kind: how a plan treats it. "map": elementwise over broadcast inputs; "reduce": over `axes`, from a map's
            iteration space; "view": no data is touched, the result aliases the input; "set": (base, value) -> base
            with a region replaced; "library": anything else, run as one call.
        static, moving: names of the parameters of both kinds, in order; dtype_at: the place of a static `dtype`, or -1.
        abstract: `(*avals, **params) -> Aval` (a tuple of them where `n_out > 1`); raises NumPy's own errors.
        lower: `(xp, *arrays, **params) -> array`, against a small array namespace: NumPy, torch eager, FX tracing.
        partials: one rule per input, `(g, out, *inputs, **params) -> tangent`: the derivative along that input, linear
            in g. None where the derivative is zero.
        jvp: `(tangents, out, *inputs, **params) -> tangent`, where partials do not say it. A tangent may be None
            (zero).
        transpose: `(ct, *inputs, **params) -> tuple of cotangents`; linear inputs are given as Avals, the others as
            nodes, and get None.
        batch: `(inputs, axes, **params) -> (out, axis)`: `axes[i]` is the mapped axis of input i, or None. Of an op of
            several results `axis` may be a tuple, one for each.
        vjp: `(cts, node, live, *inputs, **params) -> cotangents of the inputs`, those that are `live`, where they are
            known in reverse only.
        linear: whether it is linear in all its inexact inputs together, so that `transpose` is all that reverse mode
            needs.
        hidden: for an op whose first inputs derivatives do not look behind, the place of their number among the static
            parameters; else -1.
        shorter: `(node, *inputs, **params)` -> an equal node that is less, or None. No bit of the result may change:
            x + 0 stays, since it makes -0 into 0, and so does a complex x * 1, which makes NaN of infinities.
        tag: whether its results are just its first inputs, with something said to the transformations: what runs does
            without it. "lasting": it is said of the value itself, and stays where transformations are done.
        n_out: number of results; `pick` nodes select one. 0: as many as the node says.
        ufunc: NumPy's, which an elementwise op applies and a reduction or a scan goes by; None where there is none.
        associative: whether parts of a reduction by it may be done apart, and joined by it.
        code: of an elementwise op, what code generators and C modules know: `lazynp.ops.code.Code`.
        loop: `(out, *avals)` -> the dtypes in which an elementwise op reads its operands, where no ufunc says it.
        call: `(xp, **params)` -> `lower` for these parameters, where a look at them each time would cost.
        batched: `(node, out)`: is told of a node and of what stands for it in a batch.
        blind: whether its rule for batches, too, does not look behind its hidden inputs.
        weakness: whether its derivatives are of a weak type, where what they come from is, as in JAX. "through": they
            are; "definite": neither tangents nor cotangents are; "forward": tangents are not, and cotangents are
            converted to the operand's type; "backward": cotangents are not; "mixed": it takes a weak operand beside
            another as it is, where other ops convert it first, and its cotangent back; "loop": types are those of the
            state. Or a function of a node that gives one of these.
    """

    __slots__ = (
        *("name", "kind", "static", "moving", "dtype_at", "abstract", "lower", "partials", "jvp", "transpose", "batch"),
        *("vjp", "linear", "hidden", "shorter", "tag", "n_out", "doc", "ufunc", "associative", "code", "loop", "call"),
        *("weakness", "batched", "blind"),
    )

    def __init__(
        self,
        name: str,
        kind: str,
        abstract: Rule,
        lower: Rule,
        *,
        static: Sequence[str] = (),
        moving: Sequence[str] = (),
        partials: Sequence[Rule | None] | None = None,
        jvp: Rule | None = None,
        transpose: Rule | None = None,
        batch: Rule | None = None,
        vjp: Rule | None = None,
        linear: bool = False,
        hidden: int = -1,
        shorter: Rule | None = None,
        tag: bool | str = False,
        n_out: int = 1,
        doc: str = "",
        ufunc: np.ufunc | None = None,
        associative: bool = False,
        code: Any = None,
        weakness: str | Callable[[Node], str] = THROUGH,
    ) -> None:
        if name in registry:
            raise ValueError(f"op {name!r} exists already")
        self.name, self.kind, self.abstract, self.lower = name, kind, abstract, lower
        self.static, self.moving, self.n_out, self.doc = tuple(static), tuple(moving), n_out, doc
        self.dtype_at = self.static.index("dtype") if "dtype" in self.static else -1
        self.partials, self.jvp, self.transpose, self.batch = partials, jvp, transpose, batch
        self.vjp, self.linear, self.hidden, self.shorter, self.tag = vjp, linear, hidden, shorter, tag
        self.ufunc, self.associative, self.code, self.weakness = ufunc, associative, code, weakness
        self.loop: Rule | None = None
        self.call: Rule | None = None
        self.batched: Callable[[Node, Node], None] | None = None
        self.blind = False
        registry[name] = self

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __call__(self, *inputs: Any, **params: Any) -> Node:
        """A node that applies the op. Python scalars among the inputs become weak constants."""
        static = tuple([params.pop(k) for k in self.static])
        moving = tuple([params.pop(k) for k in self.moving])
        if params:
            raise TypeError(f"op {self.name} has no parameter {next(iter(params))!r}")
        return make(self, tuple([x if type(x) is Node else constant(x) for x in inputs]), static, moving)

    def params_of(self, node: Node) -> dict[str, Any]:
        """All parameters of a node of this op, by name."""
        return {**dict(zip(self.static, node.static)), **dict(zip(self.moving, node.moving))}

    def rule(self, what: str) -> Rule:
        """The rule of that name, or an error that names the op and the transformation."""
        found = getattr(self, what)
        if found is None:
            raise MissingRuleError(self.name, what)
        return found


class Current(threading.local):
    """Who is told of new nodes: the runtime's recorder, or nobody. Those without a value get a trace's number."""

    sink: Callable[[Node], None] | None = None
    trace = -1  # falls from trace to trace


current = Current()
AVALS_KEPT = 8192
_avals: Bounded[Any, Any] = Bounded(AVALS_KEPT)


def make(op: Op, inputs: tuple[Node, ...], static: tuple[Any, ...] = (), moving: tuple[Any, ...] = ()) -> Node:
    """A node, with its abstract value worked out (or remembered), told to the recorder."""
    key: Any = (op, static, moving, *[n.number for n in inputs])
    if op.dtype_at >= 0:  # equal dtypes may be of two types of C
        key = (*key, getattr(static[op.dtype_at], "char", None))
    try:
        known = _avals.get(key) or _avals.recall(key)
    except TypeError:  # a parameter that cannot be hashed
        key = known = None
    if known is None:
        known = work_out(op, inputs, static, moving, key)
    shape, dtype, weak, number, sort, outs, least = known
    node = Node(op, inputs, static, moving, shape, dtype, weak, number, sort)
    node.outs, node.trace = outs, least
    for n in inputs:
        if n.trace > node.trace:
            node.trace = n.trace
    if node.trace == 2:
        node.index = current.trace
    elif (sink := current.sink) is not None:
        sink(node)
    return node


def work_out(op: Op, inputs: tuple[Node, ...], static: tuple[Any, ...], moving: tuple[Any, ...], key: Any) -> Any:
    """What a node of these parts is like: (shape, dtype, weak, number, sort, outs, trace); sizes may be symbolic."""
    named = {**dict(zip(op.static, static)), **dict(zip(op.moving, moving))}
    aval = op.abstract(*[n.aval for n in inputs], **named)
    if op.n_out != 1:
        known = ((), None, False, *numbers(*aval), aval, 0)
    else:
        least = 2 if any([hasattr(n, "symbolic") for n in (*aval.shape, *static)]) else 0
        known = (aval.shape, aval.dtype, aval.weak, *numbers(aval.shape, aval.dtype, aval.weak), (), least)
    if key is not None:
        _avals.keep(key, known)
    return known


constant = Node.of_scalar  # from a Python or NumPy scalar; a Python scalar is weak


def pick_abstract(source: tuple[Aval, ...], *, i: int) -> Aval:
    return source[i]


def pick_jvp(tangents: Sequence[Any], out: Node, source: Node, *, i: int) -> Any:
    return None if tangents[0] is None else tangents[0][i]


def pick_transpose(ct: Node, source: tuple[Aval, ...], *, i: int) -> tuple[Any]:
    return (tuple([ct if k == i else None for k in range(len(source))]),)


def pick_batch(inputs: Sequence[Node], axes: Sequence[Any], *, i: int) -> tuple[Node, int | None]:
    """Results may have axes of their own."""
    return pick(inputs[0], i=i), axes[0][i] if type(axes[0]) is tuple else axes[0]


pick = Op(
    "pick",
    LIBRARY,
    pick_abstract,
    lambda xp, x, *, i: x[i],
    static=("i",),
    jvp=pick_jvp,
    transpose=pick_transpose,
    batch=pick_batch,
    linear=True,
    doc="One of several results.",
)
pick.call = lambda xp, *, i: lambda x: x[i]


def results(node: Node) -> tuple[Node, ...]:
    """The results of an op that has several."""
    return tuple([make(pick, (node,), (i,)) for i in range(len(node.outs))])


def untagged(node: Node) -> Node:
    """The node that a tag stands for, where no transformation is to see it any more."""
    while node.trace == 0 and node.op is not None and node.inputs:
        source = node.inputs[0]
        if node.op.tag is True and node.dtype is not None:
            node = source
        elif node.op is pick and source.op is not None and source.op.tag and source.inputs:
            node = source.inputs[node.static[0]]
        else:
            break
    return node
