"""haiku: a network with a training step, state, recurrent layers."""

import haiku as hk
import jax
import jax.numpy as jnp
import optax

X = jax.random.normal(jax.random.key(0), (16, 4))
Y = jnp.arange(16) % 3


def train():
    net = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([8, 3])(x)))
    params = net.init(jax.random.key(1), X)
    optimizer = optax.sgd(0.1, momentum=0.9)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(net.apply(p, X), Y).mean()

        value, grads = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, value

    losses = []
    for _ in range(8):
        params, state, value = step(params, state)
        losses.append(value)
    return jnp.stack(losses), params


def with_state():
    def f(x, is_training):
        x = hk.Conv2D(3, 3)(x)
        x = hk.BatchNorm(True, True, 0.9)(x, is_training)
        x = hk.dropout(hk.next_rng_key(), 0.5, jax.nn.relu(x))
        return hk.Linear(2)(hk.Flatten()(x))

    net = hk.transform_with_state(f)
    images = jax.random.normal(jax.random.key(2), (2, 6, 6, 1))
    params, state = net.init(jax.random.key(3), images, True)
    out, state = jax.jit(net.apply, static_argnums=4)(params, state, jax.random.key(4), images, True)
    return out, state


def recurrent():
    def f(x):
        core = hk.LSTM(4)
        out, last = hk.dynamic_unroll(core, x, core.initial_state(2))
        return hk.LayerNorm(-1, True, True)(out), last.hidden, hk.MultiHeadAttention(2, 3, 0.5)(out, out, out)

    net = hk.transform(f)
    x = jax.random.normal(jax.random.key(5), (5, 2, 3))
    return net.apply(net.init(jax.random.key(6), x), None, x)


PROGRAMS = (train, with_state, recurrent)
