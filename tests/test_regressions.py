"""One small program for each engine bug that the random programs have found, run on NumPy and on lazynp.

A program is text in which `np` is NumPy or lazynp, as in `programs.py`. What it logs, raises and leaves must agree.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from programs import Loop, Program
from runs import difference, same

import lazynp
from lazynp.graph.node import leaf
from lazynp.ops import elementwise
from lazynp.runtime.recorder import recorder
from lazynp.runtime.segment import Segment, run_segment

PROGRAMS: dict[str, Program] = {
    "roll without an axis gives a view": (
        "a = np.array(data(928, (12, 12), 'float64'))",
        "c = a.reshape(-1)",
        "h = np.roll(c, 2)",
    ),
    "shape of borrowed memory": (
        "b = np.array(data(27, (1, 3, 3), 'int16'))",
        "a = np.frombuffer(memoryview(b.tobytes()), b.dtype)",
        "a.shape = -1",
    ),
    "real parts of complex numbers by asarray": (
        "b = np.array(data(371, (0, 5), 'complex128'))",
        "d = np.asarray(b, 'float64')",
        "log(str(d.dtype))",
    ),
    "matmul in place into what cannot hold the result": (
        "d = np.array(data(206, (3, 5), 'bool'))",
        "d @= np.eye(6)",
    ),
    "write into a region with a step": ("b = np.array(data(830, (4, 4), 'bool'))", "b[:0:-1] &= b[3]"),
    "write every other row of an empty array": (
        "a = np.array(data(347, (4, 0, 2), 'float32'))",
        "a[1::2] = a[::2] * True",
    ),
    "integer too large for the dtype, in place": ("f = np.array(data(28, (3, 5), 'uint8'))", "f += 512", "f += 1"),
    "integer too large for the dtype, out=": (
        "f = np.array(data(28, (3, 5), 'uint8'))",
        "np.add(f, 512, out=f)",
        "f += 1",
    ),
    "copy to the same memory that is read only": (
        "b = np.array(data(278, (5, 5), 'int32'))",
        "g = np.lib.stride_tricks.sliding_window_view(b, 1, 0)",
        "z = host(g)",
        "np.copyto(z, g, casting='unsafe')",
    ),
    "copy to the same memory, repeated, that is read only": (
        "g = np.broadcast_to(np.array(data(675, (6,), 'float32')), (2, 3, 6))",
        "b = g[::3, 1, 3]",
        "z = host(b)",
        "np.copyto(z, b.transpose(0), casting='unsafe')",
    ),
    "flags of an array of NumPy's own": (
        "b = np.array(data(536, (2,), 'uint8'))",
        "e = b[1][...]",
        "h = np.broadcast_to(e[...], (2,))",
        "h.setflags(write=False)",
    ),
    "negative integer and an unsigned array": (
        "f = np.array(data(28, (3, 5), 'uint8'))",
        "g = -1 // f",
        "h = np.multiply(f, -2)",
    ),
    "integer too large, under a mask": ("f = np.array(data(28, (3, 5), 'uint8'))", "f[f < 200] += 512", "g = f + 1"),
    "copied to what is no array": (
        "a = np.array(data(1, (5,), 'float64'))",
        "h = 1",
        "np.copyto(h, a + 1)",
        "np.copyto(h, a + 1, where=a > 0)",
        "np.copyto('x', a)",
    ),
    "longlong and int64 are equal dtypes, and two": (
        "a = np.array(data(1, (5,), 'int64'))",
        "b = a * np.longlong(2)",
        "np.add(a, np.longlong(2), out=a, where=a > 2)",
        "a[...] = b + a",
        "log(a[1])",
        "c = b.astype('int64')",
        "d = np.asarray(b, 'int64')",
        "e = np.concatenate([a, a.astype('q')])",
        "e[:5] += a",
        "f = np.array(data(1, (5,), 'uint64')) + np.ulonglong(1)",
        "g = np.add(a, 1, dtype='q')",
    ),
    "bool squared": ("a = np.array(data(1, (5,), 'bool'))", "b = a ** 2", "c = a ** 3", "d = a ** 1"),
    "a region of a base on its own level": (
        "g = np.array(data(641, (7,), 'int64'))",
        "b = np.array(data(939, (7,), 'float64'))",
        "e = g[:] % 0.1",
        "g = e.ravel()",
        "e = np.multiply(g, g[None, 4] + g[:])",
        "e[1:-1] = 0.5 * (b[2:] + b[:-2])",
    ),
    "a base that is its own value": (
        "e = np.array(data(306, (2, 10), 'complex128'))",
        "g = e[-2] == e",
        "g[::-1] = g[:]",
    ),
    "casting under a mask": ("a = np.array(data(676, (7, 5), 'int16'))", "a[a == 1] += -0.25", "b = a + 1"),
    "casting under an empty mask": ("a = np.array(data(676, (0, 5), 'int16'))", "a[a == 1] += 1.5", "b = a + 1"),
    "NumPy scalar too large, by a mask": (
        "d = np.array(data(1, (3,), 'int16')).astype('int8')",
        "d[d == 100] = np.uint8(200)",
        "d[d != 100] = np.uint8(200)",
    ),
    "NumPy scalar too large, by a slice": (
        "d = np.array(data(1, (3,), 'int16')).astype('int8')",
        "d[1:] = np.uint8(200)",
    ),
    "NaN into integers": (
        "a = np.array(data(1, (5,), 'int64'))",
        "a[1] = np.float64('nan')",
        "a[1:3] = np.float64('inf')",
        "a[...] = np.float64('nan')",
        "a[0] = float('nan')",
    ),
    "a buffer that is not contiguous": (
        "e = np.array(data(28, (3, 7), 'bool'))",
        "f = e.T",
        "f += f",
        "e[:, 0] = e[:, -1]",
        "a = e.reshape(-1)",
    ),
    "a transpose written, then flattened": (
        "f = np.array(data(403, (3, 3), 'uint8'))",
        "f[...] = f.T",
        "f[1][...] = np.square(7)",
        "e = f.reshape(-1)",
    ),
    "where of arrays without axes": ("a = np.array(data(856, (4,), 'uint8'))[1][...]", "b = np.where(a > 0, a, a)"),
    "select into its first operand": (
        "a = np.array(data(88, (4, 2), 'float64'))",
        "b = a + 1",
        "c = a > 0",
        "log(b[0, 0])",
        "log(c[0, 0])",
        "b = np.where(c, b, 0.5)",
    ),
    "select into its condition": (
        "a = np.array(data(88, (4, 2), 'float64'))",
        "b = a > 0.25",
        "c = a > 1",
        "log(b[0, 0])",
        "b = np.where(b, c, True)",
    ),
    "in place under a mask": ("e = np.array(data(88, (4, 2), 'float64'))", "e[e <= 3] += 1.5"),
    "order of a result: reshape": ("a = np.array(data(759, (5, 4), 'float64'))", "b = a.T * 0.5", "c = b.reshape(-1)"),
    "order of a result: ravel": (
        "a = np.array(data(759, (5, 4, 3), 'float64'))",
        "b = np.trunc(a.transpose(1, 2, 0))",
        "c = b.ravel()",
        "d = b.T.ravel()",
    ),
    "order of a reduction": (
        "a = np.array(data(759, (5, 4, 3), 'float64'))",
        "b = a.T.sum(axis=0)",
        "c = b.reshape(-1)",
    ),
    "order of astype, copy, array, +": (
        "a = np.array(data(759, (5, 4), 'float64'))",
        "b = a.T.astype('float32')",
        "c = b.ravel()",
        "d = a.T.copy()",
        "e = d.ravel()",
        "f = np.array(a.T)",
        "g = f.ravel()",
        "h = (+a.T).ravel()",
    ),
    "ravel of a column": (
        "g = np.array(data(265, (8, 4), 'int16'))",
        "a = g[:, 1]",
        "b = a.ravel()",
        "c = a.reshape(-1)",
    ),
    "comparison out of range, transposed": (
        "g = np.array(data(151, (12, 5, 5), 'uint8'))",
        "e = g.T[:0:-2]",
        "f = e < -1",
        "e[e < -1] = True",
    ),
    "a reduction of an array without axes": (
        "d = np.array(data(5, (3,), 'float64'))[1:2].squeeze().copy()",
        "b = d.max()",
        "d[...] -= d[...]",
        "b = d.max()",
    ),
    "order of where": (
        "b = np.array(data(748, (5, 5, 2), 'int64'))",
        "a = b.T",
        "e = np.where(a > 2, b.T / a, a)",
        "h = e.ravel()",
    ),
    "order with broadcasting": (
        "c = np.array(data(759, (5, 8, 4), 'uint8'))",
        "a = c.T",
        "f = (a * 0.5) ** 2",
        "c = f[None, 1] + a ** 1",
        "g = c.reshape(-1)",
    ),
    "a deeper list than the region": (
        "b = np.array(data(860, (1,), 'float32'))",
        "b[::-1] = [[7]]",
        "c = np.array(data(861, (3,), 'int64'))",
        "c[0] = [1]",
        "c[:2] = [8, 9]",
    ),
    "take with an index without axes": ("b = np.array(data(860, (4,), 'int64'))", "c = np.take(b, np.array(3))"),
    "a vector of one into a growing region": (
        "h = np.array(data(5, (6,), 'float64'))",
        "e = np.array([2.0])",
        Loop("k", 4, ("f = e * (k + 1.0)", "h[0:k + 1] = f", "del f", "log(h)")),
    ),
    "a gathered, transposed array": (
        "b = np.array(data(10254, (4, 3, 1), 'uint8'))",
        "a = b.swapaxes(0, -1)",
        "c = a[[-1, -1, 0]] * 2",
    ),
    "where into a growing region": (
        "h = np.array(data(604, (2, 5), 'float64'))",
        "b = np.array(data(714, (12, 1), 'int64'))",
        "e = np.fabs(b[-6].reshape(-1)).ravel()",
        Loop("k", 3, ("h[-3:k:1, 2] = np.where(e[:] > 2.0, np.float32(0.3), e[:])", "log(b.T.all(axis=-1))")),
    ),
    "casting error before shape error": (
        "e = np.array(data(634, (7,), 'int64'))",
        "e[::2] -= e[1::2] * -0.25",
        "b = np.array(data(5, (3,), 'bool'))",
        "b *= np.array(data(6, (2, 1), 'float64'))",
    ),
    "an array of one element for one element": (
        "a = np.array(data(5, (3,), 'float64'))",
        "a[0] = np.array([5.0])",
        "a[1, ...] = np.array([5.0])",
        "a[2:] = np.array([[5.0]])",
    ),
    "a sequence for one complex element": (
        "a = np.array(data(5, (3,), 'complex128'))",
        "a[0] = np.array(data(6, (2,), 'float64'))",
    ),
    "comparison with an integer that the dtype does not have, the second time": (
        "a = np.array(data(829, (3, 3), 'uint8'))",
        "e = np.maximum(a[:], a)",
        Loop("k", 2, ("e = e[e > -k]",)),
    ),
    "order of a result of memory that NumPy has, transposed": (
        "f = np.array(data(836, (4, 7), 'float64'))",
        "c = f.T",
        "a = np.lib.stride_tricks.as_strided(c) * c",
        "h = a.reshape(-1)",
        "a[...] = 7",
    ),
    "memory order of what is reduced over no elements": (
        "a = np.array(data(178, (4, 0, 5), 'float64')).reshape((5, 0, 4)).transpose(1, 0, 2)",
        "b = (a * 2).T.any(axis=2)",
        "c = (a * 2).T.sum(axis=2)",
        "d = (a + 1).transpose(2, 0, 1).prod(axis=1)",
    ),
    "the base of a view of memory that NumPy has, without elements": (
        "a = np.array(data(610, (3, 0), 'uint8'))",
        "b = np.lib.stride_tricks.as_strided(a)",
        "c = b.T",
        "d = b.reshape(-1)",
        "e = np.lib.stride_tricks.as_strided(c)[...].T",
    ),
    "what is copied to itself, under a mask that does not fit": (
        "c = np.array(data(256, (2, 0, 1), 'float64'))",
        "np.copyto(c, c, where=(np.arange(3) % 2 == 0), casting='unsafe')",
        "d = c[:, :, 0].T",
        "np.copyto(d, d, where=(np.arange(3) % 2 == 0))",
    ),
    "order= of a conversion": (
        "a = np.array(data(787, (3, 7), 'bool'))",
        "e = np.array(a.swapaxes(1, 0), dtype='uint32', order='C')",
        "f = e.ravel()",
        "f += 1",
    ),
    "a view that cannot be written, of what can": (
        "a = np.array(data(594, (6, 6), 'int64'))",
        "b = a[:, :]",
        "c = a[:]",
        "b.setflags(write=False)",
        "a += 1",
        "c[0] = 5",
        "b[0] = 1",
        "d = b[1:]",
    ),
    "a view that can be written, of what no longer can": (
        "a = np.array(data(594, (6, 6), 'int64'))",
        "b = a[1:]",
        "a.flags.writeable = False",
        "b[0] = 5",
        "a[0] = 3",
        "b.setflags(write=False)",
        "b.setflags(write=True)",
        "c = a.copy()",
        "c[0] = 7",
    ),
    "the imaginary part of real numbers": (
        "a = np.array(data(305, (2, 8), 'bool'))",
        "b = a.imag",
        "c = b.copy()",
        "c[0] = True",
        "b[0] = True",
        "d = a.T.imag",
    ),
    "a shape that does not fit, set": ("a = np.array(data(760, (5, 2), 'float64'))", "b = a.T", "b.shape = -1"),
    "the base of a copy that reshape made": (
        "a = np.array(data(211, (10, 2), 'float64'))",
        "b = a.T.astype('int16')",
        "c = b.reshape(-1).base",
    ),
    "what is given as a view of memory that nobody has": (
        "a = np.array(data(3, (4, 5), 'float64'))",
        "b = a[:, [0, 2, 2]]",
        "c = b.ravel()",
        "c += 1",
        "d, e = np.nonzero(a > 0)",
        "d[1:] = e[:-1] * 2",
        "f = d.base",
        "f[0] = 9",
    ),
}
VIEWS_BY_NUMPY = (
    "np.lib.stride_tricks.sliding_window_view(a, 1, 0)",
    "np.lib.stride_tricks.as_strided(a, (3, 1), (16, 1))",
    "np.lib.stride_tricks.as_strided(np.lib.stride_tricks.as_strided(a, (3, 1), (16, 1))[1:], (2,), (16,))",
    "np.broadcast_to(a, (2, *a.shape))",
    "np.broadcast_arrays(a, np.ones(4))[0]",
    "np.diagonal(a, axis1=0, axis2=2)",
    "np.array_split(a, 3)[1]",
    "np.squeeze(a)",
    "np.rot90(a)",
    "np.matrix_transpose(a)",
    "a.view('int8')",
    "a[::-1, ..., None]",
    "host(a)[1:]",
    "np.asarray(memoryview(a))[2:]",
    "np.from_dlpack(a)[2:]",
)
for text in VIEWS_BY_NUMPY:  # of a part of an array whose memory something else reads still, so that it is copied
    PROGRAMS[f"NumPy's view of what is read still: {text}"] = (
        "g = np.array(data(946, (8, 1, 8), 'uint8'))",
        "h = g // 3",
        "a = h[:, :, None, 1]",
        "np.multiply(a, 1, out=g)",
        f"f = {text}",
        "h += 1",
        "log(f)",
    )
SETTINGS = {
    "graph": {"mode": "graph"},
    "auto": {"mode": "auto", "small": 0},
    "auto, small arrays": {"mode": "auto", "small": 8},
    "graph, cut everywhere": {"mode": "graph", "pending_nodes": 2},
}


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, settings: str) -> None:
    differ = difference(PROGRAMS[name], lazynp, SETTINGS[settings] | {"deterministic": True})
    assert not differ, differ


@pytest.mark.parametrize("exponent", [2, 2.0, 1, 1.0, -1, -1.0, 0.5, 0, 3, True])
def test_power_takes_numpys_way(exponent: float) -> None:
    """NumPy squares for the int 2 only where the base is complex: to the last bit."""
    for dtype in ("complex128", "float64", "int64", "bool", "float32"):
        x = numpy.random.default_rng(0).uniform(1, 5, 200).astype(dtype)
        if dtype == "complex128":
            x = x + 0.7j * x[::-1]
        try:
            wanted = x**exponent
        except (TypeError, ValueError) as error:
            with lazynp.config(mode="graph", deterministic=True), pytest.raises(type(error)):
                numpy.asarray(lazynp.array(x) ** exponent)
            continue
        with lazynp.config(mode="graph", deterministic=True):
            got = numpy.asarray(lazynp.array(x) ** exponent)
        assert same(wanted, got)
        assert got.tobytes() == wanted.tobytes(), dtype


def test_linalg_error_is_numpys() -> None:
    """Code that keeps NumPy imported catches it."""
    assert issubclass(lazynp.linalg.LinAlgError, numpy.linalg.LinAlgError)


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_an_array_of_numpy_in_fortran_order_beside_a_transposed_view(mode: str) -> None:
    """The result is computed in memory order: NumPy's operand is turned as ours are."""
    a = numpy.arange(9.0).reshape(3, 3)
    with lazynp.config(mode=mode, small=1):
        view = lazynp.array(a).T
        for other in (numpy.asarray(view), numpy.asfortranarray(a), a.T, numpy.asfortranarray(a)[:1], a.T[0]):
            assert same(a.T * other, numpy.asarray(view * other))
            assert same(other - a.T, numpy.asarray(other - view))
            where = lazynp.where(view > 3, view, other)
            assert same(numpy.where(a.T > 3, a.T, other), numpy.asarray(where))


