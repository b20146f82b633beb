"""The interpreter's kernels: what is done in another way than by NumPy's own call has NumPy's bits."""

from __future__ import annotations

import threading
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from patience import PATIENCE

from lazynp.backends.kernel import Instr, KernelSpec
from lazynp.backends.numpy import blocked, native
from lazynp.backends.numpy.blocked import SHORT, reduce_into
from lazynp.backends.numpy.crew import crew

REDUCTIONS = {
    "?": ("logical_or", "logical_and"),
    "i": ("add", "multiply", "minimum", "bitwise_or"),
    "f": ("add", "fmin"),
}


def ran(task: Any) -> bool:
    """Whether there is something to do, which is then done."""
    if task is not None:
        task.run()
    return task is not None


@pytest.mark.parametrize("char", "?bHiqdfeD")
@pytest.mark.parametrize("n", [1, 2, 3, 5, SHORT, SHORT + 1])
def test_sums_over_a_short_last_axis(char: str, n: int) -> None:
    rng = np.random.default_rng(n)
    x = (rng.normal(size=(3, 50, n)) * 3).astype(char)
    if char in "fde":
        x[0, :5], x[1, :5, 0], x[2, 3] = -0.0, np.nan, np.inf
    kind = np.dtype(char).kind
    for name in REDUCTIONS.get("i" if kind in "iu" else kind, ("add",)):
        for keepdims in (False, True):
            reduce = getattr(np, name).reduce
            with np.errstate(all="ignore"):
                wanted = reduce(x, axis=2, dtype=x.dtype if name in ("add", "multiply") else None, keepdims=keepdims)
                out = np.empty_like(wanted)
                reduce_into(Instr("reduce", (0,), (x.dtype.name,), x.dtype.name, (name, (2,))), x, out)
            assert out.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("n", [35, 1_000, 100_003])
