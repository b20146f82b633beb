"""`jax.ad_checkpoint`: `checkpoint`, its policies, and names for values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api.custom import checkpoint, remat

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "remat"]


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Keep all."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Keep nothing."""
    return False


def dots_saveable(prim: Any, *_: Any, **__: Any) -> bool:
    """Keep matrix products and convolutions. (As it is, nothing is kept.)"""
    return str(prim) in ("dot_general", "conv_general_dilated")


def dots_with_no_batch_dims_saveable(prim: Any, *_: Any, **__: Any) -> bool:
    """Keep products of two matrices. (As it is, nothing is kept.)"""
    return str(prim) == "dot_general"


def by_name(*names: Any, **kwargs: Any) -> Callable[..., bool]:
    """A policy about names given by `checkpoint_name`: as it is, nothing is kept."""
    return nothing_saveable


def save_from_both_policies(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
    """Keep what either of two policies keeps."""
    both = (first, second)
    return (
        everything_saveable
        if everything_saveable in both
        else lambda *args, **kwargs: any(p(*args, **kwargs) for p in both)
    )


class checkpoint_policies:
    """`jax.checkpoint_policies`."""

    everything_saveable = staticmethod(everything_saveable)
    nothing_saveable = staticmethod(nothing_saveable)
    dots_saveable = checkpoint_dots = staticmethod(dots_saveable)
    dots_with_no_batch_dims_saveable = staticmethod(dots_with_no_batch_dims_saveable)
    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable
    save_any_names_but_these = save_anything_except_these_names = save_only_these_names = staticmethod(by_name)
    save_and_offload_only_these_names = offload_dot_with_no_batch_dims = staticmethod(by_name)
    save_from_both_policies = staticmethod(save_from_both_policies)


def checkpoint_name(x: Any, name: str) -> Any:
    """x itself: names are for policies."""
    return x
