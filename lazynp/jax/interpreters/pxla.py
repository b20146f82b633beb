"""`jax.interpreters.pxla`: options of XLA's compiler, which there is none of here."""

from __future__ import annotations

from typing import Any


def create_compile_options(*args: Any, **options: Any) -> Any:
    """Raises NotImplementedError: graphs are compiled without XLA; `lazynp.config` has what can be chosen."""
    raise NotImplementedError("there is no XLA here, and so there are no options for it: see lazynp.config")
