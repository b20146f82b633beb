"""Types of mutable references."""

from __future__ import annotations


class AbstractRef:
    """The type of a mutable reference. There are none yet, so that it has no instances."""

    def __init__(self) -> None:
        raise NotImplementedError("Mutable references are not built yet: return the new value instead.")


class Ref:
    """A mutable reference. There are none yet, so that it has no instances."""

    def __init__(self) -> None:
        raise NotImplementedError("Mutable references are not built yet: return the new value instead.")
