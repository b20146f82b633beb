"""Reductions, running sums and matrix products in C++."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ...graph.op import Op, registry
from .libraries import Blas, blas
from .program import Step, Unsupported, Value
from .scalar import converted, ctype, expression, literal
from .shapes import in_memory, unrolled
from .writer import Emit, Place, Shape, State, Writer, dense, emits, size_of

LARGEST_PRODUCT = 1 << 18  # multiplications from which a matrix product is a library's
BLAS_PRODUCT = 1 << 13  # and from which it is that of BLAS, where that can be called
FEWEST = 4  # columns of a product that are worth vectors
LANES = 8  # partial sums side by side


# Sums and products.


@emits("reduce")
def reduce(w: Writer, state: State, s: Step) -> Place:
    """Over some axes, each result by itself."""
    name, op = s.op.removesuffix(".reduce"), registry[s.op]
    p, value = w.place(state, s.args[0]), state.body.values[s.outs[0]]
    axes = s.params["axes"]
    if op.code is None or size_of(p.shape) == 0:
        raise Unsupported(f"{s.op} of shape {p.shape}")
    out = w.fresh(value, state.wanted.get(s.outs[0]))
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
        def element(inner: list[str]) -> str:
            full = list(inner_index(index, inner, kept, axes, len(p.shape)))
            return converted(p.at(full), p.dtype, value.dtype)

        total = accumulate(w, name, inner_shape, element, start_of(op, value.dtype), value.dtype)
        w.put(f"{result.at(index)} = {total};")

    over = p._replace(shape=outer, strides=tuple([p.strides[i] for i in kept]))
    w.nest(outer, [over, result], one, simd=False)
    return out


def accumulate(w: Writer, name: str, shape: Shape, element: Callable[[list[str]], str], first: str, dtype: str) -> str:
    """All elements of a shape in one: the expression for it. Real numbers have several accumulators side by side,
    which are joined at the end, and those of sums keep what is rounded off."""
    acc, names = w.name("a"), [w.name("j") for _ in shape]
    n = shape[-1] if shape else 1
    lanes = LANES if registry[name].associative and dtype[0] == "f" and n >= 2 * LANES else 1
    kind, exact = ctype(dtype), name == "add" and dtype[0] in "fc"
    if exact:
        w.required.add("exact")
        kind = f"LazynpSum<{kind}>"

    def joined(at: str, more: str) -> str:
        return f"{at} = {f'{at} + {more}' if exact else expression(name, [at, more], dtype, dtype)};"

    if lanes == 1:
        w.put(f"{kind} {acc} = {first};")
    else:
        w.put(f"{kind} {acc}[{lanes}]; for (int l = 0; l < {lanes}; ++l) {acc}[l] = {first};")
    for var, size in zip(names[:-1], shape[:-1]):
        w.put(f"for (int64_t {var} = 0; {var} < {size}; ++{var}) {{")
    if lanes == 1:
        if shape:
            w.put(f"for (int64_t {names[-1]} = 0; {names[-1]} < {n}; ++{names[-1]})")
        w.put(joined(acc, element(names)))
    else:
        whole, block, var = n // lanes * lanes, w.name("j"), names[-1]
        w.put(f"for (int64_t {block} = 0; {block} < {whole}; {block} += {lanes})")
        w.put(f"for (int l = 0; l < {lanes}; ++l) {joined(f'{acc}[l]', element([*names[:-1], f'({block} + l)']))}")
        w.put(
            f"for (int64_t {var} = {whole}; {var} < {n}; ++{var}) {joined(f'{acc}[{var} - {whole}]', element(names))}"
        )
    w.put("}" * (len(shape) - 1))
    step = lanes // 2
    while step:
        w.put(f"for (int l = 0; l < {step}; ++l) {joined(f'{acc}[l]', f'{acc}[l + {step}]')}")
        step //= 2
    return acc if lanes == 1 else f"{acc}[0]"


@emits("matmul")
def matmul(w: Writer, state: State, s: Step) -> Place:
    """A product of stacks of matrices, or of vectors."""
    a, b = (in_memory(w, w.place(state, x)) for x in s.args)
    value = state.body.values[s.outs[0]]
    if value.dtype not in ("float32", "float64", "int32", "int64") or {a.dtype, b.dtype} != {value.dtype}:
        raise Unsupported(f"matmul of {value.dtype}")
    out = w.fresh(value, state.wanted.get(s.outs[0]))
    left, right = as_matrix(a, 0), as_matrix(b, 1)
    m, n = left.shape[-2], right.shape[-1]
    stack = value.shape[: len(value.shape) - (len(a.shape) > 1) - (len(b.shape) > 1)]
    strides = (*out.strides[: len(stack)], n if len(b.shape) > 1 else 1, 1)
    multiplied(w, left, right, Place(out.base, strides, (*stack, m, n), out.dtype, out.variable), stack)
    return out


def multiplied(w: Writer, left: Place, right: Place, out: Place, stack: Shape) -> None:
    """Products of matrices, which broadcast to a stack, into a dense one."""
    (m, k), n = left.shape[-2:], right.shape[-1]
    step = rows_apart(left) if len(right.shape) == 2 and len(left.shape) == len(stack) + 2 else None
    if step is not None:
        m, stack = m * size_of(stack), ()
        left = left._replace(shape=(m, k), strides=(step, left.strides[-1]))
        out = out._replace(shape=(m, n), strides=(n, 1))
    library = blas()
    if library is not None and m * n * k > BLAS_PRODUCT and min(m, n, k) > 1 and out.dtype in library.gemm:
        by_blas(w, library, left, right, out, stack)
        return
    if size_of(stack) * m * n * k > LARGEST_PRODUCT:
        raise Unsupported("a large matrix product")
    if n >= FEWEST and right.strides[-1] != 1 and matrix_vector(left, right, out) is None:
        right = copied(w, right)  # its rows are read as vectors
    left, right = (w.aligned(p, (*stack, *p.shape[-2:])) for p in (left, right))
    stacks = [p._replace(shape=stack, strides=p.strides[:-2]) for p in (left, right, out)]
    w.nest(stack, stacks, lambda i: product(w, left, right, out, i), simd=False)


def rows_apart(p: Place) -> int | None:
    """How far apart the rows of a stack of matrices are, where it is one matrix; None where it is not."""
    axes = [(n, t) for n, t in zip(p.shape[:-1], p.strides[:-1]) if n != 1]
    if any([s != m * t for (_, s), (m, t) in itertools.pairwise(axes)]):
        return None
    return axes[-1][1] if axes else 0


GEMM = "void (*)(int, int, int, {n}, {n}, {n}, {t}, const {t}*, {n}, const {t}*, {n}, {t}, {t}*, {n})"


def by_blas(w: Writer, library: Blas, a: Place, b: Place, out: Place, stack: Shape) -> None:
    """Matrix products by BLAS, one after the other; what lies as it does not take is copied."""
    m, k, c = a.shape[-2], a.shape[-1], b.shape[-1]
    a, b = (p if leading(p) is not None else copied(w, p) for p in (a, b))
    (ta, la), (tb, lb) = leading(a) or (False, 0), leading(b) or (False, 0)
    a, b = (w.aligned(p, (*stack, *p.shape[-2:])) for p in (a, b))
    result = Place(out.base, dense((*stack, m, c)), (*stack, m, c), out.dtype)
    address = w.constant(np.array([library.gemm[out.dtype]], np.uint64), Value((1,), "uint64")).base
    gemm = f"(({GEMM.format(n=library.integer, t=ctype(out.dtype))}){address}[0])"

    def one(index: list[str]) -> None:
        left, right, to = (f"&{p.at([*index, '0', '0'])}" for p in (a, b, result))
        how = f"101, {112 if ta else 111}, {112 if tb else 111}, {m}, {c}, {k}"
        w.put(f"{gemm}({how}, 1, {left}, {la}, {right}, {lb}, 0, {to}, {c});")

    unrolled(w, stack, one)


def leading(p: Place) -> tuple[bool, int] | None:
    """How a matrix lies for BLAS: whether transposed, and the distance of its rows; None: otherwise."""
    (m, n), (s, t) = p.shape[-2:], p.strides[-2:]
    if t == 1 and s >= n:
        return False, s
    return (True, t) if s == 1 and t >= m else None


def copied(w: Writer, p: Place) -> Place:
    out = w.fresh(Value(p.shape, p.dtype))
    w.copy(p, out)
    return out


def product(w: Writer, a: Place, b: Place, out: Place, stack: list[str]) -> None:
    """One matrix product: rows times columns for few columns, else by tiles."""
    t, (m, k), n = ctype(out.dtype), a.shape[-2:], b.shape[-1]
    along = matrix_vector(a, b, out)
    if along is not None:
        w.required.add("sums")
        name, step = along
        zeros = [*stack, "0", "0"]
        matrix, vector, size, stride = (a, b, m, b.strides[-2]) if n == 1 else (b, a, n, a.strides[-1])
        operands = f"&{matrix.at(zeros)}, {step}, &{vector.at(zeros)}, {stride}, &{out.at(zeros)}"
        w.put(f"{name}<{t}, {size}, {k}>({operands});")
    elif n < FEWEST or out.variable:
        dots(w, a, b, out, stack)
    else:
        w.required.add("sums")
        zeros = [*stack, "0", "0"]
        apart = f"{a.strides[-2]}, {a.strides[-1]}"
        operands = f"&{a.at(zeros)}, {apart}, &{b.at(zeros)}, {b.strides[-2]}, &{out.at(zeros)}"
        w.put(f"product_of<{t}, {m}, {k}, {n}>({operands});")


def dots(w: Writer, a: Place, b: Place, out: Place, stack: list[str]) -> None:
    """Each element of a matrix product by itself."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    i, j = w.name("i"), w.name("j")
    w.put(f"for (int64_t {i} = 0; {i} < {m}; ++{i}) for (int64_t {j} = 0; {j} < {n}; ++{j}) {{")

    def element(at: list[str]) -> str:
        return f"({a.at([*stack, i, at[-1]])} * {b.at([*stack, at[-1], j])})"

    w.put(f"{out.at([*stack, i, j])} = {accumulate(w, 'add', (k,), element, '0', out.dtype)};")
    w.put("}")