@pytest.mark.parametrize("columns", [32769, 40001])
def test_a_reduction_over_odd_rows_longer_than_a_block(columns: int) -> None:
    a = numpy.arange(3.0 * columns).reshape(3, columns)
    with lazynp.config(mode="graph"):
        assert same((a * 0.5 + 1).max(axis=1), numpy.asarray((lazynp.array(a) * 0.5 + 1).max(axis=1)))


def test_nodes_that_were_dropped_run_with_others() -> None:
    """As many nodes as lie between the first and the last one, but not those: other threads' come between."""
    recorder.flush()
    x = leaf((4,), numpy.dtype(numpy.float64), numpy.arange(4.0))
    early, later, _ = elementwise.add(x, x), elementwise.add(x, x), elementwise.negative(x)
    last = elementwise.multiply(later, early)
    nodes = [later, early, last]
    assert last.index - later.index == len(nodes) - 1
    run_segment(Segment(nodes, [last]))
    assert last.buffer.tolist() == [0.0, 4.0, 16.0, 36.0]
    recorder.flush()


def later_values(xp: Any, n: int) -> list[Any]:
    """What was taken from an array of which NumPy has a view, after that array was written to."""
    a = xp.arange(float(n))
    mask = a < 5
    kept = a.view("i8"), mask.view("u1")  # only NumPy can express these: the memory stays where it is
    rows, whole = xp.zeros((2, n)), xp.zeros(n)
    rows[0], whole[...] = a, a
    taken = [
        a.copy(), xp.array(a), xp.copy(a[1:]), kept[0].copy(), a.astype(float), a.flatten(), a.reshape(-1, 1).copy(),
        rows, whole, a + 0, a[::2].copy(), a[mask], xp.ascontiguousarray(a[::-1]),
    ]  # fmt: skip
    a[...], mask[...] = 9.0, True
    return taken


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("n", [8, 250_000])
def test_copies_of_pinned_memory_are_copies(mode: str, n: int) -> None:
    """A copy took the memory itself, and changed with it."""
    with lazynp.config(mode=mode):
        for k, (got, wanted) in enumerate(zip(later_values(lazynp, n), later_values(numpy, n), strict=True)):
            assert numpy.array_equal(numpy.asarray(got), wanted), k


