"""JAX."""

import jax
import jax.numpy as jnp
import numpy as np
from describe import main


def x():
    return np.arange(6, dtype=np.float32)


def j():
    return jnp.arange(6, dtype=jnp.float32)


def k():
    return np.array([0, 2, 5])


LINES = {
    "jax_array + x": lambda: j() + x(),
    "x + jax_array": lambda: x() + j(),
    "x * jax_array > x": lambda: x() * j() > x(),
    "jax_array @ x": lambda: j() @ x(),
    "x @ jax_array": lambda: x() @ j(),
    "jnp.sin(x)": lambda: jnp.sin(x()),
    "jnp.asarray(x)": lambda: jnp.asarray(x()),
    "jnp.array([x, x])": lambda: jnp.array([x(), x()]),
    "jnp.where(mask, x, jax_array)": lambda: jnp.where(x() > 2, x(), j()),
    "jnp.concatenate([x, jax_array])": lambda: jnp.concatenate([x(), j()]),
    "jnp.dot(x, x)": lambda: jnp.dot(x(), x()),
    "jax_array[k]": lambda: j()[k()],
    "jax_array[mask]": lambda: j()[x() > 2],
    "jax_array.at[k].set(x)": lambda: j().at[k()].set(x()[:3] + 9),
    "jax.jit(f)(x)": lambda: jax.jit(lambda a: a * 2 + 1)(x()),
    "jax.jit with x inside": lambda: (lambda c: jax.jit(lambda a: a * c)(j()))(x()),
    "jax.grad(f)(x)": lambda: jax.grad(lambda a: (a**2).sum())(x()),
    "jax.vmap(f)(x)": lambda: jax.vmap(lambda a: a * 2)(x()),
    "jax.device_put(x)": lambda: jax.device_put(x()),
    "jax.lax.add(x, x)": lambda: jax.lax.add(x(), x()),
    "jax.lax.scan over x": lambda: jax.lax.scan(lambda c, a: (c + a, c), jnp.float32(0), x()),
    "tree_map over a dict of x": lambda: jax.tree_util.tree_map(lambda a: a + 1, {"a": x()}),
    "np.sin(jax_array)": lambda: np.sin(j()),
    "np.asarray(jax_array)": lambda: np.asarray(j()),
    "x[jax_array of indices]": lambda: x()[jnp.array([1, 3])],
    "x[k] = jax_array": lambda: (lambda a: (a.__setitem__(slice(0, 3), j()[3:]), a)[1])(x()),
    "x += jax_array": lambda: x().__iadd__(np.asarray(j())),
}

if __name__ == "__main__":
    main(LINES)
