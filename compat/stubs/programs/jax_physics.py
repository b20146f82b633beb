"""Loops, branches, solvers, derivatives of higher order."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax
from jax.scipy.special import gammaln


class State(NamedTuple):
    position: jax.Array
    velocity: jax.Array


def energy(state: State) -> jax.Array:
    return 0.5 * jnp.sum(state.velocity**2) + jnp.sum(jnp.cos(state.position))


def step(state: State, dt: float) -> State:
    force = jax.grad(lambda q: jnp.sum(jnp.cos(q)))(state.position)
    velocity = state.velocity - dt * force
    return State(state.position + dt * velocity, velocity)


def run(state: State, steps: int) -> State:
    return lax.fori_loop(0, steps, lambda i, s: step(s, 0.01), state)


state = run(State(jnp.linspace(0.0, 1.0, 8), jnp.zeros(8)), 100)
print(energy(state), jax.hessian(energy)(state), gammaln(3.0), jsp.stats.norm.pdf(0.0))
values, vectors = jnp.linalg.eigh(jnp.eye(3))
factor = jsp.linalg.cho_factor(jnp.eye(3))
print(jsp.linalg.cho_solve(factor, jnp.ones(3)), lax.cond(values[0] > 0, jnp.sin, jnp.cos, values))
print(state.speed)  # no such field
step(state)  # an argument missing
run(state, "many")  # a wrong type
jsp.stats.norm.density(0.0)  # no such name
jnp.linalg.eigenvalues(vectors)  # no such name
jnp.linspace(0.0, 1.0, number=3)  # no such argument
lax.while_lop(lambda s: s, lambda s: s, state)
