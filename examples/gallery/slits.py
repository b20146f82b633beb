"""A wave behind two slits: the wave equation in two dimensions, with a wall in the way.

Central differences in time and space (the Courant number is 1/2), a source on the left, a layer that damps at the
edges, and the mean square of the wave, which is what a screen would show.
"""

import matplotlib.pyplot as plt
import numpy as np

n, steps = 450, 900
courant, wavelength = 0.5, 16.0

place = np.arange(n)
wall = np.zeros((n, n), bool)
wall[:, 150:156] = True
for middle in (n // 2 - 30, n // 2 + 30):
    wall[middle - 6 : middle + 6, 150:156] = False
from_edge = np.minimum(place, place[::-1])
damping = 1.0 - 0.1 * np.clip(1.0 - np.minimum(from_edge[:, None], from_edge) / 40.0, 0.0, 1.0) ** 2

now, before = np.zeros((n, n)), np.zeros((n, n))
brightness = np.zeros((n, n))
for step in range(steps):
    new = np.zeros((n, n))
    around = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4.0 * now[1:-1, 1:-1]
    new[1:-1, 1:-1] = 2.0 * now[1:-1, 1:-1] - before[1:-1, 1:-1] + courant**2 * around
    new[:, 20] += 0.1 * np.sin(2.0 * np.pi * courant * step / wavelength)
    new *= damping
    new[wall] = 0.0
    before, now = now, new
    if step >= steps // 2:
        brightness += now * now

# %% The figure
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="tight", sharey=True)
left.imshow(now, cmap="RdBu", vmin=-0.4, vmax=0.4)
left.set_title("the wave at the end")
right.imshow(np.sqrt(brightness), cmap="inferno", vmax=np.sqrt(brightness[:, 200:]).max())
right.set_title("its mean amplitude")
plt.show()
