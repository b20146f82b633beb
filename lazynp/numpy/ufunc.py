"""`ufunc`: one object for each of NumPy's, over our arrays.

Small arrays go to NumPy at once, larger ones are recorded; what has overriding operands (`__array_ufunc__`) is
theirs; what is left is NumPy's, on host values.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy

from ..config import config
from ..graph.node import Node
from ..ops.contraction import matmul
from ..ops.elementwise import ufuncs
from ..runtime.storage import lock
from ..runtime.views import TRANSPOSE, inverse_of
from ..speed import UfuncBase, tell
from . import arithmetic, subclasses
from .arithmetic import array_of_list, assign, assign_where, dummy
from .array import Handle, Writes, is_native, is_traced, ndarray, of_node, writeable
from .calls import call_wrap, check_call, check_outs, with_out
from .host import (
    PLAIN,
    SCALARS,
    TracedArgumentError,
    at_hand,
    fresh,
    home,
    host_function,
    laid_out,
    like,
    note_large,
    on_traced,
    to_host,
)
from .record import MOST_AXES, as_nodes, cast_node
from .reduce import native_reduce

HOST_TYPES = PLAIN | {ndarray, numpy.ndarray, list, tuple}
INTO_FIRST = "qr_r_raw"  # LAPACK's factors, written over the matrix
METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")
COPIED = tuple([k for k in ("__doc__", "__qualname__", "__signature__", "__text_signature__") if hasattr(numpy.add, k)])
ENGINE = frozenset({*ufuncs, "matmul"})
NATIVE_KEYWORDS = frozenset({"out", "where", "dtype", "casting", "subok", "order"})


class UfuncType(type):
    """NumPy's and SciPy's ufunc objects count as ufuncs too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is cls or isinstance(instance, numpy.ufunc)


def described(name: str) -> property:
    """An attribute of NumPy's ufunc, that can be set where NumPy lets it."""

    def get(self: Any) -> Any:
        return getattr(self.host, name)

    def put(self: Any, value: Any) -> None:
        setattr(self.host, name, value)

    return property(get, put)


