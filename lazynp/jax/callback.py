"""Callbacks into Python: `pure_callback`, `io_callback`, `debug.callback`, `debug.print`.

Those with effects run in the order of the program at every run of the function that they stand in, under `jit`, `vmap`
(for each example) and `grad` alike; outside of one at once.
"""

from __future__ import annotations

import logging
import string
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api.trace import after, effect, stack
from ..errors import JaxRuntimeError
from ..graph.aval import Aval
from ..graph.node import ABSTRACT, leaf
from ..graph.op import results
from ..ops.callback import Call, refuse_derivative
from ..ops.callback import callback as op
from ..ops.promotion import is_inexact
from ..runtime.recorder import recorder
from ..runtime.tape import differentiating
from ..tracebacks import leave
from ..tree import flatten, unflatten
from .array import Array, as_node, is_arraylike, wrap, wrap_value
from .aval import ShapedArray
from .dtypes import canonical, is_extended
from .spreading import note, sharding_at
from .spreading import state as spreading
from .varying import contexts

METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")

logger = logging.getLogger(__name__)


def check_method(vmap_method: str | None) -> None:
    """Raise ValueError for a way of mapping that is none."""
    if vmap_method is not None and vmap_method not in METHODS:
        raise ValueError(f"vmap_method must be on of the allowed methods {[*METHODS, None]}, but got: {vmap_method}")


def array_of(x: np.ndarray, weak: bool = False) -> Array:
    """What a callback gets: an array that does not see later writes."""
    own = np.array(x, order="C")
    return wrap(leaf(x.shape, x.dtype, own, weak=weak)) if weak or x.dtype.names else wrap_value(own)


def checked(name: str, values: Any, structure: Any, outs: Sequence[Aval], strict: bool) -> list[np.ndarray]:
    """A callback's results as arrays of the promised types. Raises JaxRuntimeError where they are others."""
    leaves, found = flatten(values)
    if len(leaves) != structure.num_leaves:
        raise JaxRuntimeError(f"{name}: the callback returned a tree of structure {found}, not {structure}")
    arrays = []
    for x, aval in zip(leaves, outs):
        a = np.asarray(x)
        if strict and a.shape != aval.shape or a.shape[a.ndim - aval.ndim :] != aval.shape:
            raise JaxRuntimeError(f"{name}: the callback returned an array of shape {a.shape}, not {aval.shape}")
        if canonical(a.dtype) != aval.dtype:
            raise JaxRuntimeError(f"{name}: the callback returned an array of dtype {a.dtype}, not {aval.dtype}")
        arrays.append(np.array(a, aval.dtype, order="C"))
    return arrays


def avals_of(shapes: Any) -> tuple[list[Aval], Any]:
    """The types that a user wrote: arrays, `ShapeDtypeStruct`s and types of values, in a tree.

    Raises: AttributeError for what has no shape and dtype, ValueError for 64 bits that are not to be had.
    """
    leaves, structure = flatten(shapes, lambda x: isinstance(x, ShapedArray))
    for x in leaves:
        if not hasattr(x, "shape") or not hasattr(x, "dtype"):
            raise AttributeError(
                f"result_shape_dtypes: {x!r} has no shape and dtype; write jax.ShapeDtypeStruct(shape, dtype)"
            )
        if not is_extended(x.dtype) and canonical(x.dtype) != np.dtype(x.dtype):
            raise ValueError("result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled")
    return [Aval(tuple(x.shape), canonical(x.dtype)) for x in leaves], structure


def split(args: Any, kwargs: Any) -> tuple[list[Any], Callable[[Sequence[Any]], tuple[Any, Any]]]:
    """The arrays among the arguments; and from others in their places the whole arguments."""
    leaves, structure = flatten((args, kwargs))
    dynamic = [is_arraylike(x) for x in leaves]
    others = [None if d else x for x, d in zip(leaves, dynamic)]  # arrays are not to live as long as the callback

    def join(arrays: Sequence[Any]) -> Any:
        given = iter(arrays)
        return unflatten(structure, [next(given) if d else x for x, d in zip(others, dynamic)])

    return [x for x, d in zip(leaves, dynamic) if d], join


def over_devices() -> int:
    """Over how many devices a `shard_map` or a `pmap` maps the function that is being traced, which call for each; 0
    where it is neither that maps it."""
    mapping = next((t for t in reversed(stack.active) if t.kind == "vmap"), None)
    return 0 if mapping is None else int(getattr(mapping.function, "over_devices", 0))


