"""`Array`: an immutable array, a handle on a value or on one node of the graph; and the way in and out of it.

Small values are computed at once with NumPy (`apply`): the engine would cost more than it gives. An array of such a
value has no node until something larger, or something traced, is made of it.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..api.trace import check_leak, stack
from ..away import Away, on_host
from ..doors import Door, doors, register
from ..errors import (
    InvalidInputException,
    JaxRuntimeError,
    array_error,
    block_error,
    concretization_error,
    type_name,
)
from ..graph.aval import Aval
from ..graph.node import ABSTRACT, BORROWED, Node, leaf
from ..once import reading
from ..ops.elementwise import convert, weak_cast
from ..runtime.numpy_calls import ERRORS, SILENT
from ..runtime.recorder import recorder
from ..runtime.storage import lock
from ..runtime.tape import depth
from ..speed import LenderBase
from ..tracebacks import boundary
from .as_number import AsNumber
from .aval import shaped
from .callers import converts
from .capsules import CPU, check_request, packed
from .dependence import asked, differentiated, innermost
from .device_views import views
from .dtypes import (
    KIND_OF,
    SCALARS,
    DType,
    canonical,
    check_dtype,
    dtype_and_weak,
    promotion,
    x64_enabled,
)
from .layouts import orders
from .lost import Losable, lose
from .on_devices import OnDevices, alike
from .processes import Spread
from .sharding import NamedSharding
from .spreading import known, made_before, made_now, note
from .spreading import state as spreading
from .transfers import State as guarded
from .transfers import to_device
from .varying import axes_of_value, contexts, sums_of_value, varied

new = object.__new__
NDARRAY = np.ndarray
PYTHON_SCALARS = frozenset({bool, int, float, complex})

if TYPE_CHECKING:
    Base = Any  # operators and most methods are set by `numpy`, from its tables
else:
    Base = object


class Array(AsNumber, OnDevices, Losable, LenderBase, Base):
    """JAX's array: immutable, evaluated when its value is needed.

    The recorder computes what an array still holds (`runtime.storage.held`): the array itself is the holder that it
    asks. A buffer is overwritten by the engine only when its node is dead, so an array keeps the node that it gave out.
    """

    __slots__ = ("_host", "_weak", "_graph", "__weakref__")
    _host: Any  # the value, where it is known and not under differentiation; C-contiguous, nobody else's
    _weak: bool  # of _host; `lost.Deleted` or `lost.LeftBehind` where there is no value any more
    _graph: Node | None  # the value in the graph; None while nothing was made of it there

    __array_priority__ = 100
    __hash__: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("jax.Array is made by jax.numpy.array and the like, not called")

    @property
    def node(self) -> Node:
        """Its value in the graph."""
        node = self._graph
        return self.capture() if node is None else node

    def capture(self) -> Node:
        """A leaf for its value, once: with a second one on the same buffer either could die, and the buffer be taken
        for dead with it."""
        with lock:
            node = self._graph
            if node is None:
                h = self._host
                if h is None:
                    raise self._no_value()
                node = self._graph = leaf(h.shape, h.dtype, h, weak=self._weak)
                if spreading.on:
                    made_before(node)
            return node

    def _node(self) -> Node:
        return self.node

    def _type(self) -> Node | Aval:
        """What has its shape, dtype and weakness, where no value is at hand: its node; of a deleted one its type."""
        node = self._graph
        if node is not None:
            return node
        left = self._left()
        return self.node if left is None else left.aval

    def _value(self) -> np.ndarray:
        """The value as a NumPy array, to read only: computes what is pending. Raises where there is no value."""
        h: Any = self._host
        if h is not None:
            return h
        node = self.node
        if node.buffer is None:
            if node.value is not None:
                return np.asarray(node.value, node.dtype)
            if node.trace == ABSTRACT:
                raise concretization_error(node)
            recorder.demand(node)
        h = on_host(node.buffer)
        if not node.trace and not (
            spreading.on and (known.get(node) or type(node.buffer) is Spread)
        ):  # what is computed at once knows of no devices
            self._host, self._weak = h, node.weak
        return h

    def _absent(self) -> bool:
        """Whether its value is in several processes, and so cannot be read."""
        node = self._graph
        return node is not None and type(node.buffer) is Spread and not node.buffer.readable

    # --- metadata -----------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        h = self._host
        return h.shape if h is not None else self._type().shape

    @property
    def dtype(self) -> Any:
        h = self._host
        return h.dtype if h is not None else self._type().dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for d in self.shape:
            n *= d
        return n

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of its value."""
        return self.size * int(self.dtype.itemsize)

    @property
    def weak_type(self) -> bool:
        """Whether the dtype came from a Python scalar, and yields to that of other arrays."""
        return self._weak if self._host is not None else self._type().weak

    @property
    def _trace(self) -> Any:
        """Of an array that depends on arguments of a derivative which somebody has asked about: see `dependence`."""
        found = innermost(self.node) if asked.about else None
        if found is None:
            raise AttributeError("'Array' object has no attribute '_trace'")
        return found

    @property
    def aval(self) -> Any:
        """The abstract value: shape, dtype, weak_type; the sharding on explicit axes."""
        if self.is_deleted():
            return shaped(*self._weak[:2])  # type: ignore[index]
        node = self.node
        if contexts.active and node.trace == ABSTRACT:
            return shaped(node.aval, known.get(node), axes_of_value(node), sums_of_value(node))
        return shaped(node.aval, known.get(node) if spreading.on else None)

    # --- Python's and NumPy's protocols -------------------------------------------------------------------------------

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        lies = self._placed() if spreading.on and not self.node.trace else None
        if lies is not None and not lies.is_fully_replicated and not self._absent():
            return (self._unbound(row) for row in self._value())
        return (self[i] for i in range(self.shape[0]))

    def __array__(self, dtype: Any = None, context: Any = None, copy: bool | None = None) -> np.ndarray:
        node = self._graph
        if node is not None and (node.trace == ABSTRACT or differentiated(node)):
            raise array_error(node)
        if spreading.on:
            self._check_summed()
        value = self._value()
        if copy or dtype is not None and np.dtype(dtype) != value.dtype:
            if copy is False:
                raise ValueError("Unable to avoid copy while creating an array as requested.")
            return np.array(value, dtype=dtype)
        return self._lent()

    def _lent(self) -> np.ndarray:
        """A read-only view of the value, for outsiders: from now on the engine never writes into the buffer."""
        value = self._value()
        self.node.index = BORROWED
        view = value.view()
        view.flags.writeable = False
        return view

    def _buffer(self) -> np.ndarray:
        """What `memoryview(x)` looks at. Raises BufferError for dtypes that Python has no letter for, TypeError for
        traced arrays and keys."""
        if getattr(self.dtype, "kind", "") == "V":
            raise BufferError(f"arrays of {self.dtype} have no buffer: np.asarray(x) gives one of NumPy's")
        return self.__array__()

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        node = self._graph
        if node is not None and (node.trace == ABSTRACT or differentiated(node)):
            raise concretization_error(node, "The __dlpack__() method was called.")
        if self._on_several():
            raise BufferError(
                "to_dlpack can only pack a dlpack tensor from an array on a singular device, but an array with a "
                f"Sharding over {self.sharding.num_devices} devices was provided."
            )
        check_request(stream, max_version, dl_device)
        self._lent()
        return packed(self._value().copy() if copy else self._value())

    def __dlpack_device__(self) -> tuple[Any, int]:
        if self._on_several():
            raise BufferError("__dlpack__ only supported for unsharded arrays.")
        return CPU, 0

    def __reduce__(self) -> Any:
        node = self._graph
        if node is not None and node.trace == ABSTRACT:
            raise concretization_error(node, "It is being pickled or copied.")
        return reconstruct, (np.array(self._value()), self.weak_type)

    def __copy__(self) -> Array:
        return wrap(self.node)

    def __deepcopy__(self, memo: Any) -> Array:
        return wrap(self.node)

    def copy(self) -> Array:
        """The same value."""
        return wrap(alike(self.node) if self.node in orders else self.node)

    clone = copy

    @boundary
    def __repr__(self) -> str:
        node = self._graph
        if node is not None and node.trace == ABSTRACT:
            return (views.active[-1].text(node) if views.active else None) or type_name(node)
        if self._absent():
            return f"Array(shape={self.shape}, dtype={self.dtype.name})"
        name = f"dtype={self.dtype.name}{', weak_type=True' if self.weak_type else ''}"
        lies = self._placed() if spreading.on else None
        if isinstance(lies, NamedSharding) and lies.spec.unreduced:
            return f"Array(shape={self.shape}, {name}, sharding={lies})"
        value, prefix = self._value(), "Array("
        width = np.get_printoptions()["linewidth"]
        if value.size == 0:
            text = f"[], shape={value.shape}"
        else:
            text = np.array2string(value, prefix=prefix, suffix=",", separator=", ", max_line_width=width)
        last = len(text) - text.rfind("\n") + 1
        gap = " " * len(prefix) if last + len(name) + 2 > width else " "
        return f"{prefix}{text},{gap}{name})"

    @boundary
    def __str__(self) -> str:
        node = self._graph
        if node is not None and node.trace == ABSTRACT:
            return (views.active[-1].text(node) if views.active else None) or type_name(node)
        return repr(self) if self._absent() else str(self._value())

    # --- values out ---------------------------------------------------------------------------------------------------

    def item(self, *args: Any) -> Any:
        """The only element, or the one at an index, as a Python scalar."""
        node = self._graph
        if node is not None and node.trace == ABSTRACT:
            raise concretization_error(node, "It is used by item().")
        if not args and self.size != 1 and not self._absent():
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self._value().item(*args)

    def tolist(self) -> Any:
        """Nested lists of Python scalars."""
        node = self._graph
        if node is not None and (node.trace == ABSTRACT or differentiated(node)):
            raise concretization_error(node, "It is used by tolist().")
        return self._value().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The elements' bytes."""
        return self._value().tobytes(order)

    def block_until_ready(self) -> Array:
        """The array, with its value computed. Raises AttributeError for a traced one."""
        node = self._graph
        if self.is_deleted():
            raise JaxRuntimeError("INVALID_ARGUMENT: BlockHostUntilReady() called on deleted or donated buffer")
        if node is not None and node.trace == ABSTRACT:
            raise block_error(node)
        if self._host is None:
            if self.node.buffer is None and self.node.value is None:
                recorder.demand(self.node)
            if isinstance(self.node.buffer, Away):
                self.node.buffer.wait()
                return self
        self._value()
        return self

    def copy_to_host_async(self) -> None:
        """Nothing: values are on the host. Raises AttributeError for a traced array, RuntimeError for a deleted one."""
        node = self._graph
        if node is not None and node.trace == ABSTRACT:
            raise AttributeError(
                f"The 'copy_to_host_async' method is not available on traced array with shape {node.aval}."
            )
        if self.is_deleted():
            raise self._no_value()

    def is_ready(self) -> bool:
        """Whether the value is there."""
        return self._host is not None or self.node.known

    def on_device_size_in_bytes(self) -> int:
        """Bytes of its parts on all devices."""
        lies = self._placed()
        if lies is None:
            return self.nbytes
        return math.prod(lies.shard_shape(self.shape)) * self.itemsize * lies.num_devices

    def unsafe_buffer_pointer(self) -> int:
        """Address of the value. Raises JaxRuntimeError where it lies on several devices."""
        if self._on_several():
            raise JaxRuntimeError("INVALID_ARGUMENT: UnsafeBufferPointer() is supported only for unsharded arrays.")
        self._lent()
        return int(self._value().ctypes.data)

    @classmethod
    def _of(cls, node: Node) -> Array:
        return wrap(node)

    def __getattr__(self, name: str) -> Any:
        node = self._graph
        if node is None or node.trace != ABSTRACT:
            raise AttributeError(f"'Array' object has no attribute {name!r}")
        if name == "sharding":
            raise self._no_sharding()
        raise AttributeError(f"a traced Array has no attribute {name}")


