"""Callbacks in branches: a branch that calls back calls when it is taken, and not before.

What a branch captures is computed outside of it. So is a callback whose arguments are all captured, unless it depends
on an argument of the branch: where a branch is found to call back, it is traced anew with one more argument for that.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..api.control import NO_OPERAND
from ..once import surroundings


class Branch(threading.local):
    """The argument that callbacks depend on in the branch that is being traced; None: in none."""

    token: Any = None


WANTED: Any = object()
branch = Branch()
surroundings.append(lambda: branch.token is None)


class NeedsToken(BaseException):
    """A branch calls back: it has to be traced with an argument for that."""


def token_of_branch() -> Any:
    """What a callback has to depend on; None outside of branches. Raises NeedsToken where there is no argument yet."""
    if branch.token is WANTED:
        raise NeedsToken
    return branch.token


def with_token(f: Any) -> Any:
    """A branch with one more argument, the last."""
    if not callable(f):
        return f

    @functools.wraps(f)
    def call(*args: Any) -> Any:
        before, branch.token = branch.token, args[-1]
        try:
            return f(*args[:-1])
        finally:
            branch.token = before

    return call


def calling_back(choose: Callable[..., Any], places: slice) -> Callable[..., Any]:
    """`cond` or `switch`, whose branches stand at these places of the arguments."""

    @functools.wraps(choose)
    def call(*args: Any, **kwargs: Any) -> Any:
        before, branch.token = branch.token, WANTED
        try:
            return choose(*args, **kwargs)
        except NeedsToken:
            pass
        finally:
            branch.token = before
        found, given = list(args), dict(kwargs)
        operand = given.pop("operand", NO_OPERAND)
        found += [] if operand is NO_OPERAND else [operand]
        found[places] = [
            [with_token(f) for f in fs] if isinstance(fs, (list, tuple)) else with_token(fs) for fs in found[places]
        ]
        given = {k: [with_token(f) for f in v] if k == "branches" else with_token(v) for k, v in given.items()}
        return choose(*found, np.False_, **given)

    return call
