"""`jax.export`: functions traced for arguments of some types, which can be stored and loaded again."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from ..api.ahead import inline
from ..doors import FLOAT0
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..ops.promotion import is_inexact
from ..ops.shape import zeros_of
from ..signatures import Static
from ..transforms.transpose import vjp as vjp_graph
from ..tree import NAMESPACE, argument_at, differences, flatten, unflatten
from . import graph_bytes
from .array import as_node, door, wrap
from .aval import ShapedArray, shaped
from .custom_derivatives import custom_vjp
from .devices import default_backend, lowered_for
from .export_places import Tiles, check_count, context_of, exported_places, over, put, tiles_of
from .jaxpr import ShapeDtypeStruct
from .jaxpr_writer import closed
from .jitted_names import is_jitted_in_jax
from .sharding import NamedSharding
from .spreading import sharding_at
from .stablehlo import Argument, module_text
from .stages import PjitFunction, Stage
from .symbolic import SymbolicScope, evaluated, is_symbolic_dim, sizes, symbolic_shape
from .symbolic_calls import check_one_scope, check_solvable, solved, with_sizes
from .tree_util import PyTreeDef, broadcast, is_tree_node, keystr, tree_flatten_with_path, tree_leaves

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "SymbolicScope",
    "default_export_platform",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "symbolic_args_specs",
    "symbolic_shape",
]
minimum_supported_calling_convention_version, maximum_supported_calling_convention_version = 9, 10


class DisabledSafetyCheck:
    """A check that `export` and `Exported.call` do not make."""

    def __init__(self, _impl: str) -> None:
        self._impl = _impl

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """That a function is called on a platform that it was exported for."""
        return DisabledSafetyCheck("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """That a custom call of XLA's is known to be stable: there are none here."""
        return DisabledSafetyCheck(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The name of the custom call that it is about; None for another check."""
        kind, _, name = self._impl.partition(":")
        return name if kind == "custom_call" else None

    def __str__(self) -> str:
        return self._impl

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DisabledSafetyCheck) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash(self._impl)


class Places(NamedTuple):
    """On how many devices a function runs, and which parts of its arguments and results they have."""

    nr_devices: int = 1
    in_tiles: tuple[Tiles | None, ...] = ()
    out_tiles: tuple[Tiles | None, ...] = ()


@dataclasses.dataclass(frozen=True)
class Exported:
    """A function that was traced for arguments of some types.

    Attributes:
        fun_name: of the function. in_tree, out_tree: structure of `(args, kwargs)` and of the result.
        in_avals, out_avals: types of the leaves. platforms: that it may be called on. nr_devices: on how many it runs.
        mlir_module_serialized: the graph as bytes.
    """

    fun_name: str
    in_tree: Any
    in_avals: tuple[Any, ...]
    out_tree: Any
    out_avals: tuple[Any, ...]
    platforms: tuple[str, ...]
    disabled_safety_checks: Sequence[DisabledSafetyCheck]
    _function: Function = dataclasses.field(repr=False)
    _get_vjp: Callable[[Exported], Exported] | None = dataclasses.field(repr=False)
    _since: int = 1 << 62
    nr_devices: int = 1
    _in_tiles: tuple[Tiles | None, ...] = dataclasses.field(default=(), repr=False)
    _out_tiles: tuple[Tiles | None, ...] = dataclasses.field(default=(), repr=False)
    ordered_effects: tuple[Any, ...] = ()
    unordered_effects: tuple[Any, ...] = ()
    calling_convention_version: int = maximum_supported_calling_convention_version
    uses_global_constants: bool = False

    @property
    def module_kept_var_idx(self) -> tuple[int, ...]:
        """The arguments that the graph has: all."""
        return tuple(range(len(self.in_avals)))

    @property
    def in_shardings_hlo(self) -> tuple[Tiles | None, ...]:
        """For each argument, and there for each device, which part of it that has along each axis."""
        return self._in_tiles or (None,) * len(self.in_avals)

    @property
    def out_shardings_hlo(self) -> tuple[Tiles | None, ...]:
        """The same for each result."""
        return self._out_tiles or (None,) * len(self.out_avals)

    @property
    def mlir_module_serialized(self) -> bytes:
        blob = graph_bytes.Blob()
        return bytes(blob.bytes(blob.function(self._function, self._since)))

    def mlir_module(self, serialized: bool = True) -> str:
        """The function as a module of StableHLO, as text. Raises NotImplementedError where shapes have variables."""
        if not all([isinstance(n, int) for aval in (*self.in_avals, *self.out_avals) for n in aval.shape]):
            raise NotImplementedError("StableHLO with sizes that are not known is not there: export for known shapes")
        jaxpr = closed(self._function, self._since)
        given, results = [[Argument()] * len(avals) for avals in (self.in_avals, self.out_avals)]
        return module_text(self.fun_name, jaxpr, given, results, keep_unused=True)

    def in_shardings_jax(self, mesh: Any) -> tuple[NamedSharding | None, ...]:
        """How the arguments lie on the devices of a mesh; None where nothing is said. Raises ValueError for a mesh on
        which they cannot."""
        return over(mesh, self.in_shardings_hlo)

    def out_shardings_jax(self, mesh: Any) -> tuple[NamedSharding | None, ...]:
        """The same of the results."""
        return over(mesh, self.out_shardings_hlo)

    def __str__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    def has_vjp(self) -> bool:
        """Whether derivatives can be taken."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """The function from the arguments and cotangents of the results, flat, to cotangents of the arguments. Raises
        ValueError where it was not serialized."""
        if self._get_vjp is None:
            raise ValueError("No VJP is available")
        return self._get_vjp(self)

    def _solve(self, shapes: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        """What its variables are where arguments of these names have these shapes. Raises ValueError where they cannot
        be."""
        return solved({name: aval.shape for name, aval in zip(shapes, self.in_avals)}, shapes)

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, for `deserialize`; `vjp_order` says how often derivatives may be taken of it then.

        Raises: NotImplementedError for a function with callbacks, ValueError for trees of types not registered for it.
        """
        blob = graph_bytes.Blob()
        return blob.bytes(described(self, blob, vjp_order))

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The result. Raises ValueError for arguments of other types, on another platform, and on another number of
        devices than it was exported for."""
        here = default_export_platform()
        if here not in self.platforms and DisabledSafetyCheck.platform() not in self.disabled_safety_checks:
            raise ValueError(
                f"Function '{self.fun_name}' was exported for platforms '{self.platforms}' but it is used on "
                f"'{(here,)}'."
            )
        leaves, structure = flatten((args, kwargs))
        if PyTreeDef(structure) != self.in_tree:
            found = [
                f"   - {argument_at(path)} is a {a} in the invocation and a {b} when exported, so {why}.\n"
                for path, a, b, why in differences(structure, self.in_tree.spec)
            ]
            raise ValueError(
                "The invocation args and kwargs must have the same pytree structure as when the function "
                f"'{self.fun_name}' was exported, but they have the following structural differences:\n"
                + "\n".join(found)
            )
        names = names_of(self.in_tree)
        for name, x, aval in zip(names, leaves, self.in_avals):
            check_type(name, as_node(x), aval)
        self._solve(dict(zip(names, [np.shape(x) for x in leaves])))
        check_count(self.fun_name, self.nr_devices, context_of([as_node(x) for x in leaves]))
        found = differentiable(self)(*leaves) if leaves else run(self)
        return unflatten(self.out_tree.spec, found)


def names_of(tree: PyTreeDef) -> list[str]:
    """What errors call the arguments: `args[0]['x']`."""
    paths = tree_flatten_with_path(tree.unflatten(range(tree.num_leaves)))[0]
    return [("kwargs" if path[0].idx else "args") + keystr(path[1:]) for path, _ in paths]


def check_type(name: str, node: Node, aval: Any) -> None:
    """Raise ValueError for an argument of another type. What sizes variables stand for is looked at later."""
    called = f"expected {aval.shape} and called with {node.shape}"
    if len(node.shape) != len(aval.shape):
        raise ValueError(f"Rank mismatch for {name}: {called}")
    for i, (n, wanted) in enumerate(zip(node.shape, aval.shape)):
        if n != wanted and not is_symbolic_dim(wanted):
            raise ValueError(f"Shape mismatch for {name}.shape[{i}] (expected same constant): {called}")
    if node.dtype != aval.plain.dtype:
        raise ValueError(f"Dtype mismatch for {name}: expected {aval.dtype} and called with {node.dtype}")


def run(exported: Exported, *leaves: Any) -> list[Any]:
    """The leaves of the result."""
    nodes = [as_node(x) for x in leaves]
    mesh = context_of(nodes)
    nodes = put(nodes, exported.in_shardings_hlo, mesh)
    values = exported._solve(dict(zip(names_of(exported.in_tree), [n.shape for n in nodes])))
    outs = put(inline(with_sizes(exported._function, values), nodes), exported.out_shardings_hlo, mesh)
    return [np.zeros(evaluated(a.shape, values), FLOAT0) if a.dtype == FLOAT0 else wrap(n)
            for n, a in zip(outs, exported.out_avals)]  # fmt: skip


def differentiable(exported: Exported) -> Callable[..., Any]:
    """The function on leaves, of which the derivative is the exported one."""
    call = custom_vjp(functools.partial(run, exported))

    def backward(args: Any, cts: Any) -> Any:
        live = [ct for ct, a in zip(cts, exported.out_avals) if is_inexact(a.dtype)]
        return tuple(differentiable(exported.vjp())(*args, *live))

    call.defvjp(lambda *args: (run(exported, *args), args), backward)
    return call


def derivative(exported: Exported) -> Exported:
    """The vector-Jacobian product of an exported function, exported."""
    function = exported._function
    inputs = [leaf(n.shape, n.dtype, weak=n.weak, trace=ABSTRACT) for n in function.inputs]
    outs = function(*inputs)
    cts = [leaf(n.shape, n.dtype, trace=ABSTRACT) if is_inexact(n.dtype) else None for n in outs]
    found = vjp_graph(outs, inputs, cts)
    whole = [zeros_of(n) if g is None else g for g, n in zip(found, inputs)]
    given = [*inputs, *[c for c in cts if c is not None]]
    avals = [a.to_tangent_aval() for a in exported.in_avals]
    ins, lie = exported.in_shardings_hlo, exported.out_shardings_hlo
    places = Places(exported.nr_devices, (*ins, *[t for t, c in zip(lie, cts) if c is not None]), ins)
    return make_exported(
        "fun_vjp_jax",
        Function(given, whole),
        tuple_tree(len(given), True),
        tuple_tree(len(whole), False),
        avals,
        exported,
        derivative,
        places=places,
    )


def tuple_tree(n: int, arguments: bool) -> PyTreeDef:
    """The structure of n leaves in a tuple, or of that as positional arguments."""
    return PyTreeDef(flatten(((0,) * n, {}) if arguments else (0,) * n)[1])


def make_exported(
    name: str,
    function: Function,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    out_avals: Sequence[Any] | None,
    like: Any,
    get_vjp: Any,
    since: int = 1 << 62,
    places: Places | None = None,
) -> Exported:
    outs = [shaped(n.aval, sharding_at(n)) for n in function.outputs] if out_avals is None else out_avals
    ins = tuple([shaped(n.aval, sharding_at(n)) for n in function.inputs])
    return Exported(
        name, in_tree, ins, out_tree, tuple(outs), tuple(like.platforms),
        tuple(like.disabled_safety_checks), function, get_vjp, since, *(places or Places()),
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class How:
    """What a function is exported for."""

    platforms: tuple[str, ...]
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...]


def default_export_platform() -> str:
    """The platform that functions run on here."""
    return lowered_for(default_backend())


def export(
    fun_jit: Any,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
    _override_lowering_rules: Any = None,
) -> Callable[..., Exported]:
    """A function from arguments, arrays or `ShapeDtypeStruct`s, to what `fun_jit` is for such ones.

    Raises: ValueError for a function that is not jitted.
    """
    if is_jitted_in_jax(fun_jit):
        fun_jit = PjitFunction(fun_jit, door, Static())
    if not isinstance(fun_jit, PjitFunction):
        raise ValueError(f"Function to be exported must be the result of `jit` but is: {fun_jit}")
    how = How(tuple(platforms or (default_export_platform(),)), tuple(disabled_checks))

    def do_export(*args_specs: Any, **kwargs_specs: Any) -> Exported:
        whole = PyTreeDef(flatten((args_specs, kwargs_specs))[1])
        check_one_scope(shapes_of(whole, args_specs, kwargs_specs), fun_jit._fun)
        traced = fun_jit.trace(*args_specs, **kwargs_specs)
        static = dict(traced._call.statics)
        args = tuple([x for i, x in enumerate(args_specs) if i not in static and i - len(args_specs) not in static])
        kwargs = {k: x for k, x in kwargs_specs.items() if k not in static}
        in_tree = PyTreeDef(flatten((args, kwargs))[1])
        check_solvable(shapes_of(in_tree, args, kwargs))
        return of_stage(traced, in_tree, how)

    return do_export


def shapes_of(tree: PyTreeDef, args: Any, kwargs: Any) -> dict[str, tuple[Any, ...]]:
    """The shapes of arguments, by their names."""
    return {n: np.shape(x) for n, x in zip(names_of(tree), flatten((args, kwargs))[0])}


def of_stage(stage: Stage, in_tree: PyTreeDef, how: How) -> Exported:
    """A function that was traced, as an exported one. `in_tree`: of its arguments but for those that are static."""
    function = stage._entry.function
    count, given, results = exported_places(stage)
    ins = tuple([tiles_of(s, n.ndim) for s, n in zip(given, function.inputs)])
    places = Places(count, ins, tuple([tiles_of(s, n.ndim) for s, n in zip(results, function.outputs)]))
    return make_exported(
        stage.fun_name, function, in_tree, stage.out_tree, None, how, derivative, stage._entry.since, places
    )


# --- Bytes ------------------------------------------------------------------------------------------------------------


def described(exported: Exported, blob: graph_bytes.Blob, vjp_order: int) -> Any:
    checks = [str(c) for c in exported.disabled_safety_checks]
    return {
        "name": exported.fun_name,
        "in_tree": graph_bytes.tree(exported.in_tree.spec),
        "out_tree": graph_bytes.tree(exported.out_tree.spec),
        "float0": [a.dtype == FLOAT0 for a in exported.out_avals],
        "platforms": list(exported.platforms),
        "checks": checks,
        "places": [exported.nr_devices, exported.in_shardings_hlo, exported.out_shardings_hlo],
        "constraints": next((list(d.scope.texts) for d in sizes([a.shape for a in exported.in_avals])), []),
        "function": blob.function(exported._function, exported._since),
        "vjp": described(exported.vjp(), blob, vjp_order - 1) if vjp_order > 0 else None,
    }


def deserialize(blob: bytes | bytearray) -> Exported:
    """The function that `Exported.serialize` has written. Raises ValueError for other bytes."""
    return restored(*graph_bytes.read(blob))


def restored(blob: graph_bytes.Blob, text: Any) -> Exported:
    blob.scope = SymbolicScope(text["constraints"])
    function = blob.read_function(text["function"])
    avals = [ShapedArray(n.shape, FLOAT0) if zero else ShapedArray(*n.aval)
             for n, zero in zip(function.outputs, text["float0"])]  # fmt: skip
    trees = [PyTreeDef(graph_bytes.read_tree(text[k])) for k in ("in_tree", "out_tree")]
    how = How(tuple(text["platforms"]), tuple([DisabledSafetyCheck(c) for c in text["checks"]]))
    later = None if text["vjp"] is None else restored(blob, text["vjp"])
    get_vjp = None if later is None else lambda _: later
    count, ins, outs = text["places"]
    places = Places(count, *[tuple([t and tuple([tuple(p) for p in t]) for t in tiles]) for tiles in (ins, outs)])
    return make_exported(text["name"], function, trees[0], trees[1], avals, how, get_vjp, places=places)


def register_pytree_node_serialization(
    nodetype: type,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[..., Any],
    deserialize_auxdata: Callable[..., Any],
    from_children: Callable[..., Any] | None = None,
) -> type:
    """Let trees with nodes of a type be serialized, under that name. `from_children(aux, children)` makes a node; by
    default as the tree registry does.

    Raises: ValueError for a type or a name that is registered already.
    """
    if nodetype in graph_bytes.kinds:
        raise ValueError(
            f"Duplicate serialization registration for type `{nodetype}`. Previous registration was with "
            f"serialized_name `{graph_bytes.kinds[nodetype].name}`."
        )
    if serialized_name in graph_bytes.by_name:
        raise ValueError(
            f"Duplicate serialization registration for serialized_name `{serialized_name}`. Previous registration was "
            f"for type `{graph_bytes.by_name[serialized_name][0]}`."
        )
    if from_children is None and not is_tree_node(nodetype):
        raise ValueError(
            "If `from_children` is not present, you must call first `jax.tree_util.register_pytree_node` for "
            f"`{nodetype}`"
        )

    def build(aux: Any, children: Any) -> Any:
        entry = optree.register_pytree_node.get(nodetype, namespace=NAMESPACE)
        return entry.unflatten_func(aux, children)

    kind = graph_bytes.Kind(serialized_name, serialize_auxdata, deserialize_auxdata, from_children or build)
    graph_bytes.kinds[nodetype], graph_bytes.by_name[serialized_name] = kind, (nodetype, kind)
    return nodetype


def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Let trees with these named tuples be serialized, under that name. Raises ValueError for another type."""
    if not (isinstance(nodetype, type) and issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(
            "Use `jax.export.register_pytree_node_serialization` for types other than `collections.namedtuple`."
        )
    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda aux: b"",
        deserialize_auxdata=lambda data: None,
        from_children=lambda aux, children: nodetype(*children),
    )


# --- Shapes with variables ------------------------------------------------------------------------------------------


def symbolic_args_specs(args: Any, shapes_specs: Any, constraints: Sequence[str] = (), scope: Any = None) -> Any:
    """`ShapeDtypeStruct`s for arguments, with the shapes that a text, or a tree of texts, says.

    Args:
        shapes_specs: a prefix of the arguments' tree; None where an argument's own shape is meant.
        constraints, scope: of the variables, of which one may be given.

    Raises: ValueError for texts that are no shapes, or whose tree is no prefix of the arguments'.
    """
    if constraints and scope is not None:
        raise ValueError("Cannot use both `scope` and `constraints`")
    one = scope or SymbolicScope(constraints)
    leaves, structure = flatten(args)

    def is_none(x: Any) -> bool:
        return x is None

    whole = broadcast(shapes_specs, args, is_none, "export.symbolic_args_specs shapes_specs")
    texts = tree_leaves(whole, is_none)
    made = [
        ShapeDtypeStruct(symbolic_shape(t, scope=one, like=np.shape(x)), as_node(x).dtype)
        for x, t in zip(leaves, texts)
    ]
    return unflatten(structure, made)