def test_longlong_in_a_trace() -> None:
    """A trace has int64 in its place; NumPy cannot compute with what has no value."""
    x, q = lazynp.arange(3.0), lazynp.longlong(2)
    assert lazynp.jit(lambda v: v * q)(x).tolist() == [0.0, 2.0, 4.0]
    assert lazynp.grad(lambda v: (v * lazynp.full(3, q)).sum())(x).tolist() == [2.0, 2.0, 2.0]
    assert lazynp.vmap(lambda v, w: v * w)(x, numpy.full(3, 2, "q")).tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_strings_of_variable_width(mode: str) -> None:
    """Large arrays of them, and any in mode graph, raised TypeError: they have no byte order."""
    host = numpy.array(["a", "bc", "a"] * 4, dtype=numpy.dtypes.StringDType())
    with lazynp.config(mode=mode, small=2):
        x = lazynp.array(host)
        assert same(host == host[::-1], numpy.asarray(x == x[::-1]))
        assert same(numpy.unique(host), numpy.asarray(lazynp.unique(x)))


def outcome(write: Any) -> Any:
    """The values, or the type of the error."""
    with numpy.errstate(all="ignore"):
        try:
            return numpy.asarray(write()).tobytes()
        except Exception as error:
            return type(error)


RECORDED = [{"mode": "graph"}, {"mode": "auto", "small": 0}]
AT_VALUES = [-1, 2, 0.1, 0.5, 300, True, 2**40, numpy.float32(0.1), numpy.int8(-3), [1, 2, 3], 1e300]


