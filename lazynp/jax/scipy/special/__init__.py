"""`jax.scipy.special`: gamma, error, hypergeometric and Bessel functions, integrals, entropies."""

from .elementary import (
    boxcox,
    boxcox1p,
    entr,
    expit,
    kl_div,
    log_softmax,
    logit,
    logsumexp,
    rel_entr,
    softmax,
    spence,
    xlog1py,
    xlogy,
)
from .error import dawsn, erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri, owens_t, wofz
from .gamma import (
    bernoulli,
    beta,
    betainc,
    betaln,
    comb,
    digamma,
    factorial,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    gammasgn,
    loggamma,
    multigammaln,
    poch,
    polygamma,
    zeta,
)
from .hypergeometric import bessel_jn, hyp1f1, hyp2f1, i0, i0e, i1, i1e, lpmn, lpmn_values, sph_harm_y
from .integrals import exp1, expi, expn, fresnel, sici
