"""`jax.ad_checkpoint`: `checkpoint`, its policies, and names for values."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api.ahead import inline, prepared
from ..api.custom import ruled, traced_level
from ..api.trace import Trace, placeholder, run_traced, stack, trace_function
from ..doors import Door, door_of
from ..flags import flags
from ..graph.function import Function
from ..graph.node import Node
from ..graph.op import make, pick, untagged
from ..graph.walk import dependents, toposort
from ..once import once
from ..ops.kept import named, remembered
from ..ops.promotion import is_inexact
from ..ops.tags import Nodes, Tangents, renamed
from ..runtime.reuse import use_as
from ..signatures import Fun, Static, held, leaf_names, name_of, others, places_of, tuple_of
from ..transforms.jvp import jvp
from ..transforms.transpose import linearize
from ..tree import flatten, unflatten
from ..tree import map as tree_map
from .array import as_node, door, wrap
from .aval import ShapedArray
from .given_back import Noted
from .jaxpr_calls import Checkpointed
from .jaxpr_text import aval_text
from .primitives import operands_of, primitive_of, steps_of
from .references import passed_on
from .spreading import constrain

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
]

# --- Policies: from a primitive, the types of its operands and its parameters to whether its result is kept -----------


class Case:
    """What a policy may say."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


Saveable, Recompute = Case("Saveable"), Case("Recompute")


class Offloadable(NamedTuple):
    """Kept in another memory: there is one, so that it is kept."""

    src: Any
    dst: Any


dot_p, convolution_p, name_p = (primitive_of(name) for name in ("dot_general", "conv_general_dilated", "name"))


def is_kept(answer: Any) -> bool:
    """What a policy has said. Raises TypeError for another answer."""
    if isinstance(answer, bool) or answer in (0, 1):
        return bool(answer)
    if answer is Saveable or answer is Recompute or isinstance(answer, Offloadable):
        return answer is not Recompute
    raise TypeError(
        "Value returned by a remat policy should be a bool or `ad_checkpoint.Recompute`, `ad_checkpoint.Saveable` or "
        f"`ad_checkpoint.Offloadable(...)`. Got {answer} of type {type(answer)}."
    )


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Keep all."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Keep nothing."""
    return False


def dots_saveable(prim: Any, *_: Any, **__: Any) -> bool:
    """Keep matrix products and convolutions."""
    return prim in (dot_p, convolution_p)


def dots_with_no_batch_dims_saveable(prim: Any, *_: Any, **params: Any) -> bool:
    """Keep products that are no stacks of products."""
    return prim is dot_p and not any(params["dimension_numbers"][1])


def offload_dot_with_no_batch_dims(offload_src: Any, offload_dst: Any) -> Fun:
    """Keep products that are no stacks of products, in another memory."""

    def policy(prim: Any, *_: Any, **params: Any) -> Any:
        kept = dots_with_no_batch_dims_saveable(prim, **params)
        return Offloadable(offload_src, offload_dst) if kept else Recompute

    return policy


def save_anything_except_these_names(*names_not_to_save: str) -> Fun:
    """Keep all but values of these names."""
    return lambda prim, *_, **params: not (prim is name_p and params["name"] in names_not_to_save)


def save_any_names_but_these(*names_not_to_save: str) -> Fun:
    """Keep values that have a name, but none of these."""
    return lambda prim, *_, **params: prim is name_p and params["name"] not in names_not_to_save


def save_only_these_names(*names_which_can_be_saved: str) -> Fun:
    """Keep values of these names."""
    return lambda prim, *_, **params: prim is name_p and params["name"] in names_which_can_be_saved


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> Fun:
    """Keep values of these names, some of them in another memory. Raises ValueError for one that is in both lists."""
    both = set(names_which_can_be_saved) & set(names_which_can_be_offloaded)
    if both:
        raise ValueError(f"The names should be exclusive and should not intersect, but both lists have {both}")

    def policy(prim: Any, *_: Any, **params: Any) -> Any:
        if prim is name_p and params["name"] in names_which_can_be_offloaded:
            return Offloadable(offload_src, offload_dst)
        return Saveable if prim is name_p and params["name"] in names_which_can_be_saved else Recompute

    return policy


