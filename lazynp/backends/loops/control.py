"""Loops and branches in C++."""

from __future__ import annotations

from collections.abc import Sequence

from .program import Body, Step, Unsupported, Value
from .scalar import ctype
from .shapes import in_memory
from .writer import LOOK, Place, State, Writer, dense, emits, size_of

UNWATCHED = 1024  # steps that may go by without a look for signals: a call in a loop costs it its registers


class Carry:
    """What a loop carries: variables, or two buffers each, which take turns."""

    def __init__(self, writer: Writer, values: Sequence[Value]) -> None:
        self.writer, self.values = writer, values
        self.now: list[str] = []
        self.next: list[str | None] = []
        for v in values:
            t = ctype(v.dtype)
            name = writer.name("c")
            if v.size == 1:
                writer.put(f"{t} {name};")
                self.next.append(None)
            else:
                first, second = writer.buffer(v.dtype, v.size), writer.buffer(v.dtype, v.size)
                other = writer.name("n")
                writer.put(f"{t} *{name} = {first}, *{other} = {second};")
                self.next.append(other)
            self.now.append(name)

    def places(self) -> list[Place]:
        return [
            Place(c, (0,) * len(v.shape) if n is None else dense(v.shape), v.shape, v.dtype, n is None)
            for c, n, v in zip(self.now, self.next, self.values)
        ]

    def targets(self, body: Body) -> list[str | None]:
        return list(self.next)

    def begin(self, first: Sequence[Place]) -> None:
        for source, target in zip(first, self.places()):
            self.writer.copy(source, target)

    def advance(self, outs: Sequence[Place]) -> None:
        """The outputs of a step as the carry of the next. Variables are read before any is written."""
        put = self.writer.put
        swaps, sets = [], []
        for out, c, n, v in zip(outs, self.now, self.next, self.values):
            if n is None:
                temporary = self.writer.name("t")
                put(f"const {ctype(v.dtype)} {temporary} = {out.at(['0'] * len(out.shape))};")
                sets.append(f"{c} = {temporary};")
            elif out.base != c or not out.dense:
                if out.base != n or not out.dense:
                    self.writer.copy(out, Place(n, dense(v.shape), v.shape, v.dtype))
                swaps.append(f"std::swap({c}, {n});")
        for line in (*sets, *swaps):
            put(line)


def room(v: Value) -> tuple[str, int]:
    return v.dtype, v.size


def row(writer: Writer, x: Place, i: str) -> Place:
    """Element i along the first axis."""
    name = writer.name("r")
    writer.put(f"const {ctype(x.dtype)}* const {name} = {x.base} + {i} * {x.strides[0]};")
    if size_of(x.shape[1:]) == 1:
        return Place(f"{name}[0]", (0,) * (len(x.shape) - 1), x.shape[1:], x.dtype, True)
    return Place(name, x.strides[1:], x.shape[1:], x.dtype)


@emits("scan")
def scan(w: Writer, state: State, s: Step) -> list[Place]:
    body, length = s.params["body"], s.params["length"]
    n_consts, n_carry = s.params["n_consts"], s.params["n_carry"]
    args = [w.place(state, a) for a in s.args]
    consts, first, xs = args[:n_consts], args[n_consts : n_consts + n_carry], args[n_consts + n_carry :]
    if length == 0:
        raise Unsupported("a loop of no steps")
    xs = [in_memory(w, x) for x in xs]
    carry = Carry(w, [body.values[i] for i in range(n_consts, n_consts + n_carry)])
    carry.begin(first)
    ys = [
        w.fresh(state.body.values[o], state.wanted.get(o) or w.buffer(*room(state.body.values[o])))
        for o in s.outs[n_carry:]
    ]
    t, i = w.name("t"), w.name("i")
    w.put(f"for (int64_t {t} = 0; {t} < {length}; ++{t}) {{")
    if length > UNWATCHED:
        w.put(LOOK)
    w.put(f"const int64_t {i} = {f'{length - 1} - {t}' if s.params['reverse'] else t};")
    step(w, body, consts, carry, [row(w, x, i) for x in xs], [(y, i) for y in ys])
    w.put("}")
    return [*carry.places(), *ys]


def step(
    w: Writer, body: Body, consts: Sequence[Place], carry: Carry, rows: Sequence[Place], ys: Sequence[tuple[Place, str]]
) -> None:
    """One step of a scan: the body, then the new carry and the rows of the results in their places."""
    n = len(carry.values)
    here: list[Place] = []
    for y, i in ys:
        name = w.name("y")
        inner = y.shape[1:]
        w.put(f"{ctype(y.dtype)}* const {name} = {y.base} + {i} * {size_of(inner)};")
        here.append(Place(name, dense(inner), inner, y.dtype))
    targets = [*carry.targets(body), *[y.base if size_of(y.shape) != 1 else None for y in here]]
    outs = w.body(body, [*consts, *carry.places(), *rows], targets, range(len(consts), len(consts) + n))
    for out, y in zip(outs[n:], here):
        if out.base != y.base:
            w.copy(out, y)
    carry.advance(outs[:n])


@emits("while")
def while_(w: Writer, state: State, s: Step) -> list[Place]:
    args = [w.place(state, a) for a in s.args]
    a, b = s.params["n_cond"], s.params["n_cond"] + s.params["n_body"]
    carry = Carry(w, [s.params["body"].values[i] for i in range(s.params["n_body"], s.params["body"].n_inputs)])
    carry.begin(args[b:])
    w.put("for (;;) {")
    w.put(LOOK)
    test(w, s.params["cond"], args[:a], carry)
    step(w, s.params["body"], args[a:b], carry, [], [])
    w.put("}")
    return carry.places()


def test(w: Writer, cond: Body, reads: Sequence[Place], carry: Carry) -> None:
    """Leave the loop where its condition is false."""
    (go,) = w.body(cond, [*reads, *carry.places()], [None])
    w.put(f"if (!{go.at(['0'] * len(go.shape))}) break;")


@emits("cond")
def cond(w: Writer, state: State, s: Step) -> list[Place]:
    index, *args = [w.place(state, a) for a in s.args]
    outs = [
        w.fresh(state.body.values[o], state.wanted.get(o) if state.body.values[o].size != 1 else None) for o in s.outs
    ]
    branches = s.params["branches"]
    for k, branch in enumerate(branches):
        test = f"if ({index.at(['0'] * len(index.shape))} == {k})" if k < len(branches) - 1 else ""
        w.put(f"{'else ' if k else ''}{test} {{")
        made = w.body(branch, args, [None] * len(outs))
        for source, target in zip(made, outs):
            w.copy(source, target)
        w.put("}")
    return outs


@emits("together")
def together(w: Writer, state: State, s: Step) -> list[Place]:
    return [w.place(state, a) for a in s.args]
