"""Gaussian-process regression: a Cholesky factor for the fit, its gradient for the hyperparameters.

Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), algorithm 2.1. The covariance matrix is a
kernel of two points under two `vmap`s; the marginal likelihood is climbed with `grad` through `cholesky`.
"""

import numpy as np

import lazynp.jax as jax
import lazynp.jax.numpy as jnp


def kernel(params, x, y):
    """The covariance of the process at two points: a squared exponential."""
    return jnp.exp(2 * params["amplitude"]) * jnp.exp(-0.5 * jnp.sum((x - y) ** 2) * jnp.exp(-2 * params["length"]))


def covariance(params, xs, ys):
    return jax.vmap(lambda x: jax.vmap(lambda y: kernel(params, x, y))(ys))(xs)


def factor(params, xs):
    """The Cholesky factor of the covariance of noisy observations."""
    noise = jnp.exp(2 * params["noise"]) + 1e-5
    return jnp.linalg.cholesky(covariance(params, xs, xs) + noise * jnp.eye(len(xs)))


def negative_log_likelihood(params, xs, ys):
    low = factor(params, xs)
    alpha = jax.scipy.linalg.cho_solve((low, True), ys)
    return 0.5 * ys @ alpha + jnp.sum(jnp.log(jnp.diag(low))) + 0.5 * len(xs) * jnp.log(2 * jnp.pi)


@jax.jit
def fit_step(params, momentum, xs, ys):
    value, grads = jax.value_and_grad(negative_log_likelihood)(params, xs, ys)
    momentum = jax.tree.map(lambda m, g: 0.9 * m - 2e-3 * g, momentum, grads)
    return jax.tree.map(lambda p, m: p + m, params, momentum), momentum, value


@jax.jit
def posterior(params, xs, ys, grid):
    """Mean and standard deviation of the process on the grid, given the observations."""
    low = factor(params, xs)
    cross = covariance(params, xs, grid)
    mean = cross.T @ jax.scipy.linalg.cho_solve((low, True), ys)
    half = jax.scipy.linalg.solve_triangular(low, cross, lower=True)
    variance = jax.vmap(lambda x: kernel(params, x, x))(grid) - jnp.sum(half**2, axis=0)
    return mean, jnp.sqrt(jnp.maximum(variance, 0.0))


def run(points: int = 60, steps: int = 150) -> dict:
    """Fit the hyperparameters; the likelihoods on the way, the hyperparameters, and the posterior on a grid."""
    x_key, noise_key = jax.random.split(jax.random.key(1))
    xs = jnp.sort(jax.random.uniform(x_key, (points, 1), minval=-3.0, maxval=3.0), axis=0)
    ys = jnp.sin(2 * xs[:, 0]) + 0.2 * jax.random.normal(noise_key, (points,))
    params = {"amplitude": jnp.zeros(()), "length": jnp.zeros(()), "noise": jnp.asarray(-1.0)}
    momentum = jax.tree.map(jnp.zeros_like, params)
    values = []
    for _ in range(steps):
        params, momentum, value = fit_step(params, momentum, xs, ys)
        values.append(float(value))
    mean, deviation = posterior(params, xs, ys, jnp.linspace(-3.0, 3.0, 13)[:, None])
    return {
        "values": np.asarray(values),
        **{name: np.asarray(value) for name, value in params.items()},
        "mean": np.asarray(mean),
        "deviation": np.asarray(deviation),
    }


def main() -> None:
    result = run()
    print(f"negative log likelihood: {result['values'][0]:.2f} at first, {result['values'][-1]:.2f} when fitted")
    amplitude, length, noise = (np.exp(result[name]) for name in ("amplitude", "length", "noise"))
    print(f"amplitude {amplitude:.3f}, length scale {length:.3f}, noise {noise:.3f} (the data's: 0.2)")
    for x, mean, deviation in zip(np.linspace(-3, 3, 13), result["mean"], result["deviation"]):
        print(f"  {x:5.1f} {mean:8.3f} +- {deviation:.3f}   sin(2 x) = {np.sin(2 * x):6.3f}")


if __name__ == "__main__":
    main()
