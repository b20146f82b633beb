"""Spirals from noise: the cyclic cellular automaton of Griffeath.

Each cell has one of 12 colours, and takes the next one as soon as one of its four neighbours has it. Waves grow out of
the noise, and meet in spirals. All is done with small integers and truth values.
"""

import matplotlib.pyplot as plt
import numpy as np

n, steps, colors = 330, 400, 12
cells = np.random.default_rng(0).integers(0, colors, (n, n), dtype=np.uint8)
changed = []

for _ in range(steps):
    following = (cells + 1) % colors
    padded = np.pad(cells, 1, mode="wrap")
    eaten = padded[2:, 1:-1] == following
    eaten |= padded[:-2, 1:-1] == following
    eaten |= padded[1:-1, 2:] == following
    eaten |= padded[1:-1, :-2] == following
    cells = np.where(eaten, following, cells)
    changed.append(eaten.mean())

# %% The figure
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="tight")
left.imshow(cells, cmap="twilight")
left.axis("off")
right.plot(changed)
right.set(xlabel="step", ylabel="share of the cells that change")
plt.show()
