"""What libraries import from JAX's private modules (`jax._src`) and no public module of the same name has.

`from jax._src import x` and `import jax._src.x` are answered with the module here, else with the public `jax.x`.
"""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    package = __package__.rpartition(".")[0]
    for place in (__package__, package):
        try:
            return importlib.import_module(f"{place}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{place}.{name}":
                raise
    raise AttributeError(f"module 'jax._src' has no attribute {name!r}")
