"""Every op's abstract value is what NumPy gives, values are NumPy's, and errors are NumPy's."""

# ruff: noqa: B023 (the lambdas are called at once)
from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from op_cases import Case
from test_rules import CASES, as_list, constant, rng_of
from verify import verify

from lazynp.backends.numpy.evaluate import evaluate
from lazynp.graph.node import Node
from lazynp.graph.op import results
from lazynp.ops import (
    contraction,
    creation,
    elementwise,
    fft,
    indexing,
    joining,
    linalg,
    reductions,
    scans,
    shape,
    sorting,
)
from lazynp.ops.einsum import einsum
from lazynp.ops.ufuncs import UFUNCS, ufuncs

pytestmark = pytest.mark.filterwarnings(
    "ignore::RuntimeWarning", "ignore::DeprecationWarning", "ignore::numpy.exceptions.ComplexWarning"
)
DTYPES = [np.dtype(c) for c in "?bhilBHILefdFD"] + [np.dtype(ml_dtypes.bfloat16)]
DTYPES = list(dict.fromkeys(DTYPES))
FLOATS = [d for d in DTYPES if d.kind in "fc" and d.itemsize > 2]


def sample(dtype: np.dtype[Any], *dims: int) -> np.ndarray:
    """Small positive numbers, exact in every dtype."""
    return (np.arange(int(np.prod(dims))).reshape(dims) % 3 + 1).astype(dtype)


