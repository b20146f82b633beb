"""The Mandelbrot set with boolean masks: only points that have not escaped are iterated.

z -> z^2 + c, escaped once |z| > 2: Mandelbrot, "The Fractal Geometry of Nature" (1982), chapter 19.
"""

import argparse

import numpy as np

SIZES = {"default": 1000, "tenth": 316, "test": 40}  # pixels along an edge
STEPS = {"default": 200, "tenth": 600, "test": 20}  # iterations
# The map is chaotic near the border: a last bit may decide when a pixel escapes.
TOLERANCE = {"rtol": 0.0, "atol": 0.0, "mismatch": {"count": 1e-3}}


def inputs(n: int) -> tuple:
    """The points c of an n x n picture."""
    x = np.linspace(-2.0, 0.5, n)
    y = np.linspace(-1.25, 1.25, n)
    return (x[None, :] + 1j * y[:, None],)


def compute(steps: int, c: np.ndarray) -> dict:
    """How many iterations each point stays within the circle of radius 2."""
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=int)
    mask = np.ones(c.shape, dtype=bool)
    for _ in range(steps):
        z[mask] = z[mask] ** 2 + c[mask]
        mask = np.abs(z) <= 2.0
        count[mask] += 1
    return {"count": count}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    count = run(options.size, options.steps)["count"]
    inside = (count == options.steps).mean()
    print(f"{100 * inside:.2f} % of the picture has not escaped; area about {6.25 * inside:.4f}")
    for row in count[:: max(1, len(count) // 20)]:
        print("".join(" .:-=+*#%@"[min(9, 9 * k // options.steps)] for k in row[:: max(1, len(row) // 60)]))


if __name__ == "__main__":
    main()
