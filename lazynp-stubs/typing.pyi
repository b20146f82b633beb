# Written by `python -m compat stubs`.
from numpy.typing import *
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import DTypeLike as DTypeLike
from numpy.typing import NBitBase as NBitBase
from numpy.typing import NDArray as NDArray
