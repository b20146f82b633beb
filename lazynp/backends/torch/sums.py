"""Sums in compiled kernels: exact to one rounding, or NumPy's along short rows, and the same with any threads.

Inductor adds vector after vector to an accumulator (of float32 it begins anew after 4096), and has a partial sum for
each thread. For three million elements that loses what NumPy's pairwise order keeps: errors of 1e-5 in float32 where
NumPy has 1e-8. So the accumulators of sums get a type that keeps what is rounded off (`LazynpSum`), and a loop that is
shared among threads is cut into blocks that depend on its length alone, with an accumulator for each. Rows that NumPy
adds up in one go, without halving them, are added up in its order.

What is read here is the text of Inductor's kernels, in the few forms that it has.
"""

from __future__ import annotations

import re

from lazynp.backends.exact import SUM

SUMS = (
    SUM
    + r"""
template <class V>
inline LazynpSum<V> sum_masked_reduce(const LazynpSum<V>& a, const std::common_type_t<V>& b, const int64_t tail) {
    return a + V::set(V(0), b, tail);
}
// Sums side by side, each with what it has rounded off, in the first.
template <class T, int N> static inline void lazynp_join(T* high, T* low) {
    typedef T Half __attribute__((vector_size(N / 2 * sizeof(T))));
    Half h[2], l[2];
    std::memcpy(h, high, sizeof h);
    std::memcpy(l, low, sizeof l);
    const Half sum = h[0] + h[1], added = sum - h[0];
    const Half more = l[0] + l[1] + ((h[0] - (sum - added)) + (h[1] - added));
    std::memcpy(high, &sum, sizeof sum);
    std::memcpy(low, &more, sizeof more);
    if constexpr (N > 2) lazynp_join<T, N / 2>(high, low);
}
template <class V, class T = typename V::value_type> static inline LazynpSum<T> lazynp_all(const LazynpSum<V>& a) {
    alignas(64) T high[V::size()], low[V::size()];
    a.high.store(high);
    a.low.store(low);
    lazynp_join<T, V::size()>(high, low);
    return {high[0], low[0]};
}
// The largest (or the smallest) of a vector's elements; one that is no number, if there is such. torch has shuffles for
// float32, and goes through memory seven times for float64.
template <bool MOST, class T, int N> static inline void lazynp_halves(T* all) {
    typedef T Half __attribute__((vector_size(N / 2 * sizeof(T))));
    Half h[2];
    std::memcpy(h, all, sizeof h);
    const Half one = ((MOST ? h[0] > h[1] : h[0] < h[1]) | (h[0] != h[0])) ? h[0] : h[1];
    std::memcpy(all, &one, sizeof one);
    if constexpr (N > 2) lazynp_halves<MOST, T, N / 2>(all);
}
template <bool MOST, class V, class T = typename V::value_type> static inline T lazynp_extreme(const V& a) {
    alignas(64) T all[V::size()];
    a.store(all);
    lazynp_halves<MOST, T, V::size()>(all);
    return all[0];
}
// Sums of every N-th element, for a loop that puts N at a time into `next`.
template <class T> struct LazynpLanes {
    static constexpr int N = 64 / sizeof(T);
    typedef T Lanes __attribute__((vector_size(64)));
    Lanes high = {}, low = {};
    alignas(64) T next[N];
    inline void add() {
        Lanes value;
        std::memcpy(&value, next, sizeof value);
        const Lanes sum = high + value, added = sum - high;
        low += (high - (sum - added)) + (value - added);
        high = sum;
    }
    inline LazynpSum<T> total() {
        lazynp_join<T, N>((T*)&high, (T*)&low);
        return {high[0], low[0]};
    }
};
// A row of at most LAZYNP_ROW elements in the order in which NumPy adds it: eight sums, and what is left one by one.
static const int64_t LAZYNP_ROW = 128;
template <class T> static inline T lazynp_row(const T* row, int64_t n) {
    T sum = row[0];
    int64_t i = 1;
    if (n >= 8) {
        typedef T Eight __attribute__((vector_size(8 * sizeof(T))));
        Eight all, next;
        std::memcpy(&all, row, sizeof all);
        for (i = 8; i + 8 <= n; i += 8) {
            std::memcpy(&next, row + i, sizeof next);
            all += next;
        }
        sum = ((all[0] + all[1]) + (all[2] + all[3])) + ((all[4] + all[5]) + (all[6] + all[7]));
    }
    for (; i < n; ++i) sum += row[i];
    return sum + 0;
}
// Blocks of a loop that is shared among threads: by its length alone, so that a sum of them is too.
static inline int lazynp_blocks(int64_t begin, int64_t end, int64_t step) {
    return (int)std::min<int64_t>(128, std::max<int64_t>(1, (end - begin) / step / 1024));
}
static inline int64_t lazynp_block_start(int64_t begin, int64_t end, int64_t step, int64_t block, int blocks) {
    const int64_t steps = (end - begin + step - 1) / step;
    return block == blocks ? end : begin + steps / blocks * block * step + std::min(block, steps % blocks) * step;
}
"""
)
_CASCADE = re.compile(r"^(\s*)(\w+) = cascade_sum_combine\((\w+), (?:(.+), )?&\w+\);$")
_CASCADE_HELPER = re.compile(r"^\s*(CascadeSumHelper<.*|\w+ = cascade_sum_final\(&\w+\);)$")
_THREADS = re.compile(r"^(\s*)int max_threads = lazynp_threads;$")
_REGION = re.compile(r"^(\s*)#pragma omp parallel num_threads\(lazynp_threads\)\s*$")
_THREAD = re.compile(r"^\s*int tid = omp_get_thread_num\(\);\s*$")
_LOOP = re.compile(
    r"^(\s*)for\(int64_t (\w+)=static_cast<int64_t>\((.+?)\); \w+<static_cast<int64_t>\((.+)\); \w+\+=(.+)\)\s*$"
)
_EACH = re.compile(r"^(\s*)for\(int64_t (\w+)=(.+?); \w+<(.+); \w+\+=static_cast<int64_t>\(1L\)\)\s*$")
_ADDITION = re.compile(r"^(\s*)(\w*tmp_acc\w*) = \2 \+ (.*);$")
_SCALAR = re.compile(r"^\s*LazynpSum<(float|double)> (\w+) = 0;$")
_FOR = re.compile(r"^\s*for ?\(")
_ZERO = r"(?:0|at::vec::VectorizedN?<[^<>]*>\(0\))"
_ACCUMULATOR = re.compile(rf"^(\s*)(float|double|at::vec::VectorizedN?<(?:float|double)(?:, ?\d+)?>) (\w+) = {_ZERO};$")
_ACCUMULATORS = re.compile(r"^(\s*)(float|double|at::vec::VectorizedN?<(?:float|double)(?:, ?\d+)?>) (\w+)(\[.*\];)$")
_TOTAL = re.compile(r"^(\s*)(\w+) = \2 \+ at::vec::vec_reduce_all<(float|double)\b.* return x \+ y; \}, \2_vec\);$")
_TERM = re.compile(r"^(\s*)(\w+)_vec = (?:\2_vec \+ (\w+)|sum_masked_reduce\(\2_vec, (\w+), .+\));$")
_ALL_LANES = re.compile(r"at::vec::vec_reduce_all<(?:float|double)\b[^<>]*>\(\[\]\([^()]*\) \{ return x \+ y; \}, ")
_EXTREME = re.compile(
    r"at::vec::vec_reduce_all<(?:float|double)\b[^<>]*>\(\[\]\([^()]*\) "
    r"\{ return at::vec::(maximum|minimum)\(x, y\); \}, "
)


