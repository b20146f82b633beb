"""The C++ source of an artifact: Inductor's kernels, and two C functions that run them.

`int lazynp_run(void* const* pointers, const int64_t* dims, const char* scalars, int64_t threads)`
    pointers: inputs, then outputs, to their first elements; dims: the shape, then each operand's strides in elements
    (not read where the geometry is not symbolic); scalars: one slot of 16 bytes each.
`int lazynp_arrays(array..., const char* scalars, int64_t threads)`
    the same from NumPy array objects, whose shapes and strides are checked against the geometry.

Both return 0; 1: no memory; 2: the geometry is another one, or a guard failed; 3: an output shares memory with an
input, and this kernel cannot do that. Where they do not return 0, nothing has been written.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torch._inductor.codegen.cpp_utils import cexpr

from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.backends.support import ITEMSIZE, code_of
from lazynp.backends.torch import planar
from lazynp.backends.torch.masks import masked
from lazynp.backends.torch.sums import exact
from lazynp.backends.torch.threads import pooled
from lazynp.backends.torch.trace import Traced
from lazynp.backends.torch.wrapper import DTYPES, Buffer, Call, Kernel, Program, Unexpected

PARALLEL_NS = 150_000  # work, estimated in nanoseconds, that is worth one more thread
SLOT = 16  # bytes of a scalar
_DIVISION_FLAG = re.compile(r"^.*inductor_cpu_integer_div_error.*\n", re.MULTILINE)
_DIVISION = re.compile(r"c10::div_floor_integer\(static_cast<int64_t>\(([^()]*)\), static_cast<int64_t>\(\d+L\)\)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_CALL = "void* const* pointers, const int64_t* dims, const char* scalars, int64_t threads"
_NEST = re.compile(r"^\s*for\((?:int64_t|long) x0=(?:static_cast<int64_t>\()?(\w+)\)?; ")
_LOOP = re.compile(r"^\s*for\((?:int64_t|long) (x\d+)=.*\+=static_cast<int64_t>\((\d+)L\)\)$")


class Source(NamedTuple):
    text: str
    alias_safe: bool  # an output may be an input, with the same strides


def generate(spec: KernelSpec, geometry: Geometry, traced: Traced, program: Program) -> Source:
    reduces = any(i.op == "reduce" for i in spec.body)
    kernels = {name: f"lazynp_kernel_{i}" for i, name in enumerate(program.kernels)}
    sources = [_kernel(kernel, kernels[name], reduces) for name, kernel in program.kernels.items()]
    calls = [s for s in program.steps if isinstance(s, Call)]
    alias_safe = not reduces and len(calls) <= 1 and all(_loads_first(s) for s in sources)
    length = planar.block(spec, geometry)
    if length:
        body = planar.blocks(spec, geometry, traced, program, length, _steps(program, kernels))
    else:
        body = [*_pointers(traced, program), *_steps(program, kernels)]
    waits = not any(isinstance(s, Buffer) for s in program.steps)
    rows = waits and not reduces and len(calls) == 1 and _by_rows(sources[0], geometry)
    driver = _driver(spec, geometry, traced, body, alias_safe, rows)
    parts = [*sources, driver, _arrays(spec, geometry, waits, rows)]
    return Source("\n".join(parts), alias_safe)


def _kernel(kernel: Kernel, name: str, reduces: bool) -> str:
    source, count = re.subn(r'extern "C"\s+void\s+kernel\(', f"static void {name}(", kernel.source)
    if count != 1:
        raise Unexpected("kernel without its function")
    source = _DIVISION_FLAG.sub("", source)
    source = re.sub(r"^#include.*$", "", source, flags=re.MULTILINE)
    source = source.replace("omp_get_max_threads()", "lazynp_threads")
    source = re.sub(r"(#pragma omp parallel) *$", r"\1 num_threads(lazynp_threads)", source, flags=re.MULTILINE)
    if "num_threads(" in source.replace("num_threads(lazynp_threads)", ""):
        raise Unexpected("a fixed number of threads")
    source = source.replace("std::hypot(", "lazynp_hypot(")
    return _hoisted(pooled(masked(exact(source) if reduces else _simd(source))))


def _hoisted(source: str) -> str:
    """Divisions of sizes, which Inductor writes into innermost loops, once at the beginning: a division takes as long
    as a few vectors, and stores between may keep g++ from moving it."""
    found = {
        m.group(0): None for m in _DIVISION.finditer(source) if set(_NAME.findall(m.group(1))) <= _sizes_of(source)
    }
    start = source.index("{\n") + 2
    lines = []
    for i, division in enumerate(found):
        lines.append(f"    const int64_t lazynp_quotient{i} = {division};\n")
        source = source.replace(division, f"lazynp_quotient{i}")
    return source[:start] + "".join(lines) + source[start:]


def _sizes_of(source: str) -> set[str]:
    return set(re.findall(r"const int64_t (ks\d+)[,)]", source))


def _simd(source: str) -> str:
    """Let g++ vectorize innermost loops that Inductor left scalar (strides other than 1, such as complex parts).

    Right, since without reductions iterations are independent: an output that is an input is read and written at one
    index.
    """
    lines = source.split("\n")
    loops = [(i, m) for i, line in enumerate(lines) if (m := _LOOP.match(line))]
    for position, (i, match) in reversed(list(enumerate(loops))):
        depth = len(lines[i]) - len(lines[i].lstrip())
        following = loops[position + 1][0] if position + 1 < len(loops) else len(lines)
        inner = following < len(lines) and len(lines[following]) - len(lines[following].lstrip()) > depth
        if inner or match.group(2) != "1":
            continue
        if lines[i - 1].strip() == "#pragma omp for":
            lines[i - 1] += " simd"
        elif not lines[i - 1].lstrip().startswith("#pragma"):
            lines[i] = " " * depth + "#pragma GCC ivdep\n" + lines[i]
    return "\n".join(lines)


def _loads_first(source: str) -> bool:
    """Whether there is one loop nest whose body, block by block, reads all inputs before it writes an output."""
    written, nests, depth = False, 0, None
    for line in source.split("\n"):
        indent = len(line) - len(line.lstrip())
        if _LOOP.match(line):
            if depth is None or indent <= depth:
                nests, depth = nests + 1, indent
            written = False
        if "in_ptr" in line and "const" not in line and written and "C10_" not in line:
            return False
        if re.search(r"store\(\w*out_ptr|^\s*\w*out_ptr\d+\[.*\] =|, \w*out_ptr\d+ \+", line):
            written = True
        if "C10_LIKELY" in line or "C10_UNLIKELY" in line:
            written = False
    return nests <= 1


def _weight(spec: KernelSpec) -> float:
    """Estimated nanoseconds an element."""
    bytes_moved = sum(ITEMSIZE[d] for d in spec.inputs) + 2 * len(spec.outputs) * 8
    return bytes_moved / 12 + sum(code_of(i.op).cost for i in spec.body)


def _by_rows(source: str, geometry: Geometry) -> bool:
    """Whether each loop nest of a kernel goes through the first axis, index by index, in the pool's loop."""
    loops = [m for m in map(_NEST.match, source.split("\n")) if m]
    starts = {m.group(1) for m in loops}
    spans = re.findall(r"lazynp_for\((\S+), (\S+), static_cast<int64_t>\((\S+)\), ", source)
    whole = {("0L", f"{geometry.shape[0]}L", "1L")} if geometry.shape and not geometry.symbolic else set()
    return bool(loops) and starts == {"lazynp_begin"} and len(spans) == len(loops) and set(spans) == whole


