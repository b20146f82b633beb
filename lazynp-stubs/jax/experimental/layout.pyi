# Written by `python -m compat stubs`.
from typing import Any

class Format:
    layout: Layout | None
    sharding: Any
    def __eq__(self, other: object) -> bool: ...
    def __init__(self, layout: Layout | None = None, sharding: Any = None) -> None: ...
class Layout:
    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None
    sub_byte_element_size_in_bits: int
    def __eq__(self, other: object) -> bool: ...
    def __init__(self, major_to_minor: tuple[int, ...], tiling: tuple[tuple[int, ...], ...] | None = None, sub_byte_element_size_in_bits: int = 0) -> None: ...
