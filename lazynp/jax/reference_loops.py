"""Mutable references in control flow: bodies of loops and branches that use references from outside of them, or get
them as arguments; and functions with derivatives of their own that do."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..signatures import name_of, place_of
from ..tree import flatten
from .references import Ref, Touched, among, filled, passing_on, placed, read, threaded

Fun = Callable[..., Any]
Run = Callable[[list[Ref], list[Any]], Any]


def with_references(plain: Fun, prepared: Callable[..., tuple[list[Ref], Run]]) -> Fun:
    """A function of control flow that passes references on. `prepared(*args)` gives the references among its arguments,
    and the call of `plain` for these and others, and their values."""

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return plain(*args, **kwargs)
        except Touched as found:
            touched = [found.ref]
        except TypeError:
            if not among((args, kwargs)):
                raise
            touched = []
        own, run = prepared(plain, *args, **kwargs)
        return passing_on(run, [*own, *touched])

    return call


def not_carried(init: Any, f: Fun, kind: str) -> None:
    """Raise ValueError for a reference among what a loop hands on from one step to the next."""
    refs = [x for x in flatten(init)[0] if isinstance(x, Ref)]
    if refs:
        raise ValueError(
            f"function {name_of(f)}{place_of(f)} traced for {kind} returned a mutable array reference of type "
            f"{refs[0].aval}, but mutable array references cannot be returned: each step returns what is carried."
        )


def with_own(f: Fun, refs: Sequence[Ref]) -> Fun:
    """The function, whose arguments have places for these references."""
    return lambda *args: f(*filled(args, refs))


def run_scan(plain: Fun, f: Fun, init: Any, xs: Any = None, *rest: Any, **kwargs: Any) -> tuple[list[Ref], Run]:
    not_carried(init, f, "scan")
    own, rows = placed(xs)
    n = len(own)

    def run(refs: list[Ref], values: list[Any]) -> Any:
        def body(state: Any, given: Any) -> Any:
            held = [Ref(row, r._kind) for row, r in zip(given[0], own)]
            (carry, y), after = threaded(f, refs[n:])(state[0], state[1], filled(given[1], held))
            return (after, carry), (y, [read(r) for r in held])

        (after, carry), (ys, written) = plain(body, (values[n:], init), (values[:n], rows), *rest, **kwargs)
        return (carry, ys), [*written, *after]

    return own, run


def run_while(plain: Fun, cond_fun: Fun, body_fun: Fun, init_val: Any) -> tuple[list[Ref], Run]:
    not_carried(init_val, body_fun, "while_body")

    def run(refs: list[Ref], values: list[Any]) -> Any:
        def goes_on(state: Any) -> Any:
            out, after = threaded(cond_fun, refs)(*state)
            if any([a is not b for a, b in zip(after, state[0])]):
                raise NotImplementedError("the condition of while_loop writes to a mutable array reference")
            return out

        after, out = plain(goes_on, lambda state: threaded(body_fun, refs)(*state)[::-1], (values, init_val))
        return out, after

    return [], run


def run_fori(plain: Fun, lower: Any, upper: Any, body_fun: Fun, init_val: Any, **kwargs: Any) -> tuple[list[Ref], Run]:
    not_carried(init_val, body_fun, "fori_loop")

    def run(refs: list[Ref], values: list[Any]) -> Any:
        body = threaded(body_fun, refs)
        after, out = plain(lower, upper, lambda i, s: body(s[0], i, s[1])[::-1], (values, init_val), **kwargs)
        return out, after

    return [], run


def run_cond(
    plain: Fun, pred: Any, true_fun: Fun, false_fun: Fun, *operands: Any, **kwargs: Any
) -> tuple[list[Ref], Run]:
    own, given = placed((*operands, kwargs["operand"]) if "operand" in kwargs else operands)
    yes, no = with_own(true_fun, own), with_own(false_fun, own)
    return own, lambda refs, values: plain(pred, threaded(yes, refs), threaded(no, refs), values, *given)


def run_switch(plain: Fun, index: Any, branches: Sequence[Fun], *operands: Any, **kwargs: Any) -> tuple[list[Ref], Run]:
    own, given = placed((*operands, kwargs["operand"]) if "operand" in kwargs else operands)
    ready = [with_own(f, own) for f in branches]
    return own, lambda refs, values: plain(index, [threaded(f, refs) for f in ready], values, *given)


# --- Derivatives that users write -------------------------------------------------------------------------------------


def ruled_with_references(custom: Any, args: tuple[Any, ...]) -> Any:
    """The call of a function that has a derivative of its own, for arguments with references in them: these are not
    differentiated along, and its rules get them as they are."""
    own, given = placed(args)
    kept: list[Ref] = []
    new = copy.copy(custom)
    new.fun = functools.wraps(custom.fun)(with_own(custom.fun, own))
    if custom.rules is not None:
        fwd, bwd = custom.rules

        @functools.wraps(fwd)
        def forward(*args: Any) -> Any:
            out, residuals = fwd(*filled(args, own))
            kept[:], residuals = placed(residuals)
            return out, residuals

        @functools.wraps(bwd)
        def backward(*args: Any) -> Any:
            *static, residuals, ct = args
            return bwd(*filled(static, own), filled(residuals, kept), ct)

        new.rules = forward, backward
    return new(*given)
