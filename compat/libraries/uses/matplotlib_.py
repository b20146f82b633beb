"""matplotlib."""

import io

import matplotlib
import numpy as np
from describe import main
from matplotlib import colors

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def x():
    return np.linspace(0, 6, 30)


def image():
    return np.outer(np.sin(x()), np.cos(x()))


def drawn(draw):
    def line():
        fig, axes = plt.subplots(figsize=(3, 2), dpi=40)
        draw(axes)
        fig.canvas.draw()
        pixels = np.asarray(fig.canvas.buffer_rgba()).sum(axis=-1)
        plt.close(fig)
        return pixels

    return line


def saved():
    out = io.BytesIO()
    plt.imsave(out, image())
    return plt.imread(io.BytesIO(out.getvalue()))


LINES = {
    "matplotlib: plot": drawn(lambda ax: ax.plot(x(), np.sin(x()), "r--")),
    "matplotlib: scatter": drawn(lambda ax: ax.scatter(x(), x(), c=x(), s=x())),
    "matplotlib: imshow": drawn(lambda ax: ax.imshow(image())),
    "matplotlib: imshow, masked": drawn(lambda ax: ax.imshow(np.ma.masked_less(image(), 0))),
    "matplotlib: pcolormesh, masked": drawn(lambda ax: ax.pcolormesh(np.ma.masked_less(image(), 0))),
    "matplotlib: contourf": drawn(lambda ax: ax.contourf(*np.meshgrid(x(), x()), image())),
    "matplotlib: hist": drawn(lambda ax: ax.hist(np.sin(x()), bins=np.linspace(-1, 1, 9))),
    "matplotlib: bar, errorbar": drawn(lambda ax: (ax.bar(x(), x()), ax.errorbar(x(), x(), yerr=x() / 9))),
    "matplotlib: fill_between": drawn(lambda ax: ax.fill_between(x(), x(), 0, where=x() > 2)),
    "matplotlib: quiver": drawn(lambda ax: ax.quiver(x(), x(), np.cos(x()), np.sin(x()))),
    "matplotlib: Normalize": lambda: colors.Normalize()(np.ma.masked_less(x(), 2)),
    "matplotlib: imsave": saved,
}

if __name__ == "__main__":
    main(LINES)
