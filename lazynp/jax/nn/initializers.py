"""Initializers of weights: functions `(key, shape, dtype, out_sharding) -> Array`, bit for bit JAX's where `random` is.

Each factory takes the parameters of the distribution and a default dtype; None is float32, or float64 where 64 bits are
enabled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...tracebacks import boundary
from .. import dtypes, random
from .. import numpy as jnp
from ..numpy.axes import shape_of

Axes = int | Sequence[int]


@runtime_checkable
class Initializer(Protocol):
    """What an initializer is called with."""

    def __call__(self, key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
        raise NotImplementedError


def of(dtype: Any) -> Any:
    """The dtype that None stands for, or the one given."""
    return dtypes.float_dtype() if dtype is None else dtype


def zeros(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
    """Zeros. The key is not looked at."""
    return jnp.zeros(shape, of(dtype))


def ones(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
    """Ones. The key is not looked at."""
    return jnp.ones(shape, of(dtype))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An array full of `value`."""

    @boundary
    def init(key: Any, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None) -> Any:
        return jnp.full(shape, value, dtype=of(dtype))

    return init


def drawn(sample: Callable[..., Any], scale: Any, dtype: Any) -> Initializer:
    """`sample(key, shape, dtype)`, times a scale."""

    @boundary
    def init(key: Any, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None) -> Any:
        kind = of(dtype)
        return sample(key, shape, kind) * jnp.array(scale, kind)

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Uniform from 0 to `scale`."""
    return drawn(random.uniform, scale, dtype)


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Normal around 0 with this standard deviation."""
    return drawn(random.normal, stddev, dtype)


def truncated_normal(stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0) -> Initializer:
    """Normal, truncated to `lower` and `upper` before the scale is applied."""
    return drawn(lambda key, shape, kind: random.truncated_normal(key, lower, upper, shape, kind), stddev, dtype)


def size_of(shape: Sequence[int], axes: Axes) -> int:
    return shape[axes] if isinstance(axes, int) else math.prod([shape[i] for i in axes])


def fans(shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """How many inputs an output has, and how many outputs an input has.

    Raises: ValueError where a weight of fewer than two axes has no say which they are.
    """
    if len(shape) <= 1 and isinstance(in_axis, int) and in_axis == -2:
        raise ValueError(
            f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor with default in_axis. "
            "Must be at least 2D or specify in_axis explicitly."
        )
    inputs, outputs = size_of(shape, in_axis), size_of(shape, out_axis)
    field = math.prod(shape) / inputs / outputs / size_of(shape, batch_axis)
    return inputs * field, outputs * field


MODES: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda inputs, outputs: inputs,
    "fan_out": lambda inputs, outputs: outputs,
    "fan_avg": lambda inputs, outputs: (inputs + outputs) / 2,
    "fan_geo_avg": lambda inputs, outputs: (inputs * outputs) ** 0.5,
}
TRUNCATED_STDDEV = 0.87962566103423978  # of the standard normal distribution between -2 and 2
COMPLEX_TRUNCATED_STDDEV = 0.95311164380491208


