"""What devices have of a value inside of a `shard_map` that is not jitted, for who prints it there, or asks whether it
is true. The function is traced, once for all devices; so a value is computed for whoever asks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api.trace import stack
from ..api.vmap import vmap
from ..doors import Door
from ..errors import placeholders
from ..graph.node import Node
from ..runtime.execute import value_of
from ..transforms.batch import batch


class View:
    """What a `shard_map` that runs at once knows of its arguments.

    Attributes:
        xs: the arguments of one device. parts: those of all, and along which axes of the mesh each is split.
        mesh: that of the devices. names: the axes that are mapped.
        varies: along which axes a value may differ; None where that is not checked.
    """

    def __init__(
        self,
        xs: Sequence[Node],
        parts: Sequence[tuple[Node, Any]],
        mesh: Any,
        names: Sequence[Any],
        varies: Callable[[Node], Any],
        door: Door,
    ) -> None:
        self.xs, self.parts, self.mesh, self.names, self.varies, self.door = xs, parts, mesh, names, varies, door

    def value(self, node: Node) -> Any:
        """The value of a node for all devices, the axes of the mesh in front; None where it depends on more than the
        arguments, or not all axes are mapped."""
        door, places = self.door, [stack.axes[a][1] for a in self.names]
        own = [*self.xs, *places]
        if len(self.names) < self.mesh.devices.ndim or not {*placeholders(node)} <= {*own}:
            return None

        def again(*ys: Any) -> Any:
            given = [*map(door.as_node, ys), *[stack.axes[a][1] for a in self.names]]
            return door.wrap(batch([node], own, given, [None] * len(own))[0][0])

        inner: Callable[..., Any] = again
        for a in reversed(self.names):
            axes = tuple([0 if a in used else None for _, used in self.parts])
            inner = vmap(inner, axes, 0, a, self.mesh.shape[a], door=door)
        return value_of(door.as_node(inner(*[door.wrap(x) for x, _ in self.parts])))

    def text(self, node: Node) -> str | None:
        """The parts of all devices, as JAX prints them; None where they are not known."""
        value, names = self.value(node), f"({', '.join(map(str, self.names))},)"
        if value is None:
            return None
        places = np.ndenumerate(self.mesh.devices)
        return "\n".join([f"On {d} at mesh coordinates {names} = {at}:\n{value[at]}\n" for at, d in places])

    def same(self, node: Node) -> Any:
        """The value that all devices have; None where it is not known, or may differ between them."""
        value = None if self.varies(node) != frozenset() else self.value(node)
        return None if value is None else value[(0,) * len(self.names)]


class Views(threading.local):
    """One for each `shard_map` that runs at once, the innermost last."""

    def __init__(self) -> None:
        self.active: list[View] = []


views = Views()


def value_here(node: Node) -> Any:
    """The value that all devices of the innermost `shard_map` have of a traced node; None where it is not known."""
    return views.active[-1].same(node) if views.active else None
