"""Segments on a device: what the host gives, up to rounding; what is on the device stays there; nothing is lost.

All runs on the device "torch", which is torch's operations in main memory, and on a GPU where there is one.
"""

# ruff: noqa: B023 (the lambdas are called at once)
from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import runs
from op_cases import Case
from patience import PATIENCE
from programs import Generator
from test_rules import CASES, as_list, constant, rng_of

import lazynp
from lazynp.away import on_host
from lazynp.backends.numpy.evaluate import evaluate
from lazynp.config import config
from lazynp.graph.node import Node
from lazynp.ops import contraction, creation, elementwise, fft, indexing, joining, reductions, scans, shape, sorting
from lazynp.ops.ufuncs import UFUNCS, ufuncs
from lazynp.runtime.device import DeviceBuffer, device_of
from lazynp.runtime.profile import profile as counters
from lazynp.runtime.recorder import recorder

TORCH = "torch, whose operations the devices run, is not installed"
hot = pytest.importorskip("lazynp.backends.torch.hot", reason=TORCH)
torch = pytest.importorskip("torch", reason=TORCH)
CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch.cuda.is_available() is False")
DEVICES = ("torch", pytest.param("cuda", marks=CUDA))
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Any:
    """All that is recorded runs on the device."""
    with config(device=request.param, mode="graph"):
        yield request.param


