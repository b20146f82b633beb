"""`../stencils.py` in JAX."""

import jax
import jax.numpy as jnp
from jax.lax import fori_loop, while_loop

from ..stencils import laplacian
from .common import INNER, carried


@carried(1)
def heat_rod(steps, u):
    def body(_, u):
        inner = u[1:-1] + 0.25 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        return jnp.concatenate([jnp.ones(1), inner, inner[-1:]])

    return fori_loop(0, steps, body, u)


@carried(1)
def wave_string(steps, u, speed):
    courant = 0.25 + 0.5 * speed[1:-1]

    def body(_, state):
        before, u = state
        inner = 2.0 * u[1:-1] - before[1:-1] + courant * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        return u, jnp.pad(inner, 1)

    return fori_loop(0, steps, body, (u, u))[1]


@carried(1)
def limited_advection(steps, u):
    courant = 0.4

    def body(_, u):
        left = u - jnp.roll(u, 1)
        right = jnp.roll(u, -1) - u
        slope = jnp.where(left * right > 0.0, jnp.sign(left) * jnp.minimum(jnp.abs(left), jnp.abs(right)), 0.0)
        flux = courant * (u + 0.5 * (1.0 - courant) * slope)
        return u - (flux - jnp.roll(flux, 1))

    return fori_loop(0, steps, body, u)


@carried(1)
def red_black(steps, u, f):
    i, j = jnp.indices(u.shape)
    n, m = u.shape
    inside = (i > 0) & (i < n - 1) & (j > 0) & (j < m - 1)
    masks = [(inside & ((i + j) % 2 == parity))[INNER] for parity in (0, 1)]

    def body(_, u):
        for mask in masks:
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            u = u.at[INNER].set(jnp.where(mask, 0.25 * (around - 0.001 * f[INNER]), u[INNER]))
        return u

    return fori_loop(0, steps, body, u)


@carried(1, 2, 3)
def fields_2d(steps, ex, ey, hz):
    def body(k, state):
        ex, ey, hz = state
        ey = ey.at[0, :].set(k % 50 * 0.02)
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return ex, ey, hz

    return fori_loop(0, steps, body, (ex, ey, hz))


@carried(1, 2)
def gray_scott(steps, u, v):
    def body(_, state):
        u, v = state
        inner_u, inner_v = u[INNER], v[INNER]
        reaction = inner_u * inner_v * inner_v
        inner_u = inner_u + (0.16 * laplacian(u) - reaction + 0.06 * (1.0 - inner_u))
        inner_v = inner_v + (0.08 * laplacian(v) + reaction - 0.09 * inner_v)
        return jnp.pad(inner_u, 1, mode="edge"), jnp.pad(inner_v, 1, mode="edge")

    return fori_loop(0, steps, body, (u, v * jnp.float32(0.5)))


@carried(1)
def layered_heat(steps, u, k):
    kx = 0.05 * (k[1:, :, :] + k[:-1, :, :])
    ky = 0.05 * (k[:, 1:, :] + k[:, :-1, :])
    kz = 0.05 * (k[:, :, 1:] + k[:, :, :-1])

    def body(_, u):
        x = (kx * (u[1:, :, :] - u[:-1, :, :]))[:, 1:-1, 1:-1]
        y = (ky * (u[:, 1:, :] - u[:, :-1, :]))[1:-1, :, 1:-1]
        z = (kz * (u[:, :, 1:] - u[:, :, :-1]))[1:-1, 1:-1, :]
        return u.at[1:-1, 1:-1, 1:-1].add((x[1:] - x[:-1]) + (y[:, 1:] - y[:, :-1]) + (z[:, :, 1:] - z[:, :, :-1]))

    return fori_loop(0, steps, body, u)


@carried(1)
def plate(steps, u):
    u = u.at[0, :].set(1.0).at[-1, :].set(0.0)

    def body(state):
        k, u, _ = state
        new = u.at[INNER].set(0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]))
        return k + 1, new, jnp.abs(new - u).max()

    return while_loop(lambda s: (s[0] < steps) & (s[2] >= 1e-14), body, (0, u, jnp.inf))[1]


