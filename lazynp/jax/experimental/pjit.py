"""`jax.experimental.pjit`: `jax.jit` by its former name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..stages import jit

__all__ = ["pjit"]


def pjit(fun: Callable[..., Any], in_shardings: Any = None, out_shardings: Any = None, **options: Any) -> Any:
    """`jax.jit`, which takes shardings and specs of the mesh that is set."""
    return jit(fun, in_shardings=in_shardings, out_shardings=out_shardings, **options)
