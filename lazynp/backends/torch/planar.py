"""Kernels with complex operands, block by block: the parts are taken apart into planes, the vectorized kernel runs, and
the results are put together again. Over interleaved parts Inductor makes scalar code, which g++ does not vectorize.
"""

from __future__ import annotations

from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.backends.support import ITEMSIZE, KIND
from lazynp.backends.torch.trace import Traced
from lazynp.backends.torch.wrapper import Program, Unexpected

BLOCK = 1024  # elements; some tens of planes of 8 KiB stay in the second cache
SLOT = 16  # bytes of a scalar


def block(spec: KernelSpec, geometry: Geometry) -> int:
    """The length of the blocks, or 0 where the kernel is not of this kind: one axis, dense operands, some of them
    complex."""
    if len(geometry.shape) != 1 or any(i.op == "reduce" for i in spec.body):
        return 0
    if geometry.shape[0] < 2 or any(s[0] not in (0, 1) for s in geometry.strides):
        return 0
    operands = operand_dtypes(spec)
    if any(s[0] == 0 for s in geometry.strides[len(spec.inputs) :]):
        return 0
    return BLOCK if any(KIND[d] == "c" and s[0] == 1 for d, s in zip(operands, geometry.strides)) else 0


def operand_dtypes(spec: KernelSpec) -> list[str]:
    dtypes = [*spec.inputs, *spec.scalars, *(i.dtype for i in spec.body)]
    return [*spec.inputs, *(dtypes[o] for o in spec.outputs)]


def blocks(
    spec: KernelSpec, geometry: Geometry, traced: Traced, program: Program, total: str, steps: list[str]
) -> list[str]:
    """The body of the driver: for each block planes in, the kernel's steps, planes out."""
    if len(traced.operands) != len(program.args):
        raise Unexpected("another number of arguments")
    dense = [s[0] == 1 for s in geometry.strides]
    before, after, size = [], [], 0
    for name, operand in zip(program.args, traced.operands):
        item = ITEMSIZE[operand.dtype]
        is_complex = KIND[operand.dtype] == "c"
        if operand.scalar:
            before.append(
                f"char* const {name} = (char*)scalars + {SLOT * operand.position + operand.part * item // 2};"
            )
            continue
        source = f"(char*)pointers[{operand.position}]"
        if not dense[operand.position]:
            before.append(f"char* const {name} = {source} + {operand.part * item // 2};")
            continue
        plane = f"planes + {size}"
        size += BLOCK * (item // 2 if is_complex else item)
        output = operand.position >= len(spec.inputs)
        at = f"{source} + at * {item}"
        if is_complex:
            real = "double" if item == 16 else "float"
            before.append(f"char* const {name} = {plane};")
            cell = f"(({real}*)({at}))[2 * i + {operand.part}]"
            if output:
                after.append(f"for (int64_t i = 0; i < m; ++i) {cell} = (({real}*){name})[i];")
            else:
                before.append(f"for (int64_t i = 0; i < m; ++i) (({real}*){name})[i] = {cell};")
        else:
            before.append(f"char* const {name} = m == {BLOCK} ? {at} : {plane};")
            copy = f"std::memcpy({at}, {name}, m * {item});" if output else f"std::memcpy({name}, {at}, m * {item});"
            (after if output else before).append(f"if (m != {BLOCK}) {copy}")
    inner = "\n".join(
        [
            "            " + line
            for line in (*before, *[s.strip().replace("return 1;", "failed = true; return;") for s in steps], *after)
        ]
    )
    return [
        f"    const int64_t count = {total};",
        "    const int wanted = lazynp_threads;",
        "    std::atomic<bool> failed{false};",
        f"    lazynp_for(0, count, {BLOCK}, wanted, [&](int64_t from, int64_t to) {{",
        "        lazynp_threads = 1;",
        f"        alignas(64) static thread_local char planes[{max(size, 64)}];",
        f"        for (int64_t at = from; at < to; at += {BLOCK}) {{",
        f"            const int64_t m = std::min<int64_t>({BLOCK}, count - at);",
        inner,
        "        }",
        "    });",
        "    if (failed) return 1;",
    ]
