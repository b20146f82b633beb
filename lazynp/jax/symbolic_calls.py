"""Calls of functions that were traced for sizes with variables: what these are, and the graph for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..bounded import Bounded
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import make, untagged
from ..graph.walk import toposort
from ..signatures import name_of
from .symbolic import SymbolicScope, _DimExpr, evaluated, sizes, varies

Shapes = Mapping[str, tuple[Any, ...]]
known: Bounded[Any, Function] = Bounded(256)
"""Graphs for sizes that were met."""


def specification(specs: Shapes) -> str:
    """The shapes of arguments, in words."""
    shown = [f"{name}.shape = ({', '.join(map(str, s))}{',' * (len(s) == 1)})" for name, s in specs.items() if
             varies(s)]  # fmt: skip
    return f"Using the following polymorphic shapes specifications: {','.join(shown)}."


def check_one_scope(specs: Shapes, fun: Any) -> None:
    """Raise ValueError for shapes of arguments whose variables are of several scopes."""
    if len({id(d.scope) for d in sizes(specs.values())}) > 1:
        raise ValueError(
            f"Invalid mixing of symbolic scopes when exporting {name_of(fun)}. {specification(specs)} See "
            "jax.export.SymbolicScope."
        )


def check_solvable(specs: Shapes) -> None:
    """Raise ValueError for shapes of arguments whose variables no call could tell."""
    found = list(sizes(specs.values()))
    left, told = found, set[str]()
    while True:
        rest = [d for d in left if d.variables() - told]
        new = [d for d in rest if unknown_in(d, told) is not None]
        if not new:
            break
        for d in new:
            told |= d.variables()
        left = rest
    if rest:
        names = "{" + ", ".join(sorted([repr(v) for v in set().union(*[d.variables() for d in rest]) - told])) + "}"
        where = [f"'{d}' for dimension size {name}.shape[{i}]" for name, s in specs.items() for i, d in enumerate(s)
                 if any([d is r for r in rest])]  # fmt: skip
        raise ValueError(
            f"Cannot solve for values of dimension variables {names}. We can only solve linear uni-variate constraints."
            f" {specification(specs)} Unprocessed specifications: {', '.join(where)}."
        )


def unknown_in(size: _DimExpr, told: Any) -> tuple[str, int] | None:
    """The one variable that is not told yet, where it stands alone with a number before it: its name and the number."""
    found = None
    for term, n in size.terms.items():
        names = set().union(*[_DimExpr({((f, 1),): 1}, size.scope).variables() for f, _ in term])
        if names <= set(told):
            continue
        if found is not None or len(term) > 1 or term[0][1] != 1 or term[0][0].operands:
            return None
        found = term[0][0].name, n
    return found


def solved(specs: Shapes, shapes: Shapes) -> dict[str, Any]:
    """What the variables are where arguments have these shapes. Raises ValueError where they cannot be."""
    wanted = [(d, shapes[name][i], f"{name}.shape[{i}]") for name, s in specs.items() for i, d in enumerate(s)
              if isinstance(d, _DimExpr)]  # fmt: skip
    values: dict[str, Any] = {}
    sources: list[str] = []

    def wrong(what: str) -> ValueError:
        told = "".join([f"{text}, " for text in sources])
        return ValueError(
            f"Input shapes do not match {what} {specification(specs)} Obtained dimension variables: {told or '.'}"
        )

    specified = "the polymorphic shapes specification."
    left = wanted
    while left:
        later = []
        for d, n, where in left:
            found = unknown_in(d, values)
            if found is None:
                later.append((d, n, where))
                continue
            name, factor = found
            rest = _DimExpr({t: m for t, m in d.terms.items() if t and t[0][0].name != name or not t}, d.scope)
            value, remainder = divmod(n - evaluated(rest, values), factor)
            if remainder != 0:
                raise wrong(f"{specified} Division had remainder {remainder} when computing the value of '{name}'.")
            values[name] = value
            sources.append(f"'{name}' = {value} from specification '{d}' for dimension {where} (= {n})")
            if not value >= 1:
                raise wrong(f"{specified} Expected value >= 1 for dimension variable '{name}'.")
        if len(later) == len(left):
            break
        left = later
    for d, n, where in wanted:
        if evaluated(d, values) != n:
            raise wrong(
                f"{specified} Found inconsistency between dimension size {where} (= {n}) and the specification '{d}' "
                f"(= {evaluated(d, values)})."
            )
    if wanted:
        check_constraints(wanted[0][0].scope, values, wrong)
    return values


def check_constraints(scope: SymbolicScope, values: Mapping[str, Any], wrong: Any) -> None:
    """Raise an error for values of variables that are not allowed."""
    for text, sign, difference in scope.checks:
        if not difference.variables() <= set(values):
            continue
        if sign == "<=":
            difference = -difference
        n = evaluated(difference, values)
        good, words = (n == 0, "equal to 0") if sign == "==" else (n >= 0, "greater or equal to 0")
        if not good:
            raise wrong(f"the symbolic shape constraint {text}. Expected '{difference}' to be {words}, but found {n}. ")


def with_sizes(function: Function, values: Mapping[str, Any]) -> Function:
    """The graph where the variables have these values."""
    if not values:
        return function
    key = (function, tuple(values.items()))
    found = known.get(key) or known.recall(key)
    if found is not None:
        return found
    order = toposort([*function.inputs, *function.outputs, *function.effects])
    new: dict[Node, Node] = {}
    for node in order:
        if node.trace != ABSTRACT:
            new[node] = node
            continue
        if node.op is None:
            fixed = not varies([node.shape]) and node not in function.inputs
            new[node] = node if fixed else leaf(evaluated(node.shape, values), node.dtype, weak=node.weak,
                                                trace=ABSTRACT)  # fmt: skip
            continue
        static, moving = [tuple([with_values(p, values) for p in part]) for part in (node.static, node.moving)]
        sources = tuple([new[n] for n in node.inputs])
        if static == node.static and moving == node.moving and sources == node.inputs:
            new[node] = node
            continue
        made = make(node.op, sources, static, moving)
        made.site = node.site
        new[node] = untagged(made)
    parts = (function.inputs, function.outputs, function.effects)
    inputs, outputs, effects = [[new[n] for n in part] for part in parts]
    token = None if function.token is None else new.get(function.token, function.token)
    return known.keep(key, Function(inputs, outputs, effects, token))


def with_values(parameter: Any, values: Mapping[str, Any]) -> Any:
    """A parameter of an operation where the variables have these values: a size, a nest of such, or a graph."""
    if isinstance(parameter, Function):
        return with_sizes(parameter, values)
    if type(parameter) in (tuple, list):
        return type(parameter)([with_values(p, values) for p in parameter])
    return evaluated(parameter, values)
