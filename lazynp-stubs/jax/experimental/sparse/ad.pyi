# Written by `python -m compat stubs`.
from typing import Any

annotations: Any
from ...._transformations import grad as grad
def is_sparse(x: Any) -> bool: ...
from ...._transformations import jacfwd as jacfwd
from ...._transformations import jacobian as jacobian
from ...._transformations import jacrev as jacrev
from ...._transformations import value_and_grad as value_and_grad
