"""flax.linen: a network with a training step, convolutions with batch norm and dropout, a scanned cell."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


class MLP(nn.Module):
    sizes: tuple

    @nn.compact
    def __call__(self, x):
        for n in self.sizes[:-1]:
            x = nn.relu(nn.Dense(n)(x))
        return nn.Dense(self.sizes[-1])(x)


def train():
    model = MLP((16, 16, 1))
    x = jnp.linspace(-1, 1, 32)[:, None]
    state = train_state.TrainState.create(
        apply_fn=model.apply, params=model.init(jax.random.key(0), x)["params"], tx=optax.sgd(0.1)
    )

    @jax.jit
    def step(state):
        def loss(params):
            return jnp.mean((state.apply_fn({"params": params}, x) - x**2) ** 2)

        value, grads = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=grads), value

    losses = []
    for _ in range(10):
        state, value = step(state)
        losses.append(value)
    return jnp.stack(losses), state.params


class ConvNet(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.max_pool(nn.gelu(x), (2, 2), strides=(2, 2))
        x = nn.Dropout(0.3, deterministic=not train)(x)
        return nn.Dense(3)(nn.LayerNorm()(x.reshape(x.shape[0], -1)))


def convolutions():
    x = jax.random.normal(jax.random.key(1), (2, 8, 8, 1))
    model = ConvNet()
    variables = model.init(jax.random.key(2), x, train=False)
    out, updates = model.apply(variables, x, train=True, mutable=["batch_stats"], rngs={"dropout": jax.random.key(3)})
    return model.apply(variables, x, train=False), out, updates


def recurrent():
    x = jax.random.normal(jax.random.key(4), (2, 5, 3))
    model = nn.RNN(nn.LSTMCell(4))
    variables = model.init(jax.random.key(5), x)
    attention = nn.MultiHeadDotProductAttention(num_heads=2)
    y = jax.random.normal(jax.random.key(6), (2, 5, 4))
    weights = attention.init(jax.random.key(7), y, y)
    return model.apply(variables, x), attention.apply(weights, y, y)


PROGRAMS = (train, convolutions, recurrent)