def close(ours: Any, theirs: Any) -> None:
    """One dtype and shape; whole numbers equal, others up to rounding."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if theirs.dtype.kind not in "fcV":
        np.testing.assert_array_equal(ours, theirs)
        return
    eps = float(np.finfo(theirs.dtype).eps) if theirs.dtype.kind != "V" else 2.0**-7
    wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(ours.astype(wide), theirs.astype(wide), rtol=500 * eps, atol=500 * eps)


def value_of(node: Node) -> Any:
    recorder.demand(node)
    return on_host(node.buffer)


def everywhere(build: Any, arrays: Any) -> tuple[list[Any], list[Any]]:
    """What a graph gives on the device, and on the host."""
    with config(device="cpu"):
        wanted = evaluate(as_list(build(*[constant(x) for x in arrays])))
    outputs = as_list(build(*[constant(x) for x in arrays]))
    got = [value_of(n) if n.value is None else n.value for n in outputs]
    return got, wanted


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_op(case: Case, device: str) -> None:
    got, wanted = everywhere(case.build, case.make(rng_of(case)))
    for ours, theirs in zip(got, wanted, strict=True):
        if device != "torch" and case.name.startswith(("qr", "svd", "eigh")):  # LAPACK's choice of signs is its own
            ours, theirs = np.abs(ours), np.abs(theirs)
        if (
            case.name == "partition"
        ):  # but for the chosen element the order is anything, and another on other processors
            assert ours[:, 2].tolist() == theirs[:, 2].tolist()
            ours, theirs = np.sort(ours), np.sort(theirs)
        if case.name == "argpartition":
            assert ours[:, 1].tolist() == theirs[:, 1].tolist()
            ours, theirs = np.sort(ours), np.sort(theirs)
        close(ours, theirs)


DTYPES = (*[np.dtype(c) for c in "?bhilqBHILQefdFD"], np.dtype(ml_dtypes.bfloat16))


def sample(dtype: Any, *dims: int) -> np.ndarray:
    """Small positive numbers, exact in every dtype."""
    return (np.arange(int(np.prod(dims))).reshape(dims) * 5 % 7 + 1).astype(dtype)


def agree(build: Any, *arrays: Any) -> None:
    """Device and host give the same, or NumPy has no such operation."""
    try:
        with config(device="cpu"):
            build(*[constant(x) for x in arrays])
    except TypeError:
        return
    got, wanted = everywhere(build, arrays)
    for ours, theirs in zip(got, wanted, strict=True):
        close(ours, theirs)


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_over_dtypes(name: str, device: str) -> None:
    op, n = ufuncs[name], getattr(np, name).nin
    for dtype in DTYPES:
        agree(op, *[sample(dtype, *((2, 1), (3,))[i]) for i in range(n)])
        if n == 2:
            agree(op, sample(dtype, 3), sample(np.int8, 3))
            agree(lambda x: op(x, 2), sample(dtype, 3))


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "bitwise_or"])
def test_reductions_and_scans_over_dtypes(name: str, device: str) -> None:
    reduce, scan = reductions.reductions[name], scans.scans[name]
    for dtype in DTYPES:
        x = sample(dtype, 2, 3, 2)
        for axes, keepdims in (((0,), False), ((1, 2), True), ((0, 1, 2), False), ((), False)):
            agree(lambda x: reduce(x, axes=axes, keepdims=keepdims, dtype=None), x)
            if dtype.kind != "V":
                agree(lambda x: reduce(ufuncs["maximum"](x, x), axes=axes, keepdims=keepdims, dtype=None), x)
        agree(lambda x: scan(x, axis=1, dtype=None), x)
        if name in ("add", "multiply"):
            agree(lambda x: reduce(x, axes=(1,), keepdims=False, dtype=np.dtype(np.float32)), x)
            agree(lambda x: scan(x, axis=0, dtype=np.dtype(np.float64)), x)


def test_libraries_over_dtypes(device: str) -> None:
    place, at = constant(np.array([2, -1, 0, 2])), dict(axes=(1,), at=1, bounds="raise")
    for dtype in DTYPES:
        x = sample(dtype, 2, 3)
        agree(lambda x: joining.concatenate(x, x, axis=1), x)
        agree(lambda x, y: joining.concatenate(x, y, axis=0), x, sample(np.int16, 2, 3))
        agree(lambda x: joining.roll(x, axes=(0, 1), shifts=(1, 5)), x)
        agree(lambda x: joining.flip(x, (1,)), x)
        agree(lambda x: indexing.gather(x, place, **at), x)
        for mode in ("set", "add"):
            agree(lambda x, v: indexing.scatter(x, v, place, **at, mode=mode), x, sample(dtype, 2, 4))
        agree(lambda x: shape.set_(x, dtype.type(3), key=((1, 1, 1), (2, 2, -2))), x)
        agree(lambda x: creation.tri(3, 4, 1, dtype), x)
        agree(lambda x: creation.eye(3, 4, -1, dtype), x)
        agree(lambda x: creation.iota(2, dtype), x)
        for other in (dtype, np.dtype(np.float32)):
            agree(contraction.matmul, x, sample(other, 3, 2))
        if dtype.kind in "biufc":
            agree(lambda x: sorting.sort(x, axis=1, kind=None), x)
            agree(lambda x: sorting.argsort(x, axis=1, kind="stable"), x)
            agree(lambda a, v: sorting.searchsorted(a, v, side="right", stack=0), np.sort(x[0]), x[1])
            agree(lambda x: reductions.argmax(x, axis=1, keepdims=False), x)
            agree(lambda x: reductions.argmin(x, axis=0, keepdims=True), x)
            agree(lambda x: fft.fft(x, axis=1, norm="backward", n=4), x)
            agree(lambda x: fft.irfft(x, axis=0, norm="ortho", n=3), x)
        for other in DTYPES:
            agree(lambda x: elementwise.convert(x, other), x)
    for start, stop, step in ((0, 10, 3), (0.1, 2.0, 0.1), (5, -2, -1), (1.0, 1e3, 0.7)):
        like = np.arange(start, stop, step)
        agree(lambda x: creation.arange(dtype=like.dtype, start=start, step=step, n=len(like)), like)


# Programs.


def near(ours: Any, theirs: Any) -> bool:
    """Equal up to rounding; complex numbers only where NumPy's are finite: overflow comes earlier without its fma."""
    if runs.same(ours, theirs):
        return True
    if type(ours) is not type(theirs) or not isinstance(theirs, (np.ndarray, np.generic)):
        return False
    if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype) or theirs.dtype.kind not in "fc":
        return False
    tolerance = {"float16": 1e-2, "float32": 1e-4, "complex64": 1e-4}.get(theirs.dtype.name, 1e-9)
    if theirs.dtype.kind == "c":
        ours, theirs = (np.where(np.isfinite(theirs), x, 0) for x in (ours, theirs))
    with np.errstate(all="ignore"):
        return bool(np.allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True))


BITS_OF_NAN = (202,)  # programs that turn the bytes of a NaN around, which is 0x7fffffff on GPUs, 0xffc00000 on CPUs


