"""Small programs in corners of NumPy: what they log is the same with lazynp, in both modes."""

from __future__ import annotations

import re
import sys
import warnings
from typing import Any

import numpy
import pytest
from snippet_cases import SNIPPETS, WRITES

import lazynp
from lazynp.config import config
from lazynp.speed import native

NO_BUFFER = native is None and sys.version_info < (3, 12)
NAMES = [name for name in SNIPPETS.split("\n\n") if name.strip()]


def logged(source: str, m: Any) -> list[str]:
    """What a program logs, as text: representations, and the type of the error that ends it. `e(f)` logs f's error."""
    out: list[str] = []

    def log(*values: Any) -> None:
        out.extend(map(repr, values))

    def e(function: Any, *args: Any, **kwargs: Any) -> None:
        try:
            log(function(*args, **kwargs))
        except Exception as error:
            out.append(f"{type(error).__name__}: {error}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(source, {"np": m, "numpy": numpy, "warnings": warnings, "log": log, "e": e})
        except Exception as error:
            out.append(f"ended by {type(error).__name__}: {error}")
    return [re.sub(r" at 0x[0-9a-f]+", "", text).replace("lazynp", "numpy") for text in out]


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("source", NAMES, ids=lambda s: s.strip().split("\n")[0][:70])
def test_snippets(source: str, mode: str) -> None:
    if NO_BUFFER and "memoryview(" in source:
        pytest.skip("without the C modules a Python class has no buffer before Python 3.12")
    wanted = logged(source, numpy)
    with config(mode=mode):
        assert logged(source, lazynp) == wanted


@pytest.mark.skipif(native is None, reason="a class that Python makes is called by its name alone")
@pytest.mark.parametrize(
    "source",
    [
        "{a: 1}", "a.append(3)", "a()", "a.f.g", "setattr(a, 'f', 1)", "open(a)", "np.add.f", "a.flat.f",
        "hash(a.flat)", "np.nditer(a).f", "np.broadcast(a, a).f", "format(a, '.2f')", "a.view(sub).f", "{a.view(sub)}",
    ],
)  # fmt: skip
def test_what_messages_call_classes(source: str) -> None:
    """Python's errors name a class made in C with its module: `unhashable type: 'numpy.ndarray'`."""

    def message(np: Any) -> str:
        sub = type("sub", (np.ndarray,), {})
        names = {"np": np, "a": np.arange(3), "sub": sub}
        with pytest.raises((TypeError, AttributeError)) as raised:
            eval(source, names)
        return str(raised.value)

    assert message(lazynp) == message(numpy)
    assert lazynp.ndarray.__name__ == "ndarray" and lazynp.ufunc.__name__ == "ufunc"


def written(call: str, m: Any) -> list[str]:
    """What a call gives, which of its arguments that is, and what arrays, copies, views and results from before it are
    afterwards."""
    base = numpy.arange(9.0).reshape(3, 3)
    values = {
        "a": base + 1.25, "b": base.T * 0.5 + 1, "o": base, "p": base - 3, "q": base.astype("i4"), "r": base[0] * 2,
        "k": numpy.array([[1, 0, 1]] * 3 if "choose" in call else [1, 0, 1]), "m": base > 3, "n": base[0] > 1,
        "c": base + 1j,
    }  # fmt: skip
    arrays = {name: m.array(x) for name, x in values.items()}
    held = [
        {k: f(x) for k, x in arrays.items()} for f in (lambda x: x.copy(), lambda x: x != 0, lambda x: x[:2], m.array)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = eval(call, {"np": m, "numpy": numpy, **arrays})
            out = [repr(value), repr([k for k, x in arrays.items() if x is value])]
        except Exception as error:
            out = [f"{type(error).__name__}: {error}"]
    return [x.replace("lazynp", "numpy") for x in (*out, *[repr(x) for d in (arrays, *held) for x in d.values()])]


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("call", WRITES.split("\n")[1:-1])
def test_writes(call: str, mode: str) -> None:
    wanted = written(call, numpy)
    with config(mode=mode):
        assert written(call, lazynp) == wanted
