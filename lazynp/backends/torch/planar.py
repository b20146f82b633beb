"""Kernels whose operands do not lie as vectors want them, block by block: what is interleaved or has gaps is taken
apart into planes, the vectorized kernel runs on these, and results are put where they belong. Over the parts of complex
numbers, and where a function is called for elements with gaps, Inductor makes scalar code, which g++ does not
vectorize.
"""

from __future__ import annotations

from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.backends.support import ITEMSIZE, KIND, code_of
from lazynp.backends.torch.trace import Traced
from lazynp.backends.torch.wrapper import DTYPES, Program, Unexpected
from lazynp.ops.code import LIGHT

BLOCK = 1024  # elements; some tens of planes of 8 KiB stay in the second cache
ROUND = 64  # by which the blocks of shorter rows are longer than they need be; shorter ones than that are not worth it
SLOT = 16  # bytes of a scalar


def block(spec: KernelSpec, geometry: Geometry) -> int:
    """The length of the blocks of the last axis, or 0 where the kernel is not of this kind: some operands are complex,
    or have gaps in a kernel that calls functions. Rows that take no whole block have to have a known length, and call
    functions: what chains of kernels gain by going through rows is more than what planes save in sums and products."""
    if not geometry.shape or any(i.op == "reduce" for i in spec.body):
        return 0
    n, last = geometry.shape[-1], [s[-1] for s in geometry.strides]
    if n < 2 or 0 in last[len(spec.inputs) :]:
        return 0
    heavy = any(code_of(i.op).cost > LIGHT for i in spec.body)
    if not any((KIND[d] == "c" and s) or (heavy and s not in (0, 1)) for d, s in zip(operand_dtypes(spec), last)):
        return 0
    if len(geometry.shape) == 1:
        return BLOCK
    if geometry.symbolic or n < ROUND or not heavy:
        return 0
    blocks = -(-n // BLOCK)
    return -(-n // (blocks * ROUND)) * ROUND


def in_blocks(geometry: Geometry, length: int) -> Geometry:
    """What the kernel for one block sees."""
    return Geometry((length,), tuple([(int(s[-1] != 0),) for s in geometry.strides]))


def operand_dtypes(spec: KernelSpec) -> list[str]:
    dtypes = [*spec.inputs, *spec.scalars, *(i.dtype for i in spec.body)]
    return [*spec.inputs, *(dtypes[o] for o in spec.outputs)]


def blocks(
    spec: KernelSpec, geometry: Geometry, traced: Traced, program: Program, length: int, steps: list[str]
) -> list[str]:
    """The body of the driver: for each block planes in, the kernel's steps, planes out."""
    if len(traced.operands) != len(program.args):
        raise Unexpected("another number of arguments")
    before: list[str] = []
    after: list[str] = []
    size = 0
    moved: dict[tuple[int, bool], list[tuple[str, str]]] = {}  # by operand: what one loop takes apart, or joins
    for name, operand in zip(program.args, traced.operands):
        item, p = ITEMSIZE[operand.dtype], operand.position
        is_complex = KIND[operand.dtype] == "c"
        part = operand.part * item // 2 if is_complex else 0
        if operand.scalar:
            before.append(f"char* const {name} = (char*)scalars + {SLOT * p + part};")
            continue
        stride = geometry.strides[p][-1]
        if stride == 0:
            before.append(f"char* const {name} = row{p} + {part};")
            continue
        output = p >= len(spec.inputs)
        plane = f"planes + {size}"
        size += length * (item // 2 if is_complex else item)
        if not is_complex and stride == 1:
            at = f"row{p} + at * {item}"
            before.append(f"char* const {name} = m == {length} ? {at} : {plane};")
            copy = f"std::memcpy({at}, {name}, m * {item});" if output else f"std::memcpy({name}, {at}, m * {item});"
            (after if output else before).append(f"if (m != {length}) {copy}")
            continue
        number = DTYPES.get(operand.dtype, f"{operand.dtype}_t")
        if is_complex:
            number = "double" if item == 16 else "float"
        before.append(f"char* const {name} = {plane};")
        cell = f"(({number}*)(row{p} + (at + i) * step{p}))[{operand.part if is_complex else 0}]"
        if stride == 1:
            cell = f"(({number}*)(row{p} + at * {item}))[2 * i + {operand.part}]"
        parts = moved.setdefault((p, output), [])
        here = f"part{len(parts)}"
        move = f"{cell} = {here}[i];" if output else f"{here}[i] = {cell};"
        parts.append((f"{number}* __restrict const {here} = ({number}*){name};", move))
    for (_, output), parts in moved.items():
        pointers, moves = (" ".join(lines) for lines in zip(*parts))
        (after if output else before).append(f"{{ {pointers} for (int64_t i = 0; i < m; ++i) {{ {moves} }} }}")
    body = (*before, *[s.strip().replace("return 1;", "failed = true; return;") for s in steps], *after)
    inner = "\n".join(["            " + line for line in body])
    return [
        *rows(spec, geometry),
        f"    const int64_t tiles = (length + {length - 1}) / {length};",
        "    const int wanted = lazynp_threads;",
        "    std::atomic<bool> failed{false};",
        "    lazynp_for(0, count * tiles, 1, wanted, [&](int64_t from, int64_t to) {",
        "        lazynp_threads = 1;",
        f"        alignas(64) static thread_local char planes[{max(size, 64)}];",
        "        for (int64_t tile = from; tile < to; ++tile) {",
        f"            const int64_t at = tile % tiles * {length}, m = std::min<int64_t>({length}, length - at);",
        *starts(spec, geometry),
        inner,
        "        }",
        "    });",
        "    if (failed) return 1;",
    ]


def rows(spec: KernelSpec, geometry: Geometry) -> list[str]:
    """How long the last axis is, how many rows there are, and how far apart elements of it are, in bytes."""
    ndim = len(geometry.shape)
    count = " * ".join([f"dims[{axis}]" for axis in range(ndim - 1)]) or "1"
    lines = [f"    const int64_t length = dims[{ndim - 1}], count = {count};"]
    for p, (dtype, strides) in enumerate(zip(operand_dtypes(spec), geometry.strides)):
        if strides[-1] not in (0, 1):
            lines.append(f"    const int64_t step{p} = dims[{ndim * (2 + p) - 1}] * {ITEMSIZE[dtype]};")
    return lines


def starts(spec: KernelSpec, geometry: Geometry) -> list[str]:
    """Where the row of a tile begins, of each operand."""
    ndim = len(geometry.shape)
    lines = ["            int64_t rest = tile / tiles;"] if ndim > 1 else []
    for axis in range(ndim - 2, -1, -1):
        lines.append(f"            const int64_t x{axis} = rest % dims[{axis}]; rest /= dims[{axis}];")
    for p, dtype in enumerate(operand_dtypes(spec)):
        offset = " + ".join([f"x{axis} * dims[{ndim * (1 + p) + axis}]" for axis in range(ndim - 1)]) or "0"
        lines.append(f"            char* const row{p} = (char*)pointers[{p}] + ({offset}) * {ITEMSIZE[dtype]};")
    return lines
