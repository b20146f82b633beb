"""Mutable references: boxes that hold an array, which programs read and write.

Values are immutable, so a write puts another value into the box, and a function that makes a reference, uses it and
reads it is an ordinary graph: derivatives, `vmap` and `jit` see nothing of it. What a traced function does to a
reference from outside becomes an argument and a result of it: it is traced, is found to touch the reference
(`Touched`), and is traced anew with the value as one more argument, and what it left in the box as one more result.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import optree

from ..api.trace import stack
from ..errors import UnexpectedTracerError, boolean_index_error
from ..graph.node import ABSTRACT, KEPT
from ..ops.elementwise import convert, weak_cast
from ..runtime.tape import depth
from ..signatures import Static, argument_axes, axis_in, leaf_names, name_of, place_of
from ..tracebacks import leave
from ..tree import NAMESPACE, flatten, unflatten
from ..tree import map as tree_map
from . import numpy as jnp
from .array import Array, as_node, wrap
from .aval import AbstractRef
from .dependence import differentiated
from .placement import placed as lying_so
from .reference_equations import told
from .spreading import sharding_at, state

Fun = Callable[..., Any]


class Touched(NotImplementedError):
    """A traced function reads or writes a reference from outside of it."""

    def __init__(self, ref: Ref) -> None:
        super().__init__(
            "a mutable array reference is used inside a function that it was not made in, under a transformation that "
            "cannot pass it on. jit, vmap, scan, while_loop, fori_loop, cond and switch can."
        )
        self.ref = ref


class Ref:
    """A mutable reference to an array: `ref[...]` reads, `ref[i] = x` and `ref[i] += x` write, with NumPy's basic and
    array indices. It is no array itself. `jax.new_ref` makes one."""

    __slots__ = ("_value", "_scope", "_depth", "_kind", "__weakref__")
    __array_ufunc__ = None

    def __init__(self, value: Array, kind: Any = None) -> None:
        self._value, self._kind = value, kind
        self._scope, self._depth = current(), depth.n

    @property
    def aval(self) -> AbstractRef:
        return AbstractRef(self._value.aval, kind=self._kind)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._value.shape)

    @property
    def dtype(self) -> Any:
        return self._value.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def sharding(self) -> Any:
        return self._value.sharding

    @property
    def at(self) -> At:
        """`ref.at[i]` is a reference to a part."""
        return At(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Ref{repr(self._value).removeprefix('Array')}"

    def __getitem__(self, idx: Any) -> Array:
        whole = read(self)
        return told("get", idx, whole, [whole if is_whole(idx) else whole[checked(idx, whole.shape)]])[0]

    def __setitem__(self, idx: Any, value: Any) -> None:
        swap(self, idx, value)

    def unsafe_buffer_pointer(self) -> int:
        """Address of the value."""
        return read(self).unsafe_buffer_pointer()

    def addupdate(self, value: Any, idx: Any = ...) -> None:
        """Add to a part."""
        addupdate(self, idx, value)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError("a mutable array reference is no array: ref[...] gives the value")


class At:
    """`ref.at`."""

    def __init__(self, ref: Any) -> None:
        self.ref = ref

    def __getitem__(self, idx: Any) -> TransformedRef:
        return TransformedRef(self.ref, idx)


class TransformedRef:
    """A reference to a part of what another one holds."""

    def __init__(self, ref: Any, idx: Any) -> None:
        self.ref, self.idx = ref, idx

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.ref[self.idx].shape)

    @property
    def dtype(self) -> Any:
        return self.ref.dtype

    @property
    def at(self) -> At:
        return At(self)

    def __getitem__(self, idx: Any) -> Array:
        found: Array = self.ref[self.idx]
        return found if is_whole(idx) else found[idx]

    def __setitem__(self, idx: Any, value: Any) -> None:
        if is_whole(idx):
            self.ref[self.idx] = value
        else:
            self.ref[self.idx] = self.ref[self.idx].at[idx].set(value)


# --- Reading and writing ----------------------------------------------------------------------------------------------


def current() -> Any:
    """The trace that is under way; None outside of all."""
    return next((t for t in reversed(stack.active) if t.kind != "rule"), None)


def is_whole(idx: Any) -> bool:
    return idx is None or idx is ... or (type(idx) is tuple and not idx)


def at_hand(ref: Any) -> Ref:
    """The reference, which belongs to the function that is being traced. Raises Touched for one from outside, TypeError
    for what is none, UnexpectedTracerError for one that a traced function has left behind."""
    if not isinstance(ref, Ref):
        raise TypeError(f"not a mutable array reference: {type(ref).__name__}")
    if ref._scope is not current():
        if ref._scope is not None and ref._scope.done:
            raise UnexpectedTracerError(
                f"a mutable array reference is used that was made in {ref._scope}, which has returned"
            )
        raise Touched(ref)
    return ref


def read(ref: Any) -> Array:
    """What it holds."""
    return at_hand(ref)._value


def checked(idx: Any, shape: tuple[int, ...]) -> Any:
    """An index. Raises ValueError for too many of them, a whole number that is out of bounds, and a slice that runs
    backwards; IndexError for a mask."""
    given = idx if type(idx) is tuple else (idx,)
    if len([k for k in given if k is not None and k is not ...]) > len(shape):
        raise ValueError(f"`indices` must not be longer than `shape`: indices={given}, shape={shape}")
    after = 0
    for i, k in enumerate(given):
        n = shape[i + after] if i + after < len(shape) else 0
        if k is ...:
            after = len(shape) - len(given)
        elif isinstance(k, slice) and isinstance(k.step, (int, np.integer)) and k.step < 1:
            raise ValueError(f"slice must have a step >= 1 (found: {k.step})")
        elif n and isinstance(k, (int, np.integer)) and not -n <= k < n:
            raise ValueError(f"Out of bound indexer: idx={k}, dim={n}.")
        elif getattr(getattr(k, "dtype", None), "kind", "") == "b":
            raise boolean_index_error(as_node(k))
    return idx


def check_shape(name: str, ref: Any, part: Any, value: Any) -> None:
    """Raise ValueError for what is written to a part of another shape."""
    if value.shape != part.shape:
        raise ValueError(
            f"Invalid shape for `{name}`. Ref shape: {ref.shape}. Expected shape: {part.shape}. Value shape: "
            f"{value.shape}."
        )


def strong(value: Array) -> Array:
    """An array whose dtype does not yield to that of others."""
    return wrap(convert(value.node, value.dtype)) if value.weak_type else value


def held_by(ref: Ref, value: Array) -> Array:
    """A value, weak as what the reference holds has to be, which lies where that does."""
    if ref._scope is not None and ref._scope.kind != "vmap":
        return strong(value)
    if as_node(ref._value).weak and not value.weak_type:
        value = wrap(weak_cast(as_node(value), dtype=value.dtype))
    lies = sharding_at(as_node(ref._value)) if state.on else None
    if lies is not None and not as_node(value).trace and sharding_at(as_node(value)) != lies:
        return lying_so(as_node(value), lies)
    return value


def put(ref: Ref, value: Array) -> None:
    """Let it hold another value, of its type. Raises Exception, as JAX does, for one that is differentiated along,
    where the reference is not; UnexpectedTracerError for a traced one, where the reference is of no traced function:
    the derivative of a loop, whose rule writes to a reference from outside."""
    node = as_node(value)
    if node.trace == ABSTRACT and ref._scope is None:
        raise UnexpectedTracerError(
            f"a traced value is written to a mutable array reference of type {ref.aval} that belongs to no traced "
            "function. A rule of custom_vjp inside a loop that is differentiated cannot write to a reference from "
            "outside of it: return what it writes as a cotangent."
        )
    if node.trace == KEPT and at_hand(ref)._depth < depth.n and differentiated(node):
        raise Exception(
            "performing a set/swap operation with a differentiated value on a non-differentiated array reference of "
            f"type {ref.aval}. Move the array reference to be an argument of the differentiated function? Or make it "
            "inside, or write stop_gradient of the value."
        )
    ref._value = held_by(ref, value)


def swap(ref: Any, idx: Any, value: Any) -> Array:
    """Write a part, and return what was there. Raises ValueError for a value of another shape or dtype."""
    if isinstance(ref, TransformedRef):
        before = ref[idx]
        ref[idx] = value
        return before
    whole = read(ref)
    before = whole if is_whole(idx) else whole[checked(idx, whole.shape)]
    value = jnp.asarray(value)
    value = strong(value) if as_node(value).trace else value
    check_shape("swap", ref, before, value)
    if value.dtype != whole.dtype:
        raise ValueError(f"Invalid dtype for `swap`. Ref dtype: {whole.dtype}. Value dtype: {value.dtype}.")
    new = value if is_whole(idx) else whole.at[idx].set(value)
    new, before = told("swap", idx, whole, [held_by(ref, new), before], value)
    put(ref, new)
    return before


def addupdate(ref: Any, idx: Any, x: Any) -> None:
    """Add to a part. Raises ValueError for a value of another shape or dtype."""
    if isinstance(ref, TransformedRef):
        ref[idx] = ref[idx] + x
        return
    whole, value = read(ref), jnp.asarray(x)
    before = whole if is_whole(idx) else whole[checked(idx, whole.shape)]
    check_shape("addupdate", ref, before, value)
    after = (before + value).astype(whole.dtype)
    new = after if is_whole(idx) else whole.at[idx].set(after)
    put(ref, told("addupdate", idx, whole, [held_by(ref, new)], value)[0])


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """A mutable reference that holds an array.

    Raises: TypeError for what is no array, ValueError for a reference.
    """
    if isinstance(init_val, Ref):
        raise ValueError("new_ref takes an array, not a reference: pass ref[...]")
    value = jnp.array(init_val) if isinstance(init_val, np.ndarray) else wrap(as_node(init_val))
    return Ref(told("new_ref", ..., value, [value], kind=kind, memory_space=memory_space)[0], kind)


# --- Traced functions -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def holding(refs: Sequence[Ref], values: Sequence[Any], results: list[Any]) -> Iterator[None]:
    """The references hold these values, as those of the function that is being traced; what they hold at the end goes
    to `results`."""
    before = [(r._value, r._scope) for r in refs]
    for r, v in zip(refs, values):
        r._value, r._scope = v, current()
    try:
        yield
        results[:] = [r._value for r in refs]
    finally:
        for r, (value, scope) in zip(refs, before):
            r._value, r._scope = value, scope


def threaded(f: Fun, refs: Sequence[Ref]) -> Fun:
    """`f(*args)` as a function of (values of the references, *args), which gives also what they hold afterwards."""

    @functools.wraps(f)
    def call(values: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        after: list[Any] = []
        with holding(refs, values, after):
            out = f(*args, **kwargs)
        return out, after

    return call


def passing_on(
    run: Callable[[list[Ref], list[Any]], Any], refs: list[Ref], called: str = "a function", names: Sequence[str] = ()
) -> Any:
    """What `run(refs, values)` gives, a pair of the result and of what the references hold then (None: what they did):
    for these ones, and for as many more as it is found to touch.

    Args:
        called: what is run, for errors. names: of the first references, which are its arguments.

    Raises: ValueError for a reference that is two of them, or is an argument and also touched from outside.
    """
    places = [*names, *[f"argument {i}" for i in range(len(names), len(refs))]]
    while True:
        number: dict[int, int] = {}
        for i, r in enumerate(refs):
            if number.setdefault(id(r), i) != i:
                raise ValueError(
                    "only one reference to a mutable array may be passed as an argument to a function, but when "
                    f"tracing {called} the mutable array reference of type {r.aval} appeared at both "
                    f"{places[number[id(r)]]} and {places[i]}."
                )
        values = [read(r) for r in refs]
        try:
            out, after = run(refs, values)
        except Touched as found:
            if id(found.ref) in number:
                raise ValueError(
                    f"when tracing {called}, a mutable array reference of type {found.ref.aval} was both closed over "
                    f"and passed as the argument {places[number[id(found.ref)]]}"
                ) from None
            refs.append(found.ref)
            continue
        for r, v in zip(refs, after):
            if v is not None:
                whole = read(r)
                put(r, told("swap", ..., whole, [held_by(r, v), whole], v)[0])
        return out


class Place:
    """Stands among the arguments of a traced function for a reference, by its number: a tree without leaves."""

    def __init__(self, k: int) -> None:
        self.k = k


optree.register_pytree_node(Place, lambda p: ((), p.k), lambda k, _: Place(k), namespace=NAMESPACE)


def among(tree: Any) -> bool:
    """Whether there is a reference among the leaves."""
    return any([isinstance(x, Ref) for x in flatten(tree)[0]])


def placed(args: Any) -> tuple[list[Ref], Any]:
    """The references in a tree, and the tree with places for them."""
    leaves, structure = flatten(args)
    refs = [x for x in leaves if isinstance(x, Ref)]
    numbers = iter(range(len(refs)))
    return refs, unflatten(structure, [Place(next(numbers)) if isinstance(x, Ref) else x for x in leaves])


def filled(tree: Any, refs: Sequence[Ref]) -> Any:
    """The tree with the references at their places."""
    return tree_map(lambda x: refs[x.k] if isinstance(x, Place) else x, tree, is_leaf=lambda x: isinstance(x, Place))


class Passing:
    """A jitted function, for calls with references.

    Attributes:
        captured: those that it was found to touch. refs: those of the call that is under way; own: how many of them are
            its arguments.
    """

    def __init__(self, fun: Fun, make: Callable[[Fun, Static], Fun], static: Static) -> None:
        self.captured: list[Ref] = []
        self.refs: list[Ref] = []
        self.own, self.fun = 0, fun

        @functools.wraps(fun)
        def inner(values: list[Any], *args: Any, **kwargs: Any) -> Any:
            values = list(map(strong, values))
            own = [Ref(v, r._kind) for v, r in zip(values, self.refs[: self.own])]
            given, named = filled((args, kwargs), own)
            out, after = threaded(fun, self.refs[self.own :])(values[self.own :], *given, **named)
            return out, [None if x is v else x for x, v in zip([*map(read, own), *after], values)]

        del inner.__wrapped__
        later = [tuple([i + 1 if i >= 0 else i for i in nums]) for nums in (static.nums, static.donate_nums)]
        self.jitted = make(inner, Static(later[0], static.names, later[1], static.donate_names))

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._pass_on(args, kwargs, self.jitted)

    def traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function as it was traced for these arguments, a `Referring`. What the references hold is what it was."""

        def trace(values: list[Any], *args: Any, **kwargs: Any) -> Any:
            return self.jitted.trace(values, *args, **kwargs), [None] * len(values)  # type: ignore[attr-defined]

        return Referring(self._pass_on(args, kwargs, trace), self)

    def _pass_on(self, args: tuple[Any, ...], kwargs: dict[str, Any], call: Fun) -> Any:
        names = [
            n for n, x in zip(leaf_names(self.fun, args, kwargs), flatten((args, kwargs))[0]) if isinstance(x, Ref)
        ]
        own, (args, kwargs) = placed((args, kwargs))

        def run(refs: list[Ref], values: list[Any]) -> Any:
            self.captured = refs[len(own) :]
            before, self.refs, self.own = (self.refs, self.own), refs, len(own)
            try:
                return call(values, *args, **kwargs)
            finally:
                self.refs, self.own = before

        called = f"{name_of(self.fun)}{place_of(self.fun)} for jit"
        return passing_on(run, [*own, *self.captured], called, names)


