"""Products of matrices in blocks with factors, as numbers of few bits are stored."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .. import numpy as jnp
from ..array import Array
from ..derivatives import custom_vjp, vjp
from ..lax import dot_general


def scaled_matmul(
    lhs: Array, rhs: Array, lhs_scales: Array, rhs_scales: Array, preferred_element_type: Any = np.float32
) -> Array:
    """The products of lhs (b, m, k) and rhs (b, n, k), each in blocks along its last axis that are times a factor:
    lhs_scales (b, m, blocks) and rhs_scales (b, n, blocks).

    Returns: an array (b, m, n), of `preferred_element_type`.

    Raises: ValueError for other shapes.
    """
    a, b, a_scales, b_scales = (jnp.asarray(x) for x in (lhs, rhs, lhs_scales, rhs_scales))
    if not all(x.ndim == 3 for x in (a, b, a_scales, b_scales)):
        raise ValueError("scaled_matmul requires all inputs to be 3-dimensional arrays")
    for what, x, y in (("inputs a and b", a, b), ("scales", a_scales, b_scales)):
        if x.shape[0] != y.shape[0] or x.shape[2] != y.shape[2]:
            raise ValueError(
                f"scaled_matmul requires {what} to have matching batch (B) and contract (K) dimensions, but got shapes "
                f"{x.shape} and {y.shape}"
            )
    if a_scales.shape[1] != a.shape[1] or b_scales.shape[1] != b.shape[1]:
        raise ValueError(
            "scaled_matmul requires scales to match non-contract dimensions of inputs, but got shapes a: "
            f"{a.shape}, b: {b.shape}, a_scales: {a_scales.shape}, b_scales: {b_scales.shape}"
        )
    x, y = (
        v.astype(np.float32) * jnp.repeat(s.astype(np.float32), v.shape[2] // s.shape[2], axis=2)
        for v, s in ((a, a_scales), (b, b_scales))
    )
    found: Array = dot_general(x, y, (((2,), (2,)), ((0,), (0,)))).astype(preferred_element_type)
    return found


@dataclasses.dataclass
class BlockScaleConfig:
    """How numbers are stored in few bits: in blocks of that length, each with a factor.

    Attributes:
        data_type, scale_type: of the numbers and of the factors.
        global_scale: a factor of all blocks. infer_only: whether gradients are not rounded.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool


def get_scaled_dot_general_config(mode: str, global_scale: Any = None) -> BlockScaleConfig:
    """How `scaled_dot_general` rounds its operands: "mxfp8" or "nvfp4", of which only the second has a global scale.

    Raises: ValueError for another mode.
    """
    if mode == "nvfp4":
        one = jnp.ones((1,), jnp.float32) if global_scale is None else global_scale
        return BlockScaleConfig(mode, 16, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, one, False)
    if mode == "mxfp8":
        return BlockScaleConfig(mode, 32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, None, False)
    raise ValueError(f"Unsupported mode: {mode}")


def rounded(x: Any, config: BlockScaleConfig) -> Any:
    """What is stored of x, in blocks along its last axis, as float32: powers of two that are large enough for a block's
    numbers (Open Compute Project, Microscaling Formats 1.0), or factors that are rounded themselves."""
    if x.shape[-1] % config.block_size:
        raise ValueError(f"{config.mode} has blocks of {config.block_size}, of which {x.shape[-1]} is no multiple")
    blocks = x.astype(np.float32).reshape(*x.shape[:-1], -1, config.block_size)
    most = np.float32(ml_dtypes.finfo(config.data_type).max)
    factor = abs(blocks).max(-1, keepdims=True) / most
    if config.mode == "nvfp4":
        whole = jnp.asarray(config.global_scale, np.float32).reshape(())
        factor = jnp.minimum(factor / whole, 448).astype(config.scale_type).astype(np.float32) * whole
        factor = jnp.where(factor == 0, 1, factor)
    else:
        fraction, exponent = jnp.frexp(factor)
        factor = jnp.ldexp(np.float32(1), jnp.clip(exponent - (fraction == 0.5), -126, 127))
    stored = jnp.clip(blocks / factor, -most, most).astype(config.data_type)
    return (stored.astype(np.float32) * factor).reshape(x.shape)


def rounded_along(x: Any, axes: Sequence[int], config: BlockScaleConfig) -> Any:
    """`rounded` along these axes, taken together."""
    order = [*[i for i in range(x.ndim) if i not in axes], *axes]
    moved = jnp.transpose(x, order)
    flat = moved.reshape(*moved.shape[: x.ndim - len(axes)], math.prod(x.shape[i] for i in axes))
    return jnp.transpose(rounded(flat, config).reshape(moved.shape), np.argsort(order))


def scaled_dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: list[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Array:
    """`lax.dot_general` of operands that are rounded first, in blocks along the axes that are contracted.

    Args:
        configs: how the operands are rounded, of `get_scaled_dot_general_config` (a third one says by `infer_only`
            whether derivatives are those of the operands as they came); None: not at all. Derivatives pass the
            rounding by.
        implementation: not looked at.

    Raises: ValueError where what is contracted does not divide into blocks.
    """
    (left, right), stacks = dimension_numbers
    numbers = (tuple(left), tuple(right)), (tuple(stacks[0]), tuple(stacks[1]))

    def product(a: Any, b: Any) -> Any:
        return dot_general(a, b, numbers, preferred_element_type=preferred_element_type)

    if configs is None:
        found: Array = product(lhs, rhs)
        return found
    of_left, of_right, of_gradient = configs

    def operands(a: Any, b: Any) -> tuple[Any, Any]:
        return rounded_along(a, left, of_left), rounded_along(b, right, of_right)

    @custom_vjp
    def run(a: Any, b: Any) -> Any:
        return product(*operands(a, b))

    def forward(a: Any, b: Any) -> Any:
        return run(a, b), (a, b)

    def backward(kept: Any, ct: Any) -> Any:
        a, b = kept
        _, pull = vjp(product, *(kept if of_gradient.infer_only else operands(a, b)))
        da, db = pull(ct)
        return da.astype(a.dtype), db.astype(b.dtype)

    run.defvjp(forward, backward)
    out: Array = run(jnp.asarray(lhs), jnp.asarray(rhs))
    return out
