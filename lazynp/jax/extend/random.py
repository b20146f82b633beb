"""`jax.extend.random`: the generators behind keys, and how users make their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..array import Array, as_node, wrap
from ..lax.others import threefry2x32 as hash_words
from ..lax.primitives import RULES
from ..primitives import primitive_of
from ..random.implementations import PRNGImpl, rbg_impl, threefry_impl, unsafe_rbg_impl
from ..random.keys import PRNGSpec, key

__all__ = [
    "define_prng_impl",
    "random_seed",
    "rbg_prng_impl",
    "seed_with_impl",
    "threefry2x32_p",
    "threefry_2x32",
    "threefry_prng_impl",
    "unsafe_rbg_prng_impl",
]
threefry_prng_impl, rbg_prng_impl, unsafe_rbg_prng_impl = threefry_impl, rbg_impl, unsafe_rbg_impl
threefry2x32_p = primitive_of("threefry2x32")


def define_prng_impl(
    *,
    key_shape: tuple[int, ...],
    seed: Callable[..., Any],
    split: Callable[..., Any],
    random_bits: Callable[..., Any],
    fold_in: Callable[..., Any],
    name: str = "<unnamed>",
    tag: str = "?",
) -> PRNGSpec:
    """A generator of the user's, for `jax.random.key(seed, impl=...)`; see `PRNGImpl` for what the functions are.

    Samplers that accept and reject (gamma, beta, binomial and what is made of them) are for threefry2x32 only.
    """
    return PRNGSpec(PRNGImpl(tuple(key_shape), seed, split, random_bits, fold_in, name, tag))


def seed_with_impl(impl: PRNGImpl, seed: Any) -> Any:
    """A key of that generator."""
    return key(seed, impl=impl)


def random_seed(seeds: Any, impl: Any) -> Any:
    """A key of that generator, given by name or itself."""
    return key(seeds, impl=impl)


def threefry2x32(*words: Any) -> list[Array]:
    """What `threefry2x32_p` is. Raises TypeError for other than words of 32 bits."""
    nodes = [as_node(x) for x in words]
    if any(n.dtype != np.uint32 for n in nodes):
        raise TypeError(f"Arguments to threefry2x32 must have uint32 type, got {[n.dtype for n in nodes]}")
    return hash_words(*jnp.broadcast_arrays(*[wrap(n) for n in nodes]))


RULES["threefry2x32"] = threefry2x32


def threefry_2x32(keypair: Any, count: Any) -> Array:
    """The hash of counters under a key: two uint32 words, or arrays of them; count is uint32, and its two halves are
    hashed together.

    Raises: TypeError for other dtypes.
    """
    first, second = (jnp.asarray(k) for k in keypair)
    if not first.dtype == second.dtype == count.dtype == np.uint32:
        msg = "threefry_2x32 requires uint32 arguments, got {}"
        raise TypeError(msg.format([x.dtype for x in (first, second, count)]))
    flat = jnp.ravel(count)
    odd = flat.size % 2
    x, y = jnp.split(jnp.concatenate([flat, jnp.zeros(odd, np.uint32)]), 2)
    found = jnp.concatenate(hash_words(first, second, x, y))
    return (found[:-1] if odd else found).reshape(count.shape)
