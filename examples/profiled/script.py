"""How many peaks a rough surface has, and the mean height of them: each point beside its four neighbours."""

import numpy as np

N = 1500


def surface(n):
    x = np.linspace(0.0, 60.0, n)
    return np.sin(x[:, None]) * np.cos(1.3 * x) + 0.3 * np.sin(5 * x[:, None] + 7 * x)


def peaks(a):
    count, height = 0, 0.0
    for i in range(1, len(a) - 1):
        for j in range(1, len(a) - 1):
            z = a[i, j]
            if z > a[i - 1, j] and z > a[i + 1, j] and z > a[i, j - 1] and z > a[i, j + 1]:
                count += 1
                height += z
    return count, height / count


count, height = peaks(surface(N))
print(f"{count} peaks, {height:.6f} high in the mean")
