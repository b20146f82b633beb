"""The linear maps that `jax.vjp`, `linearize` and `linear_transpose` give: functions that are pytrees.

The leaves of such a tree are the arrays that the map keeps of the point at which it was taken, so that it can be a
result of a jitted or batched function, and an argument of another. Its graph is traced when it is first taken apart: a
map that is only called costs nothing more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api import differentiate
from ..api.ahead import inline
from ..api.differentiate import cotangent_nodes, pick_arguments, tangent_nodes
from ..api.trace import trace_function
from ..doors import through
from ..errors import transposed_error
from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..ops.promotion import is_inexact
from ..ops.weak import instantiated
from ..runtime.beginning import Beginning
from ..tree import flatten, unflatten
from .ad_checkpoint import linear_part
from .array import as_node, door, wrap
from .dtypes import float0
from .following import check_lies, of_following
from .given_back import of_primals
from .gradient_refs import given_to
from .jaxpr import ShapeDtypeStruct, eval_shape
from .jaxpr_types import Jaxpr
from .jaxpr_writer import jaxpr_of
from .jitting import jit
from .spreading import state as spreading
from .tree_util import PyTreeDef, register_pytree_node

Fun = Callable[..., Any]
Check = Callable[[Any, Any, Sequence[Node]], list[Node | None]]
"""From an argument, the structure and the types that it must have to its nodes, None for those of float0."""


def checked_cotangents(tree: Any, structure: Any, like: Sequence[Node]) -> list[Node | None]:
    """Of the argument of a pullback. Raises ValueError for other types."""
    return cotangent_nodes(door, tree, structure, like)


def checked_tangents(tree: Any, structure: Any, like: Sequence[Node]) -> list[Node | None]:
    """Of the arguments of a linearized function. Raises TypeError for another structure, ValueError for other types."""
    what = "linearized function: primals and tangents"
    return tangent_nodes(what, door, tree, structure, like, TypeError, ValueError, ValueError)


def checked_results(tree: Any, structure: Any, like: Sequence[Node]) -> list[Node | None]:
    """Of the argument of a transposed function, whole numbers too. Raises TypeError for other types."""
    leaves, given = flatten(tree)
    nodes = [as_node(x) for x in leaves]
    if given != structure or [(n.shape, n.dtype) for n in nodes] != [(n.shape, n.dtype) for n in like]:
        raise transposed_error((structure, given), (like, nodes))
    return [*nodes]


def type_of(x: Any) -> Aval:
    """The type of an array, of what says only its type, or of zeros of float0."""
    if isinstance(x, ShapeDtypeStruct):
        return Aval(x.shape, x.dtype, x.weak_type)
    return Aval(x.shape, float0, False) if getattr(x, "dtype", None) == float0 else as_node(x).aval


class LinearGraph:
    """What a linear map is beside the arrays that it keeps: a graph from these and its argument to its result."""

    def __init__(self, direct: Fun, argument: Any, check: Check) -> None:
        leaves, self.structure = flatten(argument)
        self.like = [leaf(*type_of(x)[:2], weak=type_of(x).weak, trace=ABSTRACT) for x in leaves]
        self.check = check
        self.zeros: list[Any] = []
        moving = [check is checked_results or is_inexact(n.dtype) for n in self.like]

        def called(*arrays: Any) -> list[Any]:
            given = iter(arrays)
            full = [next(given) if m else np.zeros(n.shape, float0) for n, m in zip(self.like, moving)]
            out, self.out_structure = flatten(direct(unflatten(self.structure, full)))
            self.zeros = [x if getattr(x, "dtype", None) == float0 else None for x in out]
            return [x for x, z in zip(out, self.zeros) if z is None]

        avals = [n.aval for n, m in zip(self.like, moving) if m]
        structure = flatten((tuple([0] * len(avals)), {}))[1]
        function, _ = trace_function(called, avals, structure, door, "linear map")
        self.kept = function.captured()
        self.function = Function((*self.kept, *function.inputs), function.outputs, function.effects, function.token)

    def __call__(self, kept: Sequence[Any], argument: Any) -> Any:
        """The result with these arrays in the place of those that the map has kept."""
        given = [n for n in self.check(argument, self.structure, self.like) if n is not None]
        found = iter([wrap(n) for n in inline(self.function, [*[as_node(x) for x in kept], *given])])
        return unflatten(self.out_structure, [next(found) if z is None else z for z in self.zeros])


class LinearMap:
    """A linear function; a pytree of the arrays that it keeps.

    Args:
        direct: the function as it was made; None for one that was put together of its parts.
        like: gives an argument of the types that it takes.
        parts: its graph, and the arrays that it keeps.
        primals: the structure of the arguments of the function that it is the derivative of.
        of: of a pullback the function, the types of the leaves of its arguments, and their structure.
    """

    def __init__(
        self, direct: Fun | None, like: Fun, check: Check, parts: Any = None, primals: Any = None, of: Any = None
    ) -> None:
        self.direct, self.like, self.check, self.parts = direct, like, check, parts
        self.primals, self.of = primals, of

    def __call__(self, *args: Any) -> Any:
        if self.direct is not None and spreading.on and self.check is not checked_results:
            check_lies(self.like(), args if self.check is checked_tangents else args[0], self.check is checked_tangents)
        if self.direct is not None:
            return self.direct(*args)
        graph, kept = self.parts
        if self.check is checked_tangents:
            return graph(kept, args)
        if len(args) != 1:
            raise TypeError(
                f"A pullback was called with {len(args)} arguments: it must be called with a single argument, "
                "corresponding to the single value that the function returned."
            )
        return graph(kept, args[0])

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of the arguments of the function whose derivative it is."""
        return PyTreeDef(self.primals)

    @property
    def jaxpr(self) -> Jaxpr:
        """Of a pullback the graph of the linear function that it is the transpose of; its constants are what is kept of
        the point. Runs the function once more, on traced values.

        Raises: AttributeError for another linear map, and for one that has been put together of its parts.
        """
        if self.of is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'jaxpr'")
        fun, avals, structure = self.of
        function, _ = trace_function(fun, avals, structure, door, "vjp")
        kept, sources, tangents = linear_part(function)
        given = [leaf(n.shape, float0, trace=ABSTRACT) if t is None else t for n, t in zip(function.inputs, sources)]
        outs = [instantiated(t, n, n.weak or None) for t, n in zip(tangents, function.outputs)]
        whole, _ = jaxpr_of(Function((*kept, *given), [n for n in outs if n is not None]), Beginning())
        n = len(kept)
        return Jaxpr(whole.invars[:n], whole.invars[n:], whole.outvars, whole.eqns, whole.effects)

    def with_refs(self, *wanted: Any) -> Fun:
        """A pullback that adds the cotangents of some arguments to references, and leaves others out: a reference, a
        `jax.ad.GradValue` or a `jax.ad.DontWant` stands for each."""
        if self.check is not checked_cotangents:
            raise TypeError("with_refs is for what jax.vjp returns")
        return given_to(self, self.primals, wanted)

    def taken_apart(self) -> tuple[Sequence[Any], tuple[LinearGraph, Any]]:
        """What it keeps; its graph, and the structure of the arguments."""
        if self.parts is None:
            assert self.direct is not None
            direct = self.direct
            of_one = (lambda tangents: direct(*tangents)) if self.check is checked_tangents else direct
            graph = LinearGraph(of_one, self.like(), self.check)
            self.parts = graph, [wrap(n) for n in graph.kept]
        graph, kept = self.parts
        return kept, (graph, self.primals)


