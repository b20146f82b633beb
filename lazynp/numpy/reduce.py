"""Reductions and scans: `ufunc.reduce`, and the methods of `ndarray` that reduce.

An array that is at hand and small goes to NumPy's C method at once. A larger one is recorded, where the operands are
such that the engine does it; a result without axes is demanded at once, and is NumPy's scalar.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy

from ..backends.numpy.parts import reduced as whole_reduction
from ..config import config
from ..graph.node import Node
from ..graph.op import Op
from ..ops import reductions, scans
from ..ops.elementwise import real
from ..ops.elementwise import where as select
from ..ops.shape import reshape, transpose
from ..ops.ufuncs import ufuncs
from ..runtime.views import TRANSPOSE, inverse_of
from ..speed import at_once
from .arithmetic import assign, common_order, in_memory_order, straightened
from .array import Handle, Writes, is_native, is_traced, known, ndarray, of_node
from .casts import discards, real_of, warn_of_it
from .host import (
    PLAIN,
    TracedArgumentError,
    as_base,
    at_hand,
    bare,
    blank_like,
    dtype_of,
    fresh,
    is_wide,
    like,
    note_work,
    of_class,
    on_traced,
    to_host,
    wrap_result,
)
from .layout import array_of
from .line_warnings import METHODS, as_line, at_line
from .overrides import has_hook
from .record import INTEGER_LIMITS, cast_node, errors_kept, finish, nodes_in_place, nodes_of, told
from .recorded_ufuncs import recordable

NoValue = numpy._globals._NoValue
NAMES = ("axis", "dtype", "out", "keepdims", "initial", "where")
REDUCTIONS = {
    "sum": "add",
    "prod": "multiply",
    "min": "minimum",
    "max": "maximum",
    "any": "logical_or",
    "all": "logical_and",
}
WITH_DTYPE = frozenset({"sum", "prod"})


def plain(args: Any, kwargs: Any) -> bool:
    """Whether no argument is an array."""
    for a in args:
        if type(a) not in PLAIN and not (type(a) is tuple and PLAIN.issuperset(map(type, a))):
            return False
    for a in kwargs.values():
        if type(a) not in PLAIN and not (type(a) is tuple and PLAIN.issuperset(map(type, a))):
            return False
    return True


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...] | None:
    """Sorted and non-negative; None where NumPy would complain, or where it is not ints."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if type(axis) is tuple else (axis,)
    out = []
    for a in given:
        try:
            i = operator.index(a)
        except TypeError:
            return None
        if isinstance(a, bool) or not -ndim <= i < ndim:
            return None
        out.append(i % ndim)
    return tuple(sorted(out)) if len(set(out)) == len(out) else None


def native_dtype(dtype: Any) -> Any:
    """The dtype, None for none, NotImplemented where the engine has no such."""
    if dtype is None:
        return None
    found = dtype_of(dtype)
    return found if is_native(found) else NotImplemented


def native_reduce(host: numpy.ufunc, x: ndarray, args: Any, kwargs: Any) -> Any:
    """`ufunc.reduce`: at once, or recorded; NotImplemented where neither is possible here."""
    if at_hand(x):
        if not plain(args, kwargs):
            return NotImplemented
        value = host.reduce(x._h_, *args, **kwargs)
        return wrap_result(value, [])
    given = {"axis": 0, **dict(zip(NAMES, args)), **kwargs}
    name = host.__name__
    if name not in reductions.reductions or getattr(numpy, name, None) is not host or len(args) > len(NAMES):
        return NotImplemented
    return recorded(name, x, given)


