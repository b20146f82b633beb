"""A plate whose edges are kept warm, on as many processes as there are: plain NumPy text, and a plot of how it scales.

python -m lazynp --processes 2 examples/many/stencil.py            one run, swapped
torchrun --nproc-per-node 2 examples/many/stencil.py               the same, by torch's launcher
python examples/many/stencil.py --scaling 1 2 4 --plot scaling.svg  runs with so many processes, and the plot
"""

import argparse
import sys
import time
from pathlib import Path

from scaling import measured, plot

import lazynp as np


def plate(n: int, steps: int) -> float:
    """The mean temperature of n x n points after so many sweeps."""
    u = np.zeros((n, n))
    u[0, :] = 100.0
    u[:, -1] = 50.0
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return float(u.mean())


def command(p: int, n: int, steps: int) -> list[str]:
    """What runs this file in p processes."""
    launched = [sys.executable, "-m", "lazynp", "--processes", str(p), __file__]
    return [*launched, "--size", str(n), "--steps", str(steps)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--scaling", type=int, nargs="+", metavar="P")
    parser.add_argument("--plot", type=Path, default=Path("scaling.svg"))
    options = parser.parse_args()
    if options.scaling:
        commands = {p: command(p, options.size, options.steps) for p in options.scaling}
        options.plot.write_text(plot(measured(commands)))
        print(f"drawn: {options.plot}")
        return
    np.distribute()  # nothing in a process that is alone, or was started by python -m lazynp --processes
    plate(options.size, options.steps // 4)
    start = time.perf_counter()
    mean = plate(options.size, options.steps)
    seconds = time.perf_counter() - start
    print(f"mean {mean:.6f}, {1e3 * seconds / options.steps:.2f} ms a step")


if __name__ == "__main__":
    main()
