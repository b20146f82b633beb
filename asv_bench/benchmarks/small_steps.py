"""Jitted steps of small programs, as JAX users write them, beside JAX: what a call costs, not what it computes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .jax_door import SIDES, Call, Warm

Step = Callable[[Any], tuple[Any, tuple[Any, ...]]]
"""From the module that stands for `jax`: a function, and its arguments as NumPy's arrays."""


def draws(*shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


def labels(n: int, classes: int) -> np.ndarray:
    return np.eye(classes, dtype=np.float32)[np.arange(n) % classes]


def mlp(j: Any) -> Any:
    """A step of gradient descent on two dense layers."""
    jnp = j.numpy

    def loss(params: Any, x: Any, y: Any) -> Any:
        (w1, b1), (w2, b2) = params
        return jnp.mean((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)

    def step(params: Any, x: Any, y: Any) -> Any:
        value, grads = j.value_and_grad(loss)(params, x, y)
        return j.tree.map(lambda p, g: p - 0.01 * g, params, grads), value

    w1, b1, w2, b2, x, y = draws((16, 32), (32,), (32, 4), (4,), (32, 16), (32, 4))
    return step, ([(w1, b1), (w2, b2)], x, y)


def normalized(jnp: Any, x: Any, scale: Any, shift: Any) -> Any:
    x = x - x.mean(-1, keepdims=True)
    return x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def attended(j: Any, x: Any, qkv: Any, out: Any, heads: int) -> Any:
    """Causal self-attention of (batch, tokens, width)."""
    jnp = j.numpy
    b, t, d = x.shape
    q, k, v = (m.reshape(b, t, heads, d // heads).transpose(0, 2, 1, 3) for m in jnp.split(x @ qkv, 3, axis=-1))
    scores = q @ k.transpose(0, 1, 3, 2) / jnp.sqrt(d / heads)
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    return (j.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(b, t, d) @ out


def transformer(j: Any) -> Any:
    """The gradient of a transformer's block, with an embedding and the loss of the next token."""
    jnp = j.numpy

    def loss(p: Any, tokens: Any) -> Any:
        x = p["embed"][tokens[:, :-1]] + p["place"]
        x = x + attended(j, normalized(jnp, x, p["s1"], p["h1"]), p["qkv"], p["out"], 2)
        x = x + j.nn.gelu(normalized(jnp, x, p["s2"], p["h2"]) @ p["up"]) @ p["down"]
        logged = j.nn.log_softmax(x @ p["embed"].T)
        return -jnp.take_along_axis(logged, tokens[:, 1:, None], axis=-1).mean()

    d, t = 16, 8
    shapes = {"embed": (32, d), "place": (t, d), "qkv": (d, 3 * d), "out": (d, d), "up": (d, 4 * d), "down": (4 * d, d)}
    shapes |= {"s1": (d,), "h1": (d,), "s2": (d,), "h2": (d,)}
    params = {k: 0.3 * w for k, w in zip(shapes, draws(*shapes.values()), strict=True)}
    tokens = np.random.default_rng(1).integers(0, 32, (4, t + 1)).astype(np.int32)
    return j.value_and_grad(loss), (params, tokens)


def attention(j: Any) -> Any:
    """Layer norm, attention, a residual."""

    def block(x: Any, scale: Any, shift: Any, qkv: Any, out: Any) -> Any:
        return x + attended(j, normalized(j.numpy, x, scale, shift), qkv, out, 4)

    return block, tuple(draws((2, 16, 32), (32,), (32,), (32, 96), (32, 32)))


def bodies(j: Any) -> Any:
    """A leapfrog step of 64 bodies."""

    def acceleration(x: Any, mass: Any) -> Any:
        d = x[None, :, :] - x[:, None, :]
        return (d * (mass * ((d**2).sum(-1) + 1e-2) ** -1.5)[..., None]).sum(1)

    def step(x: Any, v: Any, mass: Any) -> Any:
        v = v + 0.005 * acceleration(x, mass)
        x = x + 0.01 * v
        return x, v + 0.005 * acceleration(x, mass)

    x, v, mass = draws((64, 3), (64, 3), (64,))
    return step, (x, v, np.abs(mass))


def leapfrog(j: Any) -> Any:
    """Ten leapfrog steps of Hamiltonian Monte Carlo on a logistic regression."""
    jnp = j.numpy

    def step(q: Any, p: Any, x: Any, y: Any) -> Any:
        slope = j.grad(lambda w: jnp.sum(jnp.logaddexp(0.0, -y * (x @ w))) + 0.5 * w @ w)
        p = p - 0.005 * slope(q)
        for _ in range(9):
            q = q + 0.01 * p
            p = p - 0.01 * slope(q)
        q = q + 0.01 * p
        return q, p - 0.005 * slope(q)

    q, p, x, y = draws((8,), (8,), (50, 8), (50,))
    return step, (q, p, x, np.sign(y))


def runge_kutta(j: Any) -> Any:
    """A step of RK4 of a coupled chain of pendulums."""
    jnp = j.numpy

    def slope(s: Any) -> Any:
        angle, speed = s
        pull = jnp.roll(angle, 1) + jnp.roll(angle, -1) - 2.0 * angle
        return jnp.stack([speed, pull - jnp.sin(angle) - 0.1 * speed])

    def step(s: Any, h: Any) -> Any:
        a = slope(s)
        b = slope(s + 0.5 * h * a)
        c = slope(s + 0.5 * h * b)
        return s + h / 6.0 * (a + 2.0 * b + 2.0 * c + slope(s + h * c))

    return step, (draws((2, 20))[0], np.float32(0.01))


def adam(j: Any) -> Any:
    """Adam over a small tree."""
    jnp = j.numpy

    def step(params: Any, m: Any, v: Any, grads: Any, count: Any) -> Any:
        count = count + 1
        m = j.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        v = j.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
        first, second = 1.0 - 0.9**count, 1.0 - 0.999**count
        new = j.tree.map(lambda p, m, v: p - 1e-3 * (m / first) / (jnp.sqrt(v / second) + 1e-8), params, m, v)
        return new, m, v, count

    shapes = ((16, 32), (32,), (32, 32), (32,), (32, 4), (4,))
    params, m, v, grads = (dict(zip("abcdef", draws(*shapes, seed=k), strict=True)) for k in range(4))
    return step, (params, m, {k: x * x for k, x in v.items()}, grads, np.int32(3))


def regression(j: Any) -> Any:
    """A Gaussian process of 32 points: posterior mean, variance and log likelihood."""
    jnp = j.numpy

    def kernel(a: Any, b: Any, scale: Any) -> Any:
        return jnp.exp(-0.5 * ((a[:, None, :] - b[None, :, :]) ** 2).sum(-1) / scale**2)

    def step(scale: Any, x: Any, y: Any, new: Any) -> Any:
        factor = jnp.linalg.cholesky(kernel(x, x, scale) + 0.1 * jnp.eye(len(x)))
        solve = j.scipy.linalg.solve_triangular
        weights = solve(factor.T, solve(factor, y, lower=True), lower=False)
        cross = kernel(new, x, scale)
        rest = solve(factor, cross.T, lower=True)
        likelihood = -0.5 * y @ weights - jnp.log(jnp.diag(factor)).sum()
        return cross @ weights, 1.0 - (rest**2).sum(0), likelihood

    x, y, new = draws((32, 2), (32,), (16, 2))
    return step, (np.float32(0.7), x, y, new)


def ridge(j: Any) -> Any:
    """Kernel ridge regression of 32 points, and its gradient with respect to the width."""
    jnp = j.numpy

    def loss(scale: Any, x: Any, y: Any) -> Any:
        gram = jnp.exp(-((x[:, None] - x[None, :]) ** 2) / scale**2)
        weights = jnp.linalg.solve(gram + 0.1 * jnp.eye(len(x)), y)
        return jnp.mean((gram @ weights - y) ** 2)

    x, y = draws((32,), (32,))
    return j.value_and_grad(loss), (np.float32(0.5), x, y)


def convolution(j: Any) -> Any:
    """The gradient of a small convolutional net."""

    def loss(p: Any, x: Any, y: Any) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        for k in ("c1", "c2"):
            x = j.nn.relu(j.lax.conv_general_dilated(x, p[k], (2, 2), "SAME", dimension_numbers=numbers))
        return -(j.nn.log_softmax(x.reshape(len(x), -1) @ p["w"]) * y).sum(-1).mean()

    c1, c2, w, x = draws((3, 3, 1, 4), (3, 3, 4, 8), (32, 4), (4, 8, 8, 1))
    params = {"c1": c1, "c2": c2, "w": w}
    return j.value_and_grad(loss), (params, x, labels(4, 4))


def logistic(j: Any) -> Any:
    """A step of logistic regression."""

    def step(w: Any, b: Any, x: Any, y: Any) -> Any:
        def loss(w: Any, b: Any) -> Any:
            return -(j.nn.log_softmax(x @ w + b) * y).sum(-1).mean() + 1e-3 * (w**2).sum()

        gw, gb = j.grad(loss, (0, 1))(w, b)
        return w - 0.1 * gw, b - 0.1 * gb

    w, b, x = draws((10, 3), (3,), (60, 10))
    return step, (w, b, x, labels(60, 3))


def kalman(j: Any) -> Any:
    """A prediction and an update of a Kalman filter with four states."""
    jnp = j.numpy

    def step(x: Any, p: Any, z: Any, f: Any, q: Any, h: Any, r: Any) -> Any:
        x, p = f @ x, f @ p @ f.T + q
        gain = jnp.linalg.solve(h @ p @ h.T + r, h @ p).T
        return x + gain @ (z - h @ x), (jnp.eye(4, dtype=p.dtype) - gain @ h) @ p

    eye, h = np.eye(4, dtype=np.float32), np.eye(2, 4, dtype=np.float32)
    x, z = draws((4,), (2,))
    return step, (x, eye, z, eye + np.eye(4, k=2, dtype=np.float32), 0.01 * eye, h, np.eye(2, dtype=np.float32))


def spectral(j: Any) -> Any:
    """A step of Burgers' equation on 64 points, by Fourier transforms."""
    jnp = j.numpy

    def step(u: Any) -> Any:
        k = jnp.arange(33)
        hat = jnp.fft.rfft(u)
        slope = jnp.fft.irfft(1j * k * hat)
        return jnp.fft.irfft((hat - 0.01 * jnp.fft.rfft(u * slope)) / (1.0 + 0.001 * k**2))

    return step, (draws((64,))[0],)


def sampling(j: Any) -> Any:
    """A Metropolis step of 32 walkers."""
    jnp = j.numpy

    def step(key: Any, x: Any) -> Any:
        key, first, second = j.random.split(key, 3)
        new = x + 0.5 * j.random.normal(first, x.shape)
        gain = 0.5 * ((x**2).sum(-1) - (new**2).sum(-1))
        taken = jnp.log(j.random.uniform(second, gain.shape)) < gain
        return key, jnp.where(taken[:, None], new, x), taken.mean()

    return step, (j.random.PRNGKey(0), draws((32, 3))[0])


def recurrent(j: Any) -> Any:
    """The gradient through ten steps of a gated recurrent cell, by `scan`."""
    jnp = j.numpy

    def loss(w: Any, u: Any, xs: Any) -> Any:
        def cell(h: Any, x: Any) -> Any:
            z, r, n = jnp.split(x @ w, 3, axis=-1)
            zh, rh, nh = jnp.split(h @ u, 3, axis=-1)
            z = j.nn.sigmoid(z + zh)
            h = (1 - z) * jnp.tanh(n + j.nn.sigmoid(r + rh) * nh) + z * h
            return h, (h**2).mean()

        return j.lax.scan(cell, jnp.zeros((xs.shape[1], 16)), xs)[1].sum()

    w, u, xs = draws((8, 48), (16, 48), (10, 4, 8))
    return j.value_and_grad(loss, (0, 1)), (w * 0.3, u * 0.3, xs)


STEPS: dict[str, Step] = {
    "MLP": mlp,
    "transformer": transformer,
    "attention": attention,
    "64 bodies": bodies,
    "leapfrog": leapfrog,
    "RK4": runge_kutta,
    "Adam": adam,
    "Gaussian process": regression,
    "kernel ridge": ridge,
    "convolutions": convolution,
    "logistic regression": logistic,
    "Kalman filter": kalman,
    "Fourier": spectral,
    "Metropolis": sampling,
    "recurrent": recurrent,
}


def call(name: str, j: Any) -> Call:
    """A call of a jitted step on arrays of that side."""
    function, arguments = STEPS[name](j)
    jitted, given = j.jit(function), j.tree.map(j.numpy.asarray, arguments)
    return lambda: j.block_until_ready(jitted(*given))


class SmallSteps(Warm):
    params = (SIDES, tuple(STEPS))
    param_names = ("library", "step")
    timeout = 300.0

    def setup(self, side: str, name: str) -> None:
        self.start(side, lambda j: call(name, j))

    def time_step(self, side: str, name: str) -> None:
        self.run()
