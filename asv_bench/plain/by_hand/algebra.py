"""`../nests.py` and `../images.py` in JAX."""

import jax
import jax.numpy as jnp
from jax.lax import conv_general_dilated, fori_loop, scan

from ..nests import MOTION
from .common import carried


@carried(1)
def cholesky_columns(steps, a):
    n = a.shape[0]
    at = jnp.arange(n)

    def body(j, a):
        row = jnp.where(at < j, a[j], 0.0)
        column = jnp.where(at >= j, a[:, j] - a @ row, a[:, j])
        return a.at[:, j].set(jnp.where(at >= j, column / jnp.sqrt(column[j]), column))

    return jnp.tril(fori_loop(0, n, body, a))


@carried(1)
def lu_updates(steps, a):
    n = a.shape[0]
    at = jnp.arange(n)

    def body(k, a):
        below = at > k
        column = jnp.where(below, a[:, k] / a[k, k], 0.0)
        a = a - column[:, None] * jnp.where(below, a[k], 0.0)
        return a.at[:, k].set(jnp.where(below, column, a[:, k]))

    return fori_loop(0, min(n - 1, 120), body, a)


@carried(2)
def trmm_rows(steps, a, b):
    # Row i takes rows below it, which are still what they were: one product.
    return 1.5 * (b + jnp.tril(a, -1).T @ b)


@carried(1)
def syrk_products(steps, c, a):
    return jnp.where(jnp.tri(c.shape[0], dtype=bool), 0.7 * c + 0.1 * (a @ a.T), c)


@jax.jit
def substitution(steps, a, b):
    a = a / a.shape[0] + 2.0 * jnp.eye(a.shape[0])
    return fori_loop(0, steps, lambda _, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), b)


@carried(1)
def correlation(steps, data):
    def body(k, state):
        data, _ = state
        x = data - data.mean(axis=0)
        deviation = jnp.sqrt(jnp.mean(x * x, axis=0))
        x = x / (jnp.sqrt(data.shape[0]) * jnp.where(deviation <= 1e-9, 1.0, deviation))
        off = jnp.where(jnp.eye(data.shape[1], dtype=bool), 1.0, x.T @ x)
        return data.at[:, k % data.shape[1]].add(0.1), off

    return fori_loop(0, steps, body, (data, jnp.eye(data.shape[1])))[1]


@jax.jit
def kalman(steps, measured):
    f, h = jnp.array(MOTION), jnp.eye(2, 4)
    q, r, identity = 0.01 * jnp.eye(4), 0.1 * jnp.eye(2), jnp.eye(4)

    def body(state, seen):
        x, p = state
        x = f @ x
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        inverse = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / (s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0])
        gain = p @ h.T @ inverse
        state = x + gain @ (seen - h @ x), (identity - gain @ h) @ p
        return state, state

    return scan(body, (jnp.zeros(4), jnp.eye(4)), measured)[1]


@jax.jit
def kalman_tracks(steps, measured):
    f, h = jnp.array(MOTION), jnp.eye(2, 4)
    q, r, identity = 0.01 * jnp.eye(4), 0.1 * jnp.eye(2), jnp.eye(4)

    def body(t, state):
        x, p = state
        x = x @ f.T
        p = f @ p @ f.T + q
        s = p[:, :2, :2] + r
        a, b, c, d = s[:, 0, 0], s[:, 0, 1], s[:, 1, 0], s[:, 1, 1]
        inverse = jnp.stack([jnp.stack([d, -b], -1), jnp.stack([-c, a], -1)], -2) / (a * d - b * c)[:, None, None]
        gain = p[:, :, :2] @ inverse
        residual = measured[t] - x[:, :2]
        return x + (gain @ residual[:, :, None])[:, :, 0], (identity - gain @ h) @ p

    many = measured.shape[1]
    return fori_loop(0, steps, body, (jnp.zeros((many, 4)), jnp.zeros((many, 4, 4)) + identity))


def correlate(image, kernel, stride=1):
    return conv_general_dilated(image[None, None], kernel[None, None], (stride, stride), "VALID")[0, 0]


@jax.jit
def convolve_pixels(steps, image, kernel):
    stride = 1 if image.shape[0] < 500 else 6
    n = (image.shape[0] - 4) // stride
    return correlate(image, kernel, stride)[:n, :n]


@jax.jit
def convolution_layer(steps, images, weights, bias):
    layout = ("NHWC", "HWIO", "NHWC")
    return jnp.maximum(conv_general_dilated(images, weights, (1, 1), "VALID", dimension_numbers=layout) + bias, 0)


@carried(1)
def convolve_taps(steps, image, kernel):
    n = image.shape[0] - 4
    taps = [(i, j) for i in range(5) for j in range(5)]

    def body(_, image):
        result = sum(kernel[i, j] * image[i : i + n, j : j + n] for i, j in taps)
        return image.at[2:-2, 2:-2].set(0.5 * image[2:-2, 2:-2] + result)

    return fori_loop(0, steps, body, image)


@carried(1)
def sand_pile(steps, grid):
    def body(_, grid):
        unstable = (grid >= 4).astype(grid.dtype)
        wide = jnp.pad(unstable, 1)
        return grid - 4 * unstable + wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]

    return jax.lax.while_loop(
        lambda s: (s[0] < steps) & (s[1] >= 4).any(), lambda s: (s[0] + 1, body(0, s[1])), (0, grid)
    )[1]


@carried(1)
def julia(steps, z):
    def body(_, state):
        z, count = state
        near = jnp.abs(z) < 2.0
        return jnp.where(near, z**2 + (-0.512511498387847167 + 0.521295573094847167j), z), count + near

    return fori_loop(0, steps, body, (z, jnp.zeros(z.shape, dtype=jnp.int64)))[1]


@carried(1)
def newton(steps, z):
    z = fori_loop(0, steps, lambda _, z: z - 0.3 * (z**3 - 1.0) / (3.0 * z**2), z + 0.01 + 0.02j)
    roots = jnp.exp(2j * jnp.pi * jnp.arange(3) / 3)
    return jnp.abs(z[..., None] - roots).argmin(axis=-1)


@carried(1)
def xorshift(steps, state):
    def body(_, carry):
        state, parity = carry
        state = state ^ (state << 13)
        state = state ^ (state >> 17)
        state = state ^ (state << 5)
        return state, parity ^ (state & 1)

    return fori_loop(0, steps, body, (state, jnp.zeros_like(state)))


@carried(1)
def bit_counts(steps, words):
    def body(_, carry):
        words, total = carry
        total = total + jax.lax.population_count(words)
        return (words ^ (words >> jnp.uint64(7))) * jnp.uint64(0x9E3779B97F4A7C15), total

    return fori_loop(0, steps, body, (words, jnp.zeros_like(words)))[1]
