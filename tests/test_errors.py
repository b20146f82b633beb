"""Bad input: NumPy's exception type and message, in modes auto and graph."""

import numpy
import pytest

import lazynp


def big(np):
    """Arrays that NumPy and lazynp get alike."""
    a = np.arange(12.0).reshape(3, 4)
    i = np.arange(5)
    b = np.array([True, False, True])
    r = np.array([1.0, 2.0, 3.0])
    r.flags.writeable = False
    return a, i, b, r


def assign(target, key, value):
    target[key] = value


def inplace(target, name, value):
    getattr(target, f"__i{name}__")(value)


CASES = {
    # shapes that do not fit
    "add shapes": lambda np, a, i, b, r: a + np.ones(3),
    "add shapes 2": lambda np, a, i, b, r: np.ones((2, 3)) + np.ones((3, 2)),
    "sub 3-d": lambda np, a, i, b, r: np.ones((2, 1, 3)) - np.ones((4, 2)),
    "compare": lambda np, a, i, b, r: a < np.ones(5),
    "maximum": lambda np, a, i, b, r: np.maximum(a, np.ones((4, 3))),
    "power": lambda np, a, i, b, r: np.ones(2) ** np.ones(3),
    "inplace wider": lambda np, a, i, b, r: inplace(np.ones(3), "add", a[:, :3]),
    "inplace shapes": lambda np, a, i, b, r: inplace(np.ones(3), "mul", np.ones(4)),
    "matmul": lambda np, a, i, b, r: a @ a,
    "matmul 1-d": lambda np, a, i, b, r: a @ np.ones(3),
    "matmul scalar": lambda np, a, i, b, r: a @ 2,
    "dot": lambda np, a, i, b, r: np.dot(a, a),
    "a.dot": lambda np, a, i, b, r: a.dot(np.ones(3)),
    "inner": lambda np, a, i, b, r: np.inner(a, np.ones(3)),
    "vdot": lambda np, a, i, b, r: np.vdot(np.ones(3), np.ones(4)),
    "tensordot": lambda np, a, i, b, r: np.tensordot(a, a, axes=1),
    "einsum": lambda np, a, i, b, r: np.einsum("ij,jk", a, a),
    "einsum subscripts": lambda np, a, i, b, r: np.einsum("ijk", a),
    "concatenate": lambda np, a, i, b, r: np.concatenate([a, np.ones((2, 3))]),
    "concatenate ndim": lambda np, a, i, b, r: np.concatenate([a, np.ones(4)]),
    "concatenate none": lambda np, a, i, b, r: np.concatenate([]),
    "concatenate 0-d": lambda np, a, i, b, r: np.concatenate([1.0, 2.0]),
    "stack": lambda np, a, i, b, r: np.stack([a, np.ones(3)]),
    "vstack": lambda np, a, i, b, r: np.vstack([a, np.ones(3)]),
    "where": lambda np, a, i, b, r: np.where(a > 1, np.ones(3), 0),
    "where two": lambda np, a, i, b, r: np.where(a > 1, a),
    "reshape": lambda np, a, i, b, r: a.reshape(5, 2),
    "reshape two": lambda np, a, i, b, r: a.reshape(-1, -1),
    "reshape -1": lambda np, a, i, b, r: a.reshape(5, -1),
    "reshape negative": lambda np, a, i, b, r: a.reshape(-2, -6),
    "reshape order": lambda np, a, i, b, r: a.reshape(12, order="Z"),
    "reshape float": lambda np, a, i, b, r: a.reshape(2.0, 6),
    "np.reshape": lambda np, a, i, b, r: np.reshape(a, (7, 1)),
    "shape": lambda np, a, i, b, r: setattr(a, "shape", (5, 5)),
    "broadcast_to": lambda np, a, i, b, r: np.broadcast_to(a, (4, 3)),
    "broadcast_arrays": lambda np, a, i, b, r: np.broadcast_arrays(a, np.ones(3)),
    "resize": lambda np, a, i, b, r: a[1:].resize((2, 2)),
    "split": lambda np, a, i, b, r: np.split(a, 5),
    "append": lambda np, a, i, b, r: np.append(a, [1], axis=0),
    "insert": lambda np, a, i, b, r: np.insert(i, 9, 1),
    "delete": lambda np, a, i, b, r: np.delete(i, 9),
    "copyto": lambda np, a, i, b, r: np.copyto(a, np.ones(3)),
    "cross": lambda np, a, i, b, r: np.cross(np.ones(5), np.ones(5)),
    "assign region": lambda np, a, i, b, r: assign(a, slice(0, 2), np.ones((3, 4))),
    "assign column": lambda np, a, i, b, r: assign(a, (slice(None), 0), np.ones(4)),
    "assign mask": lambda np, a, i, b, r: assign(i, i > 2, np.ones(3)),
    "assign list": lambda np, a, i, b, r: assign(i, [0, 1], [1, 2, 3]),
    "assign element": lambda np, a, i, b, r: assign(i, 0, np.ones(2)),
    "assign ragged": lambda np, a, i, b, r: assign(a, 0, [1, [2]]),
    # axes
    "sum axis": lambda np, a, i, b, r: a.sum(axis=2),
    "np.sum axis": lambda np, a, i, b, r: np.sum(a, axis=-3),
    "sum twice": lambda np, a, i, b, r: a.sum(axis=(0, 0)),
    "sum float axis": lambda np, a, i, b, r: a.sum(axis=1.0),
    "mean axis": lambda np, a, i, b, r: a.mean(axis=5),
    "var axis": lambda np, a, i, b, r: np.var(a, axis=5),
    "max axis": lambda np, a, i, b, r: np.max(a, axis=2),
    "argmax axis": lambda np, a, i, b, r: a.argmax(axis=2),
    "cumsum axis": lambda np, a, i, b, r: np.cumsum(a, axis=2),
    "sort axis": lambda np, a, i, b, r: np.sort(a, axis=2),
    "sort kind": lambda np, a, i, b, r: a.sort(kind="fast"),
    "argsort axis": lambda np, a, i, b, r: a.argsort(axis=-3),
    "reduce axis": lambda np, a, i, b, r: np.add.reduce(a, axis=4),
    "accumulate axis": lambda np, a, i, b, r: np.add.accumulate(a, axis=4),
    "concatenate axis": lambda np, a, i, b, r: np.concatenate([a, a], axis=2),
    "stack axis": lambda np, a, i, b, r: np.stack([a, a], axis=4),
    "squeeze": lambda np, a, i, b, r: a.squeeze(axis=0),
    "squeeze axis": lambda np, a, i, b, r: a.squeeze(axis=3),
    "expand_dims": lambda np, a, i, b, r: np.expand_dims(a, 5),
    "swapaxes": lambda np, a, i, b, r: a.swapaxes(0, 2),
    "transpose": lambda np, a, i, b, r: a.transpose(0, 0),
    "transpose count": lambda np, a, i, b, r: a.transpose(0),
    "transpose axis": lambda np, a, i, b, r: a.transpose(0, 3),
    "moveaxis": lambda np, a, i, b, r: np.moveaxis(a, 0, 5),
    "flip": lambda np, a, i, b, r: np.flip(a, 3),
    "roll": lambda np, a, i, b, r: np.roll(a, 1, axis=3),
    "take axis": lambda np, a, i, b, r: a.take([0], axis=2),
    "repeat axis": lambda np, a, i, b, r: a.repeat(2, axis=2),
    "diff": lambda np, a, i, b, r: np.diff(a, n=-1),
    "mT": lambda np, a, i, b, r: i.mT,
    "trace": lambda np, a, i, b, r: i.trace(),
    "diagonal": lambda np, a, i, b, r: i.diagonal(),
    "sum of a scalar": lambda np, a, i, b, r: np.array(1.0).sum(axis=0, keepdims=3.5 > "a"),
    # indices
    "index": lambda np, a, i, b, r: a[3],
    "index negative": lambda np, a, i, b, r: i[-6],
    "index 2-d": lambda np, a, i, b, r: a[0, 4],
    "too many": lambda np, a, i, b, r: a[0, 0, 0],
    "two ellipses": lambda np, a, i, b, r: a[..., ...],
    "float index": lambda np, a, i, b, r: a[1.0],
    "float slice": lambda np, a, i, b, r: a[1.0:2.0],
    "string index": lambda np, a, i, b, r: a["x"],
    "step 0": lambda np, a, i, b, r: i[::0],
    "list out": lambda np, a, i, b, r: i[[0, 7]],
    "array out": lambda np, a, i, b, r: i[np.array([0, -8])],
    "float array": lambda np, a, i, b, r: i[np.array([0.0])],
    "mask length": lambda np, a, i, b, r: i[b],
    "mask shape": lambda np, a, i, b, r: a[np.ones((3, 3), bool)],
    "index arrays": lambda np, a, i, b, r: a[[0, 1], [0, 1, 2]],
    "assign out": lambda np, a, i, b, r: assign(i, 9, 1),
    "assign list out": lambda np, a, i, b, r: assign(i, [9], 1),
    "assign too many": lambda np, a, i, b, r: assign(i, (0, 0), 1),
    "take": lambda np, a, i, b, r: i.take([9]),
    "np.take": lambda np, a, i, b, r: np.take(a, [4], axis=0),
    "put": lambda np, a, i, b, r: i.put([9], [1]),
    "item": lambda np, a, i, b, r: a.item(99),
    "item many": lambda np, a, i, b, r: a.item(),
    "choose": lambda np, a, i, b, r: i.choose([1, 2]),
    "at": lambda np, a, i, b, r: np.add.at(i, [9], 1),
    "compress": lambda np, a, i, b, r: i.compress([True] * 9),
    "unravel_index": lambda np, a, i, b, r: np.unravel_index(99, (3, 4)),
    "take_along_axis": lambda np, a, i, b, r: np.take_along_axis(a, i, 0),
    "bincount": lambda np, a, i, b, r: np.bincount(np.array([-1])),
    # dtypes and casting
    "inplace cast": lambda np, a, i, b, r: inplace(i, "add", 1.5),
    "inplace divide": lambda np, a, i, b, r: inplace(i, "truediv", 2),
    "inplace complex": lambda np, a, i, b, r: inplace(a, "mul", 1j),
    "out cast": lambda np, a, i, b, r: np.add(a, 1, out=np.zeros((3, 4), int)),
    "out shape": lambda np, a, i, b, r: np.add(a, 1, out=np.zeros((4, 4))),
    "out kind": lambda np, a, i, b, r: np.add(a, 1, out=[1.0]),
    "casting no": lambda np, a, i, b, r: np.add(i, 1.5, casting="no"),
    "dtype loop": lambda np, a, i, b, r: np.add(a, 1, dtype="i4"),
    "copyto cast": lambda np, a, i, b, r: np.copyto(i, a[0, 0]),
    "astype casting": lambda np, a, i, b, r: a.astype(int, casting="safe"),
    "astype name": lambda np, a, i, b, r: a.astype("nonsense"),
    "invert float": lambda np, a, i, b, r: ~a,
    "and float": lambda np, a, i, b, r: a & 1,
    "shift float": lambda np, a, i, b, r: a << 1,
    "negative bool": lambda np, a, i, b, r: -b,
    "subtract bool": lambda np, a, i, b, r: b - b,
    "negative power": lambda np, a, i, b, r: i**-1,
    "uint overflow": lambda np, a, i, b, r: np.arange(3, dtype="u1") + 256,
    "uint negative": lambda np, a, i, b, r: np.arange(3, dtype="u1") * -1,
    "assign overflow": lambda np, a, i, b, r: assign(np.zeros(2, "i1"), 0, 300),
    "assign string": lambda np, a, i, b, r: assign(a, 0, "x"),
    "assign complex": lambda np, a, i, b, r: assign(a, (0, 0), 1j),
    "add string": lambda np, a, i, b, r: a + "x",
    "add None": lambda np, a, i, b, r: a + None,
    "sqrt string": lambda np, a, i, b, r: np.sqrt(np.array(["a"])),
    "sum string": lambda np, a, i, b, r: np.array(["a", "b"]).sum(),
    "order complex": lambda np, a, i, b, r: np.floor(np.array([1j])),
    "bincount float": lambda np, a, i, b, r: np.bincount(a[0]),
    "searchsorted side": lambda np, a, i, b, r: i.searchsorted(1, side="up"),
    "view": lambda np, a, i, b, r: np.arange(3, dtype="i4").view("i8"),
    # read-only
    "write": lambda np, a, i, b, r: assign(r, 0, 1.0),
    "write slice": lambda np, a, i, b, r: assign(r, slice(1, None), 0),
    "write view": lambda np, a, i, b, r: assign(r[1:], 0, 0),
    "write all": lambda np, a, i, b, r: assign(r, Ellipsis, 0),
    "write mask": lambda np, a, i, b, r: assign(r, r > 1, 0),
    "write inplace": lambda np, a, i, b, r: inplace(r, "add", 1),
    "write out": lambda np, a, i, b, r: np.add(r, 1, out=r),
    "write fill": lambda np, a, i, b, r: r.fill(0),
    "write sort": lambda np, a, i, b, r: r.sort(),
    "write put": lambda np, a, i, b, r: r.put(0, 1),
    "write copyto": lambda np, a, i, b, r: np.copyto(r, 0),
    "write flat": lambda np, a, i, b, r: assign(r.flat, 0, 1),
    "write broadcast": lambda np, a, i, b, r: assign(np.broadcast_to(a, (2, 3, 4)), 0, 1),
    "setflags": lambda np, a, i, b, r: np.frombuffer(b"12345678").setflags(write=True),
    # the rest
    "truth": lambda np, a, i, b, r: bool(a),
    "int": lambda np, a, i, b, r: int(a),
    "float": lambda np, a, i, b, r: float(a[0]),
    "index of": lambda np, a, i, b, r: [1, 2, 3][a],
    "len": lambda np, a, i, b, r: len(np.array(1)),
    "iter": lambda np, a, i, b, r: iter(np.array(1)),
    "hash": lambda np, a, i, b, r: hash(a),
    "max empty": lambda np, a, i, b, r: np.array([]).max(),
    "argmin empty": lambda np, a, i, b, r: np.array([]).argmin(),
    "min.reduce empty": lambda np, a, i, b, r: np.minimum.reduce(np.zeros((0, 3))),
    "zeros negative": lambda np, a, i, b, r: np.zeros(-1),
    "ones dtype": lambda np, a, i, b, r: np.ones(2, dtype="nope"),
    "arange": lambda np, a, i, b, r: np.arange(),
    "arange step": lambda np, a, i, b, r: np.arange(0, 1, 0),
    "linspace": lambda np, a, i, b, r: np.linspace(0, 1, -1),
    "eye": lambda np, a, i, b, r: np.eye(-1),
    "array ragged": lambda np, a, i, b, r: np.array([[1], [1, 2]]),
    "too many arguments": lambda np, a, i, b, r: np.sin(1, 2, 3),
    "too few arguments": lambda np, a, i, b, r: np.add(1),
    "unknown keyword": lambda np, a, i, b, r: np.sin(a, axis=0),
    "clip": lambda np, a, i, b, r: a.clip(np.ones(3), 2),
    "percentile": lambda np, a, i, b, r: np.percentile(a, 101),
    "histogram": lambda np, a, i, b, r: np.histogram(a, bins=0),
    "interp": lambda np, a, i, b, r: np.interp(1.0, [1, 2], [1]),
    "inv": lambda np, a, i, b, r: np.linalg.inv(a),
    "singular": lambda np, a, i, b, r: np.linalg.inv(np.zeros((2, 2))),
    "cholesky": lambda np, a, i, b, r: np.linalg.cholesky(-np.eye(2)),
    "solve": lambda np, a, i, b, r: np.linalg.solve(np.eye(3), np.ones(2)),
    "fft": lambda np, a, i, b, r: np.fft.fft(a, axis=3),
    "fft n": lambda np, a, i, b, r: np.fft.fft(a, n=-1),
    "attribute": lambda np, a, i, b, r: a.nothing,
    "setattr": lambda np, a, i, b, r: setattr(a, "nothing", 1),
    "dtype object": lambda np, a, i, b, r: np.array([1, "a"], dtype=float),
    "correlate": lambda np, a, i, b, r: np.correlate(np.array([]), i),
    "rng": lambda np, a, i, b, r: np.random.default_rng(0).normal(scale=-1),
    "choice": lambda np, a, i, b, r: np.random.default_rng(0).choice(i, 9, replace=False),
}


def outcome(np, case):
    """The exception that a case raises."""
    try:
        with numpy.errstate(all="ignore"):
            value = case(np, *big(np))
        numpy.asarray(value)  # computes it
    except Exception as error:
        return error
    return None


def text(error: Exception) -> str:
    """The message; a class written in Python is named without its module in some of Python's own messages."""
    return str(error).replace("lazynp", "numpy").replace("numpy.ndarray", "ndarray")


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("name", CASES)
def test_errors(name: str, mode: str) -> None:
    expected = outcome(numpy, CASES[name])
    assert expected is not None, "no error in NumPy"
    with lazynp.config(mode=mode):
        got = outcome(lazynp, CASES[name])
    assert type(got) is type(expected), got
    assert text(got) == text(expected)


def test_enough_cases() -> None:
    assert len(CASES) >= 100