class ufunc(UfuncBase, metaclass=UfuncType):
    """A function that operates element by element on whole arrays. See `numpy.ufunc`."""

    __slots__ = ("operator", "nin", "nout", "nargs", "identity", "signature", "__dict__", "__weakref__")
    host: numpy.ufunc
    __name__ = described("__name__")
    ntypes, types = described("ntypes"), described("types")

    def __init__(self, host: numpy.ufunc) -> None:
        self.host = host
        self.nin, self.nout, self.nargs = host.nin, host.nout, host.nargs
        self.identity, self.signature = host.identity, host.signature
        self.__dict__.update({k: getattr(host, k, None) for k in COPIED})
        self.operator = host.__name__ if host.__name__ in ENGINE and getattr(numpy, host.__name__, None) is host else ""

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            limit = config.limit
            if len(args) == 1:
                (x,) = args
                kind = type(x)
                if kind is ndarray:
                    if x._b is x._s.buf and x._h.size <= limit:
                        value = self.host(x._h)
                        return value if type(value) in SCALARS else returned(value)
                    if self.operator and self.nin == 1:
                        return elementwise(self.operator, self.host, x)
                elif kind in SCALARS:
                    return self.host(x)
            elif len(args) == 2 == self.nin:
                x, y = args
                kind, other = type(x), type(y)
                if kind is ndarray and x._b is x._s.buf and x._h.size <= limit:
                    if other is ndarray:
                        if y._b is y._s.buf and y._h.size <= limit:
                            value = self.host(x._h, y._h)
                            return value if type(value) in SCALARS else returned(value)
                    elif other in SCALARS:
                        value = self.host(x._h, y)
                        return value if type(value) in SCALARS else returned(value)
                elif other is ndarray and kind in SCALARS and y._b is y._s.buf and y._h.size <= limit:
                    value = self.host(x, y._h)
                    return value if type(value) in SCALARS else returned(value)
        elif len(kwargs) == 1 and self.nout == 1 and len(args) == self.nin:
            out = kwargs.get("out")
            if type(out) is ndarray:
                with lock:
                    if out._s.free and out._b is out._s.buf and out._h.size <= config.limit and all_small(args):
                        self.host(*[x._h if type(x) is ndarray else x for x in args], out=out._h)
                        return out
        for x in args:
            if type(x) not in HOST_TYPES:
                break
        else:
            if "out" not in kwargs:
                return self.plain_call(args, kwargs)
        return self.general(None, args, kwargs)

    def plain_call(self, args: Any, kwargs: Any) -> Any:
        """No operand has a say of its own."""
        if len(args) == self.nin and self.operator:
            value = native_call(self, args, kwargs)
            if value is not NotImplemented:
                return value
        return self.on_host("__call__", args, kwargs)

    def general(self, method: str | None, args: Any, kwargs: Any) -> Any:
        """Any operands: foreign types first, then ours."""
        name = method or "__call__"
        args = tuple([subclasses.home(x) for x in args])
        if method is None and len(args) > self.nin:
            if "out" in kwargs:
                raise TypeError("cannot specify 'out' as both a positional and keyword argument")
            if len(args) > self.nargs:
                return self.host(*args, **kwargs)
            outs = (*args[self.nin :], *(None,) * (self.nargs - len(args)))
            if any(o is Ellipsis for o in outs):
                raise TypeError("out=... is only allowed as a keyword argument.")
            args = args[: self.nin]
            if any(o is not None for o in outs):
                kwargs = {**kwargs, "out": outs}
        elif method is None and len(args) < self.nin:
            check_call(self, name, args, kwargs)
        out = kwargs.get("out")
        if out is Ellipsis:
            return self.into_arrays(name, args, kwargs)
        if "out" in kwargs:
            outs = out if type(out) is tuple else (out,)
            check_outs(self, name, out, outs)
            kwargs = {**kwargs, "out": outs}
            if all(o is None for o in outs):
                del kwargs["out"]
        if "sig" in kwargs and "signature" not in kwargs:
            kwargs = {("signature" if k == "sig" else k): v for k, v in kwargs.items()}
        where = kwargs.get("where")
        foreign = overriding((*args, *kwargs.get("out", ()), *((where,) if where is not None else ())))
        if foreign:
            check_call(self, name, args, kwargs)
            return ask(self, name, foreign, args, kwargs)
        if name == "__call__" and self.operator and len(args) == self.nin:
            value = native_call(self, args, kwargs)
            if value is not NotImplemented:
                return value
        return self.on_host(name, args, kwargs)

    def into_arrays(self, method: str, args: Any, kwargs: Any) -> Any:
        """`out=...`: arrays also where there are no axes."""
        others = {k: v for k, v in kwargs.items() if k != "out"}
        foreign = overriding((*args, *others.values()))
        if foreign:
            return ask(self, method, foreign, args, kwargs)
        ours: list[Any] = []
        try:
            host = [to_host(x, ours) for x in args]
        except TracedArgumentError:
            return on_traced(self.__name__, self.host, args, {**others, "out": ...})
        value = (self.host if method == "__call__" else getattr(self.host, method))(
            *host, **{k: to_host(v, ours) for k, v in others.items()}, out=...
        )
        leader = wrapper_of(args, None) if kwargs.get("subok", True) else None
        if leader is None:
            return home(value, ours)
        return wrapped(leader, value, None, (self, args, 0) if method == "__call__" else None)

    def on_host(self, method: str, args: Any, kwargs: Any) -> Any:
        """NumPy's, on values."""
        ours: list[Any] = []
        try:
            host = [to_host(x, ours) for x in args]
            named = {k: to_host(v, ours) for k, v in kwargs.items()}
        except TracedArgumentError:
            name = self.__name__ if method == "__call__" else f"{self.__name__}.{method}"
            return on_traced(name, self.host if method == "__call__" else getattr(self.host, method), args, kwargs)
        if ours:
            note_large(f"{self.__name__}{'' if method == '__call__' else '.' + method}", ours)
        outs = kwargs.get("out")
        function = self.host if method == "__call__" else getattr(self.host, method)
        if outs is None and method != "at" and not self.host.__name__.startswith(INTO_FIRST):
            value = function(*host, **named)
        else:
            with Writes() as to:
                if outs is not None:
                    named["out"] = to(outs)
                if args and (method == "at" or self.host.__name__.startswith(INTO_FIRST)):
                    host[0] = to(args[0]) if isinstance(args[0], Handle) else host[0]
                value = function(*host, **named)
        if outs is not None and all(o is not None for o in outs) and not any(is_subclass(o) for o in outs):
            return outs[0] if len(outs) == 1 else outs
        leader = wrapper_of(args, outs) if kwargs.get("subok", True) else None
        if leader is None:
            if type(value) is tuple:
                return tuple(
                    [o if o is not None else home(v, ours) for o, v in zip(outs or (None,) * len(value), value)]
                )
            return home(value, ours)
        context = (self, (*args, *(outs or ())), 0) if method == "__call__" else None
        return wrapped(leader, value, outs, context)

    def reduce(self, array: Any, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.ufunc.reduce`."""
        if type(array) is ndarray:
            value = native_reduce(self.host, array, args, kwargs)
            if value is not NotImplemented:
                return value
        return self.general("reduce", *with_out((array, *args), kwargs, 3))

    def accumulate(self, array: Any, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.ufunc.accumulate`."""
        return self.general("accumulate", *with_out((array, *args), kwargs, 3))

    def reduceat(self, array: Any, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.ufunc.reduceat`."""
        return self.general("reduceat", *with_out((array, *args), kwargs, 4))

    def outer(self, A: Any, B: Any, /, **kwargs: Any) -> Any:
        """See `numpy.ufunc.outer`."""
        A, B = subclasses.home(A), subclasses.home(B)
        if is_subclass(A) or is_subclass(B):  # a call like any other, for whoever wraps its result
            A, B = [x if isinstance(x, Handle) else array_of_list(x) for x in (A, B)]
            return self(A.reshape(A.shape + (1,) * B.ndim), B, **kwargs)
        return self.general("outer", (A, B), kwargs)

    def at(self, a: Any, *args: Any) -> Any:
        """See `numpy.ufunc.at`."""
        return self.general("at", (a, *args), {})

    def resolve_dtypes(self, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.ufunc.resolve_dtypes`."""
        return self.host.resolve_dtypes(*args, **kwargs)

    def _to_host(self) -> numpy.ufunc:
        return self.host

    def __getattr__(self, name: str) -> Any:
        if name == "host":
            raise AttributeError(name)
        return getattr(self.host, name)

    def __repr__(self) -> str:
        return f"<ufunc '{self.host.__name__}'>"

    def __reduce__(self) -> Any:
        return of, (self.host,)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.host

    def __hash__(self) -> int:
        return hash(self.host)


ufunc.__module__ = "lazynp"


def returned(value: Any) -> Any:
    """NumPy's fresh result."""
    if type(value) is numpy.ndarray:
        return laid_out(value)
    return home(value, [])


tell(returned=returned, ufunc=ufunc)


def all_small(args: Any) -> bool:
    """Whether all operands are at hand and small, or scalars."""
    limit = config.limit
    for x in args:
        if type(x) is ndarray:
            if x._b is not x._s.buf or x._h.size > limit:
                return False
        elif type(x) not in SCALARS:
            return False
    return True


def is_subclass(x: Any) -> bool:
    return type(x) is not ndarray and isinstance(x, Handle)


def overriding(operands: Any) -> list[Any]:
    """The operands, of different types, with an `__array_ufunc__` of their own; subclasses before their bases."""
    found: list[Any] = []
    for x in operands:
        kind = type(x)
        if kind in HOST_TYPES:
            continue
        implementation = getattr(kind, "__array_ufunc__", default)
        if (
            implementation is default
            or implementation is numpy.ndarray.__array_ufunc__
            or any(type(o) is kind for o in found)
        ):
            continue
        at = next((i for i, o in enumerate(found) if issubclass(kind, type(o))), len(found))
        found.insert(at, x)
    return found


def ask(u: ufunc, method: str, foreign: list[Any], args: Any, kwargs: Any) -> Any:
    """The overriding operands in turn."""
    for x in foreign:
        if type(x).__array_ufunc__ is None:
            raise TypeError(f"operand '{type(x).__name__}' does not support ufuncs (__array_ufunc__=None)")
    for x in foreign:
        value = x.__array_ufunc__(given_to(x, u), method, *args, **kwargs)
        if value is not NotImplemented:
            return value
    types = ", ".join(repr(type(x).__name__) for x in (*args, *kwargs.get("out", ())))
    shown = "".join(f", {k}={v!r}" for k, v in kwargs.items())
    raise TypeError(
        f"operand type(s) all returned NotImplemented from __array_ufunc__({u!r}, {method!r}, "
        f"{', '.join(map(repr, args))}{shown}): {types}"
    )


def given_to(x: Any, u: ufunc) -> Any:
    """The function object that a foreign type is given: types of installed libraries compare with NumPy's own."""
    return u


def default(self: Any, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """`ndarray.__array_ufunc__`: the call comes home."""
    outs = kwargs.get("out", ())
    if overriding((*inputs, *(outs if type(outs) is tuple else (outs,)))):
        return NotImplemented
    if isinstance(function, numpy.ufunc) and not hasattr(function, "host"):
        if type(self) is not ndarray and method == "__call__" and not kwargs:
            value = reflected(self, function, inputs)
            if value is not NotImplemented:
                return value
        function = of(function)
    elif not isinstance(function, (ufunc, numpy.ufunc)):  # a library's own, which asks us again for arrays of ours
        return host_function(getattr(function, method))(*inputs, **kwargs)
    value = getattr(function, method)(*inputs, **kwargs)
    if outs and isinstance(value, Handle) and sys._getframe(1).f_globals.get("__name__") == GOES_ON:
        return value._pin()  # as NumPy's array, or the method would go on with a copy
    return value


GOES_ON = "numpy._core._methods"  # NumPy's `mean` writes the sum into `out`, and then divides that


def reflected(self: Any, function: numpy.ufunc, inputs: Any) -> Any:
    """An operator with NumPy's scalar or array on the left: a subclass that overrides it goes first, as in Python."""
    if len(inputs) != 2 or inputs[1] is not self or not isinstance(inputs[0], (numpy.generic, numpy.ndarray)):
        return NotImplemented
    name = REFLECTED.get(function.__name__, "")
    overridden = getattr(type(self), name, None)
    if overridden is None or overridden is getattr(ndarray, name):
        return NotImplemented
    return overridden(self, inputs[0])


REFLECTED = {
    **{long: f"__r{short}__" for short, long in arithmetic.BINARY.items()},
    "equal": "__eq__", "not_equal": "__ne__", "less": "__gt__", "less_equal": "__ge__", "greater": "__lt__",
    "greater_equal": "__le__", "matmul": "__rmatmul__", "divmod": "__rdivmod__",
}  # fmt: skip


default.__name__ = default.__qualname__ = "__array_ufunc__"
ndarray.__array_ufunc__ = default  # type: ignore[attr-defined]
ndarray.__array_priority__ = 0.0  # type: ignore[attr-defined]


def wrapper_of(args: Any, outs: Any) -> Any:
    """The operand whose `__array_wrap__` makes the result; None where the result is an array of ours."""
    best, priority, found = None, -float("inf"), False
    for x in (*(outs or ()), *args):
        kind = type(x)
        if kind is ndarray:
            p = 0.0
            candidate = None
        elif (
            kind in HOST_TYPES
            or isinstance(x, type)
            or not hasattr(kind, "__array_wrap__")
            or isinstance(x, (numpy.ndarray, numpy.generic))
        ):
            continue
        else:
            p, candidate = getattr(x, "__array_priority__", 0.0), x
        if not found or p > priority or p == priority and best is None:
            best, priority, found = candidate, p, True
    return best


def wrapped(leader: Any, value: Any, outs: Any, context: Any) -> Any:
    """Results through `__array_wrap__`."""

    def one(v: Any, i: int) -> Any:
        out = outs[i] if outs is not None else None
        scalar = not isinstance(v, numpy.ndarray)
        array = out if out is not None else fresh(numpy.asarray(v))
        owner = out if is_subclass(out) else leader
        told = context and (*context[:2], i)
        return call_wrap(owner, array, told, scalar and out is None)

    return tuple([one(v, i) for i, v in enumerate(value)]) if type(value) is tuple else one(value, 0)


def array_wrap(self: Any, array: Any, context: Any = None, return_scalar: bool = False, /) -> Any:
    """`ndarray.__array_wrap__`."""
    if not isinstance(array, (Handle, numpy.ndarray)):
        raise TypeError("can only be called with ndarray object")
    if return_scalar and array.ndim == 0 and type(self) is ndarray:
        return array[()]
    if type(array) is type(self):
        return array
    if type(self) is ndarray and isinstance(array, Handle):
        return array.view(ndarray)
    ours: list[Any] = []
    return like(
        self, to_host(array, ours), ours if type(self) is ndarray else [a for a in ours if type(a) is not type(self)]
    )


array_wrap.__name__ = array_wrap.__qualname__ = "__array_wrap__"
ndarray.__array_wrap__ = array_wrap  # type: ignore[attr-defined]


def native_call(u: ufunc, args: Any, kwargs: Any) -> Any:
    """The call as recorded operations; NotImplemented where the engine does not do it, or NumPy does it better."""
    if not config_allows(args, kwargs) or not NATIVE_KEYWORDS.issuperset(kwargs):
        return NotImplemented
    name = u.operator
    if name not in ENGINE or kwargs.get("order", "K") != "K":
        return NotImplemented
    (out,) = kwargs.get("out") or (None,)
    where, dtype, casting = kwargs.get("where", True), kwargs.get("dtype"), kwargs.get("casting", "same_kind")
    if out is None and where is True and dtype is None and casting == "same_kind":
        if name == "matmul":
            return native_matmul(u, args)
        if name != "power":
            return elementwise(name, u.host, *map(to_node_operand, args))
    if name == "matmul" or out is None and where is not True or out is not None and not recordable(out):
        return NotImplemented
    operands: Any = [to_node_operand(a) for a in args]
    order = arithmetic.common_order(operands) if out is None else None
    if order is not None:
        operands = arithmetic.in_memory_order(operands, order)
    nodes = as_nodes(operands)
    if nodes is None or arithmetic.out_of_range(nodes):
        return NotImplemented
    if dtype is not None:
        nodes = loop_operands(u, nodes, dtype, casting)
    elif casting != "same_kind":
        return NotImplemented
    if nodes is None:
        return NotImplemented
    if name == "power" and where is not True:  # where the mask is not set no exponent is looked at
        return NotImplemented
    try:
        node = ufuncs[name](*nodes)
    except (TypeError, ValueError, OverflowError):
        return NotImplemented
    if out is not None and not fits(node, out, casting):
        return NotImplemented
    if name == "power":
        arithmetic.check_exponent(node)
    if out is not None:
        return write(out, node, where)
    return of_node(node) if order is None else of_node(node)._derived(TRANSPOSE, order)


def fits(node: Node, out: Any, casting: Any) -> bool:
    """Whether a result can be written into `out`, which NumPy asks before it looks at any value."""
    return node.shape == out.shape and numpy.can_cast(node.dtype, out.dtype, casting)


def write(out: Any, node: Node, where: Any) -> Any:
    """The result of a call with `out=`, and perhaps `where=`."""
    node = cast_node(node, out.dtype)
    if where is not True:
        if type(where) is not ndarray or where.dtype != bool or where.shape != out.shape:
            return NotImplemented
        return out if assign_where(out, where._node(), node) else NotImplemented
    with lock:
        if not recordable(out):
            return NotImplemented
        assign(out, node)
    return out


def native_matmul(u: ufunc, args: Any) -> Any:
    """A matrix product: a library call in the stream; at once where it only makes something small of what is at
    hand."""
    if len(args) == 2 and config.limit >= 0 and all(type(a) is ndarray for a in args):
        x, y = args
        if 0 < x.ndim <= 2 and 0 < y.ndim <= 2:
            rows, columns = x.size // max(x.shape[-1], 1), y.size // max(y.shape[0], 1)
            small = 0 < rows * columns <= config.limit and x.shape[-1] == y.shape[0]
            if small and not is_traced(x) and not is_traced(y):
                return returned(u.host(x._host(), y._host()))
    operands = [to_node_operand(a) for a in args]
    order = stack_order(operands)
    nodes = as_nodes(operands if order is None else arithmetic.in_memory_order(operands, order))
    if nodes is None:
        return NotImplemented
    try:
        out = of_node(matmul(*nodes))
        return out if order is None else out._derived(TRANSPOSE, order)
    except (TypeError, ValueError):
        u.host(*[dummy(x) for x in args])
        raise


def stack_order(operands: list[Any]) -> tuple[int, ...] | None:
    """`common_order` of stacks of matrices: of the axes before the matrices' own."""
    if not all([isinstance(x, (Handle, numpy.ndarray)) and x.ndim > 1 for x in operands]):
        return None
    most = max([x.ndim for x in operands])
    if most < 4 or arithmetic.common_order(operands) is None:
        return None
    strides = []
    for x in operands:
        meta = x._meta() if isinstance(x, Handle) else x
        own = [0 if n == 1 else abs(s) for n, s in zip(meta.shape[:-2], meta.strides)]
        strides.append((*(0,) * (most - x.ndim), *own))
    memory = arithmetic.memory_order(most - 2, strides)
    return None if memory is None else (*inverse_of(memory), most - 2, most - 1)


def loop_operands(u: ufunc, nodes: list[Node], dtype: Any, casting: Any) -> list[Node] | None:
    """The operands, cast to the loop that `dtype=` chooses. Raises NumPy's errors."""
    if type(dtype) is tuple:
        return None
    target = numpy.dtype(dtype)
    if not is_native(target):
        return None
    operands = tuple([type(n.value) if n.weak and n.value is not None else n.dtype for n in nodes])
    loop = u.host.resolve_dtypes((*operands, None), signature=(None,) * u.nin + (target,), casting=casting)
    if loop[-1] != target or not all(is_native(d) for d in loop):
        return None
    return [cast_node(n, d) for n, d in zip(nodes, loop)]


def to_node_operand(x: Any) -> Any:
    """Lists and NumPy's arrays as arrays the engine takes."""
    if type(x) in (list, tuple):
        ours: list[Any] = []
        return numpy.asarray(to_host(x, ours))
    return x


def config_allows(args: Any, kwargs: Any) -> bool:
    """Whether some array is pending or large, and no subclass takes part."""
    limit = config.limit
    found = False
    for x in (*args, *(kwargs.get("out") or ())):
        kind = type(x)
        if kind is ndarray:
            found = found or not at_hand(x)
        elif kind in PLAIN or kind in (list, tuple):
            continue
        elif kind is numpy.ndarray:
            found = found or x.size > limit
        else:
            return False
    return found


def recordable(out: Any) -> bool:
    """Whether a write to the whole of `out` can be recorded."""
    if type(out) is not ndarray or not is_native(out.dtype) or out.ndim > MOST_AXES:
        return False
    s = out._s
    if s.rare is not None and (s.rare.pin or s.rare.mask is not None):
        return False
    return writeable(out)


known: dict[int, ufunc] = {}


def of(host: numpy.ufunc, keep: bool = False) -> ufunc:
    """Our object for NumPy's ufunc: the same one each time for those of compiled modules."""
    found = known.get(id(host))
    if found is None or found.host is not host:
        found = ufunc(host)
        if keep:
            known[id(host)] = found
    return found


# --- Operators --------------------------------------------------------------------------------------------------------

SIMPLE = PLAIN | {ndarray, numpy.ndarray}


def elementwise(name: str, host: Any, *operands: Any) -> Any:
    """An elementwise operation past the shortcuts; subclasses, and operands with `__array_ufunc__`, have a say."""
    for x in operands:
        kind = type(x)
        if kind is ndarray:
            if x._s.buf is not None and x._b is not x._s.buf:
                x._host()  # a view whose storage is there is at hand too
        elif kind not in SIMPLE:
            return with_protocol(name, host, operands)
    return arithmetic.elementwise(name, host, *operands)


def with_protocol(name: str, host: Any, operands: Any) -> Any:
    """Operands that may have a say. The operator is NumPy's, not the ufunc: it compares structured arrays too."""
    u = of(getattr(numpy, name))
    foreign = overriding(operands)
    if foreign:
        return ask(u, "__call__", foreign, operands, {})
    ours: list[Any] = []
    value = host(*[to_host(x, ours) for x in operands])
    leader = wrapper_of(operands, None)
    return home(value, ours) if leader is None else wrapped(leader, value, None, (u, operands, 0))


def write_result(self: Any, name: str, host: Any, inplace_host: Any, other: Any) -> Any:
    """`self op= other` past the shortcuts."""
    if type(other) not in SIMPLE and not isinstance(other, Handle):
        return of(getattr(numpy, name))(self, other, out=(self,))
    if type(self) is not ndarray and type(self).__array_ufunc__ is not default:
        return of(getattr(numpy, name))(self, other, out=(self,))
    return arithmetic.write_result(self, name, host, inplace_host, other)
