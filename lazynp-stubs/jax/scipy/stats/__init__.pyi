# Written by `python -m compat stubs`.
from typing import Any
from ...array import Array
from ..._types import ArrayLike

from . import bernoulli as bernoulli
from . import beta as beta
from . import betabinom as betabinom
from . import binom as binom
from . import cauchy as cauchy
from . import chi2 as chi2
from . import dirichlet as dirichlet
from . import expon as expon
from . import gamma as gamma
class gaussian_kde:
    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any
    def __call__(self, points: Any) -> Any: ...
    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None: ...
    @property
    def d(self) -> int: ...
    def evaluate(self, points: Any) -> Any: ...
    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any: ...
    def integrate_box_1d(self, low: Any, high: Any) -> Any: ...
    def integrate_gaussian(self, mean: Any, cov: Any) -> Any: ...
    def integrate_kde(self, other: gaussian_kde) -> Any: ...
    def logpdf(self, x: Any) -> Any: ...
    @property
    def n(self) -> int: ...
    def pdf(self, x: Any) -> Any: ...
    def resample(self, key: Any, shape: tuple[int, ...] = ...) -> Any: ...
    def set_bandwidth(self, bw_method: Any = None) -> None: ...
from . import gennorm as gennorm
from . import geom as geom
from . import gumbel_l as gumbel_l
from . import gumbel_r as gumbel_r
from . import laplace as laplace
from . import logistic as logistic
def mode(a: ArrayLike, axis: int | None = 0, nan_policy: str = 'propagate', keepdims: bool = False) -> Array: ...
from . import multinomial as multinomial
from . import multivariate_normal as multivariate_normal
from . import nbinom as nbinom
from . import norm as norm
from . import pareto as pareto
from . import poisson as poisson
def rankdata(a: ArrayLike, method: str = 'average', *, axis: int | None = None, nan_policy: str = 'propagate') -> Array: ...
def sem(a: ArrayLike, axis: int | None = 0, ddof: int = 1, nan_policy: str = 'propagate', *, keepdims: bool = False) -> Array: ...
from . import t as t
from . import truncnorm as truncnorm
from . import uniform as uniform
from . import vonmises as vonmises
from . import wrapcauchy as wrapcauchy
