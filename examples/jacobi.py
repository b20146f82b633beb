"""Laplace's equation by Jacobi's iteration, two arrays that take turns.

The five-point smoother of PolyBench's `jacobi-2d` (Pouchet), which also is in NPBench as written here.
"""

import argparse

import numpy as np

SIZES = {"default": 2000, "tenth": 632, "test": 40}  # points along an edge
STEPS = {"default": 40, "tenth": 120, "test": 8}  # each step is two sweeps
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


def inputs(n: int) -> tuple:
    """Two n x n grids, as PolyBench fills them."""
    row, column = np.arange(n)[:, None], np.arange(n)[None, :]
    return row * (column + 2) / n, row * (column + 3) / n


def compute(steps: int, a: np.ndarray, b: np.ndarray) -> dict:
    """Sweep from a to b and back, so many times."""
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return {"a": a, "b": b}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    change = np.abs(result["a"] - result["b"]).max()
    print(f"after {2 * options.steps} sweeps: mean {result['a'].mean():.4f}, last change at most {change:.3e}")


if __name__ == "__main__":
    main()
