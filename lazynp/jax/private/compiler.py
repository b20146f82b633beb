"""JAX's compiler: XLA, which is not here. Libraries look for its functions and do without."""