@pytest.mark.parametrize("block", range(8))
def test_programs_of_views_and_writes(block: int, device: str) -> None:
    for seed in range(block * 50, block * 50 + 50):
        if device != "torch" and seed in BITS_OF_NAN:
            continue
        program = Generator(seed)()
        wanted = runs.run(program, np)
        with config(pending_nodes=(512, 512, 64, 2, 3, 5, 8, 16)[seed % 8]):
            got = runs.run(program, lazynp)
        assert [where for where, _ in got] == [where for where, _ in wanted], seed
        differ = [where for (where, x), (_, y) in zip(got, wanted) if not near(x, y)]
        assert not differ, (seed, differ[0])


def test_random_indices_read_and_write(device: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        dims = tuple(rng.integers(1, 5, rng.integers(1, 4)))
        x = rng.integers(-99, 99, dims)
        index = tuple([random_index(rng, n) for n in dims[: rng.integers(1, len(dims) + 1)]])
        try:
            wanted = x[index]
        except IndexError:  # the arrays do not broadcast
            continue
        ours = lazynp.array(x)
        close(ours[index], wanted)
        value = rng.integers(-9, 9, wanted.shape)
        x[index] = value
        ours[index] = lazynp.array(value)
        close(ours, x)


def random_index(rng: np.random.Generator, n: int) -> Any:
    kind = rng.integers(6)
    if kind < 2:
        return int(rng.integers(-n, n))
    if kind < 4:
        low, high = sorted(rng.integers(0, n + 1, 2))
        return slice(low, high) if kind == 2 else slice(None, None, int(rng.choice([-2, -1, 2])))
    return rng.integers(-n, n, (2, 3)[: rng.integers(1, 3)]) if kind == 4 else rng.random(n) < 0.5


EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))
run_demo = importlib.import_module("run_demo")


