# `jax.jit` behind the JAX door: functions that have the stages too. Written by hand.
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from .._transformations import Jit
from .stages import Lowered, Traced

_P = ParamSpec("_P")
_R = TypeVar("_R")

class PjitFunction(Jit[_P, _R]):
    @overload
    def __get__(self, instance: None, owner: Any = None) -> PjitFunction[_P, _R]: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> Callable[..., _R]: ...
    def trace(self, *args: Any, **kwargs: Any) -> Traced: ...
    def lower(self, *args: Any, **kwargs: Any) -> Lowered: ...
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any: ...

@overload
def jit(
    fun: Callable[_P, _R],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    device: Any = None,
    backend: str | None = None,
    abstracted_axes: Any = None,
    compiler_options: Any = None,
) -> PjitFunction[_P, _R]: ...
@overload
def jit(
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    device: Any = None,
    backend: str | None = None,
    abstracted_axes: Any = None,
    compiler_options: Any = None,
) -> Callable[[Callable[_P, _R]], PjitFunction[_P, _R]]: ...