@pytest.mark.parametrize("settings", RECORDED, ids=str)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["u8", "u1", "i4", "f4", "f8"])
def test_numbers_are_not_weak_in_at(dtype: str, name: str, settings: dict[str, Any]) -> None:
    """`maximum.at(unsigned, i, -1)` made the largest numbers, and 0.1 was rounded to single precision first."""

    def write(np: Any, value: Any) -> Any:
        x = np.array(numpy.arange(12).astype(dtype))
        getattr(np, name).at(x, [1, 1, 5], value)
        return x

    for value in AT_VALUES:
        wanted = outcome(lambda v=value: write(numpy, v))
        with lazynp.config(**settings):
            assert outcome(lambda v=value: write(lazynp, v)) == wanted, value


@pytest.mark.parametrize("settings", RECORDED, ids=str)
@pytest.mark.parametrize("dtype", ["u8", "i1", "f4", "?"])
def test_what_is_cast_into_an_array(dtype: str, settings: dict[str, Any]) -> None:
    """`putmask` casts safely. By indices and `flat`, NumPy's own numbers are cast, which `x[1:] = number` refuses."""
    keys = [numpy.array([-1]), [0], numpy.array([True, False, True]), numpy.array(1), slice(0, 0), slice(0, 2)]
    given = [numpy.uint8(200), 200, numpy.float32(3.7), numpy.int64(-300), numpy.array([7], "u1"), numpy.array([0.5])]

    def indexed(np: Any, key: Any, value: Any) -> Any:
        x = np.array(numpy.zeros(3, dtype))
        x[key] = value
        return x

    def flat(np: Any, key: Any, value: Any) -> Any:
        x = np.array(numpy.zeros((1, 3), dtype))
        x.flat[slice(-1, None, 2)] = value
        return x

    def masked(np: Any, key: Any, value: Any) -> Any:
        x = np.array(numpy.zeros(3, dtype))
        np.putmask(x, numpy.array([True, False, True]), np.array(value) if numpy.ndim(value) else value)
        return x

    for write in (indexed, flat, masked):
        for key in keys if write is indexed else keys[:1]:
            for value in given:
                wanted = outcome(lambda w=write, k=key, v=value: w(numpy, k, v))
                with lazynp.config(**settings):
                    assert outcome(lambda w=write, k=key, v=value: w(lazynp, k, v)) == wanted, (write, key, value)


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_numbers_beyond_the_dtype(mode: str) -> None:
    """What NumPy computes in another dtype is no comparison: int8 over 255 was 0."""
    for host in (numpy.array([[-2], [5]], "i1"), numpy.array([3, 200], "u1")):
        with lazynp.config(mode=mode):
            x = lazynp.array(host)
            assert lazynp.divide(x, 1000).tolist() == numpy.divide(host, 1000).tolist()
            assert (1000 / x).tolist() == (1000 / host).tolist()
            assert (x < 1000).tolist() == (host < 1000).tolist()
            with pytest.raises(OverflowError):
                x + 1000


