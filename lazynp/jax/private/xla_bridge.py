"""The backends that were started."""

from ..extend.backend import backends, get_backend

_backends = backends()
__all__ = ["backends", "get_backend"]
