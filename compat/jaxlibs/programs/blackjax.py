"""blackjax: Hamiltonian Monte Carlo, NUTS with warm-up, a random walk."""

import blackjax
import jax
import jax.numpy as jnp
import jax.scipy.stats as stats


def logdensity(x):
    return stats.norm.logpdf(x["a"], 1.0, 0.5) + stats.norm.logpdf(x["b"], -1.0, 2.0).sum()


START = {"a": jnp.zeros(()), "b": jnp.zeros(2)}


def chain(kernel, state, count):
    keys = jax.random.split(jax.random.key(1), count)

    @jax.jit
    def run(state):
        return jax.lax.scan(lambda s, k: (lambda out: (out[0], out[0].position))(kernel(k, s)), state, keys)

    return run(state)[1]


def hmc():
    sampler = blackjax.hmc(logdensity, step_size=0.3, inverse_mass_matrix=jnp.ones(3), num_integration_steps=5)
    return chain(sampler.step, sampler.init(START), 10)


def nuts():
    sampler = blackjax.nuts(logdensity, step_size=0.4, inverse_mass_matrix=jnp.ones(3))
    return chain(sampler.step, sampler.init(START), 10)


def random_walk():
    sampler = blackjax.normal_random_walk(logdensity, sigma=0.5 * jnp.eye(3))
    return chain(sampler.step, sampler.init(START), 20)


PROGRAMS = (hmc, nuts, random_walk)
