"""An ordinary differential equation with `scan`, and its parameters found by the gradient through the solver.

Predators and prey (Lotka 1925, Volterra 1926), integrated with the classical Runge-Kutta method. A population is
observed with noise; `grad` through all steps of the `scan`, and `vmap` over starting points, find the rates again.
"""

from functools import partial

import numpy as np

import lazynp.jax as jax
import lazynp.jax.numpy as jnp

TRUE = {"birth": 1.1, "eaten": 0.4, "growth": 0.1, "death": 0.4}


def slope(rates, state):
    prey, predators = state
    return jnp.stack(
        [
            prey * (rates["birth"] - rates["eaten"] * predators),
            predators * (rates["growth"] * prey - rates["death"]),
        ]
    )


def rk4_step(rates, dt, state, _):
    k1 = slope(rates, state)
    k2 = slope(rates, state + 0.5 * dt * k1)
    k3 = slope(rates, state + 0.5 * dt * k2)
    k4 = slope(rates, state + dt * k3)
    state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return state, state


@partial(jax.jit, static_argnames="steps")
def solve(rates, start, dt, steps):
    """The states after each step, (steps, 2)."""
    _, states = jax.lax.scan(partial(rk4_step, rates, dt), start, None, length=steps)
    return states


def misfit(log_rates, start, observed, dt):
    states = solve(jax.tree.map(jnp.exp, log_rates), start, dt, len(observed))
    return jnp.mean((jnp.log(states) - jnp.log(observed)) ** 2)


@jax.jit
def fit_step(log_rates, start, observed, dt):
    value, grads = jax.value_and_grad(misfit)(log_rates, start, observed, dt)
    return jax.tree.map(lambda r, g: r - 0.02 * g, log_rates, grads), value


def run(steps: int = 200, fits: int = 200) -> dict:
    """Simulate, observe, fit; the trajectory, the fitted rates, and the end points of a fan of starting points."""
    dt, start = 0.05, jnp.asarray([10.0, 5.0])
    states = solve(TRUE, start, dt, steps)
    observed = states * jnp.exp(0.05 * jax.random.normal(jax.random.key(5), states.shape))
    log_rates = {name: jnp.log(rate * factor) for (name, rate), factor in zip(TRUE.items(), (0.8, 1.2, 1.1, 0.9))}
    misfits = []
    for _ in range(fits):
        log_rates, value = fit_step(log_rates, start, observed, dt)
        misfits.append(float(value))
    starts = jnp.stack([jnp.linspace(5.0, 15.0, 11), jnp.full(11, 5.0)], axis=1)
    fan = jax.vmap(lambda s: solve(TRUE, s, dt, steps)[-1])(starts)
    return {
        "states": np.asarray(states),
        "misfits": np.asarray(misfits),
        "fan": np.asarray(fan),
        **{name: np.asarray(jnp.exp(rate)) for name, rate in log_rates.items()},
    }


def main() -> None:
    result = run()
    prey, predators = result["states"][-1]
    print(f"after {len(result['states'])} steps: {prey:.3f} prey, {predators:.3f} predators")
    print(f"misfit: {result['misfits'][0]:.5f} at first, {result['misfits'][-1]:.5f} when fitted")
    for name, rate in TRUE.items():
        print(f"  {name:7s} {rate:.3f}, found {result[name]:.3f}")


if __name__ == "__main__":
    main()
