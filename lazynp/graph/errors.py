"""Errors of the core."""

from __future__ import annotations

from typing import Any


class MissingRuleError(NotImplementedError):
    """An op has no rule for a transformation."""

    def __init__(self, op: str, transformation: str) -> None:
        rules = {"jvp": "Differentiation rule", "transpose": "Transpose rule (for reverse-mode differentiation)"}
        super().__init__(f"{rules.get(transformation, transformation)} for '{op}' not implemented")
        self.op, self.transformation = op, transformation


class NotConcreteError(TypeError):
    """The value of a traced array was asked for."""


def no_value(node: Any) -> Exception:
    """What to raise where the value of a traced node is asked for. `lazynp.errors` says more, and takes this place."""
    return NotConcreteError(f"{node} has no value while it is traced")
