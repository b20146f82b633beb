"""What users are told when a traced value is asked for what it has not got. The classes are JAX's, for both doors."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .graph.errors import NotConcreteError
from .graph.node import ABSTRACT, Node
from .graph.walk import toposort
from .tracebacks import user_site

origins: weakref.WeakKeyDictionary[Node, tuple[Any, int]] = weakref.WeakKeyDictionary()
"""For each placeholder of a traced function its `trace.Trace`, and which argument's it is."""


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


class InvalidInputException(TypeError):
    """What is no array was given where arrays are wanted."""


class JaxprTypeError(TypeError):
    """A graph breaks the rules of its types."""


def user_line() -> str:
    """`file:line` of the innermost frame outside this package and NumPy's, whose text the NumPy door runs."""
    return "{}:{}".format(*user_site())


def placeholders(node: Node) -> list[Node]:
    """The leaves without a value that a node depends on."""
    return [n for n in toposort([node], least=ABSTRACT) if n.op is None and n.trace == ABSTRACT]


def type_name(node: Node) -> str:
    """`JitTracer(float32[3])`, with a `~` before the dtype of a weak type."""
    return f"JitTracer({'~' if node.weak else ''}{node.aval})"


def unexpected(aval: Any, text: str) -> UnexpectedTracerError:
    """For a value of that type that is used after the function has returned in which it was made."""
    return UnexpectedTracerError(
        "Encountered an unexpected tracer. A function transformed by JAX had a side effect, allowing for a reference "
        f"to an intermediate value with type {aval} to escape the scope of the transformation.\nIt is used at "
        f"{user_line()}. {text} Return the value from the function, instead of keeping it in a global, a list or an "
        "attribute."
    )


def closed_over(name: str) -> UnexpectedTracerError:
    """For a function with a rule of its own that reads a value which is differentiated along, and is no argument."""
    return UnexpectedTracerError(
        f"{name} has a rule for derivatives along its arguments, and reads a traced value that is none, but is "
        "differentiated along. Pass this value as an argument, or see closure_convert."
    )


def left_behind_error(aval: Any) -> UnexpectedTracerError:
    """For a value that a function under differentiation has left behind."""
    return unexpected(aval, "It depends on what grad, vjp, linearize or jvp differentiated a function along.")


def leaked(node: Node) -> UnexpectedTracerError | None:
    """The error for a value whose function has returned; None for one that is still being traced."""
    for n in placeholders(node):
        trace, i = origins.get(n, (None, 0))
        if trace is not None and trace.done:
            return unexpected(
                node.aval,
                f"The function being traced when the value leaked was {trace}, which has returned: it depends on "
                f"{trace.argument(i)}. jax.checking_leaks finds where it leaves the function.",
            )
    return None


