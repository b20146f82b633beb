"""Particles, sparse matrices by index, spectra, random draws, and layers of networks by hand."""

import numpy

from .program import program, side, squares, vectors


def neighbours(rng, size):
    """Positions, and for each particle the indices of ten others."""
    n = max(12, size // 30)
    return rng.random((n, 3)), rng.integers(0, n, (n, 10))


@program("particles, neighbours by index", neighbours, steps=(500, 80, 2))
def springs(np, steps, position, near):
    """Each particle is pulled by ten others, which an array of indices names."""
    velocity = np.zeros_like(position)
    for _ in range(steps):
        apart = position[near] - position[:, None, :]
        distance = np.linalg.norm(apart, axis=2) + 0.05
        force = ((distance - 0.3) / distance)[:, :, None] * apart
        velocity = 0.98 * velocity + 0.002 * force.sum(axis=1)
        position = position + velocity
    return position, velocity


@program("particles, norms", lambda rng, size: (rng.random((side(size), 3)),), steps=(250, 30, 1), tolerance=1e-8)
def lennard_jones(np, steps, position):
    """All pairs, by rows: the norms of differences, a cut-off by a mask, forces that add up."""
    velocity = np.zeros_like(position)
    for _ in range(min(steps, 20)):
        force = np.zeros_like(position)
        for i in range(position.shape[0]):
            apart = position - position[i]
            square = np.sum(apart**2, axis=1) + 0.01
            close = square < 0.25
            inverse = np.where(close, 0.01 / square, 0.0) ** 3
            force[i] -= (inverse * (2.0 * inverse - 1.0) / square) @ apart
        velocity += 1e-4 * force
        position = position + 1e-2 * velocity
    return position, velocity


@program(
    "particles, masks",
    lambda rng, size: (rng.random((size // 2, 2)), rng.standard_normal((size // 2, 2))),
    steps=(1_500, 200, 5),
)
def box_of_gas(np, steps, position, velocity):
    """Particles that fall and bounce off walls: masks on columns."""
    dt = 0.003
    for _ in range(steps):
        velocity[:, 1] -= 9.81 * dt
        position += dt * velocity
        outside = (position < 0.0) | (position > 1.0)
        velocity[outside] *= -0.9
        np.clip(position, 0.0, 1.0, out=position)
    speed = np.sqrt((velocity**2).sum(axis=1))
    return position, velocity, speed.mean()


@program(
    "particles, histograms",
    lambda rng, size: (rng.random(size), 0.1 * rng.standard_normal(size)),
    steps=(400, 100, 4),
    tolerance=1e-8,
)
def particle_in_cell(np, steps, x, v):
    """Charge counted into cells, a field from its sums, and the field at each particle by index."""
    cells = 64
    for _ in range(steps):
        at = (x * cells).astype(np.int64) % cells
        density = np.bincount(at, minlength=cells) * (cells / x.shape[0]) - 1.0
        field = np.cumsum(density) / cells
        field -= field.mean()
        v -= 0.01 * field[at]
        x = (x + 0.01 * v) % 1.0
    return x, v, density


def sparse(rng, size):
    """A matrix in compressed rows, 30 numbers in each: values, columns, starts of rows; and a vector."""
    n = max(6, size // 30)
    return rng.random(30 * n), rng.integers(0, n, 30 * n), numpy.arange(0, 30 * n + 1, 30), rng.random(n)


@program("neighbours by index", sparse)
def sparse_rows(np, steps, values, columns, starts, x):
    """A sparse matrix times a vector, row by row, by slices that move and indices."""
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        begin, end = starts[i], starts[i + 1]
        y[i] = values[begin:end] @ x[columns[begin:end]]
    return y


@program("neighbours by index", sparse, steps=(600, 120, 4))
def page_rank(np, steps, values, columns, starts, x):
    """The same as a whole, again and again, with sums by `np.add.at` and by reduceat."""
    source = np.repeat(np.arange(x.shape[0]), 30)
    for _ in range(steps):
        flow = values * x[columns]
        x = np.add.reduceat(flow, starts[:-1])
        np.add.at(x, columns[: source.shape[0] // 10], 0.01)
        x /= x.sum()
    return x


@program("fft", lambda rng, size: (rng.standard_normal(size),), steps=(500, 50, 1), tolerance=1e-8)
def split_step(np, steps, x):
    """Schroedinger's equation by half steps in space and in frequency."""
    n = x.shape[0]
    grid = np.linspace(-10.0, 10.0, n)
    psi = np.exp(-(grid**2)) * (1.0 + 0.01 * x)
    potential = np.exp(-0.5j * 0.01 * grid**2)
    kinetic = np.exp(-0.5j * 0.01 * (2 * np.pi * np.fft.fftfreq(n, 20.0 / n)) ** 2)
    for _ in range(steps):
        psi = potential * np.fft.ifft(kinetic * np.fft.fft(potential * psi))
    return psi, np.sum(np.abs(psi) ** 2)


@program("fft", squares(1), steps=(150, 12, 1), tolerance=1e-8)
def vorticity(np, steps, w):
    """Two-dimensional turbulence: derivatives in frequency, products in space."""
    n = w.shape[0]
    k = 2 * np.pi * np.fft.fftfreq(n, 1.0 / n)
    kx, ky = k[:, None], k[None, :]
    square = kx**2 + ky**2
    square[0, 0] = 1.0
    keep = (np.abs(kx) < 2 * np.pi * n / 3) & (np.abs(ky) < 2 * np.pi * n / 3)
    hat = np.fft.fft2(w - w.mean())
    for _ in range(steps):
        stream = hat / square
        u = np.fft.ifft2(1j * ky * stream).real
        v = np.fft.ifft2(-1j * kx * stream).real
        product = u * np.fft.ifft2(1j * kx * hat).real + v * np.fft.ifft2(1j * ky * hat).real
        hat = (hat - 1e-5 * keep * np.fft.fft2(product)) / (1.0 + 1e-9 * square)
    return np.fft.ifft2(hat).real


@program("fft", lambda rng, size: (rng.standard_normal(max(512, size)),))
def spectrogram(np, steps, signal):
    """Windows of 256 samples, one after the other, each with its spectrum."""
    window = np.hanning(256)
    count = (signal.shape[0] - 256) // 64
    result = np.zeros((count, 129))
    for k in range(count):
        result[k] = np.abs(np.fft.rfft(signal[64 * k : 64 * k + 256] * window)) ** 2
    return np.log10(result + 1e-9)


@program("random draws", vectors(1), steps=(3_000, 100, 3))
def heston(np, steps, start):
    """Prices whose variance wanders, too: two draws in each step."""
    rng = np.random.default_rng(7)
    price, variance = 100.0 * np.ones_like(start), 0.04 + 0.01 * start
    for _ in range(steps):
        first = rng.standard_normal(price.shape[0])
        second = -0.7 * first + 0.714 * rng.standard_normal(price.shape[0])
        root = np.sqrt(np.maximum(variance, 0.0) * 0.004)
        price *= np.exp(-0.002 * variance + root * first)
        variance = variance + 0.004 * 2.0 * (0.04 - variance) + 0.3 * root * second
    return price, variance, np.maximum(price - 100.0, 0.0).mean()


@program(
    "random draws", lambda rng, size: (2 * rng.integers(0, 2, (2 * (side(size) // 2),) * 2) - 1,), steps=(1_000, 60, 3)
)
def ising(np, steps, spins):
    """Spins that flip at random, in chequerboard order, and the magnetization after each sweep."""
    rng = np.random.default_rng(3)
    i, j = np.indices(spins.shape)
    magnetization = np.zeros(steps)
    for k in range(steps):
        for colour in (0, 1):
            around = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            chance = np.exp(-0.8 * spins * around)
            flips = (rng.random(spins.shape) < chance) & ((i + j) % 2 == colour)
            spins[flips] *= -1
        magnetization[k] = spins.mean()
    return spins, magnetization


@program("random draws", lambda rng, size: (numpy.zeros((size // 2, 2)),), steps=(2_000, 250, 6))
def walkers(np, steps, position):
    """Random walks, and the largest distance of any from its start."""
    rng = np.random.default_rng(11)
    furthest = 0.0
    for _ in range(steps):
        position += rng.uniform(-1.0, 1.0, position.shape)
        furthest = max(furthest, float(np.hypot(position[:, 0], position[:, 1]).max()))
    return position, furthest


def sequences(rng, size):
    """Queries, keys and values of several sequences of 32 places, with 16 numbers in each."""
    shape = (max(1, size // 512), 32, 16)
    return rng.random(shape, "float32"), rng.random(shape, "float32"), rng.random(shape, "float32")


@program("softmax by hand", sequences, steps=(400, 40, 2), tolerance=1e-4)
def attention(np, steps, q, k, v):
    """Attention with a causal mask, several layers with the same weights."""
    later = np.triu(np.ones((q.shape[1], q.shape[1]), dtype=bool), 1)
    for _ in range(steps):
        score = q @ k.transpose(0, 2, 1) / np.float32(4.0)
        score[:, later] = -np.inf
        weight = np.exp(score - score.max(axis=-1, keepdims=True))
        weight /= weight.sum(axis=-1, keepdims=True)
        q = q + np.float32(0.1) * (weight @ v)
        q = (q - q.mean(axis=-1, keepdims=True)) / np.sqrt(q.var(axis=-1, keepdims=True) + np.float32(1e-5))
    return q


def batches(rng, size):
    """Rows of 20 numbers, classes of theirs, and the weights of two layers."""
    n = max(5, size // 20)
    w1, w2 = 0.3 * rng.standard_normal((20, 16)), 0.3 * rng.standard_normal((16, 5))
    return rng.standard_normal((n, 20)), rng.integers(0, 5, n), w1, w2


@program("layers by hand", batches, steps=(800, 100, 4), tolerance=1e-8)
def two_layers(np, steps, x, y, w1, w2):
    """Training with softmax, cross entropy and momentum, gradients by hand."""
    m1, m2 = np.zeros_like(w1), np.zeros_like(w2)
    rows = np.arange(x.shape[0])
    for _ in range(steps):
        hidden = np.maximum(x @ w1, 0.0)
        logits = hidden @ w2
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        loss = -np.mean(np.log(p[rows, y]))
        p[rows, y] -= 1.0
        p /= x.shape[0]
        back = p @ w2.T
        back[hidden <= 0.0] = 0.0
        m1 = 0.9 * m1 - 0.05 * (x.T @ back)
        m2 = 0.9 * m2 - 0.05 * (hidden.T @ p)
        w1 += m1
        w2 += m2
    return w1, w2, loss


def recurrent(rng, size):
    """A batch of sequences of 20 places with 8 numbers, and the weights of a cell with 16 states."""
    n = max(2, size // 160)
    return rng.standard_normal((20, n, 8)), 0.3 * rng.standard_normal((24, 64)), 0.1 * rng.standard_normal(64)


@program("layers by hand", recurrent, steps=(40, 10, 1))
def lstm(np, steps, x, w, bias):
    """A cell with long and short memory along sequences."""
    n = 16
    for _ in range(steps):
        h, c = np.zeros((x.shape[1], n)), np.zeros((x.shape[1], n))
        for t in range(x.shape[0]):
            gates = np.concatenate([x[t], h], axis=1) @ w + bias
            i, f, o = (1.0 / (1.0 + np.exp(-gates[:, k * n : (k + 1) * n])) for k in range(3))
            c = f * c + i * np.tanh(gates[:, 3 * n :])
            h = o * np.tanh(c)
        x[0, :, :] = 0.9 * x[0, :, :] + 0.01 * h[:, :8]
    return h, c
