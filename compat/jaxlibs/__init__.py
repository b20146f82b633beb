"""Libraries that stand on JAX, on `lazynp.jax`: programs beside real JAX, and the libraries' own tests."""
