"""Ops that say something to the transformations, and nothing to what runs: their results are their first inputs.

`alias` gives a value a second node, so that a transformation can tell its own argument from the value it was called
with. `stop_gradient` has no derivative. `custom` carries a derivative that a user wrote, `pulled` the linear map of one
that is known in reverse only. `called` says that its results are those of a call, to who shows the graph.

A rule is an object with `jvp(outs, kept, inputs, tangents)`, or, where `reverse` is true, `vjp(outs, kept, inputs, cts,
live)`, on nodes; see `api/custom.py`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.errors import MissingRuleError
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import LIBRARY, VIEW, Op, results
from .callback import TOKEN
from .elementwise import add
from .promotion import is_inexact
from .rewrites import rewrites
from .shape import Axes, add_reduce, batch_size, broadcast_to, to_front

Nodes = Sequence[Node]
Tangents = Sequence[Node | None]

NO_FORWARD = "can't apply forward-mode autodiff (jvp) to a custom_vjp function."

alias = Op(
    "alias",
    VIEW,
    lambda x: x,
    lambda xp, x: x,
    jvp=lambda tangents, out, x: tangents[0],
    transpose=lambda ct, x: (ct,),
    batch=lambda inputs, axes: (alias(*inputs), axes[0]),
    linear=True,
    tag=True,
    doc="The same value, another node.",
)
alias.call = lambda xp: lambda x: x


def renamed(x: Node) -> Node:
    """Another node of the same value; a scalar is itself, since nothing is differentiated along it."""
    return x if x.value is not None else alias(x)


stopped = Op(
    "stop_gradient",
    VIEW,
    lambda x, *, hidden: x,
    lambda xp, x, *, hidden: x,
    static=("hidden",),
    batch=lambda inputs, axes, *, hidden: (stopped(*inputs, hidden=hidden), axes[0]),
    hidden=0,
    tag=True,
    doc="The same value, without a derivative.",
)


def no_tangent(tangents: Tangents, out: Node, x: Node, *, why: str) -> Node:
    raise NotImplementedError(why)


refusing = Op(
    "refusing",
    VIEW,
    lambda x, *, why: x,
    lambda xp, x, *, why: x,
    static=("why",),
    jvp=no_tangent,
    batch=lambda inputs, axes, *, why: (refusing(*inputs, why=why), axes[0]),
    tag=True,
    doc="The same value. Who differentiates along it is told why that is not to be had.",
)


def without_derivative(name: str, x: Node) -> Node:
    """A value along which nothing is differentiated, as JAX has no rule for it."""
    return refusing(x, why=f"Differentiation rule for '{name}' not implemented") if x.trace else x


def stop_gradient(x: Node) -> Node:
    """x, seen as constant by derivatives."""
    return stopped(x, hidden=1) if x.trace else x


class Called:
    """What a `called` node says.

    Attributes:
        name: of the kind of call. params: what is to be shown of it, by name.
        function: of the node's inputs that follow its results; None where these have been transformed since.
        of_batch: what makes of this, the batched inputs of the node and their axes what the node for a batch says;
            None where the function is to be found between its inputs and results.
        pull: gives the cotangents of the node's inputs from the node, those of its results, and which inputs count;
            None where they are those of what has made the results.
    """

    __slots__ = ("name", "params", "function", "of_batch", "pull")

    def __init__(
        self,
        name: str,
        params: dict[str, Any],
        function: Function | None,
        of_batch: Callable[..., Called] | None = None,
        pull: Callable[..., list[Node | None]] | None = None,
    ) -> None:
        self.name, self.params, self.function, self.of_batch = name, params, function, of_batch
        self.pull = pull

    @property
    def reverse(self) -> bool:
        """Whether it has cotangents of its own."""
        return self.pull is not None

    def batched(self, inputs: Nodes, axes: Sequence[int | None]) -> Called:
        if self.of_batch is not None and self.function is not None:
            return self.of_batch(self, inputs, axes)
        return Called(self.name, self.params, None)


called = Op(
    "called",
    LIBRARY,
    lambda *avals, call, n: avals[:n],
    lambda xp, *inputs, call, n: inputs[:n],
    static=("call", "n"),
    jvp=lambda tangents, out, *inputs, call, n: tangents[:n],
    vjp=lambda cts, out, live, *inputs, call, n: call.pull(out, cts, live),
    transpose=lambda cts, *inputs, call, n: [*cts, *[None] * (len(inputs) - n)],
    batch=lambda inputs, axes, *, call, n: (
        called(*inputs, call=call.batched(inputs, axes), n=n),
        tuple(axes[:n]),
    ),
    tag=True,
    n_out=0,
    doc="The first n inputs, which a call of a function has made of the others.",
)


def as_call(
    function: Function, inputs: Nodes, outs: Nodes, name: str, params: dict[str, Any], pull: Any = None
) -> list[Node]:
    """What a function has returned for these inputs, with a node in between that says so. `pull`: see `Called`."""
    captured = [n for n in function.captured() if n.trace]
    whole = Function([*captured, *function.inputs], function.outputs) if captured else function
    node = called(*outs, *captured, *inputs, call=Called(name, params, whole, pull=pull), n=len(outs))
    return list(results(node))


class Sums:
    """Which sums are of tangents or cotangents: noted of graphs that are traced to be shown.

    Attributes:
        noting: in how many places such graphs are traced now.
    """

    def __init__(self) -> None:
        self.noting, self.nodes = 0, weakref.WeakSet[Node]()


sums = Sums()


def summed(a: Node, b: Node) -> Node:
    """The sum of two tangents or cotangents."""
    node = add(a, b)
    if sums.noting:
        sums.nodes.add(node)
    return node


used: weakref.WeakSet[Node] = weakref.WeakSet()
"""`custom` nodes whose reverse rule has served: derivatives of higher order go through what the rule computed."""


def hidden_inputs(node: Node) -> int:
    """How many of a node's first inputs derivatives do not look behind."""
    op = node.op
    if op is None or op.hidden < 0 or (op is custom and node in used):
        return 0
    return node.static[op.hidden]