@pytest.mark.parametrize("name", run_demo.PROGRAMS)
def test_examples(name: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = importlib.import_module(name)
    size, steps = program.SIZES["test"], program.STEPS["test"]
    wanted = {key: np.asarray(x) for key, x in program.run(size, steps).items()}
    monkeypatch.setattr(program, "np", lazynp)
    before = counters.device_kernels
    got = {key: np.asarray(x) for key, x in program.run(size, steps).items()}
    assert counters.device_kernels > before
    agreement = run_demo.compare(program.TOLERANCE, wanted, got)
    assert agreement.ok, agreement.reason


# Where values are.


def buffer_of(x: Any) -> Any:
    return x._s_.node.buffer


def test_values_stay_on_the_device(device: str) -> None:
    with lazynp.profile() as p:
        x = lazynp.array(np.arange(6.0)) * 2
        for _ in range(5):
            x = x + 1
            recorder.flush()
    assert (p.uploads, p.downloads) == (1, 0)
    assert isinstance(buffer_of(x), DeviceBuffer)
    assert x.tolist() == [5.0, 7.0, 9.0, 11.0, 13.0, 15.0]


def test_blank_arrays_are_made_there(device: str) -> None:
    with lazynp.profile() as p:
        x, y = lazynp.zeros((3, 4)), lazynp.ones(5, np.uint16)
        w, v = lazynp.empty_like(x), lazynp.roll(y * 2, 1)
        w[...] = 3
        recorder.flush()
    assert p.uploads == 0
    for ours, theirs in (
        (x, np.zeros((3, 4))),
        (y, np.ones(5, "H")),
        (w, np.full((3, 4), 3.0)),
        (v, np.full(5, 2, "H")),
    ):
        close(ours, theirs)
    close(lazynp.full((2, 2), 7j), np.full((2, 2), 7j))
    close(lazynp.zeros(()), np.zeros(()))
    assert lazynp.zeros(2, object).tolist() == [0, 0]


def test_what_is_read_twice_is_copied_once(device: str) -> None:
    x = lazynp.array(np.arange(6.0))
    with lazynp.profile() as p:
        total = [float((x * k).sum()) for k in range(5)]
    assert total == [0.0, 15.0, 30.0, 45.0, 60.0]
    assert (p.uploads, p.downloads) == (1, 5)
    y = x + 1
    with lazynp.profile() as p:
        assert y.tolist() == y[:].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        assert float(y.sum()) == 21.0
    assert (p.uploads, p.downloads) == (0, 2)


@pytest.mark.parametrize("write", ["numpy", "item", "view", "pinned", "out"])
def test_a_host_write_after_a_device_read_is_not_lost(write: str, device: str) -> None:
    x = lazynp.array(np.arange(4.0))
    assert float((x * 2).sum()) == 12.0  # now there is a tensor of it
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    if write == "numpy":
        np.asarray(x)[1] = 10.0
    elif write == "item":
        with config(mode="auto"):
            x[1] = 10.0
    elif write == "view":
        with config(mode="eager"):
            x[::-1][2] = 10.0
    elif write == "pinned":
        memory = memoryview(x)
        assert float((x * 2).sum()) == 12.0
        memory[1] = 10.0
    else:
        np.multiply(np.asarray(x), [1.0, 10.0, 1.0, 1.0], out=np.asarray(x))
    assert float((x * 2).sum()) == 30.0
    assert x.tolist() == [0.0, 10.0, 2.0, 3.0]
    y = x + 1
    x[0] = 5.0
    assert (x.tolist(), y.tolist()) == ([5.0, 10.0, 2.0, 3.0], [1.0, 11.0, 3.0, 4.0])


def test_a_copy_is_another_array(device: str) -> None:
    x = lazynp.array(np.arange(4.0)) + 1
    y = x.copy()
    assert x.tolist() == y.tolist()
    with config(mode="eager"):
        x[0] = 9.0
    y[1] = 7.0
    assert ((x + 0).tolist(), (y + 0).tolist()) == ([9.0, 2.0, 3.0, 4.0], [1.0, 7.0, 3.0, 4.0])


def test_arrays_move_to_where_they_are_used(device: str) -> None:
    x = lazynp.array(np.arange(100.0).reshape(10, 10)) + 1
    recorder.flush()
    assert isinstance(buffer_of(x), DeviceBuffer)
    with config(device="cpu"):
        y = x @ x + x
        recorder.flush()
        assert type(buffer_of(y)) is np.ndarray
    z = y.T - x
    recorder.flush()
    assert isinstance(buffer_of(z), DeviceBuffer)
    a = np.arange(100.0).reshape(10, 10) + 1
    close(z, (a @ a + a).T - a)
    with config(device="cpu"):
        y = z + 1  # still pending at the end of the block, which is where it runs
    assert type(buffer_of(y)) is np.ndarray
    with config(deterministic=True):
        w = z * 3
        recorder.flush()
        assert type(buffer_of(w)) is np.ndarray


def test_small_arrays_on_a_device_stay_there_in_mode_auto(device: str) -> None:
    with config(mode="auto"):
        x = lazynp.array(np.ones((1000, 200)))
        with lazynp.profile() as p:
            rows = x.sum(axis=1)
            recorder.flush()
            rows = rows / 200.0
            recorder.flush()
        assert p.downloads == 0
        assert rows.tolist() == [1.0] * 1000


def test_results_without_axes(device: str) -> None:
    x = lazynp.array(np.arange(6, dtype=np.int32))
    for ours, theirs in (
        (x.sum(), np.arange(6, dtype=np.int32).sum()),
        (x.max(), np.int32(5)),
        (x.argmax(), np.intp(5)),
        (x.mean(), np.float64(2.5)),
        ((x > 2).all(), np.False_),
        (x[3], np.int32(3)),
    ):
        assert type(ours) is type(theirs)
        assert ours == theirs
    x[2] = x[3] * 2
    assert x.tolist() == [0, 1, 6, 3, 4, 5]


def test_errors_are_numpys(device: str) -> None:
    x = lazynp.zeros((3, 3))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as found:
        lazynp.linalg.inv(x)
    assert found.value.__context__ is None
    with pytest.raises(np.linalg.LinAlgError):
        lazynp.linalg.cholesky(x - 1)
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3"):
        x[lazynp.array([1, 7])].tolist()
    with pytest.raises(IndexError):
        x[lazynp.array([-4])] = 1
    with pytest.raises(ValueError, match="could not be broadcast"):
        x + lazynp.zeros(4)
    assert (x + 1).sum() == 9.0


# Settings, counts, and other parts of the library.


def test_what_the_setting_can_be() -> None:
    for name in ("gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:01", "cpu:0", "", None, 0):
        with pytest.raises(ValueError, match="device="):
            config.device = name  # type: ignore[assignment]
    assert config.device == os.environ.get("LAZYNP_DEVICE", "cpu")
    if not torch.cuda.is_available():
        for name in ("cuda", "cuda:1"):
            with pytest.raises(RuntimeError, match=r"torch\.cuda\.is_available"):
                config.device = name
            with pytest.raises(RuntimeError, match=r"torch\.cuda\.is_available"), config(device=name):
                raise AssertionError
    assert config.device == os.environ.get("LAZYNP_DEVICE", "cpu")


def python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}, timeout=PATIENCE
    )


