"""Calls of one function under JAX and under lazynp, compared: values, dtypes, errors, and gradients."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import jax
import numpy as np
from agreement import close, disagreement, leaves_of, outcome

import lazynp.jax

MODULES = {"jax": jax, "lazynp": lazynp.jax}


def found(lib: str, path: str) -> Any:
    """`nn.relu` of one library; its modules need not be imported."""
    parent, _, name = path.rpartition(".")
    root = "jax" if lib == "jax" else "lazynp.jax"
    try:
        return getattr(importlib.import_module(f"{root}.{parent}"), name)
    except ModuleNotFoundError:  # a distribution is no module
        holder, _, inner = parent.rpartition(".")
        return getattr(getattr(importlib.import_module(f"{root}.{holder}"), inner), name)


def made(lib: str, x: Any) -> Any:
    """NumPy arrays as arrays of the library, in tuples and lists too; all else as it is."""
    if isinstance(x, np.ndarray):
        return MODULES[lib].numpy.asarray(x)
    return type(x)([made(lib, v) for v in x]) if isinstance(x, (tuple, list)) else x


def run(lib: str, path: str, args: tuple, parameters: dict) -> Any:
    f = found(lib, path)
    keywords = {k: made(lib, v) for k, v in parameters.items()}
    return f(*[made(lib, a) for a in args], **keywords)


def same_call(path: str, *args: Any, factor: float | None = None, **parameters: Any) -> None:
    """Both libraries come to the same for these arguments; `factor` is of the tolerance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = outcome(lambda: run("jax", path, args, parameters))
        ours = outcome(lambda: run("lazynp", path, args, parameters))
    wrong = disagreement(path, theirs, ours, factor)
    assert wrong is None, f"{path}{args}{parameters or ''}: {wrong}"


def gradient(lib: str, path: str, args: tuple, at: int, parameters: dict) -> np.ndarray:
    """The gradient along one argument of a weighted sum of all results' real parts."""
    side = MODULES[lib]

    def weighted(leaf: Any) -> Any:
        weights = 1 + np.arange(np.size(leaf)).reshape(np.shape(leaf)) % 7 / np.float32(8)
        return side.numpy.sum(side.numpy.real(leaf) * weights)

    def total(x: Any) -> Any:
        before, after = ([made(lib, a) for a in part] for part in (args[:at], args[at + 1 :]))
        out = found(lib, path)(*before, x, *after, **parameters)
        return sum(weighted(leaf) for leaf in leaves_of(out))

    return np.asarray(side.grad(total)(made(lib, args[at])))


def same_gradient(path: str, *args: Any, along: tuple[int, ...] = (0,), factor: float = 50, **parameters: Any) -> None:
    """The gradients agree."""
    for at in along:
        wanted = gradient("jax", path, args, at, parameters)
        got = gradient("lazynp", path, args, at, parameters)
        assert wanted.dtype == got.dtype and wanted.shape == got.shape
        assert close(wanted, got, factor), f"{path}{args}, gradient along {at}: {got}, not {wanted}"
