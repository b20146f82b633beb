"""`jax.nn`: activations, softmax, attention, and `initializers` of weights."""

from ..numpy import tanh
from . import initializers
from .attention import dot_product_attention
from .functions import (
    celu,
    elu,
    gelu,
    glu,
    hard_sigmoid,
    hard_silu,
    hard_swish,
    hard_tanh,
    identity,
    leaky_relu,
    log1mexp,
    log_sigmoid,
    log_softmax,
    logmeanexp,
    logsumexp,
    mish,
    one_hot,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    soft_sign,
    softmax,
    softplus,
    sparse_plus,
    sparse_sigmoid,
    squareplus,
    standardize,
    swish,
)
from .scaled import get_scaled_dot_general_config, scaled_dot_general, scaled_matmul
