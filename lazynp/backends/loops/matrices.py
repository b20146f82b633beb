"""Small matrices in C++: Cholesky factors and systems of equations, one matrix of a stack after the other. Larger ones
are left to LAPACK."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .program import Step, Unsupported
from .scalar import ctype
from .shapes import unrolled
from .writer import Place, State, Writer, emits

LARGEST = 64
"""Rows of a matrix up to which it is cheaper here than a call of Python."""
PRELUDE = """\
// U with a = U^T U in place of a, of which the upper triangle is read; NaN where there is none. Row after row, so that
// loops go along memory.
template <class T, int64_t N> INLINE void cholesky_of(T* a) {
    for (int64_t j = 0; j < N; ++j) {
        T* const u = a + j * N;
        if (!(u[j] > 0)) {
            for (int64_t i = 0; i < N * N; ++i) a[i] = std::numeric_limits<T>::quiet_NaN();
            return;
        }
        const T d = std::sqrt(u[j]);
        for (int64_t k = j; k < N; ++k) u[k] = k == j ? d : u[k] / d;
        for (int64_t i = j + 1; i < N; ++i) {
            const T f = u[i];
            for (int64_t k = i; k < N; ++k) a[i * N + k] -= f * u[k];
        }
        for (int64_t k = 0; k < j; ++k) u[k] = 0;
    }
}
// x with a x = b in place of b, which has M columns; one triangle of a is read.
template <class T, int64_t N, int64_t M, bool LOWER, bool UNIT> INLINE void triangular_of(const T* a, T* b) {
    for (int64_t n = 0; n < N; ++n) {
        const int64_t i = LOWER ? n : N - 1 - n;
        for (int64_t k = LOWER ? 0 : i + 1; k < (LOWER ? i : N); ++k)
            for (int64_t c = 0; c < M; ++c) b[i * M + c] -= a[i * N + k] * b[k * M + c];
        if constexpr (!UNIT) for (int64_t c = 0; c < M; ++c) b[i * M + c] /= a[i * N + i];
    }
}
// x with a x = b in place of b, and the LU factors in place of a, which may be singular.
template <class T, int64_t N, int64_t M> INLINE void solve_of(T* a, T* b) {
    for (int64_t j = 0; j < N; ++j) {
        int64_t p = j;
        for (int64_t i = j + 1; i < N; ++i) if (std::abs(a[i * N + j]) > std::abs(a[p * N + j])) p = i;
        if (p != j) {
            std::swap_ranges(a + j * N, a + j * N + N, a + p * N);
            std::swap_ranges(b + j * M, b + j * M + M, b + p * M);
        }
        if (a[j * N + j] == 0) continue;
        for (int64_t i = j + 1; i < N; ++i) {
            const T f = a[i * N + j] / a[j * N + j];
            for (int64_t k = j + 1; k < N; ++k) a[i * N + k] -= f * a[j * N + k];
            for (int64_t c = 0; c < M; ++c) b[i * M + c] -= f * b[j * M + c];
        }
    }
    triangular_of<T, N, M, false, false>(a, b);
}
"""


def matrices(w: Writer, state: State, s: Step) -> tuple[list[Place], Place]:
    """The operands, as stacks of one shape, and the result. Raises Unsupported for large ones, and for other dtypes."""
    value = state.body.values[s.outs[0]]
    places = [w.place(state, a) for a in s.args]
    if value.dtype not in ("float32", "float64") or {p.dtype for p in places} != {value.dtype}:
        raise Unsupported(f"{s.op} of {value.dtype}")
    if not 0 < max(*places[0].shape[-2:], *places[-1].shape[-2:]) <= LARGEST or value.size == 0:
        raise Unsupported(f"{s.op} of a large matrix")
    w.required.add("matrices")
    stack = value.shape[:-2]
    return [w.aligned(p, (*stack, *p.shape[-2:])) for p in places], w.fresh(value, state.wanted.get(s.outs[0]))


def moved(w: Writer, rows: int, columns: int, text: Callable[[str, str, str], str]) -> None:
    """A statement for each element of a matrix, from its row, its column and its place in a dense one."""
    i, j = w.name("i"), w.name("j")
    w.put(f"for (int64_t {i} = 0; {i} < {rows}; ++{i}) for (int64_t {j} = 0; {j} < {columns}; ++{j})")
    w.put(text(i, j, f"{i} * {columns} + {j}"))


def own(w: Writer, p: Place, index: Sequence[str], swapped: bool = False) -> str:
    """The name of a dense copy of a matrix."""
    name, (rows, columns) = w.name("m"), p.shape[-2:]
    w.put(f"{ctype(p.dtype)} {name}[{rows * columns}];")
    moved(w, rows, columns, lambda i, j, at: f"{name}[{at}] = {p.at([*index, *((j, i) if swapped else (i, j))])};")
    return name


@emits("cholesky_or_nan")
def cholesky(w: Writer, state: State, s: Step) -> Place:
    (a,), out = matrices(w, state, s)
    n, upper = a.shape[-1], s.params["upper"]

    def one(index: list[str]) -> None:
        name = own(w, a, index, not upper)
        w.put(f"cholesky_of<{ctype(a.dtype)}, {n}>({name});")
        moved(w, n, n, lambda i, j, at: f"{out.at([*index, *((i, j) if upper else (j, i))])} = {name}[{at}];")

    unrolled(w, a.shape[:-2], one)
    return out


@emits("triangular_or_nan", "solve_or_nan")
def solve(w: Writer, state: State, s: Step) -> Place:
    (a, b), out = matrices(w, state, s)
    t, n, m = ctype(a.dtype), a.shape[-1], b.shape[-1]
    flags = [str(bool(s.params[k])).lower() for k in ("lower", "unit") if k in s.params]
    function = f"{'triangular_of' if flags else 'solve_of'}<{', '.join([t, str(n), str(m), *flags])}>"

    def one(index: list[str]) -> None:
        left, right = own(w, a, index), own(w, b, index)
        w.put(f"{function}({left}, {right});")
        moved(w, n, m, lambda i, j, at: f"{out.at([*index, i, j])} = {right}[{at}];")

    unrolled(w, b.shape[:-2], one)
    return out
