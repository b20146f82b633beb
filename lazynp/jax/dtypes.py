"""JAX's dtypes: promotion with weak types, 32 bits by default, and the small floats and integers of ml_dtypes.

The lattice is JAX's (docs.jax.dev, "Type promotion semantics"): a weak type, a Python scalar's, yields to any array's
dtype of its kind or of a higher one. Arrays of 64 bits exist only where `jax_enable_x64` is on; a request for one is
answered with 32 bits and a warning otherwise.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import ml_dtypes
import numpy as np

from ..notices import outside
from ..ops.promotion import COMPLEX_OF, REAL_OF
from .callers import written_by_user
from .config import flags

DType = np.dtype[Any]
Weak = type  # int, float or complex: the weak points of the lattice

INTS = {n: np.dtype(n) for n in ("int8", "int16", "int32", "int64")}
UINTS = {n: np.dtype(n) for n in ("uint8", "uint16", "uint32", "uint64")}
SMALL_INTS = {n: np.dtype(getattr(ml_dtypes, n)) for n in ("int1", "int2", "int4") if hasattr(ml_dtypes, n)}
SMALL_UINTS = {n: np.dtype(getattr(ml_dtypes, n)) for n in ("uint1", "uint2", "uint4") if hasattr(ml_dtypes, n)}
SMALL_FLOATS = {
    n: np.dtype(getattr(ml_dtypes, n))
    for n in (
        "float4_e2m1fn",
        "float6_e2m3fn",
        "float6_e3m2fn",
        "float8_e3m4",
        "float8_e4m3",
        "float8_e8m0fnu",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
    )
    if hasattr(ml_dtypes, n)
}
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
BOOL, INT32, UINT32, FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 = map(
    np.dtype, ("bool", "int32", "uint32", "float16", "float32", "float64", "complex64", "complex128")
)
FLOATS = {**SMALL_FLOATS, "bfloat16": BFLOAT16, "float16": FLOAT16, "float32": FLOAT32, "float64": FLOAT64}
COMPLEXES = {"complex64": COMPLEX64, "complex128": COMPLEX128}
KINDS: dict[str, frozenset[DType]] = {
    "bool": frozenset({BOOL}),
    "signed integer": frozenset({*SMALL_INTS.values(), *INTS.values()}),
    "unsigned integer": frozenset({*SMALL_UINTS.values(), *UINTS.values()}),
    "real floating": frozenset(FLOATS.values()),
    "complex floating": frozenset(COMPLEXES.values()),
}
KINDS["integral"] = KINDS["signed integer"] | KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] | KINDS["real floating"] | KINDS["complex floating"]
ALL = KINDS["bool"] | KINDS["numeric"]


class Kinds(dict[DType, str]):
    """By dtype; one that has no kind, as that of random keys, is refused in JAX's words."""

    def __missing__(self, dtype: Any) -> str:
        name = f"key<{dtype.names[0]}>" if isinstance(dtype, np.dtype) and dtype.names else dtype
        raise TypeError(f"Cannot interpret '{name}' as a data type")


KIND_OF = Kinds(
    {
        **{d: "b" for d in KINDS["bool"]},
        **{d: "i" for d in KINDS["signed integer"]},
        **{d: "u" for d in KINDS["unsigned integer"]},
        **{d: "f" for d in KINDS["real floating"]},
        **{d: "c" for d in KINDS["complex floating"]},
    }
)
"""The kind as JAX has it: of ml_dtypes' types NumPy says "V"."""
SHORT = {np.dtype(k): np.dtype(v) for k, v in (("int64", "int32"), ("uint64", "uint32"), ("float64", "float32"))}
SHORT[COMPLEX128] = COMPLEX64
SCALARS: dict[type, DType] = {bool: BOOL, int: np.dtype("int64"), float: FLOAT64, complex: COMPLEX128}
WEAK_OF: dict[str, Any] = {"b": BOOL, "i": int, "u": int, "f": float, "c": complex}
EXTENSIONS = frozenset(
    {*SMALL_FLOATS.values(), *SMALL_INTS.values(), *SMALL_UINTS.values(), BFLOAT16}
)  # NumPy has no arithmetic of its own on them

