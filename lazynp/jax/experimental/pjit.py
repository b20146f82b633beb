"""`jax.experimental.pjit`: `jax.jit` by its former name, over the mesh that was entered by `with mesh:`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tree import flatten, unflatten
from ..jit_places import check_places
from ..jitting import jit
from ..mesh import NONE, Mesh, Setting
from ..placement import is_where, no_mesh
from ..sharding import NamedSharding, PartitionSpec, current
from ..specs import UNSPECIFIED
from ..stages import PjitFunction, Traced

__all__ = ["pjit"]


def pjit(
    fun: Callable[..., Any], in_shardings: Any = UNSPECIFIED, out_shardings: Any = UNSPECIFIED, **options: Any
) -> Any:
    """`jax.jit`, whose PartitionSpecs are over the mesh of the `with mesh:` around a call; None: on all its devices."""
    made = jit(fun, make=Entered, **options)
    made._places = tuple(
        [
            said if said is UNSPECIFIED else check_places(said, parameter)
            for said, parameter in ((in_shardings, "in_shardings"), (out_shardings, "out_shardings"))
        ]
    )
    made._make = lambda ins, outs: jit(fun, in_shardings=ins, out_shardings=outs, **options)
    return made


class Entered(PjitFunction):
    """A jitted function for which the mesh that was entered is the one that is set.

    Attributes:
        _places: what `in_shardings` and `out_shardings` say. _make: the jitted function for those of a mesh.
    """

    _places: tuple[Any, Any]
    _make: Callable[..., PjitFunction]

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        mesh = entered()
        with Setting(mesh):
            return self._over(mesh)(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace it for these arguments, arrays or `ShapeDtypeStruct`s."""
        mesh = entered()
        with Setting(mesh):
            return self._over(mesh).trace(*args, **kwargs)

    def _over(self, mesh: Mesh) -> PjitFunction:
        """The function for that mesh."""
        functions: dict[Mesh, PjitFunction] = vars(self).setdefault("_functions", {})
        if mesh not in functions:
            ins, outs = [over(mesh, *said) for said in zip(self._places, ("in_shardings", "out_shardings"))]
            functions[mesh] = self._make(ins, outs)
        return functions[mesh]

    def clear_cache(self) -> None:
        """Forget all that was traced."""
        for f in vars(self).pop("_functions", {}).values():
            f.clear_cache()

    def _cache_size(self) -> int:
        """For how many signatures, ways in which arguments lie, and meshes the function has been traced."""
        return sum([f._cache_size() for f in vars(self).get("_functions", {}).values()])


def entered() -> Mesh:
    """The mesh of the innermost `with mesh:`; an empty one where there is none."""
    return current.entered[-1] if current.entered else NONE


def over(mesh: Mesh, said: Any, parameter: str) -> Any:
    """What `in_shardings` or `out_shardings` says, over that mesh. Raises RuntimeError for a spec where it is empty."""
    if said is UNSPECIFIED:
        return None
    leaves, tree = flatten(said, is_leaf=is_where)
    if mesh.empty and any([isinstance(x, PartitionSpec) for x in leaves]):
        raise RuntimeError(no_mesh("pjit", parameter))
    if not mesh.empty:
        leaves = [PartitionSpec() if x is None else x for x in leaves]
        leaves = [NamedSharding(mesh, x) if isinstance(x, PartitionSpec) else x for x in leaves]
    return unflatten(tree, leaves)
