"""Loops and branches over arrays on explicit axes of a mesh: bodies know how their arguments lie, and a carry has to
come out of a body as it went in, as have the results of branches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...once import stands_for
from ...ops.flow import carry_name, who_is
from ...tree import flatten
from ..array import Array, as_node
from ..sharding import NamedSharding, get_abstract_mesh
from ..splits import Split, shown
from ..spreading import known, named_sharding, note, sharding_at, split_of, state
from ..tree_util import keystr, tree_leaves_with_path

Body = Callable[..., Any]
ADVICE = "\n\nRevise the function so that all output types match the corresponding input types."


def lies_of(tree: Any, rows: bool = False) -> list[Any]:
    """For each leaf of a tree how it lies on a mesh; `rows`: how a row of it does. None where that is not known."""
    found: list[Any] = []
    for x in flatten(tree)[0]:
        lies = sharding_at(x.node) if isinstance(x, Array) else None
        if not isinstance(lies, NamedSharding):
            found.append(None)
        else:
            split = split_of(lies, x.ndim)[rows:]
            found.append(named_sharding(lies.mesh, split, x.ndim - rows))
    return found


def typed(body: Body, lies: Sequence[Any], skip: int = 0) -> Body:
    """A function whose arguments are said to lie so, but for the first `skip`."""

    @functools.wraps(body)
    def call(*args: Any) -> Any:
        for x, where in zip(flatten(args[skip:])[0], lies):
            if where is not None and isinstance(x, Array) and x.node.trace:
                known[x.node] = where
        return body(*args)

    return call


def standing_for(f: Any, lies: Sequence[Any], made: Any) -> Any:
    """What was made of a function for arguments that lie so, under its name: traced where that was not yet."""
    return stands_for(f, tuple(lies))(functools.wraps(f)(made))


def explicit_split(x: Any) -> Split | None:
    """Which explicit axes split an array; None where it lies on no mesh that has some."""
    node = as_node(x)
    note(node)
    lies = sharding_at(node)
    if not isinstance(lies, NamedSharding) or not lies.mesh.explicit_axes:
        return None
    return tuple([tuple([a for a in axes if a in lies.mesh.explicit_axes]) for axes in split_of(lies, node.ndim)])


def type_text(x: Any) -> str:
    return shown(as_node(x), explicit_split(x) or ((),) * as_node(x).ndim)


def apart(x: Any, y: Any) -> bool:
    """Whether two arrays of one shape lie along explicit axes in different ways."""
    return unlike(explicit_split(x), explicit_split(y), as_node(x).ndim)


def unlike(a: Split | None, b: Split | None, ndim: int) -> bool:
    """Whether explicit axes split two arrays in different ways. What lies on no mesh, where none is set, lies as the
    other does."""
    if a is None or b is None:
        empty: Split = ((),) * ndim
        return not get_abstract_mesh().empty and (a or b) is not None and (a or empty) != (b or empty)
    return a != b


def otherwise_apart(a: Any, b: Any) -> bool:
    """Whether two trees differ in structure, which others say."""
    return bool(flatten(a)[1] != flatten(b)[1])


def check_carry(what: str, name: str, given: Any, out: Any) -> None:
    """Raise TypeError where a carry of that name comes out of a body otherwise than it went in."""
    if otherwise_apart(given, out):
        return
    for (path, x), y in zip(tree_leaves_with_path(given), flatten(out)[0]):
        if apart(x, y):
            part = f"{name}{keystr(path)}"
            component = " component" if "[" in part or "." in part else ""
            raise TypeError(
                f"{what} body function carry input and carry output must have equal types, but they differ:\n\nThe "
                f"input carry{component} {part} has type {type_text(x)} but the corresponding output carry component "
                f"has type {type_text(y)}.{ADVICE}"
            )


def scan_over(scan: Any) -> Any:
    """`scan`, whose rows must not lie along explicit axes."""

    @functools.wraps(scan)
    def call(f: Any, init: Any, xs: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not state.on or not callable(f):
            return scan(f, init, xs, *args, **kwargs)
        arrays = [x for x in flatten(xs)[0] if isinstance(x, Array)]
        if any([split and split[0] for split in map(explicit_split, arrays)]):
            specs = ", ".join([str(lies.spec) for lies in lies_of(arrays) if lies is not None])
            raise ValueError(f"0th dimension of all xs should be replicated. Got {specs}")
        lies = [*lies_of(init), *lies_of(xs, rows=True)]
        body, name = typed(f, lies), carry_name(f)

        def checked(carry: Any, x: Any) -> Any:
            out = body(carry, x)
            if isinstance(out, (tuple, list)) and len(out) == 2:
                check_carry("scan", name, carry, out[0])
            return out

        return scan(standing_for(f, lies, checked), init, xs, *args, **kwargs)

    return call


def while_over(loop: Any) -> Any:
    """`while_loop`, whose functions know how the carry lies."""

    @functools.wraps(loop)
    def call(cond_fun: Any, body_fun: Any, init_val: Any) -> Any:
        if not state.on or not callable(cond_fun) or not callable(body_fun):
            return loop(cond_fun, body_fun, init_val)
        lies = lies_of(init_val)
        cond, body = typed(cond_fun, lies), carrying("while_loop", carry_name(body_fun), typed(body_fun, lies))
        return loop(standing_for(cond_fun, lies, cond), standing_for(body_fun, lies, body), init_val)

    return call


def fori_over(loop: Any) -> Any:
    """`fori_loop`, whose body knows how the carry lies."""

    @functools.wraps(loop)
    def call(lower: Any, upper: Any, body_fun: Any, init_val: Any, **options: Any) -> Any:
        if not state.on or not callable(body_fun):
            return loop(lower, upper, body_fun, init_val, **options)
        lies = lies_of(init_val)
        body = carrying("scan", "loop_carry[1]", typed(body_fun, lies, 1))
        return loop(lower, upper, standing_for(body_fun, lies, body), init_val, **options)

    return call


def carrying(what: str, name: str, body: Body) -> Body:
    """A function from a carry of that name, its last argument, to a carry, which has to lie as that."""

    @functools.wraps(body)
    def call(*args: Any) -> Any:
        out = body(*args)
        check_carry(what, name, args[-1], out)
        return out

    return call


def types_of(tree: Any) -> tuple[Any, list[tuple[Split | None, str]]]:
    """The structure of a tree, and for each leaf which explicit axes split it and how its type is shown: without the
    arrays, which nobody is to keep after the function that made them."""
    leaves, structure = flatten(tree)
    return structure, [(explicit_split(x), type_text(x)) for x in leaves]


def branch_error(what: str, names: Sequence[str], fs: Sequence[Body], x: Any, y: Any) -> TypeError | None:
    """For two branches of these names whose results, given by their types, lie in different ways."""
    for (a, one), (b, other) in () if x[0] != y[0] else zip(x[1], y[1]):
        if unlike(a, b, len(a or b or ())):
            who = who_is(names[0], fs[0], names[1], fs[1])
            return TypeError(
                f"{what} branches must have equal output types but they differ.\n\n{who}\nThe output of {names[0]} has "
                f"type {one} but the corresponding output of {names[1]} has type {other}.\n\nRevise {names[0]} and/or "
                f"{names[1]} so that all output types match."
            )
    return None


def branching(what: str, names: Sequence[str], fs: Sequence[Body], operands: Any) -> list[Body]:
    """The functions of branches, which know how the operands lie, and whose results have to lie in one way."""
    lies, types = lies_of(operands), {}

    def alike(i: int, fun: Body) -> Body:
        @functools.wraps(fun)
        def checked(*args: Any) -> Any:
            out = typed(fun, lies)(*args)
            types[i] = types_of(out)
            if len(types) == len(fs):
                for j in range(1, len(fs)):
                    error = branch_error(what, (names[0], names[j]), (fs[0], fs[j]), types[0], types[j])
                    if error is not None:
                        raise error
            return out

        # Branches that lie on no mesh are compared with one another where all are traced.
        return checked if any(lies) else standing_for(fun, (), checked)

    return [alike(i, fun) for i, fun in enumerate(fs)]


def cond_over(cond: Any) -> Any:
    """`cond`, whose functions know how the operands lie, and whose results have to lie in one way."""

    @functools.wraps(cond)
    def call(pred: Any, true_fun: Any, false_fun: Any, *operands: Any, **options: Any) -> Any:
        fs = [true_fun, false_fun]
        if state.on and callable(true_fun) and callable(false_fun):
            fs = branching("cond", ("true_fun", "false_fun"), fs, operands)
        return cond(pred, *fs, *operands, **options)

    return call


def switch_over(switch: Any) -> Any:
    """`switch`, whose functions know how the operands lie, and whose results have to lie in one way."""

    @functools.wraps(switch)
    def call(index: Any, branches: Any, *operands: Any, **options: Any) -> Any:
        if state.on and isinstance(branches, (list, tuple)) and len(branches) > 1 and all(map(callable, branches)):
            names = ["branch 0", *[f"branch{i}" for i in range(1, len(branches))]]
            branches = branching("switch", names, branches, operands)
        return switch(index, branches, *operands, **options)

    return call
