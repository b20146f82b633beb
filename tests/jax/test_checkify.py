"""`jax.experimental.checkify` beside JAX's: messages of errors, results, and what is raised."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
THREE = np.ones(3, np.float32)


class Door:
    """`jax` or `lazynp.jax` with the module under test, and the functions that are checked."""

    def __init__(self, j: Any) -> None:
        self.j, self.np, self.lax = j, j.numpy, j.lax
        self.c = importlib.import_module(f"{j.__name__}.experimental.checkify")

    def positive(self, x: Any) -> Any:
        self.c.check(x > 0, "{x} needs to be positive!", x=x)
        return 1 / x

    def scanned(self, xs: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            self.c.check(x < carry, "x {x} carry {c}", x=x, c=carry)
            return carry + 1, x

        return self.lax.scan(body, self.np.array(2), xs)

    def looped(self, n: Any) -> Any:
        def body(i: Any) -> Any:
            self.c.check(i < 5, "i {}", i)
            return i + 1

        return self.lax.while_loop(lambda i: i < 9, body, n)

    def branched(self, x: Any) -> Any:
        def bad(x: Any) -> Any:
            self.c.check(x < 0, "bad {}", x)
            return x + 1

        return self.lax.cond(x > 0, bad, lambda x: x, x)

    def twice(self, x: Any, y: Any) -> Any:
        self.c.check(x < 0, "first")
        self.c.check(y < 0, "second")
        return x + y

    def again(self, x: Any) -> Any:
        error, out = self.j.jit(self.c.checkify(self.positive))(x)
        self.c.check_error(error)
        return out

    def debugged(self, x: Any) -> Any:
        self.c.debug_check(x != 0, "cannot be zero!")
        return x

    def run(self, f: Any, *args: Any, errors: str = "user_checks", outer: Any = lambda f: f) -> Any:
        """The error's message and the results of the checkified function."""
        error, out = outer(self.c.checkify(f, errors=getattr(self.c, errors)))(*args)
        return error.get(), [np.asarray(x) for x in self.j.tree.leaves(out)]


