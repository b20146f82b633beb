"""Functions with transformations around them, and what these report besides the result: `jax.extend.linear_util`."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

__all__ = [
    "StoreException",
    "WrappedFun",
    "cache",
    "merge_linear_aux",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "wrap_init",
]
Fun = Callable[..., Any]


class StoreException(Exception):
    """A store was read before it was written, or written twice."""


EMPTY: Any = object()


class Store:
    """What a transformation reports when the function runs; written once."""

    def __init__(self) -> None:
        self.kept = EMPTY

    def store(self, val: Any) -> None:
        """Write it. Raises StoreException where something is there."""
        if self.kept is not EMPTY:
            raise StoreException("Store occupied")
        self.kept = val

    def reset(self) -> None:
        """Make it empty."""
        self.kept = EMPTY

    @property
    def val(self) -> Any:
        """What is in it. Raises StoreException where that is nothing."""
        if self.kept is EMPTY:
            raise StoreException("Store empty")
        return self.kept

    def __call__(self) -> Any:
        return self.val


class WrappedFun:
    """A function under transformations.

    Attributes:
        f: the user's function. transforms: the transformations, the outermost first, with their static arguments.
        params: keyword arguments of f. debug_info: where f comes from.
    """

    __slots__ = ("f", "f_transformed", "transforms", "stores", "params", "debug_info")

    def __init__(
        self,
        f: Fun,
        f_transformed: Fun,
        transforms: tuple[Any, ...],
        stores: tuple[Store | None, ...],
        params: dict[str, Any],
        debug_info: Any,
    ) -> None:
        self.f, self.f_transformed, self.transforms = f, f_transformed, transforms
        self.stores, self.params, self.debug_info = stores, params, debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed wrapped function>")

    def wrap(self, gen: Fun, gen_static_args: tuple[Any, ...], out_store: Store | None) -> WrappedFun:
        """With one more transformation around it: `gen(f, [store,] *static, *args, **kwargs)`."""
        given = gen_static_args if out_store is None else (out_store, *gen_static_args)
        new = functools.partial(gen, self.f_transformed, *given)
        transforms, stores = ((gen, gen_static_args), *self.transforms), (out_store, *self.stores)
        return WrappedFun(self.f, new, transforms, stores, self.params, self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """The transformed function's result."""
        return self.f_transformed(*args, **kwargs)

    def with_unknown_names(self) -> WrappedFun:
        """The same."""
        return self

    def __repr__(self) -> str:
        return f"Wrapped function:\n{self.transforms}\nCore: {self.__name__}"

    def __hash__(self) -> int:
        return hash((self.f, self.transforms, tuple(sorted(self.params.items()))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and (self.f, self.transforms, self.params) == (
            other.f,
            other.transforms,
            other.params,
        )


def wrap_init(f: Fun, params: dict[str, Any] | None = None, *, debug_info: Any = None) -> WrappedFun:
    """A function without transformations, with some keyword arguments held fixed."""
    params = params or {}
    return WrappedFun(f, functools.partial(f, **params) if params else f, (), (), params, debug_info)


def transformation2(gen: Fun) -> Fun:
    """`gen(f, *static, *args, **kwargs)` as a transformation `(wrapped, *static) -> wrapped`."""
    return lambda fun, *static: fun.wrap(gen, static, None)


def transformation_with_aux2(gen: Fun) -> Fun:
    """`gen(f, store, *static, *args, **kwargs)` as `(wrapped, *static) -> wrapped, what gives the stored value`."""

    def transform(fun: WrappedFun, *static: Any) -> Any:
        store = Store()
        return fun.wrap(gen, static, store), store

    return transform


def run_generator(gen: Fun, f: Fun, static: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
    """Run a transformation that yields the arguments, is sent the result, and yields its own."""
    steps = gen(*static, *args, **kwargs)
    inner_args, inner_kwargs = next(steps)
    out = steps.send(f(*inner_args, **inner_kwargs))
    steps.close()
    return out


def transformation(gen: Fun) -> Fun:
    """A generator `gen(*static, *args)` that yields arguments, then the result, as `(wrapped, *static) -> wrapped`."""

    def transform(fun: WrappedFun, *static: Any) -> WrappedFun:
        def call(f: Fun, *args: Any, **kwargs: Any) -> Any:
            return run_generator(gen, f, static, args, kwargs)

        return fun.wrap(call, (), None)

    return transform


def transformation_with_aux(gen: Fun) -> Fun:
    """The same, for a generator that yields the result and what is stored."""

    def transform(fun: WrappedFun, *static: Any) -> Any:
        store = Store()

        def call(f: Fun, store: Store, *args: Any, **kwargs: Any) -> Any:
            out, aux = run_generator(gen, f, static, args, kwargs)
            store.store(aux)
            return out

        return fun.wrap(call, (), store), store

    return transform


def merge_linear_aux(aux1: Fun, aux2: Fun) -> tuple[bool, Any]:
    """Whether the first store was written, and the value of the one that was.

    Raises: StoreException where none was, or both.
    """
    found = []
    for first, aux in ((True, aux1), (False, aux2)):
        try:
            found.append((first, aux()))
        except StoreException:
            continue
    if len(found) != 1:
        raise StoreException("neither store occupied" if not found else "both stores occupied")
    return found[0]


def cache(call: Fun, *, explain: Any = None) -> Fun:
    """A function of a wrapped function and hashable arguments that remembers its results."""
    tables: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()

    @functools.wraps(call)
    def cached(fun: WrappedFun, *args: Any) -> Any:
        table = tables.setdefault(fun.f, {})
        key = (fun.transforms, tuple(sorted(fun.params.items())), args)
        if key in table:
            out, stores = table[key]
            for ours, theirs in zip(fun.stores, stores):
                if ours is not None and theirs is not None and theirs.kept is not EMPTY:
                    ours.store(theirs.kept)
            return out
        out = call(fun, *args)
        table[key] = out, fun.stores
        return out

    cached.cache_clear = tables.clear  # type: ignore[attr-defined]
    return cached
