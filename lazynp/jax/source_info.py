"""Where in a program an equation comes from: the scopes. Tracebacks are not kept while functions are traced."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any


class NameStack:
    """Names of scopes, the outermost first."""

    def __init__(self, stack: tuple[str, ...] = ()) -> None:
        self.stack = tuple(stack)

    def extend(self, name: str) -> NameStack:
        """With one more."""
        return NameStack((*self.stack, name))

    def __add__(self, other: NameStack) -> NameStack:
        return NameStack((*self.stack, *other.stack))

    def __str__(self) -> str:
        return "/".join(self.stack)

    def __repr__(self) -> str:
        return f"NameStack({self.stack})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NameStack) and self.stack == other.stack

    def __hash__(self) -> int:
        return hash(self.stack)

    def __len__(self) -> int:
        return len(self.stack)


@dataclasses.dataclass(frozen=True)
class SourceInfo:
    """A traceback, which is not kept, and the scopes."""

    traceback: Any = None
    name_stack: NameStack = dataclasses.field(default_factory=NameStack)

    def replace(self, **changes: Any) -> SourceInfo:
        """With some of it replaced."""
        return dataclasses.replace(self, **changes)


scopes: list[NameStack] = [NameStack()]


def current_name_stack() -> NameStack:
    """The scopes that are open."""
    return scopes[-1]


@contextlib.contextmanager
def set_name_stack(name_stack: NameStack) -> Iterator[None]:
    """These scopes, in a block."""
    scopes.append(name_stack)
    try:
        yield
    finally:
        scopes.pop()
