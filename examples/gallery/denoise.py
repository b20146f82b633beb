"""A picture without its noise: the gradient of a loss that is written in plain NumPy.

Total variation (Rudin, Osher and Fatemi, 1992): the picture that is near the noisy one, and whose slopes are small but
for some edges. `np.grad` differentiates the loss with the writes in it; Nesterov's method goes down.
"""

import matplotlib.pyplot as plt

import lazynp as np

n, steps, weight = 400, 150, 0.25
x = np.linspace(-1.0, 1.0, n)
radius = np.hypot(x[:, None], x)
clean = np.where(radius < 0.8, 0.5 + 0.5 * np.sign(np.sin(14.0 * radius)), 0.25 + 0.25 * (x[:, None] > x))
noisy = clean + 0.25 * np.random.default_rng(4).standard_normal((n, n))


def loss(picture):
    slope = np.zeros((2, n, n))
    slope[0, :-1] = picture[1:] - picture[:-1]
    slope[1, :, :-1] = picture[:, 1:] - picture[:, :-1]
    variation = np.sqrt((slope**2).sum(axis=0) + 1e-3).sum()
    return 0.5 * ((picture - noisy) ** 2).sum() + weight * variation


gradient = np.jit(np.grad(loss))
picture, ahead = noisy.copy(), noisy.copy()
for step in range(steps):
    new = ahead - 0.015 * gradient(ahead)
    ahead = new + step / (step + 3) * (new - picture)
    picture = new

# %% The figure
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="tight")
for axis, image, title in zip(axes, (clean, noisy, picture), ("clean", "noisy", "without the noise"), strict=True):
    axis.imshow(image, cmap="gray", vmin=-0.2, vmax=1.2)
    axis.set_title(title)
    axis.axis("off")
plt.show()
