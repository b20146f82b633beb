"""`jax.lib`: empty, as in JAX: what was in it is in `jax.extend`."""
