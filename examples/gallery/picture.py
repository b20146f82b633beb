"""A network that learns a picture, point by point: JAX code, with Adam written by hand.

Tancik et al., "Fourier features let networks learn high frequency functions" (2020): a place goes through sines of
random frequencies, and two layers give its brightness.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from jax import random

n, width, steps = 64, 64, 200
axis = jnp.linspace(-1.0, 1.0, n)
places = jnp.stack(jnp.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
radius, angle = jnp.hypot(places[:, 0], places[:, 1]), jnp.arctan2(places[:, 1], places[:, 0])
wanted = 0.5 + 0.5 * jnp.tanh(6.0 * jnp.sin(3.0 * angle + 9.0 * radius)) * jnp.exp(-(radius**2))

first, second, third = random.split(random.key(0), 3)
frequencies = 4.0 * random.normal(first, (2, width))
weights = {
    "inner": random.normal(second, (2 * width, width)) / (2 * width) ** 0.5,
    "outer": random.normal(third, (width,)) / width**0.5,
}


def network(weights, places):
    waves = jnp.concatenate([jnp.sin(places @ frequencies), jnp.cos(places @ frequencies)], axis=1)
    return 0.5 + jax.nn.relu(waves @ weights["inner"]) @ weights["outer"]


def loss(weights):
    return jnp.mean((network(weights, places) - wanted) ** 2)


@jax.jit
def adam(step, weights, mean, square):
    value, slope = jax.value_and_grad(loss)(weights)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
    square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, slope)
    rate = 3e-3 * jnp.sqrt(1 - 0.99 ** (step + 1.0)) / (1 - 0.9 ** (step + 1.0))
    return value, jax.tree.map(lambda w, m, s: w - rate * m / (jnp.sqrt(s) + 1e-8), weights, mean, square), mean, square


mean = square = jax.tree.map(jnp.zeros_like, weights)
values = []
for step in range(steps):
    value, weights, mean, square = adam(step, weights, mean, square)
    values.append(value)
learned, values = network(weights, places), jnp.stack(values)

# %% The figure
figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="tight")
axes[0].imshow(np.asarray(wanted).reshape(n, n), vmin=0, vmax=1)
axes[0].set_title("the picture")
axes[1].imshow(np.asarray(learned).reshape(n, n), vmin=0, vmax=1)
axes[1].set_title("learned")
axes[2].semilogy(np.asarray(values))
axes[2].set(xlabel="step", title="mean square error")
plt.show()
