"""Adam on a pytree: a small network learns a curve from noisy samples.

Kingma and Ba, "Adam: a method for stochastic optimization" (2015). The optimizer knows nothing of the network: its
state is a named tuple of trees that look like the parameters, and every line of it is a `tree.map`.
"""

from typing import Any, NamedTuple

import numpy as np

import lazynp.jax as jax
import lazynp.jax.numpy as jnp


class AdamState(NamedTuple):
    step: Any
    mean: Any
    variance: Any


def adam_init(params):
    return AdamState(
        jnp.zeros((), jnp.int32), jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
    )


def adam_update(grads, state, params, rate=1e-2, b1=0.9, b2=0.999, eps=1e-8):
    step = state.step + 1
    mean = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mean, grads)
    variance = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g**2, state.variance, grads)
    mean_scale, variance_scale = 1 / (1 - b1**step), 1 / (1 - b2**step)

    def moved(p, m, v):
        return p - rate * (m * mean_scale) / (jnp.sqrt(v * variance_scale) + eps)

    return jax.tree.map(moved, params, mean, variance), AdamState(step, mean, variance)


def init_params(key, width):
    first, second, third = jax.random.split(key, 3)
    dense = jax.nn.initializers.glorot_normal()
    return {
        "in": {"w": dense(first, (1, width)), "b": jnp.zeros(width)},
        "hidden": {"w": dense(second, (width, width)), "b": jnp.zeros(width)},
        "out": {"w": dense(third, (width, 1)), "b": jnp.zeros(1)},
    }


def network(params, x):
    x = jnp.tanh(x @ params["in"]["w"] + params["in"]["b"])
    x = jnp.tanh(x @ params["hidden"]["w"] + params["hidden"]["b"])
    return x @ params["out"]["w"] + params["out"]["b"]


def loss(params, x, y):
    return jnp.mean((network(params, x) - y) ** 2)


@jax.jit
def train_step(params, state, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    params, state = adam_update(grads, state, params)
    return params, state, value


def run(steps: int = 500, width: int = 32) -> dict:
    """Train; the loss before and after, and the curve that was learned."""
    data_key, noise_key, params_key = jax.random.split(jax.random.key(3), 3)
    x = jax.random.uniform(data_key, (200, 1), minval=-2.0, maxval=2.0)
    y = jnp.sin(3.0 * x) + 0.1 * jax.random.normal(noise_key, x.shape)
    params = init_params(params_key, width)
    state = adam_init(params)
    before = loss(params, x, y)
    for _ in range(steps):
        params, state, _ = train_step(params, state, x, y)
    grid = jnp.linspace(-2.0, 2.0, 9)[:, None]
    return {
        "before": np.asarray(before),
        "after": np.asarray(loss(params, x, y)),
        "curve": np.asarray(network(params, grid)),
        "step": np.asarray(state.step),
    }


def main() -> None:
    result = run()
    print(
        f"mean squared error: {result['before']:.4f} before, {result['after']:.4f} after {result['step']} steps of Adam"
    )
    print("the curve, and sin(3 x):")
    for x, y in zip(np.linspace(-2, 2, 9), result["curve"][:, 0]):
        print(f"  {x:5.1f} {y:8.3f} {np.sin(3 * x):8.3f}")


if __name__ == "__main__":
    main()