def visible(node: Node) -> Sequence[Node]:
    """The inputs that an operation's rule for batches looks at."""
    return node.inputs[node.static[node.op.hidden] :] if node.op is not None and node.op.blind else node.inputs


def seen(node: Node) -> Sequence[Node]:
    """The inputs through which derivatives of a node come: none for whole numbers and steps."""
    op = node.op
    if op is None or op.partials is not None and not any(op.partials):
        return ()
    if node.dtype is not None and node.dtype.kind not in "fc" and not is_inexact(node.dtype):
        return ()
    return node.inputs[hidden_inputs(node) :] if op.hidden >= 0 else node.inputs


sequence = Op(
    "sequence",
    LIBRARY,
    lambda *avals: TOKEN,
    lambda xp, *inputs: np.zeros((), bool),
    batch=lambda inputs, axes: (sequence(*inputs), None),
    doc="A token for several effects.",
)


def custom_abstract(*avals: Aval, rule: Any, hidden: int, n: int) -> tuple[Aval, ...]:
    return avals[:n]


def custom_jvp(
    tangents: Sequence[Node | None], out: Node, *inputs: Node, rule: Any, hidden: int, n: int
) -> Sequence[Node | None]:
    if out in used:
        return tangents[:n]
    if not rule.reverse:
        found = rule.jvp(inputs[: n - rule.acts], inputs[n:hidden], inputs[hidden:], tangents[hidden:])
        return [*found, *[None] * rule.acts]
    used.add(out)
    inputs = silenced(inputs, rule, n)
    live = tuple([i for i, t in enumerate(tangents[hidden:]) if t is not None])
    given = [t for t in tangents[hidden:] if t is not None]
    return results(pulled(*inputs, *given, rule=rule, hidden=hidden, n=n, live=live))


