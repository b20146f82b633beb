"""Which seeds a long property test tries, and how they are shared among the tests of its file.

`NAME=20000` says how many, `NAME_FROM=20000` begins after so many, `LAZYNP_SEED=17` is the one of that seed.
"""

from __future__ import annotations

import os


class Seeds:
    """The seeds that the variable `name` asks for, `default` where it is not set, in blocks, a test for each."""

    def __init__(self, name: str, default: int, blocks: int) -> None:
        self.count = int(os.environ.get(name, str(default)))
        self.first = int(os.environ.get(f"{name}_FROM", "0"))
        one = os.environ.get("LAZYNP_SEED")
        self.one = None if one is None else int(one)
        self.blocks = range(blocks if one is None else 1)
        self.each = -(-self.count // blocks)

    def of(self, block: int) -> range:
        if self.one is not None:
            return range(self.one, self.one + 1)
        first = self.first + block * self.each
        return range(first, first + self.each)
