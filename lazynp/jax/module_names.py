"""The names of StableHLO's operations and types, by JAX's."""

from __future__ import annotations

from typing import Any

SAME = "abs add and cbrt clamp complex floor imag is_finite log logistic not or real rsqrt sign sqrt tan tanh xor"
CHLO = "acos acosh asin asinh atan atanh cosh digamma erf erf_inv erfc lgamma sinh"
ELEMENTWISE = {
    **{name: name for name in SAME.split()},
    **{name: f"chlo.{name}" for name in CHLO.split()},
    "atan2": "atan2",
    "ceil": "ceil",
    "clz": "count_leading_zeros",
    "cos": "cosine",
    "div": "divide",
    "exp": "exponential",
    "expm1": "exponential_minus_one",
    "log1p": "log_plus_one",
    "max": "maximum",
    "min": "minimum",
    "mul": "multiply",
    "neg": "negate",
    "population_count": "popcnt",
    "pow": "power",
    "rem": "remainder",
    "round": "round_nearest_even",
    "select_n": "select",
    "shift_left": "shift_left",
    "shift_right_arithmetic": "shift_right_arithmetic",
    "shift_right_logical": "shift_right_logical",
    "sin": "sine",
    "sub": "subtract",
}
"""By primitive an elementwise operation."""
COMPARED = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
REDUCED: dict[str, tuple[str, Any]] = {
    "reduce_sum": ("add", 0),
    "reduce_prod": ("multiply", 1),
    "reduce_max": ("maximum", None),
    "reduce_min": ("minimum", None),
    "reduce_and": ("and", -1),
    "reduce_or": ("or", 0),
    "reduce_xor": ("xor", 0),
}
"""By primitive what a reduction does, and what it begins with (None: the least or the largest number)."""
COLLECTIVES = {
    "all_gather": "all_gather",
    "all_gather_invariant": "all_gather",
    "all_to_all": "all_to_all",
    "axis_index": "partition_id",
    "pmax": "all_reduce",
    "pmin": "all_reduce",
    "ppermute": "collective_permute",
    "psum": "all_reduce",
    "psum_invariant": "all_reduce",
    "reduce_scatter": "reduce_scatter",
    "unreduced_psum": "all_reduce",
}
GENERAL = {
    "bitcast_convert_type": "bitcast_convert",
    "cholesky": "cholesky",
    "conv_general_dilated": "convolution",
    "expand_dims": "reshape",
    "fft": "fft",
    "gather": "gather",
    "optimization_barrier": "optimization_barrier",
    "pad": "pad",
    "reduce_precision": "reduce_precision",
    "reduce_window": "reduce_window",
    "rng_bit_generator": "rng_bit_generator",
    "scatter": "scatter",
    "scatter-add": "scatter",
    "scatter_add": "scatter",
    "scatter_max": "scatter",
    "scatter_min": "scatter",
    "scatter_mul": "scatter",
    "sort": "sort",
    "triangular_solve": "triangular_solve",
}
"""By primitive an operation that is written in the general form."""
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