bfloat16 = ml_dtypes.bfloat16
float0 = np.dtype([("float0", np.void, 0)])


class extended(np.generic):
    """Class of the scalar types of extended dtypes, such as that of PRNG keys; of no instances."""


class prng_key(extended):
    """Class of the scalar types of PRNG keys' dtypes."""


class TypePromotionError(ValueError):
    """No implicit promotion exists between these dtypes."""


def x64_enabled() -> bool:
    """Whether arrays of 64 bits exist, in this thread."""
    return flags.enable_x64


def lattice(x64: bool) -> dict[Any, list[Any]]:
    """Each dtype or weak type with the next higher ones."""
    i8, i16, i32, i64 = INTS.values()
    u8, u16, u32, u64 = UINTS.values()
    none: dict[Any, list[Any]] = {d: [] for d in (*SMALL_INTS.values(), *SMALL_UINTS.values(), *SMALL_FLOATS.values())}
    return {
        **none,
        BOOL: [int],
        int: [u8, i8, *SMALL_INTS.values(), *SMALL_UINTS.values()],
        u8: [i16, u16],
        u16: [i32, u32],
        u32: [i64 if x64 else i32, u64],
        u64: [float],
        i8: [i16],
        i16: [i32],
        i32: [i64],
        i64: [float],
        float: [*SMALL_FLOATS.values(), BFLOAT16, FLOAT16, complex],
        BFLOAT16: [FLOAT32],
        FLOAT16: [FLOAT32],
        FLOAT32: [FLOAT64, COMPLEX64],
        FLOAT64: [COMPLEX128],
        complex: [COMPLEX64],
        COMPLEX64: [COMPLEX128],
        COMPLEX128: [],
    }


def upper_bounds(x64: bool) -> dict[Any, frozenset[Any]]:
    """Each point of the lattice with all that are at least as high."""
    higher = lattice(x64)
    bounds: dict[Any, set[Any]] = {}
    for point in higher:
        found, stack = {point}, [point]
        while stack:
            new = [p for p in higher[stack.pop()] if p not in found]
            found.update(new)
            stack += new
        bounds[point] = found
    return {p: frozenset(s) for p, s in bounds.items()}


def strict_bounds() -> dict[Any, frozenset[Any]]:
    """The same under jax_numpy_dtype_promotion="strict": weak types give way to others, and nothing else does.
    Weak types alone promote as always, and never get here."""
    floats = {FLOAT32, FLOAT64, BFLOAT16, FLOAT16, *SMALL_FLOATS.values()}
    complexes = {COMPLEX64, COMPLEX128}
    ints = {d for table in (INTS, UINTS, SMALL_INTS, SMALL_UINTS) for d in table.values()}
    bounds = {d: frozenset({d}) for d in (BOOL, *ints, *floats, *complexes)}
    bounds[complex] = frozenset({complex, *complexes})
    bounds[float] = frozenset({float, *floats}) | bounds[complex]
    bounds[int] = frozenset({int, *ints}) | bounds[float]
    return bounds


BOUNDS = {x64: upper_bounds(x64) for x64 in (False, True)}
STRICT = strict_bounds()


NARROW = (
    ("float8", "8-bit floats", "float32"),
    ("float6", "6-bit floats", "float32"),
    ("float4", "4-bit floats", "float32"),
    (("int1", "int2", "int4", "uint1", "uint2", "uint4"), "1-bit, 2-bit and 4-bit integers", "int32"),
)
"""Dtypes without implicit promotion: how their names begin, what they are called, what to cast them to."""


def check_real(x: Any, dtype: np.dtype[Any]) -> None:
    """Raises Python's TypeError for a complex number that is to be a real one."""
    kind = KIND_OF[dtype]
    if kind in "iuf":
        (float if kind == "f" else int)(x)


