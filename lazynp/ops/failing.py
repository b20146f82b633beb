"""Operations whose values can make them fail, when nobody may be near the line that recorded them."""

from __future__ import annotations

from typing import Any

from ..graph.node import Node
from ..graph.op import Op
from ..tracebacks import user_site


class Failing(Op):
    """An op whose nodes know the user's line that recorded them: an error names it."""

    __slots__ = ()

    def __call__(self, *inputs: Any, **params: Any) -> Node:
        """A node that applies the op, with its line."""
        node = super().__call__(*inputs, **params)
        node.site = user_site()
        return node
