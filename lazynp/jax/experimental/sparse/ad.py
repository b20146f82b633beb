"""Derivatives with respect to sparse arrays: of their elements, at the same places."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ... import derivatives
from ... import numpy as jnp
from ...tree_util import tree_flatten, tree_unflatten
from .base import is_sparse

__all__ = ["grad", "is_sparse", "jacfwd", "jacobian", "jacrev", "value_and_grad"]
Fun = Callable[..., Any]


class Differentiated:
    """A call of a function of sparse arrays as one of arrays, of which some are differentiated.

    Attributes:
        flat: all arrays of the arguments. at: which of them are differentiated.
    """

    def __init__(self, fun: Fun, argnums: int | tuple[int, ...], args: tuple[Any, ...]) -> None:
        chosen = (argnums,) if isinstance(argnums, int) else argnums
        self.fun = fun
        self.flat: list[Any] = []
        at: list[int] = []
        self.parts: list[tuple[list[Any], Any]] = []  # of each argument its leaves, sparse arrays whole, and its tree
        assert all([0 <= i < len(args) for i in chosen]), (chosen, len(args))
        for i, arg in enumerate(args):
            leaves, tree = tree_flatten(arg, is_leaf=is_sparse)
            self.parts.append((leaves, tree))
            for leaf in leaves:
                if i in chosen:
                    at.append(len(self.flat))
                self.flat += tree_flatten(leaf)[0]
        self.at, self.chosen = tuple(at), chosen

    def __call__(self, *flat: Any, **kwargs: Any) -> Any:
        rest = list(flat)
        args = []
        for leaves, tree in self.parts:
            own = []
            for leaf in leaves:
                structure = tree_flatten(leaf)[1]
                n = structure.num_leaves
                own.append(tree_unflatten(structure, rest[:n]))
                rest = rest[n:]
            args.append(tree_unflatten(tree, own))
        return self.fun(*args, **kwargs)

    def shaped(self, found: Sequence[Any]) -> Any:
        """The derivatives in the structure of the arguments."""
        rest = iter(found)
        out = []
        for i in sorted(set(self.chosen)):
            leaves, tree = self.parts[i]
            out.append(tree_unflatten(tree, [at_places(leaf, next(rest)) for leaf in leaves]))
        return out[0] if len(out) == 1 else tuple(out)


def at_places(leaf: Any, found: Any) -> Any:
    """The derivative for one argument: of a sparse one at its places; of several results, for each of them."""
    if not is_sparse(leaf):
        return found
    (data, *places), tree = tree_flatten(leaf)
    results = found.shape[: found.ndim - data.ndim]
    places = [jnp.broadcast_to(p, (*results, *p.shape)) for p in places]
    return tree_unflatten(tree, [found, *places])


def differentiated(make: Fun, fun: Fun, argnums: int | Sequence[int], has_aux: bool, options: dict[str, Any]) -> Fun:
    """`make(fun, argnums, has_aux)` for a function of sparse arrays, with `(result, ...)` as `make` gives it."""
    chosen = argnums if isinstance(argnums, int) else tuple(map(operator.index, argnums))

    @functools.wraps(fun)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        call = Differentiated(fun, chosen, args)
        return call, make(call, argnums=call.at, has_aux=has_aux, **options)(*call.flat, **kwargs)

    return derivative


def value_and_grad(fun: Fun, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Fun:
    """`jax.value_and_grad`, where sparse arguments have sparse gradients."""
    make = differentiated(derivatives.value_and_grad, fun, argnums, has_aux, kwargs)

    @functools.wraps(fun)
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> Any:
        call, (value, found) = make(*args, **kwargs)
        return value, call.shaped(found)

    return value_and_grad_fun


def first_shaped(make: Fun, has_aux: bool, fun: Fun) -> Fun:
    """A derivative in the structure of the arguments; with what else the function returned, where it returns that."""

    @functools.wraps(fun)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        call, out = make(*args, **kwargs)
        return (call.shaped(out[0]), out[1]) if has_aux else call.shaped(out)

    return derivative


def grad(fun: Fun, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Fun:
    """`jax.grad`, where sparse arguments have sparse gradients."""
    return first_shaped(differentiated(derivatives.grad, fun, argnums, has_aux, kwargs), has_aux, fun)


def jacfwd(fun: Fun, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Fun:
    """`jax.jacfwd`, where derivatives by sparse arguments are sparse."""
    return first_shaped(differentiated(derivatives.jacfwd, fun, argnums, has_aux, kwargs), has_aux, fun)


def jacrev(fun: Fun, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Fun:
    """`jax.jacrev`, where derivatives by sparse arguments are sparse."""
    return first_shaped(differentiated(derivatives.jacrev, fun, argnums, has_aux, kwargs), has_aux, fun)


jacobian = jacrev