class Referring:
    """A stage of a function that uses references: traced, lowered or compiled. What it says of arguments and results
    is of the function that takes what the references hold first, and gives it last."""

    def __init__(self, stage: Any, passing: Passing) -> None:
        self.stage, self.passing = stage, passing

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.stage, name)

    @property
    def out_info(self) -> Any:
        """Types of the result."""
        return self.stage.out_info[0]

    def lower(self, **options: Any) -> Referring:
        """The next stage."""
        return Referring(self.stage.lower(**options), self.passing)

    def compile(self, compiler_options: Any = None) -> Referring:
        """Have all kernels compiled, and wait for them."""
        return Referring(self.stage.compile(compiler_options), self.passing)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run what was compiled. Raises TypeError for other types than it was compiled for."""
        return self.passing._pass_on(args, kwargs, self.stage)


def passed_on(plain: Fun, fun: Fun, make: Callable[[Fun, Static], Fun], static: Static) -> Fun:
    """What a transformation has made of a function, for calls with references too: `make(f, static)` transforms another
    one, which takes and gives what the references hold beside its own arguments and results."""
    passing: list[Passing] = []

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not passing:
            try:
                return plain(*args, **kwargs)
            except (Touched, TypeError) as error:
                if isinstance(error, TypeError) and not among((args, kwargs)):
                    raise
            passing.append(Passing(fun, make, static))
        return passing[0](args, kwargs)

    return call


def unmapped(refs: Sequence[Ref]) -> Exception:
    """The error for what is written, for each example, to a reference that all share."""
    return Exception(
        "performing a set/swap operation with vmapped value on an unbatched array reference of type "
        f"{', '.join([str(r.aval) for r in refs])}. Move the array reference to be an argument to the vmapped function?"
    )


def vmapped(make: Fun) -> Fun:
    """`vmap`, of functions that may use references: those among the arguments are mapped as the arrays they hold."""

    @functools.wraps(make)
    def vmap(fun: Fun, in_axes: Any = 0, out_axes: Any = 0, *rest: Any, **options: Any) -> Fun:
        plain = make(fun, in_axes, out_axes, *rest, **options)

        @functools.wraps(plain)
        def batched(*args: Any, **kwargs: Any) -> Any:
            try:
                return plain(*args, **kwargs)
            except Touched as found:
                first = [found.ref]
            except BaseException as error:
                if not isinstance(error, TypeError) or not among((args, kwargs)):
                    leave(error)
                    raise
                first = []
            own, (given, named) = placed((args, kwargs))
            leaves = flatten(args)[0]
            checked = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
            at = [axis_in(a, x.shape) if a is not None else None
                  for a, x in zip(argument_axes(in_axes, args), leaves) if isinstance(x, Ref)]  # fmt: skip

            def run(refs: list[Ref], values: list[Any]) -> Any:
                def inner(values: list[Any], *args: Any, **kwargs: Any) -> Any:
                    given, named = filled((args, kwargs), refs)
                    out, after = threaded(fun, refs)(values, *given, **named)
                    shared = [r for r, v, w, a in zip(refs, values, after, axes) if a is None and v is not w]
                    if shared:
                        raise unmapped(shared)
                    return out, after

                axes = [*at, *[None] * (len(refs) - len(at))]
                return make(inner, (axes, *checked), (out_axes, axes), *rest, **options)(values, *given, **named)

            return passing_on(run, [*own, *[r for r in first if not any([r is o for o in own])]])

        return batched

    return vmap


def mapped_over(fun: Fun, specs: Callable[[Any], Sequence[Any]], make: Callable[..., Fun]) -> Fun:
    """`shard_map`, of functions that may have references among their arguments: each is what a device has of it, and
    what is written to it is, too.

    `specs`: from arguments to a spec for each leaf; `make(fun, first, first_out)`: maps a function of one argument
    more, and of results that it returns beside its own, whose specs are these.
    """
    plain = make(fun, (), None)

    @functools.wraps(plain)
    def call(*args: Any) -> Any:
        if not among((args, {})):
            return plain(*args)
        own, (given, _) = placed((args, {}))
        at = [s for s, x in zip(specs(args), flatten(args)[0]) if isinstance(x, Ref)]

        def run(refs: list[Ref], values: list[Any]) -> Any:
            def inner(values: list[Any], *args: Any) -> Any:
                return threaded(fun, refs)(values, *filled((args, {}), refs)[0])

            return make(inner, (at,), at)(values, *given)

        return passing_on(run, own)

    return call
