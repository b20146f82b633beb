"""Whose code a file has: the program's own, an installed library's, or Python's."""

from __future__ import annotations

import functools
import os
import site
import sysconfig

HERE = os.path.dirname(os.path.abspath(__file__))
OWN, LIBRARY, PYTHON = "own", "library", "python"


def folders(*paths: str | None) -> tuple[str, ...]:
    return tuple(sorted({os.path.join(os.path.realpath(p), "") for p in paths if p}))


STANDARD = folders(sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
PACKAGES = folders(
    sysconfig.get_path("purelib"),
    sysconfig.get_path("platlib"),
    site.getusersitepackages(),
    *getattr(site, "getsitepackages", list)(),
    HERE,
)


@functools.lru_cache(4096)  # functions of NumPy's import it each time that they are called
def whose(filename: str) -> str:
    """Whose code a file has."""
    if os.path.islink(filename):
        filename = os.path.realpath(filename)
    return whose_folder(os.path.dirname(filename))


@functools.lru_cache(4096)
def whose_folder(folder: str) -> str:
    path = os.path.join(os.path.realpath(folder), "")
    if path.startswith(PACKAGES) or any(
        f"{os.sep}{name}{os.sep}" in path for name in ("site-packages", "dist-packages")
    ):
        return LIBRARY
    return PYTHON if path.startswith(STANDARD) else OWN
