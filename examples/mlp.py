"""Handwritten digits by a network with one hidden layer, backpropagation written by hand, mini-batches, momentum.

Rumelhart, Hinton and Williams, "Learning representations by back-propagating errors" (1986). The data are the
1,797 real 8 x 8 images that scikit-learn ships, a fifth of them kept for the test. The learning rate decays from
epoch to epoch, and each batch is another slice of the shuffled images.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

SIZES = {"default": 1797, "tenth": 180, "test": 100}  # images
STEPS = {"default": 200, "tenth": 800, "test": 2}  # epochs
TOLERANCE = {"rtol": 1e-6, "atol": 1e-8}
CLASSES = 10
HIDDEN = 128
BATCH = 32


def inputs(n: int) -> tuple:
    """Images as rows, values from 0 to 1, and their digits."""
    images, digits = load_digits(return_X_y=True)
    if n > len(images):
        raise SystemExit(f"there are {len(images)} images, not {n}")
    return np.asarray(images[:n]) / 16.0, np.asarray(digits[:n])


def forward(x: np.ndarray, w1: np.ndarray, b1: np.ndarray, w2: np.ndarray, b2: np.ndarray) -> tuple:
    """The hidden layer, and the probabilities of the classes."""
    hidden = np.maximum(x @ w1 + b1, 0.0)
    scores = hidden @ w2 + b2
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, e / e.sum(axis=1, keepdims=True)


def compute(steps: int, x: np.ndarray, digits: np.ndarray) -> dict:
    rng = np.random.default_rng(17)
    train = len(x) * 4 // 5
    one_hot = np.eye(CLASSES)[digits]
    weights = [
        rng.standard_normal((x.shape[1], HIDDEN)) * np.sqrt(2.0 / x.shape[1]),
        np.zeros(HIDDEN),
        rng.standard_normal((HIDDEN, CLASSES)) * np.sqrt(2.0 / HIDDEN),
        np.zeros(CLASSES),
    ]
    momenta = [np.zeros_like(w) for w in weights]
    for epoch in range(steps):
        rate = 0.1 / (1.0 + 0.05 * epoch)
        order = rng.permutation(train)
        x_shuffled, y_shuffled = x[order], one_hot[order]
        for start in range(0, train - BATCH + 1, BATCH):
            xb, yb = x_shuffled[start : start + BATCH], y_shuffled[start : start + BATCH]
            hidden, p = forward(xb, *weights)
            d_scores = (p - yb) / BATCH
            d_hidden = d_scores @ weights[2].T
            d_hidden[hidden <= 0.0] = 0.0
            gradients = [xb.T @ d_hidden, d_hidden.sum(axis=0), hidden.T @ d_scores, d_scores.sum(axis=0)]
            for w, m, g in zip(weights, momenta, gradients, strict=True):
                m *= 0.9
                m -= rate * g
                w += m
    _, p = forward(x, *weights)
    right = p.argmax(axis=1) == digits
    return {"w1": weights[0], "w2": weights[2], "train": right[:train].mean(), "test": right[train:].mean()}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    print(f"after {options.steps} epochs: accuracy {100 * result['train']:.2f} % on the images it saw,", end=" ")
    print(f"{100 * result['test']:.2f} % on the others")


if __name__ == "__main__":
    main()
