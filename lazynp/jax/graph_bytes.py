"""Graphs and trees as bytes: what an exported function is when it is stored.

The form is text (JSON) of the operations by name, with arrays of constants behind it. Nothing in it is code: reading
one makes only operations that this library has, and no object of any other kind.
"""

from __future__ import annotations

import json
import struct
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import optree

from ..graph.aval import Aval
from ..graph.function import Function
from ..graph.node import ABSTRACT, Node, leaf
from ..graph.op import make, registry, untagged
from ..runtime.execute import boundary, value_of
from ..tree import NAMESPACE
from .jaxpr_writer import behind, in_order
from .random.implementations import IMPLS, impl_of, record
from .symbolic import SymbolicScope, is_symbolic_dim, symbolic_shape

MAGIC, VERSION = b"lazynp.jax.export", 2
PLAIN = (bool, int, str, type(None))


class Blob:
    """What is written: text, and the arrays that it refers to by number."""

    def __init__(self, arrays: list[bytes] | None = None) -> None:
        self.arrays = [] if arrays is None else arrays
        self.scope = SymbolicScope()  # of variables in sizes that are read

    # --- Values ---

    def dtype(self, dtype: Any) -> Any:
        impl = impl_of.get(dtype)
        if impl is not None:
            if impl.name not in IMPLS:
                raise NotImplementedError(f"keys of {impl.name!r}, a generator of a user's, cannot be serialized")
            return {"key": impl.name}
        return np.dtype(dtype).name

    def read_dtype(self, text: Any) -> Any:
        if isinstance(text, dict):
            return record(IMPLS[text["key"]])
        return np.dtype(getattr(ml_dtypes, text, text))

    def array(self, x: np.ndarray) -> Any:
        self.arrays.append(np.ascontiguousarray(x).tobytes())
        return {"n": len(self.arrays) - 1, "shape": list(x.shape), "dtype": self.dtype(x.dtype)}

    def read_array(self, text: Any) -> np.ndarray:
        found = np.frombuffer(self.arrays[text["n"]], self.read_dtype(text["dtype"]))
        return found.reshape(text["shape"]).copy()

    def value(self, x: Any) -> Any:
        """A parameter of an operation. Raises NotImplementedError for what cannot be written."""
        if type(x) in PLAIN:
            return x
        if type(x) in (float, complex) or isinstance(x, np.generic):
            plain = type(x) in (float, complex)
            return {"scalar": self.array(np.asarray(x)), "python": plain}
        if type(x) in (tuple, list):
            return {type(x).__name__: [self.value(v) for v in x]}
        if isinstance(x, np.dtype):
            return {"dtype": self.dtype(x)}
        if isinstance(x, type) and issubclass(x, np.generic):
            return {"type": np.dtype(x).name}
        if isinstance(x, np.ndarray):
            return {"array": self.array(x)}
        if isinstance(x, Aval):
            return {"aval": self.aval(x)}
        if isinstance(x, Function):
            return {"function": self.function(x)}
        if is_symbolic_dim(x):
            return {"dim": str(x)}
        raise NotImplementedError(f"a parameter of type {type(x).__name__} cannot be serialized: {x!r}")

    def read_value(self, text: Any) -> Any:
        if not isinstance(text, dict):
            return text
        if "scalar" in text:
            found = self.read_array(text["scalar"])[()]
            return found.item() if text["python"] else found
        readers: dict[str, Callable[[Any], Any]] = {
            "tuple": lambda vs: tuple([self.read_value(v) for v in vs]),
            "list": lambda vs: [self.read_value(v) for v in vs],
            "dtype": self.read_dtype,
            "type": lambda name: self.read_dtype(name).type,
            "array": self.read_array,
            "aval": self.read_aval,
            "function": self.read_function,
            "dim": lambda text: symbolic_shape(text, scope=self.scope)[0],
        }
        ((kind, rest),) = text.items()
        return readers[kind](rest)

    def aval(self, a: Any) -> Any:
        return [[self.value(n) for n in a.shape], self.dtype(a.dtype), bool(a.weak)]

    def read_aval(self, text: Any) -> Aval:
        return Aval(tuple([self.read_value(n) for n in text[0]]), self.read_dtype(text[1]), text[2])

    # --- Graphs ---

    def function(self, function: Function, since: int = 1 << 62) -> Any:
        """A graph, with the values that it captures. Raises NotImplementedError for one with effects, or with an
        operation that is a user's Python function."""
        if function.effects:
            raise NotImplementedError("a function with effects (printing, callbacks) cannot be serialized")
        found, stack = [], boundary(function, since)
        while stack:
            n = stack.pop()
            if n.trace == ABSTRACT and n.op is not None:  # made of sizes
                stack.extend(boundary(Function((), n.inputs), since))
            else:
                found.append(n)
        stop = {*found, *function.inputs}
        number = {n: i for i, n in enumerate(function.inputs)}
        lines: list[Any] = []

        def place(n: Node) -> int:
            n = behind(n, stop)
            if n not in number:
                lines.append({"constant": self.constant(n)})
                number[n] = len(function.inputs) + len(lines) - 1
            return number[n]

        for n in in_order(function.outputs, stop):
            if n.op is None or n in stop or n.op.tag:
                continue
            inputs = [place(i) for i in n.inputs]
            static = [self.value(v) for v in n.static]
            lines.append({"op": n.op.name, "in": inputs, "static": static, "moving": [self.value(v) for v in n.moving]})
            number[n] = len(function.inputs) + len(lines) - 1
        outputs = [place(n) for n in function.outputs]
        return {"inputs": [self.aval(n.aval) for n in function.inputs], "lines": lines, "outputs": outputs}

    def constant(self, n: Node) -> Any:
        if n.value is not None:
            return {"value": self.value(n.value)}
        if n.trace == ABSTRACT:
            raise NotImplementedError("a function that captures a traced value cannot be serialized")
        return {"array": self.array(value_of(n)), "weak": bool(n.weak)}

    def read_function(self, text: Any) -> Function:
        inputs = [leaf(*a[:2], weak=a[2], trace=ABSTRACT) for a in map(self.read_aval, text["inputs"])]
        nodes = list(inputs)
        for line in text["lines"]:
            if "constant" in line:
                nodes.append(self.read_constant(line["constant"]))
                continue
            op = registry[line["op"]]
            static, moving = (tuple([self.read_value(v) for v in line[k]]) for k in ("static", "moving"))
            nodes.append(make(op, tuple([nodes[i] for i in line["in"]]), static, moving))
        return Function(inputs, [untagged(nodes[i]) for i in text["outputs"]])

    def read_constant(self, text: Any) -> Node:
        if "value" in text:
            return Node.of_scalar(self.read_value(text["value"]))
        found = self.read_array(text["array"])
        return leaf(found.shape, found.dtype, found, weak=text["weak"])

    # --- Bytes ---

    def bytes(self, header: Any) -> bytearray:
        text = json.dumps(header).encode()
        parts = [MAGIC, struct.pack("<HQI", VERSION, len(text), len(self.arrays)), text]
        for data in self.arrays:
            parts += [struct.pack("<Q", len(data)), data]
        return bytearray(b"".join(parts))