def least_upper_bound(x64: bool, points: frozenset[Any], strict: bool = False) -> Any:
    """The lowest point above all. Raises TypePromotionError where there is none."""
    bounds = STRICT if strict else BOUNDS[x64]
    try:
        common = frozenset.intersection(*[bounds[p] for p in points])
    except KeyError as error:
        raise ValueError(f"dtype={error.args[0]!r} is not a valid dtype for JAX type promotion.") from None
    for p in common:
        if common <= bounds[p]:
            return p
    names = tuple(str(p) for p in points)
    if strict:
        raise TypePromotionError(
            f"Input dtypes {names} have no available implicit dtype promotion path when "
            "jax_numpy_dtype_promotion=strict. Try explicitly casting inputs to the desired output type, or set "
            "jax_numpy_dtype_promotion=standard."
        )
    text = f"Input dtypes {names} have no available implicit dtype promotion path."
    for kind, what, example in NARROW:
        if any(isinstance(p, np.dtype) and p.name.startswith(kind) for p in points):
            raise TypePromotionError(
                f"{text} To avoid unintended promotion, {what} do not support implicit promotion. If you'd like your "
                f"inputs to be promoted to another type, you can do so explicitly using e.g. x.astype('{example}')"
            )
    raise TypePromotionError(f"{text} Try explicitly casting inputs to the desired output type.")


def promotion(x64: bool, *args: tuple[DType, bool], depth: int = 1) -> tuple[DType, bool]:
    """The common dtype of (dtype, weak) pairs, and whether it is weak. `depth`: see `callers.written_by_user`.

    Raises: TypePromotionError where there is none, under "strict" only for what the user wrote.
    """
    if flags.numpy_dtype_promotion != "strict":
        return _promotion(x64, False, *args)
    try:
        return _promotion(x64, True, *args)
    except TypePromotionError:
        if written_by_user(depth):
            raise
        return _promotion(x64, False, *args)


@functools.lru_cache(8192)
def _promotion(x64: bool, strict: bool, *args: tuple[DType, bool]) -> tuple[DType, bool]:
    dtypes = {d for d, _ in args}
    if len(args) == 1:
        return args[0][0], args[0][1] and args[0][0] != BOOL
    every_weak = all(weak for _, weak in args)
    if len(dtypes) == 1 and not every_weak:
        return args[0][0], False
    if every_weak:
        found, weak = least_upper_bound(x64, frozenset(dtypes)), True
    else:
        points = frozenset([WEAK_OF[KIND_OF[d]] if weak else d for d, weak in args])
        found = least_upper_bound(x64, points, strict)
        weak = type(found) is type
    if type(found) is type:
        found = SCALARS[found]
    dtype = default(x64, KIND_OF[found]) if weak else found
    return dtype, weak and dtype != BOOL


def default(x64: bool, kind: str) -> DType:
    """The default dtype of a kind ("b", "i", "u", "f", "c")."""
    long = {"b": BOOL, "i": np.dtype("int64"), "u": np.dtype("uint64"), "f": FLOAT64, "c": COMPLEX128}[kind]
    return long if x64 else SHORT.get(long, long)


def int_dtype() -> DType:
    """int32, or int64 where 64 bits are enabled."""
    return default(x64_enabled(), "i")


def float_dtype() -> DType:
    """float32, or float64 where 64 bits are enabled."""
    return default(x64_enabled(), "f")


def complex_dtype() -> DType:
    """complex64, or complex128 where 64 bits are enabled."""
    return default(x64_enabled(), "c")


def canonical(dtype: Any) -> DType:
    """The dtype that an array of this one has: of 32 bits unless 64 are enabled. Raises TypeError for no dtype."""
    try:
        found = record_of(dtype)
    except TypeError:
        raise TypeError(f"dtype {dtype!r} not understood") from None
    return found if x64_enabled() else SHORT.get(found, found)


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """jax.dtypes.canonicalize_dtype."""
    if allow_extended_dtype and is_extended(dtype):
        return dtype
    return canonical(dtype)


KEY_TYPES: dict[DType, Any] = {}
"""The extended dtypes by what their arrays have in the graph: records."""


