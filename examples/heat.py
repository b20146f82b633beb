"""Heat spreading through a square plate whose edges are held, or insulated.

The explicit (forward time, centred space) scheme for du/dt = a (d2u/dx2 + d2u/dy2), written in place:
LeVeque, "Finite Difference Methods for Ordinary and Partial Differential Equations", section 9.2.
"""

import argparse

import numpy as np

SIZES = {"default": 2000, "tenth": 632, "test": 40}  # points along an edge
STEPS = {"default": 60, "tenth": 200, "test": 12}
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
ALPHA = 0.2  # a dt / dx^2; stable up to 0.25


def inputs(n: int) -> tuple:
    """A plate of n x n points at 20 degrees with a hot disc in it."""
    x = np.linspace(-1.0, 1.0, n)
    u = np.full((n, n), 20.0)
    u[x[:, None] ** 2 + x[None, :] ** 2 < 0.16] = 100.0
    return (u,)


def compute(steps: int, u: np.ndarray) -> dict:
    """Advance the temperature u by so many time steps, in place."""
    for _ in range(steps):
        u[1:-1, 1:-1] += ALPHA * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        u[0, :] = 0.0  # an ice bath
        u[-1, :] = 50.0  # a heater
        u[:, 0] = u[:, 1]  # insulated sides
        u[:, -1] = u[:, -2]
    return {"u": u}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    u = run(options.size, options.steps)["u"]
    print(f"after {options.steps} steps: mean {u.mean():.4f}, coldest {u.min():.2f}, hottest {u.max():.2f} degrees")


if __name__ == "__main__":
    main()
