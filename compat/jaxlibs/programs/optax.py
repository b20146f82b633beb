"""optax: optimizers on a linear model, a schedule with clipping, losses."""

import jax
import jax.numpy as jnp
import optax

X = jax.random.normal(jax.random.key(0), (32, 4))
Y = X @ jnp.array([1.0, -2.0, 0.5, 3.0]) + 0.1


def adam():
    params = {"w": jnp.zeros(4), "b": jnp.zeros(())}
    optimizer = optax.adam(0.1)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((X @ p["w"] + p["b"] - Y) ** 2))(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    losses = []
    for _ in range(30):
        params, state, loss = step(params, state)
        losses.append(loss)
    return params, jnp.stack(losses)


def chain():
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.5, 5, 20)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=0.01))
    params = jnp.array([3.0, -1.0, 2.0])
    state = optimizer.init(params)
    for _ in range(10):
        updates, state = optimizer.update(jax.grad(lambda p: jnp.sum(p**4))(params), state, params)
        params = optax.apply_updates(params, updates)
    return params, jnp.array([schedule(i) for i in range(20)])


def losses():
    logits = X @ jnp.ones((4, 3))
    labels = jnp.arange(32) % 3
    return (
        optax.softmax_cross_entropy_with_integer_labels(logits, labels),
        optax.huber_loss(X[:, 0], Y),
        optax.sigmoid_binary_cross_entropy(logits[:, 0], labels > 0),
        optax.tree.norm({"a": X, "b": Y}),
    )


PROGRAMS = (adam, chain, losses)
