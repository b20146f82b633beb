"""`ufunc`: one object for each of NumPy's, over our arrays.

Small arrays go to NumPy at once, larger ones are recorded; what has overriding operands (`__array_ufunc__`) is
theirs; what is left is NumPy's, on host values.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy

from .. import speed
from ..config import config
from ..graph.node import Node, leaf
from ..ops.ufuncs import LOOPS
from ..runtime.storage import lock
from ..speed import UfuncBase, in_messages, tell
from . import arithmetic, library, subclasses
from .arithmetic import array_of_list, grows
from .array import Handle, Writes, is_native, ndarray
from .calls import check_call, check_outs, with_out
from .host import (
    PLAIN,
    SCALARS,
    TracedArgumentError,
    as_base,
    at_hand,
    blank_like,
    host_function,
    is_wide,
    note_work,
    on_traced,
    returned,
    to_host,
    wrap_result,
)
from .layout import array_of
from .line_warnings import as_line, at_line
from .overrides import HOST_TYPES, Probe, ask, has_hook, is_subclass, overriding, wrapped, wrapper_of
from .recorded_ufuncs import ENGINE, native_call, native_ones, native_pair
from .reduce import native_accumulate, native_reduce

INTO_FIRST = "qr_r_raw"  # LAPACK's factors, written over the matrix
METHOD_RULES: dict[str, Any] = {}  # of `reduceat` and `at`, which `counting` has
UMATH = vars(numpy._core.umath)
METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")
COPIED = tuple([k for k in ("__qualname__", "__text_signature__") if hasattr(numpy.add, k)])


class UfuncType(type):
    """NumPy's and SciPy's ufunc objects count as ufuncs too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is cls or isinstance(instance, numpy.ufunc)


def node_for(value: Any) -> Node:
    """A result without axes as a node: a scalar, or a traced array."""
    return value._node_() if isinstance(value, Handle) else leaf((), value.dtype, numpy.asarray(value))


def described(name: str) -> property:
    """An attribute of NumPy's ufunc, that can be set where NumPy lets it."""

    def get(self: Any) -> Any:
        return getattr(self.host, name)

    def put(self: Any, value: Any) -> None:
        setattr(self.host, name, value)

    return property(get, put)


class Signature:
    """`__signature__` of ufuncs, which NumPy works out when it is asked for, from 2.4 on; AttributeError before."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return (numpy.ufunc if instance is None else instance.host).__signature__


class Doc:
    """`__doc__` of ufuncs: NumPy's, until it is set, and again once that is deleted. `ufunc` has NumPy's, too."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return numpy.ufunc.__doc__ if instance is None else instance.__dict__.get("__doc__", instance.host.__doc__)

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__["__doc__"] = value

    def __delete__(self, instance: Any) -> None:
        del instance.__dict__["__doc__"]


