"""How a distribution is written down: its functions in standard form; location, scale and the rest follow."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from ... import numpy as jnp
from ...arguments import inexact
from ...array import Array, cast_node
from ...at_once import apply

Function = Callable[..., Any]


class Distribution(ModuleType):
    """A module of functions: logpdf or logpmf, and what else JAX has of it. It can be imported by its own name."""

    def __init__(self, name: str, doc: str, functions: dict[str, Function]) -> None:
        super().__init__(f"{__package__}.{name}", doc)
        for kind, f in functions.items():
            f.__name__ = kind
        vars(self).update(functions)


INVERSES = ("ppf", "isf")
DOCS = {
    "logpdf": "The logarithm of the density.",
    "pdf": "The density.",
    "logpmf": "The logarithm of the probability.",
    "pmf": "The probability.",
    "cdf": "The distribution function.",
    "logcdf": "The logarithm of the distribution function.",
    "sf": "One minus the distribution function.",
    "logsf": "The logarithm of one minus the distribution function.",
    "ppf": "The quantile: the inverse of the distribution function.",
    "isf": "The inverse of `sf`.",
    "entropy": "The entropy.",
}
DERIVED: dict[str, tuple[str, Function]] = {
    "pdf": ("logpdf", lambda x: jnp.exp(x)),
    "pmf": ("logpmf", lambda x: jnp.exp(x)),
}
"""What follows from another function, if not given: always there."""
ASKED: dict[str, tuple[tuple[str, Function], ...]] = {
    "cdf": (("logcdf", lambda x: jnp.exp(x)), ("sf", lambda x: 1 - x)),
    "sf": (("logsf", lambda x: jnp.exp(x)), ("cdf", lambda x: 1 - x)),
    "logcdf": (("cdf", lambda x: jnp.log(x)),),
    "logsf": (("sf", lambda x: jnp.log(x)),),
}
"""What follows from another, if asked for."""


KEEPS = {
    "binom": {"logpmf", "pmf"},
    "expon": {"cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"},
    "gamma": {"logsf", "sf"},
    "gennorm": {"cdf", "logpdf", "pdf"},
    "gumbel_l": {"cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"},
    "gumbel_r": {"cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf"},
    "logistic": {"cdf", "sf"},
    "pareto": {"logcdf"},
    "poisson": {"logpmf", "pmf"},
    "uniform": {"logpdf", "pdf", "ppf"},
    "vonmises": {"logpdf", "pdf"},
    "wrapcauchy": {"logpdf", "pdf"},
}
"""The functions in which JAX has no constants of the argument's dtype: of a weakly typed array (whole numbers beside a
Python float make one) the result is weak. Constants beside scalars are weak themselves."""


def settled(name: str, kind: str, x: Array, out: Any) -> Any:
    """The result for an argument that was promoted, weak where JAX's is."""
    if not x.weak_type or not x.ndim or not out.weak_type and kind not in KEEPS.get(name, ()):
        return out
    weak = kind in KEEPS.get(name, ())
    return apply(lambda n: cast_node(n, n.dtype, weak), out.node)


def function(name: str, kind: str, parameters: Sequence[inspect.Parameter], f: Function) -> Function:
    """f of the promoted arguments, in the order of the parameters."""
    signature = inspect.Signature(parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = inexact(f"{name}.{kind}", *bound.arguments.values())
        return settled(name, kind, given[0], f(*given))

    call.__name__, call.__qualname__, call.__doc__ = kind, f"{name}.{kind}", DOCS.get(kind)
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def parameters(first: str, shapes: Sequence[str], defaults: dict[str, int]) -> list[inspect.Parameter]:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    required = [inspect.Parameter(n, kind) for n in (first, *shapes)]
    return required + [inspect.Parameter(n, kind, default=v) for n, v in defaults.items()]


def continuous(
    name: str,
    doc: str,
    shapes: str = "",
    *,
    also: str = "",
    valid: Function | None = None,
    even: bool = False,
    inverse: str = "q",
    **standard: Function,
) -> Distribution:
    """A family in x with location and scale.

    Args:
        shapes: names of the shape parameters.
        also: kinds of functions that are to be made from the ones given.
        valid: `(scale, *shapes) -> mask`; where it is false, all functions of x are NaN.
        inverse: name of the first parameter of the inverses.
        even: whether the density is even, so that the sign of scale does not matter.
        standard: functions of `(z, *shapes)`, or of `(q, *shapes)` for the inverses, for location 0 and scale 1.
    """

    def scaled(kind: str, f: Function) -> Function:
        def call(x: Any, *rest: Any) -> Any:
            *shape, loc, scale = rest
            if kind in INVERSES:
                return f(x, *shape) * scale + loc
            out = f((x - loc) / scale, *shape)
            if kind == "logpdf":
                out = out - (jnp.log(scale * scale) / 2 if even else jnp.log(scale))
            return out if valid is None else jnp.where(valid(scale, *shape), out, jnp.nan)

        first = inverse if kind in INVERSES else "x"
        return function(name, kind, parameters(first, shapes.split(), {"loc": 0, "scale": 1}), call)

    given = {kind: scaled(kind, f) for kind, f in standard.items()}
    return Distribution(name, doc, chained(name, given, also.split()))


def discrete(name: str, doc: str, shapes: str, *, loc: bool = True, **standard: Function) -> Distribution:
    """A family in k, with a location where `loc` says so; functions of `(k - loc, *shapes)`."""

    def shifted(f: Function) -> Function:
        return (lambda k, *rest: f(k - rest[-1], *rest[:-1])) if loc else f

    given = {
        kind: function(
            name,
            kind,
            parameters("q" if kind in INVERSES else "k", shapes.split(), {"loc": 0} if loc and kind != "ppf" else {}),
            shifted(f),
        )
        for kind, f in standard.items()
    }
    return Distribution(name, doc, chained(name, given, []))


def plain(name: str, doc: str, shapes: str, **functions: Function) -> Distribution:
    """A family without location and scale: functions of `(x, *shapes)`."""
    given = {kind: function(name, kind, parameters("x", shapes.split(), {}), f) for kind, f in functions.items()}
    return Distribution(name, doc, chained(name, given, []))


def chained(name: str, given: dict[str, Function], also: Sequence[str]) -> dict[str, Function]:
    """The functions with those that follow, each under its own name."""
    found = dict(given)
    for kind, (source, then) in DERIVED.items():
        if kind not in found and source in found:
            found[kind] = renamed(name, kind, found[source], then)
    for kind in also:
        source, then = next(pair for pair in ASKED[kind] if pair[0] in found)
        found[kind] = renamed(name, kind, found[source], then)
    return found


def renamed(name: str, kind: str, f: Function, then: Function) -> Function:
    signature = inspect.signature(f)

    def call(*args: Any, **kwargs: Any) -> Any:
        out = then(f(*args, **kwargs))
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        return settled(name, kind, inexact(f"{name}.{kind}", *given.arguments.values())[0], out)

    call.__name__, call.__qualname__, call.__doc__ = kind, f"{name}.{kind}", DOCS.get(kind)
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call
