"""Sums in compiled kernels: pairwise, and the same whatever the number of threads.

Inductor adds vector after vector to an accumulator (of float32 it begins anew after 4096), and has a partial sum
for each thread. For three million elements that loses what NumPy's pairwise order keeps: errors of 1e-5 in float32
where NumPy has 1e-8. So accumulators are emptied after `LEAF` additions into sums of 2, 4, 8, ... times
as many, and a loop that is shared among threads is cut into blocks that depend on its length alone, with an accumulator
for each. Of sequential additions at most LEAF follow one another, of NumPy's pairwise sum 16.

What is read here is the text of Inductor's kernels, in the few forms that it has.
"""

from __future__ import annotations

import re

from lazynp.backends.pairwise import LEAF, PAIRWISE

SUMS = (
    PAIRWISE
    + r"""
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
_ACCUMULATOR = re.compile(
    r"^(\s*)(float|double|at::vec::VectorizedN?<(?:float|double)(?:, ?\d+)?>) (\w*tmp_acc\w*) = .*;$"
)
_FOR = re.compile(r"^\s*for ?\(")
_SHORT = re.compile(r"<static_cast<int64_t>\((\d+)L\); \w+\+=static_cast<int64_t>\((\d+)L\)\)$")


def pairwise(source: str) -> str:
    """A kernel whose sums are pairwise, and whose regions with partial results are loops of the pool over blocks."""
    lines = [_plain(line) for line in source.split("\n") if not _CASCADE_HELPER.match(line)]
    return "\n".join(_emptied(_in_blocks(lines)))


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
    return re.sub(r"\btid\b", "lazynp_block", "\n".join(out).replace("_local", "_own")).split("\n")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _emptied(lines: list[str]) -> list[str]:
    """Accumulators of sums, emptied into a `LazynpSums` after each LEAF additions, and summed behind their loops."""
    after: dict[int, list[str]] = {}
    for i, line in enumerate(lines):
        found = _ACCUMULATOR.match(line)
        if found is None:
            continue
        indent, kind, name = found.groups()
        scope = next(j for j in range(i + 1, len(lines)) if lines[j].strip() and len(_indent(lines[j])) < len(indent))
        addition = re.compile(rf"^(\s*){name} = {name} \+ (.*);$")
        places = [j for j in range(i + 1, scope) if addition.match(lines[j]) and len(_indent(lines[j])) > len(indent)]
        loops = {max(k for k in range(i, j) if _FOR.match(lines[k]) and _indent(lines[k]) == indent) for j in places}
        if not places or len(loops) == 1 and len(places) == 1 and _few(lines, min(loops), places[0]):
            continue
        after.setdefault(i, []).append(f"{indent}LazynpSums<{kind}> {name}_sums; int {name}_count = 0;")
        for j in places:
            lines[j] += (
                f" if (++{name}_count == {LEAF}) {{ {name}_sums.push({name}); {name} = {kind}(0); {name}_count = 0; }}"
            )
        for loop in loops:
            end = _closing(lines, loop, indent)
            after.setdefault(end, []).append(f"{indent}{name} = {name}_sums.total({name}); {name}_count = 0;")
    return [x for i, line in enumerate(lines) for x in (line, *after.get(i, ()))]


def _few(lines: list[str], loop: int, place: int) -> bool:
    """Whether a loop without others in it makes so few additions that they need no order."""
    found = _SHORT.search(lines[loop].rstrip())
    nested = any(_FOR.match(line) for line in lines[loop + 1 : place])
    return found is not None and not nested and int(found[1]) <= LEAF * int(found[2])