def matrix_vector(a: Place, b: Place, out: Place) -> tuple[str, int] | None:
    """For a product of a matrix and a vector: the function of the prelude, and the distance of the matrix' rows."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    if out.variable or out.dtype[0] != "f" or k < LANES or (m == 1) == (n == 1):
        return None
    rows, columns = a.strides[-2:] if n == 1 else b.strides[-2:][::-1]
    if columns == 1:
        return "by_rows", rows
    return ("by_columns", columns) if rows == 1 else None


PRELUDE = """\
template <class T, int64_t N> using Lanes __attribute__((vector_size(N * sizeof(T)))) = T;
template <class T, int64_t N> INLINE Lanes<T, N> lanes(const T* x) {
    Lanes<T, N> v;
    std::memcpy(&v, x, sizeof v);
    return v;
}
template <class T, int64_t N> INLINE T total(const Lanes<T, N>& v) {
    T s[N];
    std::memcpy(s, &v, sizeof s);
    for (int n = N / 2; n; n /= 2) for (int i = 0; i < n; ++i) s[i] += s[i + n];
    return s[0];
}
// How many elements a vector has for rows of that many.
template <class T> constexpr int64_t width(int64_t most) {
    int64_t n = 64 / sizeof(T);
    while (n > most) n /= 2;
    return n;
}
// R rows of C = A B, V columns of it.
template <class T, int64_t R, int64_t K, int64_t V>
INLINE void tile(const T* a, int64_t ai, int64_t al, const T* b, int64_t bl, T* c, int64_t ci) {
    using Row __attribute__((vector_size(V * sizeof(T)))) = T;
    Row s[R] = {};
    for (int64_t l = 0; l < K; ++l) {
        Row v;
        std::memcpy(&v, b + l * bl, sizeof v);
        for (int64_t r = 0; r < R; ++r) s[r] += a[r * ai + l * al] * v;
    }
    for (int64_t r = 0; r < R; ++r) std::memcpy(c + r * ci, &s[r], sizeof s[r]);
}
// V columns of all rows: six rows at a time, then the rest.
template <class T, int64_t M, int64_t K, int64_t N, int64_t V>
INLINE void columns_of(const T* a, int64_t ai, int64_t al, const T* b, int64_t bl, T* c) {
    constexpr int64_t R = 6, whole = M / R * R;
    for (int64_t i = 0; i < whole; i += R) tile<T, R, K, V>(a + i * ai, ai, al, b, bl, c + i * N, N);
    if constexpr (whole < M) tile<T, M - whole, K, V>(a + whole * ai, ai, al, b, bl, c + whole * N, N);
}
// C = A B, M by K times K by N. B's rows lie in one piece, and so does C. The last columns are computed twice where N
// is no multiple of the width.
template <class T, int64_t M, int64_t K, int64_t N>
INLINE void product_of(const T* a, int64_t ai, int64_t al, const T* b, int64_t bl, T* c) {
    constexpr int64_t most = 64 / sizeof(T), V = N >= most ? most : N >= most / 2 ? most / 2 : 4;
    for (int64_t j = 0; j + V <= N; j += V) columns_of<T, M, K, N, V>(a, ai, al, b + j, bl, c + j);
    if constexpr (N % V != 0) columns_of<T, M, K, N, V>(a, ai, al, b + N - V, bl, c + N - V);
}
// y = A x, for the M rows of A, `step` apart, each of K elements.
template <class T, int64_t M, int64_t K> INLINE void by_rows(const T* a, int64_t step, const T* x, int64_t sx, T* y) {
    constexpr int64_t N = width<T>(K), whole = K / N * N;
    T own[K];
    if (sx != 1) { for (int64_t i = 0; i < K; ++i) own[i] = x[i * sx]; x = own; }
    for (int64_t i = 0; i < M; i += 4) {
        Lanes<T, N> s[4] = {};
        const T* row[4];
        for (int r = 0; r < 4; ++r) row[r] = a + std::min<int64_t>(i + r, M - 1) * step;
        for (int64_t j = 0; j < whole; j += N) {
            const Lanes<T, N> v = lanes<T, N>(x + j);
            for (int r = 0; r < 4; ++r) s[r] += lanes<T, N>(row[r] + j) * v;
        }
        if constexpr (whole < K) {
            Lanes<T, N> v = {};
            std::memcpy(&v, x + whole, (K - whole) * sizeof(T));
            for (int r = 0; r < 4; ++r) {
                Lanes<T, N> u = {};
                std::memcpy(&u, row[r] + whole, (K - whole) * sizeof(T));
                s[r] += u * v;
            }
        }
        for (int64_t r = 0; r < 4 && i + r < M; ++r) y[i + r] = total<T, N>(s[r]);
    }
}
// y = A x, for the K columns of A, `step` apart, each of M elements. The last are computed twice where M is no multiple
// of the width.
template <class T, int64_t M, int64_t K>
INLINE void by_columns(const T* a, int64_t step, const T* x, int64_t sx, T* y) {
    constexpr int64_t N = width<T>(M);
    int64_t i = 0;
    for (; i + 4 * N <= M; i += 4 * N) {
        Lanes<T, N> s[4] = {};
        for (int64_t j = 0; j < K; ++j)
            for (int r = 0; r < 4; ++r) s[r] += lanes<T, N>(a + j * step + i + r * N) * x[j * sx];
        std::memcpy(y + i, s, sizeof s);
    }
    for (; i < M; i += N) {
        const int64_t at = std::min<int64_t>(i, M - N);
        Lanes<T, N> s = {};
        for (int64_t j = 0; j < K; ++j) s += lanes<T, N>(a + j * step + at) * x[j * sx];
        std::memcpy(y + at, &s, sizeof s);
    }
}
"""


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


def start_of(op: Op, dtype: str) -> str:
    """What a reduction begins with: the ufunc's identity, or of two extremes the one that yields to the other."""
    identity = op.ufunc.identity if op.ufunc is not None else None
    if identity is None and op.ufunc is not None:
        kind = np.dtype(dtype).kind
        info = np.iinfo(dtype) if kind in "iu" else None
        extremes = (info.min, info.max) if info is not None else (False, True) if kind == "b" else (-np.inf, np.inf)
        low, high = np.array(extremes, dtype)
        identity = low if op.ufunc(low, high) == high else high
    return literal(identity, dtype)


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


@emits("accumulate")
def running(w: Writer, state: State, s: Step) -> Place:
    """`ufunc.accumulate` along an axis."""
    name = s.op.removesuffix(".accumulate")
    if not registry[s.op].associative:
        raise Unsupported(s.op)
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
