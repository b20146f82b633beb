"""Flow in a box whose lid slides: the incompressible Navier-Stokes equations, with a pressure loop in each step.

Step 11 of Barba and Forsyth, "CFD Python: the 12 steps to Navier-Stokes equations", Journal of Open Source
Education 2 (2019). The pressure comes from a Poisson equation that is relaxed 20 times a step.
"""

import argparse

import numpy as np

SIZES = {"default": 700, "tenth": 221, "test": 32}  # points along an edge
STEPS = {"default": 14, "tenth": 60, "test": 3}
TOLERANCE = {"rtol": 1e-9, "atol": 1e-12}
SWEEPS = 20
RHO = 1.0
NU = 0.1


def inputs(n: int) -> tuple:
    """Velocities and pressure at rest."""
    return np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))


def build_up_b(b: np.ndarray, dt: float, u: np.ndarray, v: np.ndarray, dx: float, dy: float) -> None:
    """The right side of the pressure equation, into b."""
    b[1:-1, 1:-1] = RHO * (
        1 / dt * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
    )


def pressure_poisson(p: np.ndarray, dx: float, dy: float, b: np.ndarray) -> None:
    for _ in range(SWEEPS):
        pn = p.copy()
        p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]  # dp/dx = 0 at x = 2
        p[0, :] = p[1, :]  # dp/dy = 0 at y = 0
        p[:, 0] = p[:, 1]  # dp/dx = 0 at x = 0
        p[-1, :] = 0  # p = 0 at the lid


def compute(steps: int, u: np.ndarray, v: np.ndarray, p: np.ndarray) -> dict:
    """Advance velocities and pressure by so many time steps, in place."""
    dx = dy = 2.0 / (len(u) - 1)
    dt = min(0.001, 0.1 * dx**2 / NU)
    b = np.zeros_like(p)
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        build_up_b(b, dt, u, v, dx, dy)
        pressure_poisson(p, dx, dy, b)

        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * RHO * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + NU * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
            + NU * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
            - dt / (2 * RHO * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
            + NU * dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, 0:-2])
            + NU * dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[0:-2, 1:-1])
        )

        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1  # the lid
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return {"u": u, "v": v, "p": p}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    speed = np.sqrt(result["u"] ** 2 + result["v"] ** 2)
    print(f"after {options.steps} steps: mean speed {speed.mean():.6f}, pressure {result['p'].min():.4f} to", end=" ")
    print(f"{result['p'].max():.4f}")


if __name__ == "__main__":
    main()