def record_of(dtype: Any) -> DType:
    """The dtype in the graph of an array of this one. Raises TypeError for no dtype."""
    return np.dtype(dtype.words if is_extended(dtype) and hasattr(dtype, "words") else dtype)


def shown(dtype: DType) -> Any:
    """The dtype that users see of an array that has this one in the graph."""
    return KEY_TYPES.get(dtype, dtype)


def is_extended(dtype: Any) -> bool:
    """Whether it is an extended dtype: that of PRNG keys."""
    kind = getattr(dtype, "type", None)
    return isinstance(kind, type) and issubclass(kind, extended)


def check_dtype(dtype: DType, where: str = "") -> DType:
    """The dtype, if arrays can have it. Raises TypeError."""
    if dtype not in ALL and dtype != float0:
        text = f" in {where}" if where else ""
        raise TypeError(f"JAX only supports number, bool, and string dtypes, got dtype {dtype}{text}")
    return dtype


def requested(dtype: Any, where: str = "") -> Any:
    """The dtype for one that a user asked for: Python's types are the defaults; a warning where 64 bits are not to be
    had. Raises TypeError for what is no array's dtype."""
    if type(dtype) is type and dtype in SCALARS:
        return canonical(SCALARS[dtype])
    if is_extended(dtype):
        return dtype
    found = check_dtype(np.dtype(dtype), where)
    short = SHORT.get(found)
    if short is None or x64_enabled():
        return found
    text = f" requested in {where}" if where else ""
    warnings.warn(
        f"Explicitly requested dtype {found}{text} is not available, and will be truncated to dtype {short.name}. To "
        "enable more dtypes, set the jax_enable_x64 configuration option or the JAX_ENABLE_X64 shell environment "
        "variable. See https://github.com/jax-ml/jax#current-gotchas for more.",
        stacklevel=outside(),
    )
    return short


def dtype_and_weak(x: Any) -> tuple[DType, bool]:
    """Dtype and weakness of an array, a scalar, a dtype or a scalar type. Raises TypeError."""
    kind = type(x)
    if kind in SCALARS:
        return canonical(SCALARS[kind]), kind is not bool
    if kind is type and x in SCALARS:
        return canonical(SCALARS[x]), x is not bool
    weak = getattr(x, "weak_type", None)
    if weak is not None:
        return x.dtype, weak
    if isinstance(x, (str, np.dtype, type)):
        return requested(x, "dtype"), False
    dtype: Any = getattr(x, "dtype", None)
    if is_extended(dtype):
        return dtype, False
    if not isinstance(dtype, np.dtype):
        try:
            dtype = np.result_type(x)
        except TypeError:
            raise TypeError(f"Cannot determine dtype of {x}") from None
    if dtype not in ALL and dtype != float0:
        raise TypeError(
            f"Value '{x}' with dtype {dtype} is not a valid JAX array type. Only arrays of numeric types are "
            "supported by JAX."
        )
    return canonical(dtype), False


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that arrays, scalars and dtypes promote to; with the flag, whether it is weak too.

    Raises: ValueError without arguments; TypePromotionError where there is none.
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    x64 = x64_enabled()
    dtype, weak = promotion(x64, *[(float_dtype(), False) if a is None else dtype_and_weak(a) for a in args])
    if weak:
        dtype = default(x64, KIND_OF[dtype])
    return (dtype, weak) if return_weak_type_flag else dtype


def promote_types(a: Any, b: Any) -> DType:
    """The dtype that two dtypes promote to; Python's scalar types are weak."""
    points = frozenset([t if type(t) is type and t in (int, float, complex) else np.dtype(t) for t in (a, b)])
    x64 = x64_enabled()
    found = least_upper_bound(x64, points, flags.numpy_dtype_promotion == "strict")
    return SCALARS[found] if type(found) is type else found


can_cast = np.can_cast


def inexact(dtype: DType) -> DType:
    """The dtype in which a function of the real line computes: float32 for integers and bool, float64 for those of 64
    bits."""
    if KIND_OF[dtype] in "biu":
        return FLOAT64 if dtype.itemsize == 8 else FLOAT32
    return dtype


