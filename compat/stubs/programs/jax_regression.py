"""Regression by gradient descent."""

import jax
import jax.numpy as jnp


def loss(w: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean((x @ w - y) ** 2)


@jax.jit
def update(w: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    return w - 0.1 * jax.grad(loss)(w, x, y)


key = jax.random.key(0)
x = jax.random.normal(key, (100, 3))
w = jnp.zeros(3)
for _ in range(10):
    w = update(w, x, x @ jnp.array([1.0, 2.0, 3.0]))
value, gradient = jax.value_and_grad(loss)(w, x, x[:, 0])
print(float(value), gradient.shape, w.at[0].set(1.0).sum())
w[0] = 1.0  # arrays do not change
w.at[0].assign(1.0)  # no such method
jnp.zeroes(3)  # no such name
jax.gradient(loss)  # no such name
loss(w, x)  # an argument missing
jnp.sum([1.0, 2.0])  # lists are no arrays
print(jax.random.normal((3,), key).shapes)
