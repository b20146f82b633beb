"""Some of the example programs as a JAX user writes them: a jitted step, a Python loop around it.

Not in `benchmarks/`, all of which asv imports, with or without JAX. The folder of the examples has to be on the path.
`compute` of each takes and returns what the example's does (the arrays that are named here, at least). Programs that
are missing here are ones whose text does not map to JAX (masks that select, random generators of NumPy) or that
spend their time in a BLAS.
"""

import functools
import math

import black_scholes
import burgers
import driven_wave
import heat
import jax
import jax.numpy as jnp
import kmeans
import logistic_regression
import nbody

INNER = (slice(1, -1), slice(1, -1))


@functools.partial(jax.jit, donate_argnums=0)
def heat_step(u):
    u = u.at[INNER].add(heat.ALPHA * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]))
    u = u.at[0, :].set(0.0).at[-1, :].set(50.0)
    u = u.at[:, 0].set(u[:, 1])
    return u.at[:, -1].set(u[:, -2])


def compute_heat(steps, u):
    for _ in range(steps):
        u = heat_step(u)
    return {"u": u}


def five_points(a):
    return 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])


@functools.partial(jax.jit, donate_argnums=(0, 1))
def jacobi_step(a, b):
    b = b.at[INNER].set(five_points(a))
    return a.at[INNER].set(five_points(b)), b


def compute_jacobi(steps, a, b):
    for _ in range(steps):
        a, b = jacobi_step(a, b)
    return {"a": a, "b": b}


@functools.partial(jax.jit, donate_argnums=(0, 1))
def burgers_step(u, v, dx, dt):
    def advance(w):
        return (
            w[1:-1, 1:-1]
            - dt / dx * u[1:-1, 1:-1] * (w[1:-1, 1:-1] - w[1:-1, :-2])
            - dt / dx * v[1:-1, 1:-1] * (w[1:-1, 1:-1] - w[:-2, 1:-1])
            + burgers.NU * dt / dx**2 * (w[1:-1, 2:] - 2 * w[1:-1, 1:-1] + w[1:-1, :-2])
            + burgers.NU * dt / dx**2 * (w[2:, 1:-1] - 2 * w[1:-1, 1:-1] + w[:-2, 1:-1])
        )

    return jnp.ones_like(u).at[INNER].set(advance(u)), jnp.ones_like(v).at[INNER].set(advance(v))


def compute_burgers(steps, u, v):
    dx = 2.0 / (len(u) - 1)
    dt = burgers.SIGMA * dx * dx / burgers.NU
    for _ in range(steps):
        u, v = burgers_step(u, v, dx, dt)
    return {"u": u, "v": v}


@functools.partial(jax.jit, donate_argnums=1)
def wave_step(u, before, force, amplitude, damping):
    laplacian = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
    return before.at[INNER].set(
        (2.0 - damping) * u[1:-1, 1:-1]
        - (1.0 - damping) * before[1:-1, 1:-1]
        + driven_wave.COURANT * laplacian
        + amplitude * force[1:-1, 1:-1]
    )


def compute_driven_wave(steps, u, before, force):
    for k in range(steps):
        amplitude = math.sin(40.0 * (k * driven_wave.DT) ** 2 + 1.0)
        damping = 0.01 * math.exp(-k * driven_wave.DT)
        before, u = u, wave_step(u, before, force, amplitude, damping)
    return {"u": u, "before": before}


def normal_cdf(x):
    z = jnp.abs(x) / jnp.sqrt(2.0)
    t = 1.0 / (1.0 + 0.3275911 * z)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = 1.0 - poly * jnp.exp(-z * z)
    return 0.5 * (1.0 + jnp.where(x < 0.0, -erf, erf))


@jax.jit
def value_book(spot, strike, years, rate):
    deviation = black_scholes.VOLATILITY * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * black_scholes.VOLATILITY**2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * jnp.exp(-rate * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    put = discounted * normal_cdf(-d2) - spot * normal_cdf(-d1)
    return call, put, call.sum() + put.sum()


def compute_black_scholes(steps, spot, strike, years):
    totals = []
    for rate in jnp.linspace(0.01, 0.05, steps):
        call, put, total = value_book(spot, strike, years, rate)
        totals.append(total)
    return {"call": call, "put": put, "totals": jnp.stack(totals)}


@jax.jit
def acceleration(position, mass):
    x, y, z = position.T
    dx, dy, dz = (w[None, :] - w[:, None] for w in (x, y, z))
    pull = mass * (dx**2 + dy**2 + dz**2 + nbody.SOFTENING**2) ** -1.5
    return jnp.stack([(dx * pull).sum(axis=1), (dy * pull).sum(axis=1), (dz * pull).sum(axis=1)], axis=1)


@jax.jit
def leapfrog(position, velocity, force, mass):
    velocity = velocity + 0.5 * nbody.DT * force
    position = position + nbody.DT * velocity
    force = acceleration(position, mass)
    return position, velocity + 0.5 * nbody.DT * force, force


def compute_nbody(steps, position, velocity, mass):
    force = acceleration(position, mass)
    for _ in range(steps):
        position, velocity, force = leapfrog(position, velocity, force, mass)
    return {"position": position, "velocity": velocity, "kinetic": 0.5 * (mass[:, None] * velocity**2).sum()}


@functools.partial(jax.jit, donate_argnums=(0, 1, 2))
def mandelbrot_step(z, count, mask, c):
    z = jnp.where(mask, z**2 + c, z)
    mask = jnp.abs(z) <= 2.0
    return z, count + mask, mask


def compute_mandelbrot(steps, c):
    z, count, mask = jnp.zeros_like(c), jnp.zeros(c.shape, dtype=int), jnp.ones(c.shape, dtype=bool)
    for _ in range(steps):
        z, count, mask = mandelbrot_step(z, count, mask, c)
    return {"count": count}


@jax.jit
def lloyd(points, centres):
    distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    labels = distances.argmin(axis=1)
    members = jax.nn.one_hot(labels, kmeans.CLUSTERS, dtype=points.dtype)
    sizes = members.sum(axis=0)[:, None]
    moved = jnp.where(sizes > 0, members.T @ points / jnp.maximum(sizes, 1.0), centres)
    return moved, labels, distances.min(axis=1).sum()


def compute_kmeans(steps, points, centres):
    for _ in range(steps):
        centres, labels, inertia = lloyd(points, centres)
    return {"centres": centres, "labels": labels, "inertia": inertia}


@jax.jit
def descend(w, x, y, rate):
    p = jax.nn.softmax(x @ w, axis=1)
    return w - rate * (x.T @ (p - y) / len(x) + logistic_regression.PENALTY * w)


def compute_logistic_regression(steps, x, digits):
    y = jax.nn.one_hot(digits, logistic_regression.CLASSES, dtype=x.dtype)
    w = jnp.zeros((x.shape[1], logistic_regression.CLASSES))
    for step in range(steps):
        w = descend(w, x, y, 2.0 / (1.0 + 0.01 * step))
    p = jax.nn.softmax(x @ w, axis=1)
    loss = -jnp.log(p[jnp.arange(len(x)), digits]).mean()
    return {"w": w, "loss": loss, "accuracy": (p.argmax(axis=1) == digits).mean()}


COMPUTE = {
    "heat": compute_heat,
    "jacobi": compute_jacobi,
    "burgers": compute_burgers,
    "driven_wave": compute_driven_wave,
    "black_scholes": compute_black_scholes,
    "nbody": compute_nbody,
    "mandelbrot": compute_mandelbrot,
    "kmeans": compute_kmeans,
    "logistic_regression": compute_logistic_regression,
}
