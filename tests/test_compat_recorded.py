"""Causes of failure that NumPy's own tests showed with the shortcut for small arrays off: large arrays met them too."""

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np


@pytest.fixture(autouse=True)
def _recorded() -> Iterator[None]:
    with np.config(mode="graph"):
        yield


@pytest.mark.parametrize("mode", ["reduced", "complete", "raw", "r"])
def test_factors_written_over_the_matrix(mode: str) -> None:
    x = numpy.arange(12.0).reshape(4, 3) ** 1.5
    ours, theirs = np.linalg.qr(np.array(x) + 0, mode), numpy.linalg.qr(x, mode)
    for a, b in zip(ours if type(ours) is not np.ndarray else [ours], theirs if mode != "r" else [theirs], strict=True):
        numpy.testing.assert_allclose(numpy.asarray(a), b, atol=1e-12)


def test_factors_of_a_large_matrix() -> None:
    x = numpy.random.default_rng(0).random((500, 500))
    with np.config(mode="auto"):
        q, r = np.linalg.qr(np.array(x) * 1.0)
        numpy.testing.assert_allclose(numpy.asarray(q @ r), x, atol=1e-10)


def test_copies_share_no_memory() -> None:
    a = np.arange(10)
    for other in (a.copy(), a.astype(a.dtype), np.array(a), np.arange(10)):
        assert not np.shares_memory(a, other)
        assert not np.may_share_memory(a, other)
    assert np.shares_memory(a, a[2:])
    assert not np.shares_memory(a[::2], a[1::2])
    assert np.may_share_memory(a[::2], a[1::2])


def test_ints_that_do_not_fit() -> None:
    a = np.zeros(6, int)
    for value in (2**63, -(2**63) - 1, 2**70):
        with pytest.raises(OverflowError):
            a[1:4] = value
        with pytest.raises(OverflowError):
            a[2] = value
    b = np.zeros(3)
    b[1:] = 2**70
    assert b.tolist() == [0, 2.0**70, 2.0**70]


def test_casting_of_scalars() -> None:
    with pytest.raises(TypeError):
        np.copyto(np.arange(3, dtype="u1"), 3, casting="equiv")
    with pytest.raises(TypeError):
        np.copyto(np.arange(3), 3.0, casting="safe")
    a = np.arange(3.0, dtype="f4")
    np.copyto(a, 3.0, casting="safe")
    assert a.tolist() == [3, 3, 3]


def test_iterators_write_back() -> None:
    a = np.arange(24.0).reshape(2, 3, 4).T
    flags = [["readwrite", "updateifcopy"]]
    with np.nditer(a, [], flags, casting="same_kind", op_dtypes=[np.dtype("f4")]) as it:
        it.operands[0][2, 1, 1] = -12.5
        assert a[2, 1, 1] != -12.5
    assert a[2, 1, 1] == -12.5
    b = np.arange(6)
    with np.nditer(b, ["buffered"], ["readwrite"], casting="unsafe", op_dtypes=["f8"], buffersize=4) as it:
        for x in it:
            x[...] = 2 * x
    assert b.tolist() == [0, 2, 4, 6, 8, 10]


def test_dtypes_that_values_decide() -> None:
    assert np.array(np.array(1.2, dtype=object), dtype="S").dtype == "S3"
    assert np.array(np.array([""] * 10, dtype=object), dtype="S").dtype == "S8"
    with pytest.raises(TypeError, match=r"Cannot convert np\.dtype"):
        np.array(np.ones(10), dtype=np.dtype)
    with pytest.raises(ValueError, match="CopyMode"):
        np.arange(3).astype(float, copy=np._CopyMode.NEVER)


def test_many_axes() -> None:
    a = np.ones((1,) * 40)
    assert (a + a).shape == (1,) * 40
    assert (a * 2)[(0,) * 40] == 2


def test_negative_powers_of_ints_are_an_error_at_the_call() -> None:
    with pytest.raises(ValueError, match="negative integer powers"):
        np.array([0, 1, 2, 3]) ** (np.array([0, 1, 2, -3]) + 0)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32"])
def test_rounded_integers_are_copies_and_those_of_0_d_scalars(dtype: str) -> None:
    """Copies from NumPy 2.3 on: before, integers that are rounded are the array itself."""

    def rounded(xp: Any) -> list[Any]:
        a = xp.array([3, 5], dtype)
        b = a.round()
        b[0] = 0
        return [a.tolist(), b.tolist(), b.dtype, b is a]

    assert rounded(np) == rounded(numpy)
    for zero_d in (np.array(5, dtype), np.array(5, dtype) * np.array(1, dtype)):
        wanted = np.round(numpy.array(5, dtype))
        assert type(np.round(np.array(zero_d))) is type(wanted)


def test_an_iterator_has_numpy_s_methods() -> None:
    names = {name for name, f in vars(numpy.nditer).items() if callable(f) and name[0] != "_"}
    assert names <= set(vars(np.nditer))
    it = np.nditer(np.arange(6).reshape(2, 3), flags=["multi_index"])
    it.remove_multi_index()
    assert [int(x) for x in it] == [0, 1, 2, 3, 4, 5]
    it.reset()
    assert it.iternext()
    it.close()


def test_copy_takes_no_text() -> None:
    with pytest.raises(ValueError, match="strings are not allowed for 'copy' keyword"):
        np.array([1, 2, 3], copy="always")
