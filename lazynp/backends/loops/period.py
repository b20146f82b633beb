"""C++ for one period of a loop of array operations, as `_replay.h` matches them.

`int part<k>(char** p, const int64_t* o, const char* s)` does the operations of part k in the order of the program. `p`:
the elements of the parameters, then those of each slot's value that is stored, then a workspace, then for each slot the
loop of its ufunc and what that is given. `o`: for each slot that indexes the offset of the part, in bytes, then for
each parameter how far it is from its root, then lengths that move. `s`: numbers, sixteen bytes each.

Writes happen in program order in the memory that the program writes to, so that views see them as in NumPy. A value of
an elementwise operation waits, and is computed inside the loop that uses it, where nothing that it reads was written
meanwhile and nobody else uses it; otherwise it has memory of its own. Neighbouring loops over one shape become one
where no element is read at another place than it is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..support import KIND, code_of
from .formulas import TYPES
from .program import Unsupported
from .regions import Length, Region, Shape, alike, apart, capacity, dense, has_gaps, offset
from .scalar import ctype, expression
from .writer import LARGEST_WORKSPACE, Place, Writer, product

# Kinds of slots, as in `_replay.h`.
EXTERNAL, UFUNC, IN_PLACE, GETITEM, SETITEM, READ, DOT, WHERE, MASKED, CLIP, INTO, TOTAL, ALONG, FILL, JOIN = range(15)
STACKED = 8  # of `how`: arrays are joined along a new axis
REDUCTIONS, AXES = 7, 6  # of `how` too: kinds of reductions, and axes, as in `_known.h` and `_direct.h`
NAMED = {WHERE: "where", MASKED: "where", CLIP: "clip", FILL: "fill"}  # what is no ufunc's
SLOT, MEMORY, NUMBER = 1, 2, 3  # where an operand is from
TILE = 256  # elements of a number that is repeated in memory


class Layout(NamedTuple):
    """Of an array: strides in bytes."""

    shape: Shape
    strides: Shape
    dtype: Any


class Slot(NamedTuple):
    """An operation of the period: see `Slot` in `_replay.h`.

    Attributes:
        ufunc: NumPy's. ins: for each operand where it is from, and its slot, or its number among such.
        out: the layout of the result, or of the part that is indexed. loop: the dtype that numbers are given in.
        offset: of that part, in bytes; `fixed`: always. stored: whether the value is asked for after its part.
        fused: whether C++ is made of the operation, of which else the ufunc's loop is called.
        how: which reduction it is, with REDUCTIONS more for each axis before those along which it goes, and
            REDUCTIONS * AXES for each of these.
    """

    kind: int
    ufunc: Any
    ins: tuple[tuple[int, int], ...]
    out: Layout | None
    loop: Any
    offset: int
    fixed: bool
    stored: bool
    part: int
    fused: bool
    how: int = 0

    @property
    def is_product(self) -> bool:
        return self.kind == DOT or self.ufunc is np.matmul

    @property
    def reduces(self) -> bool:
        return self.kind in (TOTAL, ALONG)


class Param(NamedTuple):
    """An array in memory: `apart` bytes, always if `fixed`, from the one whose number is `root`, in the same memory."""

    layout: Layout
    root: int
    apart: int
    fixed: bool


class Number(NamedTuple):
    at: int
    dtype: str


class Value:
    """The result of an elementwise operation, which waits to be used.

    Attributes:
        reads: the memory that it reads, each with how often it had been written. users: the statements that compute it.
    """

    def __init__(self, k: int, op: str, args: list[Any], loop: str, shape: Shape, dtype: str) -> None:
        self.k, self.op, self.args, self.loop, self.shape, self.dtype = k, op, args, loop, shape, dtype
        self.reads: list[tuple[tuple[str, int], int]] = []
        self.users: set[int] = set()


class Statement(NamedTuple):
    """target = value, element by element, and the regions that are read."""

    target: Region
    value: Any
    reads: tuple[Region, ...]


class Call(NamedTuple):
    """target = the loop of slot k's ufunc on regions without gaps, and numbers; or a product of two regions; or the
    reduction of one."""

    target: Region
    k: int
    args: tuple[Any, ...]


class Again(Exception):
    """A value has to have memory: from the start."""


class Period(NamedTuple):
    """What `generate` makes: the text, how many parts there are, the bytes of workspace, and for each part the ufuncs
    that divide by zero, overflow, or have an invalid operand (None: none can; a reduction has NumPy's name for all)."""

    text: str
    parts: int
    workspace: int
    errors: tuple[tuple[Any, Any, Any], ...]


def generate(slots: Sequence[Slot], params: Sequence[Param]) -> Period:
    """The C++ of a period. Raises `Unsupported`."""
    memory = {k for k, s in enumerate(slots) if s.kind in (UFUNC, WHERE, CLIP, FILL) and s.stored}
    while True:
        try:
            return Generator(slots, params, memory).period()
        except Again as again:
            memory.add(again.args[0])


class Generator:
    def __init__(self, slots: Sequence[Slot], params: Sequence[Param], memory: set[int]) -> None:
        self.slots, self.memory = slots, memory
        self.n_params = len(params)
        self.params = [region_of(j, a, len(slots)) for j, a in enumerate(params)]
        self.things: dict[int, Any] = {}
        self.versions: Counter[tuple[str, int]] = Counter()
        self.statements: list[Statement | Call] = []
        self.scratch: dict[int, int] = {}
        self.writer = Writer(0)

    def period(self) -> Period:
        parts = self.slots[-1].part + 1
        for part in range(parts):
            self.writer.put(f'extern "C" __attribute__((visibility("default"))) int part{part}')
            self.writer.put("(char* const* p, const int64_t* o, const char* s) {")
            self.writer.put(f"char* const ws = p[{self.n_params + len(self.slots)}]; (void)ws; (void)o; (void)s;")
            for k, slot in enumerate(self.slots):
                if slot.part == part:
                    self.take(k, slot)
            self.write()
            self.writer.put("return 0;\n}")
        body = "\n".join(self.writer.lines)
        text = "\n".join([TYPES, body, ""])
        return Period(text, parts, self.writer.workspace, tuple([self.errors(k) for k in range(parts)]))

    def errors(self, part: int) -> tuple[Any, Any, Any]:
        mine = [s for s in self.slots if s.part == part and s.ufunc is not None]

        def first(error: str) -> Any:
            for s in mine:
                if not s.fused or (s.loop.kind == "f" and error in code_of(s.ufunc.__name__).errors):
                    return "reduce" if s.reduces else s.ufunc
            return None

        return first("d"), first("o"), first("i")

    # --- slots --------------------------------------------------------------------------------------------------------

    def take(self, k: int, s: Slot) -> None:
        if s.kind in (EXTERNAL, READ):
            return
        args = [self.operand(kind, number, s) for kind, number in s.ins]
        assert s.out is not None
        if s.kind == GETITEM:
            self.things[k] = self.part(k, self.in_memory(args[0]), s)
        elif s.kind == SETITEM:
            self.put(k, self.part(k, self.in_memory(args[0]), s), args[1])
        elif s.kind == IN_PLACE:
            target = self.in_memory(args[0])
            self.put_into(k, s, target, [target, args[1]])
        elif s.kind == INTO:
            self.put_into(k, s, self.in_memory(args[0]), args[1:])
        elif s.kind == MASKED:
            target = self.in_memory(args[0])
            self.put(k, target, self.value(k, s, [args[1], args[2], target], target.shape, target.dtype))
        else:
            own = Region(("v", k), s.out.shape, dense(s.out.shape), 0, (), s.out.dtype.name)
            if has_gaps(s.out.shape) and (s.stored or not (s.fused or s.is_product)):
                raise Unsupported("a value whose rows have a length that moves")
            if s.reduces:
                self.call(k, own, [self.without_gaps(self.in_memory(args[0]))], anywhere=True)
                return
            if s.is_product:
                if s.kind == DOT and s.ufunc is None:
                    args = [self.forwards(self.in_memory(a)) for a in args]
                self.call(k, own, args, anywhere=True)
                return
            if not s.fused:
                self.call(k, own, args)
                return
            if s.kind == JOIN:
                self.join(k, s, own, args)
                return
            if s.kind == FILL and not args:  # `empty`: whatever is there
                self.things[k] = own
                return
            value = self.value(k, s, args, s.out.shape, s.out.dtype.name)
            self.things[k] = value
            if k in self.memory:
                self.things[k] = own
                self.put(k, own, value)

    def join(self, k: int, s: Slot, own: Region, args: list[Any]) -> None:
        """The operands one after the other, along the axis in `how` or a new one."""
        stacked, axis = divmod(s.how, STACKED)
        at = 0
        for a in args:
            if any([isinstance(n, Length) for n in (*a.shape, *own.shape)]):
                raise Unsupported("arrays that are joined, whose lengths move")
            strides = own.strides[:axis] + own.strides[axis + 1 :] if stacked else own.strides
            self.put(k, own._replace(shape=a.shape, strides=strides, start=at * own.strides[axis]), a)
            at += 1 if stacked else a.shape[axis]
        self.things[k] = own

    def put_into(self, k: int, s: Slot, target: Region, args: list[Any]) -> None:
        if s.fused:
            self.put(k, target, self.value(k, s, args, target.shape, target.dtype))
            return
        regions = [a if isinstance(a, Number) else self.in_memory(a) for a in args]
        if target.strides != dense(target.shape) or has_gaps(target.shape):
            raise Unsupported("gaps between elements")
        if any([isinstance(a, Region) and a.root == target.root and not alike(a, target) for a in regions]):
            raise Unsupported("a function of what it overwrites elsewhere")
        self.call(k, target, regions)

    def call(self, k: int, target: Region, args: list[Any], anywhere: bool = False) -> None:
        regions = [a if isinstance(a, Number) else self.in_memory(a) for a in args]
        if not anywhere and any(
            [isinstance(a, Region) and (a.shape, a.strides) != (target.shape, dense(a.shape)) for a in regions]
        ):
            raise Unsupported("gaps between elements")
        self.things[k] = target
        self.statements.append(Call(target, k, tuple(regions)))
        self.versions[target.root] += 1

    def forwards(self, a: Region) -> Region:
        """A vector, or the copy of it that NumPy's `dot` makes of one that runs backwards."""
        return a if a.strides[0] > 0 else self.copied(a)

    def copied(self, a: Region) -> Region:
        size = np.dtype(a.dtype).itemsize * capacity(a.shape)
        between = Region(("w", self.room(size)), a.shape, dense(a.shape), 0, (), a.dtype)
        self.statements.append(Statement(between, a, (a,)))
        return between

    def without_gaps(self, a: Region) -> Region:
        """A region whose elements one line goes through, or the copy that NumPy reduces then."""
        if has_gaps(a.shape):
            raise Unsupported("the sum of a part whose rows have a length that moves")
        if len(a.shape) == 1 or a.strides == dense(a.shape):
            return a
        return self.copied(a)

    def operand(self, kind: int, number: int, s: Slot) -> Any:
        if kind == NUMBER:
            return Number(number, s.loop.name)
        return self.params[number] if kind == MEMORY else self.things[number]

    def in_memory(self, x: Any) -> Region:
        if isinstance(x, Value):
            raise Again(x.k)
        return x

    def part(self, k: int, of: Region, s: Slot) -> Region:
        assert s.out is not None
        item = s.out.dtype.itemsize
        if any([n % item for n in (*s.out.strides, s.offset)]):
            raise Unsupported("strides that are no multiples of the elements")
        strides = tuple([n // item for n in s.out.strides])
        start, moves = (of.start + s.offset // item, of.moves) if s.fixed else (of.start, (*of.moves, k))
        return Region(of.root, s.out.shape, strides, start, moves, of.dtype)

    def value(self, k: int, s: Slot, args: list[Any], shape: Shape, dtype: str) -> Value:
        loop = s.loop.name
        op = NAMED.get(s.kind) or s.ufunc.__name__
        out = Value(k, op, args, loop, shape, dtype)
        if op != NAMED[FILL]:
            expression(out.op, ["0"] * len(args), loop, dtype, quiet=True)  # raises Unsupported now, if at all
        out.reads = [(a.root, self.versions[a.root]) for a in args if isinstance(a, Region)]
        return out

    def put(self, k: int, target: Region, value: Any) -> None:
        if isinstance(value, Region) and alike(value, target):  # the end of `a[k] += b`
            return
        if value.dtype != target.dtype:
            raise Unsupported("a cast")
        reads = tuple(dict.fromkeys(self.read(k, value)))
        self.statements.append(Statement(target, value, reads))
        self.versions[target.root] += 1

    def read(self, k: int, x: Any) -> Iterator[Region]:
        """The regions that x is computed from, in statement k."""
        if isinstance(x, Region):
            yield x
        elif isinstance(x, Value):
            x.users.add(k)
            part = self.slots[k].part
            if len(x.users) > 1 or self.slots[x.k].part != part:
                raise Again(x.k)
            if any([self.versions[root] != version for root, version in x.reads]):
                raise Again(x.k)
            for a in x.args:
                yield from self.read(k, a)

    # --- text ---------------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """The statements so far, in loops."""
        left, self.statements = self.statements, []
        while left:
            first = left.pop(0)
            if isinstance(first, Call):
                s = self.slots[first.k]
                (self.multiplied if s.is_product else self.reduced if s.reduces else self.called)(first)
            elif clashes(first) is False:
                group: list[Statement] = [first]
                while left:
                    following = left[0]
                    if isinstance(following, Call) or clashes(following) is not False:
                        break
                    if not all([fuse(a, following) for a in group]):
                        break
                    group.append(following)
                    del left[0]
                self.loop(group)
            else:
                self.through_scratch(first)

    def called(self, c: Call) -> None:
        w = self.writer
        names: dict[Region, str] = {}
        n, at = product(c.target.shape), self.n_params + len(self.slots) + 1 + 2 * c.k
        w.put("{")
        data, steps = [], []
        repeated = KIND[c.args[0].dtype] in code_of(self.slots[c.k].ufunc.__name__).tiled and n != 1
        for a in c.args:
            item = np.dtype(a.dtype).itemsize
            if isinstance(a, Region):
                data.append(f"(char*){self.place(a, names).base}")
                steps.append(item)
            elif repeated:  # such loops are vectorized for arrays only
                t, tile = ctype(a.dtype), w.name("t")
                w.put(
                    f"{t} {tile}[{TILE}]; for (int i = 0; i < {TILE}; ++i) {tile}[i] = *(const {t}*)(s + {16 * a.at});"
                )
                data.append(f"(char*){tile}")
                steps.append(item)
            else:
                data.append(f"(char*)(s + {16 * a.at})")
                steps.append(0)
        data.append(f"(char*){self.place(c.target, names).base}")
        steps.append(np.dtype(c.target.dtype).itemsize)
        chunk = TILE if repeated and any([isinstance(a, Number) for a in c.args]) else n
        w.put(f"const int64_t steps[] = {{{', '.join(map(str, steps))}}};")
        w.put(f"for (int64_t at = 0; at < {n}; at += {chunk}) {{")
        moved = [
            d if isinstance(a, Number) else f"{d} + at * {step}" for a, d, step in zip([*c.args, c.target], data, steps)
        ]
        w.put(f"char* args[] = {{{', '.join(moved)}}};")
        w.put(f"const int64_t count = {n} - at < {chunk} ? {n} - at : {chunk};")
        w.put(f"((Loop)p[{at}])(args, &count, steps, p[{at + 1}]);")
        w.put("}\n}")

    def multiplied(self, c: Call) -> None:
        """NumPy's loop of products: vectors are matrices with one row, or one column."""
        w = self.writer
        names: dict[Region, str] = {}
        a, b = c.args
        item, at = np.dtype(c.target.dtype).itemsize, self.n_params + len(self.slots) + 1 + 2 * c.k
        left = ((1, *a.shape), (0, *a.strides)) if len(a.shape) == 1 else (a.shape, a.strides)
        right = ((*b.shape, 1), (*b.strides, 0)) if len(b.shape) == 1 else (b.shape, b.strides)
        (m, n), (_, p) = left[0], right[0]
        w.put("{")
        args = [f"(char*){self.place(x, names).base}" for x in (a, b, c.target)]
        steps = [0, 0, 0, *[s * item for s in (*left[1], *right[1])]]
        rows, columns = len(a.shape) > 1, len(b.shape) > 1
        steps += [c.target.strides[0] * item if rows else 0, c.target.strides[-1] * item if columns else 0]
        w.put(f"char* args[] = {{{', '.join(args)}}};")
        w.put(f"const int64_t sizes[] = {{1, {m}, {n}, {p}}}, steps[] = {{{', '.join(map(str, steps))}}};")
        w.put(f"((Loop)p[{at}])(args, sizes, steps, p[{at + 1}]);")
        w.put("}")

    def reduced(self, c: Call) -> None:
        """`reduce_blocks` of the C module: blocks of rows, along the rows."""
        w = self.writer
        along, which = divmod(self.slots[c.k].how, REDUCTIONS)
        count, first = divmod(along, AXES)
        (a,) = c.args
        names: dict[Region, str] = {}
        at, item = self.n_params + len(self.slots) + 1 + 2 * c.k, np.dtype(a.dtype).itemsize
        step = a.strides[0] * item if len(a.shape) == 1 else item
        sizes = [product(n) for n in (a.shape[:first], a.shape[first : first + count], a.shape[first + count :])]
        w.put("{")
        w.put(f"char* args[] = {{(char*){self.place(a, names).base}, (char*){self.place(c.target, names).base}}};")
        w.put(f"const int64_t sizes[] = {{{', '.join(map(str, sizes))}}}, steps[] = {{{which}, {step}}};")
        w.put(f"((Loop)p[{at}])(args, sizes, steps, p[{at + 1}]);")
        w.put("}")

    def place(self, r: Region, names: dict[Region, str]) -> Place:
        """The pointer is a variable of the block."""
        name = names.get(r)
        if name is None:
            name = names[r] = self.writer.name("q")
            t = held(r.dtype)
            moves = "".join([f" + o[{k}]" for k in r.moves])
            item = np.dtype(r.dtype).itemsize
            self.writer.put(f"{t}* const {name} = ({t}*)({self.pointer(r.root)} + {r.start * item}{moves});")
        return Place(name, r.strides, r.shape, r.dtype)

    def pointer(self, root: tuple[str, int]) -> str:
        kind, k = root
        if kind == "p":
            return f"p[{k}]"
        if kind == "w":
            return f"(ws + {k})"
        if self.slots[k].stored:
            return f"p[{self.n_params + k}]"
        if k not in self.scratch:
            out = self.slots[k].out
            assert out is not None
            self.scratch[k] = self.room(out.dtype.itemsize * capacity(out.shape))
        return f"(ws + {self.scratch[k]})"

    def room(self, size: int) -> int:
        at = -(-self.writer.workspace // 64) * 64
        self.writer.workspace = at + size
        if self.writer.workspace > LARGEST_WORKSPACE:
            raise Unsupported("too large a workspace")
        return at

    def loop(self, group: list[Statement]) -> None:
        w = self.writer
        shape = group[0].target.shape
        w.put("{")
        names: dict[Region, str] = {}
        reads = list(dict.fromkeys([r for s in group for r in s.reads]))
        numbers = {x: w.name("n") for x in dict.fromkeys([x for s in group for x in numbers_of(s.value)])}
        for x, name in numbers.items():
            w.put(f"const {held(x.dtype)} {name} = *(const {held(x.dtype)}*)(s + {16 * x.at});")
        inputs = {r: w.aligned(trimmed(self.place(r, names), len(shape)), shape) for r in reads}
        outputs = {s.target: self.place(s.target, names) for s in group}

        def inner(index: list[str]) -> None:
            text: dict[Any, str] = dict(numbers)
            for s in group:
                for r in s.reads:
                    if r not in text:
                        text[r] = w.name("x")
                        w.put(f"const {held(r.dtype)} {text[r]} = {inputs[r].at(index)};")
                result = w.name("x")
                line = self.term(s.value, text)
                w.put(f"const {held(s.target.dtype)} {result} = {line};")
                w.put(f"{outputs[s.target].at(index)} = {result};")
                text[s.target] = result

        if shape:
            w.nest(shape, [*inputs.values(), *outputs.values()], inner)
        else:
            inner([])
        w.put("}")

    def term(self, x: Any, text: dict[Any, str]) -> str:
        """The expression of an element."""
        if not isinstance(x, Value):
            return text[x]
        if x not in text:
            args = [self.term(a, text) for a in x.args]
            if x.op not in ("where", NAMED[FILL]):
                args = [f"held_t({t} != 0)" if is_raw(a) else t for a, t in zip(x.args, args)]
            args = [
                t if a.dtype == x.loop or (x.op == "where" and not i) else cast(t, a.dtype, x.loop)
                for i, (a, t) in enumerate(zip(x.args, args))
            ]
            text[x] = self.writer.name("x")
            value = args[0] if x.op == NAMED[FILL] else expression(x.op, args, x.loop, x.dtype, quiet=True)
            self.writer.put(f"const {held(x.dtype)} {text[x]} = {value};")
        return text[x]

    def through_scratch(self, s: Statement) -> None:
        """What is written is read at other places: all is computed first. Unless the regions turn out to be apart, or
        one and the same: the end of `a[:, j] += b`."""
        condition = clashes(s)
        target, value = s.target, s.value
        itself = isinstance(value, Region) and (value.root, value.shape, value.strides) == (
            target.root,
            target.shape,
            target.strides,
        )
        if itself:
            self.writer.put(f"if ({offset(value)} != {offset(target)}) {{")
        size = np.dtype(target.dtype).itemsize * capacity(target.shape)
        between = Region(("w", self.room(size)), target.shape, dense(target.shape), 0, (), target.dtype)
        if condition is not True:
            self.writer.put(f"if ({condition}) {{")
            self.loop([s])
            self.writer.put("} else {")
        self.loop([Statement(between, s.value, s.reads)])
        self.loop([Statement(target, between, (between,))])
        if condition is not True:
            self.writer.put("}")
        if itself:
            self.writer.put("}")


def is_raw(x: Any) -> bool:
    """Whether a truth value may be any byte: one in memory, or a choice between such, which NumPy copies."""
    return not isinstance(x, Number) and x.dtype == "bool" and (isinstance(x, Region) or x.op == "where")


def cast(text: str, source: str, target: str) -> str:
    """Of a truth value a choice, which is no branch: see TYPES."""
    t = held(target)
    return f"pick({text}, {t}(1), {t}(0))" if source == "bool" and KIND[target] == "f" else f"({t})({text})"


def held(dtype: str) -> str:
    """The C++ type in memory and of variables: g++ makes no vectors of `bool` beside floats."""
    return "held_t" if dtype == "bool" else ctype(dtype)


def region_of(j: int, param: Param, slots: int) -> Region:
    a = param.layout
    item = a.dtype.itemsize
    if any([n % item for n in (*a.strides, param.apart)]):
        raise Unsupported("strides that are no multiples of the elements")
    strides = tuple([n // item for n in a.strides])
    start, moves = (param.apart // item, ()) if param.fixed else (0, (slots + j,))
    return Region(("p", param.root), a.shape, strides, start, moves, a.dtype.name)


def trimmed(p: Place, ndim: int) -> Place:
    """Without the leading axes of length 1 that are more than the target has: NumPy assigns such too."""
    extra = len(p.shape) - ndim
    return p if extra <= 0 else p._replace(shape=p.shape[extra:], strides=p.strides[extra:])


def numbers_of(x: Any) -> Iterator[Number]:
    if isinstance(x, Number):
        yield x
    elif isinstance(x, Value):
        for a in x.args:
            yield from numbers_of(a)


def clashes(s: Statement) -> bool | str:
    """Whether an element is read that the statement writes for another one: False, True, or the C++ expression for
    that there is none such."""
    conditions = []
    for r in s.reads:
        if r.root == s.target.root and not alike(r, s.target):
            c = apart(r, s.target)
            if c is False:
                return True
            if c is not True:
                conditions.append(c)
    return " && ".join(conditions) if conditions else False


def fuse(a: Statement, b: Statement) -> bool:
    """Whether a and then b can go through their elements together."""
    if a.target.shape != b.target.shape:
        return False
    for r in b.reads:
        if r.root == a.target.root and not alike(r, a.target) and apart(r, a.target) is not True:
            return False
    if a.target.root == b.target.root and a.target != b.target and apart(a.target, b.target) is not True:
        return False
    return all([r.root != b.target.root or alike(r, b.target) or apart(r, b.target) is True for r in a.reads])
