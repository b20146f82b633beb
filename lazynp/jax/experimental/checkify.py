"""`jax.experimental.checkify`: checks inside of functions that are jitted, mapped or looped.

`checkify(f)` runs f on values that keep their graph, and then goes through this graph: checks become a value, an
`Error`, beside the results. Bodies of loops and branches get it as part of their carry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...api.trace import Trace, effect, run_traced
from ...doors import wrap_all
from ...graph.function import Function
from ...graph.node import ABSTRACT, Node, leaf
from ...graph.op import make
from ...graph.walk import toposort
from ...ops.branches import cond
from ...ops.control import scan, together, while_
from ...ops.dynamic import dynamic_slice, dynamic_update_slice
from ...ops.elementwise import where
from ...ops.indexing import gather, scatter
from ...runtime.detours import detour
from ...runtime.recorder import recorder
from ...runtime.tape import Tape
from ...tree import flatten, unflatten
from ..array import Array, as_node, door, wrap
from ..check_errors import (
    DivisionByZeroError,
    Error,
    FailedCheckError,
    JaxException,
    JaxRuntimeError,
    Kind,
    NaNError,
    OOBError,
    check_op,
    check_value,
    init_error,
    raise_where,
)
from ..lax.control import scan as lax_scan
from ..lax.control import switch, while_loop
from ..lax.primitives import words
from ..numpy import any as any_of
from ..numpy import argmax, array, broadcast_arrays, isnan
from ..numpy import stack as stacked
from ..primitives import NAMES

__all__ = [
    "Error",
    "ErrorCategory",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]
ErrorCategory = type[JaxException]
user_checks: frozenset[ErrorCategory] = frozenset({FailedCheckError})
nan_checks: frozenset[ErrorCategory] = frozenset({NaNError})
index_checks: frozenset[ErrorCategory] = frozenset({OOBError})
div_checks: frozenset[ErrorCategory] = frozenset({DivisionByZeroError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks
NO_NEW_NAN = frozenset(
    words(
        "abs alias bound broadcast_in_dim called callback ceil check cholesky clamp concatenate cond conj "
        "convert_element_type copy copysign custom custom_jvp_call diagonal dynamic_slice "
        "dynamic_update_slice eq floor gather imag max min neg pick positive pulled real reduce_max "
        "reduce_min reshape rev roll round scan scatter select_n set sign slice sort squeeze stop_gradient "
        "together transpose trunc while"
    )
)
"""Operations by JAX's names that are not asked whether they made NaN: they make none, or another one did."""
DIVISIONS = frozenset({"divide", "true_divide", "floor_divide"})


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Raise JaxRuntimeError with `msg.format(*fmt_args, **fmt_kwargs)` where `pred` is false.

    In a function that is traced it has to be made a value by `checkify`; else, unless `debug`, running the function
    raises ValueError.

    Raises: TypeError where pred is no boolean scalar, or a format argument is no array.
    """
    check_value(pred, debug, FailedCheckError(msg, *fmt_args, **fmt_kwargs))


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """A `check` that has an effect under `checkify` only."""
    check_value(pred, True, FailedCheckError(msg, *fmt_args, **fmt_kwargs))


def check_error(error: Error) -> None:
    """Raise JaxRuntimeError where the error happened: the inverse of `checkify`, which can be checkified again.

    Raises: TypeError for what is no `Error`.
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error as argument, got type {type(error)} instead.")
    raise_where(error)


def checkify(f: Callable[..., Any], errors: frozenset[ErrorCategory] = user_checks) -> Callable[..., tuple[Error, Any]]:
    """A function that returns an `Error` and f's result: checks of these categories raise nothing, but are in it."""

    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, structure = flatten((args, kwargs))
        with Tape() as tape:
            fresh = {
                i: tape.fresh(as_node(x)) for i, x in enumerate(leaves) if isinstance(x, (Array, np.ndarray, float))
            }
            inputs = list(fresh.values())
            given = [door.wrap(fresh[i]) if i in fresh else x for i, x in enumerate(leaves)]
            run = Run(frozenset(errors))
            detour(run, True)  # what is made of constants is checked, too
            try:
                function, out, _ = run_traced(f, inputs, structure, door, Trace(f, "checkify"), given)
            finally:
                detour(run, False)
            outs, error, effects = run.interpret(function, inputs, init_error)
            error_leaves, error_structure = flatten(error)
            tape.results += [*outs, *[as_node(x) for x in error_leaves]]
        for n in effects:
            effect(n)
        values = wrap_all(door, [as_node(x) for x in error_leaves])
        return unflatten(error_structure, values), unflatten(out, wrap_all(door, outs))

    return checked