def silenced(inputs: tuple[Node, ...], rule: Any, n: int) -> tuple[Node, ...]:
    """The inputs of a `custom` node that does not wait for its effects."""
    return (*inputs[: n - 1], Node.of_scalar(False), *inputs[n:]) if rule.acts else inputs


def custom_vjp(
    cts: Sequence[Node | None], out: Node, live: Sequence[bool], *inputs: Node, rule: Any, hidden: int, n: int
) -> list[Node | None]:
    used.add(out)
    m = n - rule.acts
    return [*[None] * hidden, *rule.vjp(inputs[:m], inputs[n:hidden], inputs[hidden:], cts[:m], live[hidden:])]


def custom_transpose(cts: Tangents, *inputs: Any, rule: Any, hidden: int, n: int) -> list[Node | None]:
    """Of a function of tangents, which a rule has applied to them: what it computed from them is transposed."""
    if rule.reverse:
        raise MissingRuleError("custom_vjp_call", "transpose")
    return [*cts, *[None] * (len(inputs) - n)]


def custom_batch(
    inputs: Sequence[Node], axes: Axes, *, rule: Any, hidden: int, n: int
) -> tuple[Node, tuple[int | None, ...]]:
    size = batch_size(inputs, axes)
    rest, at = moved(inputs[n:], axes[n:])
    new = Batched(rule, hidden - n, at, size)
    return custom(*results_of(inputs, axes, rule, n, size), *rest, rule=new, hidden=hidden, n=n), result_axes(rule, n)


def results_of(inputs: Sequence[Node], axes: Axes, rule: Any, n: int, size: int) -> list[Node]:
    """The first n inputs, the results of a call, with the mapped axis in front; a token of effects has none."""
    m = n - rule.acts
    return [*spread(inputs[:m], axes[:m], size), *inputs[m:n]]


def result_axes(rule: Any, n: int) -> tuple[int | None, ...]:
    """The mapped axes of these."""
    return (*[0] * (n - rule.acts), *[None] * rule.acts)


def spread(inputs: Sequence[Node], axes: Axes, size: int) -> list[Node]:
    """The inputs with the mapped axis in front, also where they have none."""
    return [broadcast_to(x, shape=(size, *x.shape)) if a is None else to_front(x, a) for x, a in zip(inputs, axes)]


def moved(inputs: Sequence[Node], axes: Axes) -> tuple[list[Node], tuple[int | None, ...]]:
    """The inputs with the mapped axis in front where they have one, and where that is."""
    return [x if a is None else to_front(x, a) for x, a in zip(inputs, axes)], tuple(
        [None if a is None else 0 for a in axes]
    )


