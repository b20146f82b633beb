"""A network: pytrees, vmap, initializers, a step with static arguments."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax, nn, random
from jax.nn import initializers

Parameters = list[tuple[Array, Array]]


def make(key: Array, sizes: list[int]) -> Parameters:
    keys = random.split(key, len(sizes))
    start = initializers.glorot_normal()
    return [(start(k, (n, m), jnp.float32), jnp.zeros(m)) for k, n, m in zip(keys, sizes, sizes[1:])]


def forward(parameters: Parameters, x: Array) -> Array:
    for weights, bias in parameters:
        x = nn.relu(x @ weights + bias)
    return x


@partial(jax.jit, static_argnames=("rate",))
def train(parameters: Parameters, x: Array, y: Array, rate: float = 0.1) -> Parameters:
    gradients = jax.grad(lambda p: jnp.mean((jax.vmap(forward, (None, 0))(p, x) - y) ** 2))(parameters)
    return jax.tree.map(lambda p, g: p - rate * g, parameters, gradients)


parameters = make(random.key(0), [2, 16, 1])
parameters = train(parameters, jnp.ones((8, 2)), jnp.zeros((8, 1)))
carry, history = lax.scan(lambda c, v: (c + v, c), jnp.zeros(()), jnp.arange(3.0))
print(carry, history, nn.softmax(jnp.ones(3)).sum())
make(0, [2, 16, 1])  # an integer is no key
forward(parameters)  # an argument missing
nn.rellu(carry)  # no such name
random.gaussian(random.key(0))  # no such name
lax.scam(forward, carry)  # no such name
jnp.ones((2, 3), dtype=jnp.float65)  # no such type
