"""Random calls of the native functions, compared with NumPy: `python -m compat fuzz` (see `campaign`).

A call is made from the seed and its number alone: `--seed S --first N --calls 1` makes the one that failed again.
Value, dtype, shape and error type have to agree: elementwise arithmetic and everything of whole numbers bit for bit,
transcendental functions within 4 units in the last place, sums within the bound of the error of NumPy's own summation.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

import lazynp
from lazynp.config import config

DTYPES = "?bBhHiIlLqQefdFD"
ULPS = 4
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, float("nan"), float("inf"), -float("inf"), 1e-310, -3.5, 1e30)
NUMBERS = (0, 1, -1, 2, 3, 7, 0.5, -2.5, 1e10, True, 1 + 2j, 255, 300, float("nan"))
ENDS = slice(None, None, -1)


class Operand(NamedTuple):
    """An array as a contiguous one and a view of it, so that both sides have the same layout."""

    base: numpy.ndarray
    key: Any = None
    turned: bool = False

    def of(self, np: Any) -> Any:
        a = np.array(self.base)
        if self.key is not None:
            a = a[self.key]
        return a.T if self.turned else a

    def __repr__(self) -> str:
        how = ("" if self.key is None else f"[{self.key}]") + (".T" if self.turned else "")
        values = repr(self.base.tolist()) if self.base.size else f"np.zeros({self.base.shape})"
        return f"array({values}, {self.base.dtype.char!r}){how}"


class Call(NamedTuple):
    """A call, to be made with NumPy and with lazynp.

    Attributes:
        name: of the function, for the counts.
        make: `make(np, *operands)`; its result, and the operands afterwards, are compared.
        operands: arrays as `Operand`, and numbers.
        rule: how results are compared, see `RULES`.
        mended: the same call, made so that a known error of NumPy's own does not come in: its result will do as well.
    """

    name: str
    make: Callable[..., Any]
    operands: tuple[Any, ...]
    rule: str = "exact"
    mended: Callable[..., Any] | None = None


# --- operands ---------------------------------------------------------------------------------------------------------


def shape_of(r: random.Random, most: int = 3) -> tuple[int, ...]:
    return tuple([r.choice((0, 1, 1, 2, 3, 4, 5, 7, 17)) for _ in range(r.choice((0, 1, 1, 1, 2, 2, most)))])


def partner(r: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts with this one; now and then one that does not."""
    if r.random() < 0.04:
        return shape_of(r)
    out = tuple([1 if r.random() < 0.2 else n for n in shape])
    return out[r.randint(0, len(out)) :] if r.random() < 0.3 else out


def elements(r: random.Random, n: int, dtype: str, tame: bool) -> numpy.ndarray:
    """Small numbers, and unless tame extremes and (of floats) what is special."""
    kind = numpy.dtype(dtype).kind
    if kind == "c":
        out = numpy.empty(n, dtype)
        out.real, out.imag = (elements(r, n, dtype.lower(), tame) for _ in "ri")
        return out
    if kind == "b":
        return numpy.array([r.random() < 0.5 for _ in range(n)], bool)
    if kind in "iu":
        limits, low = numpy.iinfo(dtype), -5 if kind == "i" else 0
        ends = (limits.min, limits.max, limits.max - 1, limits.min + 1)
        wild = 0.0 if tame else 0.2
        return numpy.array([r.choice(ends) if r.random() < wild else r.randint(low, 9) for _ in range(n)], dtype)
    scale, wild = r.choice((1.0, 10.0, 1e-3)), 0.0 if tame else 0.25
    out = numpy.array([r.choice(SPECIAL) if r.random() < wild else r.gauss(0, scale) for _ in range(n)])
    return out.astype(dtype)


def array(r: random.Random, shape: tuple[int, ...] | None = None, dtypes: str = DTYPES, tame: bool = False) -> Operand:
    """An array: contiguous, Fortran-ordered, strided, reversed, or a part of a larger one."""
    shape, dtype = shape_of(r) if shape is None else shape, r.choice(dtypes)
    key: tuple[Any, ...] | None = None
    how = r.choice(("plain", "plain", "turned", "strided", "reversed", "part")) if shape else "plain"
    turned, whole = how == "turned", shape[::-1] if how == "turned" else shape
    if how == "strided":
        key, whole = (Ellipsis, slice(None, None, 2)), (*shape[:-1], 2 * shape[-1])
    elif how == "reversed":
        key = (ENDS,) * r.randint(1, len(shape))
    elif how == "part":
        key, whole = (slice(1, None),) * len(shape), tuple([n + 1 for n in shape])
    n = 1
    for d in whole:
        n *= d
    return Operand(elements(r, n, dtype, tame).reshape(whole), key, turned)


