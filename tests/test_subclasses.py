"""NumPy's masked arrays, matrices and records, and ours: each is the other where it is given to the other."""

from __future__ import annotations

import copy
import importlib
import pathlib
import pickle
import re
import sys
import warnings
from typing import Any

import numpy
import pytest
from subclass_cases import FROM_NUMPY, LIBRARIES, MADE, TO_NUMPY

import lazynp
from lazynp.config import config
from lazynp.speed import native

MODES = ("auto", "graph")


def shown(expression: str, m: Any, folder: pathlib.Path, **names: Any) -> str:
    """What an expression gives with numpy or lazynp as `m`: its representation, or its error's type."""
    folder.mkdir(exist_ok=True)
    scope: dict[str, Any] = {"m": m, "N": numpy, "copy": copy, "pickle": pickle, "importlib": importlib, **names}
    scope["path"] = lambda name: str(folder / name)
    exec(MADE, scope)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what NumPy's functions say of masked values
        try:
            text = repr(eval(expression, scope))
        except Exception as error:
            text = type(error).__name__
    return re.sub("0x[0-9a-f]+", "", text).replace("lazynp", "numpy")


def check(expression: str, mode: str, folder: pathlib.Path, **names: Any) -> None:
    wanted = shown(expression, numpy, folder / "theirs", **names)
    with config(mode=mode):
        assert shown(expression, lazynp, folder / "ours", **names) == wanted


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("expression", [*TO_NUMPY.split("\n")[1:-1], *FROM_NUMPY.split("\n")[1:-1]])
def test_subclasses(expression: str, mode: str, tmp_path: pathlib.Path) -> None:
    if native is None and sys.version_info < (3, 12) and expression.startswith(("memoryview", "bytes", "bytearray")):
        pytest.skip("Python classes have no buffer before Python 3.12: README, without the C modules")
    check(expression, mode, tmp_path)


@pytest.mark.parametrize("expression", LIBRARIES.split("\n")[1:-1])
def test_libraries(expression: str, tmp_path: pathlib.Path) -> None:
    root, module = re.findall(r"\b(matplotlib|scipy|pandas)(\.[a-z]+)?", expression)[0]
    library = pytest.importorskip(root)
    importlib.import_module(root + module) if root != "pandas" else None
    if root == "scipy":
        pytest.importorskip("scipy.stats.mstats")
    check(expression, "auto", tmp_path, **{root: library})
