"""The same as `script.py`, after its profile's advice: comparisons of whole slices in the place of single elements."""

import numpy as np

N = 1500


def surface(n):
    x = np.linspace(0.0, 60.0, n)
    return np.sin(x[:, None]) * np.cos(1.3 * x) + 0.3 * np.sin(5 * x[:, None] + 7 * x)


def peaks(a):
    z = a[1:-1, 1:-1]
    higher = (z > a[:-2, 1:-1]) & (z > a[2:, 1:-1]) & (z > a[1:-1, :-2]) & (z > a[1:-1, 2:])
    count = np.count_nonzero(higher)
    return count, np.where(higher, z, 0.0).sum() / count


count, height = peaks(surface(N))
print(f"{count} peaks, {height:.6f} high in the mean")