def outcome(function: Callable[[], Any]) -> Any:
    """The value, or the exception's type and text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except Exception as error:
            return type(error), str(error)


def run(*nodes: Node) -> Any:
    verify(nodes)
    got = evaluate(nodes)
    return got[0] if len(nodes) == 1 else got


def same(ours: Any, theirs: Any) -> None:
    """Equal to the bit: dtype, shape, values, NaN and the sign of zero."""
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert ours == theirs
        return
    assert not (isinstance(ours, tuple) and isinstance(ours[0], type)), (ours, theirs)
    theirs = np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if theirs.dtype.kind == "V":  # bfloat16, whose NaN the comparison does not know
        ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
    np.testing.assert_array_equal(ours, theirs)
    if theirs.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_abstract_values_are_actual(case: Case) -> None:
    """`evaluate` asserts it of every node on the way, and `verify` that they are legal."""
    outputs = as_list(case.build(*[constant(x) for x in case.make(rng_of(case))]))
    verify(outputs)
    for node, value in zip(outputs, evaluate(outputs), strict=True):
        assert (node.shape, node.dtype) == (value.shape, value.dtype)


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_over_dtypes(name: str) -> None:
    ufunc, op = getattr(np, name), ufuncs[name]
    scalars = [2, 1.5, 1j, True] if ufunc.nin == 2 else []
    for operands in itertools.product([*DTYPES, *scalars], repeat=ufunc.nin):
        if not any(isinstance(d, np.dtype) for d in operands):
            continue
        args = [sample(d, *((2, 1), (3,))[i]) if isinstance(d, np.dtype) else d for i, d in enumerate(operands)]
        theirs = outcome(lambda: ufunc(*args))
        ours = outcome(lambda: run(op(*[constant(a) if isinstance(a, np.ndarray) else a for a in args])))
        if isinstance(theirs, tuple) and isinstance(ours, tuple):
            assert issubclass(ours[0], theirs[0]) or issubclass(theirs[0], ours[0]), operands
        else:
            same(ours, theirs)


@pytest.mark.parametrize("name", ["divmod", "modf", "frexp"])
def test_ufuncs_of_several_results(name: str) -> None:
    op = {"divmod": elementwise.divmod_, "modf": elementwise.modf, "frexp": elementwise.frexp}[name]
    ufunc = getattr(np, name)
    for dtypes in itertools.product([d for d in DTYPES if d.kind not in "cV?"], repeat=ufunc.nin):
        args = [sample(d, *((2, 1), (3,))[i]) for i, d in enumerate(dtypes)]
        for i, theirs in enumerate(ufunc(*args)):
            same(run(op(*map(constant, args), i=i)), theirs)


@pytest.mark.parametrize("name", list(reductions.reductions))
def test_reductions_over_dtypes(name: str) -> None:
    ufunc, op = getattr(np, name), reductions.reductions[name]
    for dtype in DTYPES:
        if name == "ldexp" or (name == "power" and dtype.kind in "iu"):
            continue
        for dims, axes, keepdims in (
            ((3,), (0,), False),
            ((2, 3), (1,), True),
            ((2, 3), (0, 1), False),
            ((0, 2), (0,), False),
            ((2,), (), True),
        ):
            x = sample(dtype, *dims)
            axis = axes[0] if len(axes) == 1 else axes
            theirs = outcome(lambda: ufunc.reduce(x, axis=axis, keepdims=keepdims))
            ours = outcome(lambda: run(op(constant(x), axes=axes, keepdims=keepdims, dtype=None)))
            if isinstance(theirs, tuple):
                assert isinstance(ours, tuple), (dtype, dims)
                assert ours[0] is theirs[0]
                assert ours[1] == theirs[1] or theirs[0] is TypeError
            else:
                same(ours, theirs)


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "logical_and", "bitwise_or", "logaddexp"])
def test_scans_over_dtypes(name: str) -> None:
    for dtype, axis in itertools.product(DTYPES, (0, 1)):
        x = sample(dtype, 2, 3)
        theirs = outcome(lambda: getattr(np, name).accumulate(x, axis=axis))
        ours = outcome(lambda: run(scans.scans[name](constant(x), axis=axis, dtype=None)))
        if isinstance(theirs, tuple):
            assert ours[0] is theirs[0]
        else:
            same(ours, theirs)


@pytest.mark.parametrize("dtype", DTYPES[:-1], ids=str)
@pytest.mark.parametrize("function", ["mean", "var", "std"])
def test_mean_and_variance_are_numpys_to_the_bit(function: str, dtype: np.dtype[Any]) -> None:
    x = (np.random.default_rng(0).normal(size=(5, 7, 3)) * 10).astype(dtype)
    for axes, keepdims in (((0,), False), ((0, 2), True), ((0, 1, 2), False)):
        theirs = outcome(lambda: getattr(np, function)(x, axis=axes, keepdims=keepdims))
        ours = outcome(lambda: run(getattr(reductions, function)(constant(x), axes, keepdims)))
        if isinstance(theirs, tuple):
            assert ours[0] is theirs[0]
        else:
            same(ours, theirs)


def test_reduce_with_where_and_initial() -> None:
    x = np.random.default_rng(0).integers(-4, 9, (4, 5))
    mask = x > 0
    for name in ("add", "multiply", "maximum", "logical_or", "bitwise_and"):
        for kwargs in ({"where": mask, "initial": 3}, {"initial": -7}, {"where": mask[0]}):
            theirs = outcome(lambda: getattr(np, name).reduce(x, axis=0, **kwargs))
            where = kwargs.get("where")
            ours = outcome(
                lambda: run(
                    reductions.reduce(
                        name,
                        constant(x),
                        (0,),
                        initial=kwargs.get("initial"),
                        where_=None if where is None else constant(where),
                    )
                )
            )
            same(ours, theirs)
    same(run(reductions.reduce("maximum", constant(np.zeros((0, 3))), (0,), initial=2.0)), np.full(3, 2.0))


# Views, writes, indices.

SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_basic_indices_read_and_write(data: st.DataObject) -> None:
    dims = data.draw(SHAPES)
    index = data.draw(hnp.basic_indices(dims, allow_newaxis=True))
    index = index if isinstance(index, tuple) else (index,)
    x = np.arange(float(np.prod(dims))).reshape(dims)
    key: list[Any] = []
    source = iter(enumerate(dims))
    taken = sum(k is not None and k is not Ellipsis for k in index)
    full = [k for i in index for k in ([slice(None)] * (len(dims) - taken) if i is Ellipsis else [i])]
    full += [slice(None)] * (len(dims) - sum(k is not None for k in full))
    for k in full:
        if k is None:
            key.append(None)
            continue
        n = next(source)[1]
        if isinstance(k, slice):
            r = range(*k.indices(n))
            key.append((r.start, len(r), r.step) if len(r) else (0, 0, 1))
        else:
            key.append(int(k) % n)
    node = shape.slice_(constant(x), key=tuple(key))
    same(run(node), x[index])
    if None not in key:
        expected = x.copy()
        expected[index] = -1
        same(run(shape.set_(constant(x), np.float64(-1), key=tuple(key))), expected)


@st.composite
def advanced_indices(draw: st.DrawFn, dims: tuple[int, ...]) -> tuple[Any, ...]:
    """Slices, None, Ellipsis, ints and index arrays, at least one of these."""
    common = draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=3))
    out: list[Any] = []
    for n in dims:
        if draw(st.integers(0, 5)) == 0:
            out.append(None)
        kind = draw(st.sampled_from(["slice", "array", "array", "int"]))
        if kind == "slice":
            out.append(draw(st.slices(n)))
        elif kind == "int":
            out.append(draw(st.integers(-n, n - 1)))
        else:
            out.append(draw(hnp.arrays(np.int64, common, elements=st.integers(-n, n - 1))))
    if not any(isinstance(k, np.ndarray) for k in out):
        out[-1] = np.array([0, -1])
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(out)))
        gap = out[cut : cut + 1] if out[cut : cut + 1] and isinstance(out[cut], slice) else None
        out[cut : cut + (gap is not None)] = [Ellipsis]
    return tuple(out)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_advanced_indices_read_and_write(data: st.DataObject) -> None:
    dims = data.draw(SHAPES)
    index = data.draw(advanced_indices(dims))
    x = np.arange(float(np.prod(dims))).reshape(dims)
    expected = outcome(lambda: x[index])
    if isinstance(expected, tuple):
        return
    key, axes, at, arrays = indexing.split_index(dims, index)
    nodes = [constant(np.asarray(a)) for a in arrays]
    view = shape.slice_(constant(x), key=key)
    same(run(indexing.gather(view, *nodes, axes=axes, at=at, bounds="raise")), expected)
    value = np.arange(float(expected.size)).reshape(expected.shape)
    written = run(indexing.scatter(view, constant(value), *nodes, axes=axes, at=at, bounds="raise", mode="set"))
    target = x.copy()
    target[index] = value
    same(written, target[tuple([k if not isinstance(k, tuple) else shape.as_index((k,))[0] for k in key])])
    summed = run(indexing.scatter(view, constant(value), *nodes, axes=axes, at=at, bounds="raise", mode="add"))
    target = x.copy()
    np.add.at(target, index, value)
    same(summed, target[shape.as_index(key)])


def test_bounds() -> None:
    x, i = np.arange(6.0).reshape(3, 2), np.array([1, 5, -7])
    same(run(indexing.take(constant(x), constant(i), 0, "clip")), np.take(x, i, 0, mode="clip"))
    same(run(indexing.take(constant(x), constant(i), 0, "wrap")), np.take(x, i, 0, mode="wrap"))
    same(run(indexing.take(constant(x), constant(i), 0, "zero")), np.array([[2.0, 3], [0, 0], [0, 0]]))
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 3"):
        run(indexing.take(constant(x), constant(i), 0))
    dropped = run(indexing.scatter(constant(x), np.float64(9), constant(i), axes=(0,), at=0, bounds="drop", mode="set"))
    same(dropped, np.array([[0.0, 1], [9, 9], [4, 5]]))


def test_take_along_axis_and_lexsort() -> None:
    rng = np.random.default_rng(1)
    x, i = rng.random((3, 4)), rng.integers(0, 4, (1, 2))
    same(
        run(indexing.take_along_axis(constant(x), constant(i), 1)), np.take_along_axis(x, np.broadcast_to(i, (3, 2)), 1)
    )
    keys = rng.integers(0, 3, (3, 20))
    same(run(sorting.lexsort([constant(k) for k in keys], 0)), np.lexsort(keys))


def test_joining_and_creation_are_numpys() -> None:
    x, y = sample(np.dtype(np.int8), 2, 3), sample(np.dtype(np.float32), 2, 3)
    same(run(joining.concatenate(constant(x), constant(y), axis=0)), np.concatenate([x, y]))
    same(run(joining.stack(constant(x), constant(x), axis=2)), np.stack([x, x], 2))
    same(run(joining.flip(constant(x), (1,))), np.flip(x, 1))
    same(run(joining.roll(constant(x), axes=(0, 1), shifts=(1, 5))), np.roll(x, (1, 5), (0, 1)))
    same(run(joining.pad(constant(x), [(1, 2), (0, 3)], 7)), np.pad(x, [(1, 2), (0, 3)], constant_values=7))
    same(run(joining.repeat(constant(x), 2, 1)), np.repeat(x, 2, 1))
    same(run(joining.tile(constant(x), (3, 2))), np.tile(x, (3, 2)))
    same(run(creation.iota(4)), np.arange(4))
    same(run(creation.tri(3, 4, 1)), np.tri(3, 4, 1))
    same(run(creation.eye(3, 4, -1, np.dtype(np.int16))), np.eye(3, 4, -1, np.int16))
    same(run(creation.full((2, 2), 3, np.dtype(np.float32))), np.full((2, 2), 3, np.float32))
    same(run(creation.triu(constant(y), 1)), np.triu(y, 1))
    for start, stop, step in ((0, 10, 3), (0.1, 2.0, 0.1), (5, -2, -1), (1.0, 1e3, 0.7)):
        expected = np.arange(start, stop, step)
        same(run(creation.arange(dtype=expected.dtype, start=start, step=step, n=len(expected))), expected)


# Libraries.


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_einsum(data: st.DataObject) -> None:
    sizes = {c: data.draw(st.integers(1, 3)) for c in "abcd"}
    terms = data.draw(st.lists(st.text("abcd", min_size=0, max_size=3), min_size=1, max_size=3))
    used = sorted(set("".join(terms)))
    output = "".join(
        data.draw(st.permutations(data.draw(st.lists(st.sampled_from(used), unique=True)) if used else []))
    )
    text = ",".join(terms) + "->" + output
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-3, 4, [sizes[c] for c in t]) for t in terms]
    same(
        run(einsum(text, *map(constant, arrays), optimize=data.draw(st.sampled_from([True, False, "greedy"])))),
        np.einsum(text, *arrays),
    )


@pytest.mark.parametrize("name", ["matmul", "vecdot", "matvec", "vecmat"])
def test_products_over_shapes_and_dtypes(name: str) -> None:
    shapes = [(), (3,), (2,), (2, 3), (3, 2), (3, 3), (2, 1, 3, 3), (4, 3, 2), (5, 2, 3)]
    function, op = getattr(np, name), getattr(contraction, name)
    for a, b in itertools.product(shapes, repeat=2):
        x, y = sample(np.dtype(float), *a), sample(np.dtype(float), *b)
        theirs, ours = outcome(lambda: function(x, y)), outcome(lambda: run(op(constant(x), constant(y))))
        same(ours, theirs)
    for d, e in itertools.product(DTYPES[:-1], repeat=2):
        x, y = sample(d, 3, 3), sample(e, 3)
        args = (y, x) if name == "vecmat" else (x, y)
        same(outcome(lambda: run(op(*map(constant, args)))), outcome(lambda: function(*args)))


def test_dot_inner_outer_tensordot() -> None:
    shapes = [(), (3,), (2, 3), (3, 2), (2, 3, 3)]
    for name, a, b in itertools.product(("dot", "inner", "outer"), shapes, shapes):
        x, y = sample(np.dtype(int), *a), sample(np.dtype(int), *b)
        ours = outcome(lambda: run(getattr(contraction, name)(constant(x), constant(y))))
        same(ours, outcome(lambda: getattr(np, name)(x, y)))
    x, y = sample(np.dtype(int), 2, 3, 4), sample(np.dtype(int), 4, 2, 5)
    same(run(contraction.tensordot(constant(x), constant(y), (0, 2), (1, 0))), np.tensordot(x, y, ((0, 2), (1, 0))))
    with pytest.raises(ValueError, match="shape-mismatch for sum"):
        contraction.tensordot(constant(x), constant(y), (0, 1), (1, 0))


@pytest.mark.parametrize("dtype", DTYPES[:-1], ids=str)
def test_linalg_over_dtypes(dtype: np.dtype[Any]) -> None:
    a = (np.eye(3) * 2 + 1).astype(dtype)
    calls = {
        "inv": {},
        "det": {},
        "slogdet": {},
        "cholesky": {"upper": True},
        "qr": {"mode": "reduced"},
        "eigh": {"UPLO": "L"},
        "eigvalsh": {"UPLO": "U"},
        "svd": {"full_matrices": False},
        "svdvals": {},
        "pinv": {},
    }
    for name, params in calls.items():

        def ours(name: str = name, params: Any = params) -> list[Any]:
            node = getattr(linalg, name)(constant(a), **params)
            return evaluate(results(node) if node.dtype is None else [node])

        theirs = outcome(lambda: getattr(np.linalg, name)(a, **params))
        got = outcome(ours)
        if isinstance(theirs, tuple) and isinstance(theirs[0], type):
            assert got == theirs
            continue
        for o, t in zip(got, theirs if isinstance(theirs, tuple) else [theirs], strict=True):
            same(o, t)


def test_eig_is_complex() -> None:
    w, v = results(linalg.eig(constant(np.diag([1.0, 2.0]))))
    assert w.dtype == v.dtype == np.complex128
    same(run(linalg.eigvals(constant(np.diag([1, 2]).astype(np.float32)))), np.array([1, 2], np.complex64))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_fft_over_dtypes(name: str) -> None:
    for dtype, n, norm in itertools.product(DTYPES[:-1], (3, 4, 6), ("backward", "ortho", "forward")):
        x = sample(dtype, 4, 2)
        theirs = outcome(lambda: getattr(np.fft, name)(x, n, 0, norm))
        ours = outcome(lambda: run(getattr(fft, name)(constant(x), axis=0, norm=norm, n=n)))
        if isinstance(theirs, tuple):
            assert ours[0] is theirs[0]
        else:
            same(ours, theirs)


def array(*dims: int, dtype: Any = float) -> np.ndarray:
    return np.ones(dims, dtype)


ERRORS: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
    ("add shapes", lambda: elementwise.add(constant(array(2)), constant(array(3))), lambda: np.add(array(2), array(3))),
    ("invert float", lambda: elementwise.invert(constant(array(2))), lambda: np.invert(array(2))),
    (
        "matmul scalar",
        lambda: contraction.matmul(constant(array()), constant(array(2))),
        lambda: np.matmul(array(), array(2)),
    ),
    (
        "matmul core",
        lambda: contraction.matmul(constant(array(2, 3)), constant(array(2, 3))),
        lambda: np.matmul(array(2, 3), array(2, 3)),
    ),
    (
        "matmul stack",
        lambda: contraction.matmul(constant(array(2, 3, 3)), constant(array(4, 3, 3))),
        lambda: np.matmul(array(2, 3, 3), array(4, 3, 3)),
    ),
    (
        "dot",
        lambda: contraction.dot(constant(array(2, 3)), constant(array(2, 3))),
        lambda: np.dot(array(2, 3), array(2, 3)),
    ),
    (
        "solve",
        lambda: linalg.solve(constant(array(2, 3)), constant(array(2))),
        lambda: np.linalg.solve(array(2, 3), array(2)),
    ),
    (
        "solve sizes",
        lambda: linalg.solve(constant(array(2, 2)), constant(array(3))),
        lambda: np.linalg.solve(array(2, 2), array(3)),
    ),
    ("inv 1-d", lambda: linalg.inv(constant(array(2))), lambda: np.linalg.inv(array(2))),
    ("det", lambda: linalg.det(constant(array(2, 3))), lambda: np.linalg.det(array(2, 3))),
    ("half", lambda: linalg.inv(constant(array(2, 2, dtype="f2"))), lambda: np.linalg.inv(array(2, 2, dtype="f2"))),
    ("cholesky", lambda: linalg.cholesky(constant(array(2, 3)), upper=False), lambda: np.linalg.cholesky(array(2, 3))),
    (
        "lstsq",
        lambda: linalg.lstsq(constant(array(2, 3)), constant(array(3, 1)), rcond=None),
        lambda: np.linalg.lstsq(array(2, 3), array(3, 1)),
    ),
    ("singular", lambda: evaluate([linalg.inv(constant(array(2, 2)))]), lambda: np.linalg.inv(array(2, 2))),
    (
        "max of none",
        lambda: reductions.maximum_reduce(constant(array(0, 2)), axes=(0,), keepdims=False, dtype=None),
        lambda: np.maximum.reduce(array(0, 2), axis=0),
    ),
    (
        "max where",
        lambda: reductions.reduce("maximum", constant(array(3)), (0,), where_=constant(array(3, dtype=bool))),
        lambda: np.maximum.reduce(array(3), axis=0, where=array(3, dtype=bool)),
    ),
    (
        "subtract",
        lambda: reductions.reductions["subtract"](constant(array(2, 2)), axes=(0, 1), keepdims=False, dtype=None),
        lambda: np.subtract.reduce(array(2, 2), axis=(0, 1)),
    ),
    (
        "argmax of none",
        lambda: reductions.argmax(constant(array(0)), axis=0, keepdims=False),
        lambda: np.argmax(array(0), axis=0),
    ),
    (
        "concatenate",
        lambda: joining.concatenate(constant(array(2, 3)), constant(array(2, 4)), axis=0),
        lambda: np.concatenate([array(2, 3), array(2, 4)]),
    ),
    (
        "concatenate ranks",
        lambda: joining.concatenate(constant(array(2)), constant(array(2, 2)), axis=0),
        lambda: np.concatenate([array(2), array(2, 2)]),
    ),
    ("partition", lambda: sorting.partition(constant(array(3)), axis=0, kth=(5,)), lambda: np.partition(array(3), 5)),
    (
        "searchsorted",
        lambda: sorting.searchsorted(constant(array(2, 2)), constant(array(1)), side="left", stack=0),
        lambda: np.searchsorted(array(2, 2), array(1)),
    ),
    ("fft", lambda: fft.fft(constant(array(3)), axis=0, norm="backward", n=0), lambda: np.fft.fft(array(3), 0)),
    (
        "rfft of complex",
        lambda: fft.rfft(constant(array(3, dtype=complex)), axis=0, norm="backward", n=3),
        lambda: np.fft.rfft(array(3, dtype=complex)),
    ),
    (
        "index arrays",
        lambda: indexing.gather(
            constant(array(3, 3)),
            constant(array(2, dtype=int)),
            constant(array(3, dtype=int)),
            axes=(0, 1),
            at=0,
            bounds="raise",
        ),
        lambda: array(3, 3)[array(2, dtype=int), array(3, dtype=int)],
    ),
    ("float index", lambda: indexing.take(constant(array(3)), constant(array(2)), 0), lambda: array(3)[array(2)]),
    ("too many", lambda: indexing.split_index((3,), (0, 0)), lambda: array(3)[0, 0]),
    ("two dots", lambda: indexing.split_index((3, 3), (..., 0, ...)), lambda: array(3, 3)[..., 0, ...]),
    (
        "write shape",
        lambda: indexing.scatter(
            constant(array(3)),
            constant(array(4)),
            constant(array(2, dtype=int)),
            axes=(0,),
            at=0,
            bounds="raise",
            mode="set",
        ),
        lambda: array(3).__setitem__((array(2, dtype=int),), array(4)),
    ),
    (
        "einsum sizes",
        lambda: einsum("ij,jk", constant(array(2, 3)), constant(array(2, 3))),
        lambda: np.einsum("ij,jk", array(2, 3), array(2, 3)),
    ),
    ("einsum ranks", lambda: einsum("ij", constant(array(2))), lambda: np.einsum("ij", array(2))),
    ("einsum output", lambda: einsum("ij->k", constant(array(2, 2))), lambda: np.einsum("ij->k", array(2, 2))),
]


@pytest.mark.parametrize(("ours", "theirs"), [e[1:] for e in ERRORS], ids=[e[0] for e in ERRORS])
def test_errors_are_numpys(ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    with pytest.raises(Exception) as expected:
        theirs()
    with pytest.raises(expected.type) as got:
        ours()
    assert str(got.value) == str(expected.value)
