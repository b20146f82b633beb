"""Control flow on users' functions: `scan`, `while_loop`, `fori_loop`, `cond`, `switch`, `map`, `associative_scan`.

Arguments and errors are JAX's. A body is traced once and becomes a parameter of one node, outside of `jit` as well.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..flags import flags
from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node
from ..graph.op import results
from ..ops import control
from ..ops.closure import close
from ..ops.elementwise import add, cast, clip, convert, less, not_equal
from ..ops.joining import concatenate, flip, span, stack
from ..ops.shape import reshape, slice_, whole
from ..runtime import loops  # noqa: F401  runs the bodies
from ..runtime.execute import value_of
from ..runtime.recorder import recorder
from ..runtime.reuse import use_in_loop, use_one_of
from ..signatures import name_of, place_of
from ..tree import NAMESPACE, flatten, unflatten
from ..tree import map as tree_map
from .handles import Door, door_of, wrap_all
from .trace import Trace, effect, placeholder, run_traced
from .trace import stack as traces
from .vmap import vmap

INT32 = np.dtype(np.int32)
KINDS = "biufc"


def traced(f: Callable[..., Any], avals: Sequence[Any], tree: Any, door: Door, kind: str) -> tuple[Function, Any]:
    """f's graph for arguments of these abstract values, and the structure of its result. `tree` is that of the
    arguments, a tuple."""
    trace = Trace(f, kind)
    inputs = [placeholder(a, trace, i) for i, a in enumerate(avals)]
    function, out, _ = run_traced(f, inputs, with_kwargs(tree), door, trace)
    return function, out


def with_kwargs(tree: Any) -> Any:
    return optree.treespec_tuple([tree, optree.treespec_dict({}, namespace=NAMESPACE)], namespace=NAMESPACE)


def pair(*trees: Any) -> Any:
    return optree.treespec_tuple(trees, namespace=NAMESPACE)


def record(op: Any, functions: Sequence[Function], *inputs: Node, **params: Any) -> list[Node]:
    """The results of a control node; it is computed wherever it stands if a body has effects."""
    node = op(*inputs, **params)
    if any(f.effects for f in functions):
        if traces.active:
            effect(node)
        else:
            recorder.demand(node)
    return list(results(node))


def arrays(leaves: Sequence[Any], door: Door) -> tuple[Door, list[Node]]:
    door = door_of(list(leaves), door)
    return door, [door.as_node(x) for x in leaves]


# Carries.


def same_type(a: Any, b: Any) -> bool:
    """Weak types aside."""
    return bool(a.shape == b.shape and a.dtype == b.dtype)


def promoted(init: Node, out: Any) -> Node:
    """A first carry in the dtype of the body's result, where its own is weak and yields to that."""
    if not init.weak or init.dtype == out.dtype or KINDS.find(init.dtype.kind) > KINDS.find(out.dtype.kind):
        return init
    return convert(init, out.dtype)


def check_carry(what: str, f: Callable[..., Any], tree: Any, inputs: Sequence[Any], out_tree: Any, outs: Any) -> None:
    """Raises TypeError, naming the components of the carry that a body changes the type of."""
    try:
        name = next(iter(inspect.signature(f).parameters), "")
    except (TypeError, ValueError):
        name = ""
    carry = f"the input carry {name}".rstrip() if name else "the input carry"
    where = f"{name_of(f)}{place_of(f)}"
    if tree != out_tree:
        raise TypeError(
            f"{what} function carry input and carry output must have the same pytree structure, but they differ:\n\n"
            f"The input carry {name} is a {tree} but the carry output is a {out_tree}.\n\n"
            f"Revise the function {where} so that the carry output has the same pytree structure as the carry input."
        )
    diffs = []
    for path, a, b in zip(tree.paths(), inputs, outs):
        if not same_type(a, b):
            key = "".join([f"[{k!r}]" for k in path])
            part = f"{carry.replace('carry', 'carry component', 1)}{key}" if key else carry
            extra = ", so the shapes do not match" if a.shape != b.shape else ", so the dtypes do not match"
            diffs.append(
                f"{part} has type {short(a)} but the corresponding output carry component has type {short(b)}{extra}"
            )
    if diffs:
        text = diffs[0][0].upper() + diffs[0][1:] + ".\n" if len(diffs) == 1 else "".join(f"  * {d};\n" for d in diffs)
        raise TypeError(
            f"{what} function carry input and carry output must have equal types, but they differ:\n\n{text}\n"
            f"Revise the function {where} so that all output types match the corresponding input types."
        )


