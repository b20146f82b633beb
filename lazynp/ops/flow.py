"""What control flow asks of the functions that it runs, once they are traced: carries and branches of one type.

Trees are structures as `optree` has them.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import Node
from ..graph.walk import toposort
from ..signatures import name_of, place_of
from ..tree import differences, paths_of
from . import branches as branching
from . import control
from .closure import close
from .elementwise import cast, convert
from .promotion import is_inexact

KINDS = "biufc"


class Checked(threading.local):
    """The arguments of the last check, for who compares more of types than shapes and dtypes once the loop or the
    branch is made; kept only while somebody wants them."""

    def __init__(self) -> None:
        self.wanted = 0
        self.carry: tuple[Callable[..., Any], Any] | None = None
        self.branches: tuple[str, Sequence[str], Sequence[Any], Any] | None = None


last_check = Checked()


def same_type(a: Any, b: Any) -> bool:
    """Weak types aside."""
    return bool(a.shape == b.shape and a.dtype == b.dtype)


def short(a: Any) -> str:
    return str(Aval(a.shape, a.dtype))


def unlike(a: Any, b: Any) -> str:
    """In what two types differ."""
    return "shapes" if a.shape != b.shape else "dtypes"


def points(texts: Sequence[str], capital: bool = True) -> str:
    """One sentence (with a capital letter), or a list of points."""
    if len(texts) != 1:
        return ";\n".join([f"  * {text}" for text in texts]) + ".\n"
    text = texts[0]
    return (text[0].upper() + text[1:] if capital else text) + ".\n"


# --- Carries ----------------------------------------------------------------------------------------------------------


def promoted(first: Sequence[Node], outs: Sequence[Node]) -> list[Node]:
    """A first carry in the dtypes of the body's results, where its own are weak and yield to these."""

    def rank(dtype: np.dtype[Any]) -> int:
        """That of its kind; those of ml_dtypes are no kinds of NumPy's."""
        kind = dtype.kind if dtype.kind in KINDS else "f" if is_inexact(dtype) else "i"
        return KINDS.index(kind)

    def one(init: Node, out: Node) -> Node:
        if not init.weak or init.dtype == out.dtype or rank(init.dtype) > rank(out.dtype):
            return init
        return convert(init, out.dtype)

    return [one(n, o) for n, o in zip(first, outs)]


def kept(carry: Sequence[Any], body: Function, test: Function | None = None) -> dict[int, Any]:
    """What a loop gives back of its first carry as it was, by its number: that of which the body returns what it has
    got, and of which the condition makes no use."""
    read = set(toposort([*test.outputs, *test.effects])) if test is not None else ()
    same = [i for i in range(len(carry)) if body.inputs[i] is body.outputs[i]]
    return {i: carry[i] for i in same if test is None or test.inputs[i] not in read}


def carry_name(f: Callable[..., Any]) -> str:
    """What a body calls its carry."""
    try:
        return next(iter(inspect.signature(f).parameters), "")
    except (TypeError, ValueError):
        return ""


def carry_part(name: str, path: str) -> str:
    """What an error calls a component of a carry."""
    return f"the input carry{' component' * bool(path)} {name}".rstrip() + path


def check_carry(what: str, f: Callable[..., Any], tree: Any, inputs: Sequence[Any], out_tree: Any, outs: Any) -> None:
    """Raises TypeError, naming the components of the carry that a body changes the type of."""
    name = carry_name(f)
    if last_check.wanted:
        last_check.carry = f, tree
    if tree != out_tree:
        diffs = [
            f"the input carry {'component ' * bool(path)}{name}{path} is a {a} but the corresponding component of the "
            f"carry output is a {b}, so {why}"
            for path, a, b, why in differences(tree, out_tree)
        ]
        raise TypeError(
            f"{what} function carry input and carry output must have the same pytree structure, but they differ:\n\n"
            f"{points(diffs)}\n"
            "Revise the function so that the carry output has the same pytree structure as the carry input."
        )
    diffs = []
    for path, a, b in zip(paths_of(tree), inputs, outs):
        if not same_type(a, b):
            diffs.append(
                f"{carry_part(name, path)} has type {short(a)} but the corresponding output carry component has type "
                f"{short(b)}, so the {unlike(a, b)} do not match"
            )
    if diffs:
        raise TypeError(
            f"{what} function carry input and carry output must have equal types, but they differ:\n\n"
            f"{points(diffs)}\nRevise the function so that all output types match the corresponding input types."
        )


