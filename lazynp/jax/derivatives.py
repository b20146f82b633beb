"""`jax.grad` and its kin: the functions of `api`, on this door's arrays where no argument is an array."""

from __future__ import annotations

from ..api import differentiate
from ..api import jacobian as jacobians
from ..doors import through
from .ad_checkpoint import checkpoint, checkpoint_policies, remat
from .array import door
from .custom_derivatives import closure_convert, custom_gradient, custom_jvp, custom_vjp
from .following import of_following
from .given_back import of_tangents, of_value
from .linear_maps import fwd_and_bwd, linear_transpose, linearize, vjp

grad = of_value(through(of_following(differentiate.grad), door), False)
value_and_grad = of_value(through(of_following(differentiate.value_and_grad), door), True)
jvp = of_tangents(through(of_following(differentiate.jvp), door))
jacfwd = through(of_following(jacobians.jacfwd), door)
jacrev = through(of_following(jacobians.jacrev), door)
jacobian = through(of_following(jacobians.jacobian), door)
hessian = through(of_following(jacobians.hessian), door)
stop_gradient = through(differentiate.stop_gradient, door)
__all__ = [
    "checkpoint",
    "checkpoint_policies",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "fwd_and_bwd",
    "grad",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linear_transpose",
    "linearize",
    "remat",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]