@carried(1)
def conjugate_gradients(steps, b):
    def apply(x):
        wide = jnp.pad(x, 1)
        return 5.0 * x - wide[:-2, 1:-1] - wide[2:, 1:-1] - wide[1:-1, :-2] - wide[1:-1, 2:]

    def body(state):
        k, x, r, p, before = state
        q = apply(p)
        alpha = before / jnp.vdot(p, q)
        x, r = x + alpha * p, r - alpha * q
        now = jnp.vdot(r, r)
        return k + 1, x, r, r + (now / before) * p, now

    def unfinished(state):
        return (state[0] < steps) & (jnp.sqrt(state[4]) >= 1e-13 * b.size)

    first = (0, jnp.zeros_like(b), b, b, jnp.vdot(b, b))
    return while_loop(lambda s: (s[0] == 0) | unfinished(s), body, first)[1]


@jax.jit
def shock_tube(steps, density, pressure):
    gamma, n = 1.4, density.shape[0]
    right = jnp.arange(n) >= n // 2
    state = jnp.stack(
        [
            (1.0 + 0.1 * density) * jnp.where(right, 0.125, 1.0),
            jnp.zeros(n),
            (1.0 + 0.1 * pressure) / (gamma - 1.0) * jnp.where(right, 0.1, 1.0),
        ]
    )
    dx, end = 1.0 / n, 0.2

    def body(carry):
        k, t, state = carry
        velocity = state[1] / state[0]
        p = (gamma - 1.0) * (state[2] - 0.5 * state[1] * velocity)
        fastest = jnp.max(jnp.abs(velocity) + jnp.sqrt(gamma * p / state[0]))
        dt = jnp.minimum(0.45 * dx / fastest, end - t)
        flux = jnp.stack([state[1], state[1] * velocity + p, (state[2] + p) * velocity])
        between = 0.5 * (flux[:, 1:] + flux[:, :-1]) - 0.5 * fastest * (state[:, 1:] - state[:, :-1])
        return k + 1, t + dt, state.at[:, 1:-1].add(-dt / dx * (between[:, 1:] - between[:, :-1]))

    return while_loop(lambda c: (c[1] < end) & (c[0] < steps), body, (0, 0.0, state))[2]


@jax.jit
def shallow_water(steps, bump):
    def body(_, state):
        h, u, v = state
        dt = 0.2 / jnp.sqrt(9.81 * h.max())
        u = u.at[1:-1, :].add(-dt * 9.81 * 0.5 * (h[2:, :] - h[:-2, :]))
        v = v.at[:, 1:-1].add(-dt * 9.81 * 0.5 * (h[:, 2:] - h[:, :-2]))
        hu, hv = h * u, h * v
        inner = h[INNER] - dt * 0.5 * (hu[2:, 1:-1] - hu[:-2, 1:-1] + hv[1:-1, 2:] - hv[1:-1, :-2])
        return jnp.pad(inner, 1, mode="edge") * (1.0 - 1e-4), u * 0.99, v * 0.99

    h = 1.0 + 0.1 * bump
    return fori_loop(0, steps, body, (h, jnp.zeros_like(h), jnp.zeros_like(h)))


@carried(1)
def level_set(steps, phi):
    def body(_, phi):
        xm = jnp.maximum(phi[1:-1, 1:-1] - phi[:-2, 1:-1], 0.0)
        xp = jnp.minimum(phi[2:, 1:-1] - phi[1:-1, 1:-1], 0.0)
        ym = jnp.maximum(phi[1:-1, 1:-1] - phi[1:-1, :-2], 0.0)
        yp = jnp.minimum(phi[1:-1, 2:] - phi[1:-1, 1:-1], 0.0)
        gradient = jnp.sqrt(xm**2 + xp**2 + ym**2 + yp**2)
        return phi.at[INNER].add(-0.3 / (1.0 + gradient.max()) * gradient)

    return fori_loop(0, steps, body, phi)


@carried(1)
def filtered_diffusion(steps, field, coefficient):
    inside = (slice(2, -2), slice(2, -2))
    coefficient = 0.025 * coefficient[inside]

    def body(_, field):
        lap = 4.0 * field[1:-1, 1:-1] - field[2:, 1:-1] - field[:-2, 1:-1] - field[1:-1, 2:] - field[1:-1, :-2]
        fx = lap[1:, 1:-1] - lap[:-1, 1:-1]
        fx = jnp.where(fx * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0, 0.0, fx)
        fy = lap[1:-1, 1:] - lap[1:-1, :-1]
        fy = jnp.where(fy * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0, 0.0, fy)
        return field.at[inside].add(-coefficient * (fx[1:, :] - fx[:-1, :] + fy[:, 1:] - fy[:, :-1]))

    return fori_loop(0, steps, body, field)
