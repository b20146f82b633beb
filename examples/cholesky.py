"""Blocked Cholesky factorization in Python loops over slices whose bounds move.

The right-looking algorithm of Golub and Van Loan, "Matrix Computations", section 4.2.6: factor the diagonal block,
solve for the panel below it column by column, update what is to the right. For several shifts of one matrix.
"""

import argparse

import numpy as np

SIZES = {"default": 1500, "tenth": 474, "test": 50}  # rows; the matrix has size^2 elements
STEPS = {"default": 16, "tenth": 100, "test": 2}  # shifts
TOLERANCE = {"rtol": 1e-8, "atol": 1e-9}
BLOCK = 64


def inputs(n: int) -> tuple:
    """A covariance matrix, exp(-|i - j| / 50), with something random on its diagonal."""
    i = np.arange(n)
    a = np.exp(-np.abs(i[:, None] - i[None, :]) / 50.0)
    a[i, i] += np.random.default_rng(2).random(n)
    return (a,)


def blocked_cholesky(a: np.ndarray) -> np.ndarray:
    """The lower factor of a, which is overwritten by it."""
    n = len(a)
    for k in range(0, n, BLOCK):
        end = min(k + BLOCK, n)
        a[k:end, k:end] = np.linalg.cholesky(a[k:end, k:end])
        for j in range(k, end):
            a[end:, j] = (a[end:, j] - a[end:, k:j] @ a[j, k:j]) / a[j, j]
        a[end:, end:] -= a[end:, k:end] @ a[end:, k:end].T
        a[k:end, end:] = 0.0
    return a


def compute(steps: int, a: np.ndarray) -> dict:
    """The logarithm of the determinant for each shift of the diagonal, and the last factor."""
    log_determinants = np.zeros(steps)
    for s in range(steps):
        factor = blocked_cholesky(a + 0.1 * (s + 1) * np.eye(len(a)))
        log_determinants[s] = 2.0 * np.log(np.diag(factor)).sum()
    return {"factor": factor, "log_determinants": log_determinants}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    print("log det by shift:", ", ".join(f"{value:.4f}" for value in result["log_determinants"]))


if __name__ == "__main__":
    main()
