"""Three slow programs, what `advise` says of each, and the same after following it: `python examples/advice.py`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import lazynp as np

N, MATRICES = 300, 400


def elements() -> Any:
    """How many peaks a surface has, one element at a time."""
    a = np.sin(np.linspace(0.0, 300.0, N * N)).reshape(N, N)
    peaks = 0
    for i in range(1, N - 1, 3):
        for j in range(1, N - 1, 3):
            if a[i, j] > a[i, j - 1] and a[i, j] > a[i, j + 1]:
                peaks += 1
    return peaks


def elements_followed() -> Any:
    a = np.sin(np.linspace(0.0, 300.0, N * N)).reshape(N, N)
    middle = a[1:-1:3, 1:-1:3]
    return int(((middle > a[1:-1:3, :-2:3]) & (middle > a[1:-1:3, 2::3])).sum())


def traced() -> Any:
    """A function that is jitted in each round."""
    x = np.linspace(0.0, 1.0, 1000)
    for _ in range(40):
        step = np.jit(lambda v: v + 0.01 * np.sin(v) * np.exp(-v))
        x = step(x)
    return x.sum()


@np.jit
def once(v: Any) -> Any:
    return v + 0.01 * np.sin(v) * np.exp(-v)


def traced_followed() -> Any:
    x = np.linspace(0.0, 1.0, 1000)
    for _ in range(40):
        x = once(x)
    return x.sum()


def small() -> Any:
    """Many small systems, one after the other."""
    a = np.eye(6) + np.linspace(0.0, 0.1, MATRICES * 36).reshape(MATRICES, 6, 6)
    return sum([np.linalg.solve(a[k], np.ones(6)).sum() for k in range(MATRICES)])


def small_followed() -> Any:
    a = np.eye(6) + np.linspace(0.0, 0.1, MATRICES * 36).reshape(MATRICES, 6, 6)
    return np.linalg.solve(a, np.ones((MATRICES, 6, 1))).sum()


PROGRAMS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "elements": (elements, elements_followed),
    "traced": (traced, traced_followed),
    "small": (small, small_followed),
}


def seconds_of(f: Callable[[], Any]) -> float:
    """Seconds of a call, its result computed."""
    begun = time.perf_counter()
    f()
    np.synchronize()
    return time.perf_counter() - begun


def main() -> None:
    """Advise, then time both in turns."""
    for name, (slow, fast) in PROGRAMS.items():
        print(np.advise(slow, seconds=0.5, show=False), end="\n\n")
        for _ in range(3):
            seconds_of(fast)
        np.compile_wait(60)
        rounds = [(seconds_of(slow), seconds_of(fast)) for _ in range(7)]
        before, after = (statistics.median(column) for column in zip(*rounds))
        print(f"{name}: {1e3 * before:.3g} ms, followed {1e3 * after:.3g} ms: {before / after:.1f} x", end="\n\n")


if __name__ == "__main__":
    main()
