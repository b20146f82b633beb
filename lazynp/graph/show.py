"""Graphs as text: a line a node, `%3 = add %1 %2 : float64[2000,2000]`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .node import ABSTRACT, KEPT, Node
from .walk import toposort

TRACES = {KEPT: "  # under differentiation", ABSTRACT: "  # traced"}


def show(outputs: Sequence[Node], limit: int = 10_000, said: Callable[[Node], str] = lambda node: "") -> str:
    """The graph behind the outputs, inputs first; scalars stand where they are used.

    Beyond `limit` lines the middle is left out. `said`: what follows the line of a node.
    """
    nodes = [n for n in toposort(outputs) if n.value is None or n in outputs]
    names = {n: f"%{i}" for i, n in enumerate(nodes)}
    if len(nodes) <= limit:
        lines = [line(n, names) + said(n) for n in nodes]
    else:
        half = limit // 2
        lines = [line(n, names) + said(n) for n in nodes[:half]]
        lines.append(f"... {len(nodes) - 2 * half} more ...")
        lines += [line(n, names) + said(n) for n in nodes[-half:]]
    return "\n".join([*lines, "return " + " ".join(names[n] for n in outputs)])


def line(node: Node, names: dict[Node, str]) -> str:
    """One node, with the parameters that say something."""
    if node.op is None:
        what = repr_scalar(node.value) if node.value is not None else "constant" if node.buffer is not None else "leaf"
        return f"{names[node]} = {what} : {type_text(node)}{TRACES.get(node.trace, '')}"
    parts = [node.op.name, *[names.get(n) or repr_scalar(n.value) for n in node.inputs]]
    parts += [f"{k}={param_text(v)}" for k, v in node.op.params_of(node).items()]
    state = "  # computed" if node.buffer is not None else TRACES.get(node.trace, "")
    return f"{names[node]} = {' '.join(parts)} : {type_text(node)}{state}"


def type_text(node: Node) -> str:
    if node.dtype is None:
        return "(" + ", ".join(map(str, node.outs)) + ")"
    return f"{node.aval}{'*' if node.weak else ''}"


def repr_scalar(value: Any) -> str:
    return repr(value.item()) + ":" + value.dtype.name if isinstance(value, np.generic) else repr(value)


def param_text(value: Any) -> str:
    """A parameter without blanks; slices of a key as NumPy writes them."""
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, tuple):
        if (
            value
            and all(v is None or isinstance(v, int) or (isinstance(v, tuple) and len(v) == 3) for v in value)
            and any(isinstance(v, tuple) for v in value)
        ):
            return "[" + ",".join(key_text(v) for v in value) + "]"
        return "(" + ",".join(param_text(v) for v in value) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


def key_text(k: Any) -> str:
    if not isinstance(k, tuple):
        return "None" if k is None else str(k)
    start, count, step = k
    stop = start + count * step
    text = f"{start}:{stop if stop >= 0 else ''}"
    return text if step == 1 else f"{text}:{step}"
