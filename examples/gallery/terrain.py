"""A landscape: noise whose spectrum falls off, slopes that slide, and the light of a low sun.

The slopes are worked on along one axis and then along the other, by way of a transposed view: what slides in
`height.T` slides in `height`.
"""

import matplotlib.pyplot as plt
import numpy as np

n = 1024
frequency = np.fft.fftfreq(n)
size = np.sqrt(frequency[:, None] ** 2 + frequency**2)
size[0, 0] = np.inf

noise = np.random.default_rng(11).standard_normal((n, n))
height = np.fft.ifft2(np.fft.fft2(noise) * size**-1.9).real
height = (height - height.min()) / (height.max() - height.min())

for _ in range(20):  # what is steeper than the limit slides down
    for ground in (height, height.T):
        sliding = 0.25 * np.maximum(np.abs(ground[1:] - ground[:-1]) - 0.004, 0.0)
        sliding *= np.sign(ground[1:] - ground[:-1])
        ground[:-1] += sliding
        ground[1:] -= sliding

down, right = np.gradient(height * 200.0)
light = (right - down + 1.0) / np.sqrt(3.0 * (down**2 + right**2 + 1.0))
sea = height < 0.42

# %% The figure
plt.figure(figsize=(5, 5), layout="tight")
plt.imshow(np.where(sea, np.nan, height), cmap="terrain", vmin=0.2, vmax=1.0)
plt.imshow(np.clip(0.5 - light / 2.0, 0.0, 1.0), cmap="Greys", alpha=0.45 * ~sea)
plt.gca().set_facecolor("#27476e")
plt.xticks([])
plt.yticks([])
plt.show()
