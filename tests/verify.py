"""What makes a graph legal, in one table. It looks at every node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazynp.graph.node import Node
from lazynp.graph.op import SET, registry
from lazynp.graph.walk import toposort


class GraphError(AssertionError):
    """A graph breaks a rule."""


KINDS = frozenset({"map", "reduce", "view", "set", "library"})
DTYPE_KINDS = "biufc"


def has_op(n: Node) -> bool:
    return n.op is not None


def dtype_supported(n: Node) -> bool:
    avals = [n.aval] if n.dtype is not None else n.outs
    return all(a.dtype.kind in DTYPE_KINDS or a.dtype.name == "bfloat16" for a in avals) and bool(avals)


def shape_is_plain(n: Node) -> bool:
    avals = [n.aval] if n.dtype is not None else n.outs
    return all(type(s) is int and s >= 0 for a in avals for s in a.shape)


def params_counted(n: Any) -> bool:
    return len(n.static) == len(n.op.static) and len(n.moving) == len(n.op.moving)


def static_hashable(n: Any) -> bool:
    hash(n.static)
    return True


def aval_follows(n: Any) -> bool:
    """The abstract rule gives what the node says; a computed node has let go of its inputs."""
    if not n.inputs and n.known:
        return True
    return n.op.abstract(*[i.aval for i in n.inputs], **n.op.params_of(n)) == n.aval


def axes_normal(n: Any) -> bool:
    """Sorted, distinct, not negative, of the input; a transpose has all of them, in any order."""
    params = n.op.params_of(n)
    if not n.inputs or n.inputs[0].dtype is None:
        return True
    ndim = n.inputs[0].ndim
    axes, axis = params.get("axes"), params.get("axis")
    if axis is not None and not 0 <= axis < ndim:
        return False
    if axes is None:
        return True
    if n.op.name == "transpose":
        return sorted(axes) == list(range(ndim))
    return (
        len(set(axes)) == len(axes)
        and all(0 <= a < ndim for a in axes)
        and (n.op.kind != "reduce" or list(axes) == sorted(axes))
    )


def key_inside(n: Any) -> bool:
    """A key has an entry for each axis of the input, and stays within it."""
    key = n.op.params_of(n).get("key")
    if key is None or not n.inputs:
        return True
    entries = [k for k in key if k is not None]
    shape = n.inputs[0].shape
    return len(entries) == len(shape) and all(entry_inside(k, s) for k, s in zip(entries, shape))


def entry_inside(k: Any, size: int) -> bool:
    if type(k) is int:
        return 0 <= k < size
    start, count, step = k
    return step != 0 and count >= 0 and (count == 0 or (0 <= start < size and 0 <= start + (count - 1) * step < size))


def size_kept(n: Any) -> bool:
    return n.op.name != "reshape" or not n.inputs or n.aval.size == n.inputs[0].aval.size


def broadcast_fits(n: Any) -> bool:
    if n.op.name != "broadcast_to" or not n.inputs:
        return True
    shape = n.inputs[0].shape
    tail = n.shape[len(n.shape) - len(shape) :]
    return len(shape) <= len(n.shape) and all(a in (1, b) for a, b in zip(shape, tail))


def write_matches(n: Any) -> bool:
    """A value that is written has the base's dtype, or is a weak scalar."""
    if n.op.kind != SET or not n.inputs:
        return True
    base, value = n.inputs[:2]
    return value.dtype == base.dtype or value.weak


def results_picked(n: Any) -> bool:
    """A node of several results is used by `pick` only (or by ops that say they take one)."""
    return all(i.dtype is not None or n.op.name == "pick" for i in n.inputs)


def trace_inherited(n: Node) -> bool:
    return all(i.trace <= n.trace for i in n.inputs)


Check = Callable[[Any], bool]
SPEC: tuple[tuple[Check, Check, str], ...] = (
    (lambda n: True, dtype_supported, "has a dtype that no backend holds"),
    (lambda n: True, shape_is_plain, "has a shape that is not made of non-negative Python ints"),
    (
        lambda n: not has_op(n),
        lambda n: not n.inputs and not n.static and not n.moving,
        "is a leaf with inputs or parameters",
    ),
    (
        lambda n: n.value is not None,
        lambda n: n.shape == () and not has_op(n),
        "has a scalar value but is no scalar leaf",
    ),
    (has_op, lambda n: registry.get(n.op.name) is n.op, "applies an op that is not registered"),
    (has_op, lambda n: n.op.kind in KINDS, "applies an op of no known kind"),
    (has_op, lambda n: (n.dtype is None) == (n.op.n_out != 1), "says another number of results than its op"),
    (has_op, params_counted, "has another number of parameters than its op"),
    (has_op, static_hashable, "has static parameters that do not hash"),
    (has_op, axes_normal, "has axes that are not normalized"),
    (has_op, key_inside, "has a key that leaves its input"),
    (has_op, size_kept, "changes the number of elements"),
    (has_op, broadcast_fits, "broadcasts to a shape that does not fit"),
    (has_op, write_matches, "writes a value of another dtype"),
    (has_op, results_picked, "uses a node of several results without pick"),
    (has_op, trace_inherited, "has a lower trace than an input"),
    (has_op, aval_follows, "has an abstract value that its op's rule does not give"),
)
"""(to which nodes it applies, what must hold, how a node that breaks it is described)."""


def verify(outputs: Sequence[Node]) -> int:
    """Check every node behind the outputs; how many there were.

    Raises: GraphError, naming the node and the rule that it breaks.
    """
    seen: set[Node] = set()
    order = toposort(outputs)
    for node in order:
        for applies, holds, message in SPEC:
            if applies(node) and not holds(node):
                raise GraphError(f"{node!r} {message}")
        if any(i not in seen for i in node.inputs):
            raise GraphError(f"{node!r} stands on a cycle")
        seen.add(node)
    return len(order)