def read(data: bytes | bytearray) -> tuple[Blob, Any]:
    """The text and the arrays. Raises ValueError for what is nothing of the kind."""
    data = bytes(data)
    start = len(MAGIC) + struct.calcsize("<HQI")
    if not data.startswith(MAGIC) or len(data) < start:
        raise ValueError("this is no function that lazynp.jax.export has serialized")
    version, length, count = struct.unpack("<HQI", data[len(MAGIC) : start])
    if version != VERSION:
        raise ValueError(f"a function serialized in form {version} cannot be read: this version knows form {VERSION}")
    at, arrays = start + length, []
    for _ in range(count):
        (size,) = struct.unpack("<Q", data[at : at + 8])
        arrays.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    if at > len(data):
        raise ValueError("a serialized function is cut off")
    return Blob(arrays), json.loads(data[start : start + length])


# --- Trees ------------------------------------------------------------------------------------------------------------


class Kind:
    """How nodes of a type are written: auxiliary data to bytes and back, and a node from that and its children."""

    def __init__(
        self, name: str, write: Callable[..., Any], read: Callable[..., Any], build: Callable[..., Any]
    ) -> None:
        self.name, self.write, self.read, self.build = name, write, read, build


kinds: dict[type, Kind] = {}
by_name: dict[str, tuple[type, Kind]] = {}


def tree(structure: Any) -> Any:
    """A tree's structure. Raises ValueError for nodes of a type that was not registered for it."""
    return node_text(optree.tree_unflatten(structure, [LEAF] * structure.num_leaves))


class Leaf:
    """Stands for a leaf."""


LEAF = Leaf()


def node_text(x: Any) -> Any:
    if x is LEAF:
        return "*"
    if x is None:
        return None
    if type(x) in (tuple, list):
        return {type(x).__name__: [node_text(v) for v in x]}
    if type(x) in (dict, OrderedDict) and all([isinstance(k, (str, int)) for k in x]):
        return {type(x).__name__: [[k, node_text(v)] for k, v in x.items()]}
    kind = kinds.get(type(x))
    if kind is None:
        raise ValueError(
            f"Cannot serialize PyTree nodes of type {type(x)}: use register_pytree_node_serialization or "
            "register_namedtuple_serialization"
        )
    children, aux, _, _ = optree.tree_flatten_one_level(x, namespace=NAMESPACE)
    return {"node": [kind.name, kind.write(aux).hex(), [node_text(c) for c in children]]}


def read_tree(text: Any) -> Any:
    """The structure."""
    return optree.tree_structure(read_node(text), namespace=NAMESPACE)


def read_node(text: Any) -> Any:
    if text == "*" or text is None:
        return LEAF if text else None
    ((kind, rest),) = text.items()
    if kind == "node":
        name, aux, children = rest
        if name not in by_name:
            raise ValueError(f"Cannot deserialize PyTree nodes named {name!r}: no type was registered under that name")
        _, found = by_name[name]
        return found.build(found.read(bytes.fromhex(aux)), tuple([read_node(c) for c in children]))
    if kind in ("tuple", "list"):
        made = [read_node(v) for v in rest]
        return tuple(made) if kind == "tuple" else made
    pairs = [(k, read_node(v)) for k, v in rest]
    return dict(pairs) if kind == "dict" else OrderedDict(pairs)