records: dict[DType, type[Array]] = {}
"""The class of arrays whose elements are records, by dtype: random keys."""


def reconstruct(value: np.ndarray, weak: bool) -> Array:
    """The array that was pickled."""
    return wrap_value(value, weak)


def wrap_value(value: np.ndarray, weak: bool = False) -> Array:
    """The array of a C-contiguous NumPy array that nobody else has."""
    if spreading.on or type(value) is not NDARRAY:
        node = leaf(value.shape, value.dtype, value, weak=weak)
        if spreading.on:
            known[node] = None
            made_now(node)
        return wrap(node)
    a = new(Array if value.dtype.names is None else records.get(value.dtype, Array))
    a._host, a._weak, a._graph = value, weak, None
    return a


def wrap(node: Node) -> Array:
    """The array for a node."""
    if spreading.on:
        if contexts.active:
            node = varied(node)
        note(node)
    a = new(Array if node.dtype.names is None else records.get(node.dtype, Array))
    a._graph = node
    if spreading.on and type(node.buffer) is Spread:
        node.buffer.parts  # noqa: B018  what users have is there in all processes at the same place of the program
        a._host, a._weak = None, False
        return a
    if node.trace == 0 and type(node.buffer) is NDARRAY and not (spreading.on and known[node]):
        a._host, a._weak = node.buffer, node.weak
        return a
    a._host, a._weak = None, False
    if depth.made is not None:
        depth.made.append(weakref.ref(a))
    if node.trace != ABSTRACT:
        ref = weakref.ref(a)
        node.holder = ref if node.holder is None else (node.holder, ref)
        recorder.settle()
    elif not stack.active:
        check_leak(node)
    return a


