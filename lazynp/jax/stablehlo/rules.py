"""How primitives are written in StableHLO: elementwise operations, shapes, reductions and cumulative ones.

Operands are broadcast as NumPy does, and cast where their dtypes differ, since our operations do both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..jaxpr_types import JaxprEqn
from .builder import Builder, Rule, Rules, Value, array, form, matrix
from .names import ACCUMULATED, BINARY, COMPARED, REDUCED, UNARY

RULES = Rules()


def unsigned(dtype: Any) -> bool:
    return np.dtype(dtype).kind in "ub"


def alike(b: Builder, eqn: JaxprEqn, *xs: Value, dtype: Any = None) -> list[Value]:
    """The operands of an elementwise operation, of the result's shape and of one dtype: the result's, or `dtype`."""
    shape, result = form(eqn.outvars[0].aval)
    return [b.widened(b.convert(x, result if dtype is None else dtype), shape) for x in xs]


def common(xs: Sequence[Value]) -> Any:
    """The dtype that operands are compared in."""
    dtypes = {x.dtype for x in xs}
    return dtypes.pop() if len(dtypes) == 1 else np.result_type(*dtypes)


def compared(b: Builder, word: str, x: Value, y: Value) -> Value:
    """A comparison; of complex numbers by their real parts, and then by the others."""
    if x.dtype.kind != "c" or word in ("EQ", "NE"):
        return b.compare(word, x, y)
    real, imag = [[b.unary(part, v) for v in (x, y)] for part in ("real", "imag")]
    tie = b.binary("and", b.compare("EQ", real[0], real[1]), b.compare(word, imag[0], imag[1]))
    return b.binary("or", b.compare(word[0] + "T", real[0], real[1]), tie)


def combined(b: Builder, word: str, x: Value, y: Value) -> Value:
    """An operation of two; the extreme of complex numbers as they are compared."""
    if x.dtype.kind != "c" or word not in ("maximum", "minimum"):
        return b.binary(word, x, y)
    first = b.binary("or", compared(b, "GT" if word == "maximum" else "LT", x, y), b.compare("NE", x, x))
    return b.select(first, x, y)


def elementwise(b: Builder, eqn: JaxprEqn, *xs: Value) -> Value:
    """An operation that StableHLO has under another name, or the same."""
    name = eqn.primitive.name
    if name in COMPARED:
        return compared(b, COMPARED[name], *alike(b, eqn, *xs, dtype=common(xs)))
    if name in BINARY:
        return combined(b, BINARY[name], *alike(b, eqn, *xs))
    _, dtype = form(eqn.outvars[0].aval)
    x = xs[0]
    if dtype.kind == "b" and name == "not" or x.dtype.kind not in "fcV" and dtype.kind in "fcV":
        x = b.convert(x, dtype)
    return b.convert(b.unary(UNARY[name], x), dtype)


RULES.update(dict.fromkeys([*COMPARED, *BINARY, *UNARY], elementwise))


@RULES("abs", "sign", "neg", "positive")
def signs(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    name = eqn.primitive.name
    if name == "positive" or name == "abs" and unsigned(x.dtype):
        return x
    if name == "sign" and unsigned(x.dtype):
        return b.convert(b.convert(x, bool), x.dtype)
    return b.unary({"abs": "abs", "sign": "sign", "neg": "negate"}[name], x)


@RULES("conj")
def conjugate(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    if x.dtype.kind != "c":
        return x
    real, imag = b.unary("real", x), b.unary("negate", b.unary("imag", x))
    return b.binary("complex", real, imag)


@RULES("complex")
def complexes(b: Builder, eqn: JaxprEqn, x: Value, y: Value) -> Value:
    _, dtype = form(eqn.outvars[0].aval)
    x, y = alike(b, eqn, x, y, dtype=f"f{dtype.itemsize // 2}")
    return b.binary("complex", x, y)


@RULES("real", "imag")
def parts(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    if x.dtype.kind == "c":
        return b.unary(eqn.primitive.name, x)
    return x if eqn.primitive.name == "real" else b.full(0, x)


@RULES("square")
def square(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    return b.binary("multiply", x, x)


@RULES("integer_pow")
def integer_power(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    """By squares."""
    power, out = abs(eqn.params["y"]), None
    base = x
    while power:
        if power & 1:
            out = base if out is None else b.binary("multiply", out, base)
        power >>= 1
        base = b.binary("multiply", base, base) if power else base
    out = b.full(1, x) if out is None else out
    return b.binary("divide", b.full(1, x), out) if eqn.params["y"] < 0 else out


def scaled(word: str, before: float = 1.0, after: float = 1.0) -> Rule:
    """An operation between products with numbers."""

    def write(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
        (x,) = alike(b, eqn, x)
        x = x if before == 1.0 else b.binary("multiply", x, b.full(before, x))
        x = b.unary(word, x) if word else x
        return x if after == 1.0 else b.binary("multiply", x, b.full(after, x))

    return write


RULES.update(
    exp2=scaled("exponential", before=math.log(2.0)),
    log2=scaled("log", after=1.0 / math.log(2.0)),
    log10=scaled("log", after=1.0 / math.log(10.0)),
    deg2rad=scaled("", after=math.pi / 180.0),
    radians=scaled("", after=math.pi / 180.0),
    rad2deg=scaled("", after=180.0 / math.pi),
    degrees=scaled("", after=180.0 / math.pi),
)


@RULES("reciprocal")
def reciprocal(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    return b.binary("divide", b.full(1, x), x)


@RULES("round")
def rounded(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    away = int(eqn.params.get("rounding_method", 1)) == 0
    return x if x.dtype.kind in "iub" else b.unary("round_nearest_afz" if away else "round_nearest_even", x)


@RULES("trunc")
def truncated(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    if x.dtype.kind in "iub":
        return x
    return b.select(b.compare("LT", x, b.full(0, x)), b.unary("ceil", x), b.unary("floor", x))


@RULES("isnan", "isinf")
def special(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    if x.dtype.kind in "iub":
        return b.compare("NE", x, x)
    if x.dtype.kind == "c":
        real, imag = [special(b, eqn, b.unary(word, x)) for word in ("real", "imag")]
        return b.binary("or", real, imag)
    if eqn.primitive.name == "isnan":
        return b.compare("NE", x, x)
    return b.compare("EQ", b.unary("abs", x), b.full(np.inf, x))


@RULES("is_finite")
def finite(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    if x.dtype.kind in "iub":
        return b.compare("EQ", x, x)
    if x.dtype.kind == "c":
        return b.binary("and", *[finite(b, eqn, b.unary(word, x)) for word in ("real", "imag")])
    return b.unary("is_finite", x)


@RULES("signbit")
def sign_bit(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    if x.dtype.kind not in "fV":
        return b.compare("LT", x, b.full(0, x))
    whole = np.dtype(f"i{x.dtype.itemsize}")
    bits = b.short(f"stablehlo.bitcast_convert {x.name}", [x], x.shape, whole)
    return b.compare("LT", bits, b.full(0, bits))


@RULES("copysign")
def copied_sign(b: Builder, eqn: JaxprEqn, x: Value, y: Value) -> Value:
    x, y = alike(b, eqn, x, y)
    size = b.unary("abs", x)
    return b.select(sign_bit(b, eqn, y), b.unary("negate", size), size)


@RULES("floor_divide", "remainder", "rem")
def divided(b: Builder, eqn: JaxprEqn, x: Value, y: Value) -> Value:
    """The rest has the sign of the divisor, and in `rem` that of what is divided."""
    x, y = alike(b, eqn, x, y)
    rest = b.binary("remainder", x, y)
    if eqn.primitive.name == "rem":
        return rest
    zero = b.full(0, x)
    if eqn.primitive.name == "remainder":
        if unsigned(x.dtype):
            return rest
        apart = b.compare("NE", b.compare("LT", rest, zero), b.compare("LT", y, zero))
        apart = b.binary("and", apart, b.compare("NE", rest, zero))
        return b.select(apart, b.binary("add", rest, y), rest)
    if x.dtype.kind in "fV":
        return b.unary("floor", b.binary("divide", x, y))
    found = b.binary("divide", x, y)
    if unsigned(x.dtype):
        return found
    apart = b.compare("NE", b.compare("LT", x, zero), b.compare("LT", y, zero))
    apart = b.binary("and", apart, b.compare("NE", rest, zero))
    return b.select(apart, b.binary("subtract", found, b.full(1, x)), found)


@RULES("logaddexp", "logaddexp2", "hypot", "fmax", "fmin", "heaviside", "float_power", "logical_xor")
def of_two(b: Builder, eqn: JaxprEqn, x: Value, y: Value) -> Value:
    """What StableHLO has no operation for."""
    x, y = alike(b, eqn, x, y)
    name = eqn.primitive.name
    if name.startswith("logaddexp"):
        return log_sum(b, x, y, 2.0 if name.endswith("2") else math.e)
    if name == "hypot":
        return b.unary("sqrt", b.binary("add", b.binary("multiply", x, x), b.binary("multiply", y, y)))
    if name == "heaviside":
        step = b.select(b.compare("LT", x, b.full(0, x)), b.full(0, x), b.full(1, x))
        step = b.select(b.compare("EQ", x, b.full(0, x)), y, step)
        return b.select(b.compare("NE", x, x), x, step)
    if name in ("fmax", "fmin"):
        found = b.binary("maximum" if name == "fmax" else "minimum", x, y)
        return b.select(b.compare("NE", x, x), y, b.select(b.compare("NE", y, y), x, found))
    return b.binary("power" if name == "float_power" else "xor", x, y)


def log_sum(b: Builder, x: Value, y: Value, base: float) -> Value:
    """log(base^x + base^y)."""
    most, least = b.binary("maximum", x, y), b.binary("minimum", x, y)
    scale = math.log(base)
    apart = b.binary("subtract", least, most)
    apart = apart if scale == 1.0 else b.binary("multiply", apart, b.full(scale, x))
    more = b.unary("log_plus_one", b.unary("exponential", apart))
    more = more if scale == 1.0 else b.binary("multiply", more, b.full(1.0 / scale, x))
    found = b.binary("add", most, more)
    if x.dtype.kind == "c":
        return found
    return b.select(b.compare("EQ", x, y), b.binary("add", x, b.full(math.log(2.0) / scale, x)), found)


@RULES("clamp")
def clamped(b: Builder, eqn: JaxprEqn, low: Value, x: Value, high: Value) -> Value:
    low, x, high = alike(b, eqn, low, x, high)
    return b.line(f"stablehlo.clamp {low.name}, {x.name}, {high.name}", x.type, x.shape, x.dtype)


@RULES("select_n")
def selected(b: Builder, eqn: JaxprEqn, which: Value, *cases: Value) -> Value:
    if len(cases) != 2:
        raise NotImplementedError("a choice among so many")
    other, this = alike(b, eqn, *cases)
    return b.select(b.broadcast(b.convert(which, bool), this.shape), this, other)


@RULES("population_count", "clz")
def bits_counted(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    _, dtype = form(eqn.outvars[0].aval)
    return b.convert(b.unary("popcnt" if eqn.primitive.name == "population_count" else "count_leading_zeros", x), dtype)


@RULES("convert_element_type", "weak_cast")
def cast(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    shape, dtype = form(eqn.outvars[0].aval)
    if x.dtype == dtype:
        return b.short(f"stablehlo.convert {x.name}", [x], shape, dtype) if eqn.primitive.name != "weak_cast" else x
    return b.convert(x, dtype)


@RULES("bitcast_convert_type")
def bits_taken(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    shape, dtype = form(eqn.outvars[0].aval)
    if dtype.kind == "c":
        raise NotImplementedError("bits of complex numbers")
    if "b" in (x.dtype.kind, dtype.kind):  # a truth value has 8 bits here, and one there
        if x.dtype.itemsize != dtype.itemsize:
            raise NotImplementedError("bits of several truth values")
        x = b.convert(x, np.uint8) if x.dtype.kind == "b" else x
        to = np.dtype(np.uint8) if dtype.kind == "b" else dtype
        x = x if x.dtype == to else b.short(f"stablehlo.bitcast_convert {x.name}", [x], x.shape, to)
        return b.convert(x, dtype)
    if x.dtype.kind == "c":
        parts = [b.unary(word, x) for word in ("real", "imag")]
        x = b.concatenate([b.reshape(part, (*part.shape, 1)) for part in parts], x.ndim)
        if dtype.itemsize != x.dtype.itemsize:
            raise NotImplementedError("bits of complex numbers")
        return b.reshape(b.short(f"stablehlo.bitcast_convert {x.name}", [x], x.shape, dtype), shape)
    return b.short(f"stablehlo.bitcast_convert {x.name}", [x], shape, dtype)


@RULES("reduce_precision")
def less_precise(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    p = eqn.params
    exponent, mantissa = p.get("exponent_bits", p.get("exponent")), p.get("mantissa_bits", p.get("mantissa"))
    return b.line(f"stablehlo.reduce_precision {x.name}, format = e{exponent}m{mantissa}", x.type, x.shape, x.dtype)


@RULES("copy", "copy_p", "stop_gradient", "pvary", "name", "device_put", "optimization_barrier", "alias")
def passed(b: Builder, eqn: JaxprEqn, *xs: Value) -> list[Value]:
    if eqn.primitive.name != "optimization_barrier":
        return list(xs)
    return b.general("stablehlo.optimization_barrier", xs, [(x.shape, x.dtype) for x in xs])


# Shapes


@RULES("reshape", "squeeze", "expand_dims")
def reshaped(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    return b.reshape(x, form(eqn.outvars[0].aval)[0])


@RULES("transpose")
def transposed(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    axes = [int(a) for a in eqn.params["permutation"]]
    return b.transpose(x, [*axes, *range(len(axes), x.ndim)])


@RULES("broadcast_in_dim")
def broadcasted(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    shape, _ = form(eqn.outvars[0].aval)
    dims = list(map(int, eqn.params["broadcast_dimensions"]))
    return b.broadcast(x, shape, [*dims, *range(len(shape) - x.ndim + len(dims), len(shape))])


@RULES("rev")
def turned(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    return b.reverse(x, [int(a) for a in eqn.params["dimensions"]])


@RULES("slice")
def sliced(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    p = eqn.params
    rest = x.shape[len(p["start_indices"]) :]
    steps = p["strides"] or (1,) * len(p["start_indices"])
    starts, limits = [
        [*map(min, places, x.shape), *more]
        for places, more in ((p["start_indices"], [0] * len(rest)), (p["limit_indices"], rest))
    ]
    return b.slice(x, starts, limits, [*steps, *[1] * len(rest)])


@RULES("concatenate")
def joined(b: Builder, eqn: JaxprEqn, *xs: Value) -> Value:
    _, dtype = form(eqn.outvars[0].aval)
    return b.concatenate([b.convert(x, dtype) for x in xs], int(eqn.params["dimension"]))


@RULES("dynamic_slice")
def slice_at(b: Builder, eqn: JaxprEqn, x: Value, *starts: Value) -> Value:
    starts = same_index(b, starts, x)
    sizes = [*map(int, eqn.params["slice_sizes"]), *x.shape[len(eqn.params["slice_sizes"]) :]]
    names = ", ".join([v.name for v in (x, *starts)])
    return b.short(f"stablehlo.dynamic_slice {names}, sizes = {sizes}", [x, *starts], sizes, x.dtype)


@RULES("dynamic_update_slice")
def update_at(b: Builder, eqn: JaxprEqn, x: Value, update: Value, *starts: Value) -> Value:
    starts = same_index(b, starts, x)
    xs = [x, b.convert(update, x.dtype), *starts]
    return b.short(f"stablehlo.dynamic_update_slice {', '.join([v.name for v in xs])}", xs, x.shape, x.dtype)


def same_index(b: Builder, starts: Sequence[Value], x: Value) -> tuple[Value, ...]:
    """Places of one dtype, one for each axis: keys have one more axis here."""
    dtype = common(starts) if starts else np.dtype(np.int32)
    made = [b.convert(s, dtype) for s in starts]
    return (*made, *[b.constant(0, dtype) for _ in range(x.ndim - len(made))])


@RULES("iota", "arange")
def counted(b: Builder, eqn: JaxprEqn) -> Value:
    shape, dtype = form(eqn.outvars[0].aval)
    p = eqn.params
    out = b.iota(int(p.get("dimension", 0)), shape, dtype)
    if p.get("step", 1) != 1:
        out = b.binary("multiply", out, b.full(p["step"], out))
    return out if p.get("start", 0) == 0 else b.binary("add", out, b.full(p["start"], out))


@RULES("eye", "tri")
def diagonal(b: Builder, eqn: JaxprEqn) -> Value:
    shape, dtype = form(eqn.outvars[0].aval)
    row, column = b.iota(0, shape, np.int32), b.iota(1, shape, np.int32)
    row = b.binary("add", row, b.full(int(eqn.params["k"]), row))
    return b.convert(b.compare("EQ" if eqn.primitive.name == "eye" else "GE", row, column), dtype)


@RULES("roll")
def rolled(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    for axis, shift in zip(eqn.params["axes"], eqn.params["shifts"]):
        n = x.shape[axis]
        shift = shift % n if n else 0
        if shift:
            x = b.concatenate([b.part(x, axis, n - shift, n), b.part(x, axis, 0, n - shift)], axis)
    return x


# Reductions


def reduced(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    word, start = REDUCED[eqn.primitive.name]
    shape, dtype = form(eqn.outvars[0].aval)
    x = b.convert(x, dtype)
    first = start if start is not None else extreme(dtype, word == "minimum")
    axes = [int(a) for a in eqn.params["axes"]]
    if dtype.kind != "c" or word not in ("maximum", "minimum"):
        return b.reshape(b.reduce(word, x, first, axes), shape)
    region = b.region([dtype] * 2, lambda v, w: [combined(b, word, v, w)])
    rest = [n for a, n in enumerate(x.shape) if a not in axes]
    operands, said = [x, b.constant(first, dtype)], f"dimensions = {array(axes)}"
    return b.reshape(b.general("stablehlo.reduce", operands, [(rest, dtype)], said, [region])[0], shape)


RULES.update(dict.fromkeys(REDUCED, reduced))


def extreme(dtype: np.dtype[Any], high: bool) -> Any:
    """What a maximum, or a minimum, begins with."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if high else np.iinfo(dtype).min
    if dtype.kind == "c":
        return complex(np.inf, np.inf) if high else complex(-np.inf, -np.inf)
    return high if dtype.kind == "b" else np.inf if high else -np.inf


