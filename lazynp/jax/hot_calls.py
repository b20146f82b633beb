"""Public functions that are made of several operations, and are called again and again on small arrays.

JAX compiles such functions at their first call (`jnp.median`, `jax.nn.gelu`). Here small arrays are computed at once,
operation by operation, which costs some 5 µs each; there is nothing to wait for, and nothing to win for a function that
is called once. Once its calls with arguments of one kind have taken `ENOUGH` seconds together, the function is jitted
for them: its graph is made once, and the call is found in C (`api.jit`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from time import perf_counter
from typing import Any

from ..api.jit import Jit
from ..bounded import Bounded
from ..config import config
from ..flags import flags
from ..signatures import Static
from ..speed import CallBase
from .array import Array, door
from .jitted_names import STATIC
from .spreading import state as spreading

ENOUGH = 0.003  # seconds; tracing a function takes one thousandth or two
KEPT = 1024  # kinds of arguments of a function whose time is kept
NEVER = -1.0  # for what cannot be traced

NUMBERS = frozenset({bool, int, float, complex})


class Cold:
    """A call for which nothing is compiled; `took` is to be told how long the function took. No key: nobody asks."""

    __slots__ = ("call", "key", "spent")

    def __init__(self, call: HotCall, key: Any, spent: float) -> None:
        self.call, self.key, self.spent = call, key, spent

    def took(self, seconds: float) -> None:
        if self.key is not None and self.spent != NEVER:
            self.call._spent.keep(self.key, self.spent + seconds)


class HotCall(CallBase):
    """A function that is jitted once its calls have taken long enough. `_signatures` are those of the jitted one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._fun = function
        self._jit: Jit | None = None
        self._spent: Bounded[Any, float] = Bounded(KEPT)
        self._names: tuple[str, ...] | None = None

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        found = self._found(args, kwargs)
        if type(found) is not Cold:
            return found
        began = perf_counter()
        out = self._fun(*args, **kwargs)
        found.took(perf_counter() - began)
        return out

    def _found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call by the jitted function; Cold where the function is to be called."""
        key = self._key(args, kwargs)
        spent = 0.0 if key is None else self._spent.get(key) or self._spent.recall(key) or 0.0
        return self._jitted(key, args, kwargs) if key is not None and spent > ENOUGH else Cold(self, key, spent)

    def _jitted(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """By the jitted function; what cannot be traced, which was computed before, goes on as it was."""
        if self._jit is None:
            names = tuple([n for n in self._parameters() if n in STATIC])
            self._jit = Jit(self._fun, door, Static(names=names))
            self._signatures = self._jit._signatures
        try:
            return self._jit(*args, **kwargs)
        except Exception:
            self._spent.keep(key, NEVER)
            return Cold(self, key, NEVER)

    def _parameters(self) -> tuple[str, ...]:
        if self._names is None:
            self._names = tuple(inspect.signature(self._fun).parameters)
        return self._names

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What kind the arguments are of: arrays at hand that are small, and what is no array. None for others."""
        if flags.fast is None or spreading.on:
            return None
        names, key = self._names or self._parameters(), list[Any]([flags.fast])
        try:
            for i, x in enumerate(args):
                key.append(kind_of(x, i < len(names) and names[i] in STATIC))
            for name, x in kwargs.items():
                key.append((name, kind_of(x, name in STATIC)))
            found = tuple(key)
            hash(found)
        except TypeError:
            return None
        return found


class KnownCall(HotCall):
    """The same for a public function, which its boundary calls itself: no frame of ours is beside the function's own
    (`bounded`), by which it would count lines and modules."""

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        return self._found(args, kwargs)


def kind_of(x: Any, static: bool) -> Any:
    """Raises TypeError for what is not at hand, large, or another library's."""
    kind = type(x)
    if kind is Array and not static:
        h = x._host
        if h is None or h.size > config.limit:
            raise TypeError
        return h.dtype, h.shape, x._weak
    if kind in NUMBERS:
        return (kind, x) if static else kind
    if x is None or kind is str:
        return x
    if kind is tuple or kind is list:
        return kind, tuple([kind_of(v, static) for v in x])
    if static:
        return x
    raise TypeError