def call_back(name: str, callback: Callable[..., Any], shapes: Any, args: Any, kwargs: Any, **how: Any) -> Any:
    """Record the call of a function with results of these types."""
    outs, structure = avals_of(shapes)
    arrays, join = split(args, kwargs)
    strict = how["method"] in (None, "sequential", "sequential_unrolled")

    def function(*values: np.ndarray) -> Sequence[np.ndarray]:
        a, k = join([array_of(x, at_once and n.weak) for x, n in zip(values, nodes)])
        try:
            found = callback(*a, **k)
        except Exception as error:
            if at_once:
                raise
            leave(error)
            raise JaxRuntimeError(f"INTERNAL: error calling callback: {traceback.format_exc()}") from error
        return checked(name, found, structure, outs, strict)

    if how["method"] is None and not how["ordered"] and over_devices():
        how["method"] = "sequential"
    nodes = [as_node(x) for x in arrays]
    if not how["differentiable"] and not stack.apart and differentiating([n for n in nodes if is_inexact(n.dtype)]):
        refuse_derivative(name)
    at_once = how["differentiable"] and not stack.active and all([n.trace < ABSTRACT for n in nodes])
    call = Call(function, tuple(outs), name=name, **how)
    tokens = (after(),) if call.ordered else ()
    node = op(*tokens, *nodes, call=call)
    if call.ordered:
        effect(node)
    elif node.trace < ABSTRACT and not stack.active:
        recorder.demand(node)  # so that what the callback raises is raised here, as in JAX
    return unflatten(structure, [wrap(n) for n in results(node)[: len(outs)]])


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """What `callback(*args, **kwargs)` returns, of the shapes and dtypes of `result_shape_dtypes`.

    It is called at once outside of transformations, and in a traced function when the value is needed: never, once or
    more often.

    Raises: JaxRuntimeError, a RuntimeError, where they have not, and where the callback raises; AttributeError and
    ValueError for what says no type; NotImplementedError under vmap without a `vmap_method`; ValueError under
    differentiation.
    """
    check_method(vmap_method)
    how = {"ordered": False, "differentiable": False, "method": vmap_method}
    return call_back("pure_callback", callback, result_shape_dtypes, args, kwargs, **how)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """What `callback(*args, **kwargs)` returns, called exactly once per run. Under vmap for each example; an ordered
    one cannot be."""
    how = {"ordered": True, "differentiable": False, "method": None if ordered else "sequential"}
    return call_back("io_callback", callback, result_shape_dtypes, args, kwargs, **how)


def debug_callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call `callback(*args, **kwargs)` at every run, for its effect; its result is dropped.

    `partitioned`: once for each device, with its parts of the arrays. Calls are in the order of the program, `ordered`
    or not.

    Raises: ValueError for `ordered` calls of arrays that lie on several devices.
    """
    if callback is None:
        return lambda f: lambda *a, **k: debug_callback(f, *a, ordered=ordered, partitioned=partitioned, **k)
    if not callable(callback):
        raise TypeError(
            f"first argument to jax.debug.callback must be callable, but got an object of type {type(callback)}"
        )
    function = callback
    lies = [lies_of(x) for x in flatten((args, kwargs))[0]] if spreading.on and spreading.jitted else []
    jitted = any([t.kind == "jit" for t in stack.active])
    if ordered and (any([s is not None for s in lies]) or jitted and over_devices() > 1):
        raise ValueError("The following ordered effects are not supported for more than 1 device: [debug_callback]")
    placed = {i: s for i, s in enumerate(lies) if s is not None} if partitioned else {}

    def quiet(*a: Any, **k: Any) -> tuple[()]:
        if not placed:
            function(*a, **k)
            return ()
        leaves, structure = flatten((a, k))
        parts = {i: s.devices_indices_map(leaves[i].shape) for i, s in placed.items()}
        for device in next(iter(parts.values())):
            local, named = unflatten(
                structure, [x[parts[i][device]] if i in parts else x for i, x in enumerate(leaves)]
            )
            function(*local, **named)
        return ()

    call_back("debug_callback", quiet, (), args, kwargs, ordered=True, differentiable=True, method="sequential")
    return None


def lies_of(x: Any) -> Any:
    """The sharding of an array that lies on several devices, else None."""
    if not isinstance(x, Array) or contexts.active:
        return None
    note(x.node)
    lies = sharding_at(x.node)
    return lies if lies is not None and lies.num_devices > 1 else None


class FormatCheck(string.Formatter):
    """Formats nothing; raises for arguments that a format does not use."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [a for i, a in enumerate(args) if i not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `jax.debug.print`: {unused}")
        names = [k for k in kwargs if k not in used_args]
        if names:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {names}. You may be passing an f-string (i.e, "
                '`f"{x}"`) into `jax.debug.print` and instead should pass in a regular string.'
            )


def debug_print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Print `fmt.format(*args, **kwargs)` at every run, with the arrays' values; where `partitioned`, for each device
    with its parts of them. Without arguments `fmt` is printed as it is.

    Raises: ValueError for arguments that the format does not use, and for `ordered` prints on several devices.
    """
    return formatted(print, fmt, args, kwargs, ordered, partitioned, skip_format_check)


def debug_log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """As `debug_print`, to the log of this module, at the level INFO."""
    return formatted(logger.info, fmt, args, kwargs, ordered, partitioned, skip_format_check)


def formatted(
    give: Callable[[str], None], fmt: str | None, args: Any, kwargs: Any, ordered: bool, partitioned: bool, as_is: bool
) -> Any:
    """Give the text away at every run. `as_is`: it may have no places for arguments, which then follow it."""
    if fmt is None:
        return lambda f, *a, **k: formatted(give, f, a, k, ordered, partitioned, as_is)
    text = fmt
    if not as_is:
        FormatCheck().format(text, *args, **kwargs)
    has_places = any([name is not None for _, name, _, _ in string.Formatter().parse(text)])

    def show(*a: Any, **k: Any) -> None:
        give(text.format(*a, **k) if has_places else " ".join([text, *map(str, a)]))

    debug_callback(show, *args, ordered=ordered, partitioned=partitioned, **kwargs)
    return None


def effects_barrier() -> None:
    """Wait for effects: they have happened when the function that contains them returns."""
