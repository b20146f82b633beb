"""`jax.scipy.stats`: distributions, density estimates, ranks."""

import sys as _sys

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
from .distribution import Distribution as _Distribution
from .kde import gaussian_kde
from .multivariate import dirichlet, multivariate_normal
from .summaries import mode, rankdata, sem

# Distributions are modules: programs import them as such.
_sys.modules.update({_d.__name__: _d for _d in list(globals().values()) if isinstance(_d, _Distribution)})
