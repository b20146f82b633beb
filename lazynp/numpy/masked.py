"""Deferred boolean selections: `z[mask] = z[mask] ** 2 + c[mask]` without ever packing the selected elements.

`z[mask]` has a length that only the mask's values know. Most such selections are worked on elementwise and written back
through the same mask, so the handle keeps the whole of `z` beside the mask: an operation on selections of one mask is
done on the whole arrays, and the write is a select, which fuses. When anything else is asked of the handle, the
selection is made as NumPy makes it, and the operations since are done again on the packed elements: what a program pays
then is NumPy's price.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..away import on_host
from ..graph import errors
from ..graph.node import ABSTRACT, Node
from ..ops.elementwise import where
from ..ops.shape import reshape
from ..runtime.recorder import recorder
from ..runtime.storage import Storage, StorageDetails
from ..speed import get_places
from . import array
from .array import known, ndarray, new_handle
from .casts import real_of
from .index import is_plain
from .record import PYTHON_SCALARS, as_node, cast_node, out_of_range

no_mask: Callable[[Node], Exception] = errors.no_value  # a better error, where the transformations are loaded
DEEPEST = 64  # operations on a selection that is still deferred
FEW = 16  # a mask that chooses less than one element of so many is one of few places


class Selection:
    """How a deferred selection can be made: of an array's value, or by an operation on others (`host`, `operands`). The
    mask may have fewer axes than the array, whose last axes are then whole."""

    __slots__ = ("mask", "source", "host", "operands", "depth")

    def __init__(
        self, mask: Node, source: Node | None, host: Callable[..., Any] | None, operands: tuple[Any, ...], depth: int
    ) -> None:
        self.mask, self.source, self.host, self.operands, self.depth = mask, source, host, operands, depth

    def packed(self) -> numpy.ndarray:
        """The selected elements."""
        if self.source is not None:
            return get_places(value_of(self.source), value_of(self.mask))
        assert self.host is not None
        return self.host(*[x.packed() if type(x) is Selection else plain(x) for x in self.operands])


def alike(a: Node, b: Node, depth: int = 8) -> bool:
    """Whether two pending nodes do the same to the same values, as far as a short look can tell."""
    if a is b or a.value is not None and type(a.value) is type(b.value) and a.value == b.value:
        return True
    if a.op is None or a.op is not b.op or not a.inputs or len(a.inputs) != len(b.inputs) or not depth:
        return False
    if a.static != b.static or a.moving != b.moving:
        return False
    return all([alike(x, y, depth - 1) for x, y in zip(a.inputs, b.inputs)])


def value_of(node: Node) -> numpy.ndarray:
    if node.buffer is None:
        recorder.demand(node)
    return on_host(node.buffer)


def selection_of(x: Any) -> Selection | None:
    """The selection that a handle defers."""
    if type(x) is ndarray:
        details = x._s_.details
        if details is not None:
            return details.mask
    return None


def plain(x: Any) -> Any:
    """A scalar, or the value of an array that is an operand for each row."""
    return value_of(x) if type(x) is Node else x


def spread(mask: Node, ndim: int) -> Node:
    """A mask with axes of length 1 behind its own, so that it broadcasts over the array's."""
    return mask if mask.ndim == ndim else reshape(mask, shape=mask.shape + (1,) * (ndim - mask.ndim))


def handle(node: Node, selection: Selection) -> ndarray:
    """A handle on a deferred selection of node's value."""
    s = Storage()
    s.details = StorageDetails(mask=selection)
    s.hold(node)
    out = new_handle(ndarray)
    out._s_, out._b_, out._h_, out._v_ = s, False, None, None
    return out


def select(a: ndarray, mask: ndarray) -> ndarray:
    """`a[mask]`, deferred; mask has the shape of a, or of its first axes."""
    node, mask_node = a._node_(), mask._node_()
    out = handle(node, Selection(mask_node, node, None, (), 0))
    recorder.settle()
    return out