def test_parts_end_where_registers_do(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which zero `fmax` takes depends on whether an element is in a full register: parts for threads keep that."""
    monkeypatch.setattr(blocked, "PARALLEL", 0)
    monkeypatch.setattr(blocked, "BLOCK_BYTES", 64)
    program = blocked.Program(
        KernelSpec(("float64", "float64"), (), (Instr("fmax", (0, 1), ("float64", "float64"), "float64"),), (2,), 1)
    )
    x, y, out = np.full(n, -0.0), np.zeros(n), np.empty(n)
    for threads in (1, 2, 3):
        program.run([x, y], [], [out], (n,), threads)
        assert out.tobytes() == np.fmax(x, y).tobytes()


FLOATS, INTS = ("float32", "float64"), ("int8", "int32", "int64", "uint16")
UFUNCS = {
    "binary": ("add", "subtract", "multiply", "maximum", "minimum"),
    "unary": ("negative", "square", "absolute", "exp", "sqrt"),
    "compare": ("less", "equal", "logical_and"),
    "clip": ("clip",),
}
SQUARE = Instr("square", (0,), ("float64",), "float64")


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    x = rng.integers(-100, 100, shape).astype(dtype)
    if np.dtype(dtype).kind in "fc":
        x += rng.normal(size=shape).astype(x.real.dtype)
        for special in (np.nan, np.inf, -0.0, 0.0):
            x[rng.random(shape) < 0.03] = special
    return x


@st.composite
def instructions(draw: st.DrawFn, dtypes: list[str], scalars: range) -> Instr | None:
    """An instruction on values of these dtypes; None where NumPy has no such loop."""
    at = st.integers(0, len(dtypes) - 1)
    kind = draw(st.sampled_from(("binary", "binary", "unary", "compare", "cast", "where", "clip")))
    if kind == "cast":
        a, to = draw(at), draw(st.sampled_from((*FLOATS, *INTS, "bool", "complex64")))
        narrowing = dtypes[a].startswith("complex") and not to.startswith("complex")
        return None if narrowing else Instr("cast", (a,), (dtypes[a],), to)
    if kind == "where":
        conditions = [v for v, d in enumerate(dtypes) if d == "bool"]
        a, b = draw(at), draw(at)
        d = np.result_type(dtypes[a], dtypes[b]).name
        return Instr("where", (draw(st.sampled_from(conditions)), a, b), ("bool", d, d), d) if conditions else None
    name = draw(st.sampled_from(UFUNCS[kind]))
    args = tuple([draw(at) for _ in range({"unary": 1, "clip": 3}.get(kind, 2))])
    try:
        loop = blocked.ufunc_of(name).resolve_dtypes((*[np.dtype(dtypes[a]) for a in args], None))
    except TypeError:
        return None
    if any(a in scalars and dtypes[a] != d.name for a, d in zip(args, loop)):
        return None  # scalars are of their loops' dtypes
    return Instr(name, args, tuple([d.name for d in loop[:-1]]), loop[-1].name)


@st.composite
def kernels(draw: st.DrawFn) -> tuple[KernelSpec, list[np.ndarray], list[Any], tuple[int, ...]]:
    """A random kernel, its operands (broadcast, strided, reversed, in the order of Fortran), scalars and space."""
    shape = tuple(draw(st.lists(st.integers(1, 40), min_size=0, max_size=4)))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))

    def operand(dtype: str) -> np.ndarray:
        form = [n if draw(st.integers(0, 5)) else 1 for n in shape]
        step = draw(st.sampled_from([1, 1, 1, 2, -1]))
        x = values(rng, tuple([n * abs(step) for n in form]), dtype)[tuple([slice(None, None, step)] * len(form))]
        return x if draw(st.integers(0, 4)) else x.T.copy().T

    inputs = draw(st.lists(st.sampled_from((*FLOATS, *INTS, "bool", "complex128")), min_size=1, max_size=4))
    scalars = draw(st.lists(st.sampled_from(("float64", "int64", "float32")), max_size=2))
    dtypes = [*inputs, *scalars]
    first = len(dtypes)
    body = []
    for _ in range(draw(st.integers(1, 8))):
        instr = draw(instructions(dtypes, range(len(inputs), first)))
        if instr is not None:
            body.append(instr)
            dtypes.append(instr.dtype)
    if not body:
        body, inputs, dtypes = [SQUARE], ["float64", *inputs[1:]], [*dtypes, "float64"]
    made = st.sampled_from(range(first, len(dtypes)))
    outputs = tuple(sorted({len(dtypes) - 1, *draw(st.lists(made, max_size=2))}))
    spec = KernelSpec(tuple(inputs), tuple(scalars), tuple(body), outputs, len(shape))
    numbers = [np.dtype(d).type(draw(st.integers(-5, 5))) for d in scalars]
    return spec, [operand(d) for d in inputs], numbers, shape


def bits(x: np.ndarray) -> bytes:
    """Which NaN comes out where two go in is left open."""
    if x.dtype.kind in "fc":
        x = np.atleast_1d(x).view(x.real.dtype)
        x = np.where(np.isnan(x), np.nan, x)
    return x.tobytes()


in_c = pytest.mark.skipif(native.blocks is None, reason="the C module was not built here")


@in_c
@settings(max_examples=400, deadline=None)
@given(kernel=kernels(), small=st.booleans())
def test_blocks_in_c_have_the_bits_of_those_in_python(kernel: Any, small: bool) -> None:
    spec, ins, scalars, shape = kernel
    program = blocked.Program(spec)
    wanted = [np.empty(shape, program.dtypes[v - program.first]) for v in spec.outputs]
    outs = [np.empty_like(x) for x in wanted]
    program.blocks(ins, scalars, dict(zip(spec.outputs, wanted)), shape, 1).run()
    with mock.patch.object(blocked, "PARALLEL", 0 if small else 1 << 20):
        program.native_elements = 64 if small else program.native_elements
        done = ran(program.natively(ins, scalars, dict(zip(spec.outputs, outs)), shape, 2))
    event("in C" if done else "in Python")
    if done:
        for got, want in zip(outs, wanted):
            assert bits(got) == bits(want)


@in_c
def test_what_is_done_in_c() -> None:
    """Operands with gaps, results with gaps and in the memory of an operand, on several threads."""
    loop = ("float64", "float64")
    body = (
        Instr("add", (0, 1), loop, "float64"),
        Instr("multiply", (4, 3), loop, "float64"),
        Instr("less", (5, 0), loop, "bool"),
        Instr("where", (6, 5, 2), ("bool", *loop), "float64"),
    )
    program = blocked.Program(KernelSpec(("float64", "float64", "float64"), ("float64",), body, (7,), 2))
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(700, 1001)), rng.normal(size=(900, 1000))
    x, y, z = a[1:-1, :999], a[1:-1, 2:], b[100:798, :999]
    half = (x + y) * 0.5
    wanted = np.where(half < x, half, z)
    assert ran(program.natively([x, y, z], [0.5], {7: z}, x.shape, 3))
    assert z.tobytes() == wanted.tobytes()
    exp = blocked.Program(KernelSpec(("float64",), (), (Instr("exp", (0,), ("float64",), "float64"),), (1,), 2))
    out = np.empty(x.shape)
    assert ran(exp.natively([x.copy()], [], {1: out}, x.shape, 3))
    assert out.tobytes() == np.exp(x).tobytes()
    # NumPy's loops for strides may round otherwise, and it has its own rules when to call which one
    assert not exp.natively([x], [], {1: out}, x.shape, 3)


@pytest.mark.parametrize("way", [pytest.param("natively", marks=in_c), "blocks"])
def test_blocks_of_rows_end_where_registers_do(way: str) -> None:
    """A sum of operands with gaps has none in NumPy: `fmax` of it meets the end of a register at the very end only."""
    loop = ("float64", "float64")
    body = (Instr("add", (0, 1), loop, "float64"), Instr("fmax", (3, 2), loop, "float64"))
    program = blocked.Program(KernelSpec(("float64", "float64", "float64"), (), body, (4,), 2))
    program.elements = program.native_elements = 512
    x, y, out = np.full((300, 39), -0.0)[:, 2:37], np.zeros((300, 35)), np.empty((300, 35))
    assert ran(getattr(program, way)([x, x, y], [], {4: out}, out.shape, 1))
    assert out.tobytes() == np.fmax(x + x, y).tobytes()


@in_c
@pytest.mark.parametrize("number", [1e300, np.float64(1e300), 2**100, 3, True, np.float32(2), 1 + 1e300j])
def test_scalars_are_rounded_as_by_numpy_without_a_warning(number: Any) -> None:
    char = "F" if type(number) is complex else "f"
    name = np.dtype(char).name
    program = blocked.Program(KernelSpec((name,), (name,), (Instr("multiply", (0, 1), (name, name), name),), (2,), 1))
    x, out = np.arange(1, 200).astype(char), np.empty(199, char)
    with np.errstate(all="ignore"):
        wanted = x * np.array(number).astype(char)
    assert ran(program.natively([x], [number], {2: out}, (199,), 1))
    assert bits(out) == bits(wanted)


@in_c
@pytest.mark.parametrize("to", ["int8", "uint64", "float32", "float64", "complex64", "complex128", "bool"])
def test_any_byte_but_zero_is_true(to: str) -> None:
    x = np.tile(np.arange(6, dtype=np.uint8), 20).view(bool)
    program = blocked.Program(KernelSpec(("bool",), (), (Instr("cast", (0,), ("bool",), to),), (1,), 1))
    for operand in (x, x[::3]):
        out = np.empty(operand.shape, to)
        assert ran(program.natively([operand], [], {1: out}, operand.shape, 1))
        assert out.tobytes() == operand.astype(to).tobytes()


def test_a_crew_raises_what_a_helper_raised() -> None:
    """And goes on: the helper takes the next work."""

    def fail() -> None:
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            raise MemoryError("here")
        ran.append(begun.wait(PATIENCE))

    for _ in range(2):
        ran: list[bool] = []
        begun = threading.Event()
        with pytest.raises(MemoryError, match="here"):
            crew.run(fail, 2)
        assert ran == [True]


@in_c
def test_integer_powers_are_numpys() -> None:
    """Their loop raises an error, for which it takes the GIL."""
    power = Instr("power", (0, 1), ("int64", "int64"), "int64")
    assert blocked.Program(KernelSpec(("int64", "int64"), (), (power,), (2,), 1)).plan is None


@pytest.mark.parametrize("step", (1, 2))
@pytest.mark.parametrize("char", "bBhHiIlLqQfd")
def test_casts_to_and_from_truth_values(char: str, step: int) -> None:
    """Any byte but 0 is true, and so is NaN; a negative zero is not. They have loops of their own."""
    truth = np.arange(1000).astype(np.uint8).view(bool)[::step]
    numbers = (np.arange(1000) % 3).astype(char)[::step]
    if char in "fd":
        numbers[:6] = -0.0, np.nan, -np.inf, np.finfo(char).smallest_subnormal, -np.finfo(char).smallest_subnormal, 0.0
    for x, dtype in ((truth, np.dtype(char)), (numbers, np.dtype(bool))):
        out = np.empty(x.size, dtype)
        spec = KernelSpec((x.dtype.name,), (), (Instr("cast", (0,), (x.dtype.name,), dtype.name),), (1,), 1)
        blocked.Program(spec).run((x,), (), (out,), x.shape, 1)
        assert out.tobytes() == x.astype(dtype).tobytes()
