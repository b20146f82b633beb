"""Control flow on users' functions: `scan`, `while_loop`, `fori_loop`, `cond`, `switch`, `associative_scan`.

Arguments and errors are JAX's. A body is traced once and becomes a parameter of one node, outside of `jit` as well.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..doors import Door, door_of, wrap_all
from ..errors import named, returned_text, shaped_text
from ..flags import flags
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node
from ..graph.op import results
from ..once import once, stands_for
from ..ops import control
from ..ops.elementwise import add, cast, clip, convert, less, not_equal
from ..ops.flow import check_branches, check_carry, cond_node, kept, promoted, scan_length, scan_node, short, while_node
from ..ops.joining import flip, stack
from ..ops.scans import prefixes
from ..ops.shape import slice_, whole
from ..runtime import loops  # noqa: F401  runs the bodies
from ..runtime.beginning import Beginning
from ..runtime.execute import value_of
from ..runtime.recorder import recorder
from ..runtime.reuse import use_in_loop, use_one_of
from ..tree import NAMESPACE, flatten, unflatten
from ..tree import map as tree_map
from .ahead import flow_node
from .trace import Trace, effect, placeholder, run_traced
from .trace import stack as traces

INT32 = np.dtype(np.int32)


@once(traces)
def traced(f: Any, like: Sequence[Node], tree: Any, door: Door, kind: str, rows: int = 0) -> tuple[Function, Any]:
    """f's graph for arguments like these values, or, of the last ones, like their `rows`, and the structure of its
    result. `tree` is that of the arguments, a tuple."""
    trace, since = Trace(f, kind, sources=like), Beginning()
    avals = [n.aval if i < len(like) - rows else n.aval._replace(shape=n.shape[1:]) for i, n in enumerate(like)]
    found = run_traced(f, [placeholder(a, trace, i) for i, a in enumerate(avals)], with_kwargs(tree), door, trace)
    found[0].since = since
    return found[:2]


def with_kwargs(tree: Any) -> Any:
    return optree.treespec_tuple([tree, optree.treespec_dict({}, namespace=NAMESPACE)], namespace=NAMESPACE)


def pair(*trees: Any) -> Any:
    return optree.treespec_tuple(trees, namespace=NAMESPACE)


def arrays_of(node: Node, out: Any, door: Door, given: dict[int, Any] | None) -> Any:
    """The results of a control node, like the body's, some of them `given`; computed here if a body has effects."""
    if any(map(control.has_effects, node.static)):
        (effect if traces.active else recorder.demand)(node)
    return unflatten(out, wrap_all(door, results(node), given))


def with_carry(trace: Callable[[Sequence[Node]], Any], first: list[Node]) -> tuple[list[Node], Any]:
    """The first carry, and what is traced for it, of which the last function's first results are the next one: once
    more where weak types of the first one yield to those of the next."""
    found = trace(first)
    outs = found[-2].outputs
    better = promoted(first, outs) if len(outs) >= len(first) else first
    return (first, found) if all([a is b for a, b in zip(better, first)]) else (better, trace(better))


def unpromoted(same: dict[int, Any], first: Sequence[Node], nodes: Sequence[Node]) -> dict[int, Any]:
    """Of the first carry that a loop gives back as it was, what did not yield to another dtype."""
    return {i: x for i, x in same.items() if first[i] is nodes[i]}


def arrays(leaves: Sequence[Any], door: Door) -> tuple[Door, list[Node]]:
    door = door_of(list(leaves), door)
    return door, [door.as_node(x) for x in leaves]


# --- Loops ------------------------------------------------------------------------------------------------------------


