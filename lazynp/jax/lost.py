"""What is left of an array that has no value any more: it was deleted, a jitted function was given its buffer, or a
differentiated function has left it behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import left_behind_error
from ..graph.aval import Aval
from ..runtime.storage import lock
from .on_devices import delete_with

if TYPE_CHECKING:
    Base = Any  # what `Array` has: `_host`, `_weak`, `_graph`, `block_until_ready`
else:
    Base = object


class Deleted(NamedTuple):
    """What is known of an array without a value: its type, how it lay on devices (None: nobody had placed it), and
    whether a jitted function was given its buffer."""

    aval: Aval
    sharding: Any
    donated: bool = False


class LeftBehind(NamedTuple):
    """What is known of an array that a differentiated function has left behind."""

    aval: Aval

    @property
    def sharding(self) -> Any:
        raise left_behind_error(self.aval)


class Losable(Base):
    """The part of `Array` that is about values which are given up. `_weak` is what is left then."""

    __slots__ = ()

    def is_deleted(self) -> bool:
        """Whether `delete` was called."""
        return self._host is None and type(self._weak) is Deleted

    def delete(self) -> None:
        """Give the value up: using the array is an error from now on. Of one that was deleted nothing."""
        if self.is_deleted():
            return
        self.block_until_ready()
        node = self._graph
        gone = (
            self._gone(Aval(self.shape, self.dtype, self._weak)) if node is None else Deleted(node.aval, self.sharding)
        )
        give_up(self, gone)
        delete_with(node)

    def _give_away(self) -> None:
        """Delete it, since a jitted function has been given its buffer."""
        self.delete()
        give_up(self, self._weak._replace(donated=True))

    def _is_given_away(self) -> bool:
        """Whether a jitted function has its buffer."""
        return self.is_deleted() and self._weak.donated

    @staticmethod
    def _gone(aval: Aval, donated: bool = False) -> Deleted:
        """What is left of a deleted array that nobody had placed."""
        return Deleted(aval, None, donated)

    def _is_left_behind(self) -> bool:
        """Whether a differentiated function has made it, which has returned."""
        return type(self._weak) is LeftBehind

    def _left(self) -> Deleted | LeftBehind | None:
        """What is left of it, where it has no value any more."""
        gone: Any = self._weak
        return gone if self._host is None and type(gone) in (Deleted, LeftBehind) else None

    def _no_value(self) -> Exception:
        """The error for a use of it."""
        if self._is_left_behind():
            return left_behind_error(self._weak.aval)
        return RuntimeError(f"Array has been deleted with shape={self._weak.aval}.")


def give_up(x: Any, left: Deleted | LeftBehind) -> None:
    """Leave nothing else of an array."""
    with lock:
        x._weak, x._host, x._graph = left, None, None


def lose(x: Any) -> None:
    """Make an array one that a differentiated function has left behind."""
    give_up(x, LeftBehind(x._graph.aval))