class Run:
    """One walk through a graph and the graphs in it.

    Attributes:
        errors: the categories that are asked for.
        since: the number of the first node that the function recorded, be it of constants.
    """

    def __init__(self, errors: frozenset[ErrorCategory]) -> None:
        self.errors, self.since = errors, recorder.count

    def own(self, n: Node) -> bool:
        """Whether the function recorded a node, which depends on none of its arguments."""
        return not n.trace and n.index >= self.since

    def interpret(self, function: Function, inputs: list[Node], error: Error) -> tuple[list[Node], Error, list[Node]]:
        """The outputs for these inputs, the error with the checks inside, and the effects that are no checks."""
        found: dict[Node, Node] = dict(zip(function.inputs, inputs))
        ends = [*function.effects, *function.outputs]
        inside, checks, effects = set(function.inputs), set(function.effects), []
        for n in toposort(ends, stop=set(found)):
            if n in found or n.op is None:
                continue
            if n not in checks and not any([i in inside for i in n.inputs]) and not self.own(n):
                continue
            inside.add(n)
            new = tuple([found.get(i, i) for i in n.inputs])
            if n.op is check_op:
                error = self.discharged(error, n, new)
                continue
            made, error = self.node(n, new, error)
            if made is not n:
                found[n] = made
            if n in function.effects and n.op not in (scan, while_, cond):
                effects.append(made)
        return [found.get(n, n) for n in function.outputs], error, effects

    def discharged(self, error: Error, n: Node, inputs: tuple[Node, ...]) -> Error:
        """The error with those of a check."""
        new = n.static[0].error(inputs)
        reports = {k: r for k, r in new.reports.items() if k.error in self.errors}
        return error.merge(reports, new.sites) if reports else error

    def node(self, n: Node, inputs: tuple[Node, ...], error: Error) -> tuple[Node, Error]:
        """A node on these inputs, and the error with what it may do wrong."""
        assert n.op is not None
        if n.op in (scan, while_, cond):
            made = CONTROL[n.op.name](self, n, inputs, error)
            if made is not None:
                return made
        new = n if inputs == n.inputs else make(n.op, inputs, n.static, n.moving)
        if n.op in (gather, scatter, dynamic_slice, dynamic_update_slice) and OOBError in self.errors:
            error = out_of_bounds(n, inputs, error)
        if n.op.name in DIVISIONS and DivisionByZeroError in self.errors:
            error = error.add(any_of(wrap(divisor(inputs[1])) == 0), DivisionByZeroError())
        name = NAMES.get(n.op.name, n.op.name)
        if NaNError in self.errors and n.dtype is not None and n.dtype.kind in "fc" and name not in NO_NEW_NAN:
            error = error.add(any_of(isnan(wrap(new))), NaNError(name))
        return new, error

    # --- control flow -------------------------------------------------------------------------------------------------

    def kinds(self, function: Function) -> tuple[Kind, ...]:
        """The kinds of errors that a body may have."""
        with Trace(function, "checkify"):
            inputs = [leaf(n.shape, n.dtype, weak=n.weak, trace=ABSTRACT) for n in function.inputs]
            _, error, _ = self.interpret(function, inputs, init_error)
        return tuple(error.reports)

    def body(self, function: Function, error: Error, inputs: Any) -> tuple[Error, list[Array]]:
        """A body's results, its effects where it is traced."""
        outs, error, effects = self.interpret(function, [as_node(x) for x in inputs], error)
        for e in effects:
            effect(e)
        return error, [wrap(n) for n in outs]


Made = tuple[Node, Error] | None


def divisor(n: Node) -> Node:
    """What a program divides by: of integers it stands behind a `where` that keeps zeros away (`lax.div`)."""
    return n.inputs[2] if n.op is where and n.dtype.kind in "iu" and n.inputs else n


def carried(error: Error, kinds: Any) -> tuple[tuple[Kind, ...], Any, Error]:
    """An error with room for these kinds: the kinds in it, their arrays, itself."""
    error = error.with_room(kinds)
    return tuple(error.reports), tuple(error.reports.values()), error


