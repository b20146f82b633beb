"""`explain`: what is pending behind arrays, or what a jitted function runs, as a text and as a picture.

Loaded when it is first asked for. Nothing is computed: operations are put together as the planner puts them together,
and the plan is thrown away.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .api.jit import Jit, jit
from .doors import first_door
from .graph.node import ABSTRACT, Node
from .graph.op import LIBRARY, REDUCE, SET, VIEW
from .graph.show import line, show
from .graph.walk import toposort
from .ops.closure import unrecorded
from .picture import Box, picture
from .runtime.execute import boundary
from .runtime.planner import Planner
from .runtime.segment import Segment
from .tracebacks import boundary as at_the_users_line
from .transforms.simplify import simplify

KERNEL, CALL, WRITING, VIEWS = "kernel", "library call", "write", "view"
LISTED = 10_000  # lines of text; of more the middle is left out


class Group(NamedTuple):
    """Operations that run together.

    Attributes:
        kind: "kernel" (elementwise operations and the reductions that end them, one pass over the data), "library
            call", "write" (into a region, where no kernel does it) or "view" (free).
        nodes: the operations, in order.
        shape: the index space of a kernel, else the shape of the result.
    """

    kind: str
    nodes: tuple[Node, ...]
    shape: tuple[int, ...]


class Explanation(str):
    """A graph as text, which this is, and as a picture: `svg`, `html`; notebooks show it.

    Attributes:
        operations: how many operations there are.
        groups: what runs together, in the order in which it runs.
        kernels: those of the groups that are kernels.
        outputs, names: the results, and what stands for each value in the text.
        reads, writes: bytes of the arrays that are there before and of those that are there afterwards.
    """

    groups: tuple[Group, ...]
    outputs: tuple[Node, ...]
    names: dict[Node, str]
    operations: int
    reads: int
    writes: int

    def __new__(
        cls,
        text: str,
        groups: Sequence[Group] = (),
        outputs: Sequence[Node] = (),
        names: dict[Node, str] | None = None,
        reads: int = 0,
        writes: int = 0,
    ) -> Explanation:
        self = super().__new__(cls, text)
        self.groups, self.outputs, self.names = tuple(groups), tuple(outputs), names or {}
        self.operations = sum(len(g.nodes) for g in groups)
        self.reads, self.writes = reads, writes
        return self

    @property
    def kernels(self) -> list[Group]:
        return [g for g in self.groups if g.kind == KERNEL]

    @property
    def svg(self) -> str:
        """The graph as a picture: a box for all that runs together, an arrow for each value between them."""
        return picture(boxes_of(self), str(self).partition("\n")[0] if self.groups else str(self))

    @property
    def html(self) -> str:
        """The picture, and the text to unfold."""
        text = str(self).replace("&", "&amp;").replace("<", "&lt;")
        return (
            f'<div style="max-width:100%;overflow:auto">{self.svg}</div>'
            f"<details><summary>operations</summary><pre>{text}</pre></details>"
        )

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return str(self)


def of_graph(outputs: Sequence[Node], stop: Sequence[Node] = ()) -> Explanation:
    """What makes the outputs of what is there, and of the nodes of `stop`."""
    nodes = toposort(outputs, stop={*stop, *[n for n in toposort(outputs) if is_there(n)]})
    todo = [n for n in nodes if n.op is not None and not is_there(n) and n not in stop]
    new = set(todo)
    groups = groups_of(todo, [n for n in outputs if n in new])
    shown = [n for n in nodes if n.value is None or n in outputs]
    names = {n: f"%{i}" for i, n in enumerate(shown)}
    reads = sum(bytes_of(n) for n in nodes if n.value is None and n not in new)
    writes = sum(bytes_of(n) for n in dict.fromkeys(outputs) if n in new)
    return Explanation(text_of(groups, shown, outputs, names), groups, outputs, names, reads, writes)


def is_there(node: Node) -> bool:
    return node.buffer is not None or node.value is not None


def bytes_of(node: Node) -> int:
    return sum(a.size * a.dtype.itemsize for a in (node.outs or (node.aval,)))


def explain(x: Any) -> Any:
    """What is pending behind an array, as an `Explanation`: a text, with `svg` and `html`. Nothing is computed.

    The text has a line for each operation, `%3 = add %1 %2 : float64[2000,2000]`, under the kernel in which it runs.

    Args:
        x: an array of either door, or a sequence of arrays, which may share operations; anything else is a value, with
            nothing pending. A function gives a function: `explain(f)(*args)` is what `jit(f)(*args)` runs, for
            arguments of these shapes and dtypes.
    """
    if hasattr(x, "_node_") or hasattr(x, "node"):
        return of_graph([node_of(x)])
    if type(x) in (list, tuple) and x and all(hasattr(a, "_node_") or hasattr(a, "node") for a in x):
        return of_graph([node_of(a) for a in x])
    if callable(x):
        jitted = x if isinstance(x, Jit) else jit(x, door=first_door())
        return functools.wraps(x)(at_the_users_line(functools.partial(explained, jitted)))
    return Explanation(f"{type(x).__name__}: a value, nothing pending")


def node_of(x: Any) -> Node:
    """The node of an array of a door."""
    return x._node_() if hasattr(x, "_node_") else x.node


def explained(f: Jit, *args: Any, **kwargs: Any) -> Explanation:
    """The graph that a jitted function runs for these arguments."""
    entry = f._entry(f._take_apart(args, kwargs))
    function = entry.function
    keep = [*function.inputs, *boundary(function, entry.since)]
    with unrecorded():
        results = simplify([*function.outputs, *function.effects], keep)
    return of_graph(results, keep)


def groups_of(nodes: list[Node], outputs: list[Node]) -> list[Group]:
    """The operations as the planner puts them together, in the order in which they run."""
    if not nodes:
        return []
    segment = Segment(nodes, list(dict.fromkeys(outputs)))
    segment.buffers = [
        np.broadcast_to(np.empty((), n.dtype), n.shape) if n.dtype is not None else () for n in segment.leaves
    ]
    planner = Planner(segment, (False,) * len(segment.leaves))
    planner.assign()
    found: list[tuple[int, bool, int, Group]] = []
    for key, members in planner.members.items():
        writes = [w for w, (_, value) in planner.write.items() if value in members]
        chosen = tuple([nodes[i] for i in sorted([*members, *writes])])
        rank = len(nodes) * len(planner.ancestors(key)) + min(members)
        found.append((key[0], False, rank, Group(KERNEL, chosen, key[1])))
    for i, node in enumerate(nodes):
        kind = node.op.kind  # type: ignore[union-attr]
        alone = kind in (VIEW, LIBRARY) or kind == SET and planner.write[i][1] is None
        if planner.needed[i] and (alone or kind == REDUCE and i not in planner.part):
            what = VIEWS if kind == VIEW else WRITING if kind == SET else CALL
            found.append((planner.level[len(segment.leaves) + i], kind == VIEW, i, Group(what, (node,), node.shape)))
    return [group for *_, group in sorted(found, key=lambda t: t[:3])]


def text_of(groups: Sequence[Group], shown: list[Node], outputs: Sequence[Node], names: dict[Node, str]) -> str:
    """A headline, then what is there, then each group with its operations."""
    done = {n for g in groups for n in g.nodes}
    if not groups:
        return show(outputs)
    lines = [headline(groups)]
    lines += [line(n, names) for n in shown if n not in done]
    number = 0
    for group in groups:
        number += group.kind == KERNEL
        indent = "  " if group.kind == KERNEL else ""
        if group.kind == KERNEL:
            lines.append(f"kernel {number} over {list(group.shape)}:")
        lines += [indent + line(n, names) for n in group.nodes]
    if len(lines) > LISTED:
        half = LISTED // 2
        lines[half:-half] = [f"... {len(lines) - 2 * half} more ..."]
    return "\n".join([*lines, "return " + " ".join(names[n] for n in outputs)])


def headline(groups: Sequence[Group]) -> str:
    """`7 operations: 2 kernels, 1 library call`."""
    counts = [(sum(g.kind == kind for g in groups), kind) for kind in (KERNEL, CALL, WRITING, VIEWS)]
    total = sum(len(g.nodes) for g in groups)
    parts = [f"{n} {kind}{'s' if n > 1 else ''}" for n, kind in counts if n]
    return f"{total} operation{'s' if total > 1 else ''}: {', '.join(parts)}"


def boxes_of(e: Explanation) -> list[Box]:
    """Boxes of the picture: what is there, then the groups."""
    made = {n: k for k, g in enumerate(e.groups) for n in g.nodes}
    leaves = list(dict.fromkeys([i for g in e.groups for n in g.nodes for i in n.inputs if i not in made]))
    leaves = [n for n in leaves if n.value is None]
    at = {n: k for k, n in enumerate(leaves)}
    at.update({n: len(leaves) + k for n, k in made.items()})
    traced = any(n.trace == ABSTRACT for n in leaves)
    boxes = [
        Box("argument" if traced and n.buffer is None else "array", f"{e.names.get(n, '')} {n.aval}", (), ())
        for n in leaves
    ]
    number = 0
    for k, group in enumerate(e.groups):
        number += group.kind == KERNEL
        title = f"kernel {number}  {list(group.shape)}" if group.kind == KERNEL else ""
        lines = [line(n, e.names).partition(" : ")[0] for n in group.nodes]
        if not title:
            title, lines = lines[0], lines[1:]
        inputs: dict[int, dict[str, None]] = {}
        for i in dict.fromkeys([i for n in group.nodes for i in n.inputs]):
            if at.get(i, len(leaves) + k) != len(leaves) + k:
                inputs.setdefault(at[i], {})[short(i)] = None
        boxes.append(Box(group.kind, title, tuple(lines), tuple([(s, ", ".join(t)) for s, t in inputs.items()])))
    for n in dict.fromkeys(e.outputs):
        if n in at:
            boxes.append(Box("result", f"{e.names[n]} {n.aval}", (), ((at[n], ""),)))
    return boxes


def short(node: Node) -> str:
    """Shape of a value, for an arrow."""
    return "×".join(map(str, node.shape)) if node.dtype is not None else ""
