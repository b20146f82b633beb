"""`jax.random`'s primitives, with the parameters that jaxprs show: `random_bits_p.bind(key, bit_width=32, shape=())`.
Each takes typed keys of any shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.node import Node
from ...ops.elementwise import convert
from ...ops.random import random_clone
from ...ops.shape import broadcast_to, reshape
from ..array import as_node, wrap
from ..lax.primitives import RULES
from ..primitives import STEPS, Step, primitive_of
from ..vmap import vmap
from .arguments import Shape
from .draws import random_bits, random_gamma
from .implementations import impl_of, keys_of, random_fold_in, random_seed, random_split, words_of
from .keys import key_node, key_record, partitionable, resolve

U32 = np.dtype(np.uint32)


def for_each(name: str, f: Callable[..., Node], key: Any, *others: Node) -> Any:
    """`f(one key, one element of each other)` for each key of an array."""
    node, _ = key_node(name, key, batched=True)
    if not node.ndim:
        return wrap(f(node, *others))
    along = [node, *[broadcast_to(o, shape=node.shape) for o in others]]
    flat = [reshape(n, shape=(math.prod(n.shape),)) for n in along]
    found = as_node(vmap(lambda *each: wrap(f(*[as_node(x) for x in each])))(*[wrap(n) for n in flat]))
    return wrap(reshape(found, shape=(*node.shape, *found.shape[1:])))


def bits(key: Any, *, bit_width: int, shape: Shape) -> Any:
    how: dict[str, Any] = {"width": bit_width, "partitionable": partitionable(), "shape": tuple(shape)}
    return for_each("random_bits", lambda k: random_bits(k, **how), key)


def split(key: Any, *, shape: Shape) -> Any:
    how: dict[str, Any] = {"partitionable": partitionable(), "shape": tuple(shape)}
    return for_each("random_split", lambda k: random_split(k, **how), key)


def seed(seeds: Any, *, impl: Any) -> Any:
    dtype = key_record(resolve(impl))
    node = as_node(seeds)
    if not node.ndim:
        return wrap(random_seed(node, dtype=dtype))
    flat = wrap(reshape(node, shape=(math.prod(node.shape),)))
    found = vmap(lambda s: wrap(random_seed(as_node(s), dtype=dtype)))(flat)
    return wrap(reshape(as_node(found), shape=node.shape))


def gamma(key: Any, a: Any, *, log_space: bool) -> Any:
    """A key for all numbers, or one for each."""
    how = {"log_space": log_space, "partitionable": partitionable()}
    if not as_node(key).ndim:
        return for_each("random_gamma", lambda k: random_gamma(k, as_node(a), **how), key)
    return for_each("random_gamma", lambda k, each: random_gamma(k, each, **how), key, as_node(a))


RULES.update(
    {
        "random_bits": bits,
        "random_clone": lambda key: wrap(random_clone(as_node(key))),
        "random_fold_in": lambda key, data: for_each(
            "random_fold_in", random_fold_in, key, convert(as_node(data), U32)
        ),
        "random_gamma": gamma,
        "random_seed": seed,
        "random_split": split,
        "random_unwrap": lambda key: wrap(words_of(as_node(key))),
        "random_wrap": lambda words, *, impl: wrap(keys_of(as_node(words), resolve(impl))),
    }
)
random_gamma_p = primitive_of("random_gamma")
STEPS.update(
    {
        "key_data": lambda n: [Step("random_unwrap", {})],
        "key_wrap": lambda n, *, dtype: [Step("random_wrap", {"impl": impl_of[dtype]})],
        "random_bits": lambda n, *, width, shape, **_: [
            Step("random_bits", {"bit_width": width, "shape": tuple(shape)})
        ],
        "random_seed": lambda n, *, dtype: [Step("random_seed", {"impl": impl_of[dtype]})],
        "random_split": lambda n, *, shape, **_: [Step("random_split", {"shape": tuple(shape)})],
    }
)
