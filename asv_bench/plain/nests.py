"""Triangular nests of linear algebra, correlation and covariance, and filters with small matrices."""

import numpy

from .program import program, side, squares


def positive(rng, size):
    """A symmetric positive definite matrix."""
    n = side(size)
    a = rng.random((n, n))
    return (a @ a.T / n + numpy.eye(n),)


@program("triangular nest: cholesky", positive)
def cholesky_dots(np, steps, a):
    """Row by row, each element by a dot product of parts of rows."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
        a[i, i] = np.sqrt(a[i, i] - a[i, :i] @ a[i, :i])
    return np.tril(a)


@program("triangular nest: cholesky", positive)
def cholesky_columns(np, steps, a):
    """Column by column, with products of a trapezium and a row."""
    n = a.shape[0]
    for j in range(n):
        a[j:, j] -= a[j:, :j] @ a[j, :j]
        a[j:, j] /= np.sqrt(a[j, j])
    return np.tril(a)


@program("triangular nest: lu", positive)
def lu_rows(np, steps, a):
    """Gauss's elimination of up to 100 columns: a multiple of a row is subtracted from each row below."""
    n = a.shape[0]
    for k in range(min(n - 1, 100)):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a


@program("triangular nest: lu", positive)
def lu_updates(np, steps, a):
    """The same with one outer product for each column, up to 120 columns."""
    for k in range(min(a.shape[0] - 1, 120)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[k, k + 1 :]
    return a


def triangle_and_wide(rng, size):
    """A triangular matrix of at most 100 rows, and one with as many rows and all the columns that the size allows."""
    n = min(side(size), 100)
    return rng.random((n, n)) / n, rng.random((n, max(4, size // n)))


@program("triangular nest: trmm", triangle_and_wide)
def trmm_rows(np, steps, a, b):
    """The product with a triangular matrix, in place, by multiples of rows."""
    for i in range(b.shape[0]):
        for k in range(i + 1, b.shape[0]):
            b[i] += a[k, i] * b[k]
        b[i] *= 1.5
    return b


@program("triangular nest: trmm", squares(2), steps=(1000, 1000, 30))
def trmm_dots(np, steps, a, b):
    """The same by a dot product of parts of columns for each element, of so many rows at most."""
    for i in range(min(steps, b.shape[0])):
        for j in range(b.shape[1]):
            b[i, j] += a[i + 1 :, i] @ b[i + 1 :, j]
    return b


@program("triangular nest: syrk", triangle_and_wide)
def syrk_rows(np, steps, c, a):
    """A symmetric product added to a triangle, part of a row by part of a row."""
    for i in range(c.shape[0]):
        c[i, : i + 1] *= 0.7
        for k in range(min(a.shape[1], 300)):
            c[i, : i + 1] += 0.1 * a[i, k] * a[: i + 1, k]
    return c


@program("triangular nest: syrk", squares(2), steps=(1, 1, 1))
def syrk_products(np, steps, c, a):
    """The same with one product of matrix and vector for each row."""
    for i in range(c.shape[0]):
        c[i, : i + 1] *= 0.7
        c[i, : i + 1] += 0.1 * (a[: i + 1] @ a[i])
    return c


@program(
    "triangular nest: substitution",
    lambda rng, size: (rng.random((side(size),) * 2), rng.random(side(size))),
    steps=(40, 10, 2),
)
def substitution(np, steps, a, b):
    """A triangular system solved from above, and then again for its result."""
    a = a / a.shape[0] + 2.0 * np.eye(a.shape[0])
    for _ in range(steps):
        x = np.zeros_like(b)
        for i in range(b.shape[0]):
            x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
        b = x
    return b


@program(
    "triangular nest: orthogonal",
    lambda rng, size: (rng.random((max(30, size // 30), 30)),),
    steps=(6, 3, 1),
    tolerance=1e-9,
)
def gram_schmidt(np, steps, a):
    """Columns made orthogonal one after the other."""
    for _ in range(steps):
        for k in range(a.shape[1]):
            a[:, k] /= np.sqrt(np.sum(a[:, k] ** 2))
            for j in range(k + 1, a.shape[1]):
                a[:, j] -= np.dot(a[:, k], a[:, j]) * a[:, k]
        a += 1e-3
    return a


@program("correlation", lambda rng, size: (rng.random((max(20, size // 20), 20)),), steps=(8, 6, 1))
def correlation(np, steps, data):
    """The triangle of correlations, variable by variable, of data that are scaled first."""
    for k in range(steps):
        x = data - data.mean(axis=0)
        deviation = np.sqrt(np.mean(x * x, axis=0))
        deviation[deviation <= 1e-9] = 1.0
        x /= np.sqrt(data.shape[0]) * deviation
        result = np.eye(data.shape[1])
        for i in range(data.shape[1] - 1):
            result[i, i + 1 :] = x[:, i] @ x[:, i + 1 :]
            result[i + 1 :, i] = result[i, i + 1 :]
        data[:, k % data.shape[1]] += 0.1
    return result


@program("covariance", lambda rng, size: (rng.random((max(8, size // 8), 8)),), steps=(1, 1, 1))
def running_covariance(np, steps, samples):
    """Mean and covariance of eight variables, updated with one sample at a time, of at most 20,000."""
    mean = samples[0].copy()
    covariance = np.eye(samples.shape[1])
    for t in range(1, min(samples.shape[0], 20_000)):
        apart = samples[t] - mean
        mean += 0.05 * apart
        covariance = 0.95 * covariance + 0.0475 * np.outer(apart, apart)
    return mean, covariance


@program("covariance", lambda rng, size: (rng.random((max(30, size // 30), 30)),), steps=(20, 10, 2))
def whitened_covariance(np, steps, data):
    """np.cov and np.corrcoef of windows of rows, summed up."""
    total = np.zeros((data.shape[1], data.shape[1]))
    width = max(4, data.shape[0] // 4)
    for k in range(steps):
        window = data[k % 3 * width // 4 :][:width]
        total += np.cov(window, rowvar=False) + 0.01 * np.corrcoef(window, rowvar=False)
    return total


MOTION = [[1.0, 0.0, 0.1, 0.0], [0.0, 1.0, 0.0, 0.1], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]


@program("Kalman filter", lambda rng, size: (rng.random((max(6, min(size, 480_000) // 16), 2)),))
def kalman(np, steps, measured):
    """One filter with four states, whose 4 x 4 covariances are kept (at most 30,000 of them)."""
    f, h = np.array(MOTION), np.eye(2, 4)
    q, r, identity = 0.01 * np.eye(4), 0.1 * np.eye(2), np.eye(4)
    x, p = np.zeros(4), np.eye(4)
    states = np.zeros((measured.shape[0], 4))
    covariances = np.zeros((measured.shape[0], 4, 4))
    for t in range(measured.shape[0]):
        x = f @ x
        p = f @ p @ f.T + q
        gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + r)
        x = x + gain @ (measured[t] - h @ x)
        p = (identity - gain @ h) @ p
        states[t] = x
        covariances[t] = p
    return states, covariances


@program("Kalman filter", lambda rng, size: (rng.random((50, max(6, size // 16), 2)),), steps=(50, 50, 5))
def kalman_tracks(np, steps, measured):
    """Many filters at once: stacks of 4 x 4 matrices."""
    f, h = np.array(MOTION), np.eye(2, 4)
    q, r, identity = 0.01 * np.eye(4), 0.1 * np.eye(2), np.eye(4)
    x = np.zeros((measured.shape[1], 4))
    p = np.zeros((measured.shape[1], 4, 4)) + identity
    for t in range(steps):
        x = x @ f.T
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        determinant = s[:, 0, 0] * s[:, 1, 1] - s[:, 0, 1] * s[:, 1, 0]
        inverse = np.empty_like(s)
        inverse[:, 0, 0] = s[:, 1, 1] / determinant
        inverse[:, 1, 1] = s[:, 0, 0] / determinant
        inverse[:, 0, 1] = -s[:, 0, 1] / determinant
        inverse[:, 1, 0] = -s[:, 1, 0] / determinant
        gain = p @ h.T @ inverse
        residual = measured[t] - x @ h.T
        x = x + (gain @ residual[:, :, None])[:, :, 0]
        p = (identity - gain @ h) @ p
    return x, p