def short(a: Any) -> str:
    return str(Aval(a.shape, a.dtype))


# Loops.


def scan_length(xs: Sequence[Any], nodes: Sequence[Node], length: Any) -> int:
    """The number of steps. Raises JAX's ValueError where the leading axes leave no or several choices."""
    flat = [x for x, n in zip(xs, nodes) if n.ndim == 0]
    if flat:
        raise ValueError(f"scan got value with no leading axis to scan over: {', '.join([str(x) for x in flat])}.")
    sizes = [n.shape[0] for n in nodes]
    if length is not None:
        length = operator.index(length) if not hasattr(length, "dtype") else int(length)
        if any(n != length for n in sizes):
            raise ValueError(f"scan got `length` argument of {length} which disagrees with leading axis sizes {sizes}.")
        return length
    if len(set(sizes)) > 1:
        raise ValueError(
            f"scan got values with different leading axis sizes: {', '.join(str(n.shape[0]) for n in nodes)}."
        )
    if not sizes:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    return sizes[0]


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
    """`carry, y = f(carry, x)` for each x along the leading axes of xs: the last carry, and the ys stacked.

    `unroll` is accepted, and changes nothing.

    Raises: TypeError where the carry changes its structure, shapes or dtypes; ValueError for xs of different lengths.
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    (carry, tree), (rows, xs_tree) = flatten(init), flatten(xs)
    door, nodes = arrays([*carry, *rows], door)
    first, x_nodes = nodes[: len(carry)], nodes[len(carry) :]
    length = scan_length(rows, x_nodes, length)
    if not isinstance(unroll, bool) and operator.index(unroll) < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")
    if flags.disable_jit:
        return scan_in_python(f, init, x_nodes, xs_tree, length, reverse, door)
    x_avals = [Aval(n.shape[1:], n.dtype, n.weak) for n in x_nodes]

    def trace(carry: Sequence[Node]) -> tuple[Function, Any]:
        return traced(f, [*[n.aval for n in carry], *x_avals], pair(tree, xs_tree), door, "scan")

    function, out = trace(first)
    parts = scan_parts(out, function)
    if len(function.outputs[: parts[0].num_leaves]) == len(first):
        better = [promoted(n, o) for n, o in zip(first, function.outputs)]
        if any(a is not b for a, b in zip(better, first)):
            first = better
            function, out = trace(first)
            parts = scan_parts(out, function)
    n_carry = parts[0].num_leaves
    check_carry("scan body", f, tree, first, parts[0], function.outputs[:n_carry])
    use_in_loop([function], [*first, *x_nodes], n_carry, "scan")
    (body,), captured = close(function)
    outs = record(
        control.scan,
        [body],
        *captured,
        *first,
        *x_nodes,
        body=body,
        n_consts=len(captured),
        n_carry=n_carry,
        reverse=bool(reverse),
        length=length,
    )
    made = wrap_all(door, outs)
    return unflatten(out, made)


def scan_parts(out: Any, function: Function) -> list[Any]:
    """The structures of carry and y. Raises TypeError for a body that returns no pair."""
    if out.is_leaf() or out.num_children != 2 or out.type not in (tuple, list):
        shown = unflatten(out, [str(n.aval) for n in function.outputs])
        raise TypeError(f"scan body output must be a pair, got {shown}.")
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
    if reverse:
        ys.reverse()
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
        avals = [n.aval for n in first]
        test, out = traced(cond_fun, avals, pair(tree), door, "while_loop")
        if not out.is_leaf():
            raise TypeError(f"cond_fun must return a boolean scalar, but got pytree {out}.")
        if (test.outputs[0].shape, test.outputs[0].dtype) != ((), np.dtype(bool)):
            raise TypeError(
                f"cond_fun must return a boolean scalar, but got output type(s) [{short(test.outputs[0])}]."
            )
        return test, *traced(body_fun, avals, pair(tree), door, "while_loop")

    test, body, out = trace(first)
    if len(body.outputs) == len(first):
        better = [promoted(n, o) for n, o in zip(first, body.outputs)]
        if any(a is not b for a, b in zip(better, first)):
            first = better
            test, body, out = trace(first)
    check_carry("while_loop body", body_fun, tree, first, out, body.outputs)
    use_in_loop([test, body], first, len(first), "while_loop")
    (test,), reads = close(test)
    (body,), captured = close(body)
    outs = record(
        control.while_,
        [test, body],
        *reads,
        *captured,
        *first,
        cond=test,
        body=body,
        n_cond=len(reads),
        n_body=len(captured),
    )
    return unflatten(out, wrap_all(door, outs))


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
            raise TypeError(
                "lower and upper arguments to fori_loop must have equal types, got "
                f"{low.dtype.name} and {high.dtype.name}"
            )
        dtype = high.dtype if low.weak else low.dtype
    if low.trace < ABSTRACT and high.trace < ABSTRACT and low.ndim == high.ndim == 0:
        start, stop = int(value_of(low)), int(value_of(high))
        if flags.disable_jit and stop <= start:
            return init_val

        def step(carry: Any, _: Any) -> Any:
            return (after(carry[0], door), body_fun(*carry)), None

        step.__name__ = name_of(body_fun)
        (_, out), _ = scan(step, (start, init_val), None, max(stop - start, 0), unroll=unroll or False, door=door)
        return out
    if unroll not in (None, False, 1):
        raise ValueError("Can only use `unroll` in `fori_loop` if the loop bounds are statically known.")
    bounds = [door.wrap(n if n.dtype == dtype else convert(n, dtype)) for n in (low, high)]
    return while_loop(
        lambda c: door.wrap(less(door.as_node(c[0]), door.as_node(c[1]))),
        lambda c: (after(c[0], door), c[1], body_fun(c[0], c[2])),
        (*bounds, init_val),
        door=door,
    )[2]


def after(i: Any, door: Door) -> Any:
    """The next index."""
    return door.wrap(add(door.as_node(i), Node.of_scalar(1)))


# Branches.

NO_OPERAND: Any = type("NoOperand", (), {"__repr__": lambda self: "<no operand>"})()


def check_branches(what: str, names: Sequence[str], functions: Sequence[Function], outs: Sequence[Any]) -> None:
    """Raises TypeError where branches return results of different structures or types."""
    for name, f, out in zip(names[1:], functions[1:], outs[1:]):
        if out != outs[0]:
            raise TypeError(
                f"{what} branch outputs must have the same pytree structure, but they differ:\n\n"
                f"{names[0]} output is a {outs[0]} but {name} output is a {out}.\n\n"
                f"Revise {names[0]} and/or {name} so that they have the same pytree structure."
            )
        diffs = [
            f"the output of {names[0]}{'' if not path else ' at path ' + ''.join(f'[{k!r}]' for k in path)} has type "
            f"{short(a)} but the corresponding output of {name} has type {short(b)}"
            for path, a, b in zip(out.paths(), functions[0].outputs, f.outputs)
            if not same_type(a, b)
        ]
        if diffs:
            raise TypeError(
                f"{what} branches must have equal output types but they differ.\n\n"
                + "\n".join([d[0].upper() + d[1:] + "." for d in diffs])
                + f"\n\nRevise {names[0]} and/or {name} so that all output types match."
            )


def branch(what: str, index: Node, fs: Sequence[Any], names: Sequence[str], operands: Any, door: Door) -> Any:
    leaves, tree = flatten(operands)
    door, nodes = arrays(leaves, door)
    found = [traced(f, [n.aval for n in nodes], tree, door, what) for f in fs]
    functions, outs = [f for f, _ in found], [out for _, out in found]
    check_branches(what, names, functions, outs)
    use_one_of(functions, nodes, what)
    functions = [agreed(f, functions) for f in functions]
    closed, captured = close(*functions)
    made = record(control.cond, closed, index, *captured, *nodes, branches=tuple(closed))
    return unflatten(outs[0], wrap_all(door, made))


def agreed(f: Function, functions: Sequence[Function]) -> Function:
    """A branch whose results are weak only where those of all branches are."""
    outputs = [
        cast(n, dtype=n.dtype) if n.weak and not all([g.outputs[i].weak for g in functions]) else n
        for i, n in enumerate(f.outputs)
    ]
    return Function(f.inputs, outputs, f.effects)


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
    if isinstance(pred, (list, tuple)):
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
    last = len(branches) - 1
    if last == 0:
        return branches[0](*operands)
    if flags.disable_jit and node.trace < ABSTRACT:
        return branches[min(max(int(value_of(node)), 0), last)](*operands)
    number = clip(cast(node, dtype=INT32), np.int32(0), np.int32(last))
    return branch("switch", number, branches, [f"branch {i}" for i in range(last + 1)], operands, door)


# What is made of these.


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None, door: Door) -> Any:
    """f of each element along the leading axes of xs, one at a time or `batch_size` at a time."""
    if batch_size is None:
        return scan(lambda _, x: ((), f(x)), (), xs, door=door)[1]
    leaves, tree = flatten(xs)
    door, nodes = arrays(leaves, door)
    length = scan_length(leaves, nodes, None)
    count, size = (length // batch_size, batch_size) if batch_size else (0, 0)
    batched = vmap(f, door=door)
    ys = None
    if count:
        whole_ = [reshape(span(n, 0, 0, count * size), shape=(count, size, *n.shape[1:])) for n in nodes]
        ys = scan(lambda _, x: ((), batched(x)), (), unflatten(tree, [door.wrap(n) for n in whole_]), door=door)[1]
        ys = tree_map(lambda y: joined_rows(door.as_node(y)), ys)
    if length > count * size or not count:
        rest = [door.wrap(span(n, 0, count * size, length - count * size)) for n in nodes]
        tail = tree_map(door.as_node, batched(unflatten(tree, rest)))
        ys = tail if ys is None else tree_map(lambda a, b: concatenate(a, b, axis=0), ys, tail)
    return tree_map(door.wrap, ys)


def joined_rows(y: Node) -> Node:
    return reshape(y, shape=(y.shape[0] * y.shape[1], *y.shape[2:]))


def associative_scan(fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0, *, door: Door) -> Any:
    """All prefixes of elems along an axis, combined by an associative function of batches, in log2(n) rounds.

    The rounds combine the same pairs as JAX's: Blelloch, Prefix sums and their applications (1990).

    Raises: ValueError where the elements differ in length.
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


def prefixes(combine: Callable[..., list[Node]], elems: list[Node], axis: int) -> list[Node]:
    n = elems[0].shape[axis]
    if n < 2:
        return elems
    even = [span(e, axis, 0, n // 2, 2) for e in elems]
    odd = prefixes(combine, combine(even, [span(e, axis, 1, n // 2, 2) for e in elems]), axis)
    later = [span(e, axis, 2, (n - 1) // 2, 2) for e in elems]
    even = combine([span(o, axis, 0, (n - 1) // 2) for o in odd], later)
    even = [concatenate(span(e, axis, 0, 1), v, axis=axis) for e, v in zip(elems, even)]
    return [interleaved(a, b, axis) for a, b in zip(even, odd)]


def interleaved(a: Node, b: Node, axis: int) -> Node:
    """a[0], b[0], a[1], ...; a may be longer by one."""
    n = b.shape[axis]
    out = stack(span(a, axis, 0, n), b, axis=axis + 1)
    out = reshape(out, shape=(*b.shape[:axis], 2 * n, *b.shape[axis + 1 :]))
    return out if a.shape[axis] == n else concatenate(out, span(a, axis, n, 1), axis=axis)