def scan_length(xs: Sequence[Any], nodes: Sequence[Node], length: Any) -> int:
    """The number of steps. Raises JAX's ValueError where the leading axes leave no or several choices."""
    flat = [x for x, n in zip(xs, nodes) if n.ndim == 0]
    if any([hasattr(x, "shape") for x in flat]):
        raise IndexError("tuple index out of range")
    if flat:
        raise ValueError(f"scan got value with no leading axis to scan over: {', '.join([str(x) for x in flat])}.")
    sizes = [n.shape[0] for n in nodes]
    if length is not None:
        length = int(length)
        if any(n != length for n in sizes):
            raise ValueError(f"scan got `length` argument of {length} which disagrees with leading axis sizes {sizes}.")
        return length
    if len(set(sizes)) > 1:
        raise ValueError(f"scan got values with different leading axis sizes: {', '.join(map(str, sizes))}.")
    if not sizes:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    return sizes[0]


# --- Branches ---------------------------------------------------------------------------------------------------------


def who_is(first: str, f: Any, name: str, other: Any) -> str:
    """Which functions of the user's two branches are."""
    return f"{first} is {name_of(f)}{place_of(f)}\n{name} is {name_of(other)}{place_of(other)}\n"


def check_branches(
    what: str, names: Sequence[str], fs: Sequence[Any], functions: Sequence[Function], outs: Sequence[Any]
) -> None:
    """Raises TypeError where branches (of these names, by the user's functions `fs`) return results of different
    structures or types."""
    first, tree = names[0], outs[0]
    if last_check.wanted:
        last_check.branches = what, names, fs, tree
    for name, f, function, out in zip(names[1:], fs[1:], functions[1:], outs[1:]):
        who = who_is(first, fs[0], name, f)
        advice = f"\nRevise {first} and/or {name} so that"
        if out != tree:
            diffs = [
                f"{first} output{' at path ' * bool(path)}{path} is a {a} but {name} output{' at path ' * bool(path)}"
                f"{path} is a {b}, so {why}"
                for path, a, b, why in differences(tree, out)
            ]
            text = f"{what} branch outputs must have the same pytree structure, but they differ:\n\n{who}\n"
            raise TypeError(f"{text}{points(diffs, capital=False)}{advice} they have the same pytree structure.")
        diffs = [
            f"the output of {first}{' at path ' * bool(path)}{path} has type {short(a)} but the corresponding output "
            f"of {name} has type {short(b)}, so the {unlike(a, b)} do not match"
            for path, a, b in zip(paths_of(out), functions[0].outputs, function.outputs)
            if not same_type(a, b)
        ]
        if diffs:
            text = f"{what} branches must have equal output types but they differ.\n\n{who}\n{points(diffs)}"
            raise TypeError(f"{text}{advice} all output types match.")


def agreed(functions: Sequence[Function]) -> list[Function]:
    """The branches, with results that are weak only where those of branch 0 are, which says of what type the results
    of all are, as in JAX."""
    weak = [n.weak for n in functions[0].outputs]

    def outputs(f: Function) -> list[Node]:
        return [cast(n, dtype=n.dtype) if n.weak and not w else n for n, w in zip(f.outputs, weak)]

    return [Function(f.inputs, outputs(f), f.effects, f.token) for f in functions]


# --- Nodes ------------------------------------------------------------------------------------------------------------


def scan_node(function: Function, first: Sequence[Node], xs: Sequence[Node], reverse: bool, length: int) -> Node:
    """A scan with this body, first carry and rows; what the body captures becomes an input. What was made while it was
    traced and depends on nothing else is computed once, before; of no steps it is none of the derivative's."""
    (body,), captured = close(function, own=() if length else (function.since.inside,))
    n, inputs = len(first), (*captured, *first, *xs)
    return control.scan(*inputs, body=body, n_consts=len(captured), n_carry=n, reverse=reverse, length=length)


def while_node(test: Function, function: Function, first: Sequence[Node]) -> Node:
    """A loop from this state, while the test holds."""
    (cond,), reads = close(test)
    (body,), captured = close(function)
    inputs = (*reads, *captured, *first)
    return control.while_(*inputs, cond=cond, body=body, n_cond=len(reads), n_body=len(captured))


def cond_node(functions: Sequence[Function], index: Node, operands: Sequence[Node]) -> Node:
    """The results of the branch with that number. What was made while a branch was traced is computed by who takes it,
    also where it depends on none of its arguments."""
    branches, captured = close(*agreed(functions), own=[f.since.inside for f in functions])
    return branching.cond(index, *captured, *operands, branches=tuple(branches))
