"""Hamiltonian Monte Carlo with keyed randomness: many chains at once under `vmap`, each a `scan` of proposals.

Neal, "MCMC using Hamiltonian dynamics" (2011), figure 2. The target is a banana-shaped density in two dimensions, whose
moments are known. Each chain has its own key, and each proposal a key split from it, so that a run can be repeated
exactly, chain by chain.
"""

from functools import partial

import numpy as np

import lazynp.jax as jax
import lazynp.jax.numpy as jnp


def log_density(q):
    """x is normal; y is normal around x squared over two."""
    x, y = q
    return jax.scipy.stats.norm.logpdf(x) + jax.scipy.stats.norm.logpdf(y, 0.5 * x**2, 0.5)


def leapfrog(q, p, step, steps):
    gradient = jax.grad(log_density)
    p = p + 0.5 * step * gradient(q)

    def body(_, state):
        q, p = state
        q = q + step * p
        return q, p + step * gradient(q)

    q, p = jax.lax.fori_loop(0, steps - 1, body, (q, p))
    q = q + step * p
    return q, p + 0.5 * step * gradient(q)


def propose(step, steps, q, key):
    momentum_key, accept_key = jax.random.split(key)
    p = jax.random.normal(momentum_key, q.shape)
    new_q, new_p = leapfrog(q, p, step, steps)
    gain = log_density(new_q) - 0.5 * new_p @ new_p - log_density(q) + 0.5 * p @ p
    accepted = jnp.log(jax.random.uniform(accept_key)) < gain
    q = jnp.where(accepted, new_q, q)
    return q, (q, accepted)


@partial(jax.jit, static_argnames=("samples", "steps"))
def chain(key, samples, step=0.3, steps=10):
    """One chain: its samples (samples, 2), and whether each proposal was accepted."""
    start_key, key = jax.random.split(key)
    start = jax.random.normal(start_key, (2,))
    _, result = jax.lax.scan(partial(propose, step, steps), start, jax.random.split(key, samples))
    return result


def run(chains: int = 16, samples: int = 500) -> dict:
    """Run the chains; their samples, the rate of acceptance, and the mean and variance over all."""
    keys = jax.random.split(jax.random.key(7), chains)
    qs, accepted = jax.vmap(lambda key: chain(key, samples))(keys)
    return {
        "samples": np.asarray(qs),
        "accepted": np.asarray(jnp.mean(accepted)),
        "mean": np.asarray(jnp.mean(qs, axis=(0, 1))),
        "variance": np.asarray(jnp.var(qs, axis=(0, 1))),
    }


def main() -> None:
    result = run()
    chains, samples, _ = result["samples"].shape
    print(f"{chains} chains of {samples} samples, {100 * result['accepted']:.1f} % of the proposals accepted")
    for name, key, true in (("mean", "mean", (0.0, 0.5)), ("variance", "variance", (1.0, 0.75))):
        print(f"  {name:9s}({result[key][0]:6.3f}, {result[key][1]:6.3f})   of the density: {true}")


if __name__ == "__main__":
    main()
