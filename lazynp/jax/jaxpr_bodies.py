"""Bodies of loops and branches as jaxprs show them: Python scalars that a body reads stand in it, where the graph has
them as arguments, so that equal bodies are one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Literals = dict[int, Any]
Closed = Callable[[Any, Literals], Any]


def with_literals(
    name: str, params: dict[str, Any], operands: Sequence[Any], is_literal: Callable[[Any], bool], closed: Closed
) -> tuple[dict[str, Any], list[Any]]:
    """An equation's parameters and operands, with literals among what its bodies capture moved into them.

    Args:
        closed: from a graph, and literals by the place of the argument that each stands for, to a jaxpr.
    """

    def among(first: int, last: int) -> Literals:
        return {i - first: operands[i] for i in range(first, last) if is_literal(operands[i])}

    def without(first: int, gone: Literals) -> set[int]:
        return {first + i for i in gone}

    if name == "scan":
        found = among(0, params["num_consts"])
        count = params["num_consts"] - len(found)
        new = {**params, "jaxpr": closed(params["jaxpr"], found), "num_consts": count}
        dropped = without(0, found)
    elif name == "while":
        n, m = params["cond_nconsts"], params["body_nconsts"]
        tests, steps = among(0, n), among(n, n + m)
        new = {
            "body_jaxpr": closed(params["body_jaxpr"], steps),
            "body_nconsts": m - len(steps),
            "cond_jaxpr": closed(params["cond_jaxpr"], tests),
            "cond_nconsts": n - len(tests),
        }
        dropped = without(0, tests) | without(n, steps)
    else:
        found = among(1, len(operands))
        new = {**params, "branches": tuple([closed(f, found) for f in params["branches"]])}
        dropped = without(1, found)
    return new, [v for i, v in enumerate(operands) if i not in dropped]