def test_the_default_device_imports_no_torch() -> None:
    code = (
        "import sys, lazynp as np; np.config.mode = 'graph'; x = (np.arange(9.) * 2 + 1); x[2:] = x[:-2]; x.tolist();"
        "np.config.device = 'cpu'; x.sum(); print('torch' in sys.modules, np.config.device)"
    )
    assert python(code, LAZYNP_DEVICE="cpu").stdout.split() == ["False", "cpu"]


def test_the_environment_names_a_device() -> None:
    code = "import lazynp as np; np.config.mode = 'graph'; print((np.arange(3.) + 1).tolist()); np.report()"
    done = python(code, LAZYNP_DEVICE="torch")
    assert done.stdout == "[1.0, 2.0, 3.0]\n"
    assert "1 segments on a device: 1 on torch" in done.stderr
    assert "ValueError" in python(code, LAZYNP_DEVICE="gpu").stderr
    if not torch.cuda.is_available():
        assert "RuntimeError: device 'cuda': torch.cuda.is_available()" in python(code, LAZYNP_DEVICE="cuda").stderr


def test_counts(device: str, tmp_path: Path) -> None:
    with lazynp.profile() as p:
        x = lazynp.array(np.linspace(0.1, 0.9, 12)).reshape(3, 4)
        y = lazynp.exp(x) @ x.T
        w = lazynp.fmax.reduce(y + 0, axis=0)
        recorder.flush()
    assert p.device_segments == {device: p.segments}
    assert p.device_kernels >= 2
    assert (p.compiled, p.interpreted) == (0, 0)
    assert p.device_library >= 1
    assert p.device_host == {"fmax.reduce": 1}
    assert f"{p.segments} on {device}" in str(p)
    assert "1 library calls on the host for device arrays:\n             1  fmax.reduce" in str(p)
    assert len(w) == 3
    lazynp.report(json_path=str(tmp_path / "report.json"))
    assert json.loads((tmp_path / "report.json").read_text())["device_host"]["fmax.reduce"] >= 1


def test_transformations(device: str) -> None:
    def f(x: Any) -> Any:
        y = lazynp.sin(x) * x
        y[1:] += y[:-1]
        return (y**2).sum()

    x = np.linspace(0.0, 1.0, 5)
    with config(device="cpu"):
        wanted = [lazynp.grad(f)(lazynp.array(x)), lazynp.jit(f)(lazynp.array(x)), lazynp.vmap(f)(lazynp.ones((3, 5)))]
    a = lazynp.array(x) + 0.0
    got = [lazynp.grad(f)(a), lazynp.jit(f)(a), lazynp.vmap(f)(lazynp.ones((3, 5)))]
    for ours, theirs in zip(got, wanted, strict=True):
        close(ours, theirs)


def test_threads(device: str) -> None:
    x = lazynp.array(np.arange(1000.0))
    found: list[float] = []

    def work(k: int) -> None:
        y = x
        for _ in range(20):
            y = y * 2 - x + k - k
        found.append(float(y.sum()))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [499500.0] * 4


def test_fork() -> None:
    code = """
import os, lazynp as np
np.config.mode = "graph"
x = np.arange(3_000_000.0)
y = (x * 2 + 1) @ x
z = x + 1
if not (child := os.fork()):
    w = (x * 3 + z) * 2
    os._exit(0 if w.sum() > 0 and w[1] == 10 and (w.reshape(1000, -1) @ w[:3000]).shape == (1000,) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), z[1])
"""
    assert python(code, LAZYNP_DEVICE="torch").stdout.split() == ["0", "2.0"]


