from typing import TypeVar

from ._own import Timing as Timing
from ._own import benchmark as benchmark
from ._own import synchronize as synchronize

_T = TypeVar("_T")

def block_until_ready(x: _T) -> _T: ...
