"""`jax.custom_derivatives`: functions with derivatives that a user wrote."""

from ..api.custom import custom_gradient, custom_jvp, custom_vjp
from .derivatives import closure_convert

__all__ = ["closure_convert", "custom_gradient", "custom_jvp", "custom_vjp"]
