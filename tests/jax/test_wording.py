"""Errors whose text JAX's users match: the same words as in JAX, here and there."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

Call = Callable[[Any], Any]


def scanned(first: Any, then: Any) -> Call:
    return lambda j: j.lax.scan(lambda carry, x: (then(j), x), first, np.arange(2))


def looped(first: Any, then: Any) -> Call:
    return lambda j: j.lax.while_loop(lambda c: False, lambda c: then(j), first)


def chosen(*branches: Any) -> Call:
    return lambda j: j.lax.switch(0, [lambda b=b: b for b in branches])


def compiled(*args: Any, **kwargs: Any) -> Call:
    return lambda j: j.jit(lambda x, y=1: x + y).lower(1.0, 2).compile()(*args, **kwargs)


CARRIES: dict[str, Call] = {
    "lengths": scanned((1, 2), lambda j: (1, 2, 3)),
    "keys": scanned({"a": 1}, lambda j: {"b": 1}),
    "number of keys": scanned({"a": 1}, lambda j: {"a": 1, "b": 2}),
    "nested": scanned({"a": (1, [2]), "b": {"c": 1}}, lambda j: {"a": [1, [2]], "b": {"d": 1}}),
    "types": scanned((np.float32(1), {"w": 2.0}), lambda j: (np.float16(1), {"w": j.numpy.ones(3)})),
    "one type": scanned(np.float32(1), lambda j: np.float16(1)),
    "while": looped((1, 2), lambda j: (1,)),
    "types of while": looped([np.float32(1)], lambda j: [np.int32(1)]),
    "fori": lambda j: j.lax.fori_loop(0, 2, lambda i, c: (c[0],), (1, 2)),
    "types of fori": lambda j: j.lax.fori_loop(0, 2, lambda i, c: c.astype("f2"), np.float32(1)),
    "no pair": lambda j: j.lax.scan(lambda c, x: (c, x, x), 0.0, np.arange(2.0)),
    "no condition": lambda j: j.lax.while_loop(lambda c: j.numpy.ones(2) > c, lambda c: c, 0),
    "tree for a condition": lambda j: j.lax.while_loop(lambda c: [True], lambda c: c, 0),
    "cond": lambda j: j.lax.cond(True, lambda: (1, 2), lambda: (1, 2, 3)),
    "cond deep": lambda j: j.lax.cond(True, lambda: {"a": (1, 2)}, lambda: {"a": [1, 2]}),
    "types of cond": lambda j: j.lax.cond(True, lambda: (1, {"b": 2}), lambda: (1.0, {"b": 2.0})),
    "switch": chosen(1, 2, (1,)),
    "types of switch": chosen(1, 1.5),
    "too many for a compiled function": compiled(1.0, 2, 3),
    "named for a compiled function": compiled(1.0, y=2),
}


def ordered(text: str) -> str:
    """With the kinds of dtypes that are accepted in one order: JAX has them in the order of a set, by addresses."""
    start, of, kinds = text.partition("subtypes of ")
    return start + of + ", ".join(sorted(kinds.rstrip(".").split(", ")))


def text_of(call: Call, j: Any) -> str:
    with pytest.raises(TypeError) as error:
        call(j)
    return re.sub(r" at \S+:\d+", "", str(error.value))  # where the user's function stands


@pytest.mark.parametrize("name", CARRIES)
def test_what_differs_between_trees_and_types_is_said_as_jax_says_it(name: str) -> None:
    assert text_of(CARRIES[name], lazynp.jax) == text_of(CARRIES[name], jax)


@pytest.mark.parametrize("transform", ["jit", "grad", "vmap"])
def test_compiled_functions_are_not_transformed(transform: str) -> None:
    def call(j: Any) -> Any:
        f = j.jit(lambda x: x * 2).lower(1.0).compile()
        x = np.ones(2, np.float32) if transform == "vmap" else 1.0
        return getattr(j, transform)(f)(x)

    for j in (jax, lazynp.jax):
        with pytest.raises(TypeError, match="Cannot apply JAX transformations to a function lowered and compiled"):
            call(j)


USES: dict[str, Call] = {
    "bool": lambda j: j.jit(lambda a, b: a if b > 0 else b)(1.0, 2.0),
    "float": lambda j: j.jit(lambda a: float(a["x"][0]))({"x": (1.0, 2)}),
    "numpy": lambda j: j.jit(lambda x: np.sin(x))(1.0),
    "index": lambda j: j.jit(lambda i: [1, 2][i])(0),
    "checkpoint": lambda j: j.checkpoint(lambda x: x if x > 0 else -x)(1.0),
    "grad of checkpoint": lambda j: j.grad(j.checkpoint(lambda x: x if x > 0 else -x))(1.0),
}


@pytest.mark.parametrize("name", USES)
def test_uses_of_traced_values_say_on_which_arguments_they_depend(name: str) -> None:
    said = r"This concrete value was not available in Python because it depends on the value of the argument [\w'\[\]]+"
    found = []
    for j in (jax, lazynp.jax):
        with pytest.raises(Exception, match=said) as error:
            USES[name](j)
        match = re.search(said, str(error.value))
        found.append((type(error.value).__name__, match and match[0]))
    assert found[0] == found[1]


def test_abstract_values_are_leaves_of_trees() -> None:
    for j in (jax, lazynp.jax):
        found = j.jit(lambda x, y: x).trace(1.0, np.ones(3)).in_avals
        assert [str(a) for a in j.tree.leaves(found)] == ["~float32[]", "float32[3]"]
        assert j.typeof(1.0) == j.typeof(2.0) != j.typeof(np.float32(1))
        assert len({j.typeof(1.0), j.typeof(2.0)}) == 1


LOST: dict[str, Call] = {
    "float": lambda j: j.grad(lambda x: float(j.numpy.sin(x)) * 1.0)(2.0),
    "complex": lambda j: j.jvp(lambda x: complex(x), (2.0,), (1.0,)),
    "math": lambda j: j.grad(lambda x: math.sin(x))(2.0),
    "numpy": lambda j: j.grad(lambda x: np.sin(x))(2.0),
    "list": lambda j: j.vjp(lambda x: x.tolist(), np.ones(2, np.float32)),
    "nested": lambda j: j.grad(lambda x: j.grad(lambda y: float(x * y))(x))(2.0),
    "linearize": lambda j: j.linearize(lambda x: np.asarray(x * 2), np.ones(2, np.float32)),
}


@pytest.mark.parametrize("name", LOST)
def test_values_that_a_derivative_goes_through_do_not_become_numbers(name: str) -> None:
    """What is made of a Python number has the derivative zero."""
    found = []
    for j in (jax, lazynp.jax):
        with pytest.raises(j.errors.JAXTypeError if hasattr(j.errors, "JAXTypeError") else TypeError) as error:
            LOST[name](j)
        found.append(type(error.value).__name__)
    assert found[0] == found[1]


def ruled(j: Any) -> Any:
    """A function whose rule computes with NumPy."""
    f = j.custom_vjp(lambda x: np.float32(np.sin(x)))
    f.defvjp(lambda x: (np.float32(np.sin(x)), x), lambda kept, ct: (ct * np.float32(np.cos(kept)),))
    return f


KEPT: dict[str, Call] = {
    "whole numbers": lambda j: j.grad(lambda x: x * int(x) * float(x.astype(int)))(2.0),
    "branches": lambda j: j.grad(lambda x: x if x > 0 and bool(x) else -x)(2.0),
    "stopped": lambda j: j.grad(lambda x: x * float(j.lax.stop_gradient(x)))(2.0),
    "others": lambda j: j.grad(lambda x, y: x * float(y))(2.0, j.numpy.float32(3)),
    "rules": lambda j: j.grad(ruled(j))(j.numpy.float32(2)),
    "rules in loops of Python": lambda j: j.grad(lambda x: sum(ruled(j)(x * k) for k in (1.0, 2.0)))(
        j.numpy.float32(2)
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_values_are_there_where_nothing_is_lost(name: str) -> None:
    np.testing.assert_allclose(np.asarray(KEPT[name](lazynp.jax)), np.asarray(KEPT[name](jax)), rtol=1e-6)


def root(f: Any = lambda x: x, solve: Any = lambda f, x: x, tangent: Any = lambda f, x: x) -> Call:
    return lambda j: j.jvp(lambda y: j.lax.custom_root(lambda x: f(x - y), 1.0, solve, tangent), (1.0,), (1.0,))


def solution(matvec: Any = lambda x: x, solve: Any = lambda f, x: x, back: Any = lambda f, x: x) -> Call:
    return lambda j: j.lax.custom_linear_solve(matvec, 1.0, solve, back)


def leaking(j: Any) -> Any:
    kept: list[Any] = []
    j.jit(lambda x: kept.append(x))(np.ones((4, 3), np.int32))
    return kept[0] + 1


FRAGMENTS: dict[str, tuple[Call, str]] = {
    "axes out": (lambda j: j.vmap(lambda x: x, out_axes="foo")(np.ones(2)), "with those types as leaves, but got foo"),
    "axes in": (
        lambda j: j.vmap(lambda x: x, in_axes=("a",))(np.ones(2)),
        "an int, None, or (nested) container",
    ),
    "nonzero": (
        lambda j: j.jit(j.numpy.nonzero)(np.ones(3)),
        "size argument of jnp.nonzero must be static",
    ),
    "products": (lambda j: j.numpy.ones(2) @ j.numpy.ones(3), "contracting dimensions to have the same shape, got"),
    "tensordot": (
        lambda j: j.numpy.tensordot(np.ones((2, 2)), np.ones((2, 2)), axes=("a", "b")),
        "tensordot requires both axes lists to be either ints, tuples or lists, got a and b",
    ),
    "repeat": (
        lambda j: j.jit(lambda r: j.numpy.repeat(np.ones(3), r))(np.arange(3)),
        "When jit-compiling jnp.repeat, the total number of repeats must be static",
    ),
    "hypot": (lambda j: j.numpy.hypot(1j, 1.0), "jnp.hypot"),
    "pinv": (lambda j: j.numpy.linalg.pinv(np.ones((2, 2)), rtol=1, rcond=2), "only one of rtol and rcond"),
    "gather": (
        lambda j: j.lax.gather(
            np.ones((3, 3)), np.zeros((1, 1), int), j.lax.GatherDimensionNumbers((1, 0), (0,), (0,)), (1, 3)
        ),
        "offset_dims in gather op must be sorted",
    ),
    "length": (
        lambda j: j.jit(lambda n: j.lax.scan(lambda c, x: (c, x), 0, None, length=n))(3),
        "The `length` argument to `scan` expects a concrete `int` value",
    ),
    "root": (root(f=lambda x: (x, x)), "f() output pytree"),
    "root's solver": (root(solve=lambda f, x: (x, x)), "solve() output pytree"),
    "root's linear solver": (root(tangent=lambda f, x: (x, x)), "tangent_solve() output pytree"),
    "matvec": (solution(matvec=lambda x: (x, x)), "matvec() output shapes must match b, got [(), ()] and [()]"),
    "solver": (solution(solve=lambda f, x: np.ones(2)), "solve() output shapes must match b, got [(2,)] and [()]"),
    "transposed solver": (solution(back=lambda f, x: (x, x)), "transpose_solve() output shapes must match b"),
    "leak": (leaking, "intermediate value with type int32[4,3]"),
    "where it leaked": (leaking, "The function being traced when the value leaked was <lambda>"),
    "pure callbacks": (
        lambda j: j.grad(lambda x: j.pure_callback(np.sin, j.ShapeDtypeStruct((), "float32"), x))(1.0),
        "Pure callbacks do not support JVP. Please use `jax.custom_jvp`",
    ),
    "effects": (
        lambda j: j.grad(lambda x: j.experimental.io_callback(np.sin, j.ShapeDtypeStruct((), "float32"), x))(1.0),
        "IO callbacks do not support JVP",
    ),
}
"""Calls that are refused, and words that JAX has for it."""


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragments(name: str) -> None:
    call, words = FRAGMENTS[name]
    kinds = []
    for j in (jax, lazynp.jax):
        with pytest.raises(Exception, match=re.escape(words)) as error:
            call(j)
        kinds.append(type(error.value).__name__)
    assert kinds[0] == kinds[1]


def gathered(of_x: Any = (4, 5, 6), of_starts: Any = (4, 2), sizes: Any = (1, 5, 2), **dims: Any) -> Call:
    numbers = {"offset_dims": (1, 2), "collapsed_slice_dims": (0,), "start_index_map": (0, 2), **dims}
    return lambda j: j.lax.gather(
        np.zeros(of_x, "f4"), np.zeros(of_starts, "i4"), j.lax.GatherDimensionNumbers(**numbers), sizes
    )


def scattered(of_x: Any = (4, 5, 6), of_starts: Any = (4, 2), of_updates: Any = (4, 5, 2), **dims: Any) -> Call:
    numbers = {"update_window_dims": (1, 2), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0, 2)}
    return lambda j: j.lax.scatter_add(
        np.zeros(of_x, "f4"),
        np.zeros(of_starts, "i4"),
        np.zeros(of_updates, "f4"),
        j.lax.ScatterDimensionNumbers(**{**numbers, **dims}),
    )


BATCHED = {"operand_batching_dims": (0,), "start_indices_batching_dims": (0,), "collapsed_slice_dims": ()}
BATCHED_WRITE = {"operand_batching_dims": (0,), "scatter_indices_batching_dims": (0,), "inserted_window_dims": ()}
NUMBERS: dict[str, Call] = {
    "offset dims unsorted": gathered(offset_dims=(2, 1)),
    "offset dims twice": gathered(offset_dims=(1, 1)),
    "offset dims outside": gathered(offset_dims=(1, 7)),
    "too few offset dims": gathered(offset_dims=(1,)),
    "collapsed outside": gathered(collapsed_slice_dims=(5,)),
    "collapsed and long": gathered(sizes=(2, 5, 2)),
    "too few coordinates": gathered(start_index_map=(0,)),
    "coordinates outside": gathered(start_index_map=(0, 3)),
    "coordinates twice": gathered(start_index_map=(0, 0)),
    "too few sizes": gathered(sizes=(1, 5)),
    "sizes too large": gathered(sizes=(1, 5, 7)),
    "no axis of coordinates": gathered(of_starts=()),
    "batching that is indexed": gathered(**BATCHED),
    "batching of the coordinates": gathered(
        **{**BATCHED, "start_index_map": (1, 2), "start_indices_batching_dims": (1,)}
    ),
    "batching of another length": gathered(of_starts=(3, 2), **{**BATCHED, "start_index_map": (1, 2)}),
    "batching of one": scattered(
        **{**BATCHED_WRITE, "scatter_dims_to_operand_dims": (1, 2), "scatter_indices_batching_dims": ()}
    ),
    "window unsorted": scattered(update_window_dims=(2, 1)),
    "window outside": scattered(update_window_dims=(1, 3)),
    "window too small": scattered(update_window_dims=(1,), of_updates=(4, 5)),
    "window too large": scattered(of_updates=(4, 5, 7)),
    "updates of another rank": scattered(of_updates=(4, 5)),
    "updates of another length": scattered(of_updates=(3, 5, 2)),
    "inserted twice": scattered(inserted_window_dims=(0, 0)),
    "inserted outside": scattered(inserted_window_dims=(3,)),
    "places outside": scattered(scatter_dims_to_operand_dims=(0, 3)),
    "places twice": scattered(scatter_dims_to_operand_dims=(0, 0)),
    "batching that is written at": scattered(**BATCHED_WRITE),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_dimension_numbers_that_do_not_fit(name: str) -> None:
    assert text_of(NUMBERS[name], jax) == text_of(NUMBERS[name], lazynp.jax)


def nondiff(j: Any) -> Any:
    f = j.custom_vjp(lambda n, x: x * n, nondiff_argnums=(0,))
    f.defvjp(lambda n, x: (x * n, x), lambda n, kept, ct: (ct * n,))
    return f


SAID: dict[str, tuple[Any, Call, str]] = {
    "traced and not differentiated along": (
        (jax.errors.UnexpectedTracerError, lazynp.jax.errors.UnexpectedTracerError),
        lambda j: j.jit(nondiff(j))(2.0, 3.0),
        "Found a JAX Tracer object passed as an argument to a custom_vjp function in a position indicated by "
        "nondiff_argnums as non-differentiable",
    ),
    "too large": (OverflowError, lambda j: j.numpy.asarray(2**40), "Python int 1099511627776 too large to convert"),
    "generator": (TypeError, lambda j: j.jit(generates), "Expected a function, got a generator function"),
    "axes of another type": (
        ValueError,
        lambda j: j.vmap(lambda d: d, in_axes=([0],))((np.ones(3),)),
        "Mismatch details (1 found):\n  pytree structure error: different types at key path\n    vmap in_axes[0]",
    ),
    "axes of another length": (
        ValueError,
        lambda j: j.vmap(lambda x: (x, x), out_axes=(0, 0, 0))(np.ones(3)),
        "pytree structure error: different lengths of tuple at key path\n    vmap out_axes",
    ),
    "fields twice": (
        ValueError,
        lambda j: j.tree_util.register_dataclass(dataclasses.make_dataclass("Q", ["a", "b"]), ["a", "b"], ["b"]),
        "data_fields and meta_fields must not overlap. Overlapping fields: {'b'}.",
    ),
    "a mask of numbers": (
        ValueError,
        lambda j: j.numpy.sum(np.ones(3), where=np.ones(3, "f4")),
        "jnp.sum: where must be None or a boolean array; got where.dtype=dtype('float32').",
    ),
    "second derivative of igamma": (
        NotImplementedError,
        lambda j: j.grad(j.grad(j.lax.igamma))(2.0, 3.0),
        "Differentiation rule for 'igamma_grad_a' not implemented",
    ),
}


def generates() -> Any:
    yield 1


@pytest.mark.parametrize("name", SAID)
def test_errors_say_the_same(name: str) -> None:
    kind, call, text = SAID[name]
    for j in (jax, lazynp.jax):
        with pytest.raises(kind) as error:
            call(j)
        assert text in str(error.value)


def test_nan_is_said_to_come_from_jaxs_primitives() -> None:
    for j in (jax, lazynp.jax):
        with j.debug_nans(True), pytest.raises(FloatingPointError, match=r"\(nan\) encountered in div"):
            j.numpy.float32(0.0) / np.float32(0)


SHAPED: dict[str, Call] = {
    "broadcast_to": lambda j: j.numpy.broadcast_to(np.ones(2, np.float32), (2, 3)),
    "full": lambda j: j.numpy.full((2, 3), j.numpy.ones(2, np.int32)),
    "where of sum": lambda j: j.numpy.sum(np.ones((2, 3), np.float32), where=np.array([True, False])),
    "where of any": lambda j: j.numpy.any(np.ones((2, 3), np.bool_), where=np.array([True, False])),
    "where of mean": lambda j: j.numpy.mean(np.ones((2, 3), np.float32), where=np.array([True, False])),
    "where of nanvar": lambda j: j.numpy.nanvar(np.ones((2, 3), np.float32), where=np.array([True, False])),
    "dtype of nanmin's where": lambda j: j.numpy.nanmin(np.ones(2, np.float32), initial=0, where=np.ones(2, np.int32)),
    "softmax": lambda j: j.nn.softmax(np.ones((2, 3), np.float32), where=np.array([True, False])),
    "dot": lambda j: j.numpy.dot(np.ones((2, 3)), np.ones((2, 3))),
    "inner": lambda j: j.numpy.inner(np.ones((2, 3)), np.ones((3, 4))),
    "stacks of matmul": lambda j: j.numpy.matmul(np.ones((2, 3, 3), np.float32), np.ones((3, 3, 3), np.float32)),
    "tensordot": lambda j: j.numpy.tensordot(np.ones((2, 3, 4)), np.ones((3, 2, 4)), axes=2),
    "matvec": lambda j: j.numpy.matvec(np.ones((2, 3)), np.ones(2)),
    "vecdot": lambda j: j.numpy.linalg.vecdot(np.ones((2, 3)), np.ones(2)),
    "einsum": lambda j: j.numpy.einsum("ij,jk", np.ones((2, 3)), np.ones((2, 4))),
    "output of einsum": lambda j: j.numpy.einsum("ij->ik", np.ones((2, 3))),
    "vectorize": lambda j: j.numpy.vectorize(lambda x, y: x + y)(np.ones((2, 3)), np.ones(2)),
    "signature": lambda j: j.numpy.vectorize(lambda x: x, signature="(n)->")(np.ones(2)),
    "polyval": lambda j: j.numpy.polyval(np.ones((3, 3)), np.ones(2)),
    "pad": lambda j: j.numpy.pad(np.ones(3), 1.5),
    "dict for pad": lambda j: j.numpy.pad(np.ones(3), {0: 1}),
    "options of pad": lambda j: j.numpy.pad(np.ones(3), -1, mode="edge", constant_values=1),
    "arange": lambda j: j.numpy.arange(2, dtype=bool),
    "length of fft": lambda j: j.numpy.fft.rfft(np.ones(4), n=0),
    "norm of fft": lambda j: j.numpy.fft.fft2(np.ones((2, 2)), norm="x"),
    "searchsorted": lambda j: j.numpy.searchsorted(np.ones(2), 1, side="Left"),
    "digitize": lambda j: j.numpy.digitize(np.ones(2), np.ones(2), method="x"),
    "size of unique": lambda j: j.numpy.unique(np.ones(2), size=-1),
    "correlate": lambda j: j.numpy.correlate(np.ones(3) * 1j, np.ones(2), preferred_element_type=int),
    "multi_dot": lambda j: j.numpy.linalg.multi_dot([]),
    "matrix_rank": lambda j: j.numpy.linalg.matrix_rank(np.eye(2), rtol=0.1, tol=0.1),
    "tensorinv": lambda j: j.numpy.linalg.tensorinv(np.ones((2, 3)), 1),
    "slogdet": lambda j: j.numpy.linalg.slogdet(np.eye(2) * 1j, method="qr"),
    "no rule": lambda j: j.grad(lambda a: j.lax.linalg.schur(a)[0].sum())(np.eye(2, dtype=np.float32)),
    "sici": lambda j: j.scipy.special.sici(np.ones(2) * 1j),
    "log_ndtr": lambda j: j.scipy.special.log_ndtr(np.ones(2, np.float16)),
    "axis of one_hot": lambda j: j.nn.one_hot(np.int32(1), -1, axis=-2),
    "initializer": lambda j: j.nn.initializers.he_normal()(j.random.key(0), 3),
}


@pytest.mark.parametrize("name", SHAPED)
def test_arguments_that_do_not_fit(name: str) -> None:
    found = []
    for j in (jax, lazynp.jax):
        with pytest.raises(Exception, match=r"\w") as error:
            SHAPED[name](j)
        found.append((error.type, ordered(str(error.value).splitlines()[0])))
    (theirs, said), (ours, says) = found
    builtin = next(c for c in theirs.__mro__ if c.__module__ == "builtins")
    assert issubclass(ours, builtin)
    assert says == said
