"""numpyro: MCMC of a regression, variational inference, a model's trace."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, log_likelihood
from numpyro.infer.autoguide import AutoNormal

X = jnp.linspace(-1, 1, 20)
Y = 0.5 + 2.0 * X + 0.1 * jnp.sin(20 * X)


def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0.0, 1.0))
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.Normal(a + b * x, sigma), obs=y)


def mcmc():
    sampler = MCMC(NUTS(model), num_warmup=3, num_samples=5, progress_bar=False)
    sampler.run(jax.random.key(0), X, Y)
    return {k: v[:3] for k, v in sampler.get_samples().items()}


def variational():
    guide = AutoNormal(model)
    svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    result = svi.run(jax.random.key(1), 50, X, Y, progress_bar=False)
    return result.losses, result.params


def predictive():
    draws = Predictive(model, num_samples=5)(jax.random.key(2), X)
    likelihood = log_likelihood(model, {k: draws[k] for k in ("a", "b", "sigma")}, X, Y)
    kinds = (dist.Gamma(2.0, 3.0), dist.Beta(2.0, 2.0), dist.StudentT(3.0), dist.Dirichlet(jnp.ones(3)))
    return draws, likelihood, [d.log_prob(d.sample(jax.random.key(3))) for d in kinds]


PROGRAMS = (mcmc, variational, predictive)