def operand(r: random.Random, shape: tuple[int, ...], dtypes: str = DTYPES, tame: bool = False) -> Any:
    """An array, a NumPy scalar or a Python one."""
    x = r.random()
    if x < 0.12:
        return r.choice(NUMBERS)
    if x < 0.18:
        return elements(r, 1, r.choice(dtypes), tame)[0]
    return array(r, partner(r, shape), dtypes, tame)


# --- calls ------------------------------------------------------------------------------------------------------------

ARITHMETIC = frozenset({
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "negative", "positive",
    "absolute", "fabs", "sign", "signbit", "sqrt", "square", "reciprocal", "rint", "floor", "ceil", "trunc",
    "copysign", "nextafter", "spacing", "maximum", "minimum", "fmax", "fmin", "heaviside", "isnan", "isinf",
    "isfinite", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
    "logical_xor", "logical_not", "conjugate", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift",
    "right_shift", "bitwise_count", "gcd", "lcm", "ldexp",
})  # fmt: skip
EXTREMES = ("maximum", "minimum", "fmax", "fmin")


def native_ufuncs() -> list[str]:
    found = {n for n in dir(numpy) if isinstance(getattr(numpy, n), numpy.ufunc)}
    return sorted(n for n in found if getattr(lazynp, n).operator == n and n != "matmul")


UFUNCS = native_ufuncs()
BINARY = [n for n in UFUNCS if getattr(numpy, n).nin == 2]
REDUCING = [n for n in BINARY if getattr(numpy, n).identity is not None or n in EXTREMES]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "&": lambda a, b: a & b, "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}  # fmt: skip
INPLACE = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "iand", "ior", "ixor", "ilshift", "irshift")


# Of these NumPy 2.4 itself writes wrong truths into an `out=` that does not lie in one row: its loops for 16 numbers
# or more write some of them at other places.
STEPPED = frozenset({"signbit", "isnan", "isinf", "isfinite"})


def in_one_row(name: str, masked: bool) -> Callable[..., Any] | None:
    """A call with `out=`, perhaps `where=`, by way of a contiguous result; None for functions that NumPy has right."""

    def make(np: Any, *a: Any) -> Any:
        given, out, where = (a[:-2], a[-2], a[-1]) if masked else (a[:-1], a[-1], True)
        np.copyto(out, getattr(np, name)(*given), where=where)
        return out

    return make if name in STEPPED else None


def rule_of(name: str) -> str:
    return "zeros" if name in EXTREMES else "exact" if name in ARITHMETIC else "ulps"


def ufunc_call(r: random.Random) -> Call:
    """A ufunc, perhaps with `out=`, `where=`, `dtype=`."""
    name = r.choice(UFUNCS)
    shape = shape_of(r)
    given = [array(r, shape), *[operand(r, shape) for _ in range(getattr(numpy, name).nin - 1)]]
    r.shuffle(given)
    how = r.random()
    if how < 0.15:
        out = array(r, shape)
        if how < 0.05:  # of arrays: NumPy 2.4 itself crashes where an int is out of the dtype's range
            given = [x if isinstance(x, Operand) else array(r, ()) for x in given]
            where = array(r, partner(r, shape), "?")
            return Call(
                f"{name}(out=, where=)",
                lambda np, *a: getattr(np, name)(*a[:-2], out=a[-2], where=a[-1]),
                (*given, out, where),
                rule_of(name),
                in_one_row(name, True),
            )
        return Call(
            f"{name}(out=)",
            lambda np, *a: getattr(np, name)(*a[:-1], out=a[-1]),
            (*given, out),
            rule_of(name),
            in_one_row(name, False),
        )
    if how < 0.22:
        dtype = r.choice(DTYPES)
        return Call(f"{name}(dtype=)", lambda np, *a: getattr(np, name)(*a, dtype=dtype), tuple(given), rule_of(name))
    return Call(name, lambda np, *a: getattr(np, name)(*a), tuple(given), rule_of(name))


