"""How precise products are to be: names that JAX takes. They are checked; products are in full precision anyway."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import numpy as np

from .dtypes import KIND_OF

ALIASES = {
    None: "DEFAULT",
    "default": "DEFAULT",
    "fastest": "DEFAULT",
    "bfloat16": "DEFAULT",
    "high": "HIGH",
    "bfloat16_3x": "HIGH",
    "tensorfloat32": "HIGH",
    "highest": "HIGHEST",
    "float32": "HIGHEST",
}


class Precision(enum.Enum):
    """How precise a product is to be: accepted everywhere; products are in full precision anyway."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: Any) -> Precision | None:
        return cls[ALIASES[value]] if isinstance(value, str | None) and value in ALIASES else None

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


class DotAlgorithmPreset(enum.Enum):
    """Algorithms of products: accepted where JAX has them on CPUs; products are in full precision anyway."""

    DEFAULT = 0
    ANY_F8_ANY_F8_F32 = 1
    F16_F16_F16 = 2
    F16_F16_F32 = 3
    BF16_BF16_BF16 = 4
    BF16_BF16_F32 = 5
    BF16_BF16_F32_X3 = 6
    BF16_BF16_F32_X6 = 7
    TF32_TF32_F32 = 8
    TF32_TF32_F32_X3 = 9
    F32_F32_F32 = 10
    F64_F64_F64 = 11


class DotAlgorithm(NamedTuple):
    """How a product is to be computed, in the words of accelerators."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


SINGLE = ("DEFAULT", "F16_F16_F16", "F32_F32_F32", "F64_F64_F64", "BF16_BF16_F32")
ON_CPUS = {DotAlgorithmPreset[name] for name in (*SINGLE, "BF16_BF16_F32_X3", "BF16_BF16_F32_X6")}


NARROWER = (
    "`preferred_element_type` must not be narrower than the original type, got preferred_element_type of {} for result "
    "type of {}."
)


def check_preferred(own: np.dtype[Any], new: np.dtype[Any] | None) -> None:
    """Raise TypeError for a dtype of a convolution's result that does not fit that of the operands."""
    if new is None or own.kind == "b":
        return
    a, b = KIND_OF[own], KIND_OF[new]
    if not (a in "iu" and b == "f" or a in "iu" and b in "iu" or a == b):
        raise TypeError(
            "Input type is incompatible with `preferred_element_type`. The compatible combinations of (input_type, "
            "preferred_element_type) are (integral, integral), (integral, floating), (floating, floating), (complex, "
            "complex."
        )
    if a == "i" and b == "u":
        raise TypeError("`preferred_element_type` must have the same signedness as the original type.")
    if new.itemsize < own.itemsize:
        raise TypeError(NARROWER.format(new.name, own.name))


def check_precision(precision: Any) -> None:
    """Raises ValueError for what names no precision, and for an algorithm that CPUs do not have."""
    if precision is None or isinstance(precision, Precision):
        return
    if isinstance(precision, str):
        if precision in ALIASES:
            return
        precision = DotAlgorithmPreset.__members__.get(precision, precision)
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        if precision not in ON_CPUS:
            raise ValueError(f"The precision '{precision}' is not supported by dot_general on CPU")
        return
    if isinstance(precision, (list, tuple)) and len(precision) == 2:
        if all([isinstance(p, Precision) for p in precision]):
            return
        if all([isinstance(p, str) and p in ALIASES for p in precision]):
            return
    raise ValueError(
        f"Precision argument must be one of: None, a string in {[x for x in ALIASES if x]}, a lax.Precision, two of "
        f"them, a lax.DotAlgorithmPreset or its name, or a lax.DotAlgorithm; got {precision!r}"
    )
