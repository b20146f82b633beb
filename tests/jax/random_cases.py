"""Calls of `jax.random`, as data: what `test_random` compares with JAX itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """A sampler with arguments. `ulps`: how far the last place may be off; None: compared to about `rtol`."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012
    ulps: int | None = 0
    rtol: float = 0.0

    def __str__(self) -> str:
        return f"{self.name}({', '.join([*map(text, self.args), *[f'{k}={text(v)}' for k, v in self.kwargs.items()]])})"


def text(x: Any) -> str:
    return f"{x.dtype.name}{list(x.shape)}" if isinstance(x, np.ndarray) else repr(x)


f32 = np.float32
# JAX's rsqrt is an estimate of the processor, improved in one step or two, by who made it: up to three units in the
# last place off, which the cube of a gamma sample triples; logarithms near zero have other last places.
GAMMA: dict[str, Any] = {"ulps": None, "rtol": 2e-6}
ROW = np.array([0.3, 1.0, 2.5, 12.0], f32)
COLUMN = np.array([[0.5], [3.0], [40.0]], f32)
P = np.array([0.1, 0.45, 0.5, 0.9], f32)
LOGITS = np.array([[0.0, -1.0, 2.0, 0.5], [1.0, 1.0, -3.0, 0.0]], f32)
WEIGHTS = np.array([0.1, 0.2, 0.3, 0.25, 0.15], f32)
MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]], f32)

PLAIN = ("uniform", "normal", "exponential", "cauchy", "laplace", "logistic", "gumbel", "maxwell")
FLOATS: tuple[Case, ...] = (
    *[Case(n, ((2, 3, 5),), ulps=1) for n in PLAIN],
    *[Case(n, (shape,), ulps=1) for n in ("uniform", "normal") for shape in ((), 7, (0, 2))],
    Case("uniform", ((50,),), {"minval": -3.25, "maxval": 5.5}),
    Case("uniform", ((3, 4),), {"minval": ROW, "maxval": ROW * 3}),
    Case("gumbel", ((50,),), {"mode": "high"}),
    Case("gumbel", ((50,),), {"mode": "highest"}),
    Case("truncated_normal", (-1.0, 0.5, (60,)), ulps=2),
    Case("truncated_normal", (np.array([-2.0, 0.0], f32), np.array([[0.5], [3.0]], f32)), ulps=2),
    Case("pareto", (ROW, (3, 4)), ulps=1),
    Case("rayleigh", (ROW,), ulps=1),
    Case("wald", (ROW,), ulps=None, rtol=3e-6),
    Case("triangular", (0.0, np.array([0.1, 0.5], f32), 2.0), ulps=2),
    Case("lognormal", (ROW, (3, 4)), ulps=1),
    Case("lognormal", (), ulps=1),
    Case("weibull_min", (2.0, 1.5, (30,)), ulps=2),
    Case("double_sided_maxwell", (0.5, 2.0, (20,)), ulps=None, rtol=1e-6),
    Case("double_sided_maxwell", (np.zeros((2, 1), f32), ROW), ulps=None, rtol=1e-6),
    Case("gamma", (ROW, (50, 4)), **GAMMA),
    Case("gamma", (COLUMN, (3, 4)), **GAMMA),
    Case("gamma", (2.5,), **GAMMA),
    Case("loggamma", (ROW, (50, 4)), **GAMMA),
    Case("loggamma", (0.01, (30,)), **GAMMA),
    Case("beta", (ROW, COLUMN), **GAMMA),
    Case("beta", (0.5, 0.5, (20,)), **GAMMA),
    Case("chisquare", (ROW, (20, 4)), **GAMMA),
    Case("f", (ROW, np.array([0.5, 3.0, 40.0, 2.0], f32)), **GAMMA),
    Case("t", (ROW, (20, 4)), **GAMMA),
    Case("dirichlet", (ROW,), **GAMMA),
    Case("dirichlet", (ROW, (5,)), **GAMMA),
    Case("generalized_normal", (1.5, (20,)), **GAMMA),
    Case("ball", (3, 2, (10,)), ulps=None, rtol=2e-6),
    Case("ball", (4, 1.5, (2, 2)), ulps=None, rtol=2e-6),
    Case("binomial", (np.array([3.0, 40.0, 1000.0, 7.0], f32), P, (20, 4))),
    Case("binomial", (100, 0.3, (30,))),
    Case("binomial", (np.array([-1.0, np.nan, np.inf, 5.0, 5.0], f32), np.array([0.5, 0.5, 0.5, 1.5, np.nan], f32))),
    Case("orthogonal", (3,), ulps=None, rtol=2e-6),
    Case("orthogonal", (3, (2,)), {"m": 5}, ulps=None, rtol=5e-6),
    Case("multivariate_normal", (np.array([1.0, -1.0], f32), MATRIX, (6,)), ulps=None, rtol=2e-6),
    Case("multivariate_normal", (np.zeros((3, 2), f32), MATRIX), ulps=None, rtol=2e-6),
)
"""Of a floating dtype, which the tests add."""

