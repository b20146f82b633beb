"""Heat in a plate: slices, writes, reductions; with the slips of a first draft."""

import numpy as np
from numpy.typing import NDArray


def step(u: NDArray[np.float64], rate: float = 0.1) -> NDArray[np.float64]:
    inner = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    u[1:-1, 1:-1] += rate * inner
    return u


def run(size: int, steps: int) -> float:
    u = np.zeros((size, size))
    u[0, :] = 100.0
    for _ in range(steps):
        u = step(u)
    return u.mean()


plate: NDArray[np.float64] = np.zeroes((4, 4))  # a name that does not exist
step(plate, "fast")  # a wrong type
run("20", 10)  # a wrong type
run(20)  # an argument missing
total: int = np.linalg.norm(plate).nothing  # an attribute that does not exist
