"""Whether it was the user who wrote an operation, or a function of this package; and which one the user called.

`jax_numpy_dtype_promotion` and `jax_numpy_rank_promotion` concern what users write. Only where one of them would warn
or refuse are the calling frames looked at, so that nothing is paid for it otherwise. So it is with objects that have
`__jax_array__`.
"""

from __future__ import annotations

import sys
from types import FrameType

PACKAGE = __name__.partition(".")[0] + "."
MACHINERY = frozenset(
    f"{PACKAGE}jax.{name}"
    for name in (
        "callers",
        "dtypes",
        "array",
        "arguments",
        "creation_places",
        "hot_calls",
        "numpy.call",
        "numpy.elementwise",
        "numpy.linalg.products",
        "numpy.methods",
        "numpy.operators",
        "numpy.ufunc",
    )
)
"""What stands between a function that someone writes, and the promotion of its operands."""

CONVERTING = tuple(
    [
        f"{PACKAGE}jax.{name}"
        for name in (
            *("scipy.special", "scipy.stats", "numpy.fft", "numpy.linalg", "nn."),
            *("random.selections", "random.discrete"),
        )
    ]
)
"""Where functions make arrays of their arguments, but for those that JAX jits: `jit` takes no `__jax_array__`."""
PASSING = frozenset([f"{PACKAGE}jax.creation_places", f"{PACKAGE}jax.random.keys"])
"""What only passes calls on."""
JITTED = frozenset(
    [
        *("bessel_jn", "celu", "cholesky", "cond", "det", "eigh", "eigvals", "eigvalsh", "elu", "gammasgn"),
        *("glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "inv", "leaky_relu"),
        *("log_sigmoid", "log_softmax", "logmeanexp", "matrix_power", "matrix_rank", "mish", "norm", "qr"),
        *("relu", "relu6", "selu", "sigmoid", "silu", "slogdet", "soft_sign", "softmax", "softplus", "solve"),
        *("sparse_plus", "sparse_sigmoid", "squareplus", "standardize", "svd", "swish", "tanh"),
    ]
)


def converts() -> bool:
    """Whether the user called a function that makes an array of what has `__jax_array__`."""
    frame: FrameType | None = sys._getframe(1)
    module, name = "", ""
    while frame is not None and (found := frame.f_globals.get("__name__", "")).startswith(PACKAGE):
        if found not in PASSING:
            module, name = found, frame.f_code.co_name
        frame = frame.f_back
    return module.startswith(CONVERTING) and name not in JITTED


def written_by_user(depth: int = 0) -> bool:
    """Whether at most `depth` modules of this package stand between the user's call and the promotion: 0 for a
    function that promotes its own operands through `numpy.call`, 1 for one that asks for the common dtype of its
    arguments."""
    frame: FrameType | None = sys._getframe(1)
    last, found = "", 0
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(PACKAGE):
            break
        if name not in MACHINERY and name != last:
            last, found = name, found + 1
            if found > depth:
                return False
        frame = frame.f_back
    return True
