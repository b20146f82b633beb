"""Random keys: typed ones (arrays of a dtype of their own) and raw ones (uint32 words), and how they are made."""

from __future__ import annotations

import functools
import inspect
import math
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...backends.numpy import keyed  # noqa: F401  (the lowerings of ops.random)
from ...doors import doors
from ...errors import type_name
from ...graph.node import ABSTRACT, Node
from ...ops.elementwise import add, convert
from ...ops.random import random_clone
from ...ops.shape import slice_
from ...runtime.reuse import born, cut, share, use
from ...tracebacks import leave
from .. import array as arrays
from ..array import Array, as_node, door, is_arraylike
from ..at_once import apply
from ..config import flags
from ..dtypes import KEY_TYPES, KIND_OF, prng_key
from .arguments import canonical_shape
from .implementations import (
    IMPLS,
    PRNGImpl,
    keys_of,
    partitionable,
    random_fold_in,
    random_seed,
    random_split,
    record,
    words_of,
)


class PRNGSpec:
    """What stands for a generator where its name does not."""

    def __init__(self, impl: PRNGImpl) -> None:
        self._impl = impl

    def __repr__(self) -> str:
        return f"PRNGSpec({self._impl.name!r})"

    def __str__(self) -> str:
        return str(self._impl)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PRNGSpec) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash(self._impl)


class KeyTy:
    """The dtype of typed keys: `key<fry>`."""

    type = prng_key

    def __init__(self, impl: PRNGImpl) -> None:
        self._impl = impl

    @property
    def name(self) -> str:
        return f"key<{self._impl.tag}>"

    @property
    def itemsize(self) -> int:
        """Bytes."""
        return 4 * math.prod(self._impl.key_shape)

    @property
    def words(self) -> np.dtype[Any]:
        """The record that a key is in the graph."""
        return record(self._impl)

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, np.dtype):
            return other == self.words
        return type(other) is KeyTy and self._impl == other._impl

    def __hash__(self) -> int:
        return hash((KeyTy, self._impl))


def key_record(impl: PRNGImpl) -> Any:
    """The dtype of a generator's keys in the graph, whose arrays are arrays of keys from then on."""
    dtype = record(impl)
    if dtype not in KEY_TYPES:
        KEY_TYPES[dtype] = KeyTy(impl)
        arrays.records[dtype] = PRNGKeyArray
    return dtype


def forwarded(name: str) -> Callable[..., Any]:
    """A method of arrays that moves keys; with `jax_debug_key_reuse` the results are known to be the same keys."""
    method = getattr(Array, name)

    def call(self: PRNGKeyArray, *args: Any, **kwargs: Any) -> Any:
        out = method(self, *args, **kwargs)
        if flags.debug_key_reuse:
            share(out.node, self.node, lambda place: getattr(place, name)(*args, **kwargs))
        return out

    call.__name__, call.__doc__ = name, method.__doc__
    return call


def is_slicing(key: Any) -> bool:
    """Whether an index has numbers and slices of numbers only."""
    for part in key if isinstance(key, tuple) else (key,):
        bounds = (part.start, part.stop, part.step) if isinstance(part, slice) else (part,)
        if not all([b is None or b is Ellipsis or type(b) is int or isinstance(b, np.integer) for b in bounds]):
            return False
    return True


