"""Reductions, running sums and matrix products in C++."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .program import Step, Unsupported
from .scalar import converted, ctype, expression, literal
from .shapes import in_memory, unrolled
from .writer import Emit, Place, Shape, State, Writer, dense, emits, size_of

LARGEST_PRODUCT = 1 << 18  # multiplications from which a matrix product is a library's
LANES = 8  # partial sums side by side


# Sums and products.


@emits("reduce")
def reduce(w: Writer, state: State, s: Step) -> Place:
    """Over some axes, each result by itself."""
    name = s.op.removesuffix(".reduce")
    start = IDENTITY.get(name)
    p, value = w.place(state, s.args[0]), state.body.values[s.outs[0]]
    axes = s.params["axes"]
    if start is None or size_of(p.shape) == 0:
        raise Unsupported(f"{s.op} of shape {p.shape}")
    out = w.fresh(value, state.wanted.get(s.outs[0]))
    t = ctype(value.dtype)
    kept = [i for i in range(len(p.shape)) if i not in axes]
    outer = tuple([p.shape[i] for i in kept])
    result = (
        out._replace(
            shape=outer,
            strides=tuple([out.strides[i] if s.params["keepdims"] else out.strides[k] for k, i in enumerate(kept)]),
        )
        if not out.variable
        else out
    )
    inner_shape = tuple([p.shape[a] for a in axes])

    def one(index: list[str]) -> None:
        acc = w.name("a")
        last = inner_shape[-1] if inner_shape else 1
        lanes = LANES if name in ("add", "multiply") and value.dtype[0] == "f" and last >= 2 * LANES else 1
        first = start(value.dtype)
        if lanes == 1:
            w.put(f"{t} {acc} = {first};")
        else:
            w.put(f"{t} {acc}[{lanes}]; for (int l = 0; l < {lanes}; ++l) {acc}[l] = {first};")

        def element(inner: list[str]) -> str:
            full = list(inner_index(index, inner, kept, axes, len(p.shape)))
            return converted(p.at(full), p.dtype, value.dtype)

        accumulate(w, name, acc, lanes, inner_shape, element, value.dtype)
        w.put(f"{result.at(index)} = {acc if lanes == 1 else f'{acc}[0]'};")

    over = p._replace(shape=outer, strides=tuple([p.strides[i] for i in kept]))
    w.nest(outer, [over, result], one, simd=False)
    return out


def accumulate(
    w: Writer, name: str, acc: str, lanes: int, shape: Shape, element: Callable[[list[str]], str], dtype: str
) -> None:
    """All elements of a shape into an accumulator, or into several side by side, which are joined at the end."""
    names = [w.name("j") for _ in shape]
    for var, n in zip(names[:-1], shape[:-1]):
        w.put(f"for (int64_t {var} = 0; {var} < {n}; ++{var}) {{")
    n = shape[-1] if shape else 1
    var = names[-1] if names else "0"
    if lanes == 1:
        if shape:
            w.put(f"for (int64_t {var} = 0; {var} < {n}; ++{var})")
        w.put(f"{acc} = {expression(name, [acc, element(names)], dtype, dtype)};")
    else:
        whole = n // lanes * lanes
        block = w.name("j")
        w.put(f"for (int64_t {block} = 0; {block} < {whole}; {block} += {lanes})")
        shifted = [*names[:-1], f"({block} + l)"]
        w.put(f"for (int l = 0; l < {lanes}; ++l)")
        w.put(f"{acc}[l] = {expression(name, [f'{acc}[l]', element(shifted)], dtype, dtype)};")
        w.put(f"for (int64_t {var} = {whole}; {var} < {n}; ++{var})")
        w.put(
            f"{acc}[{var} - {whole}] = {expression(name, [f'{acc}[{var} - {whole}]', element(names)], dtype, dtype)};"
        )
    for _ in names[:-1]:
        w.put("}")
    step = lanes // 2
    while step:
        w.put(f"for (int l = 0; l < {step}; ++l)")
        w.put(f"{acc}[l] = {expression(name, [f'{acc}[l]', f'{acc}[l + {step}]'], dtype, dtype)};")
        step //= 2


@emits("matmul")
def matmul(w: Writer, state: State, s: Step) -> Place:
    """A product of stacks of matrices, or of vectors."""
    a, b = (in_memory(w, w.place(state, x)) for x in s.args)
    value = state.body.values[s.outs[0]]
    if value.dtype not in ("float32", "float64", "int32", "int64") or {a.dtype, b.dtype} != {value.dtype}:
        raise Unsupported(f"matmul of {value.dtype}")
    out = w.fresh(value, state.wanted.get(s.outs[0]))
    left, right = as_matrix(a, 0), as_matrix(b, 1)
    m, k, n = left.shape[-2], left.shape[-1], right.shape[-1]
    stack = value.shape[: len(value.shape) - (len(a.shape) > 1) - (len(b.shape) > 1)]
    if size_of(stack) * m * n * k > LARGEST_PRODUCT:
        raise Unsupported("a large matrix product")
    result = Place(
        out.base, (*out.strides[: len(stack)], n if len(b.shape) > 1 else 1, 1), (*stack, m, n), out.dtype, out.variable
    )
    left, right = (w.aligned(p, (*stack, *p.shape[-2:])) for p in (left, right))
    stacks = [p._replace(shape=stack, strides=p.strides[:-2]) for p in (left, right, result)]
    w.nest(stack, stacks, lambda i: product(w, left, right, result, i), simd=False)
    return out


def product(w: Writer, a: Place, b: Place, out: Place, stack: list[str]) -> None:
    """One matrix product: rows times columns for few columns, else sums of rows."""
    t, (m, k), n = ctype(out.dtype), a.shape[-2:], b.shape[-1]
    i, j, l = w.name("i"), w.name("j"), w.name("l")
    if n < 4 or out.variable:
        w.put(f"for (int64_t {i} = 0; {i} < {m}; ++{i}) for (int64_t {j} = 0; {j} < {n}; ++{j}) {{")
        acc = w.name("a")
        lanes = LANES if out.dtype[0] == "f" and k >= 2 * LANES else 1
        w.put(f"{t} {acc}{f'[{lanes}]' if lanes > 1 else ''}{' = {}' if lanes > 1 else ' = 0'};")
        accumulate(
            w,
            "add",
            acc,
            lanes,
            (k,),
            lambda x: f"({a.at([*stack, i, x[-1]])} * {b.at([*stack, x[-1], j])})",
            out.dtype,
        )
        w.put(f"{out.at([*stack, i, j])} = {acc if lanes == 1 else f'{acc}[0]'};")
        w.put("}")
        return
    w.put(f"for (int64_t {i} = 0; {i} < {m}; ++{i}) {{")
    w.put(f"for (int64_t {j} = 0; {j} < {n}; ++{j}) {out.at([*stack, i, j])} = 0;")
    x = w.name("x")
    w.put(f"for (int64_t {l} = 0; {l} < {k}; ++{l}) {{ const {t} {x} = {a.at([*stack, i, l])};")
    w.put("#pragma GCC ivdep")
    w.put(f"for (int64_t {j} = 0; {j} < {n}; ++{j}) {out.at([*stack, i, j])} += {x} * {b.at([*stack, l, j])}; }}")
    w.put("}")


def as_matrix(p: Place, side: int) -> Place:
    """A vector as a matrix of one row (side 0) or column (side 1)."""
    if len(p.shape) > 1:
        return p
    shape, strides = (1, *p.shape), (0, *p.strides)
    return p._replace(shape=shape if side == 0 else shape[::-1], strides=strides if side == 0 else strides[::-1])


def inner_index(
    outer: Sequence[str], inner: Sequence[str], kept: Sequence[int], axes: Shape, ndim: int
) -> Iterator[str]:
    """The full index from those of the kept and of the reduced axes."""
    a, b = iter(outer), iter(inner)
    return (next(b) if i in axes else next(a) for i in range(ndim))


def lowest(dtype: str) -> str:
    t = ctype(dtype)
    if dtype == "bool":
        return "false"
    return f"-std::numeric_limits<{t}>::infinity()" if dtype[0] == "f" else f"std::numeric_limits<{t}>::min()"


def highest(dtype: str) -> str:
    t = ctype(dtype)
    if dtype == "bool":
        return "true"
    return f"std::numeric_limits<{t}>::infinity()" if dtype[0] == "f" else f"std::numeric_limits<{t}>::max()"


IDENTITY: dict[str, Callable[[str], str]] = {
    "add": lambda d: literal(0, d),
    "multiply": lambda d: literal(1, d),
    "maximum": lowest,
    "minimum": highest,
    "logical_and": lambda d: "true",
    "logical_or": lambda d: "false",
    "bitwise_and": lambda d: (
        "true" if d == "bool" else literal(-1, d) if d[0] == "i" else f"std::numeric_limits<{ctype(d)}>::max()"
    ),
    "bitwise_or": lambda d: literal(0, d),
    "bitwise_xor": lambda d: literal(0, d),
}


def extreme(better: str) -> Emit:
    """argmax and argmin: the first extreme element, NaN before all."""

    def arg(w: Writer, state: State, s: Step) -> Place:
        p, value = in_memory(w, w.place(state, s.args[0])), state.body.values[s.outs[0]]
        axis, n = s.params["axis"], p.shape[s.params["axis"]]
        out = w.fresh(value)
        kept = [i for i in range(len(p.shape)) if i != axis]
        outer = tuple([p.shape[i] for i in kept])
        strides = dense(outer)
        t = ctype(p.dtype)

        def one(index: list[str]) -> None:
            best, at, j = w.name("a"), w.name("a"), w.name("j")
            full = list(inner_index(index, [j], kept, (axis,), len(p.shape)))
            zero = list(inner_index(index, ["0"], kept, (axis,), len(p.shape)))
            w.put(f"{t} {best} = {p.at(zero)}; int64_t {at} = 0;")
            w.put(f"for (int64_t {j} = 1; {j} < {n}; ++{j}) {{ const {t} x = {p.at(full)};")
            w.put(f"if ({best} == {best} && (x {better} {best} || x != x)) {{ {best} = x; {at} = {j}; }} }}")
            w.put(f"{out._replace(shape=outer, strides=strides).at(index)} = {at};")

        unrolled(w, outer, one)
        return out

    return arg


emits("argmax")(extreme(">"))
emits("argmin")(extreme("<"))


def running(w: Writer, state: State, s: Step) -> Place:
    """`ufunc.accumulate` along an axis."""
    name = s.op.removesuffix(".accumulate")
    p, value = w.place(state, s.args[0]), state.body.values[s.outs[0]]
    axis = s.params["axis"]
    out = w.fresh(value, state.wanted.get(s.outs[0]) or w.buffer(value.dtype, value.size))
    source = w.aligned(p, value.shape)

    def one(index: list[str]) -> None:
        before = list(index)
        before[axis] = f"({index[axis]} - 1)"
        new = converted(source.at(index), p.dtype, value.dtype)
        step = expression(name, [out.at(before), new], value.dtype, value.dtype)
        w.put(f"{out.at(index)} = {index[axis]} == 0 ? {new} : {step};")

    unrolled(w, value.shape, one)
    return out


emits(*[f"{n}.accumulate" for n in ("add", "multiply", "maximum", "minimum", "logaddexp")])(running)
