# The transformations of both doors: a function keeps its parameters (`P`) and, where it does, its result (`R`).
# Written by hand.
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])
_Carry = TypeVar("_Carry")
_X = TypeVar("_X")
_Y = TypeVar("_Y")

class Jit(Generic[_P, _R]):
    __name__: str
    __wrapped__: Callable[_P, _R]
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    # As a method it is called with any arguments: mypy loses those of `functools.partial(jit, static_argnums=0)` otherwise.
    @overload
    def __get__(self, instance: None, owner: Any = None) -> Jit[_P, _R]: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> Callable[..., _R]: ...
    def clear_cache(self) -> None: ...

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
) -> Jit[_P, _R]: ...
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
) -> Callable[[Callable[_P, _R]], Jit[_P, _R]]: ...
def grad(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[_P, Any]: ...
def value_and_grad(
    fun: Callable[_P, _R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[_P, tuple[_R, Any]]: ...
def vmap(
    fun: Callable[_P, _R],
    in_axes: int | None | Sequence[Any] = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[_P, _R]: ...
def jacfwd(
    fun: Callable[_P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[_P, Any]: ...
def jacrev(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[_P, Any]: ...

jacobian = jacrev

def hessian(
    fun: Callable[_P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[_P, Any]: ...
def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> tuple[Any, ...]: ...
def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()
) -> tuple[Any, ...]: ...
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]: ...
def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[..., Any]: ...
def stop_gradient(x: _T) -> _T: ...
def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]: ...
@overload
def checkpoint(
    fun: Callable[_P, _R],
    *,
    prevent_cse: bool = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    concrete: bool = False,
) -> Callable[_P, _R]: ...
@overload
def checkpoint(
    *,
    prevent_cse: bool = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    concrete: bool = False,
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...

remat = checkpoint

class custom_jvp(Generic[_P, _R]):
    fun: Callable[_P, _R]
    def __init__(
        self, fun: Callable[_P, _R], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def defjvp(self, jvp: _F, symbolic_zeros: bool = False) -> _F: ...
    def defjvps(self, *jvps: Callable[..., Any] | None) -> None: ...

class custom_vjp(Generic[_P, _R]):
    fun: Callable[_P, _R]
    def __init__(
        self, fun: Callable[_P, _R], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None: ...

def custom_gradient(fun: Callable[_P, tuple[_R, Any]]) -> Callable[_P, _R]: ...
def scan(
    f: Callable[[_Carry, _X], tuple[_Carry, _Y]],
    init: _Carry,
    xs: _X | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[_Carry, _Y]: ...
def while_loop(cond_fun: Callable[[_T], Any], body_fun: Callable[[_T], _T], init_val: _T) -> _T: ...
def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any: ...
def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any, operand: Any = ...
) -> Any: ...
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = ...) -> Any: ...
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any: ...
