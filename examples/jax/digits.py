"""Handwritten digits by a 784-512-512-10 network: `vmap` of a function of one image, `grad`, a jitted update.

The program of JAX's own tutorial on training a neural network. The data are the 1,797 real images of handwritten digits
that scikit-learn ships (Alpaydin and Kaynak, 1998). They have 8 x 8 pixels; they are interpolated to 28 x 28 here, so
that the network has the size that the tutorial's has. A fifth of them is kept for the test.
"""

import argparse
import time

import numpy as np
from drawing import draw_curve
from sklearn.datasets import load_digits

import lazynp.jax as jax
import lazynp.jax.numpy as jnp

SIZES = [784, 512, 512, 10]
STEP_SIZE = 0.05
BATCH = 128


def enlarged(images: np.ndarray, size: int) -> np.ndarray:
    """Square images, interpolated linearly to size x size pixels."""
    old = images.shape[1]
    at = np.linspace(0, old - 1, size)
    low = np.minimum(at.astype(int), old - 2)
    weights = np.zeros((size, old))
    weights[np.arange(size), low] = 1 - (at - low)
    weights[np.arange(size), low + 1] = at - low
    return np.einsum("ij,njk,lk->nil", weights, images, weights)


def data() -> tuple:
    """Images as rows of 784 values from 0 to 1 and their digits: those to train on, then those to test with."""
    images, digits = load_digits(return_X_y=True)
    images = enlarged(np.asarray(images).reshape(-1, 8, 8) / 16.0, 28).reshape(-1, 784).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(images))
    images, digits = images[order], np.asarray(digits)[order]
    train = len(images) * 4 // 5
    return images[:train], digits[:train], images[train:], digits[train:]


def random_layer_params(m, n, key):
    w_key, b_key = jax.random.split(key)
    scale = jnp.sqrt(2.0 / m)
    return scale * jax.random.normal(w_key, (n, m)), 1e-2 * jax.random.normal(b_key, (n,))


def init_network_params(sizes, key):
    keys = jax.random.split(key, len(sizes))
    return [random_layer_params(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]


def predict(params, image):
    """The logarithms of the probabilities of the ten classes, for one image."""
    activations = image
    for w, b in params[:-1]:
        activations = jax.nn.relu(jnp.dot(w, activations) + b)
    final_w, final_b = params[-1]
    logits = jnp.dot(final_w, activations) + final_b
    return logits - jax.nn.logsumexp(logits)


batched_predict = jax.vmap(predict, in_axes=(None, 0))


def loss(params, images, targets):
    return -jnp.mean(jnp.sum(batched_predict(params, images) * targets, axis=1))


@jax.jit
def update(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return [(w - STEP_SIZE * dw, b - STEP_SIZE * db) for (w, b), (dw, db) in zip(params, grads)], value


@jax.jit
def accuracy(params, images, digits):
    return jnp.mean(jnp.argmax(batched_predict(params, images), axis=1) == digits)


def run(epochs: int = 20, sizes: list = SIZES) -> dict:
    """Train; the losses of all steps, the accuracy on both sets, and the last layer's weights."""
    images, digits, test_images, test_digits = data()
    params = init_network_params(sizes, jax.random.key(0))
    targets = jax.nn.one_hot(digits, 10)
    losses = []
    rng = np.random.default_rng(1)
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(images) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            params, value = update(params, images[batch], targets[batch])
            losses.append(value)
    return {
        "losses": np.asarray([float(v) for v in losses]),
        "train": np.asarray(accuracy(params, images, digits)),
        "test": np.asarray(accuracy(params, test_images, test_digits)),
        "weights": np.asarray(params[-1][0]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--picture", default="digits_loss.png", help="where to draw the loss curve")
    options = parser.parse_args()
    start = time.perf_counter()
    result = run(options.epochs)
    seconds = time.perf_counter() - start
    print(f"{options.epochs} epochs, {len(result['losses'])} steps in {seconds:.1f} s, compiling included")
    print(f"loss: {result['losses'][0]:.3f} at the first step, {result['losses'][-1]:.3f} at the last")
    print(f"accuracy: {100 * result['train']:.2f} % on the images it saw, {100 * result['test']:.2f} % on the others")
    draw_curve(options.picture, result["losses"], "loss of each training step")
    print(f"loss curve: {options.picture}")


if __name__ == "__main__":
    main()