def settle_selection(s: Storage) -> None:
    """Make a deferred selection an ordinary array."""
    assert s.details is not None and s.details.mask is not None and s.node is not None
    if ABSTRACT in (s.node.trace, s.details.mask.mask.trace):
        raise no_mask(s.details.mask.mask)
    packed = numpy.asarray(s.details.mask.packed())
    s.buf, s.node, s.reads, s.free, s.details = packed, None, None, True, None


def elementwise_selection(op: Any, host: Callable[..., Any], operands: tuple[Any, ...]) -> ndarray | None:
    """An elementwise operation on selections of one mask, scalars, and arrays that broadcast with each selected row;
    None if they are not that."""
    mask = None
    depth = axes = 0
    for x in operands:
        selection = selection_of(x)
        if selection is None:
            if type(x) is ndarray:
                axes = max(axes, x.ndim)
            elif type(x) not in PYTHON_SCALARS and not isinstance(x, numpy.generic):
                return None
        elif mask is None or alike(selection.mask, mask):
            mask, depth = selection.mask, max(depth, selection.depth)
        else:
            return None
    if mask is None or depth >= DEEPEST:
        return None
    nodes = []
    for x in operands:
        chosen = selection_of(x)
        node = x._s_.node if chosen is not None else as_node(x)
        if chosen is not None and node is not None and axes > node.ndim - mask.ndim:
            return None
        if node is None:
            return None
        nodes.append(node)
    if out_of_range(nodes):
        return None  # an error, which ordinary arrays raise
    node = op(nodes)
    kept = [selection_of(x) or (n if type(x) is ndarray else x) for x, n in zip(operands, nodes)]
    out = handle(node, Selection(mask, None, host, tuple(kept), depth + 1))
    recorder.settle()
    return out


def write_selection(a: ndarray, mask: ndarray, value: Any) -> bool:
    """`a[mask] = value` as a select, if value is a scalar or a deferred selection of the same mask, which has the shape
    of a, or of its first axes."""
    s = a._s_
    selection = selection_of(value)
    if selection is not None:
        if not alike(selection.mask, mask._node_()) or value._s_.node.shape != a.shape:
            return False
        new = value._s_.node
    else:
        kind = type(value)
        if kind not in PYTHON_SCALARS and not isinstance(value, numpy.generic):
            return False
        if kind in PYTHON_SCALARS:
            scalar = numpy.empty((), s.dtype)
            scalar[()] = value  # an int that does not fit is an error, as in NumPy
        else:
            scalar = numpy.asarray(real_of(value, s.dtype)).astype(s.dtype)
        new = Node.of_scalar(scalar[()])
    new = cast_node(new, s.dtype)
    view, taken = a._view_(), mask._node_()
    base = s.graph()
    if s.node is not base:  # another thread is writing into the rest
        return False
    new = where(spread(taken, a.ndim), new, base if view is None else view.read(base))
    if view is not None:
        new = view.write(base, new)
    s.hold(new)
    del base, new, value
    recorder.settle()
    return True


def write_last_axes(a: ndarray, key: Any, value: Any) -> bool:
    """`a[..., mask] = value` of a number, as a select: the mask is the key's last part, in the shape of a's last axes.

    Not of an array at hand, into which NumPy writes no more than is chosen, and not where the mask is known to choose
    few, for which a select has to pass all of a."""
    mask = key[-1] if type(key) is tuple and len(key) > 1 else None
    if type(mask) is not ndarray or mask.dtype != bool or not mask.ndim or not is_plain(key[:-1]) or known(a):
        return False
    if type(value) not in PYTHON_SCALARS and not isinstance(value, numpy.generic) or selection_of(mask) is not None:
        return False
    taken = len(key) - 1 - key[:-1].count(None)
    if taken + mask.ndim != a.ndim and Ellipsis not in key[:-1] or a.shape[a.ndim - mask.ndim :] != mask.shape:
        return False
    if known(mask) and numpy.count_nonzero(mask._h_) * FEW < mask.size:
        return False
    region = a[(*key[:-1], *[slice(None)] * mask.ndim)]
    return write_selection(region, mask.reshape((1,) * (region.ndim - mask.ndim) + mask.shape), value)


array.settle_selection = settle_selection
