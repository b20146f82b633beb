"""Waiting for effects."""

from ..callback import effects_barrier as wait_for_tokens

__all__ = ["wait_for_tokens"]