class PRNGKeyArray(Array):
    """An array of random keys. It indexes, reshapes and joins as other arrays do, and has no arithmetic."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        h = self._host
        return KEY_TYPES[self.node.dtype if h is None else h.dtype]

    @property
    def _impl(self) -> PRNGImpl:
        impl: PRNGImpl = self.dtype._impl
        return impl

    @property
    def _base_array(self) -> Array:
        out: Array = apply(words_of, self.node)
        return out

    def __getitem__(self, key: Any) -> Any:
        out = super().__getitem__(key)
        if flags.debug_key_reuse:
            note = cut if out.size < self.size and is_slicing(key) else share
            note(out.node, self.node, lambda place: place[key])
        return out

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d key array")
        return (self._row(i) for i in range(self.shape[0]))

    def _row(self, i: int) -> Any:
        """The keys at a place, for a loop over all of them: as in JAX nothing is noted but in a traced function."""
        out = super().__getitem__(i)
        if flags.debug_key_reuse and self.node.trace == ABSTRACT:
            share(out.node, self.node, lambda place: place[i])
        return out

    def __bool__(self) -> bool:
        raise TypeError("key array cannot be converted to boolean.")

    def __array__(self, dtype: Any = None, context: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            "JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use jax.random.key_data(arr) if you "
            "wish to extract the underlying integer array."
        )

    def _scalar(self, what: str) -> Any:
        text = "a string, a bytes-like object or a real number" if what == "int" else "a string or a real number"
        raise TypeError(f"{what}() argument must be {text}, not 'PRNGKeyArray'")

    def __repr__(self) -> str:
        node = self._graph
        if node is not None and node.trace == ABSTRACT:
            return type_name(node)
        return f"Array({self.shape}, dtype={self.dtype.name}) overlaying:\n{self._base_array}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "all", "__eq__")

    def __ne__(self, other: object) -> Any:
        return self._compare(other, "any", "__ne__")

    def _compare(self, other: Any, combine: str, operator: str) -> Any:
        if not isinstance(other, PRNGKeyArray) or other.dtype != self.dtype:
            name = {"__eq__": "equal", "__ne__": "not_equal"}[operator]
            raise TypeError(f"{name} does not accept dtypes {self.dtype}, {arrays.typed(other)[0]}.")
        words: Any = getattr(self._base_array, operator)(other._base_array)
        return getattr(words, combine)(tuple(range(-len(self._impl.key_shape), 0)))

    __hash__ = None


for _name in ("flatten", "ravel", "reshape", "squeeze", "swapaxes", "take", "transpose"):
    if hasattr(Array, _name):
        setattr(PRNGKeyArray, _name, forwarded(_name))


ABSENT = (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap", "choose", "clip", "compress"),
    *("conj", "conjugate", "cumprod", "cumsum", "diagonal", "dot", "item", "max", "mean", "min", "nonzero", "prod"),
    *("ptp", "repeat", "round", "searchsorted", "sort", "std", "sum", "tolist", "trace", "var", "view"),
)
"""Methods that arrays have and keys have not."""


def absent(name: str) -> Callable[..., Any]:
    def call(self: PRNGKeyArray, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Cannot call abstract method {name}: random keys have no numbers; jax.random.key_data gives their words"
        )

    return call


for _name in ABSENT:
    setattr(PRNGKeyArray, _name, absent(_name))

doors[PRNGKeyArray] = door
for _impl in IMPLS.values():
    key_record(_impl)


# --- What samplers take for a key -------------------------------------------------------------------------------------


def default_impl() -> PRNGImpl:
    return resolve(flags.default_prng_impl)


def resolve(spec: Any) -> PRNGImpl:
    """The generator that a name, a spec or a dtype says; None is the default.

    Raises: ValueError for a name of none, TypeError for what cannot say one.
    """
    if spec is None:
        return default_impl()
    if isinstance(spec, PRNGImpl):
        return spec
    if isinstance(spec, (PRNGSpec, KeyTy)):
        return spec._impl
    if type(spec) is str:
        if spec in IMPLS:
            return IMPLS[spec]
        names = ", ".join(f'"{s}"' for s in IMPLS)
        raise ValueError(f'unrecognized PRNG implementation "{spec}". Did you mean one of: {names}?')
    raise TypeError(f"unrecognized type {type(spec)} for specifying PRNG implementation.")


def check_words(node: Node, impl: PRNGImpl) -> None:
    """Raise JAX's TypeError for what cannot be the words of keys."""
    start = "JAX encountered invalid PRNG key data: expected "
    n = len(impl.key_shape)
    if node.ndim < n:
        raise TypeError(f"{start}key_data.ndim >= {n}; got ndim={node.ndim}")
    if node.shape[node.ndim - n :] != impl.key_shape:
        raise TypeError(f"{start}key_data.shape to end with {impl.key_shape}; got shape={node.shape} for impl={impl}")
    if node.dtype != np.uint32:
        raise TypeError(f"{start}key_data.dtype = uint32; got dtype={node.dtype}")


