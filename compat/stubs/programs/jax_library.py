"""A small library: custom derivatives, ahead of time compilation, trees, errors."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import tree_util
from jax.sharding import PartitionSpec
from jax.typing import ArrayLike, DTypeLike


@jax.custom_vjp
def clip(x: jax.Array, low: float) -> jax.Array:
    return jnp.maximum(x, low)


def forward(x: jax.Array, low: float) -> tuple[jax.Array, jax.Array]:
    return clip(x, low), x > low


def backward(kept: jax.Array, g: jax.Array) -> tuple[jax.Array, None]:
    return g * kept, None


clip.defvjp(forward, backward)


def cast(x: ArrayLike, dtype: DTypeLike) -> jax.Array:
    return jnp.asarray(x, dtype)


def repeat(f: Callable[[jax.Array], jax.Array], n: int) -> Callable[[jax.Array], jax.Array]:
    def repeated(x: jax.Array) -> jax.Array:
        for _ in range(n):
            x = f(x)
        return x

    return repeated


x = cast([1, 2, 3], "float32") if False else cast(1.0, jnp.float32)
compiled = jax.jit(repeat(jnp.sin, 3)).lower(x).compile()
leaves, structure = tree_util.tree_flatten({"a": x, "b": (x, x)})
print(compiled(x), tree_util.tree_unflatten(structure, leaves), PartitionSpec("x"), jax.devices()[0].platform)
print(jax.make_jaxpr(jnp.sin)(x), jax.eval_shape(jnp.sin, x), isinstance(x, jax.Array), jax.tree.leaves(x))
clip.defgrad(forward)  # no such method
repeat(jnp.sin)  # an argument missing
repeat(3, jnp.sin)  # in the wrong order
tree_util.tree_fold(x)  # no such name
jax.config.update("jax_enable_x64")  # an argument missing
raise jax.errors.TracerError("no such class")
