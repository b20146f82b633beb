"""An Asian option with a knock-out barrier, priced by Monte Carlo over geometric Brownian motion.

Glasserman, "Monte Carlo Methods in Financial Engineering" (2003): the paths are equation 3.21, the option is of
section 3.2.2, and each path has an antithetic twin (section 4.2).
"""

import argparse

import numpy as np

SIZES = {"default": 400_000, "tenth": 40_000, "test": 500}  # pairs of paths
STEPS = {"default": 200, "tenth": 400, "test": 6}  # dates of observation
# A path whose price is the barrier but for the last bit may be knocked out in one run only.
TOLERANCE = {"rtol": 1e-6, "atol": 1e-6, "mismatch": {"payoff": 1e-5}}
SPOT = 100.0
STRIKE = 100.0
BARRIER = 160.0
RATE = 0.03
VOLATILITY = 0.25
YEARS = 1.0


def inputs(n: int) -> tuple:
    """The prices of n pairs of paths today: twins are rows."""
    return (np.full((2, n), SPOT),)


def compute(steps: int, price: np.ndarray) -> dict:
    """The payoffs of all paths, discounted, and their mean with its standard error."""
    rng = np.random.default_rng(2024)
    dt = YEARS / steps
    drift = (RATE - 0.5 * VOLATILITY**2) * dt
    alive = np.ones(price.shape, dtype=bool)
    total = np.zeros_like(price)
    for _ in range(steps):
        z = VOLATILITY * np.sqrt(dt) * rng.standard_normal(price.shape[1])
        price[0] *= np.exp(drift + z)
        price[1] *= np.exp(drift - z)
        total += price
        alive &= price < BARRIER
    payoff = np.exp(-RATE * YEARS) * np.maximum(total / steps - STRIKE, 0.0)
    payoff[~alive] = 0.0
    pairs = payoff.mean(axis=0)
    return {"payoff": payoff, "value": pairs.mean(), "error": pairs.std() / np.sqrt(len(pairs))}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    print(f"the option is worth {result['value']:.4f} +- {1.96 * result['error']:.4f} (95 %)")


if __name__ == "__main__":
    main()
