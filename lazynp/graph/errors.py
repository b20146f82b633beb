"""Errors of the core."""


class MissingRuleError(NotImplementedError):
    """An op has no rule for a transformation."""

    def __init__(self, op: str, transformation: str) -> None:
        super().__init__(f"op '{op}' has no rule for '{transformation}'")
        self.op, self.transformation = op, transformation


class GraphError(AssertionError):
    """A graph breaks a rule of `verify`."""


class NotConcreteError(TypeError):
    """The value of a traced array was asked for."""
