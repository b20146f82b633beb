"""Views of traced arrays that are no chains of steps: the parts of complex numbers, diagonals, what `as_strided` shows.

A write through one goes on to the array, and a read after a write into the array sees it, as with NumPy's views.
"""

from __future__ import annotations

from collections.abc import Callable

from ..graph.node import Node
from ..ops import elementwise, indexing
from ..ops.elementwise import make_complex
from ..ops.shape import broadcast_to, reshape
from ..runtime.storage import Storage
from .arithmetic import assign
from .array import ndarray, new_handle
from .host import TracedArgumentError, bind
from .recorded_ufuncs import recordable


class Shown(Storage):
    """The value of a view, made by `read` of its owner's value, and put back into it by `write(value, new)`."""

    __slots__ = ("owner", "read", "write", "seen")

    def __init__(self, owner: ndarray, read: Callable[[Node], Node], write: Callable[[Node, Node], Node]) -> None:
        super().__init__()
        self.owner, self.read, self.write = owner, read, write
        self.look()

    def look(self) -> None:
        """Take the value from the owner."""
        super().hold(self.read(self.owner._node_()))
        self.seen = self.owner._s_.graph()

    def graph(self) -> Node:
        if self.owner._s_.graph() is not self.seen:  # something was written into the owner
            self.look()
        return super().graph()

    def hold(self, node: Node) -> None:
        if not recordable(self.owner):
            raise TracedArgumentError("a write into an array whose memory NumPy has a view of")
        if node.shape != self.shape or node.value is not None:
            node = broadcast_to(node, shape=self.shape)
        assign(self.owner, self.write(self.owner._node_(), node))
        self.look()


def shown(owner: ndarray, read: Callable[[Node], Node], write: Callable[[Node, Node], Node]) -> ndarray:
    """A handle on such a view."""
    out = new_handle(ndarray)
    bind(out, Shown(owner, read, write), False, None, None)
    return out


def real(x: ndarray) -> ndarray:
    """The real part of complex numbers."""
    return shown(x, elementwise.real, lambda whole, new: make_complex(new, elementwise.imag(whole)))


def imag(x: ndarray) -> ndarray:
    """The imaginary part of complex numbers."""
    return shown(x, elementwise.imag, lambda whole, new: make_complex(elementwise.real(whole), new))


def at_places(x: ndarray, places: Node) -> ndarray:
    """The elements of which `places` has the numbers, in C's order."""

    def read(whole: Node) -> Node:
        return indexing.take(reshape(whole, shape=(whole.aval.size,)), places, 0)

    def write(whole: Node, new: Node) -> Node:
        row = reshape(whole, shape=(whole.aval.size,))
        return reshape(indexing.put(row, places, new, "raise"), shape=whole.shape)

    return shown(x, read, write)
