"""`checkpoint` (also called `remat`): a function whose intermediate values are made again for its derivative, instead
of being kept."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..graph.function import Function, replay
from ..graph.node import Node
from ..ops.promotion import is_inexact
from ..ops.tags import alias
from ..transforms.jvp import jvp
from ..tree import flatten, unflatten
from .custom import Batched, tagged, traced_level
from .handles import door_of, doors


class Recompute:
    """The rule of a checkpointed call: its graph is recorded anew, and differentiated there."""

    reverse = False
    out_structure: Any

    def __init__(self, function: Function) -> None:
        self.function = function

    def jvp(self, outs: Sequence[Node], inputs: Sequence[Node], tangents: Sequence[Node | None]) -> list[Node | None]:
        fresh = [alias(x) for x in inputs]
        return jvp(replay(self.function.outputs, self.function.inputs, fresh), fresh, tangents)

    def batched(self, kept: int, axes: tuple[int | None, ...], size: int) -> Batched:
        return Batched(self, kept, axes, size)


def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: bool = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    concrete: bool = False,
) -> Callable[..., Any]:
    """A function whose derivative keeps its arguments only, and computes what else it needs once more.

    Args:
        policy: which values may be kept: one of JAX's `checkpoint_policies`. `everything_saveable` keeps all, any other
            none.
        static_argnums: arguments that are no arrays.
        prevent_cse: without effect: nothing is merged outside `jit`, and inside it what is needed twice is kept.
    """
    if fun is None:
        return functools.partial(
            checkpoint, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums, concrete=concrete
        )
    if concrete:
        raise NotImplementedError("The 'concrete' option to jax.checkpoint is deprecated: use static_argnums instead.")
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if getattr(policy, "__name__", "") == "everything_saveable" or not traced_level((args, kwargs)):
            return fun(*args, **kwargs)
        places = {i % len(args) for i in static}
        dynamic = tuple([a for i, a in enumerate(args) if i not in places])
        found, structure = flatten((dynamic, kwargs))
        door = door_of(found, next(iter(doors.values())))
        nodes = [door.as_node(x) for x in found]
        inner = [alias(n) for n in nodes]
        given, named = unflatten(structure, [door.wrap(n) for n in inner])
        rest = iter(given)
        out = fun(*[args[i] if i in places else next(rest) for i in range(len(args))], **named)
        function = Function(inner, [door.as_node(x) for x in flatten(out)[0]])
        closed = [n for n in function.captured() if n.trace and is_inexact(n.dtype)]
        return tagged(Recompute(Function([*inner, *closed], function.outputs)), door, out, (), [*nodes, *closed])

    return checkpointed


remat = checkpoint
