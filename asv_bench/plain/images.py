"""Images: convolutions by nested loops over pixels, windows, histograms and masks."""

import numpy

from .program import program, side, squares


def image_and_kernel(rng, size):
    """A square image, and a 5 x 5 kernel."""
    return rng.random((side(size),) * 2), rng.random((5, 5)) / 25.0


@program("convolution over pixels", image_and_kernel)
def convolve_pixels(np, steps, image, kernel):
    """Each pixel of the result from a window; of a large image every sixth in each direction."""
    stride = 1 if image.shape[0] < 500 else 6
    n = (image.shape[0] - 4) // stride if image.shape[0] > 4 else 0
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            result[i, j] = np.sum(image[i * stride : i * stride + 5, j * stride : j * stride + 5] * kernel)
    return result


@program(
    "convolution over pixels",
    lambda rng, size: (
        rng.random((max(2, size // 768), 16, 16, 3), dtype=numpy.float32),
        rng.random((3, 3, 3, 8), dtype=numpy.float32),
        rng.random(8, dtype=numpy.float32),
    ),
    tolerance=1e-5,
)
def convolution_layer(np, steps, images, weights, bias):
    """A layer of a network in single precision: a window of all images for each pixel of the result."""
    n = images.shape[1] - 2
    result = np.empty((images.shape[0], n, n, weights.shape[3]), dtype=np.float32)
    for i in range(n):
        for j in range(n):
            window = images[:, i : i + 3, j : j + 3, :, np.newaxis]
            result[:, i, j, :] = np.sum(window * weights[np.newaxis], axis=(1, 2, 3)) + bias
    return np.maximum(result, 0)


@program("convolution over taps", image_and_kernel, steps=(60, 20, 2))
def convolve_taps(np, steps, image, kernel):
    """The whole image for each tap of the kernel, added up in place."""
    n = image.shape[0]
    for _ in range(steps):
        result = np.zeros((n - 4, n - 4))
        for i in range(5):
            for j in range(5):
                result += kernel[i, j] * image[i : i + n - 4, j : j + n - 4]
        image[2:-2, 2:-2] = 0.5 * image[2:-2, 2:-2] + result
    return image


@program("windows", squares(1, "float32"), steps=(100, 25, 2), tolerance=1e-4)
def bilateral(np, steps, image):
    """A bilateral filter: weights from the distance in space and in brightness."""
    n = image.shape[0]
    inner = image[2:-2, 2:-2]
    for _ in range(steps):
        total, weight = np.zeros_like(inner), np.zeros_like(inner)
        for i in range(5):
            for j in range(5):
                other = image[i : i + n - 4, j : j + n - 4]
                w = np.exp(-(((i - 2) ** 2 + (j - 2) ** 2) / 4.5) - (other - inner) ** 2 / 0.08)
                total += w * other
                weight += w
        inner[...] = total / weight
    return image


@program("windows", squares(1), steps=(100, 30, 2))
def pooling(np, steps, image):
    """Blocks of 8 x 8 pixels: their mean and spread, one after the other, of so many rows of blocks."""
    blocks = min(image.shape[0] // 8, 60) or 1
    mean, spread = np.zeros((blocks, blocks)), np.zeros((blocks, blocks))
    for _ in range(min(steps, 3)):
        for i in range(blocks):
            for j in range(blocks):
                block = image[8 * i : 8 * i + 8, 8 * j : 8 * j + 8]
                mean[i, j] = block.mean()
                spread[i, j] = block.max() - block.min()
        image *= 0.99
    return mean, spread


@program(
    "histogram",
    lambda rng, size: (rng.integers(0, 200, (side(size), side(size))).astype(numpy.uint8),),
    steps=(100, 60, 12),
)
def equalize(np, steps, image):
    """Histogram equalization: a histogram, its sums, and a table that is looked up for each pixel."""
    for k in range(steps):
        histogram = np.bincount(image.ravel(), minlength=256)
        cumulated = histogram.cumsum()
        table = (255 * (cumulated - cumulated[0]) // max(1, int(cumulated[-1] - cumulated[0]))).astype(np.uint8)
        image = table[image]
        image[k % image.shape[0]] //= 2
    return image


@program("histogram", lambda rng, size: (rng.random(size), rng.random(size)), steps=(100, 40, 2))
def radial_profile(np, steps, radius, brightness):
    """Weighted histograms, and the mean brightness in each ring, by masks."""
    profile = np.zeros(20)
    for _ in range(steps):
        counts, edges = np.histogram(radius, bins=20, range=(0.0, 1.0))
        sums, _ = np.histogram(radius, bins=20, range=(0.0, 1.0), weights=brightness)
        profile += sums / np.maximum(counts, 1)
        inside = (radius >= edges[5]) & (radius < edges[10])
        if inside.any():
            profile[5] += brightness[inside].mean()
        brightness = 0.9 * brightness + 0.1 * radius
    return profile


@program("mask", lambda rng, size: (rng.integers(0, 6, (side(size), side(size))),), steps=(1_500, 120, 8))
def sand_pile(np, steps, grid):
    """A pile of sand: where four grains lie, one falls to each side; until all is at rest."""
    for _ in range(steps):
        unstable = grid >= 4
        if not unstable.any():
            break
        grid[unstable] -= 4
        grid[1:, :] += unstable[:-1, :]
        grid[:-1, :] += unstable[1:, :]
        grid[:, 1:] += unstable[:, :-1]
        grid[:, :-1] += unstable[:, 1:]
    return grid


@program("mask", lambda rng, size: (rng.standard_normal(size), rng.standard_normal(size)), steps=(1_500, 100, 4))
def clipped_returns(np, steps, x, y):
    """Outliers replaced, gaps filled, and sums of what is left, by masks."""
    total = 0.0
    for k in range(steps):
        z = x * (1.0 + 0.01 * k) + 0.1 * y
        bad = np.abs(z) > 3.0
        z[bad] = np.sign(z[bad]) * 3.0
        z[z < -2.5] = 0.0
        total += z[~bad].sum() + np.count_nonzero(bad)
        x = 0.99 * z
    return x, total


def plane(width):
    """Points of the complex plane around zero."""

    def inputs(rng, size):
        n = side(size)
        x = numpy.linspace(-width, width, n)
        return (x + 1j * x[:, None],)

    return inputs


@program("complex fractal", plane(1.5), steps=(300, 120, 12))
def julia(np, steps, z):
    """How long points stay near zero under z * z + c; those that have left are masked."""
    count = np.zeros(z.shape, dtype=np.int64)
    for _ in range(steps):
        near = np.abs(z) < 2.0
        z[near] = z[near] ** 2 + (-0.512511498387847167 + 0.521295573094847167j)
        count[near] += 1
    return count


@program("complex fractal", plane(2.0), steps=(300, 80, 4), tolerance=1e-6)
def newton(np, steps, z):
    """Newton's method for a cube root of one, and which root each point comes to."""
    z = z + 0.01 + 0.02j
    for _ in range(steps):
        z = z - 0.3 * (z**3 - 1.0) / (3.0 * z**2)
    roots = np.exp(2j * np.pi * np.arange(3) / 3)
    return np.abs(z[..., None] - roots).argmin(axis=-1)


@program(
    "bit operations", lambda rng, size: (rng.integers(1, 2**32, size, dtype=numpy.uint32),), steps=(5_000, 1_500, 40)
)
def xorshift(np, steps, state):
    """Marsaglia's generators side by side, and the parity of their sums."""
    parity = np.zeros_like(state)
    for _ in range(steps):
        state ^= state << 13
        state ^= state >> 17
        state ^= state << 5
        parity ^= state & 1
    return state, parity


@program(
    "bit operations", lambda rng, size: (rng.integers(0, 2**63, size, dtype=numpy.uint64),), steps=(2_000, 500, 12)
)
def bit_counts(np, steps, words):
    """Set bits counted by adding fields of words, then the words mixed."""
    total = np.zeros(words.shape, dtype=np.uint64)
    ones, pairs, nibbles = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
    for _ in range(steps):
        w = words - ((words >> np.uint64(1)) & ones)
        w = (w & pairs) + ((w >> np.uint64(2)) & pairs)
        w = (w + (w >> np.uint64(4))) & nibbles
        total += (w * np.uint64(0x0101010101010101)) >> np.uint64(56)
        words = (words ^ (words >> np.uint64(7))) * np.uint64(0x9E3779B97F4A7C15)
    return total


@program(
    "bit operations",
    lambda rng, size: (rng.integers(0, 2**63, (max(4, side(size)), max(4, side(size))), dtype=numpy.uint64),),
    steps=(1_000, 100, 3),
)
def packed_life(np, steps, board):
    """Conway's game with 64 boards at a time, one in each bit, by adders."""
    for _ in range(steps):
        low, middle, high = np.zeros_like(board), np.zeros_like(board), np.zeros_like(board)
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):
                if di or dj:
                    neighbour = np.roll(board, (di, dj), axis=(0, 1))
                    carry = low & neighbour
                    low ^= neighbour
                    high |= middle & carry
                    middle ^= carry
        board = middle & ~high & (low | board)
    return board
