"""A `KernelSpec` and its `Geometry` to Inductor's output code: operands as fake strided tensors, FX, `GraphLowering`.

Operands of the compiled code are *physical*: a complex operand is two real ones of twice the stride. Sizes and strides
of a symbolic geometry, and strides that torch has no tensor for (negative ones), are symbols; `Traced.symbols` says
what each stands for. Nothing is compiled or run here.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import sympy
import torch
from torch import SymInt
from torch._dynamo.source import ConstantSource
from torch._inductor import config as inductor
from torch._inductor import cpu_vec_isa, ir, lowering
from torch._inductor.codegen.cpp import CppOverrides, CppVecKernel, CppVecOverrides
from torch._inductor.debug import DebugContext
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._inductor.lowering import make_pointwise, register_lowering
from torch._inductor.virtualized import V, ops
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.backends.support import KIND
from lazynp.backends.torch import namespace as xp
from lazynp.backends.torch import program
from lazynp.backends.torch.namespace import STORAGE, Pair, Value

Dim: TypeAlias = "int | SymInt"
# Example values of symbols: primes far from one another, so that no equality holds by chance.
SIZES = (1031, 1049, 1061, 1087, 1103, 1123, 1151, 1171, 1187, 1213, 1231, 1259, 1283, 1301, 1321)
FIRST_STRIDE = 1471
MOST_WRITTEN = 64  # operations for a use of a value that has several; each takes Inductor a millisecond

SHORT = 33  # elements that an axis has not, so that `any` along it is written out

VECTOR_BITS = {"AVX512": 512, "AVX2": 256}
OPTIONS: dict[str, Any] = {
    "cpp.dynamic_threads": True,  # the number of threads is a variable of ours in the generated code
    "cpp.vec_isa_ok": True,  # believe /proc/cpuinfo instead of compiling probes
    "cpp.threads": 16,
    "max_fusion_size": 1 << 20,
    "size_asserts": False,
    "alignment_asserts": False,
    "nan_asserts": False,
    "comment_origin": False,
    "compile_threads": 1,
    "memory_planning": False,
    "emulate_precision_casts": False,
}


class Operand(NamedTuple):
    """A pointer of the compiled code: operand number `position` (inputs, then outputs; or scalar), `part` 1 for
    imaginary."""

    scalar: bool
    position: int
    dtype: str  # logical
    part: int


class Traced(NamedTuple):
    code: str  # Inductor's Python wrapper, C++ kernels inside
    operands: list[Operand]  # in the order of the wrapper's arguments
    symbols: dict[str, tuple[int, int]]  # symbol -> (index into [*shape, *strides of operand 0, ...], factor)
    guards: list[sympy.Basic]  # assumptions beyond "sizes are at least 2"


def _fma(x: str, y: str, z: str) -> str:
    return f"std::fma({x}, {y}, {z})"


def _fmod(x: str, y: str) -> str:
    return f"lazynp_fmod({x}, {y})"


def _vector_fma(x: str, y: str, z: str) -> str:
    return f"at::vec::fmadd({x}, {y}, {z})"


# Inductor's vector forms of these cancel: expm1(x) as exp(x) - 1, atanh(x) as a logarithm of a quotient near 1.
METHODS = ("expm1", "atanh", "asinh", "acosh", "sinh", "cosh", "tanh")


def _method(name: str) -> Any:
    def method(x: str) -> str:
        return f"{x}.{name}()"

    method.__name__ = name  # Inductor finds the scalar form, for operands that are one value, by this name
    return staticmethod(method)


def _copy(target: ir.TensorBox, value: ir.TensorBox, non_blocking: bool = False) -> Any:
    """An output is computed where it lies. Inductor's own lowering computes it elsewhere and copies it, in the hope
    that both loops are fused; with symbolic strides they are not, and each call takes fresh memory for the whole
    result. Only what is not yet kept elsewhere is written so: an output that stands twice is copied the second time."""
    value = lowering.expand(lowering.to_dtype(value, target.get_dtype()), target.get_size())
    kept = value.data
    fresh = isinstance(kept, ir.StorageBox) and isinstance(kept.data, ir.Pointwise)
    return lowering.mutate_to(target, value, unsafe_alias=fresh)


def install() -> None:
    """Teach Inductor's C++ backend our fused multiply-add, and exact forms of some functions. It need not have g++ try
    instructions for bfloat16 and matrices, which no kernel uses."""
    cpu_vec_isa.VecISA.check_build = lambda self, code: False
    CppOverrides.fma = staticmethod(_fma)
    _fma.__name__ = _vector_fma.__name__ = "fma"
    CppVecOverrides.fma = staticmethod(_vector_fma)
    CppOverrides.fmod = staticmethod(_fmod)
    _fmod.__name__ = "fmod"
    for name in METHODS:
        setattr(CppVecOverrides, name, _method(name))
    CppVecKernel.reduction_combine_vec = _combine_vec
    register_lowering(torch.ops.aten.copy_.default, type_promotion_kind=None)(_copy)
    register_lowering([torch.ops.aten.any.dim], type_promotion_kind=None)(_any)
    register_lowering(torch.ops.lazynp.fma.default, broadcast=True)(make_pointwise(lambda x, y, z: ops.fma(x, y, z)))


def _any(x: Any, dim: Any, keepdim: bool = False) -> Any:
    """Inductor's takes the number of the axis for an operand, and so makes int64 of x. A short axis is written out:
    the order does not matter, and then vectors hold elements of the others."""
    with inductor.patch(unroll_reductions_threshold=SHORT):
        return lowering.make_reduction("any")(lowering.to_dtype(x, torch.bool), axis=dim, keepdims=keepdim)


_combine = CppVecKernel.reduction_combine_vec


def _combine_vec(self: Any, reduction_type: str, var: Any, next_value: Any, *args: Any, **kwargs: Any) -> Any:
    """Inductor's expression that takes a vector into a reduction. A vector has as many elements as one of float32 has
    room for; of narrower integers it is filled in part, and in Inductor what lies behind them takes part, too."""
    dtype = kwargs.get("src_dtype")
    filled = dtype is None or dtype == torch.bool or self._get_raw_num_vectors(dtype) >= 1
    if filled or self.tail_size or reduction_type not in _IN_PART:
        return _combine(self, reduction_type, var, next_value, *args, **kwargs)
    return f"{reduction_type}_masked_reduce({var}, {next_value}, {self.tiling_factor})"


_IN_PART = frozenset({"max", "min", "sum", "prod", "xor_sum", "any"})


class _Lowering(GraphLowering):
    """Inductor's, which writes a value's operations anew for each use unless the value is kept. When to keep one, it
    decides by the number of different operations, and comes to 2**n of them for n operations like `x = x + x`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.written: dict[torch.fx.Node, int] = {}  # operations that a use of a value writes

    def run_node(self, n: torch.fx.Node) -> Any:
        result = super().run_node(n)
        written = 1 + sum([self.written.get(used, 0) for used in _used(n)])
        kept = result.data if isinstance(result, ir.TensorBox) else None
        if isinstance(kept, ir.StorageBox):
            if written > MOST_WRITTEN and sum([_used(user).count(n) for user in n.users]) > 1:
                kept.realize()
            if not isinstance(kept.data, ir.Pointwise):
                written = 0
        self.written[n] = written
        return result


