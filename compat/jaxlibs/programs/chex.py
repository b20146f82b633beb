"""chex: dataclasses as trees, assertions inside of jitted functions, values that are checked there."""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class State:
    position: chex.Array
    velocity: chex.Array


def dataclass():
    state = State(position=jnp.arange(3.0), velocity=jnp.ones(3))
    step = jax.jit(lambda s: s.replace(position=s.position + 0.1 * s.velocity))
    for _ in range(3):
        state = step(state)
    return state.position, jax.tree.map(jnp.sum, state).velocity


def assertions():
    @jax.jit
    @chex.assert_max_traces(n=1)
    def f(x, y):
        chex.assert_equal_shape([x, y])
        chex.assert_rank(x, 2)
        chex.assert_type(x, float)
        return x @ y.T

    found = [f(jnp.ones((2, 3)), jnp.full((2, 3), k)) for k in (1.0, 2.0)]
    try:
        chex.assert_shape(jnp.ones(3), (4,))
    except AssertionError:
        found.append(jnp.array(1))
    return found


def chexify():
    @chex.chexify
    @jax.jit
    def f(x):
        chex.assert_tree_all_finite(x)
        return jnp.log(x)

    first = f(jnp.array([1.0, 2.0]))
    f.wait_checks()
    try:
        f(jnp.array([jnp.nan]))
        f.wait_checks()
        failed = 0
    except AssertionError:
        failed = 1
    return first, jnp.array(failed)


PROGRAMS = (dataclass, assertions, chexify)