class Sites:
    """The checks that were met while a body was traced, which its carry cannot hold."""

    def __init__(self, error: Error, kinds: tuple[Kind, ...]) -> None:
        self.kinds, self.known = kinds, dict(error.sites)

    def error(self, reports: Any) -> Error:
        return Error(dict(zip(self.kinds, reports)), self.known)

    def reports(self, error: Error) -> Any:
        self.known.update(error.sites)
        return tuple([error.reports[k] for k in self.kinds])


def scan_checked(run: Run, n: Node, inputs: tuple[Node, ...], error: Error) -> Made:
    params = scan.params_of(n)
    body, first, split = params["body"], params["n_consts"], params["n_consts"] + params["n_carry"]
    kinds = run.kinds(body)
    if not kinds:
        return None
    kinds, reports, error = carried(error, kinds)
    sites, arrays = Sites(error, kinds), [wrap(x) for x in inputs]

    def step(carry: Any, xs: Any) -> Any:
        inner, outs = run.body(body, sites.error(carry[0]), [*arrays[:first], *carry[1], *xs])
        return (sites.reports(inner), outs[: params["n_carry"]]), outs[params["n_carry"] :]

    (reports, last), ys = lax_scan(
        step, (reports, arrays[first:split]), arrays[split:], params["length"], reverse=params["reverse"]
    )
    return together(*[as_node(x) for x in (*last, *ys)]), sites.error(reports)


def while_checked(run: Run, n: Node, inputs: tuple[Node, ...], error: Error) -> Made:
    params = while_.params_of(n)
    test, body, n_cond = params["cond"], params["body"], params["n_cond"]
    split = n_cond + params["n_body"]
    kinds = (*run.kinds(test), *run.kinds(body))
    if not kinds:
        return None
    arrays = [wrap(x) for x in inputs]
    reads, consts, carry = arrays[:n_cond], arrays[n_cond:split], arrays[split:]
    error, _ = run.body(test, error, [*reads, *carry])
    kinds, reports, error = carried(error, kinds)
    sites = Sites(error, kinds)

    def holds(state: Any) -> Any:
        return wrap(test(*[as_node(x) for x in (*reads, *state[1])])[0])

    def step(state: Any) -> Any:
        inner, outs = run.body(body, sites.error(state[0]), [*consts, *state[1]])
        inner, _ = run.body(test, inner, [*reads, *outs])
        return sites.reports(inner), outs

    reports, last = while_loop(holds, step, (reports, carry))
    return together(*[as_node(x) for x in last]), sites.error(reports)


def cond_checked(run: Run, n: Node, inputs: tuple[Node, ...], error: Error) -> Made:
    branches = cond.params_of(n)["branches"]
    kinds = tuple([k for b in branches for k in run.kinds(b)])
    if not kinds:
        return None
    kinds, reports, error = carried(error, kinds)
    sites = Sites(error, kinds)

    def branch(function: Function) -> Callable[..., Any]:
        def call(reports: Any, *operands: Any) -> Any:
            inner, outs = run.body(function, sites.error(reports), operands)
            return sites.reports(inner), outs

        return call

    index, *operands = [wrap(x) for x in inputs]
    reports, outs = switch(index, [branch(b) for b in branches], reports, *operands)
    return together(*[as_node(x) for x in outs]), sites.error(reports)


CONTROL = {"scan": scan_checked, "while": while_checked, "cond": cond_checked}


# --- Indices ----------------------------------------------------------------------------------------------------------


def out_of_bounds(n: Node, inputs: tuple[Node, ...], error: Error) -> Error:
    """The error with that of an index that leaves its operand."""
    op, base = n.op, inputs[0]
    assert op is not None
    params = op.params_of(n)
    if op in (gather, scatter):
        axes = tuple(params["axes"])
        places = [wrap(i) for i in inputs[1 if op is gather else 2 :]]
        sizes = [1] * len(axes)
    else:
        axes = tuple(range(base.ndim))
        places = [wrap(i) for i in inputs[1 if op is dynamic_slice else 2 :]]
        sizes = list(params["sizes"] if op is dynamic_slice else inputs[1].shape)
    lengths = [base.shape[a] for a in axes]
    at = stacked(broadcast_arrays(*places), -1)
    outside = (at < 0) | (at + array(sizes) > array(lengths))
    flat = argmax(outside)
    which = flat % len(axes)
    place = array([at.reshape(-1)[flat], array(axes)[which], array(lengths)[which]], np.int32)
    return error.add(any_of(outside), OOBError(NAMES.get(op.name, op.name), tuple(base.shape), place))
