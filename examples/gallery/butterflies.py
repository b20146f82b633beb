"""A hundred thousand butterflies: Lorenz's equations from starts that differ in the fourth digit.

The method of Runge and Kutta of fourth order, for all of them at once. The ensemble stays together for a while, and
then spreads over the whole attractor: no forecast goes beyond that.
"""

import matplotlib.pyplot as plt
import numpy as np

many, steps, dt = 100_000, 900, 0.02
state = np.ones((3, many))
state[0] += 1e-4 * np.random.default_rng(2).standard_normal(many)


def slope(state):
    x, y, z = state
    change = np.empty_like(state)
    change[0] = 10.0 * (y - x)
    change[1] = x * (28.0 - z) - y
    change[2] = x * y - 8.0 / 3.0 * z
    return change


spread = np.zeros(steps)
for step in range(steps):
    a = slope(state)
    b = slope(state + 0.5 * dt * a)
    c = slope(state + 0.5 * dt * b)
    d = slope(state + dt * c)
    state += dt / 6.0 * (a + 2.0 * b + 2.0 * c + d)
    spread[step] = state[0].std()

# %% The figure
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="tight")
left.plot(state[0], state[2], ",", alpha=0.3)
left.set(xlabel="x", ylabel="z", title=f"after {steps * dt:g} units of time")
right.semilogy(dt * np.arange(steps), spread)
right.set(xlabel="time", title="standard deviation of x")
plt.show()
