"""The methods of `ndarray`: tables of name and function.

`VIEWS` touch no data: see `view_methods`. `MAKERS` give fresh arrays (`ravel` where it has to), at once where the
array is at hand and small. `WRITERS` write into it. The rest is NumPy's method on the value. Reductions and scans are
in `reduce`, attributes in `attributes`.
"""

from __future__ import annotations

import operator
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy

from .. import speed
from ..backends.numpy.products import matmul as whole_product
from ..config import config
from ..graph.node import Node
from ..ops import elementwise, reductions
from ..ops import shape as shape_ops
from ..runtime.storage import lock
from . import reduce, view_methods
from .arithmetic import defers, from_operator, left_to
from .array import (
    HOST_VIEW,
    Handle,
    Writes,
    borrow,
    flag_of_writes,
    is_moved,
    is_native,
    is_traced,
    ndarray,
    of_node,
    wrap,
)
from .casts import cast_to_real, discards, real_of
from .elements import element
from .host import (
    PLAIN,
    TracedArgumentError,
    as_base,
    at_hand,
    bare,
    bind,
    by_engine,
    castable,
    dtype_of,
    fresh,
    is_wide,
    like,
    note_work,
    of_class,
    of_type,
    on_traced,
    part_of,
    public_module,
    read_only,
    to_host,
    unwrap,
)
from .layout import array_of, c_contiguous, laid, lies, settled, turned_to
from .line_warnings import as_line, at_line
from .overrides import has_hook, overriding
from .reduce import by_host, plain
from .renew import become
from .supported import VERSION
from .view_methods import own, reshape, view, view_by_host

# --- fresh arrays ---


def worked(self: Any, name: str) -> Any:
    """The value, for a method of NumPy's that computes with it or copies it: host work."""
    h = self._host_()
    note_work(f"ndarray.{name}", [self])
    return h


SPELLED: dict[Any, str] = {"c": "C", "f": "F", "a": "A", "k": "K"}  # orders that NumPy takes too


def ravel(self: Any, order: str = "C") -> Any:
    order = SPELLED.get(order, order)
    turned = turned_to(self, order) if engine_copies(self) and order != "C" and not settled(self) else None
    if turned is not None:
        self, order = turned, "C"
    elif order in ("K", "A") and own(self) and c_contiguous(self):
        order = "C"
    if order != "C" or not own(self):
        if type(self) is ndarray:
            copied = order == "C" and engine_copies(self) and not c_contiguous(self)
            return flatten(self) if copied else view_by_host(self, "ravel", order)
        value = self._host_().ravel(order)
        return of_type(type(self), value, self, self if numpy.may_share_memory(value, self._h_) else None)
    if not c_contiguous(self):
        return flatten(self)
    return reshape(self, (self.size,))


def engine_copies(self: Any) -> bool:
    """Whether what copies the elements in another order is the engine's to do, and not NumPy's at once."""
    if type(self) is not ndarray or not is_moved(self.dtype):
        return False
    return own(self) or by_engine() and not at_hand(self)  # `own` first: it makes a deferred selection


def flatten(self: Any, order: str = "C") -> Any:
    order = SPELLED.get(order, order)
    turned = turned_to(self, order) if engine_copies(self) and order != "C" and not settled(self) else None
    if turned is not None:
        self, order = turned, "C"
    if is_wide(self) and is_moved(self.dtype):
        return of_class(type(self), flatten(as_base(self), order), self)
    if order != "C" or not engine_copies(self) or at_hand(self):
        return like(self, worked(self, "flatten").flatten(order), [])
    if c_contiguous(self):
        return copy(reshape(self, (self.size,)))
    dense = self if own(self) else copy(self)
    return array_of(shape_ops.reshape(dense._node_(), shape=(self.size,)))


def copy(self: Any, order: Any = "C") -> Any:
    order = SPELLED.get(order, order)
    if type(self) is not ndarray:
        if is_wide(self):
            return of_class(type(self), copy(as_base(self), order), self)
        return of_type(type(self), worked(self, "copy").copy(order), self)
    if at_hand(self):
        return fresh(self._h_.copy(order))
    if order not in ("C", "K", "A", "F") or not is_moved(self.dtype):
        if is_traced(self):
            return array_of(self._node_())
        return fresh(worked(self, "copy").copy(order))
    return laid(self, order)


