"""A network in plain NumPy: a class with arrays."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass
class Layer:
    weights: np.ndarray
    bias: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.maximum(x @ self.weights + self.bias, 0)


def make(sizes: list[int], seed: int = 0) -> list[Layer]:
    rng = np.random.default_rng(seed)
    return [Layer(rng.standard_normal((n, m)) / np.sqrt(n), np.zeros(m)) for n, m in pairwise(sizes)]


def loss(layers: list[Layer], x: np.ndarray, y: np.ndarray) -> float:
    for layer in layers:
        x = layer(x)
    return float(np.mean((x - y) ** 2))


layers = make([2, 16, 1])
print(loss(layers, np.ones((8, 2)), np.zeros((8, 1))))
print(layers[0].weight)  # a slip: weights
loss(layers, np.ones((8, 2)))  # an argument missing
make((2, 16, 1))  # no list
layers[0]("input")  # no array
np.softmax(np.ones(3))  # SciPy's name
print(np.einsum("ij->i", np.ones((2, 3))).shape.height)