@pytest.mark.parametrize("mode", ["auto", "graph"])
def test_pairs_of_numbers_are_written_into_out(mode: str) -> None:
    with lazynp.config(mode=mode):
        whole, part = lazynp.zeros(()), lazynp.zeros(())
        lazynp.modf(lazynp.array(1.5), out=(part, whole))
        assert (float(part), float(whole)) == (0.5, 1.0)


def test_copies_of_an_array_that_is_larger_than_what_may_be_pending() -> None:
    """A copy reads the buffer and records nothing: the stream, which was to be cut, was empty."""
    x = lazynp.arange(1e6)
    x[:] = x * 2
    x[0] = float(x[5])
    with lazynp.config(pending_bytes=1000):
        copies = [x.copy(), lazynp.array(x), lazynp.copy(x)]
        x[1] = 7.0
        assert [float(c[1]) for c in copies] == [2.0] * 3 and float((x + copies[0])[1]) == 9.0


@pytest.mark.parametrize("settings", [{}, {"small": 0}, {"mode": "graph"}, {"mode": "graph", "compile": False}])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u4", "u8"])
def test_negatives_of_columns(dtype: str, settings: dict[str, Any]) -> None:
    """NumPy's loop, before 2.5, takes steps of as many elements as an element has bytes for none."""
    width = numpy.dtype(dtype).itemsize
    for n in (5, 100_000):
        x = (numpy.arange(n * width).reshape(n, width) % 100).astype(dtype)
        wanted = x.copy()
        wanted[:, 0] = -(x[:, 0].copy())
        wanted[:, 1] = -(x[:, 2].copy())
        with lazynp.config(**settings):
            y = lazynp.array(x)
            y[:, 0] = -y[:, 0]
            y[:, 1] = -y[:, 2]
            assert numpy.array_equal(numpy.asarray(y), wanted)


