"""Chains of compiled kernels, a few rows of each at a time, give what running them one after another gives."""

import random
import types

import numpy as np
import pytest

import lazynp
from lazynp.backends.kernel import Instr, KernelSpec
from lazynp.ops.shape import reshape
from lazynp.runtime import kernels
from lazynp.runtime.chain import Chain
from lazynp.runtime.kernels import kernel_of
from lazynp.runtime.steps import ViewStep

pytestmark = pytest.mark.compiles
ROWS, COLUMNS = 420, 3001  # a block is about a dozen rows; enough work for two threads
MARGIN = 4
FLOAT = ("float64", "float64")
SPEC = KernelSpec(
    FLOAT,
    FLOAT,
    (
        Instr("multiply", (0, 2), FLOAT, "float64"),
        Instr("multiply", (1, 3), FLOAT, "float64"),
        Instr("add", (4, 5), FLOAT, "float64"),
    ),
    (6,),
    2,
)


def start():
    grid = np.arange(ROWS * COLUMNS, dtype=np.float64).reshape(ROWS, COLUMNS)
    return [np.sin(grid * (k + 1)) for k in range(3)]


def window(rng, array):
    row, column = rng.randint(0, MARGIN), rng.randint(0, MARGIN)
    return array[row : ROWS - MARGIN + row, column : COLUMNS - MARGIN + column]


def random_calls(rng, arrays, kernel, copy, count):
    """Sweeps over shifted windows of arrays in any order, boundary rows and columns written between.

    A sweep writes none of the memory that it reads at another place, as the planner sees to."""
    for _ in range(count):
        to = rng.randrange(3)
        others = [k for k in range(3) if k != to]
        one, two = arrays[rng.choice(others)], arrays[rng.choice(others)]
        kernel([window(rng, one), window(rng, two)], [0.25, 0.5], [window(rng, arrays[to])])
        a = arrays[rng.randrange(3)]
        what = rng.randrange(6)
        if what == 0:
            copy(a[rng.choice([0, -1])], np.float64(1.5))
        elif what == 1:
            copy(a[-1], a[-2])
        elif what == 2:
            copy(a[:, 0], a[:, 1])
        elif what == 3:
            copy(a[:, -1:], arrays[0][:, 2:3])


def plain(ins, scalars, outs):
    outs[0][...] = scalars[0] * ins[0] + scalars[1] * ins[1]


@pytest.fixture(scope="module")
def kernel():
    """The kernel, compiled."""
    made = kernel_of(SPEC)
    arrays, rng = start(), random.Random(0)
    with lazynp.config(compile_after=0.0):
        made.run(
            [window(rng, a) for a in arrays[:2]], [1.0, 2.0], [window(rng, arrays[2])], window(rng, arrays[0]).shape
        )
        lazynp.compile_wait()
    return made


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_order_of_shifted_windows(kernel, threads):
    longest = 0
    with lazynp.config(threads=threads):
        for seed in range(40):
            want, got, chain = start(), start(), Chain()

            def waiting(ins, scalars, outs, chain=chain):
                kernel.run(ins, scalars, outs, ins[0].shape, chain)

            def copy(to, value, chain=chain):
                if not chain.copy(to, value, []):
                    np.copyto(to, value)

            count = 2 + seed % 11
            random_calls(random.Random(seed), want, plain, np.copyto, count)
            random_calls(random.Random(seed), got, waiting, copy, count)
            longest = max(longest, len(chain.kept))
            chain.settle()
            for k in range(3):
                np.testing.assert_array_equal(got[k], want[k], err_msg=f"seed {seed}, array {k}")
    assert longest > 12


def test_memory_that_meets_without_a_distance_runs_in_order(kernel):
    """Rows of another stride, and a transposed window: what waits runs before."""
    flat = np.linspace(0.0, 1.0, ROWS * COLUMNS + COLUMNS)
    want, got, chain = flat.copy(), flat.copy(), Chain()
    for a, run in ((want, plain), (got, lambda i, s, o: kernel.run(i, s, o, i[0].shape, chain))):
        grid = a[: ROWS * COLUMNS].reshape(ROWS, COLUMNS)
        wide = a[: (ROWS // 2) * 2 * COLUMNS].reshape(ROWS // 2, 2 * COLUMNS)
        scratch = np.zeros((ROWS, COLUMNS))
        small = np.zeros((ROWS // 2, COLUMNS - MARGIN))
        run([grid[:-4, :-4], grid[4:, :-4]], [0.25, 0.5], [scratch[:-4, :-4]])
        run([scratch[:-4, :-4], scratch[4:, :-4]], [0.25, 0.5], [grid[2:-2, :-4]])
        run([wide[:, : COLUMNS - 4], wide[:, 4:COLUMNS]], [0.25, 0.5], [small])
        a[-1] = small.sum() if a is want else 0.0
    chain.settle()
    np.testing.assert_array_equal(got[:-1], want[:-1])


def test_a_view_that_has_to_be_copied_is_read_after_what_waits(kernel):
    arrays, out = start(), np.zeros((ROWS, COLUMNS))
    ins, wanted = [a[:-4, :-4] for a in arrays[:2]], np.zeros_like(out)
    plain(ins, [0.25, 0.5], [wanted[:-4, :-4]])
    chain = Chain()
    kernel.run(ins, [0.25, 0.5], [out[:-4, :-4]], ins[0].shape, chain)
    assert len(chain.kept) == 1
    env = types.SimpleNamespace(values=[out[::2], None], scalars=(), moving=[((-1,),)], chain=chain)
    step = ViewStep(0, 1, reshape, (), ~0, False)
    step.drop = []
    step.run(env)
    np.testing.assert_array_equal(env.values[1], wanted[::2].ravel())


@pytest.fixture
def chained(monkeypatch):
    """Everything through the graph, compiled as soon as it has run once, and large enough for a chain."""
    monkeypatch.setattr(kernels, "LARGE", 1 << 16)
    with lazynp.config(mode="graph", compile_after=0.0, chain=True, threads=2):
        yield


def test_what_waits_is_done_before_anything_else_reads(chained):
    """A reduction, a host function and a print in the middle of a chain."""
    a = lazynp.array(start()[0])
    want = start()[0]
    for _ in range(3):
        a[1:-1] = 0.5 * (a[:-2] + a[2:])
        want[1:-1] = 0.5 * (want[:-2] + want[2:])
        a[1:-1] = 0.25 * a[:-2] + a[2:]
        want[1:-1] = 0.25 * want[:-2] + want[2:]
        assert float(a.max()) == want.max()
    np.testing.assert_array_equal(np.asarray(a), want)


def test_a_loop_runs_several_periods_at_a_time(chained):
    a, b = (lazynp.array(x) for x in start()[:2])
    c, d = start()[:2]
    for _ in range(40):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a[1:-1] = 0.5 * (b[:-2] + b[2:])
        d[1:-1] = 0.5 * (c[:-2] + c[2:])
        c[1:-1] = 0.5 * (d[:-2] + d[2:])
    np.testing.assert_array_equal(np.asarray(a), c)
    np.testing.assert_array_equal(np.asarray(b), d)