def _used(n: torch.fx.Node) -> list[torch.fx.Node]:
    """The values that an operation has as arguments, as often as it has them."""
    found: list[torch.fx.Node] = []
    torch.fx.node.map_arg((n.args, n.kwargs), found.append)
    return found


class _Dims:
    """Sizes and strides as integers or symbols."""

    def __init__(self, geometry: Geometry) -> None:
        self.env = ShapeEnv(duck_shape=False)
        self.geometry = geometry
        self.symbols: dict[str, tuple[int, int]] = {}
        ndim = len(geometry.shape)
        self.shape: list[Dim] = []
        for axis, size in enumerate(geometry.shape):
            dynamic = geometry.symbolic and size != 1
            self.shape.append(self._symbol(SIZES[axis % len(SIZES)], axis) if dynamic else size)
        self.count = 0
        self.ndim = ndim

    def _symbol(self, hint: int, slot: int, factor: int = 1) -> SymInt:
        source = ConstantSource(f"lazynp_{slot}_{factor}")
        symbol = self.env.create_symbol(hint, source=source, dynamic_dim=DimDynamic.DYNAMIC, constraint_dim=None)
        self.symbols[str(symbol)] = (slot, factor)
        return self.env.create_symintnode(symbol, hint=hint, source=source)

    def stride(self, operand: int, axis: int, stride: int, factor: int) -> Dim:
        if self.geometry.shape[axis] == 1 or stride == 0:
            return 0
        slot = self.ndim * (1 + operand) + axis
        if self.geometry.symbolic and stride != 1 or stride < 0:
            self.count += 1  # the order is the example's, for the sake of the order of loops
            rank = sum(abs(s) < abs(stride) for s in self.geometry.strides[operand])
            return self._symbol(FIRST_STRIDE**rank + 2002 * self.count, slot, factor)
        return stride * factor

    def operand(self, index: int, factor: int, output: bool) -> tuple[list[Dim], list[Dim]]:
        """Shape and strides of a physical operand. An output is written once: its broadcast axes have length 1."""
        given = self.geometry.strides[index]
        shape = [1 if output and s == 0 else n for n, s in zip(self.shape, given, strict=True)]
        strides = [self.stride(index, axis, s, factor) for axis, s in enumerate(given)]
        return shape, [1 if output and s == 0 else s for s in strides] if output else strides


