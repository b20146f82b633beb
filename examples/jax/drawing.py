"""Pictures without a plotting library: an array of colours, or a curve, as a PNG file."""

import struct
import zlib

import numpy as np


def write_png(path: str, image: np.ndarray) -> None:
    """Write an image of shape (height, width, 3), values from 0 to 1, as 8-bit RGB."""
    pixels = (np.clip(np.asarray(image, np.float64), 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, width * 3)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header))
        file.write(chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b""))


def curve_image(values: np.ndarray, width: int = 640, height: int = 360, margin: int = 20) -> np.ndarray:
    """Values against their index, joined by lines, with the axes at the left and at the bottom."""
    values = np.asarray(values, np.float64)
    image = np.ones((height, width, 3))
    image[margin : height - margin, margin] = image[height - margin, margin : width - margin] = 0.4
    columns = np.arange(margin, width - margin)
    at = np.interp(np.linspace(0, len(values) - 1, len(columns)), np.arange(len(values)), values)
    low, high = min(at.min(), 0.0), max(at.max(), 1e-12)
    rows = (height - margin - (at - low) / (high - low) * (height - 2 * margin)).astype(int)
    for k, column in enumerate(columns):
        ends = sorted((rows[k], rows[max(k - 1, 0)]))
        image[ends[0] : ends[1] + 2, column] = (0.1, 0.3, 0.8)
    return image


def draw_curve(path: str, values: np.ndarray, title: str) -> None:
    """Draw a curve with matplotlib where it is installed, else with the few lines above."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        write_png(path, curve_image(values))
        return
    figure = Figure(figsize=(6.4, 3.6))
    axes = figure.subplots()
    axes.plot(values)
    axes.set_title(title)
    axes.set_ylim(bottom=0)
    figure.savefig(path)
