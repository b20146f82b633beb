"""Pictures of real runs for `how-it-works.md`: `python docs/pictures.py FOLDER` runs the page's program, and draws what
`explain` and `profile` have to say of it."""

import sys
from pathlib import Path

import lazynp as np

N = 1000


def pending() -> np.ndarray:
    """A distance to a circle, with a product of matrices in its way: nothing of it has run."""
    x = np.linspace(-1.0, 1.0, N)
    r = np.sqrt(x[:, None] ** 2 + x**2)
    near = np.where(r < 0.5, 1.0 - 2 * r, 0.0)
    blurred = near @ near
    return blurred - blurred.mean(axis=0)


def work() -> None:
    """A plate that warms up; its mean is asked for now and then."""
    u = np.zeros((N, N))
    u[0] = 100.0
    means = []
    for k in range(60):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        if k % 20 == 0:
            means.append(float(u.mean()))
    np.linalg.norm(u @ u)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "graph.svg").write_text(np.explain(pending()).svg)
    with np.profile() as p:
        work()
    (folder / "profile.html").write_text(p.html)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
