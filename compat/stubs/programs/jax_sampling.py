"""Random numbers, special functions, sorting, indexing."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import random
from jax.scipy import stats
from jax.scipy.special import logsumexp


def metropolis(key: jax.Array, steps: int, scale: float = 1.0) -> jax.Array:
    def body(x: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        first, second = random.split(key)
        proposed = x + scale * random.normal(first)
        accepted = jnp.log(random.uniform(second)) < stats.norm.logpdf(proposed) - stats.norm.logpdf(x)
        x = jnp.where(accepted, proposed, x)
        return x, x

    return jax.lax.scan(body, jnp.zeros(()), random.split(key, steps))[1]


samples = metropolis(random.key(0), 1000)
host = np.asarray(samples)
print(host.mean(), jnp.quantile(samples, 0.5), logsumexp(samples), jnp.argsort(samples)[:3], samples.dtype)
shuffled = random.permutation(random.key(1), jnp.arange(10))
print(jnp.unique(shuffled, size=10), shuffled.at[1:].add(2), random.choice(random.key(2), 5, (3,)))
metropolis(random.key(0))  # an argument missing
metropolis(random.key(0), 10, scale="wide")  # a wrong type
random.normal(shape=(3,))  # the key is missing
random.uniform(random.key(0), (3,), minimum=0.0)  # no such argument
stats.normal.logpdf(0.0)  # no such name
samples.numpy()  # torch's method
jnp.concatenate(samples, samples, axis=0)