def describe(node: Node) -> str:
    """Where a traced value is used, what is being traced, and on which arguments it depends."""
    traces: dict[Any, list[str]] = {}
    for n in placeholders(node):
        trace, i = origins.get(n, (None, 0))
        if trace is not None:
            traces.setdefault(trace, []).append(trace.argument(i).removeprefix("the argument "))
    lines = [f"It is used at {user_line()}."]
    for trace, arguments in traces.items():
        shown = [*arguments[:4], *(["others"] if len(arguments) > 4 else [])]
        several = "s" if len(shown) > 1 else ""
        lines.append(
            f"The error occurred while tracing the function {trace}. This concrete value was not available in Python "
            f"because it depends on the value{several} of the argument{several} {listed(shown)}."
        )
    return " ".join(lines)


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b, and c`."""
    if len(names) < 3:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"


def factory(
    kind: Callable[[str], Exception], what: str, advice: str, noun: str = "traced array with shape "
) -> Callable[..., Exception]:
    """`(node, context="") -> exception` for a use of a traced value, which says so of a leaked one."""

    def make(node: Node, context: str = "") -> Exception:
        lost = leaked(node)
        told = (describe(node), advice) if lost is None else (str(lost),)
        parts = (f"{what} {noun}{node.aval}.", context, *told)
        return kind(" ".join([p for p in parts if p]))

    return make


concretization_error = factory(
    ConcretizationTypeError,
    "Abstract tracer value encountered where concrete value is expected:",
    "Keep to operations that work on arrays, or mark the argument as static: jit(f, static_argnums=...) or "
    "static_argnames=....",
)

block_error = factory(
    AttributeError, "The 'block_until_ready' method is not available on", "jax.block_until_ready(tree) passes it over."
)


def shape_error(node: Node, shape: Any) -> Exception:
    """For a traced value that stands in a shape."""
    advice = "If using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions."
    text = f"Shapes must be 1D sequences of concrete values of integer type, got {shape}."
    return leaked(node) or TypeError(f"{text} {describe(node)} {advice}")


bool_error = factory(
    TracerBoolConversionError,
    "Attempted boolean conversion of",
    "It stands in `if`, `while`, `and`, `or`, `not`, `assert`, min or max. Write jnp.where(condition, a, b) or "
    "lax.cond for `if`, lax.while_loop or lax.fori_loop for loops, & | ~ for `and or not`; or mark the argument as "
    "static: jit(f, static_argnums=...).",
)
integer_error = factory(
    TracerIntegerConversionError,
    "The __index__() method was called on",
    "A Python integer is needed: an index into a list, range(), a shape. Index an array instead of a list "
    "(jnp.array(items)[i]), write lax.fori_loop for range(), or mark the argument as static: "
    "jit(f, static_argnums=...).",
)
array_error = factory(
    TracerArrayConversionError,
    "The numpy.ndarray conversion method __array__() was called on",
    "Use the function of this library in place of NumPy's (jnp.sin for np.sin), or jax.pure_callback to call NumPy "
    "when the function runs.",
)
boolean_index_error = factory(
    NonConcreteBooleanIndexError,
    "Array boolean indices must be concrete; got",
    "The result's shape depends on them. Write jnp.where(mask, x, 0) and the like, which keep the shape, or "
    "x.at[mask].set(...) for writing; jnp.nonzero takes size=.",
    noun="",
)


# --- Arguments and results of functions that are traced ---------------------------------------------------------------


def argument_error(fun: Any, x: Any, path: str, overflow: bool) -> Exception:
    """For an argument of a jitted function that is no array, or an int that does not fit (`overflow`)."""
    if overflow:
        return OverflowError(
            "An overflow was encountered while parsing an argument to a jitted computation, whose argument path is "
            f"{path}. Got {type(x)} with value {x}"
        )
    return TypeError(
        f"Error interpreting argument to {fun} as an abstract array. The problematic value is of type {type(x)} and "
        f"was passed to the function at path {path}.\nThis typically means that a jit-wrapped function was called with "
        "a non-array argument, and this argument was not marked as static using the static_argnums or static_argnames "
        "parameters of jax.jit."
    )


def result_error(trace: str, x: Any, path: Sequence[Any], error: Exception) -> Exception:
    """For a result of a traced function that is no array: `trace` is the function, its place and what for."""
    name, _, kind = trace.rpartition(" for ")
    if hasattr(type(x), "addupdate"):
        return ValueError(
            f"function {name} traced for {kind} returned a mutable array reference of type {x.aval}, but mutable array "
            "references cannot be returned."
        )
    if kind == "vmap":
        return TypeError(f"Output from batched function {x!r} with type {type(x)} is not a valid JAX type")
    at = f" at output component {''.join([f'[{key!r}]' for key in path])}" if path else ""
    return TypeError(
        f"function {name} traced for {kind} returned a value of type {type(x)}{at}, which is not a valid JAX type: "
        f"{error}"
    )


# --- Derivatives ------------------------------------------------------------------------------------------------------


def derivative_error(name: str, what: str, real: bool, n: Node) -> TypeError:
    """For an argument or a result (`what`: "inputs", "outputs") of a dtype that `name` does not differentiate: `real`
    where only real ones are."""
    side = what.removesuffix("s")
    forward, complex_one = real and side == "input", n.dtype.kind == "c"
    kinds, least = ("real-valued", "np.floating") if real else ("real- or complex-valued", "np.inexact")
    dtype = n.dtype.name if n.dtype.kind != "V" else str(n.aval).partition("[")[0]  # such as key<fry>
    text = f"{name} requires {kinds} {what} ({side} dtype that is a sub-dtype of {least}), but got {dtype}."
    if not real:
        return TypeError(
            f"{text} If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True."
        )
    if not forward and not complex_one:
        return TypeError(f"{text} For differentiation of functions with integer outputs, use jax.vjp directly.")
    others = "complex inputs or integer inputs" if forward else "complex outputs"
    return TypeError(
        f"{text} For holomorphic differentiation, pass holomorphic=True. For differentiation of non-holomorphic "
        f"functions involving {others}, use jax.{'jvp' if forward else 'vjp'} directly."
    )


def tangent_text(what: str, primal: Any, given: Any, expected: Any = None) -> str:
    """For a tangent of another dtype than is `expected` of its primal's, or (None) of another shape."""
    if what.startswith("linearized"):
        return (
            "linearized function called on tangent values inconsistent with the original primal values:\nGot tangents "
            f"of the type {given} for primals of {primal} (unexpected JAX type)."
        )
    if expected is None:
        shapes = f"Got primal shape {primal} and tangent shape as {given}"
        return f"jvp called with different primal and tangent shapes;{shapes}"
    return (
        f"{what} do not match; dtypes must be equal, or in case of int/bool primal dtype the tangent dtype must be "
        f"float0.Got primal dtype {primal} and so expected tangent dtype {expected}, but got tangent dtype {given} "
        "instead (unexpected JAX type)."
    )


def shaped_text(n: Any) -> str:
    """The type of a node as `ShapedArray(float32[2])`."""
    return f"ShapedArray({n.aval}{', weak_type=True' * n.weak})"


def returned_text(structure: Any, nodes: Sequence[Any]) -> str:
    """The types of what a function has returned: `~float32[2]`, or a tree of `ShapedArray(float32[2])`."""
    if structure.is_leaf():
        return f"{'~' * nodes[0].weak}{nodes[0].aval}"
    return str(structure.unflatten([shaped_text(n) for n in nodes])).replace("'", "")


def named(structure: Any) -> str:
    """A tree's structure, by JAX's name of it."""
    return str(structure).replace("PyTreeSpec", "PyTreeDef", 1)


def tree_text(what: str, structure: Any, given: Any) -> str:
    """For tangents that have not got the structure of the primals."""
    return (
        f"{what} must have the same tree structure; primals have tree structure {named(structure)} whereas tangents "
        f"have tree structure {named(given)}."
    )


def cotangent_tree_error(differences: Iterable[tuple[str, str, str, str]]) -> ValueError:
    """For a cotangent that has not got the structure of the result: where, what was there and what is, and what that
    means."""
    lines = [
        f"  * out{path} was a {was} in the original output, but a {found} here, so {why}."
        for path, was, found, why in differences
    ]
    return ValueError(
        "unexpected tree structure.\n\nThe argument to a VJP function returned by `jax.vjp` must match the pytree\n"
        "structure of the differentiated function's result.\n\nBut the tree structures differ:\n" + "\n".join(lines)
    )


def cotangent_error(shape: tuple[int, ...], node: Node | None, n: Node, whole: bool) -> ValueError:
    """For a cotangent (None: one of float0, of that shape) of another type than that of the result n asks for."""
    got = f"float0{list(shape)}" if node is None else node.aval
    expected = f"float0{list(n.shape)}" if whole else n.aval
    return ValueError(
        f"unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got {got}, but expected {expected} "
        f"because the corresponding output of the differentiated function had JAX type {n.aval}"
    )


def bwd_error(i: int, ct: Node, n: Node) -> ValueError:
    """For a cotangent that a user's rule gave of another shape than that of the i-th argument, n."""
    return ValueError(
        "Custom VJP bwd rule must produce an output with the same type as the args tuple of the primal function, but "
        f"at output[{i}] the bwd rule produced an output of type {ct.aval} corresponding to an input of type {n.aval}, "
        "so the shapes do not match"
    )


def transposed_error(structures: tuple[Any, Any], nodes: tuple[Sequence[Node], Sequence[Node]]) -> TypeError:
    """For a cotangent of a linear function's result: both structures, and the nodes of both, the result's first."""
    if structures[0] != structures[1]:
        trees = [named(s) for s in structures]
        return TypeError(f"cotangent tree does not match function output, expected {trees[0]} but got {trees[1]}")
    types = [[str(n.aval) for n in side] for side in nodes]
    return TypeError(f"cotangent type does not match function output, expected {types[0]} but got {types[1]}")
