"""What the C module needs to know to run calls of compiled functions: `speed.calls`, where it was built.

A signature says which arguments a program is for, how its results are put together, and what runs: the program's `run`,
or, for a small elementwise one, inner loops of NumPy's ufuncs on the same places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..away import on_host
from ..graph.function import Function
from ..graph.node import Node
from ..graph.op import MAP
from ..ops.promotion import loop_of
from ..speed import calls, native
from .execute import Direct, Planned, Program
from .one_step import OneStep

MOST = 8  # signatures of a function: a call is compared with one after the other
NUMBERS = (bool, int, float, complex)
ALIASES = ("broadcast_to", "reshape")


def bind(array: type, flags: Any) -> None:
    """Tell the C module of the class of arrays, and of the object whose `fast` is the state that signatures are for."""
    if calls is not None:
        calls.bind(array, flags)


def handles_are_known(array: type, flags: Any) -> bool:
    """Tell the C module the same of the NumPy door's class; whether there are the modules for it."""
    if native is not None:
        calls.bind_handles(array, flags, native.shared)
    return native is not None


def remember(
    known: list[Any],
    door: Any,
    flags: Any,
    call: Any,
    given: Any,
    deleted: Sequence[bool],
    out: Any,
    function: Function,
    program: Program,
) -> None:
    """Add the signature of a call (`api.jit.Call`) to `known`, if it is simple, with results in the form of the tree
    `out`, which are the door's (`lazynp.doors.Door`). `given`: the trees of arguments by place
    and by name. `deleted`: for each leaf whether it is, since it was donated; empty where none is."""
    leaves, inputs = call.leaves, call.nodes
    array, handles, outputs = door.array, door.of_value is None, function.outputs
    if calls is None or len(known) >= MOST or any(kind is not None for kind in program.kinds):
        return
    if handles and (function.effects or not handles_are_known(array, flags)):
        return
    if any(deleted) and type(program.run) is Planned:
        return  # it may overwrite what is deleted, if nobody else has that
    sources = program.sources[: program.n_out]
    if any(where not in (0, 3) for where, _ in sources):
        return
    expected = []
    for i, (x, n) in enumerate(zip(leaves, inputs)):
        if n.dtype.hasobject or n.dtype.names is not None or n.dtype.num > np.dtype(np.complex128).num:
            return
        if type(x) is array or type(x) is np.ndarray and x.dtype == n.dtype or type(x) in NUMBERS:
            gone = array._gone(n.aval, True) if deleted and deleted[i] else None
            donated = type(x) is array and any(call.donated) and call.donated[i]
            expected.append((type(x), n.shape, n.dtype, n.weak, donated, gone))
        else:
            return
    if any(n.dtype.names is not None for n in outputs):
        return
    run = program.run
    first = run.first if type(run) is OneStep else run
    steps: Any = ()
    sizes: Any = ()
    constants: Any = ()
    there: list[int] = []
    for where, at in sources:
        there.append(at if where == 0 else there[at])
    if handles and (type(first) is not Direct or len(set(there)) < len(there)):
        return  # results that are large, or one array twice
    places = there
    if type(first) is Direct:
        found = InnerLoops(first).made(len(inputs))
        if found is not None:
            steps, sizes, constants, number = found
            places = [number[run.node_at(at)] for at in there]
            if len(set(places)) < len(set(there)):
                places, steps = there, ()
    results = tuple([(at, n.shape, n.dtype, n.weak) for at, n in zip(places, outputs)])
    named = {k: value for k, (_, value) in call.statics}  # `...` stands for them
    args, kwargs = given
    args = tuple([... if i in named else a for i, a in enumerate(args)])
    kwargs.update({k: ... for k in named if type(k) is str})
    like = (flags.fast, args, kwargs, tuple(named.items()), tuple(expected), out)
    made = calls.signature(*like, results, run, steps, sizes, constants, handles)
    if made is None and steps:
        results = tuple([(at, n.shape, n.dtype, n.weak) for at, n in zip(there, outputs)])
        made = calls.signature(*like, results, run, (), (), (), handles)
    if made is not None:
        known.append(made)


class NotSimple(Exception):
    """A node is no loop over its operands."""


