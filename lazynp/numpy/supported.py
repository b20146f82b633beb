"""The versions of NumPy that lazynp is tested with, and a word to those who have another."""

from __future__ import annotations

import numpy

from ..notices import notify

OLDEST, NEWEST = (2, 2), (2, 5)


def version_of(text: str) -> tuple[int, int]:
    """(2, 5) of "2.5.1"."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


VERSION = version_of(numpy.__version__)


def check() -> None:
    """Warn, once, where the NumPy that runs is not among them."""
    if OLDEST <= VERSION <= NEWEST:
        return
    tested = " to ".join(f"{major}.{minor}" for major, minor in (OLDEST, NEWEST))
    notify(
        f"lazynp is tested with NumPy {tested}; this is NumPy {numpy.__version__}, and what is new in it "
        "may be missing or behave otherwise",
        UserWarning,
    )
