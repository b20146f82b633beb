"""Spots that divide: two substances that react and diffuse.

The equations of Gray and Scott, with the feed and the decay of Pearson, "Complex patterns in a simple system" (1993).
One time step is a stencil written in place, as in any NumPy text.
"""

import matplotlib.pyplot as plt
import numpy as np

n, steps = 360, 2000
feed, decay = 0.034, 0.0618

u, v = np.ones((n, n)), np.zeros((n, n))
for row, column in np.random.default_rng(5).integers(20, n - 20, (50, 2)):
    u[row - 8 : row + 8, column - 8 : column + 8] = 0.5
    v[row - 8 : row + 8, column - 8 : column + 8] = 0.25


def laplacian(a):
    return a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2] - 4.0 * a[1:-1, 1:-1]


for _ in range(steps):
    inner_u, inner_v = u[1:-1, 1:-1], v[1:-1, 1:-1]  # views: what is written into them is written into u and v
    reaction = inner_u * inner_v * inner_v
    change_u = 0.16 * laplacian(u) - reaction + feed * (1.0 - inner_u)
    change_v = 0.08 * laplacian(v) + reaction - (feed + decay) * inner_v
    inner_u += change_u
    inner_v += change_v

# %% The figure
plt.figure(figsize=(5, 5), layout="tight")
plt.imshow(v[20:-20, 20:-20], cmap="magma")
plt.axis("off")
plt.show()
