"""Per NumPy namespace, how many public names lazynp has, and which way: `python -m compat names`."""

from __future__ import annotations

import importlib
import types
import warnings
from collections import Counter

NAMESPACES = (
    "numpy",
    "numpy.char",
    "numpy.ctypeslib",
    "numpy.dtypes",
    "numpy.emath",
    "numpy.exceptions",
    "numpy.fft",
    "numpy.lib",
    "numpy.lib.array_utils",
    "numpy.lib.format",
    "numpy.lib.introspect",
    "numpy.lib.mixins",
    "numpy.lib.npyio",
    "numpy.lib.recfunctions",
    "numpy.lib.scimath",
    "numpy.lib.stride_tricks",
    "numpy.linalg",
    "numpy.ma",
    "numpy.polynomial",
    "numpy.polynomial.chebyshev",
    "numpy.polynomial.hermite",
    "numpy.polynomial.hermite_e",
    "numpy.polynomial.laguerre",
    "numpy.polynomial.legendre",
    "numpy.polynomial.polynomial",
    "numpy.polynomial.polyutils",
    "numpy.random",
    "numpy.rec",
    "numpy.strings",
    "numpy.testing",
    "numpy.testing.overrides",
    "numpy.typing",
)
WAYS = ("native", "composed", "host")


def resolve(path: str) -> types.ModuleType | None:
    """The module of that path, or what stands at it (numpy.emath is an attribute); None where there is none."""
    parent, _, name = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ImportError:
        return getattr(resolve(parent), name, None) if parent else None


def public_names(module: types.ModuleType) -> list[str]:
    """`__all__`; without one, what `dir` shows and has no leading underscore."""
    return sorted(set(getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]))


def count(path: str, coverage: types.ModuleType | None) -> Counter[str] | None:
    """How many public names a NumPy namespace has, how many of them lazynp has, and which way; None: NumPy lacks it."""
    theirs, ours = resolve(path), resolve(path.replace("numpy", "lazynp", 1))
    if theirs is None:
        return None
    counts: Counter[str] = Counter()
    for name in public_names(theirs):
        counts["names"] += 1
        if ours is not None and hasattr(ours, name):
            counts["there"] += 1
            counts["shared"] += getattr(ours, name) is getattr(theirs, name)
            if coverage is not None:
                counts[coverage.way_of(getattr(ours, name))] += 1
    return counts


def names() -> None:
    coverage = resolve("lazynp.numpy.coverage")
    columns = ("names", "there", "shared", *(WAYS if coverage is not None else ()))
    print(f"{'namespace':<28}" + "".join(f"{c:>10}" for c in columns))
    total: Counter[str] = Counter()
    for path in NAMESPACES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # names that NumPy itself is about to drop
            counts = count(path, coverage)
        if counts is not None:
            total += counts
            print(f"{path:<28}" + "".join(f"{counts[c]:>10}" for c in columns))
    print(f"{'all':<28}" + "".join(f"{total[c]:>10}" for c in columns))
    print("there: the name exists in lazynp, which does not say that it behaves as NumPy's does.")
    own = "constants, dtypes, exceptions, and functions that know nothing of lazynp"
    print(f"shared: of those, NumPy's own object: {own}.")
    if coverage is None:
        print("Which way is not known: there is no lazynp.numpy.coverage.")
