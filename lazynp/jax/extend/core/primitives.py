"""`jax.extend.core.primitives`: JAX's primitives, by name."""

from ...lax import primitives as _of_lax
from ...lax.primitives import *
from ...primitives import primitive_of as _primitive_of

call_p = _primitive_of("call")
closed_call_p = _primitive_of("closed_call")
custom_jvp_call_p = _primitive_of("custom_jvp_call")
custom_vjp_call_p = _primitive_of("custom_vjp_call")
jit_p = _primitive_of("jit")
remat_p = _primitive_of("remat")
random_bits_p = _primitive_of("random_bits")
random_fold_in_p = _primitive_of("random_fold_in")
random_seed_p = _primitive_of("random_seed")
random_split_p = _primitive_of("random_split")
__all__ = [
    *_of_lax.__all__,
    "call_p",
    "closed_call_p",
    "custom_jvp_call_p",
    "custom_vjp_call_p",
    "jit_p",
    "random_bits_p",
    "random_fold_in_p",
    "random_seed_p",
    "random_split_p",
    "remat_p",
]
