"""What the tests of `jax.random` compare with, and under which form of threefry."""

from __future__ import annotations

import platform
from typing import Any

import jax as oracle
import numpy as np

import lazynp.jax as jax

INTS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def ulps_apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many numbers of the dtype lie between."""

    def order(x: np.ndarray) -> np.ndarray:
        i = x.view(INTS[x.dtype.itemsize])
        return np.where(i < 0, -(i & np.iinfo(i.dtype).max).astype(np.int64), i.astype(np.int64))

    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    same = (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b))
    return np.where(same, 0, np.abs(order(a) - order(b)))


def fused(dtype: np.dtype) -> bool:
    """Whether JAX's compiler may use fused multiply-adds of float16, which round otherwise: on x86-64 `conftest`
    forbids it, for other processors it has no such setting."""
    return dtype == np.float16 and platform.machine() != "x86_64"


class Form:
    """`with Form(partitionable):` the same form of threefry for both."""

    def __init__(self, partitionable: bool) -> None:
        self.mine, self.theirs = jax.threefry_partitionable(partitionable), oracle.threefry_partitionable(partitionable)

    def __enter__(self) -> None:
        self.mine.__enter__()
        self.theirs.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.theirs.__exit__(*error)
        self.mine.__exit__(*error)