def put_together(fixed: tuple[LinearGraph, Any], kept: Sequence[Any]) -> LinearMap:
    """The map of that graph that keeps these arrays."""
    graph, primals = fixed
    return LinearMap(None, lambda: None, graph.check, (graph, kept), primals)


register_pytree_node(LinearMap, LinearMap.taken_apart, put_together)


def gives_map(f: Fun, check: Check) -> Fun:
    """`vjp` or `linearize` of `api` as this door shows it: the map that it gives is a tree."""
    inner = through(f, door)

    @functools.wraps(inner)
    def call(fun: Fun, *primals: Any, **options: Any) -> Any:
        out, linear, *aux = inner(fun, *primals, **options)
        like = (lambda: primals) if check is checked_tangents else lambda: out
        leaves, structure = flatten(primals)
        of = None
        if check is checked_cotangents and not aux:
            of = fun, [as_node(x).aval for x in leaves], flatten((primals, {}))[1]
        return out, LinearMap(linear, like, check, primals=structure, of=of), *aux

    del vars(call)["__wrapped__"]
    return call


vjp = of_primals(gives_map(of_following(differentiate.vjp), checked_cotangents))
linearize = of_primals(gives_map(of_following(differentiate.linearize), checked_tangents))
transpose = through(differentiate.linear_transpose, door)


@functools.wraps(transpose)
def linear_transpose(fun: Fun, *primals: Any, **options: Any) -> LinearMap:
    return LinearMap(transpose(fun, *primals, **options), lambda: eval_shape(fun, *primals), checked_results)


def fwd_and_bwd(fun: Fun, argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True) -> tuple[Fun, Fun]:
    """The forward and the backward pass of a function: `fwd(*args)` gives its value and what the backward pass keeps
    (and aux with has_aux), `bwd(kept, ct)` the cotangents of the arguments at `argnums`, for an int that of the one.

    Args:
        jitted: whether both are jitted. The backward pass is then compiled once for all calls of the forward one.
    """

    def fwd(*args: Any, **kwargs: Any) -> Any:
        chosen, primals = pick_arguments(fun, argnums, args, kwargs)
        return vjp(chosen, *primals, has_aux=has_aux)

    def bwd(kept: LinearMap, out_ct: Any) -> Any:
        found = kept(out_ct)
        return found[0] if isinstance(argnums, int) else found

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
