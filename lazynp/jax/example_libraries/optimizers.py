"""`jax.example_libraries.optimizers`: gradient descent as three functions, on trees of parameters.

Each optimizer is `(init, update, get_params)`: `init(params)` -> state, `update(step, gradients, state)` -> state,
`get_params(state)` -> params. Step sizes are numbers or functions of the step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...tracebacks import bound_all as _bound_all
from .. import numpy as jnp
from ..tree_util import register_pytree_node, tree_flatten, tree_leaves, tree_map, tree_structure, tree_unflatten

__all__ = [
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]


class OptimizerState(NamedTuple):
    packed_state: Any
    tree_def: Any
    subtree_defs: Any


Step = int
Schedule = Callable[[Any], Any]
Params = State = Updates = Any
InitFn = UpdateFn = ParamsFn = Callable[..., Any]


class Optimizer(NamedTuple):
    """An optimizer's three functions."""

    init_fn: Callable[..., Any]
    update_fn: Callable[..., Any]
    params_fn: Callable[..., Any]


register_pytree_node(
    OptimizerState, lambda s: ((s.packed_state,), s[1:]), lambda aux, packed: OptimizerState(packed[0], *aux)
)


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """An optimizer of trees, from one of single arrays."""

    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def packed(states: list[Any], tree: Any) -> OptimizerState:
            parts = [tree_flatten(s) for s in states]
            return OptimizerState(tuple([tuple(leaves) for leaves, _ in parts]), tree, tuple([t for _, t in parts]))

        def unpacked(state: OptimizerState) -> list[Any]:
            return [tree_unflatten(t, leaves) for t, leaves in zip(state.subtree_defs, state.packed_state)]

        def tree_init(params: Any) -> OptimizerState:
            leaves, tree = tree_flatten(params)
            return packed([init(x) for x in leaves], tree)

        def tree_update(i: Any, grads: Any, state: OptimizerState) -> OptimizerState:
            leaves, tree = tree_flatten(grads)
            if tree != state.tree_def:
                raise TypeError(
                    "optimizer update function was passed a gradient tree that did not match the parameter tree "
                    f"structure with which it was initialized: parameter tree {state.tree_def} and grad tree {tree}."
                )
            new = packed([update(i, g, s) for g, s in zip(leaves, unpacked(state))], tree)
            for old_tree, new_tree in zip(state.subtree_defs, new.subtree_defs):
                if old_tree != new_tree:
                    raise TypeError(
                        "optimizer update function produced an output structure that did not match its input "
                        f"structure: input {old_tree} and output {new_tree}."
                    )
            return new

        def tree_params(state: OptimizerState) -> Any:
            return tree_unflatten(state.tree_def, [get_params(s) for s in unpacked(state)])

        return Optimizer(tree_init, tree_update, tree_params)

    return make


def first(state: Any) -> Any:
    """The parameters, which stand first in a state."""
    return state[0]


def with_zeros(count: int) -> Callable[[Any], Any]:
    """A first state: the parameters and so many arrays of zeros."""
    return lambda x: (x, *[jnp.zeros_like(x) for _ in range(count)])


# --- Optimizers -------------------------------------------------------------------------------------------------------


@optimizer
def sgd(step_size: Any) -> Any:
    """Plain gradient descent."""
    size = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - size(i) * g, lambda x: x


@optimizer
def momentum(step_size: Schedule, mass: float) -> Any:
    """Gradient descent with momentum; `mass` is how much of the velocity stays."""
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - size(i) * velocity, velocity

    return with_zeros(1), update, first


@optimizer
def nesterov(step_size: Schedule, mass: float) -> Any:
    """Gradient descent with Nesterov's momentum."""
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - size(i) * (mass * velocity + g), velocity

    return with_zeros(1), update, first


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> Any:
    """Adagrad (Duchi et al. 2011), with momentum."""
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, m = state
        squares = squares + jnp.square(g)
        scale = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        m = (1.0 - momentum) * (g * scale) + momentum * m
        return x - size(i) * m, squares, m

    return with_zeros(2), update, first


@optimizer
def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """RMSProp (Hinton 2012)."""
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares = state
        squares = squares * gamma + jnp.square(g) * (1.0 - gamma)
        return x - size(i) * g / jnp.sqrt(squares + eps), squares

    return with_zeros(1), update, first


