"""`lazynp.grad`, `lazynp.jit` and the rest: functions of `api`, on this door's arrays where no argument is one.

Loaded when one of them is first asked for; `rehost.TRANSFORMATIONS` has their names.
"""

from __future__ import annotations

from typing import Any

from ..api import control, custom, differentiate, jacobian, jit, vmap
from ..doors import through
from .door import DOOR

TABLE: dict[str, Any] = {
    **{
        name: through(getattr(differentiate, name), DOOR)
        for name in (
            "grad",
            "value_and_grad",
            "vjp",
            "jvp",
            "linearize",
            "linear_transpose",
            "stop_gradient",
        )
    },
    **{name: through(getattr(jacobian, name), DOOR) for name in ("jacfwd", "jacrev", "jacobian", "hessian")},
    **{
        name: through(getattr(control, name), DOOR)
        for name in ("scan", "while_loop", "fori_loop", "cond", "switch", "associative_scan")
    },
    "jit": through(jit.jit, DOOR),
    "vmap": through(vmap.vmap, DOOR),
    "checkpoint": custom.checkpoint,
    "remat": custom.remat,
    "custom_jvp": custom.custom_jvp,
    "custom_vjp": custom.custom_vjp,
    "custom_gradient": custom.custom_gradient,
    "closure_convert": through(custom.closure_convert, DOOR),
}
