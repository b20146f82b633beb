"""seaborn, Pillow, scikit-image, plotly, bokeh."""

import matplotlib
import numpy as np
from describe import main
from PIL import Image
from skimage import exposure, filters, measure, morphology, segmentation, transform

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import plotly.graph_objects as go
import seaborn
from bokeh.plotting import figure


def x():
    return np.linspace(0, 6, 30)


def image():
    return np.outer(np.sin(x()), np.cos(x()))


def grey():
    return (np.arange(400, dtype=np.uint8).reshape(20, 20) * 3) % 200


def drawn(draw):
    def line():
        fig, axes = plt.subplots(figsize=(3, 2), dpi=40)
        draw(axes)
        fig.canvas.draw()
        pixels = np.asarray(fig.canvas.buffer_rgba()).sum(axis=-1)
        plt.close(fig)
        return pixels

    return line


LINES = {
    "seaborn: heatmap": drawn(lambda ax: seaborn.heatmap(image(), ax=ax)),
    "seaborn: kdeplot": drawn(lambda ax: seaborn.kdeplot(np.sin(x()), ax=ax)),
    "Pillow: Image.fromarray(x)": lambda: np.asarray(Image.fromarray(grey()).resize((8, 8))),
    "Pillow: np.asarray(image)": lambda: np.asarray(Image.new("RGB", (3, 2), (1, 2, 3))) + np.uint8(1),
    "Pillow: Image.frombytes": lambda: np.asarray(Image.frombytes("L", (20, 20), grey().tobytes())),
    "skimage: filters.sobel": lambda: filters.sobel(grey()),
    "skimage: threshold_otsu": lambda: filters.threshold_otsu(grey()),
    "skimage: transform.resize": lambda: transform.resize(grey(), (10, 10)),
    "skimage: transform.rotate": lambda: transform.rotate(grey(), 30),
    "skimage: measure.label": lambda: measure.label(grey() > 100),
    "skimage: regionprops": lambda: [r.area for r in measure.regionprops(measure.label(grey() > 100))],
    "skimage: binary_dilation": lambda: morphology.dilation(grey() > 100),
    "skimage: equalize_hist": lambda: exposure.equalize_hist(grey()),
    "skimage: slic": lambda: segmentation.slic(np.stack([image()] * 3, axis=-1), n_segments=4, start_label=1),
    "plotly: Scatter": lambda: len(go.Figure(go.Scatter(x=x(), y=np.sin(x()))).to_json()),
    "bokeh: line": lambda: figure().line(x(), np.sin(x())).data_source.data["y"],
}

if __name__ == "__main__":
    main(LINES)
