# Written by `python -m compat stubs`.
from ...array import Array
from ..._types import ArrayLike

def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]: ...
