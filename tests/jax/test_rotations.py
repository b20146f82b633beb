"""`jax.scipy.spatial.transform` and `jax.scipy.special.hyp2f1`, against SciPy, whose functions they are (JAX takes
half a minute to compile them); errors against JAX."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import scipy.special
from agreement import disagreement, outcome
from scipy.spatial import transform as oracle

import lazynp.jax
from lazynp.jax.scipy.spatial import transform

jax.config.update("jax_platforms", "cpu")
j = lazynp.jax
ANGLES = np.array([[0.3, -0.4, 1.0], [2.0, 0.1, -3.0], [0.5, 1.2, 0.2]], "f4")
TIMES = np.array([0.0, 0.5, 1.7, 2.0], "f4")
Call = Callable[[Any], Any]


def rotations(m: Any) -> Any:
    return m.Rotation.from_euler("xyz", ANGLES)


def quaternions(r: Any) -> np.ndarray:
    return np.asarray(r.as_quat(canonical=True))


CALLS: dict[str, Call] = {
    **{
        name: lambda m, n=name: getattr(rotations(m), n)() for name in ("as_matrix", "as_mrp", "as_rotvec", "magnitude")
    },
    **{
        axes: lambda m, a=axes: m.Rotation.from_euler(a, ANGLES).as_matrix()
        for axes in ("xyz", "ZXZ", "zyx", "YXY", "XZY")
    },
    **{f"as {axes}": lambda m, a=axes: rotations(m).as_euler(a, degrees=True) for axes in ("xyz", "ZXZ", "zyx", "XZY")},
    "first number": lambda m: rotations(m).as_quat(canonical=True, scalar_first=True),
    "inverse": lambda m: quaternions(rotations(m).inv()),
    "mean": lambda m: quaternions(rotations(m).mean(np.array([1.0, 2.0, 3.0], "f4"))),
    "from matrix": lambda m: quaternions(m.Rotation.from_matrix(np.asarray(rotations(m).as_matrix()))),
    "from mrp": lambda m: quaternions(m.Rotation.from_mrp(np.asarray(rotations(m).as_mrp()))),
    "from rotvec": lambda m: quaternions(m.Rotation.from_rotvec(ANGLES)),
    "small": lambda m: quaternions(m.Rotation.from_rotvec(ANGLES * 1e-5)),
    "degrees": lambda m: m.Rotation.from_euler("z", 90, degrees=True).as_rotvec(degrees=True),
    "product": lambda m: quaternions(rotations(m) * rotations(m)[0]),
    "apply": lambda m: rotations(m).apply(ANGLES),
    "apply back": lambda m: rotations(m).apply(ANGLES[0], inverse=True),
    "together": lambda m: quaternions(m.Rotation.concatenate([rotations(m), rotations(m)])),
}


@pytest.mark.parametrize("name", CALLS)
def test_rotation(name: str) -> None:
    wanted, got = np.asarray(CALLS[name](oracle)), np.asarray(CALLS[name](transform))
    assert got.dtype == np.float32 and got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, atol=3e-6 * max(1, np.abs(wanted).max()))


def test_slerp() -> None:
    wanted = oracle.Slerp(np.arange(3.0), rotations(oracle))(TIMES)
    got = transform.Slerp.init(np.arange(3.0), rotations(transform))
    np.testing.assert_allclose(quaternions(got(TIMES)), quaternions(wanted), atol=2e-6)
    np.testing.assert_allclose(quaternions(got(0.5)), quaternions(wanted)[1], atol=2e-6)


def test_transformations() -> None:
    """A rotation is a tree; derivatives, also where the angle is 0 and its root has none."""
    matrix = lambda v: transform.Rotation.from_rotvec(v).as_matrix()
    one = j.jit(lambda r: r.as_rotvec())(rotations(transform))
    np.testing.assert_allclose(j.vmap(lambda v: matrix(v))(ANGLES), matrix(ANGLES), atol=1e-6)
    np.testing.assert_allclose(one, rotations(transform).as_rotvec(), atol=1e-6)
    slope = j.jacfwd(matrix)(ANGLES[0])
    near = (np.asarray(matrix(ANGLES[0] + np.float32([1e-2, 0, 0]))) - np.asarray(matrix(ANGLES[0]))) / 1e-2
    np.testing.assert_allclose(slope[..., 0], near, atol=1e-2)


WRONG: dict[str, Call] = {
    "slerp of one": lambda m: m.Slerp.init(np.arange(1.0), m.Rotation.identity()),
    "axis twice": lambda m: m.Rotation.from_euler("xx", ANGLES[:, :2]),
    "axes of both kinds": lambda m: m.Rotation.from_euler("xY", ANGLES[:, :2]),
    "too many axes": lambda m: m.Rotation.from_euler("xyzx", ANGLES),
    "two axes": lambda m: m.Rotation.identity().as_euler("xy"),
    "length of one": lambda m: len(m.Rotation.identity()),
    "part of one": lambda m: m.Rotation.identity()[0],
    "several": lambda m: m.Rotation.identity(3),
    "random": lambda m: m.Rotation.random(None),
}


def test_what_is_refused() -> None:
    theirs = importlib.import_module("jax.scipy.spatial.transform")
    for name, call in WRONG.items():
        wanted, got = outcome(lambda call=call: call(theirs)), outcome(lambda call=call: call(transform))
        assert wanted.error is not None and disagreement(name, wanted, got) is None, name


def test_hyp2f1() -> None:
    f = j.scipy.special.hyp2f1
    points = [(0.5, 1.0, 1.5, 0.3), (1.0, 2.0, 3.0, -0.9), (-2.0, 1.0, 1.5, 0.3), (1.0, 2.0, 1.0, 0.5), (1, 1, 0, 0.3)]
    a, b, c, x = np.array(points, "f4").T
    for got in (f(a, b, c, x), j.jit(f)(a, b, c, x), j.vmap(f)(a, b, c, x)):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, scipy.special.hyp2f1(a, b, c, x), rtol=1e-6)
    at = [0.5, 1.2, 1.5, 0.3]
    for i, slope in enumerate(j.grad(f, (0, 1, 2, 3))(*at)):
        ends = [scipy.special.hyp2f1(*[v + d * (k == i) for k, v in enumerate(at)]) for d in (1e-6, -1e-6)]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-4)
    assert not f(1, 2, 3, 0.5).weak_type
    with pytest.raises(ValueError, match="complex"):
        f(1j, 1.0, 1.0, 0.5)