def check_described(words: Any) -> None:
    """Raise JAX's TypeError for what is no array."""
    if not all([hasattr(words, a) for a in ("ndim", "shape", "dtype")]):
        raise TypeError(
            "JAX encountered invalid PRNG key data: expected key_data to have ndim, shape, and dtype attributes. Got "
            f"{words}"
        )


def key_node(name: str, key: Any, batched: bool = False) -> tuple[Node, bool]:
    """The node of a key that a function was given, and whether it is raw: words, to be wrapped.

    Raises: TypeError for what is no key, ValueError for an array of keys (unless `batched`).
    """
    if isinstance(key, PRNGKeyArray):
        node, raw = key.node, False
        shape = node.shape
    elif is_arraylike(key):
        check_described(key)
        node, raw = as_node(key), True
        check_words(node, default_impl())
        shape = node.shape[: node.ndim - len(default_impl().key_shape)]
        warn_of_raw()
    else:
        raise TypeError(
            "JAX encountered invalid PRNG key data: expected key_data to have ndim, shape, and dtype attributes. "
            f"Got {key}"
        )
    if shape and not batched:
        given = node.shape
        raise ValueError(
            f"{name} accepts a single key, but was given a key array of shape {given} != (). Use jax.vmap for batching."
        )
    return node, raw


def warn_of_raw() -> None:
    text = (
        "Legacy uint32 key array passed as key to jax.random function. Please create keys using jax.random.key(). If "
        'use of a raw key array was intended, set jax_legacy_prng_key="allow".'
    )
    if flags.legacy_prng_key == "error":
        raise ValueError(text)
    if flags.legacy_prng_key == "warn":
        warnings.warn(text, UserWarning, stacklevel=6)
    elif flags.enable_custom_prng:
        warnings.warn(
            "Raw arrays as random keys to jax.random functions are deprecated. Assuming valid threefry2x32 key for "
            "now.",
            FutureWarning,
            stacklevel=6,
        )


def wrapped(node: Node) -> Node:
    """Keys of the default generator from raw ones."""
    return keys_of(node, default_impl())


def keys_first(names: dict[str, Any]) -> None:
    """Have the samplers of a module say what is wrong with their key before what is wrong with their parameters."""
    for name, f in list(names.items()):
        if isinstance(f, types.FunctionType) and next(iter(inspect.signature(f).parameters)) == "key":
            names[name] = key_first(f)