def real_part(dtype: DType) -> DType:
    """The dtype of the real part."""
    return REAL_OF.get(dtype, dtype)


def complex_of(dtype: DType) -> DType:
    """The complex dtype that holds this one."""
    return COMPLEX128 if inexact(dtype) in (FLOAT64, COMPLEX128) else COMPLEX_OF.get(dtype, COMPLEX64)


def issubdtype(a: Any, b: Any) -> bool:
    """numpy.issubdtype, which knows ml_dtypes' types and extended dtypes too."""
    if isinstance(b, type) and issubclass(b, extended):
        kind = a if isinstance(a, type) else getattr(a, "type", None)
        return isinstance(kind, type) and issubclass(kind, b)
    if is_extended(a) or is_extended(b):
        return a == b if is_extended(b) else b is np.generic
    x = a if isinstance(a, type) and issubclass(a, np.generic) else np.dtype(a).type
    y = b if isinstance(b, type) and issubclass(b, np.generic) else np.dtype(b).type
    dtype = None if abstract_scalar(x) else np.dtype(x)
    if dtype is not None and dtype in EXTENSIONS:
        kinds = {"f": (np.floating, np.inexact), "i": (np.signedinteger, np.integer)}
        kinds["u"] = (np.unsignedinteger, np.integer)
        return y in (x, np.number, np.generic, *kinds[KIND_OF[dtype]])
    return bool(np.issubdtype(x, y))


def abstract_scalar(kind: type) -> bool:
    """Whether it is one of the classes of NumPy's scalar hierarchy that have no instances, or an extended dtype's."""
    return kind.__module__ == "numpy" and "__new__" not in vars(kind) or issubclass(kind, extended)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind, or of one of a tuple of kinds: the array API's names, or dtypes.

    Raises: ValueError for a name that is none; TypeError for what is no kind.
    """
    found = np.dtype(dtype)
    for k in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(k, str) and k in KINDS:
            if found in KINDS[k]:
                return True
            continue
        try:
            if np.dtype(k) == found:
                return True
        except TypeError:
            if isinstance(k, str):
                names = ", ".join(map(repr, KINDS))
                raise ValueError(f"Unrecognized kind={k!r} expected one of {names}, or a compatible input") from None
            raise TypeError(f"Expected kind to be a dtype, string, or tuple; got kind={k!r}") from None
    return False


def finfo(dtype: Any) -> Any:
    """Limits of a floating dtype, of ml_dtypes' too."""
    return ml_dtypes.finfo(real_part(np.dtype(dtype)))


def iinfo(dtype: Any) -> Any:
    """Limits of an integer dtype, of ml_dtypes' too."""
    try:
        return ml_dtypes.iinfo(np.dtype(dtype))
    except TypeError:
        return ml_dtypes.iinfo(dtype)  # which says in which way it is none


def scalar_type_of(x: Any) -> type:
    """bool, int, float or complex: the kind of a value."""
    dtype, _ = dtype_and_weak(x)
    return {"b": bool, "i": int, "u": int, "f": float, "c": complex}[KIND_OF[dtype]]


def supports_inf(dtype: Any) -> bool:
    """Whether a dtype has infinities."""
    found = np.dtype(dtype)
    return KIND_OF[found] in "fc" and bool(np.isinf(np.asarray(np.inf).astype(found).astype(np.complex64)))


def itemsize_bits(dtype: Any) -> int:
    """Bits per element: less than 8 for the smallest integers."""
    found = np.dtype(dtype)
    kind = KIND_OF[found]
    if kind == "b":
        return 8
    return int(iinfo(found).bits if kind in "iu" else found.itemsize * 8 if kind == "c" else finfo(found).bits)


SHORT_NAMES = {
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "complex64": "c64",
    "complex128": "c128",
    **{f"int{n}": f"i{n}" for n in (2, 4, 8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (2, 4, 8, 16, 32, 64)},
}


def short_name(dtype: Any) -> str:
    """`f32` for float32, as types are written in jaxprs."""
    return SHORT_NAMES.get(dtype.name, dtype.name)
