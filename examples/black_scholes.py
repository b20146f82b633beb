"""European options by the Black-Scholes formula, a whole book at once, under several interest rates.

Formula: Black and Scholes, "The Pricing of Options and Corporate Liabilities" (1973). The normal distribution
function goes through erf's rational approximation 7.1.26 of Abramowitz and Stegun, absolute error below 1.5e-7,
since NumPy has no erf.
"""

import argparse

import numpy as np

SIZES = {"default": 4_000_000, "tenth": 400_000, "test": 500}  # options
STEPS = {"default": 5, "tenth": 12, "test": 2}  # interest rates
TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}
VOLATILITY = 0.3


def inputs(n: int) -> tuple:
    """Spot prices, strikes and years to maturity of n options."""
    rng = np.random.default_rng(7)
    return rng.uniform(10.0, 50.0, n), rng.uniform(10.0, 50.0, n), rng.uniform(1.0, 2.0, n)


def normal_cdf(x: np.ndarray) -> np.ndarray:
    z = np.abs(x) / np.sqrt(2.0)
    t = 1.0 / (1.0 + 0.3275911 * z)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = 1.0 - poly * np.exp(-z * z)
    return 0.5 * (1.0 + np.where(x < 0.0, -erf, erf))


def black_scholes(spot: np.ndarray, strike: np.ndarray, years: np.ndarray, rate: float) -> tuple:
    """Prices of the calls and the puts."""
    deviation = VOLATILITY * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * VOLATILITY**2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * np.exp(-rate * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    put = discounted * normal_cdf(-d2) - spot * normal_cdf(-d1)
    return call, put


def compute(steps: int, spot: np.ndarray, strike: np.ndarray, years: np.ndarray) -> dict:
    """The book's value under `steps` interest rates, and the prices under the last."""
    totals = []
    for rate in np.linspace(0.01, 0.05, steps):
        call, put = black_scholes(spot, strike, years, rate)
        totals.append(call.sum() + put.sum())
    return {"call": call, "put": put, "totals": np.array(totals)}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    print(f"mean call {result['call'].mean():.4f}, mean put {result['put'].mean():.4f}")
    print("value of the book by rate:", ", ".join(f"{total:,.0f}" for total in result["totals"]))


if __name__ == "__main__":
    main()
