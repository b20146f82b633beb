"""Burgers' equation in two dimensions: a fluid that carries itself along, and is viscous.

Upwind in space, forward in time, as in step 8 of Barba and Forsyth, "CFD Python: the 12 steps to Navier-Stokes
equations", Journal of Open Source Education 2 (2019), whose text this is.
"""

import argparse

import numpy as np

SIZES = {"default": 2000, "tenth": 632, "test": 40}  # points along an edge
STEPS = {"default": 14, "tenth": 60, "test": 8}
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
NU = 0.01
SIGMA = 0.02  # nu dt / dx^2


def inputs(n: int) -> tuple:
    """Velocities u and v, one everywhere but two in a square."""
    u = np.ones((n, n))
    v = np.ones((n, n))
    u[n // 4 : n // 2, n // 4 : n // 2] = 2.0
    v[n // 4 : n // 2, n // 4 : n // 2] = 2.0
    return u, v


def compute(steps: int, u: np.ndarray, v: np.ndarray) -> dict:
    """Advance the velocities by so many time steps, in place."""
    dx = dy = 2.0 / (len(u) - 1)
    dt = SIGMA * dx * dy / NU
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()

        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - dt / dx * un[1:-1, 1:-1] * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - dt / dy * vn[1:-1, 1:-1] * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            + NU * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
            + NU * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - dt / dx * un[1:-1, 1:-1] * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - dt / dy * vn[1:-1, 1:-1] * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            + NU * dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
            + NU * dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )

        u[0, :] = 1
        u[-1, :] = 1
        u[:, 0] = 1
        u[:, -1] = 1

        v[0, :] = 1
        v[-1, :] = 1
        v[:, 0] = 1
        v[:, -1] = 1
    return {"u": u, "v": v}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    energy = 0.5 * (result["u"] ** 2 + result["v"] ** 2).mean()
    print(f"after {options.steps} steps: mean energy {energy:.6f}, fastest {result['u'].max():.4f}")


if __name__ == "__main__":
    main()