@pytest.mark.parametrize("settings", [{}, {"small": 0}, {"mode": "graph"}])
def test_what_is_locked_is_said_before_what_is_not_there(settings: dict[str, Any]) -> None:
    with lazynp.config(**settings):
        x = lazynp.broadcast_to(lazynp.arange(3.0), (2, 3))
        for key in (5, (..., 7), (0, 9)):
            with pytest.raises(ValueError, match="read-only"):
                x[key] = 1.0
        y = lazynp.ones(3, complex)
        y[lazynp.array([2, 2, -2])] = [[0.25, 0.5, 1.5]]
        assert y.tolist() == [1, 1.5, 0.5]


@pytest.mark.parametrize("settings", [{}, {"small": 0}, {"mode": "graph"}, {"mode": "graph", "compile": False}])
@pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan", "signbit"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_truths_in_columns(dtype: str, name: str, settings: dict[str, Any]) -> None:
    """NumPy's loops write an output with gaps as if it had none."""
    for n in (37, 100_000):
        x = numpy.tile([1, numpy.inf, numpy.nan, -2, -numpy.inf, 0, -0.0], n)[:n].astype(dtype)
        wanted = numpy.ones((n, 3), bool)
        wanted[:, 1] = wanted[::-1, 2] = getattr(numpy, name)(x)
        with lazynp.config(**settings):
            y = lazynp.ones((n, 3), bool)
            y[:, 1] = getattr(lazynp, name)(lazynp.array(x))
            y[::-1, 2] = getattr(lazynp, name)(lazynp.array(numpy.stack([x, x], 1))[:, 0])
            assert numpy.array_equal(numpy.asarray(y), wanted)