def trace(spec: KernelSpec, geometry: Geometry, planar: bool = False) -> Traced:
    """Raises whatever torch raises: the caller turns that into "not compilable". `planar`: the parts of complex
    operands come one after the other, not interleaved."""
    dims = _Dims(geometry)
    mode = FakeTensorMode(shape_env=dims.env)
    operands: list[Operand] = []
    tensors: list[torch.Tensor] = []
    dtypes = [*spec.inputs, *spec.scalars, *(i.dtype for i in spec.body)]

    def place(dtype: str, index: int, output: bool = False, scalar: bool = False) -> None:
        parts = 2 if KIND[dtype] == "c" else 1
        for part in range(parts):
            shape, strides = ([], []) if scalar else dims.operand(index, 1 if planar else parts, output)
            operands.append(Operand(scalar, index, dtype, part))
            tensors.append(torch.empty_strided(shape, strides, dtype=STORAGE[dtype]))

    with mode:
        for i, dtype in enumerate(spec.inputs):
            place(dtype, i)
        for i, dtype in enumerate(spec.scalars):
            place(dtype, i, scalar=True)
        for i, value in enumerate(spec.outputs):
            place(dtypes[value], len(spec.inputs) + i, output=True)
        graph = make_fx(_writing(spec, operands), decomposition_table=select_decomp_table(), tracing_mode="symbolic")(
            *tensors
        )
    code = _lower(graph, tensors, dims.env, mode)
    return Traced(
        code, operands, dims.symbols, [g.expr for g in dims.env.guards if _matters(g.expr, dims.ndim, dims.symbols)]
    )


def _matters(guard: sympy.Basic, ndim: int, symbols: dict[str, tuple[int, int]]) -> bool:
    """Whether code that was made under this assumption needs it.

    `!=` chose the general code, which is right for equal values too. The order of strides chooses the order of loops:
    right in any order, since strides stand in the code as they are.
    """
    if isinstance(guard, sympy.Ne):
        return False
    strides = any(symbols.get(str(s), (0, 1))[0] >= ndim for s in guard.free_symbols)
    return not (strides and isinstance(guard, (sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge)))


def _writing(spec: KernelSpec, operands: list[Operand]) -> Any:
    """The function to trace: compute all, then write each output."""
    count = sum(1 for o in operands if o.scalar or o.position < len(spec.inputs))

    def function(*tensors: torch.Tensor) -> tuple[()]:
        values: list[Value] = []
        for operand, tensor in zip(operands[:count], tensors):
            if KIND[operand.dtype] != "c":
                values.append(xp.load(tensor, operand.dtype))
            elif operand.part == 0:
                values.append(Pair(tensor, tensor))
            else:
                values[-1] = Pair(values[-1].re, tensor)
        results: list[torch.Tensor] = []
        for value in program.run(spec, values):
            results.extend(value if isinstance(value, Pair) else (value,))
        for operand, target, result in zip(operands[count:], tensors[count:], results, strict=True):
            target.copy_(xp.store(result, operand.dtype))
        return ()

    return function


def _lower(graph: torch.fx.GraphModule, tensors: list[torch.Tensor], env: ShapeEnv, mode: FakeTensorMode) -> str:
    with inductor.patch(OPTIONS), mode:
        made = _Lowering(graph, example_inputs=tensors, shape_env=env)
        with V.set_fake_mode(mode), V.set_debug_handler(DebugContext()), V.set_graph_handler(made):
            made.run(*tensors)
            code = made.codegen()[0]
    return code.value if hasattr(code, "value") else code