class ufunc(UfuncBase, metaclass=UfuncType):
    __doc__ = Doc()
    __slots__ = ("operator", "library", "nin", "nout", "nargs", "identity", "signature", "__dict__", "__weakref__")
    host: numpy.ufunc
    __name__ = described("__name__")
    ntypes, types = described("ntypes"), described("types")
    __signature__ = Signature()

    def __init__(self, host: numpy.ufunc) -> None:
        self.host = host
        self.warns_of_places = host in (numpy.maximum, numpy.minimum)  # of an `out` by position, NumPy from 2.4 on
        self.nin, self.nout, self.nargs = host.nin, host.nout, host.nargs
        self.identity, self.signature = host.identity, host.signature
        self.__dict__.update({k: getattr(host, k, None) for k in COPIED})
        self.operator = host.__name__ if host.__name__ in ENGINE and UMATH.get(host.__name__) is host else ""
        self.library = library.call_of(host)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            limit = config.limit
            if len(args) == 1:
                (x,) = args
                kind = type(x)
                if kind is ndarray:
                    if x._b_ is x._s_.buf and x._h_.size <= limit:
                        value = at_line(self.host, x._h_)
                        return value if type(value) in SCALARS else returned(value)
                    if self.operator and self.nin == 1:
                        return elementwise(self.operator, self.host, x)
                elif kind in SCALARS:
                    return at_line(self.host, x)
            elif len(args) == 2 == self.nin:
                x, y = args
                kind, other = type(x), type(y)
                if kind is ndarray and x._b_ is x._s_.buf and x._h_.size <= limit:
                    if other is ndarray:
                        if y._b_ is y._s_.buf and y._h_.size <= limit and not grows((x._h_, y._h_)):
                            value = self.host(x._h_, y._h_)
                            return value if type(value) in SCALARS else returned(value)
                    elif other in SCALARS:
                        value = self.host(x._h_, y)
                        return value if type(value) in SCALARS else returned(value)
                elif other is ndarray and kind in SCALARS and y._b_ is y._s_.buf and y._h_.size <= limit:
                    value = self.host(x, y._h_)
                    return value if type(value) in SCALARS else returned(value)
        elif len(kwargs) == 1 and self.nout == 1 and len(args) == self.nin:
            out = kwargs.get("out")
            if type(out) is ndarray:
                with lock:
                    if out._s_.free and out._b_ is out._s_.buf and out._h_.size <= config.limit and all_small(args):
                        self.host(*[x._h_ if type(x) is ndarray else x for x in args], out=out._h_)
                        return out
        for x in args:
            if type(x) not in HOST_TYPES:
                break
        else:
            if "out" not in kwargs and len(args) <= self.nin:
                return self.plain_call(args, kwargs)
        return self.general(None, args, kwargs)

    def plain_call(self, args: Any, kwargs: Any) -> Any:
        """No operand has a say of its own."""
        if len(args) == self.nin and self.operator:
            value = native_call(self, args, kwargs)
            if value is not NotImplemented:
                return value
        if len(args) == self.nin:
            value = self.native_results(args, kwargs)
            if value is not NotImplemented:
                return value
        return self.on_host("__call__", args, kwargs)

    def native_results(self, args: Any, kwargs: Any) -> Any:
        """The recorded results of a generalized ufunc, or of one that gives two; else NotImplemented."""
        if self.library is not None:
            return library.recorded(self.library, args, kwargs)
        if self.nin == 1 and not kwargs and not self.operator and self.nout == 1:
            return native_ones(self, args)
        if self.nout != 2 or kwargs.keys() - {"out"}:
            return NotImplemented
        return native_pair(self, args, kwargs.get("out"))

    def general(self, method: str | None, args: Any, kwargs: Any) -> Any:
        """Any operands: foreign types first, then ours."""
        name = method or "__call__"
        args = tuple([subclasses.as_ours(x) for x in args])
        if method is None and len(args) > self.nin:
            if "out" in kwargs:
                raise TypeError("cannot specify 'out' as both a positional and keyword argument")
            if len(args) > self.nargs:
                return self.host(*args, **kwargs)
            outs = (*args[self.nin :], *(None,) * (self.nargs - len(args)))
            if any(o is Ellipsis for o in outs):
                numpy.add(0, 0, ...)  # NumPy's error, in the words of its version
            args = args[: self.nin]
            if self.warns_of_places:
                as_line(self.host, 0, 0, numpy.empty((), int))
            if any(o is not None for o in outs):
                kwargs = {**kwargs, "out": outs}
        elif method is None and len(args) < self.nin:
            check_call(self, name, args, kwargs)
        out = kwargs.get("out")
        unwritten: dict[str, Any] = {}
        if out is Ellipsis:
            return self.into_arrays(name, args, kwargs)
        if "out" in kwargs:
            outs = out if type(out) is tuple else (out,)
            check_outs(self, name, out, outs)
            kwargs = {**kwargs, "out": outs}
            if all(o is None for o in outs):
                del kwargs["out"]
                unwritten = {"out": None}  # which tells NumPy that what `where` leaves out need not have a value
        if "sig" in kwargs and "signature" not in kwargs:
            kwargs = {("signature" if k == "sig" else k): v for k, v in kwargs.items()}
        where = kwargs.get("where")
        foreign = overriding((*args, *kwargs.get("out", ()), *((where,) if where is not None else ())))
        if foreign:
            check_call(self, name, args, kwargs)
            return ask(self, name, foreign, args, kwargs)
        if name != "__call__" and type(out) is tuple and out[0] is None:
            numpy.add.reduce([0], out=out)  # type: ignore[call-overload]  # NumPy's error, if it is one
        if name == "__call__" and self.operator and len(args) == self.nin:
            value = native_call(self, args, kwargs)
            if value is not NotImplemented:
                return value
        if name == "__call__" and len(args) == self.nin:
            value = self.native_results(args, kwargs)
            if value is not NotImplemented:
                return value
        return self.on_host(name, args, {**kwargs, **unwritten} if "where" in kwargs else kwargs)

    def into_arrays(self, method: str, args: Any, kwargs: Any) -> Any:
        """`out=...`: arrays also where there are no axes."""
        others = {k: v for k, v in kwargs.items() if k != "out"}
        foreign = overriding((*args, *others.values()))
        if foreign:
            return ask(self, method, foreign, args, others)
        if method == "__call__" and self.operator and len(args) == self.nin:
            value = native_call(self, args, others)
            if isinstance(value, (Handle, numpy.generic)):  # what is of objects NumPy does again, as an array
                return value if isinstance(value, Handle) and value.shape else array_of(node_for(value))
        ours: list[Any] = []
        try:
            host = [to_host(x, ours) for x in args]
        except TracedArgumentError:
            return on_traced(self.__name__, self.host, args, {**others, "out": ...})
        function = self.host if method == "__call__" else getattr(self.host, method)
        value = at_line(function, *host, **{k: to_host(v, ours) for k, v in others.items()}, out=...)
        note_work(self.__name__ if method == "__call__" else f"{self.__name__}.{method}", ours)
        leader = wrapper_of(args, None) if kwargs.get("subok", True) else None
        if leader is None:
            return wrap_result(value, ours)
        return wrapped(leader, value, None, (self, args, 0) if method == "__call__" else None)

    def on_base(self, method: str, args: Any, kwargs: Any) -> Any:
        """The engine's result for subclasses, which say only of what class it is; NotImplemented where NumPy does
        it."""
        outs = kwargs.get("out") or ()
        if not any(map(is_wide, (*args, *outs))):
            return NotImplemented
        if not all([is_native(x.dtype) for x in (*args, *outs) if isinstance(x, Handle)]):
            return NotImplemented
        given, named = tuple(map(as_base, args)), {k: as_base(v) for k, v in kwargs.items()}
        if outs:
            named["out"] = tuple(map(as_base, outs))
        if method == "__call__":
            value = native_call(self, given, named) if self.operator else NotImplemented
            value = self.native_results(given, named) if value is NotImplemented else value
        elif method in ("reduce", "accumulate") and type(given[0]) is ndarray and len(outs) < 2:
            reduce = native_reduce if method == "reduce" else native_accumulate
            value = reduce(self.host, given[0], given[1:], {**named, **({"out": named["out"][0]} if outs else {})})
        else:
            return NotImplemented
        if value is NotImplemented:
            return value
        return self.of_class(method, args, outs, value) if kwargs.get("subok", True) or outs else value

    def of_class(self, method: str, args: Any, outs: Any, value: Any) -> Any:
        """The engine's result, in the class that the operands and `out=` say."""
        if outs and (method != "__call__" or not any(map(is_subclass, outs))):
            return outs[0] if len(outs) == 1 else outs
        leader = wrapper_of(args, outs or None)
        if leader is None:
            return value
        return wrapped(leader, value, outs or None, (self, (*args, *outs), 0) if method == "__call__" else None)

    def on_host(self, method: str, args: Any, kwargs: Any) -> Any:
        """NumPy's, on values."""
        value = self.on_base(method, args, kwargs)
        if value is not NotImplemented:
            return value
        ours: list[Any] = []
        try:
            host = [to_host(x, ours) for x in args]
            named = {k: to_host(v, ours) for k, v in kwargs.items()}
        except TracedArgumentError:
            name = self.__name__ if method == "__call__" else f"{self.__name__}.{method}"
            return on_traced(name, self.host if method == "__call__" else getattr(self.host, method), args, kwargs)
        name = f"{self.__name__}{'' if method == '__call__' else '.' + method}"
        outs = kwargs.get("out")
        if method == "at":
            function: Any = partial(speed.at_places, self.host)
        else:
            function = self.host if method == "__call__" else getattr(self.host, method)
        # NumPy may warn of what nobody gave it to write to, or of a cast to the real part
        called = as_line if "where" in named or "casting" in named else at_line
        if outs is None and method != "at" and not self.host.__name__.startswith(INTO_FIRST):
            value = called(function, *host, **named)
            note_work(name, ours)
        else:
            tried = None if outs is None else lambda: called(function, *host, **{**named, "out": blank_like(outs)})
            note_work(name, ours, tried)
            with Writes() as to:
                if outs is not None:
                    named["out"] = to(outs)
                if args and (method == "at" or self.host.__name__.startswith(INTO_FIRST)):
                    host[0] = to(args[0]) if isinstance(args[0], Handle) else host[0]
                value = called(function, *host, **named)
        if method == "at":
            return None
        written = outs is not None and all(o is not None for o in outs)
        sub = written and any(is_subclass(o) for o in outs)
        if written and (method != "__call__" or not sub):
            return outs[0] if len(outs) == 1 else outs
        leader = wrapper_of(args, outs) if sub or kwargs.get("subok", True) else None
        if leader is None:
            if type(value) is tuple:
                return tuple(
                    [o if o is not None else wrap_result(v, ours) for o, v in zip(outs or (None,) * len(value), value)]
                )
            return wrap_result(value, ours)
        context = (self, (*args, *(outs or ())), 0) if method == "__call__" else None
        return wrapped(leader, value, outs, context)

    def recorded_method(self, method: str, array: Any, *args: Any, **kwargs: Any) -> Any:
        """`reduceat` or `at` of an array that is pending, large or traced; NotImplemented where NumPy does it."""
        if type(array) is not ndarray or at_hand(array) or not self.operator or len(args) < 1:
            return NotImplemented
        return METHOD_RULES[method](self.operator, array, *args, **kwargs)

    def reduce(self, array: Any, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.ufunc.reduce`."""
        if type(array) is ndarray:
            value = native_reduce(self.host, array, args, kwargs)
            if value is not NotImplemented:
                return value
        return self.general("reduce", *with_out((array, *args), kwargs, 3))

    def accumulate(self, array: Any, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.ufunc.accumulate`."""
        if type(array) is ndarray:
            value = native_accumulate(self.host, array, args, kwargs)
            if value is not NotImplemented:
                return value
        return self.general("accumulate", *with_out((array, *args), kwargs, 3))

    def reduceat(self, array: Any, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.ufunc.reduceat`."""
        value = self.recorded_method("reduceat", array, *args, **kwargs)
        if value is not NotImplemented:
            return value
        return self.general("reduceat", *with_out((array, *args), kwargs, 4))

    def outer(self, /, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.ufunc.outer`."""
        if len(args) != 2 or self.nin != 2:
            return self.host.outer(*[0.0] * len(args))  # NumPy's error
        A, B = args
        A, B = subclasses.as_ours(A), subclasses.as_ours(B)
        if (is_subclass(A) or is_subclass(B)) and not overriding((A, B)):  # for whoever wraps the result
            A, B = [x if isinstance(x, Handle) else array_of_list(x) for x in (A, B)]
            matrix = getattr(sys.modules.get("lazynp.matrixlib.defmatrix"), "matrix", None)
            if matrix in (type(A), type(B)):
                self.host.outer(*[numpy.matrix(0) if type(x) is matrix else 0 for x in (A, B)])  # NumPy's error
            shape = A.shape + (1,) * B.ndim
            turned = ndarray.reshape(A, shape)  # type: ignore[attr-defined]
            if turned.shape != shape:
                raise TypeError(
                    f"{self.host.__name__}.outer() reshapes its first argument, and '{type(A).__name__}' changes its "
                    "own shape then: give it the array"
                )
            return self(turned, B, **kwargs)
        if (
            self.operator
            and not kwargs
            and type(A) is ndarray
            and A.dtype.kind in "biufc"
            and (type(B) is ndarray or library.wanted((A, B)))
        ):
            B = B if type(B) is ndarray else numpy.asarray(B)  # a number's type is not weak here
            return self(A[(*(slice(None),) * A.ndim, *(None,) * B.ndim)], B)
        return self.general("outer", (A, B), kwargs)

    def at(self, a: Any, *args: Any) -> Any:
        """See `numpy.ufunc.at`."""
        if self.recorded_method("at", a, *args) is None:
            return None
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


tell(returned=returned, ufunc=ufunc, loops=LOOPS)
in_messages(ufunc, "numpy.ufunc")
_flags = {"outer": speed.GROWS, "reduce": speed.REDUCES}
for _name, _most in {"reduce": 3, "accumulate": 3, "reduceat": 4, "outer": 2}.items():
    setattr(ufunc, _name, speed.method(_name, vars(ufunc)[_name], _most, _flags.get(_name, 0)))
ufunc.at = speed.method("at", ufunc.at, flags=speed.WRITES | speed.TOUCHES)  # type: ignore[method-assign]


def all_small(args: Any) -> bool:
    """Whether all operands are at hand and small, or scalars."""
    limit = config.limit
    for x in args:
        if type(x) is ndarray:
            if x._b_ is not x._s_.buf or x._h_.size > limit:
                return False
        elif type(x) not in SCALARS:
            return False
    return True


def default(self: Any, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """`ndarray.__array_ufunc__`: NumPy hands the call to this door."""
    outs = kwargs.get("out", ())
    where = (kwargs["where"],) if "where" in kwargs else ()
    if overriding((*inputs, *(outs if type(outs) is tuple else (outs,)), *where)):
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
        return value._pin_()  # as NumPy's array, or the method would go on with a copy
    return value


GOES_ON = "numpy._core._methods"  # NumPy's `mean` writes the sum into `out`, and then divides that


def reflected(self: Any, function: numpy.ufunc, inputs: Any) -> Any:
    """An operator with NumPy's scalar or array on the left: a subclass that overrides it goes first, as in Python."""
    if len(inputs) != 2 or inputs[1] is not self or not isinstance(inputs[0], (numpy.generic, numpy.ndarray)):
        return NotImplemented
    name = REFLECTED.get(function.__name__, "")
    if isinstance(inputs[0], numpy.generic) and name.startswith("__r"):
        return NotImplemented  # NumPy's scalars compute with any array at once
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
default = speed.method(None, default, flags=speed.PROTOCOL)
ndarray.__array_ufunc__ = default  # type: ignore[attr-defined]
ndarray.__array_priority__ = 0.0  # type: ignore[attr-defined]


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
            if x._s_.buf is not None and x._b_ is not x._s_.buf:
                x._host_()  # a view whose storage is there is at hand too
        elif kind not in SIMPLE:
            return with_protocol(name, host, operands)
    return arithmetic.elementwise(name, host, *operands)


def with_protocol(name: str, host: Any, operands: Any) -> Any:
    """Operands that may have a say. The operator is NumPy's, not the ufunc: it compares structured arrays too."""
    u = of(getattr(numpy, name))
    foreign = overriding(operands)
    if foreign:
        u, operands = power_of(u, operands)
        return ask(u, "__call__", foreign, operands, {})
    caller, given = power_of(u, operands)
    value = caller.on_base("__call__", given, {})
    if value is not NotImplemented:
        return value
    ours: list[Any] = []
    values = [to_host(x, ours) for x in operands]
    value = at_line(host, *values)
    note_work(name, ours)
    leader = wrapper_of(operands, None)
    return wrap_result(value, ours) if leader is None else wrapped(leader, value, None, (caller, given, 0))


def power_of(u: Any, operands: Any) -> Any:
    """The ufunc and the operands of an operator: NumPy's `**` is another function for some exponents."""
    if u.host is numpy.power and isinstance(operands[0], Handle) and isinstance(operands[1], (int, float)):
        used: Any = numpy.empty(0, operands[0].dtype).view(Probe) ** operands[1]
        if used is not numpy.power:  # before NumPy 2.3 it may be one that NumPy does not name: of `x**0`
            return of(used), operands[:1]
    return u, operands


def write_result(self: Any, name: str, host: Any, inplace_host: Any, other: Any) -> Any:
    """`self op= other` past the shortcuts."""
    if type(other) not in SIMPLE and getattr(type(other), "__array_ufunc__", None) is not default:
        return of(getattr(numpy, name))(self, other, out=(self,))
    if has_hook(self):
        u, operands = power_of(of(getattr(numpy, name)), (self, other))
        return u(*operands, out=(self,))
    return arithmetic.write_result(self, name, host, inplace_host, other)
