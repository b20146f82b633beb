"""A cloth that hangs from three corners: JAX code, whose forces are the gradient of an energy.

Springs between neighbours, along the diagonals too; a scan of damped steps, compiled as a whole.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

n, steps, dt = 40, 1000, 0.012
across, along = jnp.meshgrid(jnp.linspace(0.0, 1.0, n), jnp.linspace(0.0, 1.0, n), indexing="ij")
start = jnp.stack([across, along, jnp.zeros((n, n))], axis=-1)
free = jnp.ones((n, n, 1)).at[0, 0].set(0.0).at[0, -1].set(0.0).at[-1, -1].set(0.0)


def energy(place):
    def springs(a, b, rest):
        return 0.5 * jnp.sum((jnp.sqrt(jnp.sum((a - b) ** 2, axis=-1)) - rest) ** 2)

    h = 1.0 / (n - 1)
    stretched = springs(place[1:], place[:-1], h) + springs(place[:, 1:], place[:, :-1], h)
    sheared = springs(place[1:, 1:], place[:-1, :-1], h * 2**0.5) + springs(place[1:, :-1], place[:-1, 1:], h * 2**0.5)
    return 2e3 * stretched + 4e2 * sheared + jnp.sum(place[..., 2]) * 0.4


@jax.jit
def hang(place):
    def step(state, _):
        place, speed = state
        speed = (speed - dt * jax.grad(energy)(place)) * 0.99 * free
        return (place + dt * speed, speed), jnp.mean(speed**2)

    (place, _), motion = jax.lax.scan(step, (place, jnp.zeros_like(place)), length=steps)
    return place, motion


place, motion = hang(start)

# %% The figure
figure = plt.figure(figsize=(8, 4), layout="tight")
left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
left.plot_surface(*np.moveaxis(np.asarray(place), -1, 0), cmap="viridis", rstride=1, cstride=1)
right.semilogy(dt * np.arange(steps), np.asarray(motion))
right.set(xlabel="time", title="mean square of the speed")
plt.show()
