"""Small programs in corners of NumPy: what they log is the same with lazynp, in both modes."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy
import pytest
from snippet_cases import SNIPPETS

import lazynp
from lazynp.config import config

NAMES = [name for name in SNIPPETS.split("\n\n") if name.strip()]


def logged(source: str, m: Any) -> list[str]:
    """What a program logs, as text: representations, and the type of the error that ends it. `e(f)` logs f's error."""
    out: list[str] = []

    def log(*values: Any) -> None:
        out.extend(map(repr, values))

    def e(function: Any, *args: Any) -> None:
        try:
            log(function(*args))
        except Exception as error:
            out.append(f"{type(error).__name__}: {error}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(source, {"np": m, "numpy": numpy, "log": log, "e": e})
        except Exception as error:
            out.append(f"ended by {type(error).__name__}: {error}")
    return [re.sub(r" at 0x[0-9a-f]+", "", text).replace("lazynp", "numpy") for text in out]


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("source", NAMES, ids=lambda s: s.strip().split("\n")[0][:70])
def test_snippets(source: str, mode: str) -> None:
    wanted = logged(source, numpy)
    with config(mode=mode):
        assert logged(source, lazynp) == wanted
