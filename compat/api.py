"""NumPy's public API by name, and which way lazynp has each: native, composed, host, shared; ndarray's methods too."""

from __future__ import annotations

import importlib
from collections import Counter

import numpy

WAYS = ("native", "composed", "host", "shared", "missing")
OWN = ("native", "composed", "host", "missing")  # the ways that count: a shared object is NumPy's own, without arrays


def table() -> dict[str, dict[str, str]]:
    """Namespace -> name -> way."""
    return importlib.import_module("lazynp.numpy.coverage").table()


def counted(names: dict[str, str]) -> Counter[str]:
    return Counter(names.values())


def share(tables: dict[str, dict[str, str]]) -> tuple[int, int]:
    """How many functions, methods and ufuncs are native or composed, and how many there are."""
    ways = [way for names in tables.values() for way in names.values() if way != "shared"]
    return sum(way in ("native", "composed") for way in ways), len(ways)


def ufuncs(tables: dict[str, dict[str, str]]) -> dict[str, str]:
    """The ufuncs among numpy's names."""
    return {n: way for n, way in tables["numpy"].items() if isinstance(getattr(numpy, n, None), numpy.ufunc)}