def exact(source: str) -> str:
    """A kernel with sums like that, whose regions with partial results are loops of the pool over blocks."""
    source = _EXTREME.sub(lambda m: f"lazynp_extreme<{str(m[1] == 'maximum').lower()}>(", source)
    lines = _in_rows([_plain(line) for line in source.split("\n") if not _CASCADE_HELPER.match(line)])
    return _ALL_LANES.sub("lazynp_all(", "\n".join(_in_lanes(_in_blocks(_typed(lines)))))


def _in_rows(lines: list[str]) -> list[str]:
    """Sums along the last axis: of a short row the terms are put down, and added up as NumPy does. To keep what is
    rounded off, and to add up a whole vector for each row, takes longer than all else that a row is worth."""
    out = list(lines)
    for end, line in enumerate(lines):
        total = _TOTAL.match(line)
        if total is None:
            continue
        indent, name, kind = total.groups()
        start = next((i for i in range(end, -1, -1) if _LOOP.match(lines[i]) and _indent(lines[i]) == indent), -1)
        loop = _LOOP.match(lines[start]) if start >= 0 else None
        zero = next((i for i in range(start, -1, -1) if lines[i] == f"{indent}{kind} {name} = 0;"), -1)
        uses = [i for i in range(start + 1, end) if re.search(rf"\b{name}(?:_vec)?\b", lines[i])]
        terms = {i: found for i in uses if (found := _TERM.match(lines[i])) and found[2] == name}
        nested = any(_FOR.match(line) for line in lines[start + 1 : end])
        if loop is None or loop[3] != "0L" or zero < 0 or nested or len(terms) != len(uses):
            continue
        few = f"{loop[4]} <= LAZYNP_ROW"
        out[zero] += f"\n{indent}alignas(64) {kind} {name}_row[LAZYNP_ROW + 16];"
        for i, term in terms.items():
            put = f"{term[3] or term[4]}.store({name}_row + {loop[2]});"
            out[i] = f"{term[1]}if ({few}) {put}\n{term[1]}else\n{lines[i]}"
        out[end] = f"{indent}if ({few}) {name} = lazynp_row({name}_row, {loop[4]});\n{indent}else\n{line}"
    return "\n".join(out).split("\n")


