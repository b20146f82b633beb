"""What control flow asks of the functions that it runs, once they are traced: carries and branches of one type.

Trees are structures as `optree` has them.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import Node
from ..signatures import name_of, place_of
from . import control
from .closure import close
from .elementwise import cast, convert

KINDS = "biufc"


def same_type(a: Any, b: Any) -> bool:
    """Weak types aside."""
    return bool(a.shape == b.shape and a.dtype == b.dtype)


def short(a: Any) -> str:
    return str(Aval(a.shape, a.dtype))


def keys(path: Sequence[Any]) -> str:
    return "".join([f"[{k!r}]" for k in path])


def capitalized(text: str) -> str:
    return text[0].upper() + text[1:]


# --- Carries ----------------------------------------------------------------------------------------------------------


def promoted(first: Sequence[Node], outs: Sequence[Node]) -> list[Node]:
    """A first carry in the dtypes of the body's results, where its own are weak and yield to these."""

    def one(init: Node, out: Node) -> Node:
        if not init.weak or init.dtype == out.dtype or KINDS.find(init.dtype.kind) > KINDS.find(out.dtype.kind):
            return init
        return convert(init, out.dtype)

    return [one(n, o) for n, o in zip(first, outs)]


def check_carry(what: str, f: Callable[..., Any], tree: Any, inputs: Sequence[Any], out_tree: Any, outs: Any) -> None:
    """Raises TypeError, naming the components of the carry that a body changes the type of."""
    try:
        name = next(iter(inspect.signature(f).parameters), "")
    except (TypeError, ValueError):
        name = ""
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
            part = f"the input carry{' component' * bool(path)} {name}".rstrip() + keys(path)
            which = "shapes" if a.shape != b.shape else "dtypes"
            diffs.append(
                f"{part} has type {short(a)} but the corresponding output carry component has type {short(b)}, so the "
                f"{which} do not match"
            )
    if diffs:
        text = capitalized(diffs[0]) + ".\n" if len(diffs) == 1 else "".join(f"  * {d};\n" for d in diffs)
        raise TypeError(
            f"{what} function carry input and carry output must have equal types, but they differ:\n\n{text}\n"
            f"Revise the function {where} so that all output types match the corresponding input types."
        )


def scan_length(xs: Sequence[Any], nodes: Sequence[Node], length: Any) -> int:
    """The number of steps. Raises JAX's ValueError where the leading axes leave no or several choices."""
    flat = [x for x, n in zip(xs, nodes) if n.ndim == 0]
    if flat:
        raise ValueError(f"scan got value with no leading axis to scan over: {', '.join([str(x) for x in flat])}.")
    sizes = [n.shape[0] for n in nodes]
    if length is not None:
        length = int(length) if hasattr(length, "dtype") else operator.index(length)
        if any(n != length for n in sizes):
            raise ValueError(f"scan got `length` argument of {length} which disagrees with leading axis sizes {sizes}.")
        return length
    if len(set(sizes)) > 1:
        raise ValueError(f"scan got values with different leading axis sizes: {', '.join(map(str, sizes))}.")
    if not sizes:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    return sizes[0]


# --- Branches ---------------------------------------------------------------------------------------------------------


def check_branches(what: str, names: Sequence[str], functions: Sequence[Function], outs: Sequence[Any]) -> None:
    """Raises TypeError where branches return results of different structures or types."""
    for name, f, out in zip(names[1:], functions[1:], outs[1:]):
        advice = f"\n\nRevise {names[0]} and/or {name} so that"
        if out != outs[0]:
            raise TypeError(
                f"{what} branch outputs must have the same pytree structure, but they differ:\n\n"
                f"{names[0]} output is a {outs[0]} but {name} output is a {out}.{advice} they have the same pytree "
                f"structure."
            )
        diffs = [
            f"The output of {names[0]}{' at path ' * bool(path)}{keys(path)} has type {short(a)} but the corresponding "
            f"output of {name} has type {short(b)}."
            for path, a, b in zip(out.paths(), functions[0].outputs, f.outputs)
            if not same_type(a, b)
        ]
        if diffs:
            text = f"{what} branches must have equal output types but they differ.\n\n"
            raise TypeError(text + "\n".join(diffs) + f"{advice} all output types match.")


def agreed(functions: Sequence[Function]) -> list[Function]:
    """The branches, with results that are weak only where those of all branches are."""
    weak = [all(column) for column in zip(*[[n.weak for n in f.outputs] for f in functions])]

    def outputs(f: Function) -> list[Node]:
        return [cast(n, dtype=n.dtype) if n.weak and not w else n for n, w in zip(f.outputs, weak)]

    return [Function(f.inputs, outputs(f), f.effects) for f in functions]


# --- Nodes ------------------------------------------------------------------------------------------------------------


def scan_node(function: Function, first: Sequence[Node], xs: Sequence[Node], reverse: bool, length: int) -> Node:
    """A scan with this body, first carry and rows; what the body captures becomes an input."""
    (body,), captured = close(function)
    n, inputs = len(first), (*captured, *first, *xs)
    return control.scan(*inputs, body=body, n_consts=len(captured), n_carry=n, reverse=reverse, length=length)


def while_node(test: Function, function: Function, first: Sequence[Node]) -> Node:
    """A loop from this state, while the test holds."""
    (cond,), reads = close(test)
    (body,), captured = close(function)
    inputs = (*reads, *captured, *first)
    return control.while_(*inputs, cond=cond, body=body, n_cond=len(reads), n_body=len(captured))


def cond_node(functions: Sequence[Function], index: Node, operands: Sequence[Node]) -> Node:
    """The results of the branch with that number."""
    branches, captured = close(*agreed(functions))
    return control.cond(index, *captured, *operands, branches=tuple(branches))