def test_texts_of_arrays_among_the_objects_of_a_buffer() -> None:
    for np in (numpy, lazynp):
        objects = numpy.array([None])
        objects[0] = np.array(1.25)
        made = np.array([memoryview(objects)], "S")
        assert (made.dtype.str, made.tolist()) == ("|S4", [[b"1.25"]])


def test_what_no_memory_could_hold_is_refused_at_once() -> None:
    wide = lazynp.broadcast_to(lazynp.array(0, "uint8"), 1 << 62)
    for make in (lambda: lazynp.array(wide), lambda: lazynp.array([wide])):
        with pytest.raises(MemoryError):
            make()


def test_texts_of_any_length_are_copied_where_the_dtype_is_another_one() -> None:
    kind = numpy.dtypes.StringDType
    x = lazynp.array(["a", "bc"], dtype=kind())
    assert lazynp.array(x, copy=None, dtype=x.dtype) is x
    assert not numpy.shares_memory(lazynp.array(x, copy=None, dtype=kind()), x)
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        lazynp.array(x, copy=False, dtype=kind())


@pytest.mark.parametrize("name", ["invert", "sign", "bitwise_count"])
def test_a_ufunc_at_no_places_refuses_what_it_refuses_elsewhere(name: str) -> None:
    for places in ([], [0]):
        raised: list[type] = []
        for np in (numpy, lazynp):
            x = np.array([True, False] if name == "sign" else [1.5, 2.5])
            with lazynp.config(mode="graph"), pytest.raises(TypeError) as info:
                getattr(np, name).at(x * x if name != "sign" else x | x, np.array(places, int))
            raised.append(info.type)
        assert raised[0] is raised[1]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_mean_of_no_halves_is_an_array_of_ours() -> None:
    with lazynp.config(mode="graph"):
        for kwargs in ({"axis": 0}, {"keepdims": True}, {"axis": (0, 1), "keepdims": True}):
            found = lazynp.zeros((0, 2), "float16").mean(**kwargs)
            assert type(found) is lazynp.ndarray
            assert (found.dtype, found.shape) == (numpy.float16, numpy.zeros((0, 2)).sum(**kwargs).shape)