def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
    *,
    door: Door,
) -> tuple[Any, Any]:
    """`carry, y = f(carry, x)` for each x along the leading axes of xs: the last carry, and the ys stacked. `unroll` is
    accepted, and changes nothing.

    Raises: TypeError where the carry changes its structure, shapes or dtypes; ValueError for xs of different lengths.
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    (carry, tree), (rows, xs_tree) = flatten(init), flatten(xs)
    door, nodes = arrays([*carry, *rows], door)
    first, x_nodes = nodes[: len(carry)], nodes[len(carry) :]
    length = scan_length(rows, x_nodes, length)
    if flags.disable_jit:
        return scan_in_python(f, init, x_nodes, xs_tree, length, reverse, door)
    first, (function, out) = with_carry(
        lambda carry: traced(f, [*carry, *x_nodes], pair(tree, xs_tree), door, "scan", len(x_nodes)), first
    )
    parts = scan_parts(out, function)
    n_carry = parts[0].num_leaves
    check_carry("scan body", f, tree, first, parts[0], function.outputs[:n_carry])
    if not isinstance(unroll, bool) and operator.index(unroll) < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")
    use_in_loop([function], [*first, *x_nodes], n_carry, "scan")
    node = flow_node(scan_node, function, first, x_nodes, bool(reverse), length)
    return arrays_of(node, out, door, unpromoted(kept(carry, function), first, nodes))


def scan_parts(out: Any, function: Function) -> list[Any]:
    """The structures of carry and y. Raises TypeError for a body that returns no pair."""
    if out.is_leaf() or out.num_children != 2 or out.type not in (tuple, list):
        raise TypeError(f"scan body output must be a pair, got {returned_text(out, function.outputs)}.")
    return out.children()


def scan_in_python(
    f: Callable[..., Any], carry: Any, xs: Sequence[Node], xs_tree: Any, length: int, reverse: bool, door: Door
) -> tuple[Any, Any]:
    """Under `disable_jit`: each step by itself."""
    if length == 0:
        raise ValueError("zero-length scan is not supported in disable_jit() mode because the output type is unknown.")
    ys = []
    for i in reversed(range(length)) if reverse else range(length):
        rows = [door.wrap(slice_(x, key=(i, *whole(x.shape[1:])))) for x in xs]
        carry, y = f(carry, unflatten(xs_tree, rows))
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    return carry, tree_map(lambda *parts: door.wrap(stack(*[door.as_node(p) for p in parts], axis=0)), ys[0], *ys[1:])


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, *, door: Door) -> Any:
    """`while cond_fun(val): val = body_fun(val)`.

    Raises: TypeError where the condition is no truth value, or the body changes the types of its argument.
    """
    if not (callable(body_fun) and callable(cond_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    leaves, tree = flatten(init_val)
    door, first = arrays(leaves, door)
    if flags.disable_jit and not any(n.trace == ABSTRACT for n in first):
        val = unflatten(tree, [door.wrap(n) for n in first])
        while cond_fun(val):
            val = tree_map(lambda x: door.wrap(door.as_node(x)), body_fun(val))
        return val

    def trace(first: Sequence[Node]) -> tuple[Function, Function, Any]:
        test, out = traced(cond_fun, first, pair(tree), door, "while_cond")
        body = traced(body_fun, first, pair(tree), door, "while_body")
        if not out.is_leaf() or short(test.outputs[0]) != "bool[]":
            got = f"output type(s) [{shaped_text(test.outputs[0])}]" if out.is_leaf() else f"pytree {named(out)}"
            raise TypeError(f"cond_fun must return a boolean scalar, but got {got}.")
        return test, *body

    nodes, (first, (test, body, out)) = first, with_carry(trace, first)
    check_carry("while_loop body", body_fun, tree, first, out, body.outputs)
    use_in_loop([test, body], first, len(first), "while_loop")
    same = unpromoted(kept(leaves, body, test), first, nodes)
    return arrays_of(flow_node(while_node, test, body, first), out, door, same)


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
    door: Door,
) -> Any:
    """`for i in range(lower, upper): val = body_fun(i, val)`. Differentiable in reverse where the bounds are known.

    Raises: TypeError for bounds of two dtypes, and as `scan`.
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    door, (low, high) = arrays([lower, upper], door_of(flatten(init_val)[0], door))
    dtype = low.dtype
    if low.dtype != high.dtype:
        signed = low.dtype.kind == high.dtype.kind == "i"
        if not signed or low.weak == high.weak:
            types = f"{low.dtype.name} and {high.dtype.name}"
            raise TypeError(f"lower and upper arguments to fori_loop must have equal types, got {types}")
        dtype = high.dtype if low.weak else low.dtype
    if low.trace < ABSTRACT and high.trace < ABSTRACT and low.ndim == high.ndim == 0:
        start, stop = int(value_of(low)), int(value_of(high))
        if flags.disable_jit:
            return functools.reduce(lambda value, i: body_fun(i, value), range(start, stop), init_val)

        @stands_for(body_fun)
        def step(loop_carry: Any, _: Any) -> Any:
            return (after(loop_carry[0], door), body_fun(*loop_carry)), None

        (_, out), _ = scan(step, (start, init_val), None, max(stop - start, 0), unroll=unroll or False, door=door)
        return out
    if unroll not in (None, False, 1):
        raise ValueError("Can only use `unroll` in `fori_loop` if the loop bounds are statically known.")
    bounds = [door.wrap(n if n.dtype == dtype else convert(n, dtype)) for n in (low, high)]
    return while_loop(
        lambda c: door.wrap(less(door.as_node(c[0]), door.as_node(c[1]))),
        stands_for(body_fun)(
            lambda loop_carry: (after(loop_carry[0], door), loop_carry[1], body_fun(loop_carry[0], loop_carry[2]))
        ),
        (*bounds, init_val),
        door=door,
    )[2]


def after(i: Any, door: Door) -> Any:
    """The next index."""
    return door.wrap(add(door.as_node(i), Node.of_scalar(1)))


# --- Branches ---------------------------------------------------------------------------------------------------------

NO_OPERAND: Any = type("NoOperand", (), {"__repr__": lambda self: "<no operand>"})()


