"""Stars under each other's gravity: all pairs by broadcasting, leapfrog in time.

The softened direct sum of Aarseth, "Gravitational N-Body Simulations" (2003), equation 1.1, with the
kick-drift-kick integrator. The masses are equal and add up to one; G is one.
"""

import argparse

import numpy as np

SIZES = {"default": 1000, "tenth": 316, "test": 30}  # bodies; the work goes with their square
STEPS = {"default": 100, "tenth": 300, "test": 5}
TOLERANCE = {"rtol": 1e-8, "atol": 1e-8}
SOFTENING = 0.05
DT = 0.001


def inputs(n: int) -> tuple:
    """Positions, velocities and masses of n bodies in a ball, with no drift."""
    rng = np.random.default_rng(3)
    position = rng.standard_normal((n, 3))
    velocity = 0.1 * rng.standard_normal((n, 3))
    velocity -= velocity.mean(axis=0)
    return position, velocity, np.full(n, 1.0 / n)


def acceleration(position: np.ndarray, mass: np.ndarray) -> np.ndarray:
    x, y, z = position[:, 0], position[:, 1], position[:, 2]
    dx = x[None, :] - x[:, None]
    dy = y[None, :] - y[:, None]
    dz = z[None, :] - z[:, None]
    pull = mass * (dx**2 + dy**2 + dz**2 + SOFTENING**2) ** -1.5
    return np.stack([(dx * pull).sum(axis=1), (dy * pull).sum(axis=1), (dz * pull).sum(axis=1)], axis=1)


def compute(steps: int, position: np.ndarray, velocity: np.ndarray, mass: np.ndarray) -> dict:
    force = acceleration(position, mass)
    for _ in range(steps):
        velocity += 0.5 * DT * force
        position += DT * velocity
        force = acceleration(position, mass)
        velocity += 0.5 * DT * force
    kinetic = 0.5 * (mass[:, None] * velocity**2).sum()
    return {"position": position, "velocity": velocity, "kinetic": kinetic}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    drift = np.linalg.norm(result["velocity"].mean(axis=0))
    print(f"after {options.steps} steps: kinetic energy {result['kinetic']:.6f}, drift of the whole {drift:.2e}")


if __name__ == "__main__":
    main()