class InnerLoops:
    """A list of NumPy calls as inner loops on places in memory: inputs, constants, then what is computed."""

    def __init__(self, direct: Direct) -> None:
        self.direct = direct
        self.place: dict[Node, int] = {n: i for i, n in enumerate(direct.inputs)}
        self.single: set[int] = {i for i, n in enumerate(direct.inputs) if n.aval.size == 1}
        self.constants: list[np.ndarray] = []
        self.scalars: dict[Any, int] = {}
        self.steps: list[tuple[Any, int, list[tuple[int, Any]], tuple[int, Any]]] = []

    def made(self, n_inputs: int) -> tuple[Any, Any, Any, dict[Node, int]] | None:
        """Steps, sizes and constants as `calls.signature` takes them, and the place of each node. None: not simple."""
        direct = self.direct
        try:
            for n in direct.nodes:
                self.add(n)
        except NotSimple:
            return None
        wanted = {self.place[n] for n in direct.wanted}
        aliased = [n for n in direct.wanted if n.op is not None and n.op.name in ALIASES]
        if aliased or len(wanted) < len(direct.wanted) or any(type(p) is not int or p < 0 for p in wanted):
            return None
        return (*self.laid_out(n_inputs, wanted), self.place)

    def constant(self, value: Any, dtype: Any) -> int:
        """The place of a constant of that dtype: -1 for the first, -2 for the next, until all are known."""
        array = np.array(value, dtype, order="C")
        key = (array.tobytes(), array.shape, dtype)
        if key not in self.scalars:
            self.constants.append(array)
            self.scalars[key] = -len(self.constants)
            if array.size == 1:
                self.single.add(-len(self.constants))
        return self.scalars[key]

    def operand(self, n: Node, dtype: Any) -> int:
        """The place of a node's value in that dtype."""
        at = self.place.get(n)
        if at is None:
            value = n.value if n.value is not None else on_host(n.buffer)
            if value is None:
                raise NotSimple
            return self.constant(value, dtype)
        if n.dtype == dtype:
            return at
        return self.step(None, n.aval.size if at not in self.single else 1, [(at, n.dtype)], dtype)

    def step(self, ufunc: Any, size: int, sources: list[tuple[int, Any]], dtype: Any) -> int:
        """The place of what a loop makes of these sources."""
        at = len(self.direct.inputs) + len(self.steps)
        self.steps.append((ufunc, size, sources, (at, dtype)))
        if size == 1:
            self.single.add(at)
        return at

    def add(self, n: Node) -> None:
        op = n.op
        if op is None or n.dtype is None or n.dtype.num > np.dtype(np.complex128).num:
            raise NotSimple
        if op.name in ALIASES and (n.inputs[0].aval.size == n.aval.size or self.place.get(n.inputs[0]) in self.single):
            self.place[n] = self.operand(n.inputs[0], n.dtype)
            return
        ufunc = op.ufunc
        moves = op.code is not None and op.code.moves
        if op.kind != MAP or (ufunc is None or ufunc.nout > 1) and not moves:
            raise NotSimple
        dtypes, first = loop_of(op, [i.aval for i in n.inputs], n.dtype), n.inputs[0].dtype
        if moves and dtypes[0] != first:
            raise NotSimple
        if moves and len(dtypes) == 1 and (first == n.dtype or not np.can_cast(first, n.dtype, "same_kind")):
            raise NotSimple
        sources = [(self.operand(i, d), d) for i, d in zip(n.inputs, dtypes)]
        size = n.aval.size
        for i, (at, _) in zip(n.inputs, sources):
            if at not in self.single and i.aval.size != size:
                raise NotSimple
        self.place[n] = self.step(ufunc, size, sources, n.dtype)

    def laid_out(self, n_inputs: int, wanted: set[int]) -> tuple[Any, Any, Any]:
        """Places numbered as the C module does; scratch memory of what is read no more is used again."""
        last = {at: k for k, (_, _, sources, _) in enumerate(self.steps) for at, _ in sources}
        first = n_inputs + len(self.constants)
        sizes = [16] * first  # an input may be a number, which is put there
        number: dict[int, int] = {i: i for i in range(n_inputs)}
        number.update({-1 - i: n_inputs + i for i in range(len(self.constants))})
        free: list[int] = []
        steps = []
        for k, (ufunc, size, sources, (at, dtype)) in enumerate(self.steps):
            if free and at not in wanted:
                number[at] = free.pop()
            else:
                number[at] = len(sizes)
                sizes.append(0)
            if at not in wanted:
                sizes[number[at]] = max(sizes[number[at]], size * dtype.itemsize)
            free += [
                number[s] for s in {s for s, _ in sources} if number[s] >= first and last[s] == k and s not in wanted
            ]
            strides = [0 if s in self.single else d.itemsize for s, d in sources]
            parts = [*sources, (at, dtype)]
            places, types = tuple([number[s] for s, _ in parts]), tuple([d.num for _, d in parts])
            steps.append((ufunc, size, places, types, (*strides, dtype.itemsize)))
        self.place = {n: number[at] for n, at in self.place.items()}
        return tuple(steps), tuple(sizes), tuple(self.constants)