def test_the_end_of_a_process_does_not_wait_for_a_compiler() -> None:
    """What is being compiled breaks off: a thread that ends within C++ would end the process with an abort."""
    code = """
import time
from lazynp.backends.torch import hot
hot.submit(lambda: [time.sleep(0.01) for _ in range(100_000)])
hot.submit(lambda: print("what waits is not begun"))
print("ended")
"""
    began = time.monotonic()
    assert python(code).stdout == "ended\n"
    assert time.monotonic() - began < 0.9 * hot.LAST  # for which it waits where nothing breaks off


def test_hot_kernels_are_compiled(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU they are when they have run often enough; here it is asked for. Until then they run as they are."""
    there = device_of(device)
    monkeypatch.setattr(there.hot, "enabled", True)
    monkeypatch.setattr(there.hot, "kernels", {})
    x, u = np.linspace(0.0, 1.0, 300), (np.arange(300) % 7).astype(np.uint16)
    for compiled in (False, True):
        with config(compile_after=0.0), lazynp.profile() as p:
            for n in (300, 200):
                a, b = lazynp.array(x[:n]), lazynp.array(u[:n])
                y, c = lazynp.sqrt(a * 2 + 1) * lazynp.sin(a), b * np.uint16(3) + np.uint16(65000)
                close(y, np.sqrt(x[:n] * 2 + 1) * np.sin(x[:n]))
                close(c, u[:n] * np.uint16(3) + np.uint16(65000))
            z, w = np.ones((9, 8)), lazynp.ones((9, 8))
            for a in (z, w):
                for _ in range(3):
                    a[1:-1, 1:-1] = 0.3 * (a[2:, 1:-1] + a[:-2, 1:-1]) - a[1:-1, 2:]
            close(w, z)
        assert p.device_kernels >= 2 + 3
        assert p.device_compiled == p.device_kernels or not compiled
        assert lazynp.compile_wait(PATIENCE)
    assert there.hot.enabled


def test_kernels_for_many_sizes_are_compiled_once_for_all(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there = device_of(device)
    monkeypatch.setattr(there.hot, "enabled", True)
    monkeypatch.setattr(there.hot, "kernels", {})
    with config(compile_after=0.0):
        for _ in range(2):
            with lazynp.profile() as p:
                for n in range(20, 20 + hot.MOST_SIZES + 3):
                    close(lazynp.array(np.arange(float(n))) * 5 - 4, np.arange(float(n)) * 5 - 4)
            lazynp.compile_wait(PATIENCE)
        assert p.device_compiled == p.device_kernels == hot.MOST_SIZES + 3
    spec = next(s for s, k in there.hot.kernels.items() if k.general)
    assert len(there.hot.kernels[spec].compiled) == hot.MOST_SIZES
    assert there.hot.enabled


def test_code_for_any_sizes_runs_while_another_thread_traces(device: str) -> None:
    """torch refuses to run what it has compiled while anything is traced, in whatever thread."""
    make = hot.compiler()
    there = device_of(device).torch
    code = make.for_any(lambda x: [x * 2 + 1], make.without_values([torch.ones(3, 4, device=there)]))
    begun, ended = threading.Event(), threading.Event()

    def work(x: Any) -> Any:
        begun.set()
        assert ended.wait(PATIENCE)
        return x + 1

    thread = threading.Thread(target=lambda: torch.fx.symbolic_trace(work))
    thread.start()
    try:
        assert begun.wait(PATIENCE)
        for n in (5, 7):
            assert float(code([torch.ones(n, n, device=there)])[0].sum()) == 3 * n * n
    finally:
        ended.set()
        thread.join()


def test_without_a_compiler_kernels_run_as_they_are(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there = device_of(device)
    monkeypatch.setattr(there.hot, "enabled", True)
    monkeypatch.setattr(there.hot, "kernels", {})

    def fail(*_: Any) -> Any:
        raise RuntimeError("no triton\nand more")

    monkeypatch.setattr(there.hot, "code", fail)
    with config(compile_after=0.0), pytest.warns(UserWarning, match="not compiled on .*no triton$"):
        close(lazynp.array(np.arange(3.0)) * 7 - 2, np.arange(3.0) * 7 - 2)
        lazynp.compile_wait(PATIENCE)
    assert not there.hot.enabled
