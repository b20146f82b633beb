"""What `vjp`, `linearize` and `linear_transpose` give is a tree: it leaves jitted and batched functions and loops, and
goes into others, as JAX's does. And what else a careful caller of these and of `lax` is told."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
Case = Callable[[Any], Any]
CASES: list[Case] = []
ROW = np.array([0.5, -1.5, 2], "f4")
SQUARE = np.arange(4, dtype="f4").reshape(2, 2) - 1
NONE = np.zeros((), jax.dtypes.float0)


def case(f: Case) -> Case:
    CASES.append(f)
    return f


@case
def out_of_jit(j: Any) -> Any:
    y, pull = j.jit(lambda x: j.vjp(lambda x: j.numpy.sin(x) * 3, x))(1.0)
    return y, pull(2.0), j.jit(lambda p, c: p(c))(pull, 2.0), len(j.tree.leaves(pull)) > 0


@case
def several_arguments_and_a_whole_result(j: Any) -> Any:
    y, pull = j.vjp(lambda x, y: {"a": j.numpy.sin(x) * y, "n": j.numpy.int32(3)}, 1.0, j.numpy.asarray(ROW))
    ct = {"a": j.numpy.ones(3), "n": NONE}
    return y["a"], pull(ct), j.tree.map(lambda x: x, pull)(ct), j.tree.structure(pull) == j.tree.structure(pull)


@case
def whole_arguments(j: Any) -> Any:
    pull = j.vjp(lambda x, n: x * n, 2.0, 3)[1]
    found = j.tree.map(lambda x: x, pull)(1.0)
    return found[0], found[1].dtype == jax.dtypes.float0


@case
def out_of_vmap(j: Any) -> Any:
    y, pulls = j.vmap(lambda x: j.vjp(lambda x: x**3, x))(ROW)
    return y, j.vmap(lambda p, c: p(c))(pulls, ROW)


@case
def out_of_scan(j: Any) -> Any:
    pulls = j.lax.scan(lambda c, _: j.vjp(j.numpy.sin, c), 1.0, None, length=3)[1]
    return j.vmap(lambda p: p(1.0))(pulls)


@case
def linearized(j: Any) -> Any:
    y, along = j.jit(lambda x: j.linearize(lambda x: j.numpy.sin(x) * x, x))(ROW)
    return y, along(ROW), j.jit(lambda f, t: f(t))(along, ROW), j.vmap(along)(np.eye(3, dtype="f4"))


@case
def transposed(j: Any) -> Any:
    t = j.linear_transpose(lambda x: 3 * x, 1.0)
    return j.jit(lambda t, c: t(c))(t, 2.0), t(2.0), j.device_put(t)(2.0), j.block_until_ready(t)(2.0)


@case
def transposed_whole_numbers(j: Any) -> Any:
    t = j.linear_transpose(lambda x: 3 * x, np.arange(3, dtype="i4"))
    return t(np.arange(3, dtype="i4")), j.tree.map(lambda x: x, t)(np.arange(3, dtype="i4"))


@case
def differentiated(j: Any) -> Any:
    return j.grad(lambda x: j.jit(lambda x: j.vjp(j.numpy.sin, x))(x)[1](1.0)[0])(0.5)


@case
def weak_types(j: Any) -> Any:
    one = j.numpy.float32(1)
    return [
        j.linear_transpose(lambda x, y: x + 3 * y, 1.0, one)(2.0),
        j.linear_transpose(lambda x: 2 * x, j.ShapeDtypeStruct((), "float32"))(3.0),
        j.linear_transpose(lambda x: x * one, 2.0)(3.0),
    ]


@case
def both_passes(j: Any) -> Any:
    fwd, bwd = j.fwd_and_bwd(lambda x, w: (x @ w, {"s": x.sum()}), (0, 1), has_aux=True)
    y, kept, aux = fwd(SQUARE, 2 * SQUARE)
    return y, aux["s"], bwd(kept, SQUARE), bwd(fwd(2 * SQUARE, SQUARE)[1], SQUARE)


@case
def both_passes_along_one(j: Any) -> Any:
    fwd, bwd = j.fwd_and_bwd(operator.mul, 1, jitted=False)
    y, kept = fwd(2.0, 3.0)
    return y, bwd(kept, 1.0)


@case
def casts_that_do_not_fit(j: Any) -> Any:
    x = j.numpy.asarray(np.array([-1.7, 300, np.nan, 3e9, -np.inf], "f4"))
    return [j.lax.convert_element_type(x, dtype) for dtype in ("int8", "uint8", "int16", "int32", "uint32", "bool")]


@case
def values_that_do_not_fit(j: Any) -> Any:
    zeros, high = j.numpy.zeros(2, "int8"), np.float32(300)
    written = [zeros.at[0].set(300.0), zeros.at[:].set(high), zeros.at[np.array([1])].set(-high)]
    jitted = j.jit(lambda z, v: (z.at[0].set(v), z.at[z[:1]].set(v)))(zeros, high)
    return *written, jitted, j.lax.full((2,), high, np.int8), j.lax.full_like(zeros, high)


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_agrees(case: Case) -> None:
    wrong = disagreement(case.__name__, outcome(lambda: case(jax)), outcome(lambda: case(lazynp.jax)))
    assert wrong is None, wrong


REFUSED: list[tuple[Case, str]] = [
    (lambda j: j.tree.map(lambda x: x, j.vjp(j.numpy.sin, 1.0)[1])(1), "VJP function"),
    (lambda j: j.tree.map(lambda x: x, j.vjp(j.numpy.sin, 1.0)[1])({"a": 1.0}), "unexpected tree structure"),
    (lambda j: j.vjp(j.numpy.sin, 1.0)[1](1.0, 2.0), "single argument"),
    (lambda j: j.tree.map(lambda x: x, j.vjp(j.numpy.sin, 1.0)[1])(1.0, 2.0), "argument"),
    (lambda j: j.tree.map(lambda x: x, j.linearize(j.numpy.sin, 1.0)[1])(ROW), "linearized function"),
    (lambda j: j.tree.map(lambda x: x, j.linear_transpose(lambda x: 2 * x, 1.0))(ROW), "cotangent type"),
    (lambda j: j.linear_transpose(j.numpy.sin, 1.0)(1.0), "Transpose rule .* for 'sin' not implemented"),
    (lambda j: j.jvp(j.numpy.sin, (1.0,), [1.0]), "must have the same tree structure; primals have tree structure"),
    (lambda j: j.grad(j.numpy.sin, argnums="a"), "cannot be interpreted as an integer"),
    (lambda j: j.jit(lambda n: j.numpy.zeros((n, 2)))(3), "Shapes must be 1D sequences of concrete values"),
    (lambda j: j.jit(lambda n: j.numpy.zeros(n))(3), "Shapes must be 1D sequences of concrete values"),
    (lambda j: j.jit(lambda n: j.random.normal(j.random.key(0), (n,)))(3), "Shapes must be 1D sequences of concrete"),
    (lambda j: j.lax.dynamic_slice(SQUARE, (np.int8(1), 1), (1, 1)), "must be integers of the same type"),
    (lambda j: j.lax.squeeze(np.ones((1, 2)), (0, 0)), "dimensions are not unique"),
    (lambda j: j.lax.rev(ROW, (-1,)), "must have every element be nonnegative"),
    (lambda j: j.lax.top_k(ROW * 1j, 1), "not compatible with complex inputs"),
    (lambda j: j.lax.argmax(SQUARE, -1, np.int32), "Invalid axis -1"),
    (lambda j: j.lax.pad(ROW, np.int32(1), [(0, 0, 0)]), "pad operand and padding_value must be same dtype"),
    (lambda j: j.lax.iota(np.int32, -1), "must have every element be nonnegative"),
    (
        lambda j: j.lax.reduce_window(ROW, 0.0, j.lax.add, (0,), (1,), "VALID"),
        "must have every element be strictly pos",
    ),
    (
        lambda j: j.lax.reduce_window(ROW, 0.0, j.lax.add, (1,), (0,), "VALID"),
        "must have every element be strictly pos",
    ),
    (lambda j: j.lax.reduce_window(ROW, 0.0, j.lax.add, (1,), (1,), [(0, 0)] * 2), "argument|padding"),
]


@pytest.mark.parametrize("i", range(len(REFUSED)))
def test_refused_as_by_jax(i: int) -> None:
    """The same class, or one below it, and the same words."""
    call, words = REFUSED[i]
    with pytest.raises(Exception, match=words) as theirs:
        call(jax)
    with pytest.raises(theirs.type, match=words):
        call(lazynp.jax)
