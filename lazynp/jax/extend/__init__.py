"""`jax.extend`: what libraries build on: jaxprs, primitives, wrapped functions, sources, random generators."""

from . import backend, core, linear_util, random, source_info_util

__all__ = ["backend", "core", "linear_util", "random", "source_info_util"]
