"""A drum struck by a force that changes from step to step: a scalar of the loop that is never the same twice.

The second-order wave equation, leapfrog in time, three arrays that rotate: Langtangen and Linge, "Finite
Difference Computing with PDEs" (2017), section 2.11. The force is a chirp, sin(w t^2), on a small disc.
"""

import argparse
import math

import numpy as np

SIZES = {"default": 1500, "tenth": 474, "test": 40}  # points along an edge
STEPS = {"default": 60, "tenth": 200, "test": 10}
TOLERANCE = {"rtol": 1e-11, "atol": 1e-13}
COURANT = 0.25  # (c dt / dx)^2; stable up to 0.5
DT = 0.01


def inputs(n: int) -> tuple:
    """The drum now and one step ago, at rest, and where the force acts."""
    x = np.linspace(-1.0, 1.0, n)
    force = np.exp(-100.0 * ((x[:, None] - 0.3) ** 2 + (x[None, :] + 0.2) ** 2))
    return np.zeros((n, n)), np.zeros((n, n)), force


def compute(steps: int, u: np.ndarray, before: np.ndarray, force: np.ndarray) -> dict:
    after = np.zeros_like(u)
    for k in range(steps):
        amplitude = math.sin(40.0 * (k * DT) ** 2 + 1.0)
        damping = 0.01 * math.exp(-k * DT)
        laplacian = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        after[1:-1, 1:-1] = (
            (2.0 - damping) * u[1:-1, 1:-1]
            - (1.0 - damping) * before[1:-1, 1:-1]
            + COURANT * laplacian
            + amplitude * force[1:-1, 1:-1]
        )
        before, u, after = u, after, before
    return {"u": u, "before": before}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    u = run(options.size, options.steps)["u"]
    print(f"after {options.steps} steps: {u.min():.4f} to {u.max():.4f}, root mean square {np.sqrt((u**2).mean()):.5f}")


if __name__ == "__main__":
    main()