def save_from_both_policies(policy_1: Fun, policy_2: Fun) -> Fun:
    """Keep what either of two policies keeps."""
    return lambda *args, **params: is_kept(policy_1(*args, **params)) or is_kept(policy_2(*args, **params))


class checkpoint_policies:
    """`jax.checkpoint_policies`."""

    everything_saveable = staticmethod(everything_saveable)
    nothing_saveable = staticmethod(nothing_saveable)
    dots_saveable = checkpoint_dots = staticmethod(dots_saveable)
    dots_with_no_batch_dims_saveable = staticmethod(dots_with_no_batch_dims_saveable)
    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable
    offload_dot_with_no_batch_dims = staticmethod(offload_dot_with_no_batch_dims)
    save_any_names_but_these = staticmethod(save_any_names_but_these)
    save_anything_except_these_names = staticmethod(save_anything_except_these_names)
    save_only_these_names = staticmethod(save_only_these_names)
    save_and_offload_only_these_names = staticmethod(save_and_offload_only_these_names)
    save_from_both_policies = staticmethod(save_from_both_policies)


# --- Functions --------------------------------------------------------------------------------------------------------


def chosen(outputs: Nodes, inputs: Nodes, policy: Fun) -> list[Node]:
    """The values on the way to the outputs that a policy keeps."""
    found = []
    order = dependents(outputs, inputs)
    said = {n.inputs[0]: n for n in order if n.op is constrain}  # a product lies as its caller has said in one step
    for node in order:
        op = node.op
        if node.dtype is None or op is pick or op is None or not is_inexact(node.dtype):
            continue
        if op is named:
            prim, params = name_p, {"name": node.static[0]}
        elif op.tag:
            continue
        else:
            last = steps_of(node)[-1]
            prim, params = primitive_of(last.name), last.params
        if is_kept(policy(prim, *[ShapedArray(*n.aval) for n in operands_of(node)], **params)):
            found.append(said.get(node, node))
    return found


class RecomputeRest(Checkpointed):
    """The rule of a checkpointed call with a policy: its last `n_kept` results are values that are kept, which stand in
    the place of what is computed once more."""

    def jvp(self, outs: Nodes, kept: Nodes, inputs: Nodes, tangents: Tangents) -> Tangents:
        self.prepare(inputs, tangents)
        fresh, function = [renamed(x) for x in inputs], self.silent()
        first = len(function.outputs) - self.n_kept
        saved = dict(zip(function.outputs[first:], outs[first:]))
        found: dict[Node, Node] = dict(zip(function.inputs, fresh))
        for node in dependents(function.outputs, function.inputs):
            assert node.op is not None
            new = untagged(make(node.op, tuple([found.get(i, i) for i in node.inputs]), node.static, node.moving))
            found[node] = remembered(saved[node], new, hidden=1) if node in saved else new
        return self.acting(jvp([found.get(n, n) for n in function.outputs], fresh, tangents), inputs)


