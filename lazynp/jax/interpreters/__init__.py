"""`jax.interpreters`: the tables of rules of primitives, and what programs use of JAX's transformations of jaxprs."""

from . import ad, batching, mlir, partial_eval, pxla, xla

__all__ = ["ad", "batching", "mlir", "partial_eval", "pxla", "xla"]
