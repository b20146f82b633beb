"""How precise products are to be: names that JAX takes. They are checked; products are in full precision anyway."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from ml_dtypes import bfloat16

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


EIGHT = [getattr(ml_dtypes, f"float8_{name}") for name in ("e4m3fn", "e5m2", "e5m2fnuz", "e4m3fnuz", "e4m3b11fnuz")]
PARTS = {"F16": np.float16, "BF16": bfloat16, "TF32": np.float32, "F32": np.float32, "F64": np.float64}


class DotAlgorithmPreset(enum.Enum):
    """Algorithms of products: accepted where JAX has them on CPUs; products are in full precision anyway."""

    DEFAULT = 1
    ANY_F8_ANY_F8_F32 = 2
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 3
    ANY_F8_ANY_F8_ANY = 4
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 5
    F16_F16_F16 = 6
    F16_F16_F32 = 7
    BF16_BF16_BF16 = 8
    BF16_BF16_F32 = 9
    BF16_BF16_F32_X3 = 10
    BF16_BF16_F32_X6 = 11
    BF16_BF16_F32_X9 = 12
    TF32_TF32_F32 = 13
    TF32_TF32_F32_X3 = 14
    F32_F32_F32 = 15
    F64_F64_F64 = 16

    @property
    def accumulation_type(self) -> Any:
        """The type in which products are added up; None where that is left open."""
        words = self.name.removesuffix("_FAST_ACCUM").split("_X")[0].split("_")
        return PARTS.get(words[-1])

    @property
    def supported_lhs_types(self) -> tuple[Any, ...] | None:
        """The types that the first operand may have; None where any will do."""
        first, _, several = self.name.partition("_X")
        if first.startswith("BF16"):
            return (np.float32,) if several else (bfloat16, np.float32)
        found = PARTS.get(first.split("_")[0])
        return None if found is None else (found,)

    @property
    def supported_rhs_types(self) -> tuple[Any, ...] | None:
        """The types that the second operand may have."""
        return self.supported_lhs_types

    def supported_output_types(self, lhs_dtype: Any, rhs_dtype: Any) -> tuple[Any, ...] | None:
        """The types that the result of operands of these types may have; None where any will do."""
        if self.name.startswith("ANY_F8_ANY_F8_F32"):
            return (np.float32, np.float16, bfloat16, *EIGHT)
        if self is DotAlgorithmPreset.F16_F16_F32 and lhs_dtype == rhs_dtype == np.float16:
            return np.float32, np.float16
        found = self.accumulation_type
        return None if found is None else (found,)

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name


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