class Batched:
    """A rule for a whole axis of examples: the rule is run on placeholders of one, and its graph batched.

    Attributes:
        kept: how many nodes the rule keeps; axes: of those and of the inputs, 0 or None. size: of the axis.
    """

    def __init__(self, rule: Any, kept: int, axes: Axes, size: int) -> None:
        self.rule, self.kept, self.axes, self.size, self.reverse = rule, kept, axes, size, rule.reverse
        self.acts = rule.acts
        self.rows: list[tuple[Node, Node, int | None]] = []

    def ones(self, nodes: Tangents, axes: Sequence[int | None]) -> list[Any]:
        """A placeholder of one example for each node."""
        out: list[Node | None] = []
        for n, a in zip(nodes, axes):
            if n is None:
                out.append(None)
                continue
            one = leaf(n.shape if a is None else n.shape[1:], n.dtype, weak=n.weak, trace=ABSTRACT)
            self.rows.append((one, n, a))
            out.append(one)
        return out

    def jvp(self, outs: Nodes, kept: Nodes, inputs: Nodes, tangents: Tangents) -> Tangents:
        at, all_ = self.axes[self.kept :], (0,) * len(outs)
        ones = self.ones(outs, all_), self.ones(kept, self.axes), self.ones(inputs, at), self.ones(tangents, at)
        with rewrites.collecting() as trace:
            found = self.rule.jvp(*ones)
        return self.whole(found, trace)

    def vjp(self, outs: Nodes, kept: Nodes, inputs: Nodes, cts: Tangents, live: Sequence[bool]) -> Tangents:
        at, all_ = self.axes[self.kept :], (0,) * len(outs)
        given = self.ones(outs, all_), self.ones(kept, self.axes), self.ones(inputs, at), self.ones(cts, all_)
        with rewrites.collecting() as trace:
            found = self.rule.vjp(*given, live)
        found = self.whole(found, trace)
        return [
            x if x is None or a == 0 else add_reduce(x, axes=(0,), keepdims=False, dtype=x.dtype)
            for x, a in zip(found, at)
        ]

    def whole(self, found: Tangents, trace: Any) -> list[Node | None]:
        """What was made of one example, for all, their axis in front; with the effects of the trace."""
        rows, self.rows = self.rows, []
        if trace.first is not None:
            rows.append((trace.first, rewrites.after(), None))
        live = [n for n in found if n is not None]
        made = rewrites.batch([*live, *trace.effects], *zip(*rows))
        rewrites.effects([e for e, _ in made[len(live) :]])
        new = iter(made)
        out: list[Node | None] = []
        for n in found:
            node, axis = (None, None) if n is None else next(new)
            if node is not None:
                node = broadcast_to(node, shape=(self.size, *node.shape)) if axis is None else to_front(node, axis)
            out.append(node)
        return out


custom = Op(
    "custom",
    LIBRARY,
    custom_abstract,
    lambda xp, *inputs, rule, hidden, n: inputs[:n],
    static=("rule", "hidden", "n"),
    jvp=custom_jvp,
    vjp=custom_vjp,
    transpose=custom_transpose,
    batch=custom_batch,
    hidden=1,
    tag=True,
    n_out=0,
    doc="The first n inputs, with a user's derivative along those from `hidden` on; between them, what it keeps.",
)


def pulled_abstract(*avals: Aval, rule: Any, hidden: int, n: int, live: tuple[int, ...]) -> tuple[Aval, ...]:
    return avals[:n]


def pulled_lower(xp: Any, *inputs: Any, **_: Any) -> Any:
    raise TypeError(NO_FORWARD)


def pulled_transpose(
    cts: Sequence[Node | None], *inputs: Any, rule: Any, hidden: int, n: int, live: tuple[int, ...]
) -> list[Node | None]:
    count = len(inputs) - len(live)
    moved = [i in live for i in range(count - hidden)]
    m = n - rule.acts
    found = rule.vjp(inputs[:m], inputs[n:hidden], inputs[hidden:count], cts[:m], moved)
    return [*[None] * count, *[found[i] for i in live]]


def pulled_batch(
    inputs: Sequence[Node], axes: Axes, *, rule: Any, hidden: int, n: int, live: tuple[int, ...]
) -> tuple[Node, tuple[int | None, ...]]:
    size, count = batch_size(inputs, axes), len(inputs) - len(live)
    rest, at = moved(inputs[n:count], axes[n:count])
    new = Batched(rule, hidden - n, at, size)
    outs, tangents = results_of(inputs, axes, rule, n, size), spread(inputs[count:], axes[count:], size)
    return pulled(*outs, *rest, *tangents, rule=new, hidden=hidden, n=n, live=live), result_axes(rule, n)


pulled = Op(
    "pulled",
    LIBRARY,
    pulled_abstract,
    pulled_lower,
    static=("rule", "hidden", "n", "live"),
    transpose=pulled_transpose,
    batch=pulled_batch,
    n_out=0,
    doc="The derivative of a `custom` that is known in reverse only, along the tangents that follow its inputs.",
)
