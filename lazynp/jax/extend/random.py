"""`jax.extend.random`: the generators behind keys."""

from __future__ import annotations

from typing import Any

from ..primitives import primitive_of
from ..random.keys import IMPLS, PRNGImpl, key

__all__ = ["random_seed", "seed_with_impl", "threefry2x32_p", "threefry_prng_impl"]
threefry_prng_impl = IMPLS["threefry2x32"]
threefry2x32_p = primitive_of("threefry2x32")


def seed_with_impl(impl: PRNGImpl, seed: Any) -> Any:
    """A key of that generator."""
    return key(seed, impl=impl.name)


def random_seed(seeds: Any, impl: Any) -> Any:
    """A key of that generator, given by name or itself."""
    return key(seeds, impl=impl.name if isinstance(impl, PRNGImpl) else impl)
