# %% [markdown]
# # The period of a star
# A star was observed in some nights of two years, at uneven times and with noise. Does its brightness repeat?

# %%
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(8)
nights = np.sort(rng.choice(730, 300, replace=False))
time = np.sort((nights[:, None] + rng.uniform(0.0, 0.3, (300, 4))).ravel())
brightness = 12.0 + 0.1 * np.sin(2 * np.pi * time / 3.7) + 0.05 * np.sin(4 * np.pi * time / 3.7 + 1.0)
brightness += 0.1 * rng.standard_normal(time.size)
print(time.size, "observations,", brightness.mean().round(3), "±", brightness.std().round(3))

# %% [markdown]
# A Fourier transform needs even times. The periodogram of Lomb and Scargle does not: at each frequency it fits a sine
# and a cosine. With broadcasting that is one table of frequencies by times, 3.6 million sines.

# %%
frequency = np.linspace(0.02, 1.2, 3000)
angle = 2 * np.pi * frequency[:, None] * time
deviation = brightness - brightness.mean()
phase = np.arctan2(np.sin(2 * angle).sum(axis=1), np.cos(2 * angle).sum(axis=1)) / 2
cosine, sine = np.cos(angle - phase[:, None]), np.sin(angle - phase[:, None])
power = (cosine * deviation).sum(axis=1) ** 2 / (cosine**2).sum(axis=1)
power += (sine * deviation).sum(axis=1) ** 2 / (sine**2).sum(axis=1)
power /= (deviation**2).sum()

period = 1 / frequency[power.argmax()]
print(f"the period is {period:.3f} days")

# %% [markdown]
# Folded with that period, the observations show the curve.

# %% The figure
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="tight")
left.plot(frequency, power)
left.set(xlabel="frequency in 1/day", ylabel="power")
right.plot(time % period, brightness, ".", markersize=3)
right.set(xlabel=f"time modulo {period:.3f} days", ylabel="brightness")
plt.show()
