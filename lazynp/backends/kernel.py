"""The unit of compilation: an elementwise program over one iteration space, as plain hashable data.

A kernel reads `inputs` (strided arrays, already sliced and broadcast to the iteration space; a stride of 0 is a
broadcast) and `scalars`, computes `body` once for each index, and writes `outputs`. A reduction's result, and what is
made of such results alone, is one value along the reduced axes: these keep length 1 in an output operand's shape, with
stride 0. The interpreter has reductions as results only (`runtime/rows.py` says what it does instead).

Values are numbered: inputs first, then scalars, then the body's instructions in order. An instruction has one result.
"""

from __future__ import annotations

from typing import NamedTuple


class Instr(NamedTuple):
    """One operation. `loop` are the dtypes its inputs are cast to before (NumPy's loop), `dtype` is that of the result.

    `op` is the name of a NumPy ufunc, or one of: `cast` (astype, unsafe), `where` (condition, a, b), `clip`
    (x, lo, hi), `reduce` (params = (ufunc name, axes)). Reduced by "first", an operand that repeats along the axes is
    one value there. `power` may have params = (exponent,), the number that its second operand is in all calls.
    Dtypes are strings: `numpy.dtype.name`, and `bfloat16`.
    """

    op: str
    args: tuple[int, ...]
    loop: tuple[str, ...]
    dtype: str
    params: tuple = ()


class KernelSpec(NamedTuple):
    """What is compiled. Sizes are not part of it: see `Geometry`."""

    inputs: tuple[str, ...]  # dtypes
    scalars: tuple[str, ...]  # dtypes
    body: tuple[Instr, ...]
    outputs: tuple[int, ...]  # value numbers
    ndim: int


class Geometry(NamedTuple):
    """Sizes of the iteration space, and each operand's element strides (inputs, then outputs), all of length ndim.

    With `symbolic` set, `shape` holds an example, and of the strides only the classes 0, 1 and "other" are fixed:
    the compiled code takes sizes and the other strides as arguments. Outputs of a reduction have stride 0 on the
    reduced axes.
    """

    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    symbolic: bool = False