OTHERS: tuple[Case, ...] = (
    *[Case("bits", (shape, dtype)) for shape in ((), (5,), (3, 4)) for dtype in ("uint8", "uint16", "uint32")],
    *[
        Case("randint", ((40,), low, high, dtype))
        for low, high, dtype in (
            (0, 10, "int32"),
            (-5, 5, "int8"),
            (-128, 128, "int8"),
            (0, 256, "uint8"),
            (0, 300, "uint8"),
            (-40000, 40000, "int16"),
            (0, 65536, "uint16"),
            (0, 2**31 - 1, "uint32"),
            (-(2**31), 2**31 - 1, "int32"),
            (5, 5, "int32"),
            (9, 3, "int32"),
            (1.5, 7.9, "int32"),
        )
    ],
    Case("randint", ((3, 4), np.arange(4), np.array([[5], [9], [100]]))),
    Case("bernoulli", (P, (20, 4))),
    Case("bernoulli", ()),
    Case("bernoulli", (0.01, (100,)), {"mode": "high"}),
    *[Case("rademacher", ((30,), d)) for d in ("int8", "int32", "float32")],
    Case("rademacher", ((30,),)),
    Case("geometric", (P, (20, 4))),
    Case("geometric", (0.3, (20,), "int16")),
    Case("poisson", (ROW, (30, 4))),
    Case("poisson", (np.array([0.0, 0.001, 9.99, 10.0, 50.0, 1e4], f32),)),
    Case("poisson", (3, (20,), "int16")),
    Case("poisson", (100.0, (20,), "int8")),
    Case("poisson", (np.array([np.nan, 5.0], f32),)),
    Case("categorical", (LOGITS,)),
    Case("categorical", (LOGITS,), {"axis": 0}),
    Case("categorical", (LOGITS,), {"shape": (7, 2)}),
    Case("categorical", (LOGITS,), {"shape": (3, 2), "replace": False}),
    Case("categorical", (LOGITS,), {"axis": 0, "shape": (2, 4), "replace": False}),
    Case("categorical", (LOGITS,), {"mode": "high"}),
    Case("permutation", (10,)),
    Case("permutation", (np.arange(12).reshape(4, 3),)),
    Case("permutation", (np.arange(12).reshape(4, 3),), {"axis": 1}),
    Case("permutation", (np.arange(12).reshape(4, 3),), {"axis": 1, "independent": True}),
    Case("permutation", (np.arange(3000.0, dtype=f32),)),
    Case("choice", (5,)),
    Case("choice", (5, (3, 2))),
    Case("choice", (10, (4,), False)),
    Case("choice", (np.arange(10.0, dtype=f32), (4,), False)),
    Case("choice", (np.arange(12.0, dtype=f32).reshape(4, 3), (5,))),
    Case("choice", (np.arange(12.0, dtype=f32).reshape(4, 3), (2,), False), {"axis": 1}),
    Case("choice", (5, (6,)), {"p": WEIGHTS}),
    Case("choice", (np.arange(10.0, dtype=f32).reshape(2, 5), (3,), False), {"p": WEIGHTS, "axis": 1}),
    Case("choice", (5, (0,))),
    Case("multinomial", (10.0, WEIGHTS)),
    Case("multinomial", (np.array([3.0, 200.0], f32), np.stack([WEIGHTS, WEIGHTS[::-1]]))),
    *[Case(n, ((5,), "complex64"), ulps=2) for n in ("normal",)],
    Case("orthogonal", (3, (), "complex64"), ulps=None, rtol=5e-6),
    Case("multivariate_normal", (ROW[:2], MATRIX, (4,)), {"method": "svd"}, ulps=None, rtol=1e-5),
    Case("multivariate_normal", (ROW[:2], MATRIX, (4,)), {"method": "eigh"}, ulps=None, rtol=1e-5),
)
"""Whose dtypes are their own."""

WRONG: tuple[Case, ...] = (
    *[Case(n, ((2,), "int32")) for n in (*PLAIN,)],
    Case("normal", ((-1,),)),
    Case("normal", ((2.5,),)),
    Case("bits", ((2,), "int32")),
    Case("randint", ((2,), 0, 5, "float32")),
    Case("randint", ((2,), np.zeros(3, int), 5)),
    Case("uniform", ((2,),), {"minval": np.zeros(3, f32)}),
    Case("gamma", (ROW, (3,))),
    Case("gamma", (ROW, (4,), "int32")),
    Case("beta", (ROW, np.ones(3, f32))),
    Case("bernoulli", (1,)),
    Case("bernoulli", (0.5,), {"mode": "middle"}),
    Case("bernoulli", (P, (3,))),
    Case("gumbel", ((2,),), {"mode": "low and high"}),
    Case("categorical", (LOGITS,), {"shape": (3,)}),
    Case("categorical", (LOGITS,), {"shape": (9, 2), "replace": False}),
    Case("permutation", (1.5,)),
    Case("permutation", (np.arange(3),), {"axis": 2}),
    Case("permutation", ([1, 2],)),
    Case("choice", (5, 3)),
    Case("choice", (5, (9,), False)),
    Case("choice", (0, (2,))),
    Case("choice", (5, (2,)), {"p": np.ones(3, f32)}),
    Case("dirichlet", (1.0,)),
    Case("multivariate_normal", (1.0, MATRIX)),
    Case("multivariate_normal", (ROW, MATRIX)),
    Case("multivariate_normal", (ROW[:2], MATRIX), {"method": "lu"}),
    Case("geometric", (0.5, (2,), "float32")),
    Case("binomial", (5, 0.5, (2,), "int32")),
    Case("poisson", (ROW, (3,))),
    Case("truncated_normal", (np.zeros(2, f32), np.ones(3, f32))),
    Case("pareto", (ROW, (4,), "float16")),
    Case("wald", (ROW, (3,))),
    Case("triangular", (0.0, 1.0, ROW, (3,))),
    Case("fold_in", (np.arange(3),)),
    Case("fold_in", (-1,)),
    Case("split", (2.5,)),
)
"""Which JAX refuses."""
