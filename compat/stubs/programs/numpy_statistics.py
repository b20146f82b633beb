"""Statistics of a table: random numbers, axes, masks, sorting."""

import numpy as np
from numpy.random import Generator, default_rng


def sample(rng: Generator, rows: int) -> np.ndarray:
    return rng.normal(size=(rows, 3)) * np.array([1.0, 2.0, 3.0])


def describe(table: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "mean": table.mean(axis=0),
        "deviation": table.std(axis=0, ddof=1),
        "median": np.median(table, axis=0),
        "order": np.argsort(table[:, 0]),
    }


rng = default_rng(0)
table = sample(rng, 100)
summary = describe(table)
summary["mean"].append(1.0)  # no list
kept = table[(table[:, 0] > 0) & np.isfinite(table).all(axis=1)]
kept.sort(axis="rows")  # a wrong type
rng.gaussian(3)  # a name of another library
np.random.nonexistent(3)
edges, counts = np.histogram(kept[:, 1], bins=10)
bad: str = np.argmax(counts)  # no str
