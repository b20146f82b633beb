"""Conway's Game of Life, on a board with walls (slices) and on a torus (np.roll).

Gardner, "Mathematical Games", Scientific American 223 (1970): a dead cell with three live neighbours comes alive,
a live cell with two or three stays so. The slices are those of Rougier, "From Python to Numpy", section 4.2.
"""

import argparse

import numpy as np

SIZES = {"default": 2000, "tenth": 632, "test": 40}  # cells along an edge
STEPS = {"default": 80, "tenth": 240, "test": 8}
TOLERANCE = {"rtol": 0.0, "atol": 0.0}


def inputs(n: int) -> tuple:
    """A board of which a quarter is alive, twice: with a dead border, and without."""
    rng = np.random.default_rng(5)
    torus = (rng.random((n, n)) < 0.25).astype(np.uint8)
    walled = torus.copy()
    walled[0, :] = walled[-1, :] = 0
    walled[:, 0] = walled[:, -1] = 0
    return walled, torus


def step_walled(board: np.ndarray) -> None:
    neighbours = (
        board[:-2, :-2] + board[:-2, 1:-1] + board[:-2, 2:]
        + board[1:-1, :-2] + board[1:-1, 2:]
        + board[2:, :-2] + board[2:, 1:-1] + board[2:, 2:]
    )  # fmt: skip
    birth = (neighbours == 3) & (board[1:-1, 1:-1] == 0)
    survive = ((neighbours == 2) | (neighbours == 3)) & (board[1:-1, 1:-1] == 1)
    board[...] = 0
    board[1:-1, 1:-1][birth | survive] = 1


def step_torus(board: np.ndarray) -> np.ndarray:
    neighbours = sum(
        np.roll(np.roll(board, i, axis=0), j, axis=1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
    )
    return ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(np.uint8)


def compute(steps: int, walled: np.ndarray, torus: np.ndarray) -> dict:
    """So many generations of both boards; one in four of them on the torus, which is the slower one."""
    for generation in range(steps):
        step_walled(walled)
        if generation % 4 == 0:
            torus = step_torus(torus)
    return {"walled": walled, "torus": torus, "alive": walled.sum() + torus.sum()}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    print(f"alive after {options.steps} generations: {result['walled'].sum()} of {options.size**2} between walls")
    print(f"alive after {-(-options.steps // 4)} generations: {result['torus'].sum()} on the torus")


if __name__ == "__main__":
    main()
