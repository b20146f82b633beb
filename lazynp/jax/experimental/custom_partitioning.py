"""`jax.experimental.custom_partitioning`: functions that say themselves what each device computes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...tree import flatten, map, unflatten
from ..array import Array, as_node, wrap
from ..custom_derivatives import custom_jvp
from ..jaxpr import eval_shape
from ..lax import with_sharding_constraint
from ..mapping import shard_map
from ..shape_struct import ShapeDtypeStruct
from ..sharding import NamedSharding, PartitionSpec, Sharding, current, default_mesh
from ..sharding_rules import BATCHING, ArrayMapping, CompoundFactor, SdyShardingRule, parse, splits_by
from ..spreading import named_sharding, note, sharding_at, split_of
from ..spreading import state as spreading

__all__ = ["BATCHING", "ArrayMapping", "CompoundFactor", "SdyShardingRule", "custom_partitioning"]


class custom_partitioning:
    """A function of arrays on several devices, each of which computes what `def_partition` says.

    Where nothing is split, the function itself is called. Arguments by number in `static_argnums` are Python values.
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: Any = ()) -> None:
        self.fun, self.static_argnums = fun, tuple(static_argnums)
        self.partition: Callable[..., Any] | None = None
        self.infer_sharding_from_operands: Callable[..., Any] | None = None
        self.propagate_user_sharding: Callable[..., Any] | None = None
        self.sharding_rule: SdyShardingRule | Callable[..., Any] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["fun"], name)

    def def_partition(
        self,
        partition: Callable[..., Any],
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: Any = None,
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> Callable[..., Any]:
        """Say what each device computes.

        `partition(mesh, arg_shapes, result_shapes)` gets types with shardings, and gives a mesh, the function of the
        parts that one device has, the shardings of the results, and those that the arguments have to have. How results
        lie is found by `sharding_rule`: an `SdyShardingRule`, a text like `"... i, i j -> ... j"`, or a function
        of a mesh and of the types of arguments and results that gives one of these.

        Raises: NotImplementedError for `decode_shardings=False`: there are no shardings of XLA's here.
        """
        if not decode_shardings:
            raise NotImplementedError("decode_shardings=False: partition gets shardings of a mesh, never XLA's own")
        self.partition, self.infer_sharding_from_operands = partition, infer_sharding_from_operands
        self.propagate_user_sharding = propagate_user_sharding
        special = {
            "reduction_factors": reduction_factors,
            "need_replication_factors": need_replication_factors,
            "permutation_factors": permutation_factors,
        }
        if sharding_rule is None or callable(sharding_rule) or isinstance(sharding_rule, SdyShardingRule):
            unknown = factor_sizes | {k: v for k, v in special.items() if v}
            if unknown:
                raise ValueError(f"Unknown keyword arguments: {unknown}")
            self.sharding_rule = sharding_rule
        else:
            self.sharding_rule = parse(sharding_rule, **special, **factor_sizes)
        return partition

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError("keyword arguments could not be resolved to positions")
        if self.sharding_rule is None and (self.propagate_user_sharding or self.infer_sharding_from_operands):
            raise NotImplementedError(
                "Shardy is used, but sharding propagation callbacks instead of sharding_rule are provided. Need to "
                "provide sharding_rule to migrate to Shardy."
            )
        fixed = {i: bound.args[i] for i in self.static_argnums}
        given = map(lambda v: wrap(as_node(v)), tuple([x for i, x in enumerate(bound.args) if i not in fixed]))

        def whole(*arrays: Any) -> Any:
            rest = iter(arrays)
            return self.fun(*[fixed[i] if i in fixed else next(rest) for i in range(len(bound.args))])

        mesh = self._mesh(given) if spreading.on else None
        run = undifferentiated(whole if mesh is None else self._over(mesh, whole, tuple(fixed.values()), given))
        return run(*given)

    def _mesh(self, given: tuple[Any, ...]) -> Any:
        """The mesh over which the arguments lie, else the one around; None where there is none."""
        for x in flatten(given)[0]:
            if isinstance(x, Array):
                note(x.node)
                lies = sharding_at(x.node)
                if isinstance(lies, NamedSharding):
                    return lies.mesh
        around = current.entered[-1] if current.entered else default_mesh()
        return None if around.empty or around.manual_axes else around

    def _over(self, mesh: Any, whole: Callable[..., Any], fixed: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        """The function of all devices of a mesh, of arguments that lie as these do."""
        leaves, tree = flatten(given)
        types = [eval_shape(lambda v: v, x) for x in leaves]
        results, out_tree = flatten(eval_shape(whole, *given))
        lies = [
            split_of(sharding_at(x.node), t.ndim) if isinstance(x, Array) else ((),) * t.ndim
            for x, t in zip(leaves, types)
        ]
        rule = self.sharding_rule
        if rule is not None and not isinstance(rule, SdyShardingRule):
            rule = rule(*fixed, mesh, unflatten(tree, types), unflatten(out_tree, results))
            rule = rule if isinstance(rule, SdyShardingRule) else parse(rule)
        if rule is None:
            gives = [((),) * t.ndim for t in results]
        else:
            lies, gives = splits_by(rule, lies, [t.ndim for t in results])

        def lying(types: Any, splits: Any) -> Any:
            placed = [named_sharding(mesh, s, t.ndim) for t, s in zip(types, splits)]
            return [ShapeDtypeStruct(t.shape, t.dtype, sharding=s) for t, s in zip(types, placed)]

        assert self.partition is not None, "def_partition has not been called"
        shapes = unflatten(tree, lying(types, lies)), unflatten(out_tree, lying(results, gives))
        over, part, outs, ins = self.partition(*fixed, mesh, *shapes)
        specs = {"in_specs": specs_of(ins), "out_specs": specs_of(outs)}
        mapped = shard_map(lambda *parts: part(*parts), mesh=over, check_vma=False, **specs)
        if rule is None:
            return mapped
        to = unflatten(out_tree, [named_sharding(mesh, s, t.ndim) for t, s in zip(results, gives)])
        return lambda *arrays: with_sharding_constraint(mapped(*arrays), to)


def specs_of(tree: Any) -> Any:
    """The specs of a tree of shardings. Raises ValueError for what is no sharding."""
    leaves, structure = flatten(tree, is_leaf=lambda s: isinstance(s, Sharding))
    if not all([isinstance(s, Sharding) for s in leaves]):
        raise ValueError("Custom Partitioning rules must return Sharding.")
    return unflatten(structure, [getattr(s, "spec", PartitionSpec()) for s in leaves])


def undifferentiated(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which has no derivative."""

    def none(primals: Any, tangents: Any) -> Any:
        raise NotImplementedError("Differentiation rule for 'custom_partitioning' not implemented")

    out = custom_jvp(f)
    out.defjvp(none)
    return out