def test_a_write_of_one_element_asks_no_method_of_a_subclass() -> None:
    found: list[list[Any]] = []
    for np in (numpy, lazynp):
        asked: list[Any] = []

        class Logged(np.ndarray):  # type: ignore[name-defined, misc]
            def __getitem__(self, key: Any) -> Any:
                asked.append(key)  # noqa: B023
                return super().__getitem__(key)

        with lazynp.config(mode="graph"):
            x = np.arange(12.0).reshape(3, 4).view(Logged)
            x += 1
            x[1, 2] = 5
            x[1] = 6
            x[...] = 7
        found.append(asked)
    assert found[0] == found[1] == [1]


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("size", [4, 300_000])
@pytest.mark.parametrize("way", ["slice", "places", "mask", "operand", "reflected", "in place", "flat"])
def test_the_masked_constant_in_a_list_is_asked_for_its_number(mode: str, size: int, way: str) -> None:
    found: list[Any] = []
    for np in (numpy, lazynp):
        with lazynp.config(mode=mode), pytest.warns(UserWarning, match="converting a masked element to nan"):
            x, listed = np.arange(float(size)) + 1, [np.ma.masked, 7]
            if way == "slice":
                x[:2] = listed
            elif way == "flat":
                x.flat[:2] = listed
            elif way == "places":
                x[[0, 1]] = listed
            elif way == "mask":
                x[x < 3] = listed
            elif way == "in place":
                x[:2] += listed
            else:
                x = x[:2] + listed if way == "operand" else listed - x[:2]
            found.append(x[:3].tolist())
    assert repr(found[0]) == repr(found[1])
    assert numpy.isnan(found[1][0])