@RULES("argmax", "argmin")
def extreme_at(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    """The first place of the extreme, or of what is no number: a reduction of values together with their places."""
    shape, dtype = form(eqn.outvars[0].aval)
    most = eqn.primitive.name == "argmax"
    axis = int(eqn.params["axis"] if "axis" in eqn.params else eqn.params["axes"][0])
    at = b.iota(axis, x.shape, dtype)
    firsts = [b.constant(extreme(x.dtype, not most), x.dtype), b.constant(0, dtype)]

    def better(v: Value, w: Value, i: Value, j: Value) -> list[Value]:
        first = compared(b, "GT" if most else "LT", v, w)
        if x.dtype.kind in "fcV":
            first = b.binary("or", first, b.compare("NE", v, v))
        tie = b.binary("and", b.compare("EQ", v, w), b.compare("LT", i, j))
        return [b.select(first, v, w), b.select(b.binary("or", first, tie), i, j)]

    region = b.region([x.dtype, dtype, x.dtype, dtype], lambda v, i, w, j: better(v, w, i, j))
    rest = [n for a, n in enumerate(x.shape) if a != axis]
    results = [(rest, x.dtype), (rest, dtype)]
    found = b.general("stablehlo.reduce", [x, at, *firsts], results, f"dimensions = {array([axis])}", [region])
    return b.reshape(found[1], shape)


@RULES(*ACCUMULATED, "logaddexp.accumulate", "cumlogsumexp")
def accumulated(b: Builder, eqn: JaxprEqn, x: Value) -> Value:
    """Cumulative operations: windows that end, or begin, at each element."""
    _, dtype = form(eqn.outvars[0].aval)
    x, axis = b.convert(x, dtype), int(eqn.params["axis"])
    if not x.shape[axis]:
        return x
    word, start = ACCUMULATED.get(eqn.primitive.name, ("", None))
    first = b.constant(extreme(dtype, word == "minimum") if start is None else start, dtype)
    n = x.shape[axis]
    region = b.region([dtype, dtype], lambda v, w: [combined(b, word, v, w) if word else log_sum(b, v, w, math.e)])
    window = [n if a == axis else 1 for a in range(x.ndim)]
    before, after = (0, n - 1) if eqn.params.get("reverse") else (n - 1, 0)
    padding = matrix([[before, after] if a == axis else [0, 0] for a in range(x.ndim)])
    said = f"padding = {padding}, window_dimensions = {array(window)}, window_strides = {array([1] * x.ndim)}"
    return b.general("stablehlo.reduce_window", [x, first], [(x.shape, dtype)], said, [region])[0]


@RULES("dot_general", "vecdot", "matvec", "vecmat")
def product(b: Builder, eqn: JaxprEqn, x: Value, y: Value) -> Value:
    shape, dtype = form(eqn.outvars[0].aval)
    if "dimension_numbers" in eqn.params:
        (left, right), (batch, other) = eqn.params["dimension_numbers"]
    else:
        raise NotImplementedError("a product without its axes")
    if x.dtype != y.dtype:
        x, y = b.convert(x, dtype), b.convert(y, dtype)
    text = f"batching_dims = {list(batch)} x {list(other)}, " if batch else ""
    text += f"contracting_dims = {list(left)} x {list(right)}, precision = [DEFAULT, DEFAULT]"
    made = [x.shape[i] for i in batch]
    made += [n for i, n in enumerate(x.shape) if i not in (*batch, *left)]
    made += [n for i, n in enumerate(y.shape) if i not in (*other, *right)]
    return b.reshape(b.short(f"stablehlo.dot_general {x.name}, {y.name}, {text}", [x, y], made, dtype), shape)
