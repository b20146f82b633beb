"""What the JAX texts share."""

from functools import partial

import jax

jax.config.update("jax_enable_x64", True)  # the same work as NumPy

INNER = (slice(1, -1), slice(1, -1))


def carried(*numbers):
    """Jit, with these arguments donated: the loop's arrays start in their memory. The steps stay a traced number."""
    return partial(jax.jit, donate_argnums=numbers)
