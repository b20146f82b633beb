"""`jax.scipy.stats`: distributions, density estimates, ranks."""

from .continuous import (
    beta,
    cauchy,
    chi2,
    expon,
    gamma,
    gennorm,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    norm,
    pareto,
    t,
    truncnorm,
    uniform,
    vonmises,
    wrapcauchy,
)
from .discrete import bernoulli, betabinom, binom, geom, multinomial, nbinom, poisson
from .kde import gaussian_kde
from .multivariate import dirichlet, multivariate_normal
from .summaries import mode, rankdata, sem