def callable_with(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function has these parameters."""
    try:
        inspect.signature(f).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def key_first(f: Callable[..., Any]) -> Callable[..., Any]:
    """A sampler whose key is looked at where it raises."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except Exception as error:
            leave(error)
            if args and callable_with(f, args, kwargs):
                key_node(f.__name__, args[0])
            raise

    return call


def draw(name: str, f: Callable[..., Any], key: Any, *nodes: Node, **params: Any) -> Any:
    """The arrays that `f(key, *nodes, **params)` makes, on nodes. The key counts as used."""
    node, raw = key_node(name, key)
    if raw:
        return apply(lambda k, *rest, **also: f(wrapped(k), *rest, **also), node, *nodes, **params)
    if flags.debug_key_reuse:
        use(node, name)
    return apply(f, node, *nodes, **params)


def new_keys(f: Callable[..., Node], *nodes: Node, **params: Any) -> Any:
    """The keys that `f` makes."""
    out = apply(f, *nodes, **params)
    if flags.debug_key_reuse:
        born(out.node)
    return out


def parts(key: Node, count: int) -> list[Node]:
    """So many new keys from one, on nodes."""
    new = random_split(key, partitionable=partitionable(), shape=(count,))
    return [slice_(new, key=(i,)) for i in range(count)]


# --- Making keys ------------------------------------------------------------------------------------------------------


def seeded(name: str, seed: Any, spec: Any) -> PRNGKeyArray:
    """The key of a seed: an integer of 64 bits (what JAX makes of it where these are not enabled: the lower 32)."""
    impl = resolve(spec)
    if isinstance(seed, PRNGKeyArray):
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key.")
    if np.ndim(seed):
        raise TypeError(
            f"{name} accepts a scalar seed, but was given an array of shape {np.shape(seed)} != (). Use jax.vmap for "
            "batching"
        )
    if isinstance(seed, int):
        seed = np.int64(seed)
    node = as_node(seed)
    if KIND_OF[node.dtype] not in "iu":
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    if flags.random_seed_offset:
        node = add(node, Node.of_scalar(np.asarray(flags.random_seed_offset).astype(node.dtype)[()]))
    return new_keys(random_seed, node, dtype=key_record(impl))


def chosen(function: str, impl: Any, dtype: Any) -> Any:
    if dtype is not None and impl is not None:
        raise ValueError(f"Cannot specify both `impl` and `dtype` arguments to jax.random.{function}")
    return impl if dtype is None else dtype


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> PRNGKeyArray:
    """A typed random key from an integer: a scalar array of dtype `key<fry>`.

    Raises: TypeError for what is no scalar integer, ValueError for an unknown `impl`.
    """
    return seeded("key", seed, chosen("key", impl, dtype))


def PRNGKey(seed: Any, *, impl: Any = None) -> Array:
    """A raw random key from an integer: its words, as a uint32 array of shape (2,)."""
    new = seeded("PRNGKey", seed, impl)
    return new if flags.enable_custom_prng else new._base_array


def like_given(raw: bool, f: Callable[..., Node], node: Node, *rest: Node, **params: Any) -> Any:
    """Keys made of keys by `f`, raw if the given ones are."""
    if raw and not flags.enable_custom_prng:
        return apply(lambda k, *r, **p: words_of(f(wrapped(k), *r, **p)), node, *rest, **params)
    if raw:
        return apply(lambda k, *r, **p: f(wrapped(k), *r, **p), node, *rest, **params)
    return new_keys(f, node, *rest, **params)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """New keys from one, of shape (num,) or num: raw from a raw key.

    Raises: TypeError for what is no key, ValueError for an array of keys.
    """
    node, raw = key_node("split", key)
    shape = canonical_shape(tuple(num) if isinstance(num, Sequence) else (num,))
    if flags.debug_key_reuse and not raw:
        use(node, "split")
    return like_given(raw, random_split, node, partitionable=partitionable(), shape=shape)


def fold_in(key: Any, data: Any) -> Any:
    """The new key that a key and an integer of 32 bits make.

    Raises: TypeError for what is no key or no scalar, OverflowError for an int that does not fit.
    """
    node, raw = key_node("fold_in", key)
    if np.ndim(data):
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array ofshape {np.shape(data)} != (). Use jax.vmap for "
            "batching."
        )
    if type(data) is int:
        data = np.array(data, np.uint32)
    return like_given(raw, random_fold_in, node, convert(as_node(data), np.dtype(np.uint32)))


def key_data(keys: Any) -> Array:
    """The words of keys: uint32, with one more axis."""
    node, raw = key_node("key_data", keys, batched=True)
    return keys if raw and isinstance(keys, Array) else arrays.wrap(node) if raw else apply(words_of, node)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> PRNGKeyArray:
    """Typed keys from words (uint32), which are the last axis.

    Raises: TypeError for another dtype or length of that axis.
    """
    found = resolve(chosen("wrap_key_data", impl, dtype))
    check_described(key_bits_array)
    node = as_node(key_bits_array)
    check_words(node, found)
    key_record(found)
    return new_keys(keys_of, node, impl=found)


def key_impl(keys: Any) -> Any:
    """The name of the generator that keys are for; of one that has none a `PRNGSpec`."""
    _, raw = key_node("key_impl", keys, batched=True)
    impl = default_impl() if raw else keys._impl
    return impl.name if impl.name in IMPLS else PRNGSpec(impl)


def key_dtype(impl_spec: Any = None) -> KeyTy:
    """The dtype of typed keys for a generator."""
    return KeyTy(resolve(impl_spec))


def clone(key: Any) -> Any:
    """The same key once more: for `jax_debug_key_reuse` a new one."""
    return new_keys(random_clone, as_node(key))