def complex_uniform(key: Any, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    """Uniform in the unit disc, with variance 1."""
    radius_key, angle_key = random.split(key)
    real = dtypes.real_part(dtype)
    radius = jnp.sqrt(2 * random.uniform(radius_key, shape, real)).astype(dtype)
    angle = 2 * np.pi * random.uniform(angle_key, shape, real).astype(dtype)
    return radius * jnp.exp(1j * angle)


def complex_truncated_normal(key: Any, upper: Any, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    """Normal in the complex plane, of modulus at most `upper`."""
    radius_key, angle_key = random.split(key)
    real = dtypes.real_part(dtype)
    part = (1 - jnp.exp(jnp.array(-(upper**2), dtype))) * random.uniform(radius_key, shape, real).astype(dtype)
    radius = jnp.sqrt(-jnp.log(1 - part))
    angle = 2 * np.pi * random.uniform(angle_key, shape, real).astype(dtype)
    return radius * jnp.exp(1j * angle)


def scaled_sample(key: Any, shape: Sequence[int], kind: Any, distribution: str, variance: Any) -> Any:
    """A sample of this variance. Raises ValueError for an unknown distribution."""
    complex_ = np.dtype(kind).kind == "c"
    if distribution == "normal":
        return random.normal(key, shape, kind) * jnp.sqrt(variance)
    if distribution == "truncated_normal":
        if complex_:
            stddev = jnp.sqrt(variance) / jnp.array(COMPLEX_TRUNCATED_STDDEV, kind)
            return complex_truncated_normal(key, 2, shape, np.dtype(kind)) * stddev
        stddev = jnp.sqrt(variance) / jnp.array(TRUNCATED_STDDEV, kind)
        return random.truncated_normal(key, -2, 2, shape, kind) * stddev
    if distribution == "uniform":
        if complex_:
            return complex_uniform(key, shape, np.dtype(kind)) * jnp.sqrt(variance)
        return random.uniform(key, shape, kind, -1) * jnp.sqrt(3 * variance)
    raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}")


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """Samples whose variance is `scale` over the number of inputs, of outputs, or a mean of both.

    Args:
        mode: "fan_in", "fan_out", "fan_avg" or "fan_geo_avg".
        distribution: "truncated_normal", "normal" or "uniform".
        in_axis, out_axis, batch_axis: which axes of the weights are inputs and outputs, and which are neither.

    Raises: ValueError at the call, for an unknown mode or distribution.
    """

    @boundary
    def init(key: Any, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None) -> Any:
        shape = shape_of(shape)
        kind = of(dtype)
        inputs, outputs = fans(shape, in_axis, out_axis, batch_axis)
        if mode not in MODES:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        variance = jnp.array(scale / MODES[mode](inputs, outputs), dtype=kind)
        return scaled_sample(key, shape, kind, distribution, variance)

    return init


def scaling(name: str, scale: float, mode: str, distribution: str, source: str) -> Callable[..., Initializer]:
    """One of the named members of the family."""

    def factory(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = f"`variance_scaling({scale}, {mode!r}, {distribution!r}, ...)`: {source}."
    return factory


GLOROT, LECUN, HE = "Glorot and Bengio (2010)", "LeCun et al. (1998)", "He et al., arXiv:1502.01852"
glorot_uniform = xavier_uniform = scaling("glorot_uniform", 1.0, "fan_avg", "uniform", GLOROT)
glorot_normal = xavier_normal = scaling("glorot_normal", 1.0, "fan_avg", "truncated_normal", GLOROT)
lecun_uniform = scaling("lecun_uniform", 1.0, "fan_in", "uniform", LECUN)
lecun_normal = scaling("lecun_normal", 1.0, "fan_in", "truncated_normal", LECUN)
he_uniform = kaiming_uniform = scaling("he_uniform", 2.0, "fan_in", "uniform", HE)
he_normal = kaiming_normal = scaling("he_normal", 2.0, "fan_in", "truncated_normal", HE)


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """A matrix with orthonormal columns or rows, uniformly distributed, times a scale.

    Args:
        column_axis: the axis of the columns; all others together are the rows.

    Raises: ValueError at the call, for fewer than two axes.
    """

    @boundary
    def init(key: Any, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None) -> Any:
        kind = of(dtype)
        if len(shape) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        if 0 in shape:
            return jnp.zeros(shape, dtype=kind)
        columns = shape[column_axis]
        q = random.orthogonal(key, math.prod(shape) // columns, (), kind, columns)
        q = jnp.reshape(q, (*np.delete(shape, column_axis).tolist(), columns))
        return jnp.array(scale, kind) * jnp.moveaxis(q, -1, column_axis)

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """A convolution kernel that is an orthogonal matrix at its centre and zero elsewhere (arXiv:1806.05393).

    Raises: ValueError at the call, for other than three to five axes, or more inputs than outputs.
    """

    @boundary
    def init(key: Any, shape: Sequence[int], dtype: Any = dtype, out_sharding: Any = None) -> Any:
        kind = of(dtype)
        if len(shape) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        if shape[-1] < shape[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
        matrix = orthogonal(scale=scale, column_axis=column_axis, dtype=kind)(key, shape[-2:])
        centre = tuple([(k - 1) // 2 for k in shape[:-2]])
        return jnp.zeros(shape, dtype=kind).at[(*centre, ...)].set(matrix)

    return init
