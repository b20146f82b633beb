"""`jax.scipy.spatial`: rotations."""
