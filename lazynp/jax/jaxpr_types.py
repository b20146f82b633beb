"""What jaxprs consist of: variables, literals, equations, graphs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import Node
from .aval import ShapedArray
from .bind import Primitive
from .jaxpr_text import equation_text, literal_text, pretty
from .source_info import SourceInfo


def shaped_of(aval: Aval | ShapedArray) -> ShapedArray:
    """What users see of an abstract value."""
    return aval if isinstance(aval, ShapedArray) else ShapedArray(*aval)


class Var:
    """A variable: the result of an equation, an argument or a constant. `unused`: nothing reads it. The type of one
    that stands for a reference is an `AbstractRef`."""

    __slots__ = ("aval", "unused")

    def __init__(self, aval: Aval | ShapedArray) -> None:
        self.aval: Any = shaped_of(aval)
        self.unused = False

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{str(self.aval).removeprefix('~')}"


class DropVarMeta(type):
    """Variables that nothing reads."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Var) and instance.unused


class DropVar(Var, metaclass=DropVarMeta):
    """What variables that nothing reads are instances of."""

    def __init__(self, aval: Aval | ShapedArray) -> None:
        super().__init__(aval)
        self.unused = True


class Literal:
    """A scalar constant."""

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: Aval | ShapedArray) -> None:
        self.aval = shaped_of(aval)
        other = isinstance(val, np.ndarray) and val.dtype != self.aval.dtype
        self.val = val.astype(self.aval.dtype) if other else val

    def __repr__(self) -> str:
        return f"Literal({literal_text(self).rpartition(':')[0]})"


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class JaxprEqn:
    """One operation: `outvars = primitive[params] invars`."""

    primitive: Primitive
    invars: list[Any]
    outvars: list[Var]
    params: dict[str, Any]
    effects: frozenset[Any] = frozenset()
    source_info: SourceInfo = dataclasses.field(default_factory=SourceInfo)

    def replace(self, **changes: Any) -> JaxprEqn:
        """With some of it replaced."""
        return dataclasses.replace(self, **changes)

    def __str__(self) -> str:
        return equation_text(self)

    __repr__ = __str__


class Jaxpr:
    """A graph: constants, arguments, equations, results.

    Attributes:
        source: the function that it shows, and the nodes of its constants; None for one that was put together.
    """

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Any],
        eqns: Sequence[JaxprEqn],
        effects: frozenset[Any] = frozenset(),
        debug_info: Any = None,
        is_high: bool = False,
        source: tuple[Function, list[Node]] | None = None,
    ) -> None:
        self.constvars, self.invars = list(constvars), list(invars)
        self.outvars, self.eqns = list(outvars), list(eqns)
        self.effects, self.debug_info, self.is_high, self.source = effects, debug_info, is_high, source
        read = {v for e in eqns for v in e.invars if isinstance(v, Var)}
        read.update([v for v in outvars if isinstance(v, Var)])
        for v in [v for e in eqns for v in e.outvars]:
            v.unused = v not in read

    def replace(self, **changes: Any) -> Jaxpr:
        """With some of it replaced."""
        now = {k: getattr(self, k) for k in ("constvars", "invars", "outvars", "eqns", "effects", "debug_info")}
        return Jaxpr(**{**now, **changes})

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.outvars]

    pretty_print = pretty

    def __str__(self) -> str:
        return pretty(self)

    __repr__ = __str__


class ClosedJaxpr:
    """A graph with the values of its constants."""

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any]) -> None:
        self.jaxpr, self.consts = jaxpr, list(consts)

    def replace(self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None) -> ClosedJaxpr:
        """With some of it replaced."""
        return ClosedJaxpr(jaxpr or self.jaxpr, self.consts if consts is None else consts)

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """With what f makes of the graph."""
        return ClosedJaxpr(f(self.jaxpr), self.consts)

    @property
    def constvars(self) -> list[Var]:
        return self.jaxpr.constvars

    @property
    def invars(self) -> list[Var]:
        return self.jaxpr.invars

    @property
    def outvars(self) -> list[Any]:
        return self.jaxpr.outvars

    @property
    def eqns(self) -> list[JaxprEqn]:
        return self.jaxpr.eqns

    @property
    def in_avals(self) -> list[ShapedArray]:
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.jaxpr.out_avals

    @property
    def literals(self) -> list[Any]:
        return self.consts

    @property
    def effects(self) -> frozenset[Any]:
        return self.jaxpr.effects

    @property
    def debug_info(self) -> Any:
        return self.jaxpr.debug_info

    @property
    def is_high(self) -> bool:
        return self.jaxpr.is_high

    pretty_print = pretty

    def __str__(self) -> str:
        return pretty(self)

    __repr__ = __str__
