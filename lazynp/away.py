"""Values that are not in main memory, as all layers see them: something with a copy that NumPy can read."""

from __future__ import annotations

from typing import Any

import numpy as np


class Away:
    """A value that is not in main memory, or not only."""

    __slots__ = ()

    @property
    def here(self) -> bool:
        """Whether it is there, too."""
        return False

    def wait(self) -> None:
        """Until it has been computed."""

    def host(self) -> np.ndarray:
        """A copy that NumPy can read; the same one each time."""
        raise NotImplementedError


def on_host(value: Any) -> Any:
    """A node's value (of several results: the tuple of them) as NumPy can read it."""
    if type(value) is np.ndarray:
        return value
    if isinstance(value, Away):
        return value.host()
    return tuple([on_host(v) for v in value]) if type(value) is tuple else value
