"""DEAP: individuals that are arrays (`creator.create(name, np.ndarray, ...)`) are NumPy's, as it has them."""

from __future__ import annotations

from typing import Any

import numpy

from ..numpy.array import ndarray
from .patches import Patches


def adapt(creator: Any, patches: Patches) -> None:
    theirs = creator.class_replacers.get(numpy.ndarray)
    if theirs is not None:  # else a copy of DEAP beside the program, which `python -m lazynp` has swapped
        patches.entry(creator.class_replacers, ndarray, theirs)