@optimizer
def rmsprop_momentum(step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9) -> Any:
    """RMSProp with momentum."""
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, m = state
        squares = squares * gamma + jnp.square(g) * (1.0 - gamma)
        m = momentum * m + size(i) * g / jnp.sqrt(squares + eps)
        return x - m, squares, m

    return with_zeros(2), update, first


@optimizer
def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Adam (Kingma and Ba 2014)."""
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        unbiased_m = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        unbiased_v = v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - size(i) * unbiased_m / (jnp.sqrt(unbiased_v) + eps), m, v

    return with_zeros(2), update, first


@optimizer
def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """AdaMax (Kingma and Ba 2014): Adam with the infinity norm."""
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, u = state
        m = (1 - b1) * g + b1 * m
        u = jnp.maximum(b2 * u, jnp.abs(g))
        return x - size(i) / (1 - jnp.asarray(b1, m.dtype) ** (i + 1)) * m / (u + eps), m, u

    return with_zeros(2), update, first


@optimizer
def sm3(step_size: Any, momentum: float = 0.9) -> Any:
    """SM3 (Anil et al. 2019): Adagrad with a sum for each row and column in place of each element."""
    size = make_schedule(step_size)

    def init(x: Any) -> Any:
        flat = jnp.atleast_1d(x)
        return flat, jnp.zeros_like(flat), [jnp.zeros(n, flat.dtype) for n in flat.shape], x.shape

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, sums, shape = state
        along = [jnp.expand_dims(v, [k for k in range(x.ndim) if k != axis]) for axis, v in enumerate(sums)]
        total = functools.reduce(jnp.minimum, along) + jnp.square(g)
        scale = jnp.where(total > 0, 1.0 / jnp.sqrt(total), 0)
        m = (1.0 - momentum) * (g * scale) + momentum * m
        sums = [total.max(tuple([k for k in range(x.ndim) if k != axis])) for axis in range(x.ndim)]
        return x - size(i) * m, m, sums, shape

    return init, update, lambda state: state[0].reshape(state[3])


# --- Step sizes -------------------------------------------------------------------------------------------------------


def constant(step_size: Any) -> Schedule:
    """The same size at each step."""
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Times `decay_rate` in each `decay_steps`."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Schedule:
    """Divided by one more `decay_rate` in each `decay_steps`; with `staircase` at their ends only."""
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: float = 1.0) -> Schedule:
    """Down to `final_step_size` after `decay_steps`."""

    def schedule(i: Any) -> Any:
        left = (1 - jnp.minimum(i, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """One value more than boundaries: each up to the next boundary. Raises ValueError for other lengths."""
    ends, sizes = jnp.array(boundaries), jnp.array(values)
    if not ends.ndim == sizes.ndim == 1:
        raise ValueError("boundaries and values must be sequences")
    if ends.shape[0] != sizes.shape[0] - 1:
        raise ValueError("boundaries length must be one shorter than values length")
    return lambda i: sizes[jnp.sum(i > ends)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A function of the step, from one or a number. Raises TypeError for an array with axes."""
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule):
        raise TypeError(type(scalar_or_schedule))
    return constant(scalar_or_schedule)


# --- Trees ------------------------------------------------------------------------------------------------------------


def l2_norm(tree: Any) -> Any:
    """The Euclidean norm of all leaves together."""
    return jnp.sqrt(sum([jnp.vdot(x, x) for x in tree_leaves(tree)]))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """The tree, scaled down where its norm is above the largest that may be."""
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


class JoinPoint:
    """The state of one parameter, as a leaf of the tree of parameters."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[Any]:
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The tree of parameters with a `JoinPoint` for each."""
    states = [tree_unflatten(t, leaves) for t, leaves in zip(opt_state.subtree_defs, opt_state.packed_state)]
    return tree_unflatten(opt_state.tree_def, [JoinPoint(s) for s in states])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state, from what `unpack_optimizer_state` gave."""
    points, tree = tree_flatten(marked_pytree)
    assert all([isinstance(p, JoinPoint) for p in points])
    parts = [tuple(tree_leaves(p.subtree)) for p in points]
    return OptimizerState(tuple(parts), tree, tuple([tree_structure(p.subtree) for p in points]))


_bound_all(globals())