def static_places(static_argnums: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Which of `count` arguments are static. Raises ValueError for one that is not there."""
    nums: tuple[int, ...] = tuple_of(static_argnums)
    if any([not -count <= i < count for i in nums]):
        raise ValueError(
            "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values greater than "
            f"or equal to `-len(args)` and less than `len(args)`, but got {nums}, while `len(args)` = {count}"
        )
    return nums


@once(stack)
def traced(fun: Fun, like: Nodes, structure: Any, own: Door, kind: str, rows: int = 0, *, names: Fun) -> Any:
    """The graph of a function for arguments like these, the structure of its result, and what it returned as it was."""
    trace = Trace(getattr(fun, "__wrapped__", fun), kind, names, like)
    inputs = [placeholder(n.aval, trace, i) for i, n in enumerate(like)]
    noted = Noted(fun)
    function, out, _ = run_traced(noted, inputs, structure, own, trace)
    return function, out, noted.apart()


def traced_first(fun: Fun, names: Fun, rule: Checkpointed) -> Fun:
    """The function, run on values without a value; its graph then takes the place of its text. What it returns of its
    arguments, and numbers that it makes without arrays, come back as they are.

    Args:
        names: gives the names of the leaves of the arguments, for errors.
        rule: is told of the graph, if it has effects.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        own = door_of(leaves, door)
        nodes = [own.as_node(x) for x in leaves]
        function, out, noted = traced(fun, nodes, structure, own, "checkpoint / remat", names=names)
        ran, given = prepared(function, nodes)
        rule.effectful = (ran, given) if ran.effects else None
        if flags.debug_key_reuse:
            use_as(function, nodes, f"checkpoint of {name_of(fun)}")
        made = [own.wrap(n) for n in inline(ran, given)]
        numpy_s = (np.ndarray, np.generic)  # in JAX's dtypes
        whole = [np.asarray(x, n.dtype) if isinstance(x, numpy_s) else x for x, n in zip(leaves, nodes)]
        return unflatten(out, noted.restored(made, whole, {}))

    return call


def checkpoint(
    fun: Fun | None = None,
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Fun | None = None,
    static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: bool | None = None,
) -> Fun:
    """A function whose derivative keeps its arguments and what a policy says, and computes the rest once more.

    Args:
        policy: which values are kept, one of `checkpoint_policies`, or a function of a primitive, the types of its
            operands and its parameters; by default none.
        static_argnums, static_argnames: arguments that are no arrays.
        prevent_cse: without effect: nothing is merged outside `jit`, and inside it what is needed twice is kept.

    Raises: NotImplementedError where `concrete` is given, which JAX has no more; TypeError, when it is called, where a
        policy says neither True nor False.
    """
    if fun is None:
        return functools.partial(
            checkpoint,
            prevent_cse=prevent_cse,
            policy=policy,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            concrete=concrete,
        )
    if concrete is not None:
        raise NotImplementedError(
            "The `concrete` option to `jax.checkpoint` was deprecated in JAX v0.8.2, and removed in JAX v0.10.0. In "
            "its place please use `static_argnums`."
        )

    def plain(fun: Fun, static: Static) -> Fun:
        return recomputed(fun, prevent_cse, policy, static)

    static = Static(tuple_of(static_argnums), tuple_of(static_argnames))
    return passed_on(plain(fun, static), fun, plain, static)


def recomputed(fun: Fun, prevent_cse: bool | Sequence[bool], policy: Fun | None, static: Static) -> Fun:
    """`checkpoint` of functions that use no references."""
    by_name = places_of(fun, (), static.names)

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        count = len(args)
        free = others([*static_places(static.nums, count), *[i for i in by_name if i < count]], count)
        whole, dynamic = fun, args
        fixed = {k: v for k, v in kwargs.items() if k in static.names}
        if fixed or len(free) < count:
            whole, dynamic = held(fun, args, fixed, free)
            whole.__wrapped__ = fun  # type: ignore[attr-defined]
        kwargs = {k: v for k, v in kwargs.items() if k not in static.names}
        given = tuple([x if i in free else None for i, x in enumerate(args)])
        kind = Checkpointed if policy in (None, checkpoint_policies.nothing_saveable) else RecomputeRest
        rule = kind(name_of(fun), policy, prevent_cse)
        inner = traced_first(whole, lambda: leaf_names(fun, given, kwargs), rule)
        level = traced_level((dynamic, kwargs))
        if not level or policy is checkpoint_policies.everything_saveable and not stack.shown:
            return inner(*dynamic, **kwargs)
        if policy is None or kind is Checkpointed:
            return ruled(rule, inner, dynamic, kwargs, level)

        def with_kept(*args: Any, **kwargs: Any) -> Any:
            out = inner(*args, **kwargs)
            sources = [as_node(x) for x in flatten((args, kwargs))[0]]
            kept = chosen([as_node(x) for x in flatten(out)[0]], sources, policy)
            rule.n_kept = len(kept)
            return out, [wrap(n) for n in kept]

        return ruled(rule, with_kept, dynamic, kwargs, level)[0]

    return checkpointed


remat = checkpoint


def checkpoint_name(x: Any, name: str) -> Any:
    """x (a tree), of which each array has a name that policies ask for."""
    return tree_map(lambda leaf: wrap(named(n, name=name)) if (n := as_node(leaf)).trace else leaf, x)


# --- What is kept -----------------------------------------------------------------------------------------------------


def linear_part(function: Function) -> tuple[list[Node], list[Node | None], list[Node | None]]:
    """Of the derivative of a traced function, what it keeps of the point, its inputs (None for whole numbers), and its
    results (None: zero)."""
    before = set(toposort([*function.outputs, *function.inputs]))
    sources, tangents = linearize(function.outputs, function.inputs)
    linear = dependents([t for t in tangents if t is not None], [s for s in sources if s is not None])
    inside = set(linear).union([s for s in sources if s is not None])
    found: dict[Node, None] = {}
    stack = [n for node in reversed(linear) for n in reversed(node.inputs) if n not in inside]
    seen: set[Node] = set()
    while stack:
        n = stack.pop()
        if n in seen or n.value is not None:
            continue
        seen.add(n)
        if n.op is not None and n.op.tag and n.op is not named:
            stack.append(n.inputs[0])
        elif n.op is pick and n.inputs[0].op is not None and n.inputs[0].op.tag:
            stack.append(n.inputs[0].inputs[n.static[0]])
        elif n in before or not is_recomputed(n, before):
            found[n] = None
        else:
            stack.extend(reversed(n.inputs))
    return list(found), sources, tangents


def saved_residuals(f: Fun, *args: Any, **kwargs: Any) -> list[tuple[ShapedArray, str]]:
    """The types of the values that the derivative of `f(*args)` keeps, and where each comes from."""
    leaves, structure = flatten((args, kwargs))
    function, _ = trace_function(f, [as_node(x).aval for x in leaves], structure, door, "saved_residuals")
    found, _, _ = linear_part(function)
    names = leaf_names(f, args, kwargs)
    place = {n: i for i, n in enumerate(function.inputs)}
    rows = sorted(found, key=lambda n: -1 if n.op is None and n not in place else place.get(n, len(place)))
    return [(ShapedArray(*n.aval), origin(n, place, names)) for n in rows]


def is_recomputed(node: Node, before: set[Node]) -> bool:
    """Whether a value that a derivative made is one of a checkpointed function, computed once more."""
    stack, seen = [node], set()
    while stack:
        n = stack.pop()
        if n in seen or n in before:
            continue
        seen.add(n)
        if n.op is not None and n.op.tag and n.inputs[0] in before:
            return True
        stack.extend(n.inputs)
    return False


def origin(n: Node, place: dict[Node, int], names: Sequence[str]) -> str:
    """Where a value comes from."""
    if n in place:
        return f"from the argument {names[place[n]]}"
    if n.op is None:
        return "from a constant"
    if n.op is named:
        return f"named '{n.static[0]}'"
    source = n.inputs[0] if n.op is pick else n
    return f"output of {steps_of(source)[-1].name}"


def print_saved_residuals(f: Fun, *args: Any, **kwargs: Any) -> None:
    """Print the types of the values that the derivative of `f(*args)` keeps, and where each comes from: a line each."""
    for aval, source in saved_residuals(f, *args, **kwargs):
        print(f"{aval_text(aval)} {source}")