KNOWS_SAME_VALUE = VERSION >= (2, 4)
HOST_ASTYPE, NOTHING = numpy.ndarray.astype, {}  # type: ignore[var-annotated]


def astype(
    self: Any, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    if copy is True:
        try:
            value = speed.at_once(HOST_ASTYPE, self, (dtype, order, casting), NOTHING)
        except ValueError:
            if self.dtype.kind != "O":
                raise
            value = NotImplemented
        if value is not NotImplemented:
            return value
    order = SPELLED.get(order, order)
    if is_wide(self):
        base = as_base(self)
        value = astype(base, dtype, order, casting, subok, copy)
        return (self if value is base else of_class(type(self), value, self)) if subok else value
    plainly = type(self) is ndarray and not at_hand(self) and order in ("K", "C", "A", "F") and type(copy) is bool
    if plainly and is_moved(self.dtype) and not (isinstance(dtype, type) and issubclass(dtype, numpy.dtype)):
        target = dtype_of(dtype)
        if casting == "same_value":
            possible = KNOWS_SAME_VALUE and keeps_values(self, target)  # if not, NumPy says so
        else:
            computed = is_native(self.dtype) and is_native(target)
            moved = self.dtype == target and is_moved(target)
            possible = (computed or moved) and numpy.can_cast(self.dtype, target, casting)
        if possible:
            if target == self.dtype and not copy and lies(self, order):
                return self
            return laid(self, order, target)
        dtype = target  # NumPy warns of some names, and would again
    if is_traced(self):
        return on_traced("astype", numpy.ndarray.astype, (self, dtype, order, casting, subok, copy), {})
    if self.dtype.kind == "c" and discards(self.dtype, numpy.dtype(unwrap(dtype))) and casting == "unsafe":
        value = cast_to_real(self._host_(), unwrap(dtype), order)
    else:
        host: Any = castable(self._host_(), dtype)
        value = as_line(host.astype, unwrap(dtype), order, casting, False, copy)
    if value is self._h_ and (type(self) is ndarray or subok):
        return self
    if value is not self._h_:
        note_work("ndarray.astype", [self])
    return like(self, value, [self]) if subok else fresh(value) if value is not self._h_ else view(self, type=ndarray)


def keeps_values(x: Any, dtype: numpy.dtype[Any]) -> bool:
    """Whether all elements are in that dtype what they are in their own."""
    if not is_native(dtype) or is_traced(x) or not x.size:
        return False
    source = given = x._node_()
    imaginary = discards(given.dtype, dtype)
    given = elementwise.real(given) if imaginary else given
    made = elementwise.cast(given, dtype=dtype)
    back = elementwise.real(made) if discards(dtype, given.dtype) else made
    kept = elementwise.equal(elementwise.cast(back, dtype=given.dtype), given)
    if imaginary:
        kept = elementwise.logical_and(kept, elementwise.logical_not(elementwise.imag(source)))
    if given.dtype.kind in "fc" and dtype.kind in "fc":
        kept = elementwise.logical_or(kept, elementwise.logical_and(elementwise.isnan(made), elementwise.isnan(given)))
    elif given.dtype.kind == "f" or dtype.kind in "fc":  # what is cast back from infinity may be anything
        kept = elementwise.logical_and(kept, elementwise.isfinite(given if given.dtype.kind == "f" else made))
    if given.dtype.char == "e" and dtype.kind in "iu":  # NumPy compares their bits
        negative = elementwise.logical_and(elementwise.signbit(given), elementwise.logical_not(given))
        kept = elementwise.logical_and(kept, elementwise.logical_not(negative))
    if "u" in (dtype.kind, given.dtype.kind):  # what wraps around comes back
        signs = [elementwise.less(n, Node.of_scalar(n.dtype.type(0))) for n in (made, given) if n.dtype.kind in "if"]
        kept = elementwise.logical_and(kept, elementwise.logical_not(signs[0])) if signs else kept
    every = reductions.reductions["logical_and"](kept, axes=tuple(range(kept.ndim)), keepdims=False, dtype=None)
    return bool(of_node(every))


def clip(self: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    given = (min, max, out)
    if type(self) is not ndarray or not at_hand(self) or not all([type(x) in PLAIN or at_hand(x) for x in given]):
        return sys.modules["lazynp._core._methods"]._clip(self, min, max, out, **kwargs)
    args = () if min is None and max is None else (min, max)
    return by_host("clip", numpy.ndarray.clip, self, args, {**kwargs, **({} if out is None else {"out": out})})


def host_method(name: str) -> Callable[..., Any]:
    """A method that NumPy does on the value."""
    host = getattr(numpy.ndarray, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if at_hand(self) and (not args and not kwargs or plain(args, kwargs)):
            value = host(self._h_, *args, **kwargs)
            return like(self, value, [self]) if isinstance(value, (numpy.ndarray, tuple)) else value
        return by_host(name, host, self, args, kwargs)

    return call


def native_first(name: str, native: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is recorded where the array, or the first argument, is pending or large."""
    fallback = writer(name) if name in WRITERS else host_method(name)
    if name not in WRITERS:
        reduce.RULES[name] = native

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        waits = not at_hand(self) or args and type(args[0]) is ndarray and not at_hand(args[0])
        if waits and type(self) is ndarray and is_native(self.dtype):
            value = native(self, *args, **kwargs)
            if value is not NotImplemented:
                return value
        if name in WRITERS and is_wide(self) and is_native(self.dtype):
            value = native(as_base(self), *map(bare, args), **{k: bare(v) for k, v in kwargs.items()})
            if value is not NotImplemented:
                return value
        return fallback(self, *args, **kwargs)

    return call


# --- writes ---


def writer(name: str) -> Callable[..., Any]:
    """A method that writes into the array, done by NumPy at once."""
    host = getattr(numpy.ndarray, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        ours: list[Any] = []
        try:
            values = [to_host(a, ours) for a in args]
            named = {k: to_host(v, ours) for k, v in kwargs.items()}
            to_host(self, ours)
        except TracedArgumentError:
            return on_traced(name, host, (self, *args), kwargs)
        note_work(f"ndarray.{name}", [self])
        if name == "put" and len(values) > 1:
            values[1] = real_of(values[1], self.dtype)
        with Writes() as to:
            host(to(self), *values, **named)

    return call


def item(self: Any, *args: Any) -> Any:
    return self._host_().item(*args)


def fill(self: Any, value: Any) -> None:
    if is_traced(self) or is_traced(value):
        self[...] = value
        return
    plainly = type(self) is ndarray and not at_hand(self) and is_native(self.dtype)
    if plainly and type(value) in (bool, int, float):
        self[...] = value
        return
    if isinstance(value, Handle) and self.dtype.kind != "O":  # an array of objects keeps the array itself
        value = element(value, self.dtype)
        value = value.__array__() if isinstance(value, Handle) else value
    if plainly or is_wide(self) and is_native(self.dtype):
        one = numpy.empty((), self.dtype)  # which NumPy converts as it does for `fill`
        at_line(one.fill, value if isinstance(value, numpy.ndarray) and value.ndim else real_of(value, self.dtype))
        as_base(self)[...] = one[()]
        return
    worked(self, "fill")
    with Writes() as to:
        to(self).fill(real_of(value, self.dtype))


def byteswap(self: Any, inplace: bool = False) -> Any:
    worked(self, "byteswap")
    if inplace:
        with Writes() as to:
            to(self).byteswap(inplace=True)
        return self
    return like(self, unwrap(self).byteswap(), [])


def resize(self: Any, *shape: Any, refcheck: bool = True) -> None:
    """`ndarray.resize`: what shares the memory is asked for where NumPy counts references."""
    with lock:
        h = self._writable_()
        new = h.copy() if h.itemsize else self._pin_().view()  # a copy of texts without letters has room for one
    new.resize(*unwrap(shape), refcheck=refcheck)
    if new.size == h.size:
        self._set_shape(new.shape)
        return
    if not h.itemsize:
        become(self, new)
        return
    whole = self._s_.buf
    if self.base is not None or whole.base is not None or h.size != whole.size or not h.flags.c_contiguous:
        raise ValueError("cannot resize this array: it does not own its data")
    seen = sys.getrefcount(self) > MINE or weakref.getweakrefcount(self)
    if refcheck and (seen or sys.getrefcount(self._s_) > 2):
        held = numpy.empty(1)
        whole = held[:]
        held.resize(2)  # raises NumPy's error
    out = wrap(new)
    if type(self) is ndarray:
        bind(self, out._s_, new, new, None)
        if not flag_of_writes(h):
            read_only(self)
    else:
        out._pin_()
        new.flags.writeable = flag_of_writes(h)
        bind(self, out._s_, self._b_, new, HOST_VIEW)


MINE = 4  # references to an array in its own method: a name, a bound method, `self`, an argument


def setflags(self: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
    for name, value in (("aligned", align), ("writebackifcopy", uic), ("writeable", write)):
        if value is not None:
            setattr(self.flags, name, bool(value))


def new(
    cls: Any,
    shape: Any,
    dtype: Any = float,
    buffer: Any = None,
    offset: Any = 0,
    strides: Any = None,
    order: Any = None,
) -> Any:
    """`ndarray.__new__`. Of NumPy's own classes, which old pickles name beside it, it makes NumPy's arrays."""
    if not (isinstance(cls, type) and issubclass(cls, ndarray)):
        return numpy.ndarray.__new__(cls, shape, dtype, buffer, offset, strides, order)
    ours: list[Any] = []
    shape, strides = to_host(shape, ours), to_host(strides, ours)
    if buffer is None:
        host = numpy.ndarray(shape, dtype, None, offset, strides, order)
        return fresh(host) if cls is ndarray else of_type(cls, host, None)
    if isinstance(buffer, Handle):
        host = numpy.ndarray(shape, dtype, buffer._pin_(), offset, strides, order)
        return part_of(buffer, host) if cls is ndarray else of_type(cls, host, None, buffer)
    host = numpy.ndarray(shape, dtype, buffer, offset, strides, order)
    out = borrow(host)
    return out if cls is ndarray else of_class(cls, out, None)


def array_finalize(self: Any, parent: Any, /) -> None:
    """`ndarray.__array_finalize__`: nothing to do."""


speed.tell(finalize_nothing=array_finalize, whole_product=whole_product)


def divmod_(self: Any, other: Any) -> Any:
    return ufunc_or_defer("divmod", self, other)


def rdivmod(self: Any, other: Any) -> Any:
    return ufunc_or_defer("divmod", self, other, True)


def matmul(self: Any, other: Any) -> Any:
    if type(other) is ndarray and other._b_ is other._s_.buf and self._b_ is self._s_.buf:
        x, y = self._h_, other._h_
        if x.size <= config.limit and y.size <= config.limit:
            value = operator.matmul(x, y)
            return from_operator(value)
    return ufunc_or_defer("matmul", self, other)


def rmatmul(self: Any, other: Any) -> Any:
    return ufunc_or_defer("matmul", self, other, True)


def may_hold(own: numpy.dtype[Any], other: numpy.dtype[Any]) -> bool:
    """Whether a result of the two may be written into an array of the first; if not, NumPy says so before all else."""
    return numpy.can_cast(numpy.result_type(own, other), own, "same_kind")


def imatmul(self: Any, other: Any) -> Any:
    foreign = type(other) not in PLAIN and not isinstance(other, (Handle, numpy.ndarray, list, tuple))
    if foreign and defers(self, other, True):
        return NotImplemented
    if overriding((self, other)) or has_hook(self):
        axes = [(-1,), (-2, -1), (-1,)] if self.ndim == 1 else [(-2, -1)] * 3
        return UFUNCS["matmul"](self, other, axes=axes, out=(self,))
    if is_traced(self) or is_traced(other):
        self[...] = UFUNCS["matmul"](self, other)
        return self
    two = type(other) in (ndarray, numpy.ndarray) and self.ndim > 1 and other.ndim > 1
    if two and type(self) is ndarray and not at_hand(self) and may_hold(self.dtype, other.dtype):
        return UFUNCS["matmul"](self, other, out=(self,))
    worked(self, "__imatmul__")
    with Writes() as to:
        at_line(operator.imatmul, to(self), unwrap(other))
    return self


def ufunc_or_defer(name: str, self: Any, other: Any, swapped: bool = False) -> Any:
    given = type(other) in PLAIN or isinstance(other, (numpy.ndarray, list, tuple)) or type(other) is ndarray
    if not given and not swapped and defers(self, other):
        return left_to(name, self, other)
    call, pair = UFUNCS[name], (other, self) if swapped else (self, other)
    return at_line(call, *pair) if at_hand(self) else call(*pair)  # what is recorded tells of its own errors


UFUNCS: dict[str, Any] = {}

VIEWS = ("reshape", "transpose", "swapaxes", "squeeze", "diagonal", "getfield", "view")
MAKERS = ("ravel", "flatten", "copy", "astype", "clip")
WRITERS = ("sort", "partition", "put", "setfield")
WRITES = ("item", "fill", "byteswap", "resize", "setflags")
HOST = (
    "argpartition",
    "argsort",
    "choose",
    "compress",
    "conj",
    "conjugate",
    "dot",
    "nonzero",
    "repeat",
    "round",
    "searchsorted",
    "take",
    "tobytes",
    "tofile",
    "tolist",
    "trace",
    "dumps",
    "dump",
    *(("tostring",) if hasattr(numpy.ndarray, "tostring") else ()),  # before NumPy 2.3
)
SPECIAL = {
    "__new__": new,
    "__array_finalize__": array_finalize,
    "__divmod__": divmod_,
    "__rdivmod__": rdivmod,
    "__matmul__": matmul,
    "__rmatmul__": rmatmul,
    "__imatmul__": imatmul,
}

SLOTS = {"__matmul__": "forward", "__rmatmul__": "reflected", "__imatmul__": "inplace"}  # of the C module


# The place of the argument that is written to, which is left to the Python method.
WRITTEN = {"clip": 2, "compress": 2, "dot": 1, "round": 1, "take": 2, "trace": 4}
WRITTEN |= {"all": 1, "any": 1, "argmax": 1, "argmin": 1, "max": 1, "min": 1, "ptp": 1}
WRITTEN |= {"cumprod": 2, "cumsum": 2, "mean": 2, "prod": 2, "std": 2, "sum": 2, "var": 2}
NOT_WHOLE = {"byteswap", "resize", "setfield", "setflags", "dump", "dumps", "tofile"}


def give(name: str, function: Callable[..., Any]) -> None:
    """Make a function a method of `ndarray`, whose whole NumPy does where all is small."""
    if name in NOT_WHOLE:
        setattr(ndarray, name, described(name, function))
        return
    flags = speed.WRITES if name in WRITERS or name == "fill" else speed.GROWS if name == "repeat" else 0
    flags |= speed.VALUES if name in ("item", "tobytes", "tolist") else 0
    flags |= (speed.REDUCES if name in speed.REDUCING else 0) | (speed.TOUCHES if name in speed.TOUCHING else 0)
    flags |= speed.LOOKS if name == "diagonal" else speed.ONCE if name in speed.AT_ONCE else 0
    whole = speed.method(getattr(numpy.ndarray, name), described(name, function), WRITTEN.get(name, speed.MOST), flags)
    setattr(ndarray, name, whole)


def described(name: str, function: Callable[..., Any]) -> Any:
    """The function with the name and the documentation of NumPy's method."""
    host = getattr(numpy.ndarray, name)
    function.__name__, function.__qualname__ = name, f"ndarray.{name}"
    function.__doc__ = host.__doc__
    function.__module__ = public_module("numpy")
    return function


def attach() -> None:
    """Make the tables methods of `ndarray`."""
    table: dict[str, Any] = {name: globals()[name] for name in (*MAKERS, *WRITES)}
    table |= {name: getattr(view_methods, name) for name in VIEWS}
    table |= {name: writer(name) for name in WRITERS}
    table |= {name: host_method(name) for name in HOST}
    table |= {name: reduce.reduction(name, *row) for name, row in reduce.TABLE.items()}
    for name, function in table.items():
        give(name, function)
    for name, function in SPECIAL.items():
        speed.attach(ndarray, name, function, SLOTS.get(name, ""), "matmul")


attach()
