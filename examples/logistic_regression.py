"""Handwritten digits by softmax regression, full-batch gradient descent, a learning rate that decays.

Bishop, "Pattern Recognition and Machine Learning" (2006), section 4.3.4: the gradient is X^T (P - Y). The data are
the 1,797 real 8 x 8 images that scikit-learn ships. The learning rate is another scalar each time round.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

SIZES = {"default": 1797, "tenth": 180, "test": 120}  # images
STEPS = {"default": 3000, "tenth": 6000, "test": 10}
TOLERANCE = {"rtol": 1e-7, "atol": 1e-9}
CLASSES = 10
PENALTY = 1e-3


def inputs(n: int) -> tuple:
    """n images as rows with a constant column, values from 0 to 1, and their digits."""
    images, digits = load_digits(return_X_y=True)
    if n > len(images):
        raise SystemExit(f"there are {len(images)} images, not {n}")
    x = np.asarray(images[:n]) / 16.0
    x = np.concatenate([x, np.ones((n, 1))], axis=1)
    return x, np.asarray(digits[:n])


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def compute(steps: int, x: np.ndarray, digits: np.ndarray) -> dict:
    n = len(x)
    y = np.zeros((n, CLASSES))
    y[np.arange(n), digits] = 1.0
    w = np.zeros((x.shape[1], CLASSES))
    for step in range(steps):
        rate = 2.0 / (1.0 + 0.01 * step)
        p = softmax(x @ w)
        gradient = x.T @ (p - y) / n + PENALTY * w
        w -= rate * gradient
    p = softmax(x @ w)
    loss = -np.log(p[np.arange(n), digits]).mean()
    return {"w": w, "loss": loss, "accuracy": (p.argmax(axis=1) == digits).mean()}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    print(f"after {options.steps} steps: loss {result['loss']:.4f}, accuracy {100 * result['accuracy']:.2f} %")


if __name__ == "__main__":
    main()