def as_node(x: Any) -> Node:
    """The node of an array or a scalar, in JAX's dtypes. A NumPy array is copied, since its owner may write to it.

    Raises: TypeError for what is neither, such as a list.
    """
    if type(x) is Array:
        return x.node
    kind = type(x)
    if guarded.on and (kind in PYTHON_SCALARS or isinstance(x, (np.ndarray, np.generic))):
        to_device(x)
    if kind in PYTHON_SCALARS:
        dtype = canonical(SCALARS[kind])
        return leaf((), dtype, scalar_buffer(x, dtype), weak=kind is not bool)
    if isinstance(x, (np.ndarray, np.generic)):
        if isinstance(x, np.ma.MaskedArray):
            raise ValueError(
                "numpy masked arrays are not supported as direct inputs to JAX functions. Use arr.filled() to convert "
                "the value to a standard numpy array."
            )
        dtype = canonical(check_dtype(x.dtype))
        reading.note(x)
        return leaf(x.shape, dtype, np.array(x, dtype, order="C"))
    if isinstance(x, Array):
        return x.node
    door = doors.get(kind)
    if door is not None:
        reading.note(x)
        node = door.as_node(x)
        return node if node.dtype == canonical(node.dtype) else convert(node, canonical(node.dtype))
    if hasattr(x, "__jax_array__"):
        if hasattr(kind, "_is_dimension") or converts():
            return as_node(x.__jax_array__())
        raise ValueError(
            "Triggering __jax_array__() during abstractification is no longer supported. To avoid this error, either "
            "explicitly convert your object using jax.numpy.array(), or register your object as a pytree."
        )
    if isinstance(x, (bool, int, float, complex)):
        plain: Any = next(t for t in (bool, int, float, complex) if isinstance(x, t))
        return as_node(plain(x))
    raise InvalidInputException(f"Argument '{x}' of type {kind} is not a valid JAX type")


