"""The text of one function: places of values, loops over elements, elementwise steps of one shape in one loop nest."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ops.transcendental import EXPONENTS, ROOTS
from ..support import code_of
from .program import Body, Site, Step, Unsupported, Value
from .scalar import converted, ctype, expression, literal

LARGEST_WORKSPACE = 1 << 25  # bytes
MOST_STEPS = 1500
ALIGN = 64
Shape = tuple[int, ...]
Emit = Callable[..., Any]
STEPS: dict[str, Emit] = {}
"""How the steps that are no maps are written, by op: `(writer, state, step) -> place or places`."""


def emits(*names: str) -> Callable[[Emit], Emit]:
    def register(f: Emit) -> Emit:
        for name in names:
            STEPS[name] = f
        return f

    return register


class Place(NamedTuple):
    """Where a value lies: a variable (one element, or a whole shape of that), or `base[i0 * s0 + i1 * s1 + ...]`."""

    base: str
    strides: Shape
    shape: Shape
    dtype: str
    variable: bool = False

    @property
    def dense(self) -> bool:
        step = 1
        for n, s in zip(reversed(self.shape), reversed(self.strides)):
            if n != 1 and s != step:
                return False
            step *= n
        return True

    def at(self, index: Sequence[str]) -> str:
        """The element at an index, an expression for each axis."""
        if self.variable:
            return self.base
        terms = [i if s == 1 else f"{i} * {s}" for i, s in zip(index, self.strides) if s and i != "0"]
        return f"{self.base}[{' + '.join(terms) or '0'}]"


def dense(shape: Shape) -> Shape:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def size_of(shape: Shape) -> int:
    return math.prod(shape)


def product(lengths: Iterable[int | str]) -> int | str:
    """A number, or an expression of C++ where a length is one."""
    n = list(lengths)
    return " * ".join(map(str, n)) if any([isinstance(x, str) for x in n]) else math.prod(n)


LOOK = "if (__builtin_expect(--left == 0, 0) && (left = watch.look()) < 0) return -1;"
"""At the beginning of each step of a loop."""


class Writer:
    """The text of one function.

    Attributes:
        lines: of the body. workspace: bytes used. arrays: constants that the caller has to pass, after its inputs.
        sites: steps that Python computes. required: chapters of the prelude that are needed.
    """

    def __init__(self, first_constant: int) -> None:
        self.lines: list[str] = []
        self.workspace = 0
        self.arrays: list[Any] = []
        self.sites: list[Site] = []
        self.required: set[str] = set()
        self.first_constant = first_constant
        self.numbers = itertools.count()
        self.steps = 0

    def name(self, prefix: str = "v") -> str:
        return f"{prefix}{next(self.numbers)}"

    def put(self, line: str) -> None:
        self.lines.append(line)

    def buffer(self, dtype: str, count: int) -> str:
        """Room for that many elements; a pointer to them."""
        return self.room(dtype, count)[0]

    def room(self, dtype: str, count: int) -> tuple[str, int]:
        """The same, and where it lies in the workspace."""
        at = -(-self.workspace // ALIGN) * ALIGN
        self.workspace = at + max(count, 1) * np.dtype(dtype).itemsize
        if self.workspace > LARGEST_WORKSPACE:
            raise Unsupported("too large a workspace")
        name = self.name("b")
        self.put(f"{ctype(dtype)}* const {name} = ({ctype(dtype)}*)(ws + {at});")
        return name, at

    def fresh(self, value: Value, target: str | None = None) -> Place:
        """Room for a value: a variable, the target, or a buffer."""
        if value.size == 1 and target is None:
            name = self.name()
            self.put(f"{ctype(value.dtype)} {name};")
            return Place(name, (0,) * len(value.shape), value.shape, value.dtype, True)
        base = target or self.buffer(value.dtype, value.size)
        return Place(base, dense(value.shape), value.shape, value.dtype)

    # --- loops over elements ------------------------------------------------------------------------------------------

    def nest(
        self, shape: Shape, places: Sequence[Place], inner: Callable[[list[str]], None], simd: bool = True
    ) -> None:
        """A loop nest over a shape. Axes over which all places run on evenly are one loop."""
        if 0 in shape:
            return
        axes = [i for i, n in enumerate(shape) if n != 1]
        groups: list[list[int]] = []
        for a in axes:
            if groups and all([self.runs_on(p, shape, groups[-1][-1], a) for p in places]):
                groups[-1].append(a)
            else:
                groups.append([a])
        index = ["0"] * len(shape)
        for k, group in enumerate(groups):
            count = product(shape[a] for a in group)
            var = self.name("i")
            if simd and k == len(groups) - 1 and (isinstance(count, str) or count >= 4):
                self.put("#pragma GCC ivdep")
            self.put(f"for (int64_t {var} = 0; {var} < {count}; ++{var}) {{")
            index[group[-1]] = var
        inner(index)
        for _ in groups:
            self.put("}")

    def each(self, shape: Shape, inner: Callable[[list[str]], None]) -> None:
        """A loop for each axis, the last one for the vectorizer."""
        index = []
        for k, n in enumerate(shape):
            index.append(self.name("i"))
            if k == len(shape) - 1 and n >= 4:
                self.put("#pragma GCC ivdep")
            self.put(f"for (int64_t {index[-1]} = 0; {index[-1]} < {n}; ++{index[-1]}) {{")
        inner(index)
        self.put("}" * len(shape))

    @staticmethod
    def runs_on(p: Place, shape: Shape, a: int, b: int) -> bool:
        """Whether a step along axis a is one past the end of axis b, for a place whose axes are those of shape."""
        if p.variable:
            return True
        offset = len(shape) - len(p.shape)
        sa, sb = (p.strides[i - offset] if i >= offset and p.shape[i - offset] != 1 else 0 for i in (a, b))
        return not isinstance(shape[b], str) and sa == sb * shape[b]

    def aligned(self, p: Place, shape: Shape) -> Place:
        """A place broadcast to a shape."""
        if p.variable or p.shape == shape:
            return p
        extra = len(shape) - len(p.shape)
        strides = [s if n != 1 or m == 1 else 0 for s, n, m in zip(p.strides, p.shape, shape[extra:])]
        return p._replace(shape=shape, strides=(0,) * extra + tuple(strides))

    def copy(self, source: Place, target: Place) -> None:
        """Elements of a place into another of the same shape."""
        if source.variable or source.dense and target.dense:
            if source.variable and target.variable:
                self.put(f"{target.base} = {source.base};")
                return
            if not source.variable and not target.variable:
                count = size_of(target.shape)
                if source.base != target.base and count:
                    self.put(f"std::memcpy({target.base}, {source.base}, {count * np.dtype(target.dtype).itemsize});")
                return
        source = self.aligned(source, target.shape)
        self.nest(target.shape, [source, target], lambda i: self.put(f"{target.at(i)} = {source.at(i)};"))

    # --- bodies -------------------------------------------------------------------------------------------------------

    def body(
        self, body: Body, inputs: Sequence[Place], targets: Sequence[str | None], carried: Sequence[int] = ()
    ) -> list[Place]:
        """The steps of a body; where the outputs are.

        `targets`: pointers to where dense outputs should be made. `carried`: inputs (of the first outputs in order) in
        buffers that may be overwritten when nothing reads them any more.
        """
        self.steps += len(body.steps)
        if self.steps > MOST_STEPS:
            raise Unsupported("too many operations")
        places: dict[int, Place] = dict(enumerate(inputs))
        for number, x in body.arrays.items():
            places[number] = self.constant(np.asarray(x), body.values[number])
        wanted = {o: t for o, t in zip(body.outputs, targets) if t is not None and body.outputs.count(o) == 1}
        left = list(body.steps)
        uses: dict[int, int] = {}
        for s in left:
            for a in s.args:
                uses[a] = uses.get(a, 0) + 1
        for o in body.outputs:
            uses[o] = uses.get(o, 0) + 1
        state = State(body, places, wanted, uses)
        state.renewed = {c for c, o in zip(carried, body.outputs) if renews(body, c, o, uses)}
        for c, o in zip(carried, body.outputs):
            if c in state.renewed:
                wanted.pop(o, None)
        while left:
            left = self.some_steps(state, left)
        return [self.place(state, o) for o in body.outputs]

    def place(self, state: State, number: int) -> Place:
        """Where a value is; a scalar constant is its literal."""
        found = state.places.get(number)
        if found is None:
            value = state.body.values[number]
            text = literal(state.body.scalars[number], value.dtype)
            found = state.places[number] = Place(text, (), (), value.dtype, True)
        return found

    def constant(self, x: np.ndarray, value: Value) -> Place:
        """An array that the caller passes."""
        at = self.first_constant + len(self.arrays)
        self.arrays.append(np.ascontiguousarray(x.astype(value.dtype, copy=False)))
        name = self.name("k")
        self.put(f"const {ctype(value.dtype)}* const {name} = (const {ctype(value.dtype)}*)in[{at}];")
        return Place(name, dense(value.shape), value.shape, value.dtype)

    def some_steps(self, state: State, left: list[Step]) -> list[Step]:
        """All that can be made now and is no map, else the maps over one shape; what is left."""
        now = [s for s in left if not self.is_map(s) and state.ready(s) and not state.late(s)]
        now = now or [s for s in left if state.late(s) and state.ready(s) and not state.read_later(s, left)][:1]
        if now:
            for s in now:
                self.single(state, s)
            return [s for s in left if s not in now]
        first = next((s for s in left if self.is_map(s) and state.ready(s)), None)
        if first is None:  # what would be overwritten is read later on
            state.renewed.clear()
            return left
        shape = state.body.values[first.outs[0]].shape
        group: list[Step] = []
        made: set[int] = set()
        for s in left:
            fits = self.is_map(s) and state.body.values[s.outs[0]].shape == shape
            if fits and all([a in made or state.has(a) for a in s.args]):
                group.append(s)
                made.update(s.outs)
        self.maps(state, group, shape, [s for s in left if s not in group])
        return [s for s in left if s not in group]

    def maps(self, state: State, group: list[Step], shape: Shape, later: list[Step]) -> None:
        """Elementwise steps in one loop nest; only what others read is stored."""
        values = state.body.values
        made = {s.outs[0] for s in group}
        read = {a for s in later for a in s.args} | set(state.body.outputs)
        outside = list(dict.fromkeys([a for s in group for a in s.args if a not in made]))
        ins = {a: self.aligned(self.place(state, a), shape) for a in outside}
        outs = {o: self.fresh(values[o], state.wanted.get(o)) for o in made if o in read}
        scalar = size_of(shape) == 1

        def inner(index: list[str]) -> None:
            text: dict[int, str] = {}
            for a, p in ins.items():
                if p.variable:
                    text[a] = p.base
                else:
                    text[a] = self.name("x")
                    self.put(f"const {ctype(p.dtype)} {text[a]} = {p.at(index)};")
            for s in group:
                number = s.outs[0]
                args = [converted(text[a], values[a].dtype, d) for a, d in zip(s.args, s.loop)]
                dtype = values[number].dtype
                line = self.known_power(state, s, args) or self.formula(s, args, dtype)
                if number in outs and outs[number].variable:
                    text[number] = outs[number].base
                    self.put(f"{text[number]} = {line};")
                    continue
                text[number] = self.name("x")
                self.put(f"const {ctype(dtype)} {text[number]} = {line};")
                if number in outs:
                    self.put(f"{outs[number].at(index)} = {text[number]};")

        if scalar:
            inner(["0"] * len(shape))
        else:
            self.nest(shape, [*ins.values(), *outs.values()], inner)
        state.places.update(outs)

    @staticmethod
    def known_power(state: State, s: Step, args: list[str]) -> str | None:
        """A power whose exponent is one of `EXPONENTS`, as products and roots."""
        known = code_of(s.op).libm == "pow" and s.loop[0][0] == "f"
        exponent = state.body.scalars.get(s.args[-1]) if known else None
        if exponent == 0.5 and ROOTS and s.op != "c_power":
            return f"std::sqrt({args[0]})"
        return f"power_of<{int(2 * exponent)}>({args[0]})" if exponent in EXPONENTS else None

    @staticmethod
    def formula(s: Step, args: list[str], dtype: str) -> str:
        mixed = set(s.loop) == {"int64", "uint64"} and code_of(s.op).c.get("mixed")
        return mixed.format(*args) if mixed else expression(s.op, args, s.loop[-1], dtype)

    def single(self, state: State, s: Step) -> None:
        """A step that is no map. What cannot be written is left to Python."""
        family = s.op.rpartition(".")[2]  # `add.reduce`, `add.accumulate`
        emit = STEPS.get(family)
        before = len(self.lines), len(self.arrays), len(self.sites), self.workspace, self.steps
        try:
            if emit is None:
                raise Unsupported(s.op)
            made = emit(self, state, s)
        except Unsupported:
            n_lines, n_arrays, n_sites, self.workspace, self.steps = before
            del self.lines[n_lines:], self.arrays[n_arrays:], self.sites[n_sites:]
            made = self.called(state, s)
        for number, p in zip(s.outs, made if isinstance(made, list) else [made]):
            state.places[number] = p

    def called(self, state: State, s: Step) -> list[Place]:
        """A step that Python computes: its operands are copied to where NumPy sees them."""
        if s.call is None:
            raise Unsupported(s.op)
        args, outs, made = [], [], []
        for a in s.args:
            source = self.place(state, a)
            base, at = self.room(source.dtype, size_of(source.shape))
            self.copy(source, Place(base, dense(source.shape), source.shape, source.dtype))
            args.append((at, source.shape, source.dtype))
        for o in s.outs:
            value = state.body.values[o]
            base, at = self.room(value.dtype, value.size)
            made.append(Place(base, dense(value.shape), value.shape, value.dtype))
            outs.append((at, value.shape, value.dtype))
        self.put(f"if (!watch.call({len(self.sites)})) return -1;")
        self.sites.append(Site(s.call, args, outs))
        return made

    def is_map(self, s: Step) -> bool:
        """Whether it can be part of a loop nest."""
        if s.kind != "map":
            return False
        try:
            self.formula(s, ["0"] * len(s.args), s.loop[0] if s.loop else "")
        except Unsupported:
            return False
        return True


class State:
    """A body while it is written.

    Attributes:
        places: of values that are there. wanted: pointers to where outputs should be made.
        uses: how often values are read. own: values in buffers that the next write may overwrite.
        renewed: carried inputs that are written in place.
    """

    def __init__(self, body: Body, places: dict[int, Place], wanted: dict[int, str], uses: dict[int, int]) -> None:
        self.body, self.places, self.wanted, self.uses = body, places, wanted, uses
        self.own: set[int] = set()
        self.renewed: set[int] = set()

    def late(self, s: Step) -> bool:
        """Whether a step overwrites what is carried."""
        return s.op in WRITES and s.args[0] in self.renewed

    @staticmethod
    def read_later(s: Step, left: Sequence[Step]) -> bool:
        """Whether another step has still to read what this one overwrites."""
        return any([s.args[0] in other.args for other in left if other is not s])

    def has(self, number: int) -> bool:
        return number in self.places or number in self.body.scalars or number in self.body.arrays

    def ready(self, s: Step) -> bool:
        return all([self.has(a) for a in s.args])


WRITES = frozenset({"set", "dynamic_update_slice", "scatter"})
READS = frozenset({"slice", "dynamic_slice", "gather", "matmul", "scan", "while", "concatenate"})
"""Steps that may read a value before it is overwritten, since what they make is a copy."""


def renews(body: Body, carried: int, output: int, uses: dict[int, int]) -> bool:
    """Whether a carried input is only read, and then written to by a chain of writes that ends in its output."""
    users = [s for s in body.steps if carried in s.args]
    writes = [s for s in users if s.op in WRITES and s.args[0] == carried and carried not in s.args[1:]]
    if body.values[carried].size == 1 or len(writes) != 1:
        return False
    if carried in body.outputs or body.outputs.count(output) != 1:
        return False
    if any([s not in writes and s.kind not in ("map", "reduce") and s.op not in READS for s in users]):
        return False
    made = writes[0].outs[0]
    while made != output:
        after = [s for s in body.steps if made in s.args]
        if uses.get(made) != 1 or len(after) != 1 or after[0].op not in WRITES or after[0].args[0] != made:
            return False
        made = after[0].outs[0]
    return True
