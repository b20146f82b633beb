"""`jax.experimental.random`: a generator with a state of its own, as `numpy.random.default_rng`, made of a key and a
mutable counter."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api.trace import stack
from .. import numpy as jnp
from .. import random
from ..array import Array
from ..random.keys import PRNGKeyArray
from ..references import Ref, new_ref
from ..tree_util import register_dataclass

__all__ = ["StatefulPRNG", "stateful_rng"]


def shape_of(size: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape of a sample: what was asked for, or that of the parameters together."""
    if size is None:
        return tuple(jnp.broadcast_shapes(*[np.shape(p) for p in parameters]))
    return tuple(size) if isinstance(size, Sequence) else (operator.index(size),)


@register_dataclass
@dataclasses.dataclass(frozen=True)
class StatefulPRNG:
    """A generator whose every draw moves it on. `stateful_rng` makes one."""

    _base_key: Any
    _counter: Any

    def __post_init__(self) -> None:
        for what, x, kind in (("base_key", self._base_key, PRNGKeyArray), ("counter", self._counter, Ref)):
            if isinstance(x, (int, float, np.ndarray, Array)) and not isinstance(x, kind):  # trees hold other things
                wanted = "typed PRNG key" if kind is PRNGKeyArray else "scalar integer ref"
                raise ValueError(f"Expected {what} to be a {wanted}; got {x}")

    def key(self, shape: int | Sequence[int] = ()) -> Array:
        """A new key, or several of them."""
        found = random.fold_in(self._base_key, self._counter[...])
        self._counter[...] += 1
        many = shape_of(shape)
        return random.split(found, many) if many else found

    def random(self, size: Any = None, dtype: Any = float) -> Array:
        """Numbers in [0, 1)."""
        return self.uniform(size=size, dtype=dtype)

    def uniform(self, low: Any = 0, high: Any = 1, size: Any = None, *, dtype: Any = float) -> Array:
        """Numbers in [low, high)."""
        return random.uniform(self.key(), shape_of(size, low, high), minval=low, maxval=high, dtype=dtype)

    def normal(self, loc: Any = 0, scale: Any = 1, size: Any = None, *, dtype: Any = float) -> Array:
        """Normal numbers of that mean and standard deviation."""
        found: Array = loc + scale * random.normal(self.key(), shape_of(size, loc, scale), dtype)
        return found

    def integers(self, low: Any, high: Any = None, size: Any = None, *, dtype: Any = int) -> Array:
        """Integers in [low, high), or in [0, low)."""
        if high is None:
            low, high = 0, low
        return random.randint(self.key(), shape_of(size, low, high), low, high, dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """So many independent generators in one, for `vmap`."""
        key = self.key(num)
        return StatefulPRNG(key, new_ref(jnp.zeros(key.shape, int)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """So many independent generators."""
        return [StatefulPRNG(key, new_ref(0)) for key in self.key(n_children)]


def stateful_rng(seed: Any = None, *, impl: Any = None) -> StatefulPRNG:
    """A generator with a state of its own, which each draw changes.

    Args:
        seed: an integer; None: from the machine's own source, outside of transformed functions only.
        impl: the name of the kind of keys.

    Raises: TypeError for what is no integer, and without one in a transformed function.
    """
    if seed is None:
        if stack.active:
            raise TypeError(
                "When used within transformed code, jax.experimental.random.stateful_rng() requires an explicit seed "
                "to be set."
            )
        entropy = np.random.SeedSequence().entropy
        assert isinstance(entropy, int)
        seed = np.int64(entropy & np.iinfo(np.int64).max)
    return StatefulPRNG(random.key(seed, impl=impl), new_ref(0))