def scalar_buffer(x: Any, dtype: DType) -> np.ndarray:
    """A Python scalar as an array of no axes. Raises OverflowError for an int that does not fit."""
    try:
        return np.array(x, dtype)
    except OverflowError:
        raise OverflowError(f"Python int {x} too large to convert to {dtype.name}") from None


def converted(x: int, dtype: DType) -> np.ndarray:
    """A Python int as an array of no axes, of a dtype that was asked for: what does not fit wraps around, or is
    infinite.

    Raises: OverflowError for one of more than 64 bits, where the dtype is one of integers; TypeError where it is one
    of ml_dtypes'.
    """
    if KIND_OF[dtype] not in "iu":
        with np.errstate(over="ignore"):
            return np.array(x, dtype)
    wide = np.array(x)
    if wide.dtype == object:
        raise OverflowError("Python int too large to convert to C long")
    return wide.astype(dtype)


def silently(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What NumPy's function gives, which says nothing of floating-point errors."""
    token = ERRORS.set(SILENT)
    try:
        return function(*args, **kwargs)
    finally:
        ERRORS.reset(token)


def has_form(x: Any) -> bool:
    """Whether an object says by `__jax_array__` which array it is. What our arrays of other doors say there they say
    to the real JAX, where that is loaded, too."""
    return type(x) is not Array and type(x) not in doors and hasattr(x, "__jax_array__")


def own_form(x: Any) -> Any:
    """What an object with `__jax_array__` says that it is; anything else itself."""
    return x.__jax_array__() if has_form(x) else x


def is_arraylike(x: Any) -> bool:
    """Whether JAX's functions take it for an array: arrays of any door, NumPy's arrays and scalars, Python's scalars,
    and what has `__jax_array__`."""
    kind = type(x)
    return (
        kind is Array
        or kind in PYTHON_SCALARS
        or kind in doors
        or isinstance(x, (np.ndarray, np.generic, Array, bool, int, float, complex))
        or hasattr(x, "__jax_array__")
    )


def check_arraylike(name: str, *args: Any) -> None:
    """Raise JAX's TypeError where an argument is no array: a list, None, text."""
    for i, x in enumerate(args):
        if not is_arraylike(x):
            raise TypeError(f"{name} requires ndarray or scalar arguments, got {type(x)} at position {i}.")


def typed(x: Any) -> tuple[DType, bool]:
    """Dtype and weakness of an operand."""
    if type(x) is Node:
        return x.dtype, x.weak
    return dtype_and_weak(own_form(x))


def as_dtype(x: Any, dtype: DType, weak: bool = False) -> Node:
    """An operand as a node of that dtype: a Python scalar becomes a constant.

    Raises: OverflowError for a Python int that does not fit.
    """
    if type(x) in PYTHON_SCALARS and not weak:
        if guarded.on:
            to_device(x)
        own = canonical(SCALARS[type(x)])
        return Node.of_scalar(np.array(x, own).astype(dtype)[()])
    return cast_node(x if type(x) is Node else as_node(x), dtype, weak)


def cast_node(node: Node, dtype: DType, weak: bool = False) -> Node:
    """A node of that dtype, weak or not; of a complex one the real part, where the dtype is real."""
    if weak:
        return node if node.weak and node.dtype == dtype else weak_cast(node, dtype=dtype)
    return convert(node, dtype)


def promote(*xs: Any) -> list[Node]:
    """The operands as nodes of their common dtype, weak where all are. Raises TypePromotionError where none exists."""
    dtype, weak = promotion(x64_enabled(), *[typed(x) for x in xs])
    return [as_dtype(x, dtype, weak) for x in xs]


door = register(Door("jax", Array, as_node, wrap, canonical, wrap_value, lose, mutable=False))
