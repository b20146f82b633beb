"""jaxopt: minimizers, proximal gradients, derivatives of solutions."""

import jax
import jax.numpy as jnp
import jaxopt

X = jax.random.normal(jax.random.key(1), (20, 3))
Y = X @ jnp.array([1.0, 0.0, -2.0])


def rosenbrock(p):
    return jnp.sum(100.0 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2)


def minimizers():
    start = jnp.zeros(2)
    lbfgs = jaxopt.LBFGS(fun=rosenbrock, maxiter=50).run(start).params
    descent = jaxopt.GradientDescent(fun=lambda w: jnp.mean((X @ w - Y) ** 2), maxiter=100).run(jnp.zeros(3)).params
    return jnp.round(lbfgs, 3), jnp.round(descent, 3)


def lasso():
    solver = jaxopt.ProximalGradient(
        fun=lambda w, data: jnp.mean((data[0] @ w - data[1]) ** 2), prox=jaxopt.prox.prox_lasso, maxiter=200
    )
    return jnp.round(solver.run(jnp.zeros(3), hyperparams_prox=0.1, data=(X, Y)).params, 3)


def implicit():
    def ridge(w, strength):
        return jnp.mean((X @ w - Y) ** 2) + strength * jnp.sum(w**2)

    solver = jaxopt.LBFGS(fun=ridge, maxiter=100, implicit_diff=True)
    return jax.jacrev(lambda s: solver.run(jnp.zeros(3), s).params)(0.5)


PROGRAMS = (minimizers, lasso, implicit)