def recorded(name: str, x: ndarray, given: dict[str, Any]) -> Any:
    """A reduction as a recorded operation."""
    initial, where, out = given.get("initial", NoValue), given.get("where", True), given.get("out")
    if not is_native(x.dtype) or not set(NAMES).issuperset(given):
        return NotImplemented
    axes, dtype = normal_axes(given.get("axis"), x.ndim), native_dtype(given.get("dtype"))
    keepdims = given.get("keepdims", False)
    if axes is None or dtype is NotImplemented or keepdims is NoValue:
        return NotImplemented
    if out is not None and (type(out) is tuple or type(out) is not ndarray):
        return NotImplemented
    if out is not None and initial is None:  # NumPy begins with the first element in the dtype of `out`
        return NotImplemented
    target = None if out is None or name not in BY_OUT and not name.startswith("logical") else out.dtype
    if target is not None and not is_native(target):
        return NotImplemented
    if target is not None and dtype is None and name in BY_OUT:
        operands = (target, x.dtype, None)
        dtype = getattr(numpy, name).resolve_dtypes(operands, reduction=True, casting="unsafe")[2]
    plainly = initial is NoValue and where is True
    if not plainly:
        prepared = begun(name, x, initial, where, *[d for d in (x.dtype, dtype, target) if d is not None])
        if prepared is None:
            return NotImplemented
        x, first = prepared
    if plainly and config.limit >= 0 and out is None and known(x):
        size = x._h_.size
        for a in axes:
            size //= max(x._h_.shape[a], 1)
        rows = keepdims and size > 1 and x.ndim - 1 in axes and x._h_.size > config.limit  # what goes on with x
        if size <= config.limit and not rows:  # what is at hand, made small
            whole = x._h_ if dtype is None else real_of(x._h_, dtype)
            value = whole_reduction(getattr(numpy, name), whole, axes, bool(keepdims), dtype)
            return fresh(value) if type(value) is numpy.ndarray else value

    def rule(node: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
        node = read_as(node, dtype)
        made = told(reductions.reductions[name](node, axes=axes, keepdims=keepdims, dtype=dtype))
        if not plainly and first is not None:
            made = told(ufuncs[name](Node.of_scalar(numpy.asarray(first).astype(made.dtype)[()]), made))
        return made if target is None else cast_node(made, target)

    try:
        return reduced(rule, x, axes, bool(keepdims), out)
    except (TypeError, ValueError):
        return NotImplemented


BY_OUT = frozenset(
    {"add", "multiply", "maximum", "minimum", "fmax", "fmin", "bitwise_and", "bitwise_or", "bitwise_xor"}
)
"""Ufuncs whose reductions are computed in the type of `out`, too, if there is one."""


def read_as(node: Node, dtype: Any) -> Node:
    """What a reduction reads that works in a dtype: of complex numbers the real part, where it is to be real."""
    if dtype is None or not discards(node.dtype, dtype):
        return node
    warn_of_it()
    return real(node)


def begun(name: str, x: ndarray, initial: Any, where: Any, *dtypes: Any) -> tuple[ndarray, Any] | None:
    """What a reduction with `initial=` or `where=` reduces, with what does not change the result in place of what is
    left out, and the number to begin with (None: none); None where it is NumPy's to do, or to complain of. `dtypes`:
    those that the number becomes, of x, of the loop and of `out=`."""
    neutral = getattr(numpy, name).identity if initial is not None else None
    first = None if initial is NoValue else initial
    if not x.size:
        return None
    if first is not None:
        if not ufuncs[name].associative or not all([takes(d, first) for d in dtypes]):
            return None
        if first == 0 and name == "add" and numpy.signbit(numpy.real(first)):  # a sum that begins with -0 may be -0
            return None
        neutral = first if neutral is None else neutral
    if where is True:
        return x, first
    if neutral is None or type(where) not in (ndarray, numpy.ndarray) or where.dtype != bool:
        return None
    if where.ndim > x.ndim or any(n not in (1, m) for n, m in zip(where.shape[::-1], x.shape[::-1])):
        return None
    order = common_order((where, x))
    nodes = nodes_of((where, x) if order is None else in_memory_order((where, x), order))
    if nodes is None:
        return None
    fill = numpy.asarray(neutral).astype(x.dtype)[()]
    if not numpy.isfinite(neutral) and fill != neutral:  # an infinity, of what is no float
        return None
    if first is not None and getattr(numpy, name)(first, fill) != first:  # what is left where all is left out
        return None
    filled = array_of(select(*nodes, Node.of_scalar(fill)))
    return filled if order is None else filled._derived_(TRANSPOSE, order), first


def takes(dtype: numpy.dtype[Any], number: Any) -> bool:
    """Whether a loop of a dtype begins with a number as it is."""
    if type(number) not in NUMBERS or numpy.result_type(dtype, number) != dtype:
        return False
    lowest, highest = INTEGER_LIMITS.get(dtype.char, INTEGER_LIMITS["q"])
    return type(number) is not int or lowest <= number <= highest


NUMBERS = frozenset({bool, int, float, complex, *[numpy.dtype(c).type for c in "?bBhHiIlLqQefdgFDG"]})


def reduced(rule: Callable[..., Node], x: ndarray, axes: tuple[int, ...], keepdims: bool, out: Any) -> Any:
    """What `rule(node, axes, keepdims)` makes of x. Where x's axes are not in C's order in memory, it goes through them
    in their order, as NumPy does, which adds pairwise along what is contiguous; and the result keeps their order."""
    order = common_order((x,)) if x.ndim > 1 else None
    straight = x if order is None else straightened(x, inverse_of(order))
    nodes, memory = nodes_in_place((straight,))
    source = straight._node_() if nodes is None else nodes[0]
    if order is None:
        node = rule(source, axes, keepdims)
        del source, nodes, straight
        finish(node, memory)
        return into(out, node)
    inverse = inverse_of(order)
    there = tuple([j for j, a in enumerate(inverse) if a in axes])
    node = rule(source, there, keepdims)
    del source, nodes, straight
    finish(node, memory)
    left = [a for a in inverse if keepdims or a not in axes]
    back = tuple([left.index(a) for a in sorted(left)])
    if out is not None:
        return into(out, transpose(node, axes=back) if len(back) > 1 else node)
    return of_node(node)._derived_(TRANSPOSE, back) if len(back) > 1 else of_node(node)


def into(out: Any, node: Node) -> Any:
    """A result, or the `out=` that it was written to."""
    if out is None:
        return of_node(node)
    if node.shape != out.shape or node.dtype != out.dtype or not recordable(out):
        return NotImplemented
    assign(out, cast_node(node, out.dtype))
    return out


def by_host(name: str, host: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    """A method of ndarray done by NumPy's."""
    ours: list[Any] = []
    if name == "dot" and args and any([isinstance(x, Handle) and type(x) is not ndarray for x in (self, args[0])]):
        return sys.modules["lazynp.numpy.native"].dot(self, *args, **kwargs)  # whose class the result has
    if type(self) is not ndarray:
        hook = has_hook(self)
        if name in BY_UFUNC and (hook or name == "clip" and not self.ndim):
            return getattr(sys.modules["lazynp._core._methods"], BY_UFUNC[name])(self, *args, **kwargs)
        if hook and name in SCANS:
            return scanned_by_type(name, self, *args, **kwargs)
        if hook and name == "round" and self.dtype.kind == "f":
            return rounded_by_type(self, *args, **kwargs)
        if name == "trace":
            return traced_by_type(self, *args, **kwargs)
        given = bound(OUT, args, kwargs) if name in ("argmin", "argmax") else None
        if given is not None and given.get("axis") is None:
            self = ndarray.ravel(self)  # type: ignore[attr-defined]  # which stays of more axes for a matrix
            args, kwargs = (), {**given, "axis": self.ndim - 1}
    value = by_base(name, self, args, kwargs)
    if value is not NotImplemented:
        return value
    try:
        h = to_host(self, ours)
        values = [to_host(a, ours) for a in args]
        named = {k: to_host(v, ours) for k, v in kwargs.items()}
    except TracedArgumentError:
        return on_traced(name, host, (self, *args), kwargs)
    place = OUT_PLACE.get(name, len(args))
    out = args[place] if len(args) > place else kwargs.get("out")
    counted = name not in HANDED_OUT
    if counted and out is not None:

        def tried() -> Any:
            given = {"out": blank_like(out)} if len(values) <= place else {}
            into = [blank_like(out) if i == place else v for i, v in enumerate(values)]
            return at_line(METHODS.get(name, host), h, *into, **{**named, **given})

        note_work(f"ndarray.{name}", ours, tried)
    with Writes() as to:
        if len(args) > place:
            values[place] = to(out)
        elif out is not None:
            named["out"] = to(out)
        called = as_line if h.dtype.kind == "c" and name not in METHODS else at_line  # a cast to the real part may warn
        value = called(METHODS.get(name, host), h, *values, **named)
    if counted and out is None:
        note_work(f"ndarray.{name}", ours)
    if not counted:
        return value
    scalar = isinstance(value, numpy.generic)
    if out is None and type(self) is not ndarray and name in WRAPPED and (scalar or isinstance(value, numpy.ndarray)):
        return self.__array_wrap__(fresh(numpy.asarray(value)), None, scalar)  # a subclass decides what it gives
    if name == "searchsorted" or name == "round" and out is None and is_scaled(h.dtype, *values, **named):
        return wrap_result(value, ours)
    if type(out) is tuple:
        (out,) = out
    return out if isinstance(out, (Handle, numpy.ndarray)) else like(self, value, ours)


RULES: dict[str, Callable[..., Any]] = {}
"""By a method's name what the engine gives for an array of the base class, or NotImplemented; `recorded` has more."""


def by_base(name: str, self: Any, args: Any, kwargs: Any) -> Any:
    """A method of a subclass, done by the engine on its memory; NotImplemented where NumPy does it."""
    place = OUT_PLACE.get(name, len(args))
    out = args[place] if len(args) > place else kwargs.get("out")
    if name not in RULES or not (is_wide(self) or is_wide(out)) or not is_native(self.dtype):
        return NotImplemented
    value = RULES[name](as_base(self), *map(bare, args), **{k: bare(v) for k, v in kwargs.items()})
    if value is NotImplemented or out is not None:
        return value if value is NotImplemented else out
    scalar = not isinstance(value, Handle)
    if name in WRAPPED:
        return self.__array_wrap__(fresh(numpy.asarray(value)) if scalar else value, None, scalar)
    plainly = scalar or name == "searchsorted" or name == "round" and is_scaled(self.dtype, *args, **kwargs)
    return value if plainly else of_class(type(self), value, self)


def is_scaled(dtype: numpy.dtype[Any], decimals: Any = 0, out: Any = None) -> bool:
    """Whether NumPy rounds by a product, in a new array of the base class, whatever the class of the old one."""
    return decimals != 0 if dtype.kind == "f" else dtype.kind in "iu" and decimals < 0


def traced_by_type(
    self: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    """`trace` of a subclass: the sum of what it takes for its diagonal."""
    diagonal = ndarray.diagonal(self, offset, axis1, axis2)  # type: ignore[attr-defined]
    more = {} if dtype is None else {"dtype": dtype}
    total = sys.modules["lazynp"].add.reduce(diagonal, axis=-1, **more, **({} if out is None else {"out": out}))
    return number_of(total) if out is None else total


def rounded_by_type(self: Any, decimals: Any = 0, out: Any = None) -> Any:
    """`round` of a subclass: the ufuncs that NumPy's method calls."""
    door, into = sys.modules["lazynp"], () if out is None else (out,)
    places = operator.index(decimals)
    if not places:
        made = door.rint(self, *into)
        return number_of(made) if out is None else made
    scaled, back = (door.multiply, door.divide) if places > 0 else (door.divide, door.multiply)
    factor = 10.0 ** abs(places)
    made = scaled(self, factor, out=door.empty_like(self, subok=False) if out is None else out)
    made = back(door.rint(made, out=made), factor, out=made)
    return number_of(made) if out is None else made


def number_of(x: Any) -> Any:
    """What NumPy's methods in C give for an array without axes, of whatever class."""
    return ndarray.view(x, ndarray)[()] if isinstance(x, Handle) and not x.shape else x  # type: ignore[attr-defined]


def scanned_by_type(name: str, self: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """`cumsum` or `cumprod` of a subclass, by its `__array_ufunc__`."""
    if axis is None:
        self, axis = ndarray.ravel(self), 0  # type: ignore[attr-defined]
    more = {**({} if dtype is None else {"dtype": dtype}), **({} if out is None else {"out": out})}
    return getattr(sys.modules["lazynp"], SCANS[name]).accumulate(self, axis, **more)


SCANS = {"cumsum": "add", "cumprod": "multiply"}
HANDED_OUT = frozenset({"tolist", "tobytes", "tostring", "tofile", "dump", "dumps"})  # the program asks for the value
# A subclass with an `__array_ufunc__` or `__array_wrap__` of its own: by NumPy's Python code, which calls ufuncs.
BY_UFUNC = {
    **{name: f"_{name}" for name in ("sum", "prod", "any", "all", "mean", "var", "std")},
    "min": "_amin",
    "max": "_amax",
    "clip": "_clip",
}
WRAPPED = frozenset({"sum", "prod", "min", "max", "any", "all", "mean", "var", "std"})
OUT_PLACE = {
    **dict.fromkeys(("sum", "prod", "any", "all", "mean", "var", "std", "cumsum", "cumprod"), 2),
    "min": 1,
    "max": 1,
    "argmin": 1,
    "argmax": 1,
    "take": 2,
    "compress": 2,
    "clip": 2,
    "round": 1,
    "dot": 1,
    "trace": 4,
}


def bound(names: tuple[str, ...], args: Any, kwargs: Any) -> dict[str, Any] | None:
    """Arguments by name; None where they do not fit, so that NumPy says how."""
    if len(args) > len(names) or not set(names).issuperset(kwargs):
        return None
    given = dict(zip(names, args))
    if given.keys() & kwargs.keys():
        return None
    given.update(kwargs)
    return given


def reduction(
    name: str, names: tuple[str, ...], native: Callable[[ndarray, dict[str, Any]], Any]
) -> Callable[..., Any]:
    """A method that reduces: at once, recorded, or by NumPy."""
    host = getattr(numpy.ndarray, name)

    def rule(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = bound(names, args, kwargs)
        return NotImplemented if given is None else native(self, given)

    RULES[name] = rule

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        value = at_once(host, self, args, kwargs)
        if value is not NotImplemented:
            return value
        if at_hand(self):
            if not args and not kwargs or plain(args, kwargs):
                dtype = kwargs.get("dtype")
                h = self._h_ if dtype is None else real_of(self._h_, numpy.dtype(dtype))
                value = at_line(METHODS.get(name, host), h, *args, **kwargs)
                return value if type(value) is not numpy.ndarray else wrap_result(value, [self])
        elif type(self) is ndarray and is_native(self.dtype):
            value = rule(self, *args, **kwargs)
            if value is not NotImplemented:
                return value
            if name in MOMENTS and not is_traced(self):  # NumPy's text, which calls what the engine does
                return getattr(sys.modules["lazynp._core._methods"], BY_UFUNC[name])(self, *args, **kwargs)
        return by_host(name, host, self, args, kwargs)

    return call


def simple(name: str) -> Callable[..., Any]:
    return lambda self, given: recorded(REDUCTIONS[name], self, given)


def of_any_dtype(name: str) -> Callable[[ndarray, dict[str, Any]], Any]:
    """any, all: NumPy's methods take a dtype, which its documentation leaves out, before `out`."""
    native = simple(name)
    return lambda self, given: native(self, given) if given.pop("dtype", None) is None else NotImplemented


MOMENTS = ("mean", "var", "std")


def moment(name: str) -> Callable[[ndarray, dict[str, Any]], Any]:
    """mean, var, std."""
    rule = getattr(reductions, name)

    def native(self: ndarray, given: dict[str, Any]) -> Any:
        axes, dtype = normal_axes(given.pop("axis", None), self.ndim), native_dtype(given.pop("dtype", None))
        out, keepdims = given.pop("out", None), given.pop("keepdims", False)
        if given.pop("where", True) is not True or given.pop("mean", NoValue) is not NoValue:
            return NotImplemented
        ddof = given.pop("ddof", 0)
        correction = given.pop("correction", NoValue)
        if correction is not NoValue:
            ddof = correction
        if axes is None or dtype is NotImplemented or type(ddof) not in (int, float) or type(keepdims) is not bool:
            return NotImplemented
        count = 1
        for a in axes:
            count *= self.shape[a]
        if (
            count - ddof <= 0
            or errors_kept()
            and not is_traced(self)
            or out is not None
            and type(out) is not ndarray
            or self.dtype == numpy.float16
            and name != "mean"
            or dtype is not None
            and name != "mean"
            and discards(self.dtype, dtype)
        ):
            return NotImplemented
        more = {} if name == "mean" else {"ddof": ddof}
        return reduced(
            lambda node, *given: rule(read_as(node, dtype), *given, dtype, **more), self, axes, keepdims, out
        )

    return native


def extreme_place(name: str) -> Callable[[ndarray, dict[str, Any]], Any]:
    """argmin, argmax."""
    rule = getattr(reductions, name, None)

    def native(self: ndarray, given: dict[str, Any]) -> Any:
        axis, keepdims = given.get("axis"), given.get("keepdims", False)
        out = given.get("out")
        if (
            rule is None
            or out is not None
            and type(out) is not ndarray
            or type(keepdims) is not bool
            or axis is not None
            and type(axis) is not int
        ):
            return NotImplemented
        axes = normal_axes(axis, self.ndim)
        if axes is None or self.size == 0:
            return NotImplemented
        node = self._node_()
        if axis is None:
            from_all = reshape(node, shape=(self.size,)) if self.ndim != 1 else node
            found = rule(from_all, axis=0, keepdims=False)
            return into(out, reshape(found, shape=(1,) * self.ndim) if keepdims and self.ndim else found)
        return into(out, rule(node, axis=axes[0], keepdims=keepdims))

    return native


def scanned(op: Op, x: ndarray, given: dict[str, Any]) -> Any:
    """`ufunc.accumulate`, recorded; axis None goes through all elements in one row."""
    axis, dtype, out = given.get("axis"), native_dtype(given.get("dtype")), given.get("out")
    if dtype is NotImplemented or axis is not None and type(axis) is not int or not x.ndim:
        return NotImplemented
    if out is not None and type(out) is not ndarray:
        return NotImplemented
    axes = normal_axes(axis, x.ndim)
    if axes is None:
        return NotImplemented
    node = x._node_()
    if dtype is not None and discards(node.dtype, dtype):
        x = array_of(read_as(node, dtype))
        node = x._node_()
    try:
        if axis is None:
            row = reshape(node, shape=(x.size,)) if x.ndim != 1 else node
            return into(out, told(op(row, axis=0, dtype=dtype)))
        order = common_order((x,))
        if order is None:
            return into(out, told(op(node, axis=axes[0], dtype=dtype)))
        node = told(op(straightened(x, inverse_of(order))._node_(), axis=order[axes[0]], dtype=dtype))
    except (TypeError, ValueError):
        return NotImplemented
    return of_node(node)._derived_(TRANSPOSE, order) if out is None else into(out, transpose(node, axes=order))


def scan(ufunc: str) -> Callable[[ndarray, dict[str, Any]], Any]:
    """cumsum, cumprod."""
    return lambda self, given: scanned(scans.scans[ufunc], self, given)


def native_accumulate(host: numpy.ufunc, x: ndarray, args: Any, kwargs: Any) -> Any:
    """`ufunc.accumulate`, recorded; NotImplemented where that is not possible here."""
    op = scans.scans.get(host.__name__)
    if op is None or at_hand(x) or not is_native(x.dtype):
        return NotImplemented
    given = bound(("axis", "dtype", "out"), args, kwargs)
    if given is None or getattr(numpy, host.__name__, None) is not host:
        return NotImplemented
    if type(given.get("out")) is tuple:
        given["out"] = given["out"][0] if len(given["out"]) == 1 else NotImplemented
    return scanned(op, x, {"axis": 0, **given}) if given.get("axis", 0) is not None else NotImplemented


OUT, BY_PLACE = ("axis", "out", "keepdims"), ("axis", "dtype", "out", "keepdims")
TABLE: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "sum": (NAMES, simple("sum")),
    "prod": (NAMES, simple("prod")),
    "min": ((*OUT, "initial", "where"), simple("min")),
    "max": ((*OUT, "initial", "where"), simple("max")),
    "any": ((*BY_PLACE, "where"), of_any_dtype("any")),
    "all": ((*BY_PLACE, "where"), of_any_dtype("all")),
    "mean": (BY_PLACE, moment("mean")),
    "var": (("axis", "dtype", "out", "ddof", "keepdims"), moment("var")),
    "std": (("axis", "dtype", "out", "ddof", "keepdims"), moment("std")),
    "argmin": (OUT, extreme_place("argmin")),
    "argmax": (OUT, extreme_place("argmax")),
    "cumsum": (("axis", "dtype", "out"), scan("add")),
    "cumprod": (("axis", "dtype", "out"), scan("multiply")),
}
