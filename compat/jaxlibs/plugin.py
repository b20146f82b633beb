"""A pytest plugin: `-p compat.jaxlibs.plugin` lets `import jax` give `lazynp.jax` before anything is collected."""

import lazynp.jax

lazynp.jax.install()
