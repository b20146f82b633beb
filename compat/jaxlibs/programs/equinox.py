"""equinox: a network with a training step, filtered transformations, checked values and bounded loops."""

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import optax

X = jnp.linspace(-1, 1, 16)[:, None]


def train():
    model = eqx.nn.MLP(1, 1, 8, 2, key=jax.random.key(0))
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def step(model, state):
        loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(X) - X**2) ** 2))(model)
        updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state, loss

    losses = []
    for _ in range(5):
        model, state, loss = step(model, state)
        losses.append(loss)
    return jnp.stack(losses), jax.vmap(model)(X)


def layers():
    key = jax.random.key(1)
    image = jax.random.normal(key, (1, 8, 8))
    conv = eqx.nn.Conv2d(1, 3, 3, key=key)
    cell = eqx.nn.GRUCell(4, 5, key=key)
    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, axis_name="batch", mode="ema")
    batch = jax.random.normal(key, (6, 3))
    out, state = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(batch, state)
    attention = eqx.nn.MultiheadAttention(2, 4, key=key)
    sequence = jax.random.normal(key, (5, 4))
    dropped = eqx.nn.Dropout(0.5)(jnp.ones(10), key=key)
    return conv(image), cell(jnp.ones(4), jnp.zeros(5)), out, attention(sequence, sequence, sequence), dropped


def loops():
    def body(carry):
        i, x = carry
        return i + 1, jnp.sin(x) + 1.1

    def f(x):
        return eqxi.while_loop(lambda c: c[0] < 5, body, (0, x), max_steps=16, kind="checkpointed")[1]

    @eqx.filter_jit
    def checked(x):
        return eqx.error_if(x, x < 0, "x must not be negative")

    try:
        jax.block_until_ready(checked(jnp.array(-1.0)))
        failed = 0
    except Exception:
        failed = 1
    return f(1.0), jax.grad(f)(1.0), checked(jnp.array(2.0)), failed


PROGRAMS = (train, layers, loops)
