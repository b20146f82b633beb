"""Arrays that outlive the function that a transformation ran: traced ones, for `jax.checking_leaks`, and those that a
function under differentiation has left behind."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from .errors import origins, placeholders
from .flags import flags
from .graph.node import ABSTRACT
from .ops.promotion import is_inexact
from .runtime.storage import let_go
from .runtime.tape import Tape, depth
from .transforms.jvp import differentiable

F = TypeVar("F", bound=Callable[..., Any])


def checked(run: F) -> F:
    """`api.trace.run_traced`, which under `jax_check_tracer_leaks` raises an error where somebody keeps an array of the
    function's after it has returned. Looks at all objects that there are, which takes some time."""

    @functools.wraps(run)
    def checking(f: Any, inputs: Any, structure: Any, door: Any, trace: Any, given: Any = None) -> Any:
        out = run(f, inputs, structure, door, trace, given)
        if flags.check_tracer_leaks:
            check(out[2], door, trace, given)
        return out

    return checking  # type: ignore[return-value]


def check(handles: list[Any], door: Any, trace: Any, given: Any) -> None:
    """Raise an error for the arrays of a trace that somebody has besides us."""
    gc.collect()
    everything = gc.get_objects()
    # `isinstance` would ask each object for its class, which one that stands for a dead one does not say.
    found = [x for x in everything if door.array in type(x).__mro__ and belongs(x, trace)]
    ours = list(map(id, (handles, given, everything, found)))
    kept = []
    for x in found:
        others = [r for r in gc.get_referrers(x) if id(r) not in ours and not isinstance(r, FrameType)]
        if others:
            kept.append((x, others))
    del everything, found
    if kept:
        texts = [f"{type(x).__name__} of {x.dtype.name}{list(x.shape)}, kept by {names(others)}" for x, others in kept]
        raise Exception(
            f"Leaked trace {trace}. Leaked tracer(s): {'; '.join(texts)}. A traced array has no meaning after the "
            "function has returned."
        )


def belongs(x: Any, trace: Any) -> bool:
    """Whether an array is one of a trace's."""
    node = getattr(x, "_graph", None)
    if node is None or node.trace != ABSTRACT:
        return False
    return any([origins.get(n, (None, 0))[0] is trace for n in placeholders(node)])


def names(others: list[Any]) -> str:
    """The types of what keeps an array."""
    return ", ".join(sorted({type(r).__name__ for r in others}))


def losing(tape: Tape, door: Any, fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function that a tape runs, whose arrays have no value from then on when it raises."""

    def call(*args: Any) -> Any:
        try:
            return fun(*args)
        except BaseException:
            lose(tape, door)
            raise

    return call


def lose(tape: Tape, door: Any) -> None:
    """The function that a tape runs has returned, and its results were taken apart and let go of: what is left of the
    arrays that it made, and depends on the tape's leaves, has no value from now on."""
    depth.made = tape.before
    left = [(x, x._graph) for r in tape.made if (x := r()) is not None and x._graph is not None]
    sources = [n for n in tape.leaves if n.trace]
    gone = {*sources, *differentiable([n for _, n in left], sources)} if left else set()
    for x, node in left:
        shown = flags.check_tracer_leaks and node.trace == ABSTRACT  # by the trace around, when it ends
        if node in gone and is_inexact(node.dtype) and not shown:
            let_go(node, x)
            door.lose(x)
    if depth.made is not None:
        depth.made += [weakref.ref(x) for x, _ in left if x._graph is not None]
    tape.made.clear()
