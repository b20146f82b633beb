"""k-means clustering by Lloyd's algorithm, distances by broadcasting.

Lloyd, "Least Squares Quantization in PCM" (1982).
"""

import argparse

import numpy as np

SIZES = {"default": 200_000, "tenth": 20_000, "test": 400}  # points
STEPS = {"default": 16, "tenth": 80, "test": 4}
# A sum in another order may move a point that lies between two centres: one point in ten thousand may differ.
TOLERANCE = {"rtol": 1e-6, "atol": 1e-6, "mismatch": {"labels": 1e-4}}
CLUSTERS = 12
DIMENSIONS = 4


def inputs(n: int) -> tuple:
    """n points around as many hidden centres as there are clusters, and the first points as a first guess."""
    rng = np.random.default_rng(11)
    hidden = rng.uniform(-10.0, 10.0, (CLUSTERS, DIMENSIONS))
    points = hidden[rng.integers(0, CLUSTERS, n)] + rng.standard_normal((n, DIMENSIONS))
    return points, points[:CLUSTERS].copy()


def compute(steps: int, points: np.ndarray, centres: np.ndarray) -> dict:
    for _ in range(steps):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        for k in range(len(centres)):
            members = points[labels == k]
            if len(members):
                centres[k] = members.mean(axis=0)
    return {"centres": centres, "labels": labels, "inertia": distances.min(axis=1).sum()}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    print(f"inertia {result['inertia']:.1f}, members {np.bincount(result['labels'], minlength=CLUSTERS)}")


if __name__ == "__main__":
    main()
