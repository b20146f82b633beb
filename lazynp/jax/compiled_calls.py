"""A compiled function takes arguments like those that it was compiled for: what is said where others come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..graph.node import Node
from ..tree import argument_at, differences
from .aval import shaped
from .layouts import Layout, in_c, orders
from .spreading import sharding_at


def check_types(nodes: Sequence[Node], required: Sequence[Node], names: Callable[[], list[str]]) -> None:
    """Raise TypeError for arguments of other types."""
    for i, (got, want) in enumerate(zip(nodes, required)):
        if (got.shape, got.dtype) != (want.shape, want.dtype):
            raise TypeError(
                f"Argument types differ from the types for which this computation was compiled. Perhaps you are "
                f"calling the compiled executable with a different enable_x64 mode than when it was AOT compiled? "
                f"The mismatches are:\nArgument {names()[i]!r} compiled with {want.aval} and called with {got.aval}"
            )


def check_lies(nodes: Sequence[Node], names: Sequence[str], required: Sequence[Any]) -> None:
    """Raise ValueError for arrays that were placed otherwise than a function was compiled for."""
    wrong = []
    for n, name, to in zip(nodes, names, required):
        lies = sharding_at(n)
        if lies is not None and to is not None and not lies.is_equivalent_to(to, n.ndim):
            wrong.append(
                f"Argument {name} with shape {shaped(n.aval, lies).str_short()}:\n  Passed sharding: {lies}\n  "
                f"Required sharding: {to}"
            )
    if wrong:
        count = f"the {len(wrong)} mismatches" if len(wrong) < 5 else f"5 mismatches out of {len(wrong)}"
        raise ValueError(
            "Computation was compiled for input shardings that disagree with the shardings of arguments passed to "
            f"it. Here are {count}:\n" + "\n".join(wrong[:5])
        )


def check_orders(nodes: Sequence[Node], names: Sequence[str], required: Sequence[Any]) -> None:
    """Raise ValueError for arrays that lie in memory otherwise than a function was compiled for."""
    wrong = []
    for n, name, order in zip(nodes, names, required):
        has, wanted = [orders.get(n, in_c(n.ndim)), in_c(n.ndim) if order is None else order]
        if has != wanted and sharding_at(n) is not None:
            wrong.append(
                f"Argument {name} with shape {n.aval}:\n  Passed layout: {Layout(has, ())}\n  Required layout: "
                f"{Layout(wanted, ())}"
            )
    if wrong:
        raise ValueError(
            "Computation was compiled for input layouts that disagree with the layouts of arguments passed to it. "
            f"Here are the {len(wrong)} mismatches:\n" + "\n".join(wrong[:5])
        )


def mismatch(compiled: Any, called: Any) -> str:
    """Where the arguments of a call have another structure than those that a function was compiled for."""
    found = []
    for path, a, b, why in differences(compiled, called):
        found.append(f"    * at {argument_at(path)}, seen {a} but now given {b}, so {why}")
    return (
        "Function compiled with input pytree does not match the input pytree it was called with. There are "
        f"{len(found)} mismatches, including:\n" + "\n".join(found)
    )
