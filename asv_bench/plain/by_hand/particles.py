"""`../particles.py` in JAX."""

import jax
import jax.numpy as jnp
from jax.lax import fori_loop, scan

from .common import carried


@carried(1)
def springs(steps, position, near):
    def body(_, state):
        position, velocity = state
        apart = position[near] - position[:, None, :]
        distance = jnp.linalg.norm(apart, axis=2) + 0.05
        force = ((distance - 0.3) / distance)[:, :, None] * apart
        velocity = 0.98 * velocity + 0.002 * force.sum(axis=1)
        return position + velocity, velocity

    return fori_loop(0, steps, body, (position, jnp.zeros_like(position)))


@carried(1, 2)
def box_of_gas(steps, position, velocity):
    dt = 0.003

    def body(_, state):
        position, velocity = state
        velocity = velocity - jnp.array([0.0, 9.81 * dt])
        position = position + dt * velocity
        outside = (position < 0.0) | (position > 1.0)
        return jnp.clip(position, 0.0, 1.0), jnp.where(outside, -0.9 * velocity, velocity)

    position, velocity = fori_loop(0, steps, body, (position, velocity))
    return position, velocity, jnp.sqrt((velocity**2).sum(axis=1)).mean()


@carried(1, 2)
def particle_in_cell(steps, x, v):
    cells = 64

    def body(_, state):
        x, v, _ = state
        at = (x * cells).astype(jnp.int64) % cells
        density = jnp.zeros(cells).at[at].add(1.0) * (cells / x.shape[0]) - 1.0
        field = jnp.cumsum(density) / cells
        v = v - 0.01 * (field - field.mean())[at]
        return (x + 0.01 * v) % 1.0, v, density

    return fori_loop(0, steps, body, (x, v, jnp.zeros(cells)))


@jax.jit
def sparse_rows(steps, values, columns, starts, x):
    return (values * x[columns]).reshape(-1, 30).sum(axis=1)


@carried(1)
def split_step(steps, x):
    n = x.shape[0]
    grid = jnp.linspace(-10.0, 10.0, n)
    psi = jnp.exp(-(grid**2)) * (1.0 + 0.01 * x)
    potential = jnp.exp(-0.5j * 0.01 * grid**2)
    kinetic = jnp.exp(-0.5j * 0.01 * (2 * jnp.pi * jnp.fft.fftfreq(n, 20.0 / n)) ** 2)

    def body(_, psi):
        return potential * jnp.fft.ifft(kinetic * jnp.fft.fft(potential * psi))

    psi = fori_loop(0, steps, body, psi.astype(complex))
    return psi, jnp.sum(jnp.abs(psi) ** 2)


@jax.jit
def vorticity(steps, w):
    n = w.shape[0]
    k = 2 * jnp.pi * jnp.fft.fftfreq(n, 1.0 / n)
    kx, ky = k[:, None], k[None, :]
    square = (kx**2 + ky**2).at[0, 0].set(1.0)
    keep = (jnp.abs(kx) < 2 * jnp.pi * n / 3) & (jnp.abs(ky) < 2 * jnp.pi * n / 3)

    def body(_, hat):
        stream = hat / square
        u = jnp.fft.ifft2(1j * ky * stream).real
        v = jnp.fft.ifft2(-1j * kx * stream).real
        product = u * jnp.fft.ifft2(1j * kx * hat).real + v * jnp.fft.ifft2(1j * ky * hat).real
        return (hat - 1e-5 * keep * jnp.fft.fft2(product)) / (1.0 + 1e-9 * square)

    return jnp.fft.ifft2(fori_loop(0, steps, body, jnp.fft.fft2(w - w.mean()))).real


@jax.jit
def spectrogram(steps, signal):
    at = 64 * jnp.arange((signal.shape[0] - 256) // 64)[:, None] + jnp.arange(256)
    return jnp.log10(jnp.abs(jnp.fft.rfft(signal[at] * jnp.hanning(256))) ** 2 + 1e-9)


@carried(1)
def attention(steps, q, k, v):
    later = jnp.triu(jnp.ones((q.shape[1], q.shape[1]), dtype=bool), 1)

    def body(_, q):
        weight = jax.nn.softmax(jnp.where(later, -jnp.inf, q @ k.transpose(0, 2, 1) / 4), axis=-1)
        q = q + jnp.float32(0.1) * (weight @ v)
        return (q - q.mean(axis=-1, keepdims=True)) / jnp.sqrt(q.var(axis=-1, keepdims=True) + jnp.float32(1e-5))

    return fori_loop(0, steps, body, q)


@carried(3, 4)
def two_layers(steps, x, y, w1, w2):
    rows = jnp.arange(x.shape[0])

    def body(_, state):
        w1, w2, m1, m2, _ = state
        hidden = jnp.maximum(x @ w1, 0.0)
        p = jax.nn.softmax(hidden @ w2, axis=1)
        loss = -jnp.mean(jnp.log(p[rows, y]))
        p = (p - jax.nn.one_hot(y, 5)) / x.shape[0]
        back = jnp.where(hidden <= 0.0, 0.0, p @ w2.T)
        m1 = 0.9 * m1 - 0.05 * (x.T @ back)
        m2 = 0.9 * m2 - 0.05 * (hidden.T @ p)
        return w1 + m1, w2 + m2, m1, m2, loss

    first = (w1, w2, jnp.zeros_like(w1), jnp.zeros_like(w2), 0.0)
    w1, w2, _, _, loss = fori_loop(0, steps, body, first)
    return w1, w2, loss


@jax.jit
def lstm(steps, x, w, bias):
    def cell(state, x):
        h, c = state
        gates = jnp.concatenate([x, h], axis=1) @ w + bias
        i, f, o = (jax.nn.sigmoid(g) for g in jnp.split(gates, 4, axis=1)[:3])
        c = f * c + i * jnp.tanh(gates[:, 48:])
        return (o * jnp.tanh(c), c), None

    def body(_, state):
        x, _, _ = state
        zero = jnp.zeros((x.shape[1], 16))
        h, c = scan(cell, (zero, zero), x)[0]
        return x.at[0].set(0.9 * x[0] + 0.01 * h[:, :8]), h, c

    zero = jnp.zeros((x.shape[1], 16))
    return fori_loop(0, steps, body, (x, zero, zero))[1:]
