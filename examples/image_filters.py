"""A photographer's filter chain: exposure, separable blur, Sobel edges, gamma, clip, threshold.

The blur is the binomial kernel 1 4 6 4 1 (Jähne, "Digital Image Processing", section 11.4), the edges are
Sobel's (Duda and Hart, "Pattern Classification and Scene Analysis", 1973, page 271). In float32, as images are.
"""

import argparse

import numpy as np

SIZES = {"default": 2000, "tenth": 632, "test": 40}  # pixels along an edge
STEPS = {"default": 15, "tenth": 60, "test": 3}  # exposures
# float32; a pixel that lies on the threshold may fall on either side.
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5, "mismatch": {"edges": 1e-4}}


def inputs(n: int) -> tuple:
    """A picture with circles, a ramp and some noise, values from 0 to 1."""
    rng = np.random.default_rng(9)
    x = np.linspace(-1.0, 1.0, n, dtype=np.float32)
    rings = 0.5 + 0.5 * np.sin(20.0 * (x[:, None] ** 2 + x[None, :] ** 2))
    ramp = 0.5 * (x[None, :] + 1.0)
    noise = rng.random((n, n), dtype=np.float32)
    return (0.6 * rings + 0.3 * ramp + 0.1 * noise,)


def blur(image: np.ndarray) -> np.ndarray:
    """The binomial filter along both axes; two pixels at each border keep their values."""
    across = image.copy()
    across[:, 2:-2] = (
        image[:, :-4] + 4.0 * image[:, 1:-3] + 6.0 * image[:, 2:-2] + 4.0 * image[:, 3:-1] + image[:, 4:]
    ) / 16.0
    out = across.copy()
    out[2:-2] = (across[:-4] + 4.0 * across[1:-3] + 6.0 * across[2:-2] + 4.0 * across[3:-1] + across[4:]) / 16.0
    return out


def sobel(image: np.ndarray) -> np.ndarray:
    """The gradient's size; zero at the border."""
    gx = (image[:-2, 2:] + 2.0 * image[1:-1, 2:] + image[2:, 2:]) - (
        image[:-2, :-2] + 2.0 * image[1:-1, :-2] + image[2:, :-2]
    )
    gy = (image[2:, :-2] + 2.0 * image[2:, 1:-1] + image[2:, 2:]) - (
        image[:-2, :-2] + 2.0 * image[:-2, 1:-1] + image[:-2, 2:]
    )
    out = np.zeros_like(image)
    out[1:-1, 1:-1] = np.sqrt(gx**2 + gy**2)
    return out


def compute(steps: int, image: np.ndarray) -> dict:
    """The chain for each of `steps` exposures, blended into one picture, and where most exposures see an edge."""
    blend = np.zeros_like(image)
    votes = np.zeros(image.shape, dtype=np.int32)
    for k in range(steps):
        exposure = 0.6 + 0.8 * (k + 0.5) / steps
        smooth = blur(np.clip(image * exposure, 0.0, 1.0))
        gradient = sobel(smooth)
        votes += gradient > 0.12 * exposure
        sharp = np.clip(smooth + 0.4 * gradient, 0.0, 1.0)
        blend += sharp ** (1.0 / 2.2) / steps
    return {"blend": blend, "edges": votes * 2 > steps}


def run(n: int = SIZES["default"], steps: int = STEPS["default"]) -> dict:
    return compute(steps, *inputs(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZES["default"])
    parser.add_argument("--steps", type=int, default=STEPS["default"])
    options = parser.parse_args()
    result = run(options.size, options.steps)
    print(f"mean brightness {result['blend'].mean():.4f}, edges on {100 * result['edges'].mean():.2f} % of the picture")


if __name__ == "__main__":
    main()
