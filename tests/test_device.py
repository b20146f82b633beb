"""Segments on a device: what the host gives, up to rounding; what is on the device stays there; nothing is lost.

All runs on the device "torch", which is torch's operations in main memory, and on a GPU where there is one.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import runs
from op_cases import Case
from programs import Generator
from test_rules import CASES, as_list, constant, rng_of

import lazynp
from lazynp.backends.numpy.evaluate import evaluate
from lazynp.config import config
from lazynp.graph.node import Node, on_host
from lazynp.graph.op import current
from lazynp.ops import contraction, creation, elementwise, fft, indexing, joining, reductions, scans, shape, sorting
from lazynp.runtime.device import DeviceBuffer
from lazynp.runtime.profile import profile as counters
from lazynp.runtime.recorder import recorder

torch = pytest.importorskip("torch")
CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch.cuda.is_available() is False")
DEVICES = ("torch", pytest.param("cuda", marks=CUDA))
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Any:
    """All that is recorded runs on the device."""
    with config(device=request.param, mode="graph"):
        yield request.param


def close(ours: Any, theirs: Any) -> None:
    """One dtype and shape; whole numbers equal, others up to rounding."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if theirs.dtype.kind not in "fcV":
        np.testing.assert_array_equal(ours, theirs)
        return
    eps = float(np.finfo(theirs.dtype).eps) if theirs.dtype.kind != "V" else 2.0**-7
    wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(ours.astype(wide), theirs.astype(wide), rtol=500 * eps, atol=500 * eps)


def value_of(node: Node) -> Any:
    recorder.demand(node)
    return on_host(node.buffer)


def everywhere(build: Any, arrays: Any) -> tuple[list[Any], list[Any]]:
    """What a graph gives on the device, and on the host."""
    with config(device="cpu"):
        wanted = evaluate(as_list(build(*[constant(x) for x in arrays])))
    outputs = as_list(build(*[constant(x) for x in arrays]))
    got = [value_of(n) if n.value is None else n.value for n in outputs]
    return got, wanted


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_op(case: Case, device: str) -> None:
    got, wanted = everywhere(case.build, case.make(rng_of(case)))
    for ours, theirs in zip(got, wanted, strict=True):
        close(ours, theirs)


DTYPES = tuple(dict.fromkeys(np.dtype(c) for c in "?bhilqBHILQefdFD")) + (np.dtype(ml_dtypes.bfloat16),)


def sample(dtype: Any, *dims: int) -> np.ndarray:
    """Small positive numbers, exact in every dtype."""
    return (np.arange(int(np.prod(dims))).reshape(dims) * 5 % 7 + 1).astype(dtype)


def agree(build: Any, *arrays: Any) -> None:
    """Device and host give the same, or NumPy has no such operation."""
    try:
        with config(device="cpu"):
            build(*[constant(x) for x in arrays])
    except TypeError:
        return
    got, wanted = everywhere(build, arrays)
    for ours, theirs in zip(got, wanted, strict=True):
        close(ours, theirs)


@pytest.mark.parametrize("name", elementwise.UFUNCS)
def test_ufuncs_over_dtypes(name: str, device: str) -> None:
    op, n = elementwise.ufuncs[name], getattr(np, name).nin
    for dtype in DTYPES:
        agree(op, *[sample(dtype, *((2, 1), (3,))[i]) for i in range(n)])
        if n == 2:
            agree(op, sample(dtype, 3), sample(np.int8, 3))
            agree(lambda x: op(x, 2), sample(dtype, 3))


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "bitwise_or"])
def test_reductions_and_scans_over_dtypes(name: str, device: str) -> None:
    reduce, scan = reductions.reductions[name], scans.scans[name]
    for dtype in DTYPES:
        x = sample(dtype, 2, 3, 2)
        for axes, keepdims in (((0,), False), ((1, 2), True), ((0, 1, 2), False), ((), False)):
            agree(lambda x: reduce(x, axes=axes, keepdims=keepdims, dtype=None), x)
            if dtype.kind != "V":
                agree(lambda x: reduce(elementwise.ufuncs["maximum"](x, x), axes=axes, keepdims=keepdims, dtype=None), x)
        agree(lambda x: scan(x, axis=1, dtype=None), x)
        if name in ("add", "multiply"):
            agree(lambda x: reduce(x, axes=(1,), keepdims=False, dtype=np.dtype(np.float32)), x)
            agree(lambda x: scan(x, axis=0, dtype=np.dtype(np.float64)), x)


def test_libraries_over_dtypes(device: str) -> None:
    place, at = constant(np.array([2, -1, 0, 2])), dict(axes=(1,), at=1, bounds="raise")
    for dtype in DTYPES:
        x = sample(dtype, 2, 3)
        agree(lambda x: joining.concatenate(x, x, axis=1), x)
        agree(lambda x, y: joining.concatenate(x, y, axis=0), x, sample(np.int16, 2, 3))
        agree(lambda x: joining.roll(x, axes=(0, 1), shifts=(1, 5)), x)
        agree(lambda x: joining.flip(x, (1,)), x)
        agree(lambda x: indexing.gather(x, place, **at), x)
        for mode in ("set", "add"):
            agree(lambda x, v: indexing.scatter(x, v, place, **at, mode=mode), x, sample(dtype, 2, 4))
        agree(lambda x: shape.set_(x, dtype.type(3), key=((1, 1, 1), (2, 2, -2))), x)
        agree(lambda x: creation.tri(3, 4, 1, dtype), x)
        agree(lambda x: creation.eye(3, 4, -1, dtype), x)
        agree(lambda x: creation.iota(2, dtype), x)
        for other in (dtype, np.dtype(np.float32)):
            agree(contraction.matmul, x, sample(other, 3, 2))
        if dtype.kind in "biufc":
            agree(lambda x: sorting.sort(x, axis=1, kind=None), x)
            agree(lambda x: sorting.argsort(x, axis=1, kind="stable"), x)
            agree(lambda a, v: sorting.searchsorted(a, v, side="right", stack=0), np.sort(x[0]), x[1])
            agree(lambda x: reductions.argmax(x, axis=1, keepdims=False), x)
            agree(lambda x: reductions.argmin(x, axis=0, keepdims=True), x)
            agree(lambda x: fft.fft(x, axis=1, norm="backward", n=4), x)
            agree(lambda x: fft.irfft(x, axis=0, norm="ortho", n=3), x)
        for other in DTYPES:
            agree(lambda x: elementwise.convert(x, other), x)
    for start, stop, step in ((0, 10, 3), (0.1, 2.0, 0.1), (5, -2, -1), (1.0, 1e3, 0.7)):
        like = np.arange(start, stop, step)
        agree(lambda x: creation.arange(dtype=like.dtype, start=start, step=step, n=len(like)), like)