def _driver(spec: KernelSpec, geometry: Geometry, traced: Traced, body: list[str], alias_safe: bool, rows: bool) -> str:
    """`lazynp_ready` says whether the code fits, `lazynp_body` runs it, `lazynp_rows` a part of the first axis."""
    strides = [s for operand in geometry.strides for s in operand]
    static = [*geometry.shape, *strides]
    symbols = []
    for name, (slot, factor) in traced.symbols.items():
        value = f"dims[{slot}]" if geometry.symbolic else f"INT64_C({static[slot]})"
        symbols.append(f"    const int64_t {name} = {value} * {factor};")
    lines = ["static int lazynp_ready(void* const* pointers, const int64_t* dims) {", *symbols, *_sizes(geometry)]
    for guard in traced.guards:
        lines.append(f"    if (!({cexpr(guard)})) return 2;")
    if not alias_safe:
        first = len(spec.inputs)
        lines.append(f"    for (int o = {first}; o < {first + len(spec.outputs)}; ++o)")
        lines.append(f"        for (int i = 0; i < {first}; ++i) if (pointers[o] == pointers[i]) return 3;")
    lines += [
        "    return 0;",
        "}",
        "",
        "static double lazynp_work(const int64_t* dims) {",
        f"    return (double)({_total(geometry)}) * {_weight(spec) / PARALLEL_NS:.6g};",
        "}",
        "",
        f"static int lazynp_body({_CALL}) {{",
        *symbols,
        "    const double work = lazynp_work(dims);",
        "    lazynp_threads = work < 2.0 || threads < 2 ? 1 : (int)std::min(work, (double)threads);",
        *body,
        "    return 0;",
        "}",
        "",
    ]
    if rows:
        lines += [
            "static void lazynp_rows(",
            "    void* const* pointers, const int64_t* dims, const char* scalars, int64_t begin, int64_t end) {",
            "    lazynp_window = {begin, end};",
            "    lazynp_body(pointers, dims, scalars, 1);",
            "    lazynp_window = {0, -1};",
            "}",
            "",
        ]
    lines += [
        f"LAZYNP_EXPORT int lazynp_run({_CALL}) {{",
        "    const int unfit = lazynp_ready(pointers, dims);",
        "    return unfit ? unfit : lazynp_body(pointers, dims, scalars, threads);",
        "}",
        "",
    ]
    return "\n".join(lines)