CASES: dict[str, Callable[[Door], Any]] = {
    "failed": lambda d: d.run(d.positive, d.np.array(-3.0)),
    "jit of it": lambda d: d.run(d.positive, d.np.array(-3.0), outer=d.j.jit),
    "passed": lambda d: d.run(d.positive, d.np.array(3.0), outer=d.j.jit),
    "of jit": lambda d: d.run(d.j.jit(d.positive), d.np.array(-3.0)),
    "raised at once": lambda d: d.positive(d.np.array(-1.0)),
    "not functionalized": lambda d: d.j.jit(d.positive)(d.np.array(1.0)),
    "not functionalized in a loop": lambda d: d.scanned(d.np.arange(3)),
    "throw": lambda d: d.c.checkify(d.positive)(d.np.array(-3.0))[0].throw(),
    "text": lambda d: str(d.c.checkify(d.positive)(d.np.array(-3.0))[0]),
    "nan of infinity": lambda d: d.run(lambda x: d.np.sin(x) + x, float("inf"), errors="float_checks"),
    "nan": lambda d: d.run(d.np.log, d.np.array(-1.0), errors="nan_checks"),
    "nan in a branch of where": lambda d: d.run(
        lambda x: d.np.where(x > 0, d.np.log(x), 0.0), d.np.array([1.0, -1.0]), errors="nan_checks"
    ),
    "division": lambda d: d.run(lambda x, y: x / y, THREE, d.np.array([1.0, 0, 2]), errors="div_checks"),
    "division of integers": lambda d: d.run(lambda x, y: x // y, d.np.array(1), d.np.array(0), errors="all_checks"),
    "no division": lambda d: d.run(lambda x, y: x // y, d.np.array(6), d.np.array(4), errors="all_checks"),
    "index": lambda d: d.run(lambda x, i: x[i], d.np.asarray(THREE), d.np.array(5), errors="index_checks"),
    "index inside": lambda d: d.run(lambda x, i: x[i], d.np.arange(3.0), d.np.array(-3), errors="index_checks"),
    "index of a write": lambda d: d.run(
        lambda x, i: x.at[i].set(2.0), d.np.asarray(THREE), d.np.array(5), errors="index_checks"
    ),
    "two indices": lambda d: d.run(lambda x, i: x[i, 0], d.np.ones((3, 2)), d.np.array([1, -7]), errors="index_checks"),
    "dynamic slice": lambda d: d.run(
        lambda x, i: d.lax.dynamic_slice(x, (i,), (2,)), THREE, d.np.array(2), errors="index_checks"
    ),
    "mapped": lambda d: d.run(d.positive, d.np.array([1.0, -2.0, -3.0]), outer=d.j.vmap),
    "of a map": lambda d: d.run(d.j.vmap(d.positive), d.np.array([1.0, -2.0, -3.0])),
    "map raises": lambda d: d.j.vmap(d.positive)(d.np.array([1.0, -1.0])),
    "scan": lambda d: d.run(d.scanned, d.np.arange(10) * 2),
    "scan passed": lambda d: d.run(d.scanned, d.np.array([0, 1, 2]), outer=d.j.jit),
    "scan of everything": lambda d: d.run(
        lambda xs: d.lax.scan(lambda c, a: (c / a, d.np.log(c)), 1.0, xs), d.np.array([1.0, 0, 2]), errors="all_checks"
    ),
    "while": lambda d: d.run(d.looped, d.np.array(2)),
    "while of numbers": lambda d: d.run(lambda: d.looped(d.np.array(2))),
    "while of a number of Python's": lambda d: d.run(d.looped, 2),
    "while in jit": lambda d: d.run(d.looped, d.np.array(2), outer=d.j.jit),
    "cond": lambda d: d.run(d.branched, d.np.array(2)),
    "cond passed": lambda d: d.run(d.branched, d.np.array(-2), outer=d.j.jit),
    "gradient through it": lambda d: np.asarray(d.j.grad(lambda x: d.c.checkify(d.positive)(x)[1])(2.0)),
    "of a gradient": lambda d: d.run(d.j.grad(d.positive), -2.0),
    "gradient raises": lambda d: d.j.grad(d.positive)(-2.0),
    "check_error": lambda d: d.again(d.np.array(-1.0)),
    "check_error again": lambda d: d.run(d.again, d.np.array(-1.0)),
    "the first of two": lambda d: d.run(d.twice, d.np.array(1.0), d.np.array(2.0)),
    "other errors only": lambda d: d.run(d.positive, d.np.array(-3.0), errors="nan_checks"),
    "debug": lambda d: np.asarray(d.j.jit(d.debugged)(d.np.array(0))),
    "debug, functionalized": lambda d: d.run(d.debugged, d.np.array(0), outer=d.j.jit),
    "no scalar": lambda d: d.c.check(d.np.array([True]), "x"),
    "no array in the message": lambda d: d.c.check(False, "x {}", 1),
    "an array in the message": lambda d: d.c.check(False, "x {}", d.np.array(1)),
    "no error": lambda d: d.c.check_error(3),
}


def outcome(case: Callable[[Door], Any], j: Any) -> Any:
    try:
        return case(Door(j))
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("name", CASES)
def test_as_in_jax(name: str) -> None:
    ours, theirs = outcome(CASES[name], lazynp.jax), outcome(CASES[name], jax)
    jax.tree.map(np.testing.assert_array_equal, ours, theirs)
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)


@pytest.mark.parametrize("name", ["log", "divide", "index"])
def test_what_is_made_of_constants_is_checked(name: str) -> None:
    for j in (jax, lazynp.jax):
        checkify = importlib.import_module(f"{j.__name__}.experimental.checkify")
        run = {
            "log": lambda j=j: j.numpy.log(-1.0),
            "divide": lambda j=j: j.numpy.float32(1.0) / 0.0,
            "index": lambda j=j: j.numpy.arange(3)[j.numpy.array(5)],
        }[name]
        error = checkify.checkify(run, errors=checkify.all_checks)()[0].get()
        assert error is not None
        assert {"log": "nan generated", "divide": "division by zero", "index": "out-of-bounds indexing"}[name] in error
