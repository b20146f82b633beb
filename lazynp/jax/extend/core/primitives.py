"""`jax.extend.core.primitives`: JAX's primitives, by name."""

from ...lax import linalg as _matrices
from ...lax import primitives as _of_lax
from ...lax.primitives import *
from ...primitives import primitive_of as _primitive_of

_NAMES = {
    **{f"{name}_p": name for name in ("call", "closed_call", "custom_jvp_call", "custom_vjp_call", "jit")},
    **{f"random_{name}_p": f"random_{name}" for name in ("bits", "clone", "fold_in", "gamma", "seed", "split")},
    **{f"random_{name}_p": f"random_{name}" for name in ("unwrap", "wrap")},
    **{"add_jaxvals_p": "add_any", "name_p": "name", "remat_p": "remat2", "threefry2x32_p": "threefry2x32"},
}
globals().update({name: _primitive_of(own) for name, own in _NAMES.items()})
globals().update({f"{name}_p": getattr(_matrices, f"{name}_p") for name in _of_lax.MATRIX_WORDS})
__all__ = [*_of_lax.__all__, *_NAMES, *[f"{name}_p" for name in _of_lax.MATRIX_WORDS]]
