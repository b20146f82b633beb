"""Programs of the suite written by hand in JAX, as its best users would: jitted whole, with loops that XLA compiles.

Each has the name and the arguments of its NumPy text, but for the module, and returns the same. Buffers are donated
where a loop carries the arguments themselves. Programs that draw from NumPy's generators have no counterpart.

The texts in `WHOLE` do without a loop that the NumPy text has, since a product, a convolution or one large gather gives
the same: they are other algorithms, so tables give JAX's mean with and without them.
"""

from types import ModuleType

from .. import PROGRAMS
from . import algebra, particles, recurrences, stencils


def texts(module: ModuleType) -> dict:
    return {name: value for name, value in vars(module).items() if name in PROGRAMS}


MODULES = (stencils, recurrences, algebra, particles)
BY_HAND = {name: text for module in MODULES for name, text in texts(module).items()}
WHOLE = {
    "convolve_pixels", "convolution_layer", "correlation", "sparse_rows", "spectrogram", "substitution",
    "syrk_products", "trmm_rows",
}  # fmt: skip
