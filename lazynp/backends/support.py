"""What the compiled tier can do, as plain data: read by the main process (which has no torch) and by the compiler.

Kept beside `torch/namespace.py`, whose tables it must name exactly: a test compares the two.
"""

from __future__ import annotations

import os

from lazynp.backends.kernel import Instr, KernelSpec

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
KIND = {
    "bool": "b",
    "float16": "f",
    "bfloat16": "f",
    "float32": "f",
    "float64": "f",
    "complex64": "c",
    "complex128": "c",
    **{name: name[0] for name in _INTEGERS},
}
WIDTH = {name: int(name.lstrip("uint")) for name in _INTEGERS}
ITEMSIZE = {
    "bool": 1,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
    **{name: bits // 8 for name, bits in WIDTH.items()},
}

ANY = frozenset("biuf")
NUMBER = frozenset("iuf")
INTEGER = frozenset("iu")
BITS = frozenset("biu")
FLOAT = frozenset("f")

# For each op, the kinds of loop that the real-valued table has.
REAL: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            "add",
            "multiply",
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "less",
            "less_equal",
            "greater",
            "greater_equal",
            "equal",
            "not_equal",
            "logical_and",
            "logical_or",
            "logical_xor",
            "logical_not",
            "isnan",
            "isinf",
            "isfinite",
            "absolute",
            "conjugate",
            "floor",
            "ceil",
            "trunc",
        ),
        ANY,
    ),
    **dict.fromkeys(
        (
            "subtract",
            "negative",
            "positive",
            "sign",
            "square",
            "reciprocal",
            "floor_divide",
            "remainder",
            "mod",
            "fmod",
        ),
        NUMBER,
    ),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "bitwise_not", "bitwise_count"), BITS),
    **dict.fromkeys(("left_shift", "right_shift"), INTEGER),
    **dict.fromkeys(
        (
            "divide",
            "true_divide",
            "power",
            "float_power",
            "fabs",
            "signbit",
            "copysign",
            "rint",
            "sqrt",
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "arcsin",
            "arccos",
            "arctan",
            "arcsinh",
            "arccosh",
            "arctanh",
            "arctan2",
            "hypot",
            "nextafter",
            "deg2rad",
            "radians",
            "rad2deg",
            "degrees",
            "cbrt",
            "logaddexp",
            "logaddexp2",
            "heaviside",
        ),
        FLOAT,
    ),
}
COMPLEX = frozenset(
    (
        "add",
        "subtract",
        "multiply",
        "divide",
        "true_divide",
        "negative",
        "positive",
        "conjugate",
        "absolute",
        "square",
        "reciprocal",
        "equal",
        "not_equal",
        "isnan",
        "isinf",
        "isfinite",
        "logical_and",
        "logical_or",
        "logical_xor",
        "logical_not",
        "real",
        "imag",
    )
)
REDUCTIONS = frozenset(("add", "multiply", "maximum", "minimum", "logical_and", "logical_or"))
# uint64 is carried in int64: what depends on the sign beyond order is missing.
_NO_UINT64 = frozenset(("floor_divide", "remainder", "mod", "fmod", "divmod"))
_LOW_PRECISION = ("float16", "bfloat16")


def split_complex(dtype: str) -> str:
    """The dtype of the parts."""
    return {"complex64": "float32", "complex128": "float64"}[dtype]


def compilable(spec: KernelSpec, eager: bool = False) -> str | None:
    """None, or the reason why the compiled tier (or, with `eager`, torch's eager interpreter) has no form of `spec`."""
    dtypes = [*spec.inputs, *spec.scalars]
    for dtype in dtypes:
        if reason := _dtype(dtype, eager):
            return reason
    first = len(dtypes)
    reduced: set[int] = set()
    for instr in spec.body:
        for dtype in (*instr.loop, instr.dtype):
            if reason := _dtype(dtype, eager):
                return reason
        if any(arg in reduced for arg in instr.args):
            return f"{instr.op} of a reduction's result"
        if reason := _instr(instr, [dtypes[a] for a in instr.args]):
            return reason
        if instr.op == "reduce":
            reduced.add(len(dtypes))
        dtypes.append(instr.dtype)
    return None if spec.outputs and first else "no operand"


def _dtype(dtype: str, eager: bool) -> str | None:
    if dtype not in KIND:
        return f"dtype {dtype}"
    if dtype in _LOW_PRECISION and not eager:
        return f"dtype {dtype}: Inductor keeps more precision between operations than NumPy"
    return None


def _instr(instr: Instr, sources: list[str]) -> str | None:
    op, loop = instr.op, instr.loop[0] if instr.loop else instr.dtype
    if op == "cast":
        return _cast(sources[0], instr.dtype)
    for source, target in zip(sources, instr.loop):
        if reason := _cast(source, target):
            return reason
    kind = KIND[loop]
    if op == "where":
        return None
    if op == "clip":
        return "clip of complex values" if kind == "c" else None
    if op == "power_int":
        exponent = instr.params[0]
        if kind == "c" and exponent not in (1, 2) or kind in "iu" and exponent < 0:
            return f"power_int of {loop}"
        return None
    if op == "reduce":
        if instr.params[0] not in REDUCTIONS or kind == "c" and instr.params[0] != "add":
            return f"{instr.params[0]}.reduce of {loop}"
        return None
    if op == "divmod":
        return "divmod of uint64" if loop == "uint64" else None if kind in NUMBER else f"divmod of {loop}"
    if op == "modf":
        return None if kind == "f" else f"modf of {loop}"
    if kind == "c":
        return None if op in COMPLEX else f"{op} of {loop}"
    if kind not in REAL.get(op, ()):
        return f"{op} of {loop}"
    return f"{op} of uint64" if loop == "uint64" and op in _NO_UINT64 else None


def _cast(source: str, target: str) -> str | None:
    """uint64 from and to floats rounds and saturates in ways that int64 does not."""
    if source != target and "uint64" in (source, target) and {KIND[source], KIND[target]} & {"f", "c"}:
        return f"cast from {source} to {target}"
    return None