def _typed(lines: list[str]) -> list[str]:
    """The accumulators of sums, known by the zero that they begin with, as `LazynpSum`."""
    out = []
    for i, line in enumerate(lines):
        found = _ACCUMULATOR.match(line)
        array = _ACCUMULATORS.match(line)
        if found is not None and "tmp_acc" in found[3]:
            line = f"{found[1]}LazynpSum<{found[2]}> {line[found.start(3) :]}"
        elif array is not None and "tmp_acc" in array[3]:
            zero = re.compile(rf"^\s*{array[3]}\[\w+\] = {_ZERO};$")
            if any(zero.match(following) for following in lines[i + 1 : i + 4]):
                line = f"{array[1]}LazynpSum<{array[2]}> {array[3]}{array[4]}"
        out.append(line)
    return out


def _plain(line: str) -> str:
    """Without Inductor's own cascade."""
    found = _CASCADE.match(line)
    if found is None:
        return line
    indent, name, value, tail = found.groups()
    new = f"{name} + {value}" if tail is None else f"sum_masked_reduce({name}, {value}, {tail})"
    return f"{indent}{name} = {new};"


def _closing(lines: list[str], start: int, indent: str) -> int:
    """The line of the brace that closes a block, which opens behind `start` at this indent."""
    return next(j for j in range(start + 1, len(lines)) if lines[j].rstrip() in (indent + "}", indent + "});"))


def _in_blocks(lines: list[str]) -> list[str]:
    """Regions whose threads have partial results, as loops over blocks; as they are where one has another form."""
    out = list(lines)
    for start in [i for i, line in enumerate(lines) if _REGION.match(line)]:
        indent = _indent(lines[start])
        end = _closing(lines, start, indent)
        part = lines[start : end + 1]
        if not any("[tid]" in line for line in part):
            continue
        loops = [i for i, line in enumerate(part) if line.strip().startswith("#pragma omp")][1:]
        single = len(loops) == 1 and part[loops[0]].strip() == "#pragma omp for"
        header = _LOOP.match(part[loops[0] + 1]) if single else None
        counts = [i for i in range(start) if _THREADS.match(lines[i])]
        if header is None or not counts or not _THREAD.match(part[2]):
            return lines
        inner, name, first, last, step = header.groups()
        span = f"{first}, {last}, {step}"
        out[counts[-1]] = f"{_indent(lines[counts[-1]])}const int max_threads = lazynp_blocks({span});"
        bounds = [f"lazynp_block_start({span}, tid{more}, max_threads)" for more in ("", " + 1")]
        part[loops[0]] = ""
        part[loops[0] + 1] = f"{inner}for(int64_t {name}={bounds[0]}; {name}<{bounds[1]}; {name}+={step})"
        call = "lazynp_for(0, max_threads, 1, lazynp_threads, [&](int64_t lazynp_begin, int64_t lazynp_end) {"
        part[0] = f"{indent}{call}\n{indent}for (int64_t tid=lazynp_begin; tid<lazynp_end; tid++)"
        part[2] = ""
        part[-1] = f"{indent}}}\n{indent}}});"
        out[start : end + 1] = part
    # The names by which `pooled` knows a region that has to stay OpenMP's.
    text = re.sub(r"\btid\b", "lazynp_block", "\n".join(out))
    return re.sub(r"\b(\w*tmp_acc\w*)_local\b", r"\1_own", text).split("\n")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _in_lanes(lines: list[str]) -> list[str]:
    """Innermost loops over single elements, which g++ would add up one after the other, a vector's length at a time."""
    out = list(lines)
    for start in range(len(lines) - 1, -1, -1):
        header = _EACH.match(lines[start])
        if header is None:
            continue
        indent, name, first, last = header.groups()
        end = _closing(lines, start, indent)
        body = lines[start + 1 : end + 1]
        sums = list(dict.fromkeys([found[2] for line in body if (found := _ADDITION.match(line))]))
        kinds = {found[1] for line in lines[:start] if (found := _SCALAR.match(line)) and found[2] in sums}
        if any(_FOR.match(line) for line in body) or len(kinds) != 1 or lines[start - 1].strip().startswith("#pragma"):
            continue
        (kind,) = kinds
        lanes = [_ADDITION.sub(r"\1\2_lanes.next[lazynp_lane] = \3;", line) for line in body]
        size = f"LazynpLanes<{kind}>::N"
        each = f"for (int lazynp_lane = 0; lazynp_lane < {size}; ++lazynp_lane)"
        out[start : end + 1] = [
            f"{indent}int64_t {name}_first = {first};",
            f"{indent}const int64_t {name}_last = {last};",
            f"{indent}if ({name}_last - {name}_first >= 2 * {size}) {{",
            *[f"{indent}LazynpLanes<{kind}> {f}_lanes;" for f in sums],
            f"{indent}for (; {name}_first + {size} <= {name}_last; {name}_first += {size})",
            f"{indent}{{",
            f"{indent}{each}",
            lanes[0],
            f"{indent}const int64_t {name} = {name}_first + lazynp_lane;",
            *lanes[1:],
            *[f"{indent}{f}_lanes.add();" for f in sums],
            f"{indent}}}",
            *[f"{indent}{f} = {f} + {f}_lanes.total();" for f in sums],
            f"{indent}}}",
            f"{indent}for (int64_t {name} = {name}_first; {name} < {name}_last; ++{name})",
            *body,
        ]
    return out
