"""Recurrences along rows and columns, dynamic programming, and ordinary differential equations."""

from .program import program, side, squares, vectors


def tall(rng, size):
    """Two arrays with about 50 columns."""
    return rng.random((max(4, size // 50), 50)), rng.random((max(4, size // 50), 50))


@program("column recurrence", tall, steps=(60, 15, 2))
def smoothing(np, steps, x, y):
    """Exponential smoothing of many series along their columns, there and back."""
    for _ in range(steps):
        for t in range(1, x.shape[1]):
            y[:, t] = 0.3 * x[:, t] + 0.7 * y[:, t - 1]
        for t in range(x.shape[1] - 2, -1, -1):
            y[:, t] = 0.3 * y[:, t] + 0.7 * y[:, t + 1]
    return y


@program("row recurrence", squares(2), steps=(60, 20, 2))
def thomas(np, steps, upper, x):
    """Tridiagonal systems, one in each column, by elimination along the rows."""
    for _ in range(steps):
        c = np.zeros_like(upper)
        c[0] = 0.3 * upper[0]
        x[0] = 0.5 * x[0]
        for i in range(1, x.shape[0]):
            pivot = 1.0 / (3.0 - 0.5 * c[i - 1])
            c[i] = upper[i] * pivot
            x[i] = (x[i] + 0.5 * x[i - 1]) * pivot
        for i in range(x.shape[0] - 2, -1, -1):
            x[i] -= c[i] * x[i + 1]
    return x


@program("row and column recurrence", squares(1), steps=(25, 8, 1))
def alternating(np, steps, u):
    """Heat by alternating directions: implicit along columns, then along rows, with scalar coefficients."""
    n = u.shape[0]
    p = np.zeros(n)
    for i in range(1, n):
        p[i] = 0.4 / (1.8 - 0.4 * p[i - 1])
    for _ in range(steps):
        v = np.zeros_like(u)
        q = u.copy()
        for j in range(1, n - 1):
            q[1:-1, j] = (0.4 * (u[2:, j] + u[:-2, j]) + 0.2 * u[1:-1, j] + 0.4 * q[1:-1, j - 1]) / (
                1.8 - 0.4 * p[j - 1]
            )
        for j in range(n - 2, 0, -1):
            v[1:-1, j] = p[j] * v[1:-1, j + 1] + q[1:-1, j]
        q = v.copy()
        for i in range(1, n - 1):
            q[i, 1:-1] = (0.4 * (v[i, 2:] + v[i, :-2]) + 0.2 * v[i, 1:-1] + 0.4 * q[i - 1, 1:-1]) / (
                1.8 - 0.4 * p[i - 1]
            )
        for i in range(n - 2, 0, -1):
            u[i, 1:-1] = p[i] * u[i + 1, 1:-1] + q[i, 1:-1]
    return u


@program("recurrence", vectors(1), steps=(200, 200, 40), tolerance=1e-9)
def levinson(np, steps, signal):
    """Linear prediction: autocorrelations by shifted dot products, then Levinson's recursion on slices that grow."""
    signal = signal - signal.mean()
    order = min(steps, signal.shape[0] // 2)
    r = np.zeros(order + 1)
    for k in range(order + 1):
        r[k] = np.dot(signal[k:], signal[: signal.shape[0] - k])
    a = np.zeros(order + 1)
    a[0] = 1.0
    error = r[0] * 1.001
    for m in range(1, order + 1):
        reflection = -np.dot(a[:m], r[m:0:-1]) / error
        a[1 : m + 1] += reflection * a[m - 1 :: -1][:m]
        error = error * (1.0 - reflection * reflection)
    return a


@program(
    "dynamic programming",
    lambda rng, size: (rng.integers(0, 4, side(size)), rng.integers(0, 4, side(size))),
    steps=(8, 2, 1),
)
def alignment(np, steps, first, second):
    """Needleman and Wunsch's scores, by antidiagonals."""
    n = first.shape[0]
    for _ in range(steps):
        backwards = second[::-1].copy()
        previous = np.zeros(n + 1, dtype=np.int64)
        current = np.zeros(n + 1, dtype=np.int64)
        current[:2] = -1
        for d in range(2, 2 * n + 1):
            low, high = max(1, d - n), min(d, n + 1)
            match = np.where(first[low - 1 : high - 1] == backwards[n - d + low : n - d + high], 2, -1)
            following = np.full(n + 1, -d, dtype=np.int64)
            best = np.maximum(current[low - 1 : high - 1], current[low:high]) - 1
            following[low:high] = np.maximum(previous[low - 1 : high - 1] + match, best)
            previous, current = current, following
    return current


@program(
    "dynamic programming",
    lambda rng, size: (rng.integers(1, max(3, size // 20), 400), rng.integers(1, 1000, 400), size),
    steps=(400, 400, 40),
)
def knapsack(np, steps, weights, values, capacity):
    """The best value for each capacity; items are taken up one after the other, in place."""
    best = np.zeros(capacity + 1, dtype=np.int64)
    for item in range(steps):
        w, v = int(weights[item]), int(values[item])
        best[w:] = np.maximum(best[w:], best[:-w] + v)
    return best


@program(
    "dynamic programming",
    lambda rng, size: (rng.random((side(size), side(size))), rng.random((200, side(size)))),
    steps=(200, 150, 20),
)
def viterbi(np, steps, transitions, emissions):
    """The likeliest path through hidden states, and the way back by index."""
    cost, emitted = np.log(0.1 + transitions), np.log(0.1 + emissions)
    score = emitted[0].copy()
    came_from = np.zeros((steps, score.shape[0]), dtype=np.int64)
    for t in range(1, steps):
        candidates = score[:, None] + cost
        came_from[t] = candidates.argmax(axis=0)
        score = candidates.max(axis=0) + emitted[t]
    path = np.zeros(steps, dtype=np.int64)
    path[-1] = score.argmax()
    for t in range(steps - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return score, path


@program("dynamic programming", squares(1), steps=(20, 10, 2))
def seam(np, steps, energy):
    """The cheapest way down through an image, row by row with three neighbours; what is cheap gets dearer."""
    for _ in range(steps):
        total = energy.copy()
        for i in range(1, total.shape[0]):
            above = total[i - 1]
            total[i, 1:-1] += np.minimum(np.minimum(above[:-2], above[1:-1]), above[2:])
            total[i, 0] += min(above[0], above[1])
            total[i, -1] += min(above[-1], above[-2])
        energy += 0.01 * total / total.max()
    return total


@program("Floyd-Warshall", squares(1), steps=(32, 173, 40))
def shortest_paths(np, steps, distance):
    """All pairs of vertices, through so many vertices between them."""
    for k in range(min(steps, distance.shape[0])):
        distance = np.minimum(distance, distance[:, k, None] + distance[k])
    return distance


@program(
    "Floyd-Warshall", lambda rng, size: (rng.random((side(size), side(size))) < 2.0 / side(size),), steps=(32, 173, 300)
)
def reachable(np, steps, linked):
    """Which vertices can be reached from which: truth values, in place."""
    for k in range(min(steps, linked.shape[0])):
        linked |= linked[:, k, None] & linked[k]
    return linked


def lorenz(x, y, z):
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 2.6667 * z


@program("differential equation", vectors(3), steps=(600, 50, 1), tolerance=1e-7)
def lorenz_ensemble(np, steps, x, y, z):
    """Runge and Kutta's fourth order for many starting points; short, since the system is chaotic."""
    dt = 0.002
    for _ in range(steps):
        k1 = lorenz(x, y, z)
        k2 = lorenz(*(w + 0.5 * dt * k for w, k in zip((x, y, z), k1)))
        k3 = lorenz(*(w + 0.5 * dt * k for w, k in zip((x, y, z), k2)))
        k4 = lorenz(*(w + dt * k for w, k in zip((x, y, z), k3)))
        x, y, z = (w + dt / 6.0 * (a + 2.0 * b + 2.0 * c + d) for w, a, b, c, d in zip((x, y, z), k1, k2, k3, k4))
    return x, y, z
