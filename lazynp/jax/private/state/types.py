"""Types of mutable references."""

from ...references import AbstractRef, Ref, TransformedRef

__all__ = ["AbstractRef", "Ref", "TransformedRef"]
