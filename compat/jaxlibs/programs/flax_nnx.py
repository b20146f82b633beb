"""flax.nnx: a network with a training step, state that is split and merged, mapped models."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Model(nnx.Module):
    def __init__(self, din, hidden, dout, rngs):
        self.first = nnx.Linear(din, hidden, rngs=rngs)
        self.norm = nnx.BatchNorm(hidden, rngs=rngs)
        self.last = nnx.Linear(hidden, dout, rngs=rngs)

    def __call__(self, x):
        return self.last(nnx.relu(self.norm(self.first(x))))


X = jax.random.normal(jax.random.key(0), (16, 3))
Y = jnp.sin(X[:, :1])


def train():
    model = Model(3, 8, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer):
        loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(X) - Y) ** 2))(model)
        optimizer.update(model, grads)
        return loss

    losses = jnp.stack([step(model, optimizer) for _ in range(5)])
    return losses, model.last.kernel[...], model.norm.mean[...]


def split():
    model = Model(3, 4, 2, rngs=nnx.Rngs(1))
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    doubled = jax.tree.map(lambda x: x * 2, params)
    merged = nnx.merge(graph, doubled, rest)
    merged.eval()
    return merged(X), len(jax.tree.leaves(params))


def ensemble():
    @nnx.vmap(in_axes=0, out_axes=0)
    def create(key):
        return nnx.Linear(3, 2, rngs=nnx.Rngs(key))

    models = create(jax.random.split(jax.random.key(2), 4))
    apply = nnx.vmap(lambda m, x: m(x), in_axes=(0, None))
    return apply(models, X), models.kernel[...].shape[0]


PROGRAMS = (train, split, ensemble)
