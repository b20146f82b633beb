"""What users are told when a traced value is asked for what it has not got. The classes are JAX's, for both doors."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy

from .graph.errors import NotConcreteError
from .graph.node import ABSTRACT, Node
from .graph.walk import toposort

origins: weakref.WeakKeyDictionary[Node, tuple[Any, int]] = weakref.WeakKeyDictionary()
"""For each placeholder of a traced function its `trace.Trace`, and which argument's it is."""
PACKAGE = (
    os.path.dirname(os.path.abspath(__file__)) + os.sep,
    os.path.dirname(numpy.__file__) + os.sep,
)


class JAXTypeError(NotConcreteError):
    """A traced value was used in a way that needs its value."""


class JAXIndexError(IndexError):
    """A traced value was used as an index that needs its value."""


class ConcretizationTypeError(JAXTypeError):
    """The value of a traced array was asked for."""


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced array stands where Python needs True or False."""


class TracerArrayConversionError(JAXTypeError):
    """A traced array was given to what takes NumPy arrays only."""


class TracerIntegerConversionError(JAXTypeError):
    """A traced array stands where Python needs an integer."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced mask as an index: the shape of the result would depend on its values."""


class UnexpectedTracerError(JAXTypeError):
    """A traced array outlived the function in which it was traced."""


class KeyReuseError(JAXTypeError):
    """A random key was used twice."""


class JaxRuntimeError(RuntimeError):
    """A computation failed while it ran."""


class InconclusiveDimensionOperation(Exception):
    """A comparison of symbolic sizes has no answer."""


class JaxprTypeError(TypeError):
    """A graph breaks the rules of its types."""


def user_line() -> str:
    """`file:line` of the innermost frame outside this package and NumPy's, whose text the NumPy door runs."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def placeholders(node: Node) -> list[Node]:
    """The leaves without a value that a node depends on."""
    return [n for n in toposort([node], least=ABSTRACT) if n.op is None and n.trace == ABSTRACT]


def type_name(node: Node) -> str:
    """`Traced<float32[3]>`."""
    return f"Traced<{node.aval}>"


def leaked(node: Node) -> UnexpectedTracerError | None:
    """The error for a value whose function has returned; None for one that is still being traced."""
    for n in placeholders(node):
        trace, i = origins.get(n, (None, 0))
        if trace is not None and trace.done:
            return UnexpectedTracerError(
                f"{type_name(node)} is used at {user_line()}, but belongs to {trace}, which has returned: it "
                f"depends on {trace.argument(i)}. A traced value has no meaning outside: return it from the function, "
                f"instead of keeping it in a global, a list or an attribute."
            )
    return None


def describe(node: Node) -> str:
    """Where a traced value is used, what is being traced, and on which arguments it depends."""
    traces: dict[Any, list[str]] = {}
    for n in placeholders(node):
        trace, i = origins.get(n, (None, 0))
        if trace is not None:
            traces.setdefault(trace, []).append(trace.argument(i))
    lines = [f"at {user_line()}"]
    for trace, arguments in traces.items():
        shown = ", ".join(arguments[:4]) + (" and others" if len(arguments) > 4 else "")
        lines.append(f"while tracing {trace}: it depends on {shown}, known only when the function runs")
    return "; ".join(lines)


def factory(kind: Callable[[str], Exception], what: str, advice: str) -> Callable[..., Exception]:
    """`(node, context="") -> exception` for a use of a traced value; of a leaked one, the error that says so."""

    def make(node: Node, context: str = "") -> Exception:
        lost = leaked(node)
        if lost is not None:
            return lost
        return kind(f"{what} {type_name(node)} {describe(node)}. {context + ' ' if context else ''}{advice}")

    return make


concretization_error = factory(
    ConcretizationTypeError,
    "The value of a traced array is needed:",
    "Keep to operations that work on arrays, or mark the argument as static: jit(f, static_argnums=...) or "
    "static_argnames=....",
)
bool_error = factory(
    TracerBoolConversionError,
    "Attempted boolean conversion (if, while, and, or, not, assert, min, max) of a traced array:",
    "Write jnp.where(condition, a, b) or lax.cond for `if`, lax.while_loop or lax.fori_loop for loops, & | ~ for "
    "`and or not`; or mark the argument as static: jit(f, static_argnums=...).",
)
integer_error = factory(
    TracerIntegerConversionError,
    "A Python integer is needed (an index into a list, range(), a shape), and this is a traced array:",
    "Index an array instead of a list (jnp.array(items)[i]), write lax.fori_loop for range(), or mark the argument as "
    "static: jit(f, static_argnums=...).",
)
array_error = factory(
    TracerArrayConversionError,
    "A NumPy array is needed, and this is a traced array:",
    "Use the function of this library in place of NumPy's (jnp.sin for np.sin), or jax.pure_callback to call NumPy "
    "when the function runs.",
)
boolean_index_error = factory(
    NonConcreteBooleanIndexError,
    "Array boolean indices must be concrete, since the result's shape depends on them; got",
    "Write jnp.where(mask, x, 0) and the like, which keep the shape, or x.at[mask].set(...) for writing; "
    "jnp.nonzero takes size=.",
)
