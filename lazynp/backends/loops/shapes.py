"""Views, writes, joins, index arrays in C++: views are arithmetic on places, writes go to a copy of their base, or into
the base where nobody reads it any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .program import Step, Unsupported, Value
from .scalar import converted, ctype, expression
from .writer import Place, Shape, State, Writer, dense, emits

# Views.


def in_memory(w: Writer, p: Place) -> Place:
    """A place of elements."""
    if not p.variable:
        return p
    base = w.buffer(p.dtype, 1)
    w.put(f"{base}[0] = {p.base};")
    return Place(base, (0,) * len(p.shape), p.shape, p.dtype)


@emits("slice")
def slice(w: Writer, state: State, s: Step) -> Place:
    p = w.place(state, s.args[0])
    shape = state.body.values[s.outs[0]].shape
    if p.variable:
        return p._replace(shape=shape, strides=(0,) * len(shape))
    offset, strides, axis = 0, [], 0
    for k in s.params["key"]:
        if k is None:
            strides.append(0)
            continue
        step = p.strides[axis]
        axis += 1
        if isinstance(k, int):
            offset += k * step
        else:
            offset += k[0] * step
            strides.append(k[2] * step)
    return kept(w, state, s, moved(w, p, offset, shape, tuple(strides)))


def moved(w: Writer, p: Place, offset: int | str, shape: Shape, strides: Shape) -> Place:
    if offset == 0:
        return p._replace(shape=shape, strides=strides)
    name = w.name("p")
    w.put(f"const {ctype(p.dtype)}* const {name} = {p.base} + {offset};")
    return p._replace(base=name, shape=shape, strides=strides)


def kept(w: Writer, state: State, s: Step, p: Place) -> Place:
    """A view; a copy of it where what it shows will be overwritten."""
    if s.args[0] not in state.renewed:
        return p
    out = w.fresh(state.body.values[s.outs[0]])
    w.copy(p, out)
    return out


@emits("transpose")
def transpose(w: Writer, state: State, s: Step) -> Place:
    p = w.place(state, s.args[0])
    axes = s.params["axes"]
    return p._replace(shape=tuple([p.shape[a] for a in axes]), strides=tuple([p.strides[a] for a in axes]))


@emits("reshape")
def reshape(w: Writer, state: State, s: Step) -> Place:
    p = w.place(state, s.args[0])
    shape = state.body.values[s.outs[0]].shape
    if p.variable:
        return p._replace(shape=shape, strides=(0,) * len(shape))
    strides = reshaped(p.shape, p.strides, shape)
    if strides is not None:
        return p._replace(shape=shape, strides=strides)
    full = w.fresh(Value(p.shape, p.dtype))
    w.copy(p, full)
    return full._replace(shape=shape, strides=dense(shape))


def reshaped(shape: Shape, strides: Shape, new: Shape) -> Shape | None:
    """The strides of the same elements in another shape; None where they have to be copied."""
    if 0 in new:
        return dense(new)
    runs: list[tuple[int, int]] = []  # axes along which elements are evenly apart: how many, and the step
    for n, t in zip(shape, strides):
        if n == 1:
            continue
        if runs and runs[-1][1] == n * t:
            runs[-1] = (runs[-1][0] * n, t)
        else:
            runs.append((n, t))
    made: list[int] = []
    for n in reversed(new):
        if n == 1:
            made.append(0)
            continue
        left, t = runs.pop()
        if left % n:
            return None
        made.append(t)
        if left > n:
            runs.append((left // n, t * n))
    return tuple(reversed(made))


@emits("broadcast_to")
def broadcast(w: Writer, state: State, s: Step) -> Place:
    p = w.place(state, s.args[0])
    shape = state.body.values[s.outs[0]].shape
    return p._replace(shape=shape, strides=(0,) * len(shape)) if p.variable else w.aligned(p, shape)


@emits("alias", "stop_gradient")
def alias(w: Writer, state: State, s: Step) -> Place:
    return w.place(state, s.args[0])


@emits("bitcast")
def bitcast(w: Writer, state: State, s: Step) -> Place:
    p, value = w.place(state, s.args[0]), state.body.values[s.outs[0]]
    if np.dtype(p.dtype).itemsize != np.dtype(value.dtype).itemsize:
        raise Unsupported("bitcast to another size")
    out = w.fresh(value, state.wanted.get(s.outs[0]))
    cast = f"bitcast<{ctype(value.dtype)}>"
    w.nest(value.shape, [w.aligned(p, value.shape), out], lambda i: w.put(f"{out.at(i)} = {cast}({p.at(i)});"))
    return out


# Writes.


def base_copy(w: Writer, state: State, s: Step) -> Place:
    """The base of a write, in a place that may be written: a copy of it."""
    source, value = w.place(state, s.args[0]), state.body.values[s.outs[0]]
    target = state.wanted.get(s.outs[0])
    if s.args[0] in state.renewed or s.args[0] in state.own and state.uses.get(s.args[0]) == 1 and target is None:
        return source
    out = w.fresh(value, target or (w.buffer(value.dtype, 1) if value.size == 1 else None))
    w.copy(source, out)
    return out


@emits("set")
def write(w: Writer, state: State, s: Step) -> Place:
    """base with a region replaced."""
    out = base_copy(w, state, s)
    offset, shape, strides, axis = 0, [], [], 0
    for k in s.params["key"]:
        if k is None:
            shape.append(1)
            strides.append(0)
            continue
        step = out.strides[axis]
        axis += 1
        if isinstance(k, int):
            offset += k * step
        else:
            offset += k[0] * step
            shape.append(k[1])
            strides.append(k[2] * step)
    region = Place(f"({out.base} + {offset})", tuple(strides), tuple(shape), out.dtype)
    store(w, w.place(state, s.args[1]), region)
    state.own.add(s.outs[0])
    return out


def store(w: Writer, source: Place, region: Place) -> None:
    source = w.aligned(source, region.shape)
    w.nest(
        region.shape,
        [source, region],
        lambda i: w.put(f"{region.at(i)} = {converted(source.at(i), source.dtype, region.dtype)};"),
    )


def starts(w: Writer, state: State, numbers: Sequence[int], base: Place, sizes: Shape) -> str:
    """The offset of a slice whose start is known at run time."""
    terms = []
    for number, n, size, step in zip(numbers, base.shape, sizes, base.strides):
        p = w.place(state, number)
        name = w.name("o")
        w.put(
            f"const int64_t {name} = std::min<int64_t>(std::max<int64_t>((int64_t){p.at(['0'] * len(p.shape))}, 0), "
            f"{n - size}) * {step};"
        )
        terms.append(name)
    return f"({' + '.join(terms) or '0'})"


@emits("dynamic_slice")
def dynamic_slice(w: Writer, state: State, s: Step) -> Place:
    p = in_memory(w, w.place(state, s.args[0]))
    sizes = state.body.values[s.outs[0]].shape
    return kept(w, state, s, moved(w, p, starts(w, state, s.args[1:], p, sizes), sizes, p.strides))


@emits("dynamic_update_slice")
def dynamic_update(w: Writer, state: State, s: Step) -> Place:
    sizes = state.body.values[s.args[1]].shape
    out = base_copy(w, state, s)
    offset = starts(w, state, s.args[2:], out, sizes)
    region = Place(f"({out.base} + {offset})", out.strides, sizes, out.dtype)
    store(w, w.place(state, s.args[1]), region)
    state.own.add(s.outs[0])
    return out


@emits("concatenate")
def concatenate(w: Writer, state: State, s: Step) -> Place:
    value = state.body.values[s.outs[0]]
    out = w.fresh(value, state.wanted.get(s.outs[0]) or w.buffer(value.dtype, value.size))
    axis, at = s.params["axis"], 0
    for a in s.args:
        p = w.place(state, a)
        store(w, p, Place(f"({out.base} + {at * out.strides[axis]})", out.strides, p.shape, out.dtype))
        at += p.shape[axis]
    return out


# Index arrays.


def places_of(
    w: Writer, state: State, s: Step, first: int, shape: Shape, index: Sequence[str]
) -> tuple[list[str], str]:
    """The index into a value for one element of what is read or written, and a condition: whether it lies inside."""
    axes, at, bounds = s.params["axes"], s.params["at"], s.params["bounds"]
    if bounds not in ("clip", "assumed", "wrap", "zero", "drop"):
        raise Unsupported(f"{s.op} that may raise")
    arrays = [w.place(state, a) for a in s.args[first:]]
    common = np.broadcast_shapes(*[state.body.values[a].shape for a in s.args[first:]])
    mine, rest = list(index[at : at + len(common)]), iter([*index[:at], *index[at + len(common) :]])
    full: list[str] = []
    tests: list[str] = []
    for d, n in enumerate(shape):
        if d not in axes:
            full.append(next(rest))
            continue
        p = w.aligned(arrays[axes.index(d)], common)
        k = w.name("k")
        w.put(f"int64_t {k} = (int64_t){p.at(mine)};")
        if bounds in ("clip", "assumed"):
            w.put(f"{k} = std::min<int64_t>(std::max<int64_t>({k}, 0), {n - 1});")
        elif bounds == "wrap":
            w.put(f"{k} %= {n}; if ({k} < 0) {k} += {n};")
        else:
            tests.append(f"({k} >= {-n} && {k} < {n})")
            w.put(f"if ({k} < 0) {k} += {n};")
        full.append(k)
    return full, " && ".join(tests)


@emits("gather")
def gather(w: Writer, state: State, s: Step) -> Place:
    """Elements at index arrays."""
    p, value = in_memory(w, w.place(state, s.args[0])), state.body.values[s.outs[0]]
    if 0 in p.shape:
        raise Unsupported("gather of nothing")
    out = w.fresh(value, state.wanted.get(s.outs[0]))

    def one(index: list[str]) -> None:
        full, inside = places_of(w, state, s, 1, p.shape, index)
        got = p.at(full)
        w.put(f"{out.at(index)} = {f'{inside} ? {got} : {ctype(p.dtype)}(0)' if inside else got};")

    unrolled(w, value.shape, one)
    return out


def unrolled(w: Writer, shape: Shape, inner: Callable[[list[str]], None]) -> None:
    """A loop for each axis."""
    index = []
    for n in shape:
        i = w.name("i")
        w.put(f"for (int64_t {i} = 0; {i} < {n}; ++{i}) {{")
        index.append(i)
    inner(index)
    w.put("}" * len(shape) if shape else "")


COMBINE = {"set": "", "add": "add", "multiply": "multiply", "min": "minimum", "max": "maximum"}


@emits("scatter")
def scatter(w: Writer, state: State, s: Step) -> Place:
    """Elements combined into a base at index arrays, in order."""
    base, value = state.body.values[s.args[0]], state.body.values[s.args[1]]
    if 0 in base.shape:
        raise Unsupported("scatter into nothing")
    out = base_copy(w, state, s)
    common = np.broadcast_shapes(*[state.body.values[a].shape for a in s.args[2:]])
    rest = [n for d, n in enumerate(base.shape) if d not in s.params["axes"]]
    at = s.params["at"]
    shape = (*rest[:at], *common, *rest[at:])
    source = w.aligned(w.place(state, s.args[1]), shape)
    name = COMBINE[s.params["mode"]]

    def one(index: list[str]) -> None:
        full, inside = places_of(w, state, s, 2, base.shape, index)
        there, new = out.at(full), converted(source.at(index), value.dtype, base.dtype)
        line = f"{there} = {expression(name, [there, new], base.dtype, base.dtype) if name else new};"
        w.put(f"if ({inside}) {line}" if inside else line)

    unrolled(w, shape, one)
    state.own.add(s.outs[0])
    return out