def operator_call(r: random.Random) -> Call:
    name = r.choice(list(OPERATORS))
    shape = shape_of(r)
    given = [array(r, shape), operand(r, shape)]
    r.shuffle(given)
    return Call(name, lambda np, a, b: OPERATORS[name](a, b), tuple(given))


def inplace_call(r: random.Random) -> Call:
    name = r.choice(INPLACE)
    shape = shape_of(r)

    def make(np: Any, a: Any, b: Any) -> Any:
        if r_view is not None and a.ndim:
            part = a[r_view]
            getattr(part, f"__{name}__")(b)
            return a
        return getattr(a, f"__{name}__")(b)

    r_view = r.choice((None, None, slice(None, None, 2), slice(1, None)))
    return Call(name, make, (array(r, shape), operand(r, shape)))


def power_call(r: random.Random) -> Call:
    shape = shape_of(r)
    exponent = r.choice((2, 3, 0.5, -1, 1, 0, array(r, partner(r, shape), "efd", tame=True)))
    return Call("**", lambda np, a, b: a**b, (array(r, shape, "bhilefdFD", tame=True), exponent), "ulps")


def axis_of(r: random.Random, ndim: int) -> Any:
    if not ndim or r.random() < 0.3:
        return None
    if r.random() < 0.25:
        return tuple(r.sample(range(ndim), r.randint(0, ndim)))
    return r.randint(-ndim, ndim - 1) if r.random() < 0.97 else ndim


