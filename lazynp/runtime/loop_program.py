"""From a closed function to the plain data of which `backends.loops` makes C++."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..backends.loops.program import Body, Loop, Step, Unsupported, Value
from ..graph.function import Function
from ..graph.node import Node
from ..graph.op import MAP, REDUCE, SET, VIEW
from ..graph.walk import toposort
from ..ops.promotion import loop_of
from ..ops.rewrites import rewrites
from .numpy_calls import Call, call_of

LARGEST = 1 << 19  # bytes of one value from which the kernels of a plan are better: they run on all cores
KEYS = "uint64"  # what a key, a record of two words, is in machine code
KINDS = {MAP: "map", REDUCE: "reduce", VIEW: "view", SET: "set"}


class Numbering:
    """A body while its steps are collected.

    Attributes:
        place: number of each node's value; of a node of several results those of all.
        fixed: nodes that depend on no input, with their values.
    """

    def __init__(self, f: Function) -> None:
        if f.effects:
            raise Unsupported("effects")
        outputs = rewrites.simplify(f.outputs, f.inputs)
        self.values: list[Value] = []
        self.place: dict[Node, Any] = {}
        self.fixed: dict[Node, Any] = {}
        self.scalars: dict[int, Any] = {}
        self.arrays: dict[int, Any] = {}
        self.steps: list[Step] = []
        for n in f.inputs:
            self.place[n] = self.number(n.aval)
        for n in toposort(outputs, stop=set(f.inputs)):
            if n not in self.place:
                self.add(n)
        made = tuple([self.of(n) for n in outputs])  # which numbers constants that nothing else reads
        self.body = Body(tuple(self.values), len(f.inputs), self.scalars, self.arrays, tuple(self.steps), made)

    def number(self, aval: Any) -> int:
        value = Value(aval.shape, dtype_name(aval.dtype))
        if value.size * aval.dtype.itemsize > LARGEST:
            raise Unsupported("large values")
        self.values.append(value)
        return len(self.values) - 1

    def of(self, n: Node) -> Any:
        """The number of a value; a constant gets one when it is first read."""
        found = self.place.get(n)
        if found is None:
            found = self.place[n] = self.number(n.aval)
            x = self.fixed[n]
            if n.dtype.names:
                x = np.asarray(x).view(KEYS)
            if n.aval.size == 1 and not n.shape:
                self.scalars[found] = np.asarray(x)[()] if not isinstance(x, (bool, int, float)) else x
            else:
                self.arrays[found] = x
        return found

    def add(self, n: Node) -> None:
        op = n.op
        if n.value is not None:
            self.fixed[n] = n.value
            return
        if op is None:
            raise Unsupported("a captured value")
        if all([i in self.fixed for i in n.inputs]) and op.kind != VIEW:
            self.fixed[n] = call_of(n)(*[self.fixed[i] for i in n.inputs])
            return
        if op.name == "pick":
            self.place[n] = self.place[n.inputs[0]][n.static[0]]
            return
        args = tuple([self.of(i) for i in n.inputs])
        avals = n.outs if n.dtype is None else (n.aval,)
        outs = tuple([self.number(a) for a in avals])
        self.place[n] = outs if n.dtype is None else outs[0]
        kind, name = "map" if op.code is not None and op.code.libm else KINDS.get(op.kind, "other"), op.name
        if is_outer(n):
            kind, name = "map", "multiply"
        params = {k: bodies_of(v) for k, v in op.params_of(n).items()}
        dtypes = loop_of(op, [i.aval for i in n.inputs], n.dtype) if kind == "map" else ()
        loop = tuple([dtype_name(d) for d in dtypes])
        self.steps.append(Step(kind, name, args, outs, loop, params, functools.partial(python_call, n)))


def is_outer(n: Node) -> bool:
    """Whether a product of matrices is one of columns and rows: elementwise."""
    if n.op is None or n.op.name != "matmul" or {i.dtype for i in n.inputs} != {n.dtype}:
        return False
    return all([i.ndim > 1 for i in n.inputs]) and n.inputs[0].shape[-1] == 1


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Raises Unsupported for records that are no keys of two words."""
    if dtype.names is None:
        return dtype.name
    if dtype.itemsize != 8:
        raise Unsupported(f"dtype {dtype}")
    return KEYS


def python_call(n: Node) -> Call:
    """A node's operation on arrays in which keys are integers."""
    call, kinds = call_of(n), [i.dtype if i.dtype is not None and i.dtype.names else None for i in n.inputs]
    if not any(kinds) and not (n.dtype is not None and n.dtype.names):
        return call
    made: Any = n.dtype if n.dtype is not None and n.dtype.names else None

    def with_keys(*xs: Any) -> Any:
        out = call(*[x if k is None else x.view(k) for x, k in zip(xs, kinds)])
        return out if made is None else np.ascontiguousarray(out).view(KEYS)

    return with_keys


def bodies_of(value: Any) -> Any:
    """A parameter with functions as bodies."""
    if isinstance(value, Function):
        return Numbering(value).body
    if isinstance(value, tuple) and value and isinstance(value[0], Function):
        return tuple([Numbering(f).body for f in value])
    return value


def scan_program(body: Function, n_consts: int, n_carry: int, reverse: bool) -> Loop:
    """Raises Unsupported."""
    return Loop("scan", (Numbering(body).body,), (n_consts, n_carry), reverse)


def while_program(cond: Function, body: Function, n_cond: int, n_body: int) -> Loop:
    """Raises Unsupported."""
    return Loop("while", (Numbering(cond).body, Numbering(body).body), (n_cond, n_body))
