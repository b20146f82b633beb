"""Newton's method with `hessian`: logistic regression on real data, and the roots of a system with `jacfwd`.

The data are the 569 breast-tumour measurements that scikit-learn ships (Wolberg, Street and Mangasarian, 1995). The
loss is convex, so that a handful of Newton steps is enough; a `while_loop` stops when the gradient is small.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

import lazynp.jax as jax
import lazynp.jax.numpy as jnp


def loss(w, x, y):
    """The mean negative log likelihood of labels that are -1 or 1, with a little ridge."""
    return jnp.mean(jax.nn.softplus(-y * (x @ w))) + 1e-3 * jnp.sum(w**2)


@jax.jit
def minimize(w, x, y, tolerance=1e-5, most=50):
    """Newton steps until the gradient's norm is below the tolerance: the weights, the steps, that norm."""

    def unfinished(state):
        _, steps, norm = state
        return (norm > tolerance) & (steps < most)

    def step(state):
        w, steps, _ = state
        w = w - jnp.linalg.solve(jax.hessian(loss)(w, x, y), jax.grad(loss)(w, x, y))
        return w, steps + 1, jnp.linalg.norm(jax.grad(loss)(w, x, y))

    return jax.lax.while_loop(unfinished, step, (w, 0, jnp.linalg.norm(jax.grad(loss)(w, x, y))))


def system(v):
    """Zero where a circle meets a cubic."""
    x, y = v
    return jnp.stack([x**2 + y**2 - 4.0, y - x**3])


def root(v, steps=10):
    for _ in range(steps):
        v = v - jnp.linalg.solve(jax.jacfwd(system)(v), system(v))
    return v


def run(features: int = 30) -> dict:
    """Fit; the weights, the steps it took, the gradient's norm, the accuracy; and the roots from three guesses."""
    x, labels = load_breast_cancer(return_X_y=True)
    x = np.asarray(x)[:, :features]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    x = jnp.asarray(np.column_stack([x, np.ones(len(x))]), jnp.float32)
    y = jnp.asarray(2 * np.asarray(labels) - 1, jnp.float32)
    w, steps, norm = minimize(jnp.zeros(x.shape[1]), x, y)
    roots = jax.vmap(root)(jnp.asarray([[1.0, 1.0], [2.0, 0.5], [-1.0, -2.0]]))
    return {
        "w": np.asarray(w),
        "steps": np.asarray(steps),
        "norm": np.asarray(norm),
        "accuracy": np.asarray(jnp.mean(jnp.sign(x @ w) == y)),
        "roots": np.asarray(roots),
    }


def main() -> None:
    result = run()
    print(f"{result['steps']} Newton steps, gradient's norm {result['norm']:.1e}")
    print(f"accuracy {100 * result['accuracy']:.2f} %")
    print("a circle meets a cubic at", *(f"({x:.6f}, {y:.6f})" for x, y in result["roots"]))


if __name__ == "__main__":
    main()
