"""A graph as a value: what a traced function is, what a loop's body is, what `jit` compiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .node import Node
from .op import make, untagged
from .walk import dependents


def replay(outputs: Sequence[Node], inputs: Sequence[Node], new: Sequence[Node]) -> list[Node]:
    """The outputs, recorded once more with `new` in place of `inputs`. What does not depend on the inputs is shared."""
    found: dict[Node, Node] = dict(zip(inputs, new))
    for node in dependents(outputs, inputs):
        assert node.op is not None
        new_node = make(node.op, tuple([found.get(i, i) for i in node.inputs]), node.static, node.moving)
        new_node.site = node.site
        found[node] = untagged(new_node)
    return [found.get(n, n) for n in outputs]


class Function:
    """A graph from placeholders to outputs.

    Attributes:
        inputs: the placeholders it was recorded from.
        outputs: nodes; they may depend on nodes outside too, its captured constants.
        effects: nodes that must be computed whenever it runs, in order, though nobody reads them (printing).
        token: what the first effect follows, where there are some: in a replay the last effect before.
        since: of what a user's function was traced to, when that began.
    """

    __slots__ = ("inputs", "outputs", "effects", "token", "since", "_program", "__weakref__")
    runner: Callable[[Function], Callable[[Sequence[Any]], list[Any]]]  # set by the layer that runs graphs

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        effects: Sequence[Node] = (),
        token: Node | None = None,
    ) -> None:
        self.inputs, self.outputs, self.effects = tuple(inputs), tuple(outputs), tuple(effects)
        self.token = token
        self.since: Any = None
        self._program: Any = None

    def __call__(self, *inputs: Node) -> list[Node]:
        """The outputs for these inputs, as new graph. Effects are left out: see `with_effects`."""
        return replay(self.outputs, self.inputs, inputs)

    def with_effects(self, *inputs: Node, after: Node | None = None) -> tuple[list[Node], list[Node]]:
        """The outputs and the effects for these inputs, as new graph; the effects come after `after`."""
        n, sources, new = len(self.outputs), self.inputs, inputs
        if self.token is not None and after is not None:
            sources, new = (*sources, self.token), (*new, after)
        nodes = replay((*self.outputs, *self.effects), sources, new)
        return nodes[:n], nodes[n:]

    def evaluate(self, values: Sequence[Any]) -> list[Any]:
        """The outputs' values for values of the inputs (C-contiguous arrays, which are read only), effects included.

        What the graph captures is computed once, at the first call.
        """
        if self._program is None:
            self._program = type(self).runner(self)
        return self._program(values)

    @property
    def in_avals(self) -> tuple[Any, ...]:
        return tuple([n.aval for n in self.inputs])

    @property
    def out_avals(self) -> tuple[Any, ...]:
        return tuple([n.aval for n in self.outputs])

    def captured(self) -> list[Node]:
        """The nodes that it reads and that do not depend on its inputs, without scalars; outputs among them too."""
        results = (*self.outputs, *self.effects)
        between = dependents(results, self.inputs)
        inside = set(between).union(self.inputs)
        read: dict[Node, None] = {}
        for node in between:
            read.update(dict.fromkeys([i for i in node.inputs if i not in inside and i.value is None]))
        read.update(dict.fromkeys([n for n in results if n not in inside and n.value is None]))
        return list(read)
