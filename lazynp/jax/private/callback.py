"""Callbacks, by the names of JAX's private module."""

from ..callback import io_callback, pure_callback

__all__ = ["io_callback", "pure_callback"]
