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