def branch(what: str, index: Node, fs: Sequence[Any], names: Sequence[str], operands: Any, door: Door) -> Any:
    leaves, tree = flatten(operands)
    door, nodes = arrays(leaves, door)
    functions, outs = map(list, zip(*[traced(f, nodes, tree, door, what) for f in fs]))
    order = slice(None, None, -1 if what == "cond" else 1)  # the first name is that of what users write first
    check_branches(what, names[order], fs[order], functions[order], outs[order])
    use_one_of(functions, nodes, what)
    return arrays_of(flow_node(cond_node, functions, index, nodes), outs[0], door, None)


def given(operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    if operand is NO_OPERAND:
        return operands
    if operands:
        raise TypeError(
            f"if 'operand' keyword is passed then no positional operands can be passed, got operand={operand!r} and "
            f"positional operands {operands}"
        )
    return (operand,)


def scalar_node(x: Any, door: Door, what: str) -> Node:
    try:
        return door_of([x], door).as_node(x)
    except TypeError as error:
        raise TypeError(f"{what}, got {x}.") from error


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = NO_OPERAND,
    door: Door,
) -> Any:
    """`true_fun(*operands) if pred else false_fun(*operands)`: both are traced, one is computed.

    Raises: TypeError for a pred that is no scalar, and for branches whose results differ in structure or type.
    """
    if not (callable(true_fun) and callable(false_fun)):
        if callable(false_fun) and len(operands) == 2 and callable(operands[1]):
            (x_true, f_true), (x_false, f_false) = (true_fun, false_fun), operands
            return cond(pred, lambda x, _: f_true(x), lambda _, x: f_false(x), x_true, x_false, door=door)
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    operands = given(operands, operand)
    if pred is None:
        raise TypeError("cond predicate is None")
    if isinstance(pred, (list, tuple, str)):
        raise TypeError(f"Pred must be a scalar, got {pred} of type {type(pred)}")
    node = scalar_node(pred, door, "Pred type must be either boolean or number")
    if node.ndim:
        raise TypeError(f"Pred must be a scalar, got {pred} of shape {node.shape}.")
    if node.dtype.kind not in "biuf":
        raise TypeError(f"Pred type must be either boolean or number, got {node.dtype}.")
    if flags.disable_jit and node.trace < ABSTRACT:
        return (true_fun if value_of(node) else false_fun)(*operands)
    test = node if node.dtype.kind == "b" else not_equal(node, 0)
    return branch("cond", cast(test, dtype=INT32), (false_fun, true_fun), ("false_fun", "true_fun"), operands, door)


def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = NO_OPERAND, door: Door
) -> Any:
    """`branches[index](*operands)`, the index brought into range.

    Raises: TypeError for an index that is no integer scalar, and as `cond`; ValueError without branches.
    """
    if not all(callable(f) for f in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = given(operands, operand)
    node = scalar_node(index, door, "Index type must be an integer")
    if node.ndim:
        raise TypeError(f"Branch index must be scalar, got {index} of shape {node.shape}.")
    if node.dtype.kind not in "iu":
        raise TypeError(f"Index type must be an integer, got {index} as {node.dtype}")
    branches = tuple(branches)
    if not branches:
        raise ValueError("Empty branch sequence")
    if not (last := len(branches) - 1):
        return branches[0](*operands)
    if flags.disable_jit and node.trace < ABSTRACT:
        return branches[min(max(int(value_of(node)), 0), last)](*operands)
    number = clip(cast(node, dtype=INT32), np.int32(0), np.int32(last))
    return branch("switch", number, branches, ["branch 0", *[f"branch{i}" for i in range(1, last + 1)]], operands, door)


def associative_scan(fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0, *, door: Door) -> Any:
    """All prefixes of elems along an axis, combined by an associative function of batches, in log2(n) rounds.

    The rounds combine the same pairs as JAX's: Blelloch, Prefix sums and their applications (1990).

    Raises: ValueError where the elements differ in length; TypeError where fn changes their dtypes.
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, tree = flatten(elems)
    door, nodes = arrays(leaves, door)
    ndim = nodes[0].ndim
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    axis %= ndim
    if any(axis >= n.ndim or n.shape[axis] != nodes[0].shape[axis] for n in nodes):
        raise ValueError(
            f"Array inputs to associative_scan must have the same first dimension. (saw: {[n.shape for n in nodes]})"
        )

    def combine(a: Sequence[Node], b: Sequence[Node]) -> list[Node]:
        out = fn(*[unflatten(tree, [door.wrap(n) for n in side]) for side in (a, b)])
        return [door.as_node(x) for x in flatten(out)[0]]

    if reverse:
        nodes = [flip(n, (axis,)) for n in nodes]
    out = prefixes(combine, nodes, axis)
    return unflatten(tree, wrap_all(door, [flip(n, (axis,)) for n in out] if reverse else out))
