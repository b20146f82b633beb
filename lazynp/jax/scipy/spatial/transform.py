"""`jax.scipy.spatial.transform`: rotations of three-dimensional space, as unit quaternions (x, y, z, w)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ....tracebacks import bound_all as _bound_all
from ... import numpy as jnp
from ...array import Array

__all__ = ["Rotation", "Slerp"]
SMALL = 1e-3  # angles up to which functions of them are taken from their series
NO_ANGLE = 1e-7


def parts(q: Array) -> list[Array]:
    """The four numbers of quaternions."""
    return [q[..., i] for i in range(4)]


def normalized(q: Array) -> Array:
    return q / jnp.linalg.norm(q, axis=-1, keepdims=True)


def product(p: Array, q: Array) -> Array:
    """The quaternion of q first, then p."""
    px, py, pz, pw = parts(p)
    qx, qy, qz, qw = parts(q)
    return jnp.stack(
        [
            pw * qx + qw * px + py * qz - pz * qy,
            pw * qy + qw * py + pz * qx - px * qz,
            pw * qz + qw * pz + px * qy - py * qx,
            pw * qw - px * qx - py * qy - pz * qz,
        ],
        axis=-1,
    )


def check_axes(seq: str) -> bool:
    """Whether axes are those of the body (capital letters). Raises ValueError for other letters, and for an axis
    twice in a row."""
    intrinsic = re.fullmatch("[XYZ]{1,3}", seq) is not None
    if not intrinsic and re.fullmatch("[xyz]{1,3}", seq) is None:
        raise ValueError(f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}")
    if any([a == b for a, b in pairwise(seq)]):
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    return intrinsic


class Rotation(NamedTuple):
    """Rotations: one, or an array of them along the first axes. A tuple, so that transformations take it as a tree."""

    quat: Array

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """The rotations of several arrays of them."""
        return cls(jnp.concatenate([r.quat for r in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """From angles about up to three axes, one after the other: "xyz" fixed ones, "XYZ" those that turn along.

        Raises: ValueError for other axes, or one twice in a row.
        """
        if not 1 <= len(seq) <= 3:
            raise ValueError(f"Expected axis specification to be a non-empty string of upto 3 characters, got {seq}")
        intrinsic = check_axes(seq)
        angles = jnp.atleast_1d(angles)
        angles = jnp.deg2rad(angles) if degrees else angles * 1.0
        angles = angles.astype(angles.dtype)  # never weak
        found = None
        for i, axis in enumerate(seq.lower()):
            half = angles[..., i] / 2
            zero = jnp.zeros_like(half)
            where = "xyz".index(axis)
            one = jnp.stack([*[jnp.sin(half) if k == where else zero for k in range(3)], jnp.cos(half)], axis=-1)
            found = one if found is None else product(found, one) if intrinsic else product(one, found)
        return cls(found)  # type: ignore[arg-type]

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """From matrices, of shape (..., 3, 3): by whichever of the four numbers is largest."""
        m = jnp.asarray(matrix)
        trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
        candidates = []
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            row = [None] * 4
            row[i] = 1 - trace + 2 * m[..., i, i]
            row[j], row[k] = m[..., j, i] + m[..., i, j], m[..., k, i] + m[..., i, k]
            row[3] = m[..., k, j] - m[..., j, k]
            candidates.append(jnp.stack(row, axis=-1))
        last = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1], 1 + trace]
        candidates.append(jnp.stack(last, axis=-1))
        sizes = jnp.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], axis=-1)
        best = jnp.argmax(sizes, axis=-1)[..., None]
        found = candidates[3]
        for i in range(3):
            found = jnp.where(best == i, candidates[i], found)
        return cls(normalized(found))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """From modified Rodrigues parameters: the axis times the tangent of a quarter of the angle."""
        p = jnp.asarray(mrp)
        square = jnp.sum(p * p, axis=-1, keepdims=True)
        return cls(jnp.concatenate([2 * p, 1 - square], axis=-1) / (1 + square))

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """From quaternions (x, y, z, w) of any length but 0."""
        return cls(normalized(jnp.asarray(quat)))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """From rotation vectors: the axis times the angle."""
        v = jnp.deg2rad(rotvec) if degrees else jnp.asarray(rotvec)
        square = jnp.sum(v * v, axis=-1, keepdims=True)
        angle = jnp.sqrt(square)
        near = 0.5 - square / 48 + square * square / 3840
        far = jnp.sin(angle / 2) / angle
        return cls(jnp.concatenate([jnp.where(angle <= SMALL, near, far) * v, jnp.cos(angle / 2)], axis=-1))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The rotation that moves nothing; `num` of them. Raises NotImplementedError for a number, as JAX."""
        if num is not None:
            raise AssertionError("Rotation.identity takes no number of rotations yet, in JAX neither")
        return cls(jnp.array([0.0, 0.0, 0.0, 1.0], dtype=dtype))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """Not there, as in JAX: raises NotImplementedError."""
        raise NotImplementedError("Rotation.random: make normal numbers with jax.random.normal, and use from_quat")

    @property
    def single(self) -> bool:
        """Whether it is one rotation, and no array of them."""
        return bool(self.quat.ndim == 1)

    def __getitem__(self, indexer: Any) -> Rotation:  # type: ignore[override]
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self.quat.shape[0])

    def __mul__(self, other: Rotation) -> Rotation:  # type: ignore[override]
        """The other one first, then this one."""
        return Rotation.from_quat(product(self.quat, other.quat))

    def apply(self, vectors: Any, inverse: bool = False) -> Array:
        """Rotated vectors, of shape (..., 3)."""
        matrix = self.as_matrix()
        matrix = jnp.swapaxes(matrix, -1, -2) if inverse else matrix
        found: Array = jnp.sum(matrix * jnp.asarray(vectors)[..., None, :], axis=-1)
        return found

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Angles about three axes, in [-pi, pi); of those of which only the sum counts the last one is 0.

        Raises: ValueError for other axes, or one twice in a row.
        """
        if len(seq) != 3:
            raise ValueError(f"Expected 3 axes, got {seq}.")
        extrinsic = not check_axes(seq)
        i, j, k = ("xyz".index(axis) for axis in (seq if extrinsic else seq[::-1]).lower())
        symmetric = i == k
        k = 3 - i - j if symmetric else k
        sign = (i - j) * (j - k) * (k - i) // 2
        q: Any = parts(self.quat)
        d: Any
        if symmetric:
            a, b, c, d = q[3], q[i], q[j], q[k] * sign
        else:
            a, b, c, d = q[3] - q[j], q[i] + q[k] * sign, q[j] + q[3], q[k] * sign - q[i]
        middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
        half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
        at_zero, at_pi = jnp.abs(middle) <= NO_ANGLE, jnp.abs(middle - np.pi) <= NO_ANGLE
        alone: Any = at_zero | at_pi
        only = jnp.where(at_zero, 2 * half_sum, 2 * half_difference * (-1 if extrinsic else 1))
        first, third = half_sum - half_difference, half_sum + half_difference
        if not extrinsic:
            first, third = third, first
        first, third = jnp.where(alone, only, first), jnp.where(alone, 0.0, third)
        if not symmetric:
            middle = middle - np.pi / 2
            first, third = (first, third * sign) if extrinsic else (first * sign, third)
        angles = jnp.stack([first, middle, third], axis=-1)
        angles = (angles + np.pi) % (2 * np.pi) - np.pi
        return jnp.rad2deg(angles) if degrees else angles

    def as_matrix(self) -> Array:
        """Matrices, of shape (..., 3, 3)."""
        x, y, z, w = parts(self.quat)
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w],
        ]
        return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters: the axis times the tangent of a quarter of the angle."""
        w = self.quat[..., 3:]
        sign = jnp.where(w < 0, -1.0, 1.0).astype(w.dtype)
        found: Array = sign * self.quat[..., :3] / (1 + sign * w)
        return found

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Rotation vectors: the axis times the angle, in [0, pi]."""
        q = jnp.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        v, w = q[..., :3], q[..., 3:]
        angle = 2 * jnp.arctan2(jnp.linalg.norm(v, axis=-1, keepdims=True), w)
        square = angle * angle
        near = 2 + square / 12 + 7 * square * square / 2880
        scale = jnp.where(angle <= SMALL, near, angle / jnp.sin(angle / 2))
        found: Array = (jnp.rad2deg(scale) if degrees else scale) * v
        return found

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Quaternions (x, y, z, w), with `scalar_first` (w, x, y, z); with `canonical` the one of the two of each
        rotation whose first number that is not 0, from w on, is positive."""
        q: Any = self.quat
        if canonical:
            x, y, z, w = parts(q)
            down: Any = (w < 0) | ((w == 0) & ((x < 0) | ((x == 0) & ((y < 0) | ((y == 0) & (z < 0))))))
            q = jnp.where(down[..., None], -q, q)
        return jnp.roll(q, 1, axis=-1) if scalar_first else q

    def inv(self) -> Rotation:
        """The rotations back."""
        return Rotation(self.quat * jnp.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Array:
        """The angles, in [0, pi]."""
        v, w = self.quat[..., :3], self.quat[..., 3]
        found: Array = 2 * jnp.arctan2(jnp.linalg.norm(v, axis=-1), jnp.abs(w))
        return found

    def mean(self, weights: Any = None) -> Rotation:
        """The rotation with the least sum of squared distances (chordal), weighted. Raises ValueError for weights of
        another shape than (number of rotations,)."""
        count, dtype = self.quat.shape[0], self.quat.dtype
        w = jnp.ones(count, dtype) if weights is None else jnp.asarray(weights, dtype)
        if w.ndim != 1:
            raise ValueError(f"Expected `weights` to be 1 dimensional, got shape {w.shape}.")
        if w.shape[0] != len(self):
            raise ValueError(
                "Expected `weights` to have number of values equal to number of rotations, got "
                f"{w.shape[0]} values and {len(self)} rotations."
            )
        _, vectors = jnp.linalg.eigh(jnp.dot(w[None, :] * self.quat.T, self.quat))
        return Rotation(vectors[:, -1])


class Slerp(NamedTuple):
    """Rotations between given ones, at a constant speed from each to the next. `Slerp.init` makes one; called with
    times it gives a `Rotation`."""

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """Through these rotations (at least two) at these times, which increase.

        Raises: TypeError for other things than rotations, ValueError where there are not as many of both.
        """
        if not isinstance(rotations, Rotation):
            raise TypeError("`rotations` must be a `Rotation` instance.")
        if rotations.single or len(rotations) == 1:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        times = jnp.asarray(times, dtype=rotations.quat.dtype)
        if times.ndim != 1:
            raise ValueError(f"Expected times to be specified in a 1 dimensional array, got {times.ndim} dimensions.")
        if times.shape[0] != len(rotations):
            raise ValueError(
                "Expected number of rotations to be equal to number of timestamps given, got "
                f"{len(rotations)} rotations and {times.shape[0]} timestamps."
            )
        first, later = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(times, jnp.diff(times), first, (first.inv() * later).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        at = jnp.asarray(times, dtype=self.times.dtype)
        if at.ndim > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        single, at = at.ndim == 0, jnp.atleast_1d(at)
        i = jnp.maximum(jnp.searchsorted(self.times, at) - 1, 0)
        passed = (at - self.times[i]) / self.timedelta[i]
        found: Any = self.rotations[i] * Rotation.from_rotvec(self.rotvecs[i] * passed[:, None])
        between: Rotation = found[0] if single else found
        return between


_bound_all(globals())
