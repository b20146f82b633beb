"""The names of StableHLO's operations and types, by JAX's."""

from __future__ import annotations

from typing import Any

SAME = "cbrt ceil floor imag is_finite log logistic not real rsqrt sqrt tan tanh"
CHLO = "acos acosh asin asinh atan atanh bessel_i1e cosh digamma erf erf_inv erfc lgamma sinh"
UNARY = {
    **{name: name for name in SAME.split()},
    **{name: f"chlo.{name}" for name in CHLO.split()},
    "cos": "cosine",
    "exp": "exponential",
    "expm1": "exponential_minus_one",
    "fabs": "abs",
    "log1p": "log_plus_one",
    "sin": "sine",
    "random_erf": "chlo.erf",
    "random_erf_inv": "chlo.erf_inv",
    "random_exp": "exponential",
    "random_log": "log",
    "random_log1p": "log_plus_one",
}
BINARY = {
    "add": "add",
    "add_any": "add",
    "and": "and",
    "atan2": "atan2",
    "div": "divide",
    "max": "maximum",
    "min": "minimum",
    "mul": "multiply",
    "nextafter": "chlo.next_after",
    "or": "or",
    "pow": "power",
    "shift_left": "shift_left",
    "shift_right_arithmetic": "shift_right_arithmetic",
    "shift_right_logical": "shift_right_logical",
    "random_power": "power",
    "sub": "subtract",
    "xor": "xor",
    "zeta": "chlo.zeta",
    "polygamma": "chlo.polygamma",
}
"""By primitive an elementwise operation of one operand, and of two."""
COMPARED = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
REDUCED: dict[str, tuple[str, Any]] = {
    "reduce_sum": ("add", 0),
    "reduce_prod": ("multiply", 1),
    "reduce_max": ("maximum", None),
    "reduce_min": ("minimum", None),
    "reduce_and": ("and", True),
    "reduce_or": ("or", False),
    "reduce_xor": ("xor", 0),
    "bitwise_and.reduce": ("and", -1),
    "bitwise_or.reduce": ("or", 0),
    "bitwise_xor.reduce": ("xor", 0),
}
"""By primitive what a reduction does, and what it begins with (None: the least or the largest number)."""
ACCUMULATED: dict[str, tuple[str, Any]] = {
    "cumsum": ("add", 0),
    "cumprod": ("multiply", 1),
    "cummax": ("maximum", None),
    "cummin": ("minimum", None),
}
"""The same of cumulative operations."""
SCALARS = {
    "bool": "i1",
    "bfloat16": "bf16",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    **{f"float{n}": f"f{n}" for n in (16, 32, 64)},
    **{f"int{n}": f"i{n}" for n in (2, 4, 8, 16, 32, 64)},
    **{f"uint{n}": f"ui{n}" for n in (2, 4, 8, 16, 32, 64)},
    **{
        f"float8_{kind}": f"f8{kind.upper()}"
        for kind in ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")
    },
}
"""By name of a dtype the type of an element."""
