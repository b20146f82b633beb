"""Newton's method for z³ = 1 in the complex plane: which root is found from where, and how fast.

A mask stops the points that have arrived. Points in a lighter shade needed more steps.
"""

import matplotlib.pyplot as plt
import numpy as np

n = 700
x = np.linspace(-1.6, 1.6, n)
z = x[None, :] + 1j * x[:, None]
count = np.zeros((n, n), int)

for _ in range(40):
    square = z * z
    step = (square * z - 1.0) / (3.0 * square)
    moving = np.abs(step) > 1e-8
    z[moving] -= step[moving]
    count += moving

root = np.round(np.angle(z) * 3.0 / (2.0 * np.pi)).astype(int) % 3
colors = np.array([[0.10, 0.30, 0.55], [0.75, 0.25, 0.20], [0.95, 0.75, 0.30]])
shade = np.minimum(count / 25.0, 1.0)[:, :, None]
image = colors[root] * (1.0 - shade) + shade

# %% The figure
plt.figure(figsize=(5, 5), layout="tight")
plt.imshow(image, extent=(-1.6, 1.6, -1.6, 1.6), origin="lower")
plt.xlabel("real part")
plt.ylabel("imaginary part")
plt.show()