def reduction_call(r: random.Random) -> Call:
    """A ufunc's `reduce` or `accumulate`, or a method that reduces."""
    shape = shape_of(r)
    axis = axis_of(r, len(shape))
    if r.random() < 0.4:
        name = r.choice(REDUCING)
        tame = name in ("add", "multiply")
        keep = {"keepdims": r.random() < 0.3}
        if r.random() < 0.3 and axis is not None and not isinstance(axis, tuple):
            return Call(
                f"{name}.accumulate",
                lambda np, a: getattr(np, name).accumulate(a, axis),
                (array(r, shape, tame=True),),
                rule_of_sum(name),
            )
        return Call(
            f"{name}.reduce",
            lambda np, a: getattr(np, name).reduce(a, axis, **keep),
            (array(r, shape, tame=tame),),
            rule_of_sum(name),
        )
    name = r.choice(("sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "argmin", "argmax", "cumsum"))
    more: dict[str, Any] = {}
    if name in ("sum", "prod", "mean") and r.random() < 0.2:
        more["dtype"] = r.choice("lfdD")
    if name not in ("cumsum",) and r.random() < 0.3:
        more["keepdims"] = True
    if name in ("argmin", "argmax", "cumsum") and isinstance(axis, tuple):
        axis = None
    tame = name not in ("min", "max", "any", "all", "argmin", "argmax")
    rule = "zeros" if name in ("min", "max") else "exact" if not tame else "sum"
    return Call(f"a.{name}()", lambda np, a: getattr(a, name)(axis=axis, **more), (array(r, shape, tame=tame),), rule)


def rule_of_sum(name: str) -> str:
    return "sum" if name not in ARITHMETIC or name in ("add", "multiply") else rule_of(name)


def shape_call(r: random.Random) -> Call:
    """Methods that move elements, and functions that join arrays."""
    shape = shape_of(r)
    ndim = len(shape)
    a = array(r, shape)
    axis = r.randint(-ndim, ndim - 1) if ndim else 0
    name = r.choice(
        ("reshape", "T", "swapaxes", "squeeze", "ravel", "flatten", "copy", "astype", "repeat", "take", "sort",
         "argsort", "clip", "round", "concatenate", "where", "copyto", "fill", "stack", "roll", "flip", "broadcast_to",
         "real", "conj", "diagonal", "trace", "searchsorted", "nonzero", "dot")
    )  # fmt: skip
    order = r.choice("CFAK")
    to, n, places = r.choice(DTYPES), r.randint(0, 3), [r.randint(-9, 9) for _ in range(3)]
    wraps = a.of(numpy).size > 0  # NumPy 2.4 itself wraps an index into nothing for ever
    modes = ("raise", "clip", "wrap") if wraps else ("raise",)
    b = array(r, partner(r, shape))
    table: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
        "reshape": (lambda np, a: a.reshape(-1) if a.size else a.reshape(a.shape[::-1]), (a,), "exact"),
        "T": (lambda np, a: a.T, (a,), "exact"),
        "swapaxes": (lambda np, a: a.swapaxes(0, axis), (a,), "exact"),
        "squeeze": (lambda np, a: a.squeeze(), (a,), "exact"),
        "ravel": (lambda np, a: a.ravel(order), (a,), "exact"),
        "flatten": (lambda np, a: a.flatten(order), (a,), "exact"),
        "copy": (lambda np, a: a.copy(order), (a,), "exact"),
        "astype": (lambda np, a: a.astype(to), (array(r, shape, tame=True),), "exact"),
        "repeat": (lambda np, a: a.repeat(n, axis), (a,), "exact"),
        "take": (lambda np, a: a.take(places, axis, mode=modes[n % len(modes)]), (a,), "exact"),
        "sort": (lambda np, a: np.sort(a, axis), (a,), "zeros"),
        "argsort": (lambda np, a: a.argsort(axis, kind="stable"), (a,), "exact"),
        "clip": (lambda np, a, b: a.clip(b, 5), (a, operand(r, ())), "zeros"),
        "round": (lambda np, a: a.round(n - 1), (array(r, shape, tame=True),), "ulps"),
        "concatenate": (lambda np, a, b: np.concatenate([a, b, a], axis), (a, b), "exact"),
        "where": (lambda np, c, a, b: np.where(c, a, b), (array(r, shape, "?ld"), a, operand(r, shape)), "exact"),
        "copyto": (lambda np, a, b: np.copyto(a, b), (a, operand(r, shape)), "exact"),
        "fill": (lambda np, a: a.fill(n), (a,), "exact"),
        "stack": (lambda np, a, b: np.stack([a, b]), (a, b), "exact"),
        "roll": (lambda np, a: np.roll(a, n), (a,), "exact"),
        "flip": (lambda np, a: np.flip(a, axis), (a,), "exact"),
        "broadcast_to": (lambda np, a: np.broadcast_to(a, (2, *shape)), (a,), "exact"),
        "real": (lambda np, a: (a.real, a.imag), (a,), "exact"),
        "conj": (lambda np, a: a.conj(), (a,), "exact"),
        "diagonal": (lambda np, a: a.diagonal(n - 1), (a,), "exact"),
        "trace": (lambda np, a: a.trace(n - 1), (array(r, shape, tame=True),), "sum"),
        "searchsorted": (lambda np, a, b: np.searchsorted(a, b), (array(r, (7,), "ld", tame=True), b), "exact"),
        "nonzero": (lambda np, a: np.nonzero(a), (a,), "exact"),
        "dot": (lambda np, a, b: a.dot(b), (array(r, shape, tame=True), array(r, shape[::-1], tame=True)), "sum"),
    }
    make, given, rule = table[name]
    return Call(name, make, given, rule)


def matmul_call(r: random.Random) -> Call:
    n, k, m = (r.choice((0, 1, 2, 3, 5, 8)) for _ in "nkm")
    stack = r.choice(((), (), (1,), (3,)))
    left = r.choice(((k,), (n, k), (*stack, n, k)))
    right = r.choice(((k,), (k, m), (*stack, k, m)))
    dtypes = r.choice(("d", "fd", "lD", "?", "bhilefdFD"))
    given = (array(r, left, dtypes, tame=True), array(r, right, dtypes, tame=True))
    return Call("matmul", lambda np, a, b: a @ b, given, "sum")


def key_of(r: random.Random, shape: tuple[int, ...]) -> Any:
    """An index: basic, boolean, of whole numbers, or mixed; now and then one that is out of bounds."""
    if r.random() < 0.2:
        return array(r, shape if r.random() < 0.9 else shape_of(r), "?")
    key: list[Any] = []
    for n in shape[: r.randint(0, len(shape))]:
        what = r.random()
        if what < 0.25:
            key.append(r.randint(-n, n - 1) if n and r.random() < 0.97 else n)
        elif what < 0.8:
            begin, end = (r.choice((None, *range(-n - 1, n + 2))) for _ in "ab")
            key.append(slice(begin, end, r.choice((None, 1, 2, -1, -2))))
        elif what < 0.87:
            key.append(None)
        else:
            key.append([r.randint(-n, n - 1) for _ in range(r.randint(0, 3))] if n else [])
    if r.random() < 0.2:
        key.insert(r.randint(0, len(key)), Ellipsis)
    return tuple(key)


def getitem_call(r: random.Random) -> Call:
    shape = shape_of(r)
    key = key_of(r, shape)
    if isinstance(key, Operand):
        more = r.random() < 0.5  # an operation on a selection is deferred too
        return Call("a[mask]", lambda np, a, m: a[m] + 1 if more else a[m], (array(r, shape, "lfd"), key))
    return Call("a[key]", lambda np, a: a[key], (array(r, shape),))


def setitem_call(r: random.Random) -> Call:
    """A write, through a view as often as not, and then a read of the whole."""
    shape = shape_of(r)
    key, through = key_of(r, shape), r.random() < 0.5

    def make(np: Any, a: Any, value: Any, *mask: Any) -> Any:
        target = a[...] if through and a.ndim else a
        target[mask[0] if mask else key] = value
        return a + 0 if a.dtype != bool else a

    # tame: what infinity is as an integer depends on the loop that NumPy takes
    value = r.choice(NUMBERS) if r.random() < 0.4 else array(r, partner(r, shape), tame=True)
    given = (array(r, shape), value)
    return Call("a[key] = b", make, (*given, key) if isinstance(key, Operand) else given)


def chain_call(r: random.Random) -> Call:
    """Several operations before anybody looks: fused by the engine."""
    shape = shape_of(r)
    steps = [r.choice(("+", "-", "*", "<", "&", "T", "slice", "neg", "abs", "write")) for _ in range(r.randint(3, 8))]

    def make(np: Any, a: Any, b: Any) -> Any:
        out, written = a, np.array(a)
        for step in steps:
            if step == "T":
                out, b = out.T, b.T
            elif step == "slice" and out.ndim:
                out, b = out[1:], b[1:] if b.ndim == out.ndim else b
            elif step == "neg":
                out = -out if out.dtype != bool else ~out
            elif step == "abs":
                out = abs(out)
            elif step == "write" and written.ndim:
                written[::2] = written[::-1][::2]
            elif step in OPERATORS:
                out = OPERATORS[step](out, b)
        return out, written

    return Call("chain", make, (array(r, shape, "bhilfd"), array(r, shape, "bhilfd")))


def method_call(r: random.Random) -> Call:
    """The other methods of a ufunc, of arrays, and functions of their own."""
    shape = shape_of(r)
    a, b = array(r, shape), array(r, partner(r, shape))
    tame, other = array(r, shape, tame=True), array(r, partner(r, shape), tame=True)
    name, binary = r.choice(UFUNCS), r.choice(BINARY)
    axes, dtype = r.sample(range(len(shape)), len(shape)), r.choice(DTYPES)
    places = [r.randint(-1, 4) for _ in range(r.randint(0, 3))]
    start, stop, step = (r.choice((0, 1, -3, 7, 2.5, 10, -0.5)) for _ in range(3))
    table: list[tuple[str, Callable[..., Any], tuple[Any, ...], str]] = [
        ("ufunc.outer", lambda np, a, b: getattr(np, binary).outer(a, b), (a, array(r, (3,))), rule_of(binary)),
        ("ufunc.at", lambda np, a: getattr(np, name).at(a, places), (array(r, (5,)),), rule_of(name)),
        ("add.at", lambda np, a, b: np.add.at(a, places, b), (array(r, (5,)), array(r, (1,), tame=True)), "exact"),
        ("add.reduceat", lambda np, a: np.add.reduceat(a, places), (array(r, (5,), tame=True),), "sum"),
        ("arange", lambda np: np.arange(start, stop, step), (), "exact"),
        ("arange", lambda np: np.arange(start, stop, dtype=dtype), (), "exact"),
        ("array", lambda np, a: np.array(a, dtype=dtype), (tame,), "exact"),
        (
            "full_like",
            lambda np, a: (np.full_like(a, 3), np.zeros_like(a, dtype=dtype), np.ones_like(a)),
            (a,),
            "exact",
        ),
        ("inner", lambda np, a, b: np.inner(a, b), (tame, array(r, shape[-1:], tame=True)), "sum"),
        ("tensordot", lambda np, a, b: np.tensordot(a, b, 1), (tame, array(r, shape[-1:], tame=True)), "sum"),
        ("einsum", lambda np, a, b: np.einsum("...i,...i", a, b), (tame, other), "sum"),
        ("vecdot", lambda np, a, b: np.vecdot(a, b), (tame, other), "sum"),
        ("a.cumprod()", lambda np, a: a.clip(0, 1).cumprod(), (array(r, (5,), "bilfd"),), "sum"),
        ("transpose", lambda np, a: a.transpose(axes), (a,), "exact"),
        ("mT", lambda np, a: a.mT, (a,), "exact"),
        ("view", lambda np, a: a.view(dtype).view("u1"), (array(r, shape, "bBhHiIlL"),), "exact"),
        ("item", lambda np, a: (a.item(0), a.tolist() == a.copy().tolist()), (tame,), "exact"),
        ("a.flat", lambda np, a: (a.flat[1:3], np.array(list(a.flat))), (a,), "exact"),
        ("fft", lambda np, a: (np.fft.fft(a), np.fft.ifft(a, n=6)), (tame,), "sum"),
        ("rfft", lambda np, a: np.fft.irfft(np.fft.rfft(a)), (array(r, shape, "fd", tame=True),), "sum"),
        ("diff", lambda np, a: (np.diff(a), np.ediff1d(a)), (a,), "exact"),
        ("nansum", lambda np, a: (np.nansum(a), np.nanmax(a, axis=0)), (array(r, shape, "lfd", tame=True),), "sum"),
        ("tril", lambda np, a: (np.tril(a), np.triu(a, 1)), (a,), "exact"),
        ("isin", lambda np, a, b: np.isin(a, b), (a, b), "exact"),
        ("unique", lambda np, a: np.unique(a, return_inverse=True), (tame,), "exact"),
        ("divmod", lambda np, a, b: divmod(a, b), (a, b), "exact"),
        ("modf", lambda np, a: np.modf(a), (array(r, shape, "efd"),), "exact"),
    ]
    return Call(*r.choice(table))


KINDS: list[tuple[Callable[[random.Random], Call], int]] = [
    (ufunc_call, 34), (operator_call, 14), (inplace_call, 7), (power_call, 3), (reduction_call, 14), (shape_call, 13),
    (matmul_call, 3), (getitem_call, 5), (setitem_call, 5), (chain_call, 5),
    (method_call, 8),
]  # fmt: skip
WEIGHTS = [weight for _, weight in KINDS]


def call_of(seed: int, number: int) -> Call:
    r = random.Random(seed * 1_000_003 + number)
    return r.choices([kind for kind, _ in KINDS], WEIGHTS)[0](r)


# --- comparison -------------------------------------------------------------------------------------------------------


def outcome(np: Any, call: Call) -> Any:
    """What a call gives, and its operands afterwards: NumPy's arrays; or the type of the error."""
    given = [x.of(np) if isinstance(x, Operand) else x for x in call.operands]
    try:
        value = call.make(np, *given)
        parts = value if type(value) is tuple else (value,)
        return [numpy.asarray(p) for p in (*parts, *given)], [type(p) for p in parts]
    except Exception as error:
        return type(error).__name__, str(error)


def differ(theirs: Any, ours: Any, call: Call) -> str:
    """How two outcomes differ; empty where they agree."""
    if isinstance(theirs[0], str) or isinstance(ours[0], str):
        if theirs[0] == ours[0] if isinstance(theirs[0], str) and isinstance(ours[0], str) else False:
            return ""
        return f"NumPy {described(theirs)}, lazynp {described(ours)}"
    for a, b in zip(theirs[1], ours[1]):
        if not same_kind(a, b):
            return f"a result is {b.__name__}, not {a.__name__}"
    inputs = sum(x.base.size for x in call.operands if isinstance(x, Operand))
    for a, b in zip(theirs[0], ours[0]):
        if a.dtype != b.dtype:
            return f"dtype {b.dtype}, not {a.dtype}"
        if a.shape != b.shape:
            return f"shape {b.shape}, not {a.shape}"
        if not RULES[call.rule](a, b, inputs):
            return f"{b.tolist()!r}, not {a.tolist()!r}"
    return ""


def same_kind(theirs: type, ours: type) -> bool:
    """Whether types of results are each other's; of two dtypes of integers that are equal, either will do."""
    if theirs is numpy.ndarray or ours is lazynp.ndarray:
        return theirs is numpy.ndarray and ours is lazynp.ndarray
    both = issubclass(theirs, numpy.integer) and issubclass(ours, numpy.integer)
    return theirs is ours or both and numpy.dtype(theirs) == numpy.dtype(ours)


def described(result: Any) -> str:
    if isinstance(result[0], str):
        return f"raises {result[0]}: {result[1][:100]}"
    return f"gives {result[0][0].tolist()!r}"


def exact(a: numpy.ndarray, b: numpy.ndarray, n: int) -> bool:
    """Bit for bit; any NaN is a NaN."""
    if a.dtype.kind == "c":
        return exact(a.real, b.real, n) and exact(a.imag, b.imag, n)
    if a.dtype.kind == "f":
        return bool(((a == b) & (numpy.signbit(a) == numpy.signbit(b)) | (a != a) & (b != b)).all())
    return bool((a == b).all())


def zeros(a: numpy.ndarray, b: numpy.ndarray, n: int) -> bool:
    """The same, but that a zero may have either sign: NumPy's own depends on the layout."""
    return exact(a + 0 if a.dtype.kind in "fc" else a, b + 0 if b.dtype.kind in "fc" else b, n)


def near(a: numpy.ndarray, b: numpy.ndarray, bound: Any) -> bool:
    if a.dtype.kind == "c":
        size = numpy.maximum(abs(a.real), abs(a.imag))
        with numpy.errstate(all="ignore"):
            limit = bound(size)
        return within(a.real, b.real, limit) and within(a.imag, b.imag, limit)
    if a.dtype.kind != "f":
        return bool((a == b).all())
    return within(a, b, bound(abs(a)))


def within(a: numpy.ndarray, b: numpy.ndarray, limit: numpy.ndarray) -> bool:
    with numpy.errstate(all="ignore"):
        return bool(((a == b) | (a != a) & (b != b) | (abs(a.astype("g") - b.astype("g")) <= limit)).all())


def ulps(a: numpy.ndarray, b: numpy.ndarray, n: int) -> bool:
    return near(a, b, lambda size: ULPS * numpy.spacing(size.astype(a.real.dtype)))


def summed(a: numpy.ndarray, b: numpy.ndarray, n: int) -> bool:
    """n roundings of partial sums that are no larger than the sum of the (tame) elements' sizes; products likewise."""
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    eps = float(numpy.finfo(a.dtype).eps)
    return near(a, b, lambda size: 4 * (n + 2) * eps * (size.astype("g") + LARGEST * (n + 1)))


LARGEST = 60.0  # of a tame element
RULES: dict[str, Callable[[numpy.ndarray, numpy.ndarray, int], bool]] = {
    "exact": exact, "zeros": zeros, "ulps": ulps, "sum": summed,
}  # fmt: skip


def made(
    seed: int, first: int, calls: int, mode: str, at: Callable[[int], object] = lambda number: None
) -> Iterator[tuple[int, Call, str]]:
    """Make the calls: the number of each, what it was, and how the outcomes differ. `at` is told each number before."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"), config(mode=mode):
        warnings.simplefilter("ignore")
        for number in range(first, first + calls):
            at(number)
            call = call_of(seed, number)
            ours = outcome(lazynp, call)
            why = differ(outcome(numpy, call), ours, call)
            if why and call.mended and not differ(outcome(numpy, call._replace(make=call.mended)), ours, call):
                why = ""
            yield number, call, why


def line(seed: int, number: int, mode: str, call: Call, why: str) -> str:
    """What there is to say about a call whose outcomes differ."""
    return f"--seed {seed} --first {number} --mode {mode}: {call.name}{call.operands}: {why}"[:1000].replace("\n", " ")
