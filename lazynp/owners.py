"""Whose code a file has: the program's own, an installed library's, or Python's."""

from __future__ import annotations

import functools
import importlib
import os
import site
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
OWN, LIBRARY, PYTHON = "own", "library", "python"


def folders(*paths: str | None) -> tuple[str, ...]:
    return tuple(sorted({os.path.join(os.path.realpath(p), "") for p in paths if p}))


STANDARD, OURS = folders(os.path.dirname(os.__file__)), folders(HERE)


@functools.cache
def elsewhere() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where libraries and Python's own modules lie beside the usual places, which it takes a while to ask for."""
    sysconfig: Any = importlib.import_module("sysconfig")  # most programs ask for nothing here
    libraries = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()]
    libraries += getattr(site, "getsitepackages", list)()
    return folders(*libraries), folders(sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))


@functools.lru_cache(4096)  # functions of NumPy's import it each time that they are called
def whose(filename: str) -> str:
    """Whose code a file has."""
    if os.path.islink(filename):
        filename = os.path.realpath(filename)
    return whose_folder(os.path.dirname(filename))


@functools.lru_cache(4096)
def whose_folder(folder: str) -> str:
    path = os.path.join(os.path.realpath(folder), "")
    names = [f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages")]
    if path.startswith(OURS) or any([name in path for name in names]):
        return LIBRARY
    if path.startswith(STANDARD):
        return PYTHON
    libraries, standard = elsewhere()
    roots = [root or "." for root in sys.path if has_been_installed(root or ".")]
    if path.startswith((*libraries, *folders(*roots))):
        return LIBRARY
    return PYTHON if path.startswith(standard) else OWN


@functools.lru_cache(4096)
def has_been_installed(root: str) -> bool:
    """Whether a folder that modules are looked for in was filled by an installer, such as `pip install --target`."""
    try:
        return any([name.endswith(".dist-info") for name in os.listdir(root)])
    except OSError:  # an archive, or not there
        return False