def _sizes(geometry: Geometry) -> list[str]:
    """Of a symbolic geometry: sizes that were 1 are 1, the others at least 2, and the stride classes are the same."""
    if not geometry.symbolic:
        return []
    ndim = len(geometry.shape)
    tests = [f"dims[{j}] != 1" if n == 1 else f"dims[{j}] < 2" for j, n in enumerate(geometry.shape)]
    for i, strides in enumerate(geometry.strides):
        for j, stride in enumerate(strides):
            slot = ndim * (1 + i) + j
            if geometry.shape[j] == 1:
                continue
            tests.append(f"dims[{slot}] != {stride}" if stride in (0, 1) else f"dims[{slot}] == 0 || dims[{slot}] == 1")
    return [f"    if ({test}) return 2;" for test in tests]


def _total(geometry: Geometry) -> str:
    factors = [f"dims[{j}]" if geometry.symbolic else f"INT64_C({n})" for j, n in enumerate(geometry.shape)]
    return " * ".join(factors) or "1"


def _pointers(traced: Traced, program: Program) -> list[str]:
    if len(traced.operands) != len(program.args):
        raise Unexpected("another number of arguments")
    lines = []
    for name, operand in zip(program.args, traced.operands):
        base = f"scalars + {SLOT * operand.position}" if operand.scalar else f"(char*)pointers[{operand.position}]"
        offset = operand.part * ITEMSIZE[operand.dtype] // 2
        lines.append(f"    char* const {name} = (char*)({base} + {offset});")
    return lines


def _steps(program: Program, kernels: dict[str, str]) -> list[str]:
    lines, buffers = [], [s for s in program.steps if isinstance(s, Buffer)]
    for b in buffers:
        size = f"sizeof({DTYPES[b.dtype]}) * (size_t)({b.elements})"
        lines.append(f"    char* const {b.name} = (char*)std::aligned_alloc(64, ({size} + 127) & ~(size_t)63);")
    free = " ".join(f"std::free({b.name});" for b in buffers)
    if buffers:
        lines.append(f"    if ({' || '.join('!' + b.name for b in buffers)}) {{ {free} return 1; }}")
    for step in program.steps:
        if isinstance(step, Call):
            types = program.kernels[step.kernel].types
            args = ", ".join(f"({t}){a}" for t, a in zip(types, step.args))
            lines.append(f"    {kernels[step.kernel]}({args});")
    return [*lines, f"    {free}"]


def _arrays(spec: KernelSpec, geometry: Geometry, waits: bool, rows: bool) -> str:
    ndim, count = len(geometry.shape), len(geometry.strides)
    dtypes = [*spec.inputs, *spec.scalars, *(i.dtype for i in spec.body)]
    operands = [*spec.inputs, *(dtypes[o] for o in spec.outputs)]
    parameters = ", ".join(f"const LazynpArray* a{i}" for i in range(count))
    names = ", ".join(f"a{i}" for i in range(count))
    lines = [
        f"LAZYNP_EXPORT int lazynp_arrays({parameters}, const char* scalars, int64_t threads, void* chain) {{",
        f"    const LazynpArray* const arrays[] = {{{names}}};",
        f"    int64_t dims[{ndim * (1 + count) + 1}]; void* pointers[{count}];",
        f"    static const int64_t items[] = {{{', '.join(str(ITEMSIZE[d]) for d in operands)}}};",
        f"    if (!lazynp_shape(arrays, {count}, {ndim}, dims)) return 2;",
        f"    for (int i = 0; i < {count}; ++i) {{",
        f"        if (!lazynp_strides(arrays[i], dims, {ndim}, items[i], dims + {ndim} * (1 + i))) return 2;",
        "        pointers[i] = arrays[i]->data;",
        "    }",
    ]
    if not geometry.symbolic and ndim:
        wanted = [*geometry.shape]
        for operand in geometry.strides:
            wanted += [0 if n == 1 else s for n, s in zip(geometry.shape, operand, strict=True)]
        lines.append(f"    static const int64_t wanted[] = {{{', '.join(map(str, wanted))}}};")
        lines.append(f"    for (int i = 0; i < {len(wanted)}; ++i) if (dims[i] != wanted[i]) return 2;")
    lines += [
        "    const int unfit = lazynp_ready(pointers, dims);",
        "    if (unfit) return unfit;",
    ]
    if waits:
        lines += [
            "    if (chain != nullptr && lazynp_enqueue((lazynp_pool_4::Chain*)chain, lazynp_body, "
            f"{'lazynp_rows' if rows else 'nullptr'}, pointers, dims, items, {len(spec.inputs)}, {count}, {ndim}, "
            f"scalars, {SLOT * len(spec.scalars)}, lazynp_work(dims), threads)) return 0;",
        ]
    else:
        lines += ["    if (chain != nullptr) lazynp_chain_run(chain, threads);"]
    return "\n".join([*lines, "    return lazynp_body(pointers, dims, scalars, threads);", "}", ""])
