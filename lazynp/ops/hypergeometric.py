"""The hypergeometric function 2F1: SciPy's, which is loaded when it is computed."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.op import LIBRARY, Op
from .family import map_batch
from .promotion import broadcast


@functools.cache
def scipy_special() -> Any:
    return importlib.import_module("scipy.special")


def hyp2f1_lower(xp: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
    wide = [np.asarray(v, np.float64) for v in (a, b, c, x)]
    with np.errstate(all="ignore"):
        return np.asarray(scipy_special().hyp2f1(*wide)).astype(x.dtype)


hyp2f1 = Op(
    "hyp2f1",
    LIBRARY,
    lambda a, b, c, x: Aval(broadcast(a.shape, b.shape, c.shape, x.shape), x.dtype, x.weak),
    hyp2f1_lower,
    doc="2F1(a, b; c; x), of real arguments of one dtype.",
)
hyp2f1.batch = map_batch(hyp2f1)
