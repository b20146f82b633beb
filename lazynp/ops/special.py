"""Special functions: error functions, gamma and its relatives, Bessel functions; derivatives as JAX's.

Operands are floating point, of one dtype. The values come from `special_values`, whose formulas kernels are
compiled of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import Node
from ..graph.op import LIBRARY, MAP, Op, Rule
from . import special_values as values
from .code import HEAVY, Code
from .elementwise import (
    absolute,
    add,
    greater,
    multiply,
    negative,
    reciprocal,
    refused,
    scalar,
    sign,
    square,
    subtract,
    where,
)
from .family import map_batch, of_array
from .promotion import broadcast, is_inexact
from .transcendental import exp, log, log1p


def special_abstract(name: str) -> Rule:
    def abstract(*avals: Aval) -> Aval:
        dtypes = {a.dtype for a in avals}
        if len(dtypes) > 1 or not is_inexact(avals[0].dtype) or avals[0].dtype.kind == "c":
            raise TypeError(f"{name} takes floating point operands of one dtype, not {', '.join(map(str, avals))}")
        return Aval(broadcast(*[a.shape for a in avals]), avals[0].dtype, all(a.weak for a in avals))

    return abstract


def special(value: Callable[..., Any], *partials: Rule | None, libm: str = "", **fields: Any) -> Op:
    """The op of an elementwise function on NumPy arrays; `partials` and the fields as in `Op`, `libm` as in `Code`. It
    can be part of a kernel where its values are given by a formula."""
    name = value.__name__
    kind, code = (MAP, Code("f", HEAVY, libm=libm)) if name in values.FORMULAS else (LIBRARY, None)
    op = Op(name, kind, special_abstract(name), lambda xp, *xs: value(*xs), partials=partials, code=code, **fields)
    op.loop = lambda out, *avals: (out,) * len(avals)
    op.batch = map_batch(op)
    return op


def missing(what: str) -> Rule:
    """Of a derivative that JAX has not either: its ValueError."""

    def rule(*args: Any) -> Node:
        raise ValueError(what)

    return rule


def gaussian(g: Node, x: Node, factor: float) -> Node:
    return multiply(scalar(factor, x), multiply(g, exp(negative(square(x)))))


erf = special(values.erf, lambda g, out, x: gaussian(g, x, 2 / math.sqrt(math.pi)), libm="erf", weakness=of_array)
erfc = special(values.erfc, lambda g, out, x: gaussian(g, x, -2 / math.sqrt(math.pi)), libm="erfc", weakness=of_array)
erf_inv = special(
    values.erf_inv,
    lambda g, out, x: multiply(scalar(math.sqrt(math.pi) / 2, x), multiply(g, exp(square(out)))),
    weakness=of_array,
)
lgamma = special(values.lgamma, lambda g, out, x: multiply(g, digamma(x)))
digamma = special(values.digamma, lambda g, out, x: multiply(g, polygamma(scalar(1.0, x), x)), weakness=of_array)
polygamma = special(
    values.polygamma,
    missing("polygamma gradient with respect to m is not supported"),
    lambda g, out, m, x: multiply(g, polygamma(add(m, scalar(1.0, m)), x)),
)
zeta = special(
    values.zeta,
    refused("zeta"),
    lambda g, out, x, q: multiply(multiply(g, negative(x)), zeta(add(x, scalar(1.0, x)), q)),
)


def gamma_density(g: Node, out: Node, a: Node, x: Node) -> Node:
    """The density of the gamma distribution: the derivative of igamma along x."""
    exponent = subtract(multiply(subtract(a, scalar(1.0, a)), log(x)), add(x, lgamma(a)))
    return multiply(g, exp(exponent))


igamma = special(values.igamma, lambda g, out, a, x: multiply(g, igamma_grad_a(a, x)), gamma_density)
igammac = special(
    values.igammac,
    lambda g, out, a, x: negative(multiply(g, igamma_grad_a(a, x))),
    lambda g, out, a, x: negative(gamma_density(g, out, a, x)),
)
igamma_grad_a = special(
    values.igamma_grad_a,
    refused("igamma_grad_a"),
    refused("igamma_grad_a"),
)
random_gamma_grad = special(
    values.random_gamma_grad,
    missing("random_gamma_grad has no derivative"),
    missing("random_gamma_grad has no derivative"),
)


def beta_density(g: Node, out: Node, a: Node, b: Node, x: Node) -> Node:
    log_beta = subtract(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    one = scalar(1.0, x)
    powers = add(multiply(subtract(b, one), log1p(negative(x))), multiply(subtract(a, one), log(x)))
    return multiply(g, exp(subtract(powers, log_beta)))


no_beta = missing("Betainc gradient with respect to a and b not supported.")
betainc = special(values.betainc, no_beta, no_beta, beta_density)
bessel_i0e = special(values.bessel_i0e, lambda g, out, x: multiply(g, subtract(bessel_i1e(x), multiply(sign(x), out))))


def bessel_i1e_x(g: Node, out: Node, x: Node) -> Node:
    """1/2 at the origin."""
    eps = scalar(float(np.finfo(x.dtype).eps), x)
    large = greater(absolute(x), eps)
    safe = where(large, x, eps)
    slope = subtract(bessel_i0e(safe), multiply(out, add(sign(safe), reciprocal(safe))))
    return multiply(g, where(large, slope, scalar(0.5, x)))


bessel_i1e = special(values.bessel_i1e, bessel_i1e_x)
OPS = [op for op in list(globals().values()) if isinstance(op, Op) and op.name in vars(values)]
SPECIALS: dict[str, Op] = {op.name: op for op in OPS}
"""By JAX's name."""
